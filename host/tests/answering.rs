//! `ghyll attest` from outside: who answers, which places are taken, and what
//! is said of where the arrow stands then.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

const GRID: &str = "version: 1
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: L0
    context: shop
    clauses:
      - {id: C1, concept: it is good, eval: attested}
      - {id: C2, concept: it is whole, eval: attested}
";

/// A dispatched project in a repository of its own.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("grid.yaml"), GRID).unwrap();
    std::fs::write(dir.path().join("work.txt"), "one\ntwo\n").unwrap();
    assert!(git(dir.path(), &["init", "-q"]).status.success());
    assert!(
        ghyll(dir.path(), &["init", "--grid", "grid.yaml"])
            .status
            .success()
    );
    assert_eq!(ghyll(dir.path(), &["dispatch", "A"]).status.code(), Some(1));
    dir
}

fn git(dir: &Path, args: &[&str]) -> Output {
    let mut git = Command::new("git");
    git.args(args).current_dir(dir);
    alone(&mut git).output().unwrap()
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut ghyll = Command::new(env!("CARGO_BIN_EXE_ghyll"));
    ghyll.args(args).current_dir(dir).env_remove("GHYLL_OP_ID");
    alone(&mut ghyll);
    ghyll
}

/// Without what the machine's own git is configured to.
fn alone(command: &mut Command) -> &mut Command {
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
}

fn ghyll(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Who is on record for the newest verdict.
fn answered_by(dir: &Path) -> String {
    let listed = ghyll(dir, &["attestations", "--json"]);
    let records: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let newest = records.as_array().unwrap().last().unwrap();
    newest["op_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_directory_without_a_project_is_told_which_above_it_has_one() {
    let project = project();
    let dir = project.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("sub")).unwrap();
    for (named, above) in [("sub", true), ("gone/deeper", true), ("/gone", false)] {
        let output = ghyll(&dir, &["--dir", named, "status"]);
        assert_eq!(output.status.code(), Some(3));
        let said = stderr(&output).replace("\n    ", " ");
        assert!(said.contains("error[project-not-found]"), "{said}");
        let hint = format!("{} has one", dir.display());
        assert_eq!(said.contains(&hint), above, "{said}");
        assert_eq!(said.contains("has one"), above, "{said}");
    }
}

#[test]
fn who_answers_is_named_by_the_command_the_environment_or_git() {
    let project = project();
    let dir = project.path();
    git(dir, &["config", "user.email", "eve@example.com"]);
    let attest = ["attest", "A/C1", "pass"];

    // An address is offered, and never taken.
    let refused = ghyll(dir, &attest);
    assert_eq!(refused.status.code(), Some(3));
    let told = stderr(&refused);
    assert!(told.contains("error[op-id-required]"), "{told}");
    assert!(told.contains("--op-id eve@example.com"), "{told}");
    assert_eq!(ghyll(dir, &["init", "attest"]).status.code(), Some(3));

    git(dir, &["config", "ghyll.op-id", "kim@example.com"]);
    assert_eq!(ghyll(dir, &attest).status.code(), Some(0));
    assert_eq!(answered_by(dir), "kim@example.com");

    let with = |args: &[&str]| {
        let mut command = command(dir, args);
        command
            .env("GHYLL_OP_ID", "bo@example.com")
            .output()
            .unwrap()
    };
    assert_eq!(with(&attest).status.code(), Some(0));
    assert_eq!(answered_by(dir), "bo@example.com");
    let named = [&attest[..], &["--op-id", "al@example.com"]].concat();
    assert_eq!(with(&named).status.code(), Some(0));
    assert_eq!(answered_by(dir), "al@example.com");
}

#[test]
fn a_place_that_is_not_there_is_refused_unless_it_is_meant() {
    let project = project();
    let dir = project.path();
    for place in ["nowhere.rs:1", "work.txt:3", "work.txt:0"] {
        let args = ["attest", "A/C1", "fail", "--op-id", "al", "--inspected"];
        let refused = ghyll(
            dir,
            &[&args[..], &["work.txt:1", "--inspected", place]].concat(),
        );
        assert_eq!(refused.status.code(), Some(3), "{place}");
        let told = stderr(&refused);
        assert!(told.contains("error[location-unknown]"), "{told}");
        assert!(told.contains(place), "{told}");
    }
    let listed = ghyll(dir, &["attestations", "--json"]);
    assert_eq!(listed.stdout, b"[]\n");
    let args = ["attest", "A/C1", "fail", "--op-id", "al", "--inspected"];
    let kept = ghyll(dir, &[&args[..], &["nowhere.rs:1", "--keep"]].concat());
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
}

#[test]
fn an_answer_is_followed_by_what_blocks_what_is_asked_and_what_to_type() {
    let project = project();
    let dir = project.path();
    let args = ["attest", "A/C1", "fail", "--op-id", "al", "--inspected"];
    let failed = ghyll(dir, &[&args[..], &["work.txt:1-2"]].concat());
    let told = stderr(&failed);
    assert!(told.contains("A: blocked\n"), "{told}");
    assert!(
        told.contains("C1 does not pass: fail by al (round 1)"),
        "{told}"
    );
    assert!(told.contains("asks for att-A-C2-v1: it is whole"), "{told}");
    assert!(told.contains("Next: ghyll "), "{told}");
    // Data alone is on stdout.
    let told = String::from_utf8(failed.stdout).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
}

/// What others do while a session is at work is told as well: here by the
/// command that the session itself waits for.
#[test]
fn what_others_do_while_a_command_runs_is_told_before_the_next_line() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let ghyll_bin = env!("CARGO_BIN_EXE_ghyll");
    let grid = format!(
        "{GRID}  - id: B
    source-role: builder
    target-role: architect
    stratum: L0
    context: site
    clauses:
      - {{id: M, concept: it runs, eval: machine, run: [\"{ghyll_bin}\", attest, A/C1, fail, --op-id, bo, --residue, not yet]}}
"
    );
    std::fs::write(dir.join("grid.yaml"), grid).unwrap();
    for args in [
        &["init", "--grid", "grid.yaml"][..],
        &["dispatch", "A"],
        &["attest", "A/C2", "pass", "--op-id", "kim"],
    ] {
        ghyll(dir, args);
    }
    let mut run = command(dir, &["run", "--op-id", "kim"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "s\n/run-arrow B\ns\n/exit\n";
    std::io::Write::write_all(run.stdin.as_mut().unwrap(), lines.as_bytes()).unwrap();
    let told = stderr(&run.wait_with_output().unwrap());
    let heard = told.matches("bo recorded ").count();
    assert_eq!(heard, 1, "{told}");
    assert!(!told.contains("kim recorded"), "{told}");
}
