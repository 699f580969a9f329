//! What the gate and the record hold against whoever would have work pass
//! that nobody judged as it is. `SECURITY.md` names these tests.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const GRID: &str = "\
version: 1
arrows:
  - id: A
    source-role: author
    target-role: reviewer
    stratum: code
    context: shop
    covers: [src/**]
    clauses:
      - id: C1
        concept: It does what was asked for
        eval: attested
      - id: C2
        concept: It does nothing else
        eval: attested
";

/// A project with one arrow over `src`.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.path("src")).unwrap();
        fs::write(project.path("src/a.rs"), "fn a() { 1 }\n").unwrap();
        fs::write(project.path("grid.yaml"), GRID).unwrap();
        project.says(0, &["init", "--grid", "grid.yaml"]);
        project
    }

    /// Both clauses are asked for, and alice passes them.
    fn decided() -> Self {
        let project = Self::new();
        project.says(1, &["dispatch", "A"]);
        for clause in ["A/C1", "A/C2"] {
            project.says(0, &["attest", clause, "pass", "--op-id", "alice"]);
        }
        project
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn run(&self, args: &[&str], typed: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ghyll"))
            .args(args)
            .current_dir(self.0.path())
            .env_remove("GHYLL_OP_ID")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Who reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a command says, all of it, and that it exits so.
    fn says(&self, exit: i32, args: &[&str]) -> String {
        let output = self.run(args, "");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {said}");
        said
    }

    /// The statuses of the clauses at the gate.
    fn gate(&self, exit: i32) -> Vec<String> {
        let output = self.run(&["check", "--json"], "");
        assert_eq!(output.status.code(), Some(exit));
        let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(checked["ok"], exit == 0, "{checked}");
        let clauses = checked["arrows"][0]["clauses"].as_array().unwrap();
        let status = |clause: &Value| clause["status"].as_str().unwrap().to_owned();
        clauses.iter().map(status).collect()
    }

    /// The one file of the tree.
    fn tree(&self) -> PathBuf {
        let found = files(&self.path(".ghyll/attestations"));
        assert_eq!(found.len(), 1);
        found.into_keys().next().unwrap()
    }

    /// As a new clone has it: nothing that git does not carry.
    fn cloned(&self) {
        for name in ["engine.db", "attestations.jsonl", "lock", "sessions"] {
            let path = self.path(".ghyll").join(name);
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Every file below a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn a_changed_byte_makes_a_verdict_stale_and_putting_it_back_makes_it_hold() {
    let project = Project::decided();
    assert_eq!(project.gate(0), ["pass", "pass"]);
    let file = project.path("src/a.rs");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    let write = |text: &str| {
        fs::write(&file, text).unwrap();
        // As somebody would who hides it.
        let file = fs::File::options().write(true).open(&file).unwrap();
        file.set_modified(modified).unwrap();
    };
    write("fn a() { 2 }\n");
    assert_eq!(project.gate(1), ["stale", "stale"]);
    assert!(project.says(0, &["status"]).contains("stale"));
    write("fn a() { 1 }\n");
    assert_eq!(project.gate(0), ["pass", "pass"]);
    fs::write(project.path("src/b.rs"), "").unwrap();
    assert_eq!(project.gate(1), ["stale", "stale"], "a file more");
}

#[test]
fn the_gate_needs_nothing_but_what_git_carries_and_writes_nothing() {
    let project = Project::decided();
    project.cloned();
    let before = files(project.0.path());
    assert_eq!(project.gate(0), ["pass", "pass"]);
    assert!(files(project.0.path()) == before);
}

#[test]
fn an_answer_to_other_files_than_are_there_is_not_taken() {
    let project = Project::new();
    project.says(1, &["dispatch", "A"]);
    let meant = project.says(0, &["subject", "A/C1", "--json"]);
    let meant: Value = serde_json::from_str(&meant).unwrap();
    let meant = &meant["subject"].as_str().unwrap()[..8];
    fs::write(project.path("src/a.rs"), "fn a() { 2 }\n").unwrap();
    let answer = [
        "attest",
        "A/C1",
        "pass",
        "--op-id",
        "alice",
        "--subject",
        meant,
    ];
    let said = project.says(3, &answer);
    assert!(
        said.starts_with("error[attestation-subject-changed]"),
        "{said}"
    );
    assert!(!project.path(".ghyll/attestations").exists());
    fs::write(project.path("src/a.rs"), "fn a() { 1 }\n").unwrap();
    project.says(0, &answer);
}

#[test]
fn once_a_grid_was_attested_the_one_in_force_has_to_be() {
    let project = Project::decided();
    project.says(0, &["init", "attest", "--op-id", "lead"]);
    assert_eq!(project.gate(0), ["pass", "pass"]);
    // The next version has a clause less, and is decided.
    let weaker = GRID.split("      - id: C2").next().unwrap();
    fs::write(project.path("next.yaml"), weaker).unwrap();
    project.says(0, &["grid", "next", "next.yaml"]);
    project.says(1, &["dispatch", "A"]);
    project.says(0, &["attest", "A/C1", "pass", "--op-id", "alice"]);
    assert_eq!(project.gate(1), ["pass"]);
    assert!(project.says(1, &["check"]).contains("grid-unattested"));
    project.says(0, &["init", "attest", "--op-id", "lead"]);
    assert_eq!(project.gate(0), ["pass"]);
}

/// What a chain alone cannot tell, and a checkpoint does.
#[test]
fn records_cut_off_a_clone_are_missed_by_the_checkpoint_alone() {
    let project = Project::decided();
    project.says(
        0,
        &[
            "attest",
            "A/C2",
            "fail",
            "--inspected",
            "src/a.rs:1",
            "--op-id",
            "bob",
        ],
    );
    let checkpoint = project.says(0, &["engine", "checkpoint"]);
    let kept = tempfile::NamedTempFile::new().unwrap();
    fs::write(kept.path(), checkpoint).unwrap();
    let kept = kept.path().to_str().unwrap();
    // Whoever does not like bob's verdict takes it away, and all that knew of it.
    let bobs = files(&project.path(".ghyll/attestations"));
    let (bobs, _) = bobs
        .iter()
        .find(|(_, bytes)| String::from_utf8_lossy(bytes).contains("\"bob\""))
        .unwrap();
    let text = fs::read_to_string(bobs).unwrap();
    let rest: String = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"bob\""))
        .collect();
    match rest.is_empty() {
        true => fs::remove_file(bobs).unwrap(),
        false => fs::write(bobs, rest).unwrap(),
    }
    project.cloned();
    assert_eq!(project.gate(0), ["pass", "pass"]);
    project.says(0, &["engine", "verify-attestations"]);
    let verify = ["engine", "verify-attestations", "--checkpoint", kept];
    assert!(
        project
            .says(1, &verify)
            .contains("attestation-tail-missing")
    );
    let check = ["check", "--checkpoint", kept];
    assert!(project.says(1, &check).contains("attestation-tail-missing"));
}

#[test]
fn a_record_says_how_its_verdict_came_in() {
    let project = Project::new();
    project.says(1, &["dispatch", "A"]);
    project.says(0, &["attest", "A/C1", "pass", "--op-id", "alice"]);
    let typed = project.run(&["run", "--op-id", "alice"], "p\n/exit\n");
    assert!(typed.status.success());
    fs::write(
        project.path("s.rhai"),
        "op_id(\"alice\"); attest(\"att-A-C1-v1\", \"fail\", #{ inspected: [\"src/a.rs:1\"] });",
    )
    .unwrap();
    project.says(0, &["replay", "s.rhai"]);
    let all = project.says(0, &["attestations", "--json"]);
    let all: Value = serde_json::from_str(&all).unwrap();
    let reasons: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["reason"])
        .collect();
    assert_eq!(reasons, ["via:command", "via:pipe", "via:script"]);
}

/// A name is what somebody says, not who they are: a line that is written by
/// hand, with a chain that fits, is a record.
#[test]
fn a_line_that_fits_is_a_record_whoever_wrote_it() {
    let project = Project::decided();
    let tree = project.tree();
    let text = fs::read_to_string(&tree).unwrap();
    assert_eq!(text.matches("\"op_id\":\"alice\"").count(), 2);
    // Edited alone it is found; nothing stops whoever computes the chain anew.
    fs::write(
        &tree,
        text.replace("\"op_id\":\"alice\"", "\"op_id\":\"mallory\""),
    )
    .unwrap();
    project.cloned();
    assert!(
        project
            .says(1, &["engine", "verify-attestations"])
            .contains("attestation-chain-broken")
    );
    let mut chain = "0".repeat(64);
    let mut forged = String::new();
    for line in fs::read_to_string(&tree).unwrap().lines() {
        let (object, _) = line.split_once(",\"chain\":").unwrap();
        chain = sha256(format!("{chain}{object}}}").as_bytes());
        forged.push_str(&format!("{object},\"chain\":\"{chain}\"}}\n"));
    }
    fs::write(&tree, forged).unwrap();
    project.says(0, &["engine", "verify-attestations"]);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}
