//! The campaigns, in small numbers; the `campaign` binary runs large ones.

use std::path::Path;

use ghyll_tests::survive::{damage, fault, kill, limits};

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
    // What is half done first; then with everything after it failing as well.
    let faulted = fault::campaign(&[fault::How::Torn, fault::How::Done], &[0, 1000]);
    assert!(faulted.recording > 60, "{faulted:?}");
    assert!(faulted.starting > 50, "{faulted:?}");
    assert!(faulted.refused > 0 && faulted.taken > 0, "{faulted:?}");
}

#[test]
fn a_file_cut_anywhere_is_cut_back_or_refused() {
    assert!(damage::cut_everywhere(1) > 2000);
}

#[test]
fn every_flipped_bit_is_found() {
    damage::flip_bits(100, 1);
}

#[test]
fn a_full_disk_and_a_file_size_limit_cost_nothing_acknowledged() {
    let program = Path::new(env!("CARGO_BIN_EXE_campaign"));
    limits::file_size(program, 400);
    limits::full_disk(program, 400);
}
