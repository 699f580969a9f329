//! Sessions typed by a scripted reader on real projects.

use ghyll::modal::Attended;
use std::path::Path;
use std::sync::Arc;

use ghyll::bus::Bus;
use ghyll::clock::{ReplayClock, SystemClock};
use ghyll::grid::Grid;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::script::{Limits, Stage};

use super::*;
use crate::cli::reader::ScriptedReader;

const GRID: &str = "\
version: 1
residue-note-max-bytes: 40
arrows:
  - id: A-checkout
    source-role: analyst
    target-role: architect
    adversary-role: sceptic
    stratum: behaviour
    context: checkout
    clauses:
      - {id: C1, concept: Every ending is described, eval: attested}
      - {id: C2, concept: Amounts are named, eval: attested}
      - {id: C3, concept: The glossary holds, eval: attested}
";

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let project = Project::create(dir.path()).unwrap();
    Grid::write(project.ghyll(), 1, GRID).unwrap();
    std::fs::write(dir.path().join("a.feature"), "1\n2\n3\n").unwrap();
    dir
}

std::thread_local! {
    /// Sessions of the test so far: each draws other ids.
    static SEED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn open(dir: &Path) -> Attended {
    let policy = Arc::new(Policy::load().unwrap());
    SEED.set(SEED.get() + 1);
    let clock = ReplayClock::new("2026-01-01T00:00:00Z".parse().unwrap(), SEED.get());
    let clock = Arc::new(clock);
    Attended::open(
        Project::open(dir).unwrap(),
        policy,
        clock,
        Arc::new(Bus::default()),
    )
    .unwrap()
}

/// Types `lines` into a session; what was seen.
fn typed(dir: &Path, op_id: Option<&str>, lines: &[&str]) -> String {
    typed_with(dir, op_id, false, None, lines)
}

fn typed_with(
    dir: &Path,
    op_id: Option<&str>,
    interactive: bool,
    record: Option<&Path>,
    lines: &[&str],
) -> String {
    held(dir, op_id, interactive, record, lines).0
}

/// What was seen, and the exit code.
fn held(
    dir: &Path,
    op_id: Option<&str>,
    interactive: bool,
    record: Option<&Path>,
    lines: &[&str],
) -> (String, u8) {
    let session = open(dir);
    session.set_op_id(op_id).unwrap();
    let out = Output::captured();
    let reader = Box::new(ScriptedReader::new(interactive, lines));
    let recorder = record.map(|file| Recorder::create(file, &session).unwrap());
    let mut repl = Repl::new(&session, &out, reader, recorder);
    repl.now = || "2026-01-01T03:00:00Z".parse().unwrap();
    let code = repl.run().unwrap();
    let seen = out.take().replace(
        &dir.canonicalize().unwrap().display().to_string(),
        "<project>",
    );
    (seen, code)
}

/// What is on record: who, what, on what.
fn on_record(dir: &Path) -> Vec<String> {
    let view = open(dir).view().unwrap();
    let mut lines = Vec::new();
    view.each_record(&ghyll::db::Filter::default(), |row| {
        let rec = row.rec;
        lines.push(format!(
            "{} {} {} {}",
            rec.attestation_id, rec.verdict, rec.op_id, rec.unit_payload_json
        ));
        Ok::<_, Failure>(())
    })
    .unwrap();
    lines
}

#[test]
fn every_wrong_answer_says_why_and_repeats_that_question() {
    let dir = project();
    let too_long = "a note that is longer than forty bytes are";
    let seen = typed_with(
        dir.path(),
        None,
        true,
        None,
        &[
            "/run-arrow A-checkout",
            "p",
            "/op-id a b",
            "/op-id None",
            "/op-id alice",
            "",
            "insuficient",
            "maybe",
            "f",
            " , ",
            "a.feature:9",
            "k",
            "i",
            "",
            too_long,
            "<<",
            "one",
            "two",
            ".",
            "s",
            "/exit",
        ],
    );
    insta::assert_snapshot!(seen);
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 fail alice {"inspected":["a.feature:9"]}"#,
            r#"att-A-checkout-C2-v1 insufficient-basis alice {"residue":"one\ntwo"}"#,
        ]
    );
}

