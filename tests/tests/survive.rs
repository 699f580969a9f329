//! The campaigns, in small numbers; the `campaign` binary runs large ones.

use std::path::Path;

use ghyll_tests::survive::{damage, fault, kill};

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let kills = if std::env::var_os("CI").is_some() {
        300
    } else {
        60
    };
    let program = Path::new(env!("CARGO_BIN_EXE_campaign"));
    let killed = kill::campaign(program, kills, 1);
    assert_eq!(killed.kills, kills);
    assert!(killed.acknowledged > kills / 2, "{killed:?}");
}

#[test]
fn no_single_failing_call_costs_a_record_or_leaves_half_of_one() {
    let faulted = fault::campaign();
    assert!(faulted.recording > 100, "{faulted:?}");
    assert!(faulted.starting > 50, "{faulted:?}");
    assert!(faulted.refused > 0 && faulted.taken > 0, "{faulted:?}");
}

#[test]
fn a_file_cut_anywhere_is_cut_back_or_refused() {
    assert!(damage::cut_everywhere(1) > 2000);
}

#[test]
fn every_flipped_bit_is_found() {
    damage::flip_bits(200, 1);
}
