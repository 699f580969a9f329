use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::audit::TREE_DIR;
use crate::clock::{ReplayClock, SystemClock};
use crate::grid::Grid;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The scripts in a directory, by name.
fn all(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "rhai") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            found.push((name, read(&path)));
        }
    }
    found.sort();
    found
}

/// A project of its own and a stage on it.
struct Theatre {
    dir: tempfile::TempDir,
    stage: Stage,
    log: Arc<Mutex<Vec<String>>>,
}

impl Theatre {
    fn new(grid: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::create(dir.path()).unwrap();
        Grid::write(project.ghyll(), 1, grid).unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let stage = Stage {
            root: dir.path().to_owned(),
            policy: Arc::new(Policy::load().unwrap()),
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            log: Arc::new(move |line| lines.lock().unwrap().push(line.to_owned())),
            heap: || 0,
        };
        Self { dir, stage, log }
    }

    /// On the grid every project starts with, in a directory with nothing else.
    fn empty() -> Self {
        Self::new(&read(scripts().join("sample/.ghyll/grid.v1.yaml")))
    }

    /// On a copy of the sample project.
    fn sample() -> Self {
        let theatre = Self::empty();
        for part in ["docs", "features", "src"] {
            let to = theatre.dir.path().join(part);
            std::fs::create_dir(&to).unwrap();
            for entry in std::fs::read_dir(scripts().join("sample").join(part)).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
        theatre
    }

    fn at(mut self, seed: u64) -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        self.stage.clock = Arc::new(ReplayClock::new(start, seed));
        self
    }

    fn run(&self, source: &str) -> Report {
        self.stage.run(source).unwrap()
    }

    /// Runs a script in which all must go well.
    fn well(&self, source: &str) -> Report {
        let report = self.run(source);
        assert!(report.ok(), "{report:?}");
        assert!(!report.expectations.is_empty(), "expects nothing");
        report
    }

    fn error(&self, source: &str) -> ScriptError {
        self.run(source).error.expect("the script fails")
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join(".ghyll").join(TREE_DIR)
    }
}

#[test]
fn the_example_scripts_hold_on_a_new_project_and_on_the_sample() {
    for (name, source) in all(&scripts()) {
        for theatre in [Theatre::empty(), Theatre::sample()] {
            let report = theatre.run(&source);
            assert!(
                report.ok() && !report.expectations.is_empty(),
                "{name}: {report:?}"
            );
        }
    }
    for (name, source) in all(&scripts().join("sample/scripts")) {
        let report = Theatre::sample().run(&source);
        assert!(
            report.ok() && !report.expectations.is_empty(),
            "{name}: {report:?}"
        );
    }
}

#[test]
fn a_replay_writes_the_golden_tree_and_another_seed_does_not() {
    for entry in std::fs::read_dir(scripts().join("golden")).unwrap() {
        let golden = entry.unwrap().path();
        let name = golden.file_name().unwrap().to_str().unwrap();
        let source = read(scripts().join(name).with_extension("rhai"));
        let (right, wrong) = (Theatre::empty().at(1), Theatre::empty().at(2));
        right.well(&source);
        wrong.well(&source);
        let none: [String; 0] = [];
        assert_eq!(
            golden::differences(&golden, &right.tree()).unwrap(),
            none,
            "{name}"
        );
        assert_eq!(
            golden::differences(&golden, &wrong.tree()).unwrap().len(),
            2,
            "{name}"
        );
    }
}

#[test]
fn scripts_on_one_project_go_on_with_its_clock_and_repeat_to_the_byte() {
    let play = || {
        let theatre = Theatre::sample().at(7);
        theatre.well(&read(scripts().join("restart.rhai")));
        theatre.well(&read(scripts().join("sample/scripts/machine-clauses.rhai")));
        theatre
    };
    let (a, b) = (play(), play());
    assert!(
        golden::differences(&a.tree(), &b.tree())
            .unwrap()
            .is_empty()
    );
    let flat = |t: &Theatre| std::fs::read(t.dir.path().join(".ghyll/attestations.jsonl")).unwrap();
    assert!(flat(&a) == flat(&b) && flat(&a).split(|b| *b == b'\n').count() == 6);
}