#[test]
fn an_escalation_takes_one_or_two_and_nothing_else() {
    let dir = project();
    let rounds = [
        "i", "no", "s", "s", "", "i", "no", "s", "s", "", "i", "no", "s", "s",
    ];
    let mut lines = vec!["/run-arrow A-checkout"];
    lines.extend(rounds);
    lines.extend([
        "",
        "skip",
        "3",
        "p",
        "/op-id bob",
        "2",
        " ",
        "a deeper look",
        "/pending",
    ]);
    let seen = typed_with(dir.path(), Some("alice"), true, None, &lines);
    let (_, escalation) = seen.split_once("*** ESCALATION ***").unwrap();
    insta::assert_snapshot!(escalation);
    let records = on_record(dir.path());
    assert_eq!(records.len(), 4);
    assert_eq!(
        records[3],
        r#"att-A-checkout-C1-v1.r4 route-upstream bob {"residue":"a deeper look"}"#
    );

    // The deeper artifact is asked for by the next dispatch.
    let seen = typed(dir.path(), Some("bob"), &["/run-arrow A-checkout"]);
    assert!(seen.contains("routed upstream 1 time"), "{seen}");
}

#[test]
fn a_command_at_a_question_runs_and_the_question_is_repeated_or_gone() {
    let dir = project();
    let seen = typed_with(
        dir.path(),
        Some("alice"),
        true,
        None,
        &[
            "/run-arrow A-checkout",
            // Answers the very question.
            "/attest att-A-checkout-C1-v1 pass",
            // Answers another one.
            "/attest 'att-A-checkout-C3-v1' fail --inspected a.feature:1 --inspected 'b c' --keep",
            "f",
            "/pendig",
            " /etc/hosts",
            "/attest att-A-checkout-C9-v1 pass",
            "/attest att-A-checkout-C2-v1",
            "/attest \"x",
            "/exit now",
            "/exit",
        ],
    );
    insta::assert_snapshot!(seen);
    assert_eq!(
        on_record(dir.path()),
        [
            "att-A-checkout-C1-v1 pass alice {}",
            r#"att-A-checkout-C3-v1 fail alice {"inspected":["a.feature:1","b c"]}"#,
            r#"att-A-checkout-C2-v1 fail alice {"inspected":["/etc/hosts"]}"#,
        ]
    );
}

#[test]
fn a_doubtful_place_is_asked_again_only_where_somebody_is_there() {
    let lines = [
        "/run-arrow A-checkout",
        "f",
        "b.feature:1",
        "a.feature",
        "f",
        "x",
        "keep",
    ];
    let dir = project();
    typed_with(dir.path(), Some("alice"), true, None, &lines);
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 fail alice {"inspected":["a.feature"]}"#,
            r#"att-A-checkout-C2-v1 fail alice {"inspected":["x"]}"#,
        ]
    );
    let dir = project();
    typed_with(
        dir.path(),
        Some("alice"),
        false,
        None,
        &["/run-arrow A-checkout", "f", "b:1", "p"],
    );
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 fail alice {"inspected":["b:1"]}"#,
            "att-A-checkout-C2-v1 pass alice {}",
        ]
    );
}

#[test]
fn the_end_of_the_input_is_never_an_answer() {
    for lines in [
        &["/run-arrow A-checkout"][..],
        &["/run-arrow A-checkout", "f"],
        &["/run-arrow A-checkout", "i", "<<", "half a note"],
    ] {
        let dir = project();
        let seen = typed(dir.path(), Some("alice"), lines);
        assert!(seen.ends_with("3 requests stay pending, asked again at the next start.\n"));
        assert_eq!(on_record(dir.path()), [""; 0]);
        // Asked at the next start, in order, with nothing typed but answers.
        typed(dir.path(), Some("bob"), &["p", "p", "p"]);
        assert_eq!(on_record(dir.path()).len(), 3);
    }
}

#[test]
fn a_chat_turn_waits_for_what_is_due() {
    let dir = project();
    let seen = typed(
        dir.path(),
        Some("alice"),
        &[
            "/run-arrow A-checkout",
            "^C",
            "hello",
            "^C",
            "hello",
            "s",
            "s",
            "s",
        ],
    );
    assert_eq!(seen.matches("Not said, for a question is open.").count(), 1);
    assert_eq!(seen.matches("No model is configured").count(), 1);
}

#[test]
fn evidence_that_was_not_taken_in_the_end_need_not_be_typed_again() {
    let dir = project();
    let seen = typed_with(
        dir.path(),
        Some("alice"),
        true,
        None,
        &[
            "/run-arrow A-checkout",
            "f",
            "/op-id clear",
            "a.feature:1, a.feature:2",
            "/op-id bob",
            "f",
            "!!",
            "i",
            "/op-id clear",
            "long story",
            "/op-id bob",
            "i",
            "!!",
            "/exit",
        ],
    );
    assert_eq!(seen.matches("error[op-id-required]").count(), 2, "{seen}");
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 fail bob {"inspected":["a.feature:1","a.feature:2"]}"#,
            r#"att-A-checkout-C2-v1 insufficient-basis bob {"residue":"long story"}"#,
        ]
    );
}

