//! The lists of files that verdicts were about: changed, lost, shared, and what
//! is said where there is nothing to list.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const GRID: &str = "\
version: 1
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: shop
    covers: [\"src/**\"]
    clauses:
      - {id: C1, concept: It is good, eval: attested}
      - {id: C2, concept: It is whole, eval: attested}
";

fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ghyll"))
        .arg("--dir")
        .arg(dir)
        .args(args)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let grid = dir.path().join("grid.yaml");
    fs::write(&grid, GRID).unwrap();
    let (exit, _, err) = run(dir.path(), &["init", "--grid", grid.to_str().unwrap()]);
    assert_eq!(exit, 0, "{err}");
    dir
}

/// A project whose two clauses passed on the same files, and their manifest.
fn passed() -> (TempDir, PathBuf) {
    let dir = project();
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/a.rs"), "fn a() {}\n").unwrap();
    run(dir.path(), &["dispatch", "A"]);
    for clause in ["A/C1", "A/C2"] {
        let (exit, _, err) = run(dir.path(), &["attest", clause, "pass", "--op-id", "alice"]);
        assert_eq!(exit, 0, "{err}");
    }
    let (_, subject, _) = run(dir.path(), &["subject", "A", "--json"]);
    let subject: Value = serde_json::from_str(&subject).unwrap();
    let subject = subject["subject"].as_str().unwrap();
    let kept = dir.path().join(".ghyll/subjects");
    let kept = kept.join(&subject[..2]).join(subject);
    assert!(kept.exists());
    (dir, kept)
}

/// What verification says: its exit code, and codes with how many records each
/// is about, of issues and of warnings.
type Said = (i32, Vec<(String, u64)>, Vec<(String, u64)>);

fn verified(dir: &Path) -> Said {
    let (exit, report, _) = run(dir, &["engine", "verify-attestations", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let codes = |of: &str| {
        let found = report[of].as_array().unwrap().iter();
        found
            .map(|f| {
                let code = f["code"].as_str().unwrap().to_owned();
                (code, f["count"].as_u64().unwrap())
            })
            .collect()
    };
    (exit, codes("issues"), codes("warnings"))
}

fn one(code: &str, count: u64) -> Vec<(String, u64)> {
    vec![(code.to_owned(), count)]
}

#[test]
fn a_list_that_was_changed_is_one_issue_and_closes_the_gate() {
    let (dir, kept) = passed();
    assert_eq!(verified(dir.path()), (0, vec![], vec![]));
    assert_eq!(run(dir.path(), &["check"]).0, 0);
    fs::write(&kept, "0  src/a.rs\n").unwrap();
    // Of two records, for both name it.
    let issues = one("subject-corrupt", 2);
    assert_eq!(verified(dir.path()), (1, issues, vec![]));
    let (exit, said, err) = run(dir.path(), &["check"]);
    assert_eq!(exit, 1);
    assert!(said.contains("subject-corrupt"), "{said}");
    assert!(said.contains("att-A-C1-v1"), "{said}");
    assert!(said.contains("git checkout -- .ghyll/subjects/"), "{said}");
    assert!(err.contains("1 issue with the record"), "{err}");
    // The next verdict on the same files writes it anew.
    run(dir.path(), &["attest", "A/C1", "pass", "--op-id", "bob"]);
    assert_eq!(verified(dir.path()).0, 0);
}

#[test]
fn a_list_that_is_lost_takes_no_verdict_with_it() {
    let (dir, kept) = passed();
    let other = kept.parent().unwrap().join("f".repeat(64));
    fs::write(other, "not named by anything\n").unwrap();
    fs::remove_file(&kept).unwrap();
    let warnings = one("subject-missing", 2);
    assert_eq!(verified(dir.path()), (0, vec![], warnings));
    let (exit, said, _) = run(dir.path(), &["engine", "verify-attestations"]);
    assert_eq!(exit, 0);
    assert!(said.contains("the verdict stands"), "{said}");
    assert_eq!(run(dir.path(), &["check"]).0, 0);
    // As in a clone that never had any: one word, whatever the number.
    fs::remove_dir_all(dir.path().join(".ghyll/subjects")).unwrap();
    let warnings = one("subject-missing", 2);
    assert_eq!(verified(dir.path()), (0, vec![], warnings));
    assert_eq!(run(dir.path(), &["check"]).0, 0);
}

#[test]
fn where_nothing_is_covered_the_advice_is_to_mend_that_and_not_to_dispatch() {
    let dir = project();
    let (exit, said, err) = run(dir.path(), &["dispatch", "A"]);
    assert_eq!(exit, 1);
    assert!(said.contains("subject-empty"), "{said}");
    assert!(said.contains("`ghyll grid next FILE`"), "{said}");
    assert!(
        err.contains("once that is mended: ghyll dispatch A"),
        "{err}"
    );
    let (exit, said, _) = run(dir.path(), &["check"]);
    assert_eq!(exit, 1);
    assert!(said.contains("`ghyll grid next FILE`"), "{said}");
    assert!(!said.contains("ghyll dispatch"), "{said}");
    let (_, said, _) = run(dir.path(), &["status"]);
    assert!(said.contains("Next: ghyll arrow show A"), "{said}");
    let (_, said, _) = run(dir.path(), &["arrow", "show", "A"]);
    assert!(said.contains("no file matches `src/**`"), "{said}");
    assert!(said.contains("`ghyll grid next FILE`"), "{said}");
    let (_, said, _) = run(dir.path(), &["explain", "subject-empty"]);
    assert!(said.contains("Make the files"), "{said}");
}
