//! A project that lives in git, with real git: what git moves is no loss, what
//! somebody cuts off still is, and what two clones say becomes one.

mod disguises;
mod moving;
mod sparse;
mod together;

use ghyll_tests::clones::campaign;

#[test]
fn two_clones_and_three_branches_lose_no_verdict_and_say_the_same() {
    let seen = campaign::play(2, 1);
    assert_eq!((seen.seeds, seen.given), (2, 40));
    assert!(seen.on_record > 20, "{seen:?}");
}