#[test]
fn an_expectation_that_is_not_met_is_kept_with_its_place_and_the_script_goes_on() {
    let report =
        Theatre::empty().run("expect(true, \"a\");\n  expect(1 > 2, \"b\");\nexpect(true, \"c\");");
    assert!(!report.ok() && report.error.is_none());
    let missed: Vec<_> = report.failed().collect();
    assert_eq!(missed.len(), 1);
    assert_eq!(
        (missed[0].text.as_str(), missed[0].place),
        ("b", Place { line: 2, column: 3 })
    );
    assert_eq!(report.expectations.len(), 3);
}

#[test]
fn what_a_script_gets_wrong_is_told_with_line_and_column() {
    let theatre = Theatre::empty();
    let cases = [
        (
            "let x = 1;\n  let = 2;",
            2,
            7,
            "Expecting name of a variable",
        ),
        (
            "let x = 1;\nx + nowhere;",
            2,
            5,
            "Undefined variable: nowhere",
        ),
        ("\n throw \"boom\";", 2, 2, "boom"),
        ("fn f() {\n  [][1]\n}\nf();", 2, 6, "out of bounds"),
        ("\nnothing_like_it();", 2, 1, "Function not found"),
    ];
    for (source, line, column, message) in cases {
        let error = theatre.error(source);
        assert_eq!(error.place, Place { line, column }, "{source}: {error}");
        assert_eq!(error.code, "script-failed");
        assert!(error.message.contains(message), "{source}: {error}");
    }
}

#[test]
fn no_script_reaches_out() {
    let theatre = Theatre::empty();
    for source in [
        "eval(\"1\");",
        "import \"x\" as y;",
        "let t = timestamp();",
        "sleep(1);",
        "let r = rand();",
        "open_file(\"x\");",
        "exit();",
        "let f = || 1; f = f.curry(f);",
    ] {
        let error = theatre.error(source);
        assert_eq!(error.place.line, 1, "{source}: {error}");
    }
}

#[test]
fn limits_end_a_script_and_say_where() {
    let theatre = Theatre::empty();
    // Rhai passes a limit out of functions: the place is that of the call.
    let cases = [
        ("let x = 0;\nloop { x += 1; }", 2, "operations"),
        // Caught or not: a limit that was reached stays reached.
        (
            "fn f() { loop { } }\nloop { try { f(); } catch { } }",
            2,
            "operations",
        ),
        ("fn f(n) {\n  f(n + 1)\n}\nf(0);", 4, "Stack overflow"),
        ("let s = \"x\";\nloop { s += s; }", 2, "Length of string"),
        (
            "let s = \"x\";\ns.pad(1000000, \"x\");\ns.replace(\"x\", s);",
            3,
            "Length of string",
        ),
        (
            "let s = \"x\";\ns.pad(1000000, \"x\");\ns.replace('x', s);",
            3,
            "Length of string",
        ),
        ("let a = [1];\nloop { a += a; }", 2, "Size of array"),
        ("let m = #{};\nfor i in 0..100 { m[`${i}`] = m; }", 2, "map"),
        (
            "let m = #{};\nfor i in 0..100000 { m[`${i}`] = i; }",
            2,
            "map entries",
        ),
        (
            "let s = \"x\"; s.pad(1000000, \"x\");\ns.split(\"\");",
            2,
            "array elements",
        ),
        (
            "let s = \"x\"; s.pad(1000000, \"x\");\ns.to_chars();",
            2,
            "array elements",
        ),
        (
            "let s = \"[\"; s.pad(1000000, \",\");\nparse_json(s);",
            2,
            "values in one JSON",
        ),
        (
            "let s = \"x\"; s.pad(1000000, \"x\");\nloop { expect(true, s); }",
            2,
            "bytes of expectations",
        ),
        (
            "let s = \"x\"; s.pad(1000000, \"x\"); let a = []; a.pad(9, 0);\n\
             for i in 0..9 { a[i] = s; } pass(a);",
            2,
            "bytes of text",
        ),
        ("let a = [];\nloop { a = [a]; }", 2, "nested deeper"),
        (
            "let f = ();\nlet g = || f; f = g;\nlet h = f;",
            3,
            "nested deeper",
        ),
    ];
    for (source, line, message) in cases {
        let error = theatre.error(source);
        assert_eq!(error.code, "script-limit-exceeded", "{source}: {error}");
        assert!(error.message.contains(message), "{source}: {error}");
        assert!(error.place.column > 0, "{source}: {error}");
        assert_eq!(error.place.line, line, "{source}: {error}");
    }
    let deep = format!("let x = {}1{};", "(".repeat(1000), ")".repeat(1000));
    let long = format!("let x = [{}];", "0,".repeat(30_000));
    for source in [deep, long] {
        let error = theatre.error(&source);
        assert_eq!(error.code, "script-limit-exceeded", "{error}");
        assert!(error.place.column > 1, "{error}");
    }
}

