//! What is typed arrives, however it is typed.

use super::pane::{Pane, fields, project, records};

const VERDICT: &str = "Verdict [p/f/i/s]: ";
const WHERE: &str = "Where, comma-separated: ";
const NOTE: &str = "Note: ";
const GHYLL: &str = "ghyll> ";

#[test]
fn a_paste_of_a_whole_session_is_as_many_answers_as_it_has_lines() {
    let project = project();
    let mut pane = Pane::run(project.path(), &[]);
    pane.prompt(GHYLL);
    pane.keys(
        "/op-id alice\r/run-arrow A-checkout\rp\rf\rfeatures/payment.feature:42-50\r/op-id bob\r\
         i\r<<\rfirst\r\tsecond\r.\r/passes\rp\r/exit\r",
    );
    assert_eq!(pane.exit_code(), 0);
    let verdicts = ["pass", "fail", "insufficient-basis", "pass"];
    assert_eq!(fields(project.path(), "verdict"), verdicts);
    assert_eq!(
        fields(project.path(), "op_id"),
        ["alice", "alice", "bob", "bob"]
    );
    assert_eq!(
        records(project.path())[2]["unit_payload_json"],
        r#"{"residue":"first\n\tsecond"}"#
    );
}

#[test]
fn a_bracketed_paste_is_answers_at_a_verdict_and_one_note_at_a_note() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.prompt(VERDICT);
    pane.keys("\u{1b}[200~p\r\nf\r\nfeatures/payment.feature:1\r\n\u{1b}[201~\r");
    pane.prompt(VERDICT);
    pane.keys("i\r");
    pane.prompt(NOTE);
    pane.keys("\u{1b}[200~/exit is text here\n\tp\n\u{1b}[201~");
    pane.keys("\r");
    pane.sees("A note of 2 lines, 21 of 16384 bytes");
    pane.answer(GHYLL, "quit");
    assert_eq!(pane.exit_code(), 0);
    let verdicts = ["pass", "fail", "insufficient-basis"];
    assert_eq!(fields(project.path(), "verdict"), verdicts);
    assert_eq!(
        records(project.path())[2]["unit_payload_json"],
        r#"{"residue":"/exit is text here\n\tp"}"#
    );
}

#[test]
fn a_note_of_16_kib_is_typed_and_recorded_whole_and_one_byte_more_is_asked_again() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "i");
    let note: String = "0123456789abcde ".repeat(1024);
    pane.answer(NOTE, &format!("{note}+"));
    pane.sees("verdict-residue-too-long");
    let note = format!("{}.", &note[..note.len() - 1]);
    pane.answer(NOTE, &note);
    pane.prompt(VERDICT);
    pane.keys("\u{4}");
    assert_eq!(pane.exit_code(), 0);
    let records = records(project.path());
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0]["unit_payload_json"],
        format!(r#"{{"residue":"{note}"}}"#)
    );
}

#[test]
fn keys_typed_while_ghyll_is_at_work_are_there_at_the_next_question() {
    let project = project();
    let grid = project.path().join(".ghyll/grid.v1.yaml");
    let text = std::fs::read_to_string(&grid).unwrap();
    let slow = text.replacen(
        "eval: attested",
        "eval: machine\n        run: [sh, -c, 'touch running; sleep 1']",
        1,
    );
    assert_ne!(slow, text);
    std::fs::write(&grid, slow).unwrap();

    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    while !project.path().join("running").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // More than a kernel holds of one line.
    let long = "x".repeat(6000);
    pane.keys(&format!("p\ri\r{long}\r/exit\r"));
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "verdict"),
        ["pass", "insufficient-basis"]
    );
    let payload = records(project.path())[1]["unit_payload_json"]
        .as_str()
        .unwrap()
        .len();
    assert_eq!(payload, r#"{"residue":""}"#.len() + 6000);
}

