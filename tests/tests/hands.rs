//! Many processes on one project, in small numbers; `campaign hands` runs as
//! many as it is told to.

#![cfg(unix)]

use ghyll_tests::hands::{Plan, campaign};
use ghyll_tests::runtimes;

#[test]
fn many_hands_lose_nothing_and_none_covers_what_it_was_not_shown() {
    let rounds = if std::env::var_os("CI").is_some() {
        240
    } else {
        80
    };
    let plan = Plan {
        rounds,
        hands: 4,
        on_one_project: 120,
        seed: 1,
        kills: true,
        stops: true,
    };
    let told = campaign(&runtimes::ghyll(), plan);
    assert_eq!(told.rounds(), rounds);
    assert!(told.acknowledged > rounds / 8, "{told:?}");
    assert!(told.kills + told.stops > 0, "{told:?}");
}

/// Where the seam is: a release build has none.
#[cfg(debug_assertions)]
#[test]
fn between_two_steps_of_one_the_whole_of_another_has_its_place() {
    use ghyll_tests::hands::steps::{ONES, OTHERS, campaign};
    // Each pair at a few of its steps; the `campaign` binary takes them all.
    let stride = if std::env::var_os("CI").is_some() {
        17
    } else {
        41
    };
    let stepped = campaign(&runtimes::ghyll(), &ONES, &OTHERS, stride);
    assert_eq!(stepped.pairs, (ONES.len() * OTHERS.len()) as u64);
    assert!(stepped.steps > stepped.pairs, "{stepped:?}");
    assert!(
        stepped.held > 0 && stepped.held < stepped.steps,
        "{stepped:?}"
    );
}
