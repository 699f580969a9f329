//! Rows in which whole programs are measured.

use std::fs;
use std::path::Path;

use ghyll_tests::scale::{arrow_id, grow};

use super::Bench;
use super::measured::{Cost, run, shell};
use super::table::{Reach, Table};

const TREE: &str = ".ghyll/attestations";
/// Files that grow between two starts.
const GROWN: usize = 10;

/// Measures them all. The project is a fresh clone at first, and has index and
/// flat file afterwards.
pub fn all(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    rebuild(bench, size, table)?;
    reading(bench, size, table)?;
    starting(bench, size, table)?;
    beside_git(bench, size, table)
}

impl Bench {
    fn ghyll(&self, args: &[&str]) -> Result<Cost, String> {
        run(&self.dir, &self.ghyll, args, &[0])
    }

    /// A session that starts and ends.
    fn start(&self) -> Result<Cost, String> {
        self.ghyll(&["run", "--op-id", "bench@example.com"])
    }

    fn find(&self) -> Result<Cost, String> {
        shell(
            &self.dir,
            &format!(r"find {TREE} -type f -printf '%p %s %T@\n'"),
        )
    }

    fn forget(&self, names: &[&str]) {
        for name in names {
            // One that is not there is gone already.
            let _ = fs::remove_file(self.below(name));
        }
    }
}

fn rebuild(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let other = bench.dir.join("peer.db");
    let tree = bench.dir.join(TREE);
    let peer = || {
        let args = [
            "peer-index",
            &tree.to_string_lossy(),
            &other.to_string_lossy(),
        ];
        let cost = run(&bench.dir, &own, &args, &[0]);
        let _ = fs::remove_file(&other);
        cost
    };
    let reps = bench.reps.min(3);
    let name = "rebuild-index, nothing there / parse and bulk insert";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Open,
            reps,
            || {
                bench.forget(&["engine.db", "attestations.jsonl"]);
                bench.ghyll(&["engine", "rebuild-index"])
            },
            peer,
        )?;
    }
    // Whatever was asked for, what follows needs both.
    bench.ghyll(&["engine", "rebuild-index"])?;
    let name = "rebuild-index, all there / parse and bulk insert";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.0),
            reps,
            || bench.ghyll(&["engine", "rebuild-index"]),
            peer,
        )?;
    }
    let name = "first start after a rebuild / find -printf";
    if bench.wants(name) {
        let cost = bench.start()?;
        table.add(name, size, Reach::Open, cost, bench.find()?);
    }
    bench.start()?;
    Ok(())
}

fn reading(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    let sums = format!("find {TREE} -type f -print0 | xargs -0 sha256sum");
    let name = "verify-attestations / sha256sum of tree and flat file";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.5),
            bench.reps,
            || bench.ghyll(&["engine", "verify-attestations"]),
            || {
                shell(
                    &bench.dir,
                    &format!("{sums}; sha256sum .ghyll/attestations.jsonl"),
                )
            },
        )?;
    }
    let name = "checkpoint / sha256sum of the tree";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.5),
            bench.reps,
            || bench.ghyll(&["engine", "checkpoint"]),
            || shell(&bench.dir, &sums),
        )?;
    }
    let name = "attestations --json / cat";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(10.0),
            bench.reps,
            || bench.ghyll(&["attestations", "--json"]),
            || {
                shell(
                    &bench.dir,
                    &format!("find {TREE} -type f -print0 | xargs -0 cat"),
                )
            },
        )?;
    }
    let name = "attestations ARROW / grep";
    if bench.wants(name) {
        let arrow = arrow_id(0, 0);
        table.pair(
            (name, size),
            Reach::Times(1.0),
            bench.reps,
            || bench.ghyll(&["attestations", &arrow]),
            || {
                shell(
                    &bench.dir,
                    &format!(r#"grep -rhF '"arrow_id":"{arrow}"' {TREE} || true"#),
                )
            },
        )?;
    }
    Ok(())
}

fn starting(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    let name = "start, nothing changed / find -printf";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.5),
            bench.reps,
            || bench.start(),
            || bench.find(),
        )?;
    }
    let name = "recover / start, nothing changed";
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.0),
            bench.reps,
            || bench.ghyll(&["engine", "recover"]),
            || bench.start(),
        )?;
    }
    let name = "start, 10 files grown / start, nothing changed";
    if bench.wants(name) {
        let mut seed = 0;
        table.pair(
            (name, size),
            Reach::Times(1.1),
            bench.reps,
            || {
                seed += 1;
                grow(&bench.dir, &bench.plan, &bench.policy, GROWN, seed);
                bench.start()
            },
            || bench.start(),
        )?;
    }
    Ok(())
}

fn beside_git(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    if !bench.git {
        return Ok(());
    }
    let name = "engine status / git status";
    let attest = "one attest process / git add and commit";
    if !bench.wants(name) && !bench.wants(attest) {
        return Ok(());
    }
    let sh = |script: &str| shell(&bench.dir, script);
    bench.ghyll(&["init", "--git"])?;
    sh(
        "git init -q && git config user.name bench && git config user.email bench@example.com \
        && git config gc.auto 0 && git add -A && git commit -q -m all && git status",
    )?;
    if bench.wants(name) {
        table.pair(
            (name, size),
            Reach::Times(1.0),
            bench.reps,
            || bench.ghyll(&["engine", "status"]),
            || sh("exec git status"),
        )?;
    }
    if bench.wants(attest) {
        let (arrow, mut number) = (arrow_id(0, 1), 0);
        run(&bench.dir, &bench.ghyll, &["dispatch", &arrow], &[0, 1])?;
        let asked = format!("{arrow}/C1");
        fs::write(bench.dir.join("lines"), "").map_err(|e| e.to_string())?;
        sh("git add lines && git commit -q -m lines")?;
        table.pair(
            (attest, size),
            Reach::Times(0.5),
            bench.reps.max(5),
            || {
                number += 1;
                let place = format!("src/file.rs:{number}");
                bench.ghyll(&[
                    "attest",
                    &asked,
                    "fail",
                    "--inspected",
                    &place,
                    "--keep",
                    "--op-id",
                    "bench@example.com",
                ])
            },
            || sh("echo another line >> lines && git add lines && git commit -q -m line"),
        )?;
    }
    let _ = fs::remove_dir_all(bench.dir.join(".git"));
    let _ = fs::remove_file(Path::new(&bench.dir).join("lines"));
    Ok(())
}
