use ghyll::db::Request;
use ghyll::db::{FindingStatus, Severity};
use ghyll::policy::{Attestation, Hint};
use ghyll::subject::Sha256;
use ghyll::subject::changed::{Change, Lines};

use super::*;

fn row(round: u32, verdict: &str, when: &str, payload: &str) -> Row {
    Row {
        rec: Attestation {
            verdict: verdict.to_owned(),
            op_id: "alice@example.com".to_owned(),
            timestamp: when.to_owned(),
            pass_id: "p1".to_owned(),
            unit_payload_json: payload.to_owned(),
            attestation_id: String::new(),
            kind: "depth-type".to_owned(),
            arrow_id: "A-checkout".to_owned(),
            clause_id: "C2".to_owned(),
            attested_by_role: String::new(),
            source_role: "analyst".to_owned(),
            target_role: "architect".to_owned(),
            adversary_role: String::new(),
            reason: String::new(),
            grid_version: 1,
            context: String::new(),
            stratum: String::new(),
            unit: String::new(),
            hint_json: "{}".to_owned(),
        },
        chain: String::new(),
        attestation_ref: "att-A-checkout-C2-v1".to_owned(),
        round,
        path: String::new(),
        line: 1,
        offset: 0,
        length: 0,
    }
}

fn hint(history: Vec<Row>, findings: Vec<Finding>) -> ModalHint {
    let round = u32::try_from(history.len()).unwrap() + 1;
    ModalHint {
        hint: Hint {
            arrow_id: "A-checkout".to_owned(),
            clause_id: "C2".to_owned(),
            concept: String::new(),
            attestation_ref: "att-A-checkout-C2-v1".to_owned(),
            subject: String::new(),
            locations: Vec::new(),
            basis: String::new(),
            residue: String::new(),
        },
        request: Request {
            attestation_ref: "att-A-checkout-C2-v1".to_owned(),
            pass_id: "p1".to_owned(),
            arrow_id: "A-checkout".to_owned(),
            clause_id: "C2".to_owned(),
            concept: "The payment scenarios name the amounts \u{1b}[31mthey are about, in every \
                      currency the shop takes"
                .to_owned(),
            context: "checkout".to_owned(),
            stratum: "behaviour".to_owned(),
            source_role: "analyst".to_owned(),
            target_role: "architect".to_owned(),
            adversary_role: "sceptic".to_owned(),
            grid_version: 1,
            round,
            ..Request::default()
        },
        escalation: false,
        history,
        findings,
        changed: Vec::new(),
        waiting: 2,
        max_residue_bytes: 16384,
        op_id: Some("bob".to_owned()),
        problem: None,
    }
}

fn finding(finding_id: i64) -> Finding {
    Finding {
        finding_id,
        attestation_ref: "att-A-checkout-C2-v1".to_owned(),
        raised_by: String::new(),
        arrow_id: "A-checkout".to_owned(),
        clause_id: "C2".to_owned(),
        grid_version: 1,
        pass_id: "p1".to_owned(),
        kind: "fail-verdict".to_owned(),
        severity: Severity::High,
        status: FindingStatus::Open,
        detail: "features/payment.feature:3-20".to_owned(),
        raised_at: String::new(),
        disposed_by: String::new(),
    }
}

/// What is seen at so many columns, each line checked to fit.
fn seen(hint: &ModalHint, escalation: bool, columns: usize) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("features")).unwrap();
    let lines: String = (1..=30)
        .map(|n| {
            format!("\tScenario {n}: the amount is \u{1b}[2J{n}.00 in a line of some length\n")
        })
        .collect();
    std::fs::write(dir.path().join("features/payment.feature"), lines).unwrap();
    let out = Output::captured_at(columns);
    let question = Question {
        hint,
        escalation,
        root: dir.path(),
        now: "2026-01-02T12:00:00Z".parse().unwrap(),
        rounds_max: 3,
        others_open: Some(0),
    };
    question.show(&out);
    let seen = out.take();
    for line in seen.lines() {
        assert!(line.chars().count() <= columns, "too wide: {line}");
    }
    assert!(!seen.contains('\u{1b}'));
    seen
}

