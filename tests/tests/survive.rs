//! The campaigns, in small numbers; the `campaign` binary runs large ones.

use std::path::Path;

use ghyll_tests::runtimes;
use ghyll_tests::survive::{damage, fault, kill, limits, recover, syscall};

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

#[test]
fn from_every_damaged_state_the_named_commands_lead_on_and_lose_no_good_record() {
    let recovered = recover::campaign(&runtimes::ghyll(), 15, 1);
    assert!(recovered.records > 0 && recovered.led > 0, "{recovered:?}");
}

#[test]
fn no_failing_call_to_the_kernel_costs_a_record_or_ends_without_a_code() {
    if let Some(injected) = syscall::campaign(&runtimes::ghyll(), 3, 1) {
        assert!(injected.count() > 30, "{injected:?}");
        assert!(injected.refused > 0 && injected.done > 0, "{injected:?}");
    }
}