#[test]
fn a_line_can_be_edited_completed_and_recalled_and_evidence_is_never_kept() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    // Completion of a command and of its argument, and a slip put right.
    pane.prompt(GHYLL);
    pane.keys("/rux\u{7f}\t");
    pane.sees("/run-arrow");
    pane.keys(" A\t\r");
    pane.answer(VERDICT, "f");
    pane.prompt(WHERE);
    pane.keys("feat\tpay\t:3\r");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "secret of a note");
    pane.answer(VERDICT, "s");
    pane.answer(
        GHYLL,
        "/attest att-A-checkout-C1-v1 fail --inspected secret-place --keep",
    );
    pane.answer(VERDICT, "s");
    pane.answer(VERDICT, "/op-id bob");
    pane.answer(VERDICT, "s");
    pane.answer(GHYLL, "hello, my key is secret");
    pane.answer(VERDICT, "s");
    pane.answer(VERDICT, "s");
    pane.prompt(GHYLL);
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
    let kept = std::fs::read_to_string(project.path().join(".ghyll/history")).unwrap();
    assert_eq!(
        kept,
        "/run-arrow A-checkout\n/attest att-A-checkout-C1-v1 fail\n"
    );
    assert_eq!(
        records(project.path())[0]["unit_payload_json"],
        r#"{"inspected":["features/payment.feature:3"]}"#
    );

    // The next session recalls it.
    let mut pane = Pane::run(project.path(), &[]);
    pane.answer(VERDICT, "s");
    pane.answer(VERDICT, "s");
    pane.prompt(GHYLL);
    pane.keys("\u{10}");
    pane.sees("/attest att-A-checkout-C1-v1 fail");
}

#[test]
fn a_place_that_is_not_there_is_pointed_out_and_can_be_kept() {
    let project = project();
    let mut pane = Pane::run(project.path(), &["--op-id", "alice"]);
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "features/payment.feature:99, nowhere.rs");
    pane.sees("features/payment.feature ends at line 60");
    pane.sees("there is no nowhere.rs in the project");
    pane.answer(WHERE, "features/payment.feature:60");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "elsewhere.rs:1");
    pane.answer(WHERE, "k");
    pane.prompt(VERDICT);
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "unit_payload_json"),
        [
            r#"{"inspected":["features/payment.feature:60"]}"#,
            r#"{"inspected":["elsewhere.rs:1"]}"#
        ]
    );
}

#[test]
fn a_note_can_be_written_in_an_editor() {
    let project = project();
    let editor = project.path().join("editor");
    std::fs::write(
        &editor,
        "stty sane; echo editing; read line; echo \"typed: $line\" > \"$2\"\n",
    )
    .unwrap();
    let command = format!("sh {} 'first argument'", editor.display());
    let mut pane = Pane::run_with(
        project.path(),
        &["--op-id", "alice"],
        &[("VISUAL", &command)],
    );
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "i");
    pane.answer(NOTE, "!e");
    pane.sees("editing");
    pane.keys("in the editor\n");
    pane.prompt(VERDICT);
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
    assert_eq!(
        fields(project.path(), "unit_payload_json"),
        [r#"{"residue":"typed: in the editor"}"#]
    );
}

#[test]
fn a_place_named_before_is_shown_and_opened_in_the_editor() {
    let project = project();
    let editor = project.path().join("editor");
    std::fs::write(&editor, "echo \"opened $1 ${2##*/}\"\n").unwrap();
    let command = format!("sh {}", editor.display());
    let mut pane = Pane::run_with(
        project.path(),
        &["--op-id", "alice"],
        &[("VISUAL", &command)],
    );
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.answer(VERDICT, "f");
    pane.answer(WHERE, "features/payment.feature:42-44");
    pane.answer(VERDICT, "p");
    pane.answer(VERDICT, "p");
    pane.answer(GHYLL, "/run-arrow A-checkout");
    pane.sees("   43 │ ");
    pane.answer(VERDICT, "o");
    pane.sees("opened +42 payment.feature");
    pane.answer(VERDICT, "o features/payment.feature:7");
    pane.sees("opened +7 payment.feature");
    pane.answer(VERDICT, "o nowhere.rs");
    pane.sees("There is no file nowhere.rs in the project.");
    pane.answer(VERDICT, "?");
    pane.sees("finding #1 resolved");
    pane.prompt(VERDICT);
    pane.keys("/exit\r");
    assert_eq!(pane.exit_code(), 0);
}
