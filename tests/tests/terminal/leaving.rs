//! However a session is left, what was asked is asked again.

use std::path::Path;

use super::pane::{Pane, fields, project};

const VERDICT: &str = "Verdict [p/f/i/s]: ";
const WHERE: &str = "Where, comma-separated: ";
const NOTE: &str = "Note: ";
const DECIDE: &str = "Decide, 1 or 2: ";
const GHYLL: &str = "ghyll> ";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// The next session asks this ref first.
fn asks_first(project: &Path, name: &str) {
    let pane = Pane::run(project, &[]);
    pane.sees(&format!("{name} "));
    pane.prompt(VERDICT);
}

#[test]
fn ctrl_c_at_any_question_leaves_it_open_and_nothing_else_is_lost() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.prompt(VERDICT);
    pane.keys(CTRL_C);
    pane.sees("Left open: 3 requests pending");
    pane.answer(GHYLL, "");
    pane.answer(VERDICT, "f");
    pane.prompt(WHERE);
    pane.keys(&format!("half a pla{CTRL_C}"));
    pane.answer(GHYLL, "");
    pane.answer(VERDICT, "i");
    pane.prompt(NOTE);
    pane.keys(CTRL_C);
    // Typed behind it at once, and not lost.
    pane.prompt(GHYLL);
    pane.keys(&format!("\ri\r<<\rline\r{CTRL_C}/pending\rp\r{CTRL_C}"));
    pane.sees("Left open: 2 requests pending");
    pane.prompt(GHYLL);
    pane.keys(&format!("half a line{CTRL_C}"));
    pane.prompt(GHYLL);
    pane.keys(CTRL_C);
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "attestation_id"),
        ["att-A-checkout-C1-v1"]
    );
    assert_eq!(fields(project.path(), "verdict"), ["pass"]);
    asks_first(project.path(), "att-A-checkout-C2-v1, round 1");
}

#[test]
fn an_escalation_is_passed_by_neither_enter_nor_skip_nor_ctrl_c_nor_ctrl_d() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "p");
    for round in 1..=3 {
        pane.answer(VERDICT, "i");
        pane.answer(NOTE, "nothing to go by");
        if round < 3 {
            pane.answer(GHYLL, "");
        }
    }
    for wrong in ["", "s", "skip", "3", "p", "accepted-risk", "1 2"] {
        pane.answer(DECIDE, wrong);
        pane.sees("Exactly 1 or 2");
    }
    pane.answer(DECIDE, "1");
    pane.prompt(NOTE);
    pane.keys(CTRL_C);
    pane.sees("Left open: 1 request pending");
    pane.answer(GHYLL, "");
    pane.prompt(DECIDE);
    pane.keys(CTRL_D);
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "verdict")[2..],
        ["insufficient-basis"; 3]
    );

    // Still what is asked, after the restart, and still for both ways.
    let mut pane = Pane::run(project.path(), &["--op-id", "bob"]);
    pane.answer(DECIDE, "2");
    pane.answer(NOTE, "the scenarios name no amounts");
    pane.sees("requires-deeper-artifact");
    pane.prompt(GHYLL);
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "verdict").last().unwrap(),
        "route-upstream"
    );
}

#[test]
fn ctrl_d_and_exit_leave_from_a_question() {
    let project = project();
    for way_out in [CTRL_D, "/exit\r"] {
        let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
        if way_out == CTRL_D {
            pane.answer(GHYLL, "/run-arrow A-checkout");
        }
        pane.prompt(VERDICT);
        pane.keys(way_out);
        pane.sees("3 requests stay pending");
        assert_eq!(pane.exit_code(), 0);
    }
    asks_first(project.path(), "att-A-checkout-C1-v1, round 1");
}

#[test]
fn a_signal_or_a_closed_window_leaves_cleanly() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "/exit");
    assert_eq!(pane.exit_code(), 0);
    for (signal, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
        pane.prompt(VERDICT);
        pane.keys("i\r");
        pane.prompt(NOTE);
        pane.keys("half a no");
        pane.sees("half a no");
        pane.signal(signal);
        pane.sees("what is pending is asked again at the next start");
        assert_eq!(pane.exit_code(), code);
    }
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.prompt(VERDICT);
    pane.close();
    pane.exit_code();
    assert_eq!(fields(project.path(), "verdict"), [""; 0]);
    // The lock is let go of, and everything is asked again.
    asks_first(project.path(), "att-A-checkout-C1-v1, round 1");
}

#[test]
fn ctrl_c_while_a_command_runs_calls_it_off_and_the_session_goes_on() {
    let project = project();
    let grid = project.path().join(".ghyll/grid.v1.yaml");
    let text = std::fs::read_to_string(&grid).unwrap();
    let text = text.replacen(
        "eval: attested",
        "eval: machine\n        run: [sh, -c, 'touch running; sleep 2; touch late; sleep 600']\n        timeout-s: 900",
        1,
    );
    std::fs::write(&grid, text).unwrap();
    let running = project.path().join("running");
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    for _ in 0..2 {
        pane.answer(GHYLL, "/run-arrow A-checkout");
        while !running.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        pane.keys(CTRL_C);
        pane.sees("A-checkout, C1: sh was ended before it was done");
        std::fs::remove_file(&running).unwrap();
    }
    pane.answer(GHYLL, "/passes");
    pane.sees("open");
    pane.prompt(GHYLL);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!project.path().join("late").exists(), "it runs on");
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
}