#[test]
fn memory_is_looked_at_before_each_operation_and_while_a_script_is_read() {
    static HELD: AtomicUsize = AtomicUsize::new(0);
    let mut theatre = Theatre::empty();
    theatre.stage.heap = || HELD.fetch_add(1 << 20, Ordering::Relaxed);
    // Six and a half dozen tokens, or operations, come to 64 MiB.
    let error = theatre.error("let x = [\n1, 2];\nloop { }");
    assert_eq!(error.code, "script-limit-exceeded");
    assert_eq!(error.place.line, 3, "{error}");
    let error = theatre.error(&"1;\n".repeat(100));
    assert_eq!(error.code, "script-limit-exceeded");
    assert!((2..100).contains(&error.place.line), "{error}");
    assert!(error.message.contains("bytes of memory"), "{error}");
}

#[test]
fn what_holds_itself_ends_no_script_and_nothing_else() {
    let theatre = Theatre::empty();
    for source in [
        "let f = (); let g = || f; f = g; debug(f);",
        "let m = #{}; let g = || m; m.g = g; m.to_json();",
        "let m = #{}; let g = || m; m.g = g; throw m;",
        "let a = [0]; let g = || a; a[0] = g; `${a}`;",
        "let f = || 0; loop { let g = f; f = || g; }",
        "let f = || 0; loop { let g = [f, f]; f = || g; }",
    ] {
        let error = theatre.error(source);
        assert_eq!(error.code, "script-limit-exceeded", "{source}: {error}");
        assert!(error.place.column > 0, "{source}: {error}");
    }
    theatre.well("let n = 2; expect([1, 2, 3].filter(|x| x > n) == [3], \"captured\");");
}

