//! What an operator sees, word for word.

use std::process::Command;

use super::pane::{Pane, fields, ghyll, project};

const VERDICT: &str = "Verdict [p/f/i/s]: ";
const WHERE: &str = "Where, comma-separated: ";
const NOTE: &str = "Note: ";
const DECIDE: &str = "Decide, 1 or 2: ";
const GHYLL: &str = "ghyll> ";

#[test]
fn a_session_from_the_first_verdict_to_an_escalation() {
    let project = project();
    let mut pane = Pane::run(project.path(), &[]);
    pane.answer(GHYLL, "/run-arow A-checkout");
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "/op-id alice@example.com");
    pane.answer(VERDICT, "pas");
    pane.answer(VERDICT, "PASS");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "");
    pane.answer(WHERE, "features/payment.feature:42-50");
    pane.answer(VERDICT, "ib");
    pane.answer(NOTE, "the glossary is missing");
    pane.answer(GHYLL, "go on");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "still missing");
    pane.answer(GHYLL, "");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "and again");
    pane.answer(DECIDE, "");
    pane.answer(DECIDE, "1");
    pane.answer(NOTE, "known gap, closed next week");
    pane.answer(GHYLL, "/attestations");
    pane.answer(GHYLL, "/findings");
    pane.answer(GHYLL, "/passes");
    pane.answer(GHYLL, "/exit");
    pane.exit_code();
    insta::assert_snapshot!(pane.text());
}

#[test]
fn what_others_ask_and_decide_is_told_above_the_line_being_typed() {
    let project = project();
    let other = |arguments: &[&str]| {
        let mut command = Command::new(ghyll());
        command.arg("--dir").arg(project.path()).args(arguments);
        assert!(command.output().unwrap().status.code() < Some(2));
    };
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.prompt(GHYLL);
    pane.keys("/hel");
    pane.sees("l");
    other(&["dispatch", "A-checkout"]);
    pane.sees("Asked: att-A-checkout-C1-v1");
    other(&["attest", "A-checkout/C1", "pass", "--op-id", "bob"]);
    pane.sees("bob recorded att-A-checkout-C1-v1: pass.");
    // What was typed is there yet.
    pane.keys("p\r");
    pane.sees("said to the model");
    // A command is a turn: what others asked is put after it.
    pane.sees("The payment scenarios name the amounts");
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
}

#[test]
fn a_narrow_window_breaks_lines_and_hides_nothing() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.prompt(GHYLL);
    pane.resize(40);
    pane.keys("/run-arrow A-checkout\r");
    pane.answer(VERDICT, "i");
    pane.answer(
        NOTE,
        "a note that is longer than the window is wide, typed to its end",
    );
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
    insta::assert_snapshot!(pane.text());
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let project = project();
    let shown = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut pane = Pane::run_with(project.path(), arguments, variables);
        pane.prompt(GHYLL);
        pane.keys("/help\r");
        pane.sees("said to the model");
        pane.prompt(GHYLL);
        pane.keys("/op-id\r");
        pane.sees("Nobody answers yet");
        pane.answer(GHYLL, "/nothing");
        pane.sees("usage");
        pane.answer(GHYLL, "/exit");
        pane.exit_code();
        (
            pane.text(),
            String::from_utf8_lossy(&pane.bytes()).contains("\u{1b}[1m"),
        )
    };
    let (coloured, has_colour) = shown(&[], &[]);
    assert!(has_colour);
    for (arguments, variables) in [
        (&["--color", "never"][..], &[][..]),
        (&[], &[("NO_COLOR", "1")]),
    ] {
        let (plain, has_colour) = shown(arguments, variables);
        assert!(!has_colour);
        assert_eq!(plain, coloured);
    }
    insta::assert_snapshot!(coloured);
}

#[test]
fn nothing_from_a_grid_or_a_record_acts_on_the_terminal() {
    let project = project();
    let grid = project.path().join(".ghyll/grid.v1.yaml");
    let text = std::fs::read_to_string(&grid).unwrap();
    let hostile = text.replacen(
        "Every way a checkout can end is described",
        r#""red \e[31m\e]0;title\a \x9b2J \r over \u202e back \u200b""#,
        1,
    );
    assert_ne!(hostile, text);
    std::fs::write(&grid, hostile).unwrap();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice", "--color", "never"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "note");
    pane.answer(VERDICT, "/attestations");
    pane.answer(VERDICT, "/pending");
    pane.answer(VERDICT, "/exit");
    pane.exit_code();
    let shown = String::from_utf8_lossy(&pane.bytes()).into_owned();
    for forbidden in [
        "\u{1b}[31m",
        "\u{1b}]0",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\u{7}",
    ] {
        assert!(!shown.contains(forbidden), "{forbidden:?}");
    }
    assert!(shown.contains("red [31m"));
}

#[test]
fn a_newcomer_passes_one_clause_fails_one_and_escalates_one_by_what_the_screen_says() {
    let mut pane = Pane::demo();
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "features/payment.feature:5");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "what is an order?");
    pane.answer(GHYLL, "");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "still, what is an order?");
    pane.answer(GHYLL, "");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "nobody knows");
    pane.answer(DECIDE, "2");
    pane.answer(NOTE, "the glossary has to say it");
    pane.answer(GHYLL, "/attestations");
    pane.answer(GHYLL, "/exit");
    assert_eq!(pane.exit_code(), 0);
    let text = pane.text();
    let (_, project) = text.split_once("ghyll session on ").unwrap();
    let (project, _) = project.split_once(": grid").unwrap();
    let project: String = project.split_whitespace().collect();
    let verdicts = fields(project.as_ref(), "verdict");
    std::fs::remove_dir_all(&project).unwrap();
    let rounds = [
        "insufficient-basis",
        "insufficient-basis",
        "insufficient-basis",
    ];
    assert_eq!(verdicts[..2], ["pass", "fail"]);
    assert_eq!(verdicts[2..5], rounds);
    assert_eq!(verdicts[5], "route-upstream");
    let start = text.find("asked now.").unwrap();
    let end = text.find("Verdict [p/f/i/s]: f").unwrap();
    insta::assert_snapshot!(&text[start..end]);
}
