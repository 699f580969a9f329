//! Reading and starting say the same, in a few histories; the `campaign`
//! binary plays as many as it is told to.

use ghyll_tests::{runtimes, same};

#[test]
fn what_is_read_is_what_a_session_started_then_says() {
    let seen = same::campaign(&runtimes::ghyll(), 12, 1);
    assert_eq!(seen.looks, 12 * 16);
    assert!(!seen.refused.is_empty(), "{seen:?}");
    assert!(seen.commands > 300, "{seen:?}");
}
