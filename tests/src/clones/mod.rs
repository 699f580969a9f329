//! Clones of one project, with real git.
//!
//! A few histories of two clones run with the other tests (`tests/git`); the
//! `campaign` binary plays as many as it is told to.

pub mod campaign;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::runtimes;

pub const GRID: &str = "version: 1
arrows:
  - id: A-bill
    source-role: analyst
    target-role: architect
    stratum: L2
    context: billing
    clauses:
      - {id: B1, concept: first, eval: attested}
      - {id: B2, concept: second, eval: attested}
      - {id: B3, concept: third, eval: attested}
  - id: A-ledger
    source-role: architect
    target-role: implementer
    stratum: L4
    context: ledger
    clauses:
      - {id: D1, concept: fourth, eval: attested}
      - {id: D2, concept: fifth, eval: attested}
";

/// A place for clones.
pub struct Home(TempDir);

impl Default for Home {
    fn default() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Home {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A project in a repository of its own, its grid committed.
    pub fn project(&self, name: &str) -> Clone {
        let dir = self.path().join(name);
        fs::create_dir_all(dir.join("src")).unwrap();
        let project = Clone(dir);
        project.git(&["init", "-q", "-b", "main"]);
        project.init();
        project.commit("start");
        project
    }

    pub fn clone(&self, of: &Clone, name: &str, more: &[&str]) -> Clone {
        let url = format!("file://{}", of.0.display());
        let args = [&["clone", "-q"], more, &[&url, name]].concat();
        assert!(git(self.path(), &args).status.success());
        Clone(self.path().join(name))
    }
}

/// One clone.
pub struct Clone(pub PathBuf);

pub fn git(dir: &Path, args: &[&str]) -> Output {
    let names = ["user.name=t", "user.email=t@example.com"];
    let more = ["init.defaultBranch=main", "protocol.file.allow=always"];
    let config = [names, more].concat();
    Command::new("git")
        .args(config.iter().flat_map(|value| ["-c", value]))
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_EDITOR", "true")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Clone {
    /// The sample's grid and what git needs, in a directory.
    pub fn init(&self) {
        fs::create_dir_all(self.0.join("src")).unwrap();
        fs::write(self.0.join("src/x.rs"), "line\n".repeat(9)).unwrap();
        let grid = self.0.join("grid.yaml");
        fs::write(&grid, GRID).unwrap();
        self.ok(&["init", "--grid", grid.to_str().unwrap()]);
        fs::remove_file(grid).unwrap();
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = git(&self.0, args);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "git {args:?}: {said}");
        said
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(runtimes::ghyll());
        command
            .arg("--dir")
            .arg(&self.0)
            .args(args)
            .env("NO_COLOR", "1")
            .env_remove("GHYLL_OP_ID")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let code = output.status.code().unwrap();
        (code, text(&output.stdout), text(&output.stderr))
    }

    pub fn ok(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        out
    }

    /// What every command says of a tree that lost something.
    pub fn refused(&self, code: &str) -> String {
        let (exit, out, err) = self.run(&["attestations"]);
        assert_eq!(exit, 3, "{out}{err}");
        assert!(err.contains(&format!("error[{code}]: ")), "{err}");
        let (exit, out, err) = self.run(&["run", "--op-id", "z"]);
        assert_eq!(exit, 3, "a session starts: {out}{err}");
        assert!(err.contains(&format!("error[{code}]: ")), "{err}");
        err
    }

    /// A session that does nothing.
    pub fn session(&self) -> String {
        let (exit, out, err) = self.run(&["run", "--op-id", "z"]);
        assert_eq!(exit, 0, "{out}{err}");
        format!("{out}{err}")
    }

    pub fn dispatch(&self, arrow: &str) {
        let (exit, out, err) = self.run(&["dispatch", arrow]);
        assert!(exit <= 1, "{out}{err}");
    }

    pub fn attest_new(&self, arrow: &str, clause: &str) {
        self.dispatch(arrow);
        self.attest(clause, "pass", "al");
    }

    pub fn attest(&self, clause: &str, verdict: &str, op: &str) {
        let mut args = vec!["attest", clause, verdict, "--op-id", op];
        if verdict == "fail" {
            args.extend(["--inspected", "src/x.rs:1"]);
        }
        if verdict == "insufficient-basis" {
            args.extend(["--residue", "nothing to judge by"]);
        }
        self.ok(&args);
    }

    /// Of an arrow, its status and each clause's.
    pub fn stands(&self, arrow: &str) -> Vec<String> {
        let arrow = self.arrow(arrow);
        let word = |value: &Value| value["status"].as_str().unwrap().to_owned();
        let clauses = arrow["clauses"].as_array().unwrap();
        [&arrow].into_iter().chain(clauses).map(word).collect()
    }

    pub fn arrow(&self, arrow: &str) -> Value {
        let (_, out, err) = self.run(&["arrow", "show", arrow, "--json"]);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    /// Ids and verdicts on record, sorted.
    pub fn records(&self) -> Vec<(String, String, String)> {
        let (_, out, err) = self.run(&["attestations", "--json"]);
        let all: Vec<Value> = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let field = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        let mut records: Vec<_> = all
            .iter()
            .map(|line| {
                (
                    field(line, "attestation_id"),
                    field(line, "verdict"),
                    field(line, "op_id"),
                )
            })
            .collect();
        records.sort();
        records
    }

    pub fn verify(&self) -> Value {
        let (_, out, err) = self.run(&["engine", "verify-attestations", "--json"]);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    pub fn verified(&self) {
        let report = self.verify();
        assert_eq!(report["ok"], true, "{report:#}");
    }

    /// What the next session would put right, in words.
    pub fn repairs(&self) -> String {
        self.ok(&["engine", "recover"])
    }

    pub fn ghyll(&self, below: &str) -> PathBuf {
        self.0.join(".ghyll").join(below)
    }

    /// The files of the tree, in order of their names.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut dirs = vec![self.ghyll("attestations")];
        while let Some(dir) = dirs.pop() {
            let Ok(entries) = fs::read_dir(dir) else {
                continue;
            };
            for entry in entries {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => dirs.push(path),
                    false => files.push(path),
                }
            }
        }
        files.sort();
        files
    }
}

/// Takes the last line off a file.
pub fn shorten(file: &Path) {
    let bytes = fs::read(file).unwrap();
    let body = &bytes[..bytes.len() - 1];
    let end = body
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    fs::write(file, &bytes[..end]).unwrap();
}