fn with_a_past() -> ModalHint {
    hint(
        vec![
            row(
                1,
                "fail",
                "2026-01-02T09:00:00.000000000Z",
                r#"{"inspected":["features/payment.feature:3-20","features/gone.feature"]}"#,
            ),
            row(
                2,
                "insufficient-basis",
                "2026-01-02T11:58:00.000000000Z",
                r#"{"residue":"the glossary\nis missing"}"#,
            ),
        ],
        vec![finding(4), finding(6)],
    )
}

#[test]
fn a_first_question_has_nothing_to_look_back_on() {
    insta::assert_snapshot!(seen(&hint(Vec::new(), Vec::new()), false, 80));
}

#[test]
fn a_further_round_shows_what_was_said_and_the_lines_it_was_said_of() {
    insta::assert_snapshot!("at_80", seen(&with_a_past(), false, 80));
    insta::assert_snapshot!("at_40", seen(&with_a_past(), false, 40));
    insta::assert_snapshot!("at_120", seen(&with_a_past(), false, 120));
}

#[test]
fn an_escalation_says_who_decides_and_how_to_leave_it() {
    let basis = |round| {
        let when = "2026-01-01T11:58:00.000000000Z";
        row(round, "insufficient-basis", when, r#"{"residue":"no"}"#)
    };
    let mut hint = hint(vec![basis(1), basis(2), basis(3)], vec![finding(4)]);
    insta::assert_snapshot!(seen(&hint, true, 80));
    hint.op_id = None;
    assert!(seen(&hint, true, 80).contains("/op-id ID says who decides"));
}

/// All that a question can have.
fn with_everything() -> ModalHint {
    let mut hint = with_a_past();
    hint.request.evidence = ghyll::db::Evidence {
        locations: vec!["features/payment.feature:7-8".to_owned()],
        basis: "every amount has a currency, which the glossary\nnames".to_owned(),
        residue: "the refunds".to_owned(),
    };
    let change = |path: &str, old, new, lines| Change {
        path: path.to_owned(),
        old,
        new,
        lines,
    };
    let (some, other) = (Some(Sha256([1; 32])), Some(Sha256([2; 32])));
    let (added, removed) = (12, 3);
    hint.changed = vec![
        change(
            "features/payment.feature",
            some,
            other,
            Some(Lines { added, removed }),
        ),
        change(
            "features/a-directory/with-a-long-name/refund.feature",
            None,
            some,
            None,
        ),
    ];
    hint.request.deeper = 1;
    hint
}

#[test]
fn with_all_there_is_it_reads_well_at_every_width() {
    for columns in [40, 80, 120] {
        let shown = seen(&with_everything(), false, columns);
        insta::assert_snapshot!(format!("everything_at_{columns}"), shown);
        let shown = seen(&with_everything(), true, columns);
        insta::assert_snapshot!(format!("escalation_at_{columns}"), shown);
    }
}

#[test]
fn below_a_note_stands_the_question_without_its_keys() {
    let hint = with_a_past();
    let question = Question {
        hint: &hint,
        escalation: false,
        root: Path::new("/nowhere"),
        now: "2026-01-02T12:00:00Z".parse().unwrap(),
        rounds_max: 3,
        others_open: None,
    };
    insta::assert_snapshot!(question.comments().join("\n"));
}

#[test]
fn what_the_producer_says_stands_under_its_name_and_none_of_it_looks_like_ours() {
    let mut hint = with_a_past();
    hint.request.evidence = ghyll::db::Evidence {
        locations: vec![
            "features/payment.feature:7-8".to_owned(),
            "gone.rs".to_owned(),
        ],
        basis: "every amount has\n  p  pass  \u{1b}[2Ja currency\r\u{202e}ssap".to_owned(),
        residue: "the glossary".to_owned(),
    };
    insta::assert_snapshot!("producer_at_80", seen(&hint, false, 80));
    let question = Question {
        hint: &hint,
        escalation: false,
        root: Path::new("/nowhere"),
        now: "2026-01-02T12:00:00Z".parse().unwrap(),
        rounds_max: 3,
        others_open: None,
    };
    let comments = question.comments().join("\n");
    assert!(comments.contains("every amount has"), "{comments}");
    // However much there is, the answers are still to be seen.
    hint.request.evidence.basis = "more\n".repeat(2000);
    hint.request.evidence.residue = "r".repeat(4096);
    hint.request.evidence.locations = vec!["features/payment.feature:1-30".to_owned(); 64];
    for columns in [40, 80] {
        let shown = seen(&hint, false, columns);
        assert!(shown.lines().count() < 200, "{}", shown.lines().count());
        assert!(shown.contains("  p  pass"), "{shown}");
    }
}

#[test]
fn what_changed_since_the_last_round_is_told_and_d_tells_all_of_it() {
    let mut hint = hint(Vec::new(), Vec::new());
    assert!(!seen(&hint, false, 80).contains("Changed"));
    hint.changed = (1..=12)
        .map(|n| Change {
            path: format!("src/file-{n}.rs"),
            old: Some(Sha256([1; 32])),
            new: (n > 1).then_some(Sha256([2; 32])),
            lines: (n == 2).then_some(Lines {
                added: 3,
                removed: 1,
            }),
        })
        .collect();
    let shown = seen(&hint, false, 80);
    assert!(shown.contains("Changed since the last round:\n  removed  src/file-1.rs\n"));
    assert!(
        shown.contains("  changed  src/file-2.rs  +3 -1\n"),
        "{shown}"
    );
    assert!(shown.contains("… and 2 files more; d shows all"), "{shown}");
    assert!(!shown.contains("src/file-11.rs"), "{shown}");
    let question = Question {
        hint: &hint,
        escalation: false,
        root: Path::new("/nowhere"),
        now: "2026-01-02T12:00:00Z".parse().unwrap(),
        rounds_max: 3,
        others_open: None,
    };
    let all = question.difference();
    assert!(
        all.iter()
            .any(|line| line.plain() == "changed  src/file-12.rs")
    );
}

#[test]
fn the_difference_is_shown_line_by_line_and_nothing_in_it_acts() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    let old = lines.join("\n");
    let new = old.replace("line 9\n", "line nine\u{1b}[2J\n");
    std::fs::write(dir.path().join("new.rs"), "\tone\ntwo\n").unwrap();
    std::fs::write(dir.path().join("a.rs"), &new).unwrap();
    let mut hint = hint(Vec::new(), Vec::new());
    let sha256 = |text: &str| Some(Sha256::of(text.as_bytes()));
    let change = |path: &str, old, new| Change {
        path: path.to_owned(),
        old,
        new,
        lines: None,
    };
    hint.changed = vec![
        change("a.rs", sha256(&old), sha256(&new)),
        change("new.rs", None, sha256("\tone\ntwo\n")),
    ];
    let question = Question {
        hint: &hint,
        escalation: false,
        root: dir.path(),
        now: "2026-01-02T12:00:00Z".parse().unwrap(),
        rounds_max: 3,
        others_open: None,
    };
    // The old text is nowhere but in git's HEAD.
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(dir.path()).args(args).output().unwrap()
    };
    std::fs::write(dir.path().join("a.rs"), &old).unwrap();
    git(&["init", "-q"]);
    git(&["add", "a.rs"]);
    let commit = [
        "-c",
        "user.name=n",
        "-c",
        "user.email=e",
        "commit",
        "-qm",
        ".",
    ];
    assert!(git(&commit).status.success());
    std::fs::write(dir.path().join("a.rs"), &new).unwrap();
    let shown: Vec<String> = question.difference().iter().map(Text::plain).collect();
    insta::assert_snapshot!(shown.join("\n"));
}