#[test]
fn ctrl_c_at_the_prompt_leaves_the_second_time_only() {
    let dir = project();
    let seen = typed(dir.path(), None, &["^C", "/op-id", "^C", "^C", "/help"]);
    assert_eq!(seen.matches("Ctrl-C once more").count(), 2);
    assert!(!seen.contains("/run-arrow ID"), "{seen}");
}

/// Replays a recorded session on a fresh project; what is on record there.
fn replayed(file: &Path) -> Vec<String> {
    let dir = project();
    let stage = Stage {
        root: dir.path().to_owned(),
        policy: Arc::new(Policy::load().unwrap()),
        clock: Arc::new(SystemClock),
        limits: Limits::default(),
        log: Arc::new(|_| {}),
        heap: crate::heap,
    };
    let script = std::fs::read_to_string(file).unwrap();
    let report = stage.run(&script).unwrap();
    assert_eq!(report.error, None, "{script}");
    on_record(dir.path())
}

#[test]
fn a_recorded_session_replays_to_the_same_records() {
    let arrow = "/run-arrow A-checkout";
    let sessions: [&[&str]; 7] = [
        &[
            "/op-id alice",
            arrow,
            "p",
            "f",
            "a.feature:1, b\"\\c",
            "/op-id bob",
            "i",
            "no basis",
            "hi",
            "p",
        ],
        // Wrong answers leave no trace.
        &[
            "/op-id alice",
            arrow,
            "x",
            "i",
            "",
            "why",
            "f",
            ",",
            "a.feature",
            "p",
        ],
        // Skipped, and answered later; handed over before the skip.
        &[
            "/op-id alice",
            arrow,
            "/op-id bob",
            "s",
            "p",
            "s",
            "go on",
            "p",
            "/op-id alice",
            "f",
            "a",
        ],
        // Left, and answered after a command a script does not have.
        &[
            "/op-id alice",
            arrow,
            "p",
            "^C",
            "/passes",
            "i",
            "<<",
            "two",
            "lines",
            ".",
            "p",
            "",
            "p",
        ],
        // Escalated and decided at once.
        &[
            "/op-id alice",
            arrow,
            "i",
            "1",
            "p",
            "p",
            "a",
            "i",
            "2",
            "b",
            "i",
            "3",
            "1",
            "accepted",
        ],
        // Escalated, left, and decided later; and one that never is.
        &[
            "/op-id alice",
            arrow,
            "i",
            "1",
            "p",
            "p",
            "a",
            "i",
            "2",
            "b",
            "i",
            "3",
            "^C",
            "c",
            "^C",
            "d",
            "2",
            "up",
        ],
        &[
            "/op-id alice",
            arrow,
            "i",
            "1",
            "p",
            "p",
            "a",
            "i",
            "2",
            "b",
            "i",
            "3",
        ],
    ];
    for lines in sessions {
        let dir = project();
        let file = dir.path().join("session.rhai");
        let seen = typed_with(dir.path(), None, lines.contains(&"x"), Some(&file), lines);
        let live = on_record(dir.path());
        assert!(live.len() >= 3, "{seen}");
        assert_eq!(
            replayed(&file),
            live,
            "{}",
            std::fs::read_to_string(&file).unwrap()
        );
    }
}

#[test]
fn a_recording_reads_like_a_script() {
    let dir = project();
    let file = dir.path().join("session.rhai");
    let lines = [
        "/run-arrow A-checkout",
        "p",
        "f",
        "a.feature:1",
        "s",
        "well?\u{202e}",
        "/op-id bob",
        "i",
        "a\u{1b}b",
        "/attest att-A-checkout-C1-v1 fail --residue 'no, it does not'",
    ];
    typed_with(dir.path(), Some("alice"), false, Some(&file), &lines);
    insta::assert_snapshot!(std::fs::read_to_string(file).unwrap());
}

#[test]
fn where_nobody_can_be_asked_again_a_refusal_ends_the_session() {
    let arrow = "/run-arrow A-checkout";
    let long = "a note that is longer than forty bytes are";
    let refused: [&[&str]; 10] = [
        &["/op-id bob smith", arrow, "p"],
        &["/op-id bob\u{202e}", arrow, "p"],
        &["/opid bob", arrow, "p"],
        &["/op-id none", arrow, "p"],
        &["/run-arrow A-chekout", arrow, "p"],
        &[arrow, "\u{feff}p", "p"],
        &[arrow, "f", " , ", "p"],
        &[arrow, "i", long, "p"],
        &[arrow, "i", "<<", long, ".", "p"],
        &[arrow, "o a.feature", "p"],
    ];
    for lines in refused {
        let dir = project();
        let (seen, code) = held(dir.path(), Some("alice"), false, None, lines);
        assert_eq!(code, 1, "{seen}");
        let words: Vec<_> = seen.split_whitespace().collect();
        let words = words.join(" ");
        assert!(words.contains("nothing after that line was read"), "{seen}");
        assert_eq!(on_record(dir.path()), [""; 0], "{seen}");
    }
    let dir = project();
    let (seen, _) = held(
        dir.path(),
        Some("alice"),
        false,
        None,
        &[arrow, "p", "x", "p"],
    );
    let (_, end) = seen.split_once("Recorded").unwrap();
    insta::assert_snapshot!(end);
    assert_eq!(on_record(dir.path()).len(), 1);
    // The same on a terminal goes on.
    let (seen, code) = held(dir.path(), Some("alice"), true, None, &["x", "p", "p"]);
    assert_eq!((code, on_record(dir.path()).len()), (0, 3), "{seen}");
}

