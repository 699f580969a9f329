//! What is longer than the screen, and what is shown on it again.

use std::process::Command;

use super::pane::{Pane, fields, ghyll, project};

const VERDICT: &str = "Verdict [p/f/i/s]: ";
const GHYLL: &str = "ghyll> ";
/// A pager that says of each line that it was paged.
const MARKING: &str = "sed 's/^/paged: /'";
/// A line near the end of a list of all codes.
const LAST: &str = "mcp-failed";

/// What is shown of all codes, with such a pager, once the command has ended.
fn shown(pager: &[(&str, &str)]) -> String {
    let project = project();
    let mut pane = Pane::low(project.path(), &["explain"], pager, 10);
    assert_eq!(pane.exit_code(), 0);
    pane.sees(LAST);
    String::from_utf8(pane.bytes()).unwrap()
}

#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager_of_the_environment() {
    let paged = shown(&[("GHYLL_PAGER", MARKING), ("PAGER", "false")]);
    assert!(paged.contains("paged: "), "{paged}");
    let paged = shown(&[("GHYLL_PAGER", ""), ("PAGER", MARKING)]);
    assert!(!paged.contains("paged: "), "an empty one is none");
    let paged = shown(&[("GHYLL_PAGER", "cat"), ("PAGER", MARKING)]);
    assert!(!paged.contains("paged: "), "cat is none");
}

#[test]
fn what_fits_is_not_paged_and_neither_is_what_is_piped() {
    let project = project();
    let pager = [("GHYLL_PAGER", MARKING)];
    let arguments = ["explain", "op-id-required"];
    let mut pane = Pane::low(project.path(), &arguments, &pager, 24);
    assert_eq!(pane.exit_code(), 0);
    pane.sees("What to do");
    assert!(!pane.text().contains("paged: "), "{}", pane.text());
    let mut piped = Command::new(ghyll());
    piped.arg("explain").env("GHYLL_PAGER", MARKING);
    let output = piped.output().unwrap();
    assert!(
        !String::from_utf8(output.stdout)
            .unwrap()
            .contains("paged: ")
    );
}

#[test]
fn a_pager_that_does_not_work_hides_nothing() {
    for broken in ["no-such-pager --at-all", "false", "sed 'unclosed"] {
        let shown = shown(&[("GHYLL_PAGER", broken)]);
        assert!(shown.contains("does not work"), "{broken}: {shown}");
        assert_eq!(shown.matches(LAST).count(), 1, "{broken}: {shown}");
    }
}

#[test]
fn a_pager_has_the_terminal_and_a_session_has_it_back() {
    let project = project();
    let dispatch = ["dispatch", "A-checkout", "--dir"];
    let mut dispatch = {
        let mut c = Command::new(ghyll());
        c.args(dispatch);
        c
    };
    dispatch.arg(project.path()).output().unwrap();
    // Reads its keys from the terminal, as less does.
    let waits = "sh -c 'cat; printf END; read key < /dev/tty; printf \"got %s\" \"$key\"'";
    let pager = [("GHYLL_PAGER", waits)];
    let mut pane = Pane::low(project.path(), &["run", "--op-id", "alice"], &pager, 4);
    pane.answer(VERDICT, "/pending");
    pane.sees("END");
    // Ctrl-C is the pager's, and ends nothing of ghyll's.
    pane.keys("onward\r");
    pane.sees("got onward");
    pane.answer(VERDICT, "s");
    pane.answer(VERDICT, "s");
    pane.answer(VERDICT, "s");
    pane.answer(GHYLL, "/exit");
    assert_eq!(pane.exit_code(), 0);
}

#[test]
fn ctrl_l_shows_the_question_again_and_keeps_what_was_typed() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.prompt(VERDICT);
    pane.keys("pa\x0c");
    pane.sees("Every way a checkout can end is described");
    pane.prompt("Verdict [p/f/i/s]: pa");
    let claims = pane.text().matches("Every way a checkout").count();
    assert_eq!(claims, 1, "the screen was cleared: {}", pane.text());
    pane.keys("ss\r");
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
    assert_eq!(fields(project.path(), "verdict"), ["pass"]);
}

#[test]
fn a_name_nobody_used_before_is_asked_about_and_can_be_taken_back() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "/op-id alcie");
    pane.sees("nobody has answered as alcie in this project before, but alice");
    pane.answer(VERDICT, "n");
    pane.sees("You answer as alice from now on.");
    // Once asked, `n` is no word any more; and whoever goes on says yes.
    pane.answer(VERDICT, "n");
    pane.sees("\"n\" is no verdict here");
    pane.answer(VERDICT, "/op-id bob");
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
    assert_eq!(fields(project.path(), "op_id"), ["alice", "bob"]);
}

#[test]
fn at_the_first_question_the_name_that_git_knows_is_offered_and_not_taken() {
    let project = project();
    let config = project.path().join("gitconfig");
    std::fs::write(&config, "[user]\n\temail = carol@example.com\n").unwrap();
    let variables = [("GIT_CONFIG_GLOBAL", config.to_str().unwrap())];
    let mut pane = Pane::run_with(project.path(), &[], &variables);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "p");
    pane.answer(
        "Nobody answers yet. Answer as carol@example.com? [y/n]: ",
        "y",
    );
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
    assert_eq!(fields(project.path(), "op_id"), ["carol@example.com"]);
}
