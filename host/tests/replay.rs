//! `ghyll replay` and `ghyll demo` as a shell sees them.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn ghyll(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
    command
        .current_dir(dir)
        .args(args)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1");
    command.output().unwrap()
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let init = ghyll(dir.path(), &["init", "--example"]);
    assert_eq!(init.status.code(), Some(0));
    std::fs::write(dir.path().join("good.rhai"), "expect(true, \"so it is\");").unwrap();
    std::fs::write(
        dir.path().join("bad.rhai"),
        "expect(1 == 2, \"<one> is two\");\nlet x = 1;\n  run_arrow(\"A-chekout\");",
    )
    .unwrap();
    dir
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn what_was_expected_and_missed_is_told_to_people_programs_and_ci() {
    let dir = project();
    let output = ghyll(
        dir.path(),
        &["replay", "good.rhai", "bad.rhai", "--junit", "out.xml"],
    );
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(
        told.contains("error[expectation-failed]: bad.rhai:1:1: <one> is two\n"),
        "{told}"
    );
    let failed = "error[arrow-unknown]: bad.rhai:3:3: the grid has no arrow";
    assert!(told.contains(failed), "{told}");
    let lines = text(&output.stdout);
    assert_eq!(
        lines,
        "pass  good.rhai  1 of 1 expectations met\nfail  bad.rhai  0 of 1 expectations met\n"
    );
    let xml = std::fs::read_to_string(dir.path().join("out.xml")).unwrap();
    assert!(
        xml.contains(
            "<failure message=\"bad.rhai:1:1: &lt;one&gt; is two\" type=\"expectation-failed\"/>"
        ),
        "{xml}"
    );

    let output = ghyll(dir.path(), &["replay", "--json", "good.rhai", "bad.rhai"]);
    assert_eq!(output.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["ok"], false);
    let good = &value["scripts"][0];
    assert_eq!(good["script"], "good.rhai");
    assert_eq!(
        (&good["ok"], &good["expectations"]),
        (&true.into(), &1.into())
    );
    assert_eq!(
        (&good["failed"], &good["error"]),
        (&Value::Array(Vec::new()), &Value::Null)
    );
    let bad = &value["scripts"][1];
    assert_eq!(bad["failed"][0], "<one> is two");
    assert!(bad["error"].as_str().unwrap().starts_with("bad.rhai:3:3: "));
}

#[test]
fn a_tree_is_compared_with_the_golden_one() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
    let (script, golden) = (
        scripts.join("clean-arrow.rhai"),
        scripts.join("golden/clean-arrow"),
    );
    let (script, golden) = (script.to_str().unwrap(), golden.to_str().unwrap());
    let replay = |seed: &str| {
        let clock = "2026-01-01T00:00:00Z";
        let args = [
            "replay", script, "--clock", clock, "--seed", seed, "--expect", golden,
        ];
        ghyll(project().path(), &args)
    };
    assert_eq!(replay("1").status.code(), Some(0));
    let output = replay("2");
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert_eq!(
        told.matches("error[golden-tree-differs]: v1/checkout/")
            .count(),
        2,
        "{told}"
    );
}

#[test]
fn the_exit_code_says_whose_fault_it_is() {
    let dir = project();
    let code = |args: &[&str]| ghyll(dir.path(), args).status.code();
    assert_eq!(code(&["replay", "good.rhai"]), Some(0));
    assert_eq!(code(&["replay"]), Some(2));
    assert_eq!(
        code(&["replay", "good.rhai", "--clock", "yesterday"]),
        Some(2)
    );
    assert_eq!(code(&["replay", "good.rhai", "--seed", "1"]), Some(2));
    assert_eq!(code(&["replay", "none.rhai"]), Some(3));
    assert_eq!(
        code(&["replay", "good.rhai", "--expect", "nowhere"]),
        Some(3)
    );
    std::fs::remove_file(dir.path().join(".ghyll/grid.current")).unwrap();
    let output = ghyll(dir.path(), &["replay", "good.rhai"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("error[grid-"));
}

#[test]
fn the_demo_leaves_a_tree_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
    command
        .args(["demo"])
        .stdin(Stdio::null())
        .env("TMPDIR", dir.path());
    let output = command.output().unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let tree = told
        .lines()
        .find_map(|line| line.strip_prefix("The audit tree is "))
        .unwrap();
    assert!(Path::new(tree).is_dir());
    let root = Path::new(tree).parent().and_then(Path::parent).unwrap();
    let listed = ghyll(root, &["attestations", "--json"]);
    let lines: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let verdicts: Vec<_> = lines
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["verdict"].as_str().unwrap())
        .collect();
    for verdict in ["pass", "fail", "insufficient-basis", "accepted-risk"] {
        assert!(verdicts.contains(&verdict), "{verdicts:?}");
    }
    // A file changes after a pass: stale, what changed, and the second look.
    for said in [
        "A-refund is complete.",
        "+ Then the card is refunded 12.50 EUR again",
        "A-refund is stale",
        "changed since the last round: features/refund.feature",
        "A-refund is blocked",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
}