#[test]
fn what_is_thrown_is_told_in_short() {
    let error = Theatre::empty().error("let s = \"é\"; s.pad(1000000, \"é\"); throw [s];");
    assert!(error.message.starts_with("[\"éé") && error.message.ends_with('…'));
    assert!(error.message.len() < 5000);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_script() {
    let report = Theatre::empty().run("\u{feff}expect(false, \"x\");");
    let missed = report.failed().next().expect("an expectation");
    assert_eq!(missed.place, Place { line: 1, column: 1 });
    assert!(report.error.is_none());
}

#[test]
fn constants_are_shown_and_taken_apart_like_variables() {
    let theatre = Theatre::empty();
    theatre.well(
        r#"
        const A = [1, "x", 'c', 2.5, (), true, #{a: []}];
        expect(`${A}` == `[1, "x", 'c', 2.5, (), true, #{"a": []}]`, "as Rhai shows it");
        const S = "a,b,c";
        expect(S.split(",") == ["a", "b", "c"] && S.split(",", 2) == ["a", "b,c"], "split");
        expect(S.split_rev(',') == ["c", "b", "a"] && "a b".split() == ["a", "b"], "more");
        expect("ab".to_chars() == ['a', 'b'], "characters");
        const M = #{a: [1, "é\n"], b: ()};
        expect(parse_json(M.to_json()) == M, "there and back");
        try { parse_json("{"); expect(false, "no JSON") } catch (e) {
            expect(e.code == "script-json-invalid", "coded");
        }
        "#,
    );
}

#[test]
fn scripts_are_shown_what_json_shows() {
    let theatre = Theatre::empty();
    theatre.well(
        r#"
        op_id("a"); run_arrow("A-design");
        fn verdict(hint) {
            let of_hint = hint.keys(); of_hint.sort();
            expect(of_hint == ["adversary_role", "arrow_id", "attestation_ref", "changed",
                "clause_id", "concept", "context", "deeper", "escalation", "evidence", "grid_version",
                "op_id", "pass_id", "rejected", "round", "source_role", "stratum", "subject",
                "target_role"], "asked");
            if hint.clause_id == "C1" { fail(["x:1"]) } else { pass() }
        }
        let record = attestations("A-design")[0];
        expect(record.keys().len() == 22, "a line, and what is known of it");
        expect(record.round == 1 && record.grid_version == 1 && record.verdict == "fail", "read");
        let of_pass = passes()[0].keys(); of_pass.sort();
        expect(of_pass == ["adversary_role", "arrow_id", "context", "ended_at", "grid_version",
            "opened_at", "pass_id", "reason", "recovered_at", "role", "source_role", "status",
            "stratum", "target_role"], "a pass");
        let of_finding = findings()[0].keys(); of_finding.sort();
        expect(of_finding == ["arrow_id", "attestation_ref", "clause_id", "detail",
            "disposed_by", "finding_id", "grid_version", "pass_id", "raised_at", "raised_by",
            "severity", "status", "type"], "a finding");
        "#,
    );
}

#[test]
fn what_waits_says_whether_it_is_an_escalation() {
    Theatre::empty().well(
        r#"
        op_id("a"); run_arrow("A-design");
        expect(!pending()[0].escalation, "not yet");
        for n in 0..3 { attest(pending()[0].attestation_ref, "insufficient-basis", #{residue: `no ${n}`}); }
        expect(pending()[0].escalation, "due");
        fn verdict(hint) { skip() }
        "#,
    );
}

#[test]
fn the_deepest_script_there_may_be_has_room() {
    let (open, close) = ("(1 + ".repeat(25), ")".repeat(25));
    let source = format!(
        "fn f(n) {{ if n == 0 {{ 0 }} else {{ {open}f(n - 1){close} }} }}\n\
         let a = []; for i in 0..200 {{ a = [a]; }} let b = a; expect(a == b, \"deep\");\n\
         fn verdict(hint) {{ f(20); pass() }}\n\
         op_id(\"a\"); run_arrow(\"A-checkout\"); f(25);"
    );
    Theatre::empty().well(&source);
}

#[test]
fn a_project_can_be_replayed_on_again() {
    let mut theatre = Theatre::empty().at(1);
    let source =
        "op_id(\"a\"); run_arrow(\"A-design\"); expect(pending().is_empty(), \"answered\");
                  fn verdict(hint) { fail([\"x:1\"]) }";
    theatre.well(source);
    theatre = theatre.at(1);
    theatre.well(source);
    theatre.well("expect(attestations().len() == 4, \"both times\");");
}

#[test]
fn the_deadline_holds_in_a_script_and_in_the_commands_it_starts() {
    let grid = "version: 1\narrows:\n  - id: A\n    source-role: a\n    target-role: b\n    \
                stratum: s\n    context: c\n    clauses:\n      - id: M\n        concept: m\n        \
                eval: machine\n        run: [sleep, '60']\n        timeout-s: 120\n";
    let mut theatre = Theatre::new(grid);
    theatre.stage.limits.deadline = Duration::from_millis(700);
    theatre.stage.limits.operations = u64::MAX;
    for source in [
        "\nloop { }",
        "\nrun_arrow(\"A\");",
        "\ntry { run_arrow(\"A\") } catch { }",
    ] {
        let report = theatre.run(source);
        let error = report.error.expect("too late");
        assert_eq!(error.code, "script-limit-exceeded");
        assert_eq!(error.message, "not done after 0.7 s");
        assert_eq!(error.place.line, 2);
        assert!(report.took < Duration::from_secs(30), "{:?}", report.took);
    }
    // The time was the script's, not the command's: nothing was decided.
    theatre.stage.limits = Limits::default();
    theatre.well(
        "expect(clause_status(\"A\", \"M\") == \"unevaluated\", \"undecided\");
                  expect(findings().is_empty(), \"no defect\");",
    );
}

#[test]
fn what_ghyll_refuses_can_be_caught_and_ends_the_script_if_it_is_not() {
    let theatre = Theatre::empty();
    theatre.well(
        r#"
        try { run_arrow("A-chekout"); expect(false, "unknown") } catch (e) {
            expect(e.code == "arrow-unknown", "its code");
            expect(e.message.contains("A-checkout"), "its words");
            expect(`${e}`.starts_with("error[arrow-unknown]: "), "both");
        }
        try { op_id("../x"); expect(false, "no name") } catch (e) {
            expect(e.code == "op-id-invalid-characters", "by the policy");
        }
        try { clause_status("A-checkout", "C9"); expect(false, "no clause") } catch (e) {
            expect(e.code == "clause-unknown", "no such clause");
        }
        "#,
    );
    let error = theatre.error("\n  run_arrow(\"A-chekout\");");
    assert_eq!(
        (error.code.as_str(), error.place.line, error.place.column),
        ("arrow-unknown", 2, 3)
    );
    assert!(
        error.message.starts_with("error[arrow-unknown]: "),
        "{error}"
    );
}

#[test]
fn an_answer_that_is_refused_again_and_again_fails_with_the_code_and_stays_pending() {
    let theatre = Theatre::empty();
    let error = theatre.error(
        "op_id(\"a\");\nrun_arrow(\"A-design\");\nfn verdict(hint) { log(hint.rejected); fail([]) }",
    );
    assert_eq!(
        (error.code.as_str(), error.place.line),
        ("verdict-unit-insufficient", 2)
    );
    let log = theatre.log();
    assert_eq!(log.len(), 8);
    assert_eq!(log[0], "");
    assert!(
        log[1..]
            .iter()
            .all(|code| code == "verdict-unit-insufficient")
    );
    theatre.well("expect(pending().len() == 2 && attestations().is_empty(), \"nothing lost\");");
}

#[test]
fn a_wrong_or_missing_answer_leaves_the_request_pending() {
    let theatre = Theatre::empty();
    theatre.well(
        "run_arrow(\"A-design\"); expect(pending().len() == 2, \"skipped\");
                  expect(events().contains(\"modal-skipped\"), \"so it says\");",
    );
    let cases = [
        ("fn verdict(hint) { }", "script-answer-invalid"),
        (
            "fn verdict(hint) { accept_risk(\"x\") }",
            "script-answer-invalid",
        ),
        ("fn verdict(hint) { fail([1]) }", "script-answer-invalid"),
        ("fn verdict(hint) { throw \"boom\" }", "script-failed"),
        ("fn verdict(hint) { loop { } }", "script-limit-exceeded"),
        ("fn verdict() { pass() }", "script-failed"),
        (
            "fn verdict(hint) { run_arrow(\"A-checkout\") }",
            "script-call-in-modal",
        ),
        ("fn verdict(hint) { say(\"x\") }", "script-call-in-modal"),
        ("fn verdict(hint) { restart() }", "script-call-in-modal"),
        ("fn verdict(hint) { init_attest() }", "script-call-in-modal"),
        (
            "fn verdict(hint) { attest(hint.attestation_ref, \"pass\") }",
            "script-call-in-modal",
        ),
    ];
    for (function, code) in cases {
        let error = theatre.error(&format!("op_id(\"a\"); say(\"go on\"); {function}"));
        assert_eq!(error.code, code, "{function}: {error}");
    }
    theatre.well("expect(pending().len() == 2 && attestations().is_empty(), \"nothing lost\");");
}

#[test]
fn an_escalation_cannot_be_skipped() {
    let theatre = Theatre::empty();
    let ask = "op_id(\"a\"); run_arrow(\"A-design\"); say(\"2\"); say(\"3\");
               fn verdict(hint) { if hint.clause_id == \"C1\" { insufficient_basis(\"n\") } else { pass() } }";
    assert_eq!(theatre.error(ask).code, "script-escalation-missing");
    let with =
        |answer: &str| format!("op_id(\"a\"); say(\"go on\"); fn escalation(hint) {{ {answer} }}");
    for answer in ["skip()", "pass()"] {
        assert_eq!(theatre.error(&with(answer)).code, "script-answer-invalid");
    }
    let decided = with("accept_risk(\"known\")")
        + "expect(arrow_status(\"A-design\") == \"complete\", \"decided\");";
    theatre.well(&decided);
}

#[test]
fn refs_are_answered_without_a_modal_too() {
    Theatre::empty().well(
        r#"
        run_arrow("A-design");
        try { attest("att-A-design-C1-v1", "pass"); expect(false, "nobody") } catch (e) {
            expect(e.code == "op-id-required", "somebody has to answer");
        }
        op_id("a");
        expect(attest("att-A-design-C1-v1", "pass") == "att-A-design-C1-v1", "its id");
        let again = attest("att-A-design-C1-v1", "fail", #{inspected: ["x:1"], residue: "no"});
        expect(again == "att-A-design-C1-v1.r2", "a correction is a round");
        let payload = parse_json(attestations()[1].unit_payload_json);
        expect(payload == #{inspected: ["x:1"], residue: "no"}, "with all its evidence");
        for evidence in [#{inspected: "x"}, #{residue: 1}, #{note: "x"}] {
            try { attest("att-A-design-C2-v1", "fail", evidence); expect(false, "no") } catch (e) {
                expect(e.code == "script-evidence-invalid", "not evidence");
            }
        }
        "#,
    );
}

#[test]
fn logs_and_prints_go_to_whoever_watches() {
    let theatre = Theatre::empty();
    theatre.run("log(\"a\", 1, true); log(2.5); print(#{x: [1]});");
    assert_eq!(theatre.log(), ["a 1 true", "2.5", "#{\"x\": [1]}"]);
}

#[test]
fn a_project_that_is_held_or_broken_is_no_fault_of_the_script() {
    let theatre = Theatre::empty();
    let held = Project::open(theatre.dir.path()).unwrap();
    let lock = held.lock("a test").unwrap();
    assert_eq!(theatre.stage.run("").unwrap_err().code(), "session-locked");
    drop(lock);
    assert!(theatre.run("").ok());
    std::fs::write(theatre.dir.path().join(".ghyll/grid.current"), "v2\n").unwrap();
    assert!(
        theatre
            .stage
            .run("")
            .unwrap_err()
            .code()
            .starts_with("grid-")
    );
}

#[test]
fn a_script_says_what_the_producer_says() {
    let theatre = Theatre::sample();
    theatre.well(
        r#"
        op_id("alice@example.com");
        let said = #{ C1: #{ locations: ["features/payment.feature:1"], basis: "see there" } };
        run_arrow("A-checkout", said);
        let of_c1 = attestations("A-checkout").filter(|a| a.clause_id == "C1");
        expect(of_c1[0].hint_json.contains("\"basis\":\"see there\""), "the record keeps it");
        fn verdict(hint) {
            if hint.clause_id == "C1" {
                expect(hint.evidence.basis == "see there", "the operator sees it");
            }
            pass()
        }
        "#,
    );
    for (said, code) in [
        ("#{ C9: #{} }", "evidence-unknown-clause"),
        (
            r#"#{ C1: #{ locations: ["nowhere:1"] } }"#,
            "location-unknown",
        ),
        ("#{ C1: #{ note: 1 } }", "evidence-malformed"),
        ("#{ C1: 1 }", "evidence-malformed"),
    ] {
        let error = theatre.error(&format!(r#"run_arrow("A-checkout", {said});"#));
        assert_eq!(error.code, code, "{said}: {}", error.message);
    }
}

#[test]
fn a_scripts_model_answers_and_never_acts() {
    let theatre = Theatre::empty();
    let report = theatre.run(
        r##"
        op_id("alice");
        run_arrow("A-design");
        let first = say("mend C1 of A-design");
        expect(first == "1: mend C1 of A-design", "said: " + first);
        expect(say("again") == "2: again", "the second turn");
        expect(pending().len() > 0, "nothing it says is an answer");
        fn verdict(hint) { skip() }
        fn model(messages) {
            let last = messages[messages.len() - 1];
            if messages[0].role != "system" { throw "no briefing"; }
            if !messages[0].content.contains("A-design") { throw "no arrow"; }
            if last.turn == 2 && messages[2].content != "1: mend C1 of A-design" { throw "no chat"; }
            `${last.turn}: ${last.content}`
        }
    "##,
    );
    assert!(report.ok(), "{report:?}");
    for (model, code) in [
        ("fn model(messages) { 3 }", "script-answer-invalid"),
        ("fn model(messages) { throw \"no\" }", "script-failed"),
        ("fn model(messages) { say(\"x\") }", "script-call-in-modal"),
        (
            "fn model(messages) { attest(\"x\", \"pass\"); \"\" }",
            "script-call-in-modal",
        ),
        ("fn model() { \"\" }", "script-failed"),
    ] {
        let error = theatre.error(&format!("say(\"go on\"); {model}"));
        assert_eq!(error.code, code, "{model}");
    }
}
