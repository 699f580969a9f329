//! The program itself, and scripts.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cucumber::gherkin::Step;
use cucumber::{given, then, when};
use ghyll::clock::SystemClock;
use ghyll::policy::Policy;
use ghyll::script::{Limits, Stage};
use serde_json::Value;

use crate::audit;
use crate::scene::Scene;

fn ghyll(root: &Path, args: &str, typed: &str) -> (i32, String, String) {
    let mut child = Command::new(ghyll_tests::runtimes::ghyll())
        .args(args.split_whitespace())
        .current_dir(root)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input");
    // A program that does not read is no failure here.
    let _ = stdin.write_all(typed.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("an exit status");
    (code, text(output.stdout), text(output.stderr))
}

#[given("its grid is on disk")]
fn grid_on_disk(scene: &mut Scene) {
    // Said again with something added, it is the same version made anew.
    scene.version = 0;
    scene.write_grid();
}

#[given(regex = r"^the program was run: (.*), and exited with (\d)$")]
fn was_run(scene: &mut Scene, args: String, code: i32) {
    run(scene, args);
    exits(scene, code);
}

#[when(regex = r"^the program is run: (.*)$")]
fn run(scene: &mut Scene, args: String) {
    scene.said = Some(ghyll(&scene.root(), &args, ""));
}

#[when(regex = r"^the program is run with this typed: (.*)$")]
fn run_typed(scene: &mut Scene, args: String, step: &Step) {
    let typed = step
        .docstring
        .as_ref()
        .expect("what is typed")
        .trim_start_matches('\n');
    scene.said = Some(ghyll(&scene.root(), &args, typed));
}

#[then(regex = r"^it exits with (\d)$")]
fn exits(scene: &mut Scene, code: i32) {
    let (exit, out, err) = scene.said.as_ref().expect("a run");
    assert_eq!(*exit, code, "{out}\n{err}");
}

#[then(expr = "it complains: {string}")]
fn complains(scene: &mut Scene, words: String) {
    let (_, _, err) = scene.said.as_ref().expect("a run");
    assert!(err.contains(&words), "{err}");
}

#[then(expr = "it says {string}")]
fn says(scene: &mut Scene, words: String) {
    let (_, out, err) = scene.said.as_ref().expect("a run");
    assert!(out.contains(&words), "{out}\n{err}");
}

#[then("it prints nothing")]
fn prints_nothing(scene: &mut Scene) {
    assert_eq!(scene.said.as_ref().expect("a run").1, "");
}

#[then("there is no trail")]
fn no_trail(scene: &mut Scene) {
    assert_eq!(audit::files(scene), []);
    assert_eq!(audit::flat(scene), Vec::<String>::new());
}

#[then("it prints, among others:")]
fn prints(scene: &mut Scene, step: &Step) {
    let (_, out, err) = scene.said.as_ref().expect("a run");
    let json: Value = serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    for row in &step.table.as_ref().expect("what it prints").rows {
        let found = match json.pointer(&row[0]) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => panic!("no {} in {out}", row[0]),
        };
        assert_eq!(found, row[1], "{}", row[0]);
    }
}

#[given(expr = "the script {string}:")]
fn script(scene: &mut Scene, name: String, step: &Step) {
    let source = step.docstring.as_ref().expect("a script");
    fs::write(scene.root().join(name), source).expect("the script");
}

#[then(expr = "the report {string} is JUnit without a failure, and names {string}")]
fn report(scene: &mut Scene, name: String, test: String) {
    let xml = fs::read_to_string(scene.root().join(name)).expect("the report");
    let report = quick_junit::Report::deserialize_from_str(&xml).expect("JUnit");
    let suites = &report.test_suites;
    let mut cases = 0;
    let mut names = Vec::new();
    for suite in suites {
        assert_eq!(suite.tests, suite.test_cases.len(), "{xml}");
        for case in &suite.test_cases {
            let success = matches!(case.status, quick_junit::TestCaseStatus::Success { .. });
            assert!(success, "{xml}");
            names.push(case.name.as_str());
        }
        assert_eq!((suite.failures, suite.errors), (0, 0), "{xml}");
        cases += suite.tests;
    }
    assert_eq!(report.tests, cases, "{xml}");
    assert!(names.contains(&test.as_str()), "{names:?}");
}

#[then("a second project replayed with the same clock and seed has the same trail")]
fn same_trail(scene: &mut Scene) {
    let second = tempfile::tempdir().expect("a directory");
    for file in [
        "operators.rhai",
        ".ghyll/grid.v1.yaml",
        ".ghyll/grid.current",
    ] {
        let to = second.path().join(file);
        fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
        fs::copy(scene.root().join(file), to).expect("a copy");
    }
    let args = "replay operators.rhai --clock 2026-01-01T00:00:00Z --seed 7";
    let (exit, _, err) = ghyll(second.path(), args, "");
    assert_eq!(exit, 0, "{err}");
    let first = audit::files(scene);
    assert_eq!(first.len(), 1);
    assert_eq!(
        audit::files_below(&second.path().join(".ghyll/attestations")),
        first
    );
}

/// Through the library: what the program does for `replay`.
#[when("this script is replayed:")]
fn replay(scene: &mut Scene, step: &Step) {
    if scene.version == 0 {
        scene.write_grid();
    }
    let stage = Stage {
        root: scene.root(),
        policy: Arc::new(Policy::load().expect("the policy")),
        clock: Arc::new(SystemClock),
        limits: Limits {
            deadline: Duration::from_secs(60),
            ..Limits::default()
        },
        log: Arc::new(|_| {}),
        heap: || 0,
    };
    let report = stage
        .run(step.docstring.as_ref().expect("a script"))
        .expect("a session");
    let failed = report
        .failed()
        .map(|e| ("expectation".to_owned(), e.text.clone()))
        .next();
    let error = report
        .error
        .as_ref()
        .map(|e| (e.code.clone(), e.to_string()));
    assert_eq!(report.ok(), failed.is_none() && error.is_none());
    scene.refusal = error.or(failed);
}