#[test]
fn a_pass_may_carry_places_or_a_note_or_both() {
    let dir = project();
    let lines = [
        "/run-arrow A-checkout",
        "P a.feature:1-2, a.feature",
        "pass as the glossary says",
        "p a.feature:3 -- read twice",
    ];
    let seen = typed(dir.path(), Some("alice"), &lines);
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 pass alice {"inspected":["a.feature:1-2","a.feature"]}"#,
            r#"att-A-checkout-C2-v1 pass alice {"residue":"as the glossary says"}"#,
            r#"att-A-checkout-C3-v1 pass alice {"inspected":["a.feature:3"],"residue":"read twice"}"#,
        ],
        "{seen}"
    );
}

#[test]
fn a_paste_at_a_notes_or_a_places_prompt_is_one_answer_and_no_command() {
    let dir = project();
    let lines = [
        "/run-arrow A-checkout",
        "f",
        "a.feature:1\na.feature:2\n",
        "i",
        "/exit\nis no command\n",
        "i",
        "<<",
        "/exit",
        ".",
    ];
    let seen = typed(dir.path(), Some("alice"), &lines);
    assert_eq!(
        on_record(dir.path()),
        [
            r#"att-A-checkout-C1-v1 fail alice {"inspected":["a.feature:1","a.feature:2"]}"#,
            r#"att-A-checkout-C2-v1 insufficient-basis alice {"residue":"/exit\nis no command"}"#,
            r#"att-A-checkout-C3-v1 insufficient-basis alice {"residue":"/exit"}"#,
        ],
        "{seen}"
    );
}

#[test]
fn a_note_without_an_end_is_given_up_on() {
    let dir = project();
    let mut lines = vec!["/run-arrow A-checkout", "i", "<<"];
    lines.extend(["a line of twenty byt"; 1000]);
    let (seen, code) = held(dir.path(), Some("alice"), false, None, &lines);
    assert_eq!(code, 1);
    assert!(seen.contains("Line 5 was given to \"|\""), "{seen}");
    // On a terminal it is asked again, and kept no longer than it may be.
    let mut lines = vec!["i", "<<"];
    lines.extend(["a line of twenty byt"; 1000]);
    lines.extend([".", "short"]);
    typed_with(dir.path(), Some("alice"), true, None, &lines);
    assert_eq!(on_record(dir.path()).len(), 1);
}

#[test]
fn words_without_a_slash_are_commands_at_the_prompt_and_nowhere_else() {
    let dir = project();
    let seen = typed(dir.path(), Some("alice"), &["?", "help", "quit", "/op-id"]);
    assert_eq!(seen.matches("/run-arrow ID").count(), 2);
    assert!(!seen.contains("You answer as"), "{seen}");
    let lines = ["/run-arrow A-checkout", "i", "quit", "?", "p", "p"];
    let seen = typed(dir.path(), Some("alice"), &lines);
    assert_eq!(on_record(dir.path()).len(), 3, "{seen}");
    // ? shows the question again.
    assert_eq!(
        seen.matches("att-A-checkout-C2-v1, round 1").count(),
        2,
        "{seen}"
    );
}

#[test]
fn a_command_that_only_shows_something_does_not_ask_what_was_skipped() {
    let dir = project();
    let lines = [
        "/run-arrow A-checkout",
        "p",
        "s",
        "p",
        "/pending",
        "/op-id",
        "/passes",
        "go on",
        "p",
    ];
    let seen = typed(dir.path(), Some("alice"), &lines);
    assert_eq!(on_record(dir.path()).len(), 3, "{seen}");
    let asked = "att-A-checkout-C2-v1, round 1 ";
    assert_eq!(seen.matches(asked).count(), 2, "{seen}");
    let (before, _) = seen.rsplit_once(asked).unwrap();
    assert!(before.contains("You answer as alice."), "{seen}");
}
