//! What the hands share: the project, and what was said and acknowledged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Told;
use super::crowd::{Crowd, Done, lock};
use crate::survive::Dice;

/// Who answers.
pub const PEOPLE: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// What is attested, by arrow.
pub const ARROWS: [(&str, &[&str]); 4] = [
    ("A-shop", &["C1", "C2", "C3"]),
    ("A-bank", &["C1", "C2"]),
    ("A-mail", &["C1", "C2"]),
    ("A-post", &["C1"]),
];
/// Where a machine clause says that it ran beside itself.
pub const OVERLAPS: &str = "overlaps";

/// A grid: `A-shop` covers a file, `A-bank` and `A-mail` have commands, `A-mail`
/// and `A-post` are of one role in one context. `n` makes it another one.
pub fn text_of(n: u64) -> String {
    let run = |arrow: &str| {
        [
            "      - id: M1\n",
            "        concept: A command that is never run beside itself\n",
            "        eval: machine\n",
            &format!(
                "        run: [sh, -c, 'flock -n .run-{arrow} sleep 0.03 || echo {arrow} >> {OVERLAPS}; true']\n"
            ),
            "        timeout-s: 60\n",
        ]
        .concat()
    };
    let arrow = |id: &str, context: &str, more: &str, commands: &str, clauses: &[&str]| {
        let mut text = format!(
            "  - id: {id}\n    source-role: analyst\n    target-role: architect\n    \
             stratum: behaviour\n    context: {context}\n{more}    clauses:\n{commands}"
        );
        for clause in clauses {
            text.push_str(&format!(
                "      - id: {clause}\n        concept: What {clause} says holds ({n})\n        eval: attested\n"
            ));
        }
        text
    };
    let covers = "    covers: ['src/**']\n";
    [
        "version: 1\narrows:\n".to_owned(),
        arrow("A-shop", "shop", covers, "", ARROWS[0].1),
        arrow("A-bank", "bank", "", &run("bank"), ARROWS[1].1),
        arrow("A-mail", "mail", "", &run("mail"), ARROWS[2].1),
        arrow("A-post", "mail", "", "", ARROWS[3].1),
    ]
    .concat()
}

/// Makes the campaign's project in `dir`.
///
/// # Panics
/// If `program` does not.
pub fn make(program: &Path, dir: &Path) {
    std::fs::create_dir(dir.join("src")).unwrap();
    std::fs::write(dir.join("src/cart.rs"), "one\n").unwrap();
    std::fs::write(dir.join("grid-0.yaml"), text_of(0)).unwrap();
    let init = Command::new(program)
        .args(["init", "--grid", "grid-0.yaml", "--dir"])
        .arg(dir)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(init.status.success(), "{init:?}");
}

/// A verdict that was acknowledged.
#[derive(Debug, Clone)]
pub struct Ack {
    /// The record.
    pub id: String,
    /// Who gave it.
    pub op_id: String,
    /// What it says that it replaces: verdict, round, who.
    pub replaces: Option<(String, u32, String)>,
    /// Whether what it replaces was told at all.
    pub told: bool,
}

/// What the hands share.
pub struct Table<'a> {
    /// The binary.
    pub program: &'a Path,
    /// The project.
    pub dir: &'a Path,
    /// Who is alive.
    pub crowd: Crowd,
    /// What was acknowledged.
    pub acks: Mutex<Vec<Ack>>,
    /// What it comes to.
    pub told: Mutex<Told>,
    number: AtomicU64,
}

impl<'a> Table<'a> {
    pub fn new(program: &'a Path, dir: &'a Path, told: Told) -> Self {
        Self {
            program,
            dir,
            crowd: Crowd::default(),
            acks: Mutex::default(),
            told: Mutex::new(told),
            number: AtomicU64::new(1),
        }
    }

    /// A number that nobody had before.
    pub fn number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// A word that nobody said before, for what is meant to become this record;
    /// any, if none is named.
    pub fn tag(&self, meant: Option<&str>) -> String {
        format!("t{}@{}@", self.number(), meant.unwrap_or("any"))
    }

    /// Runs a command on the project. What it is refused for has to be among
    /// `expected`, or be explained by somebody who was stopped.
    pub fn run(&self, act: &'static str, args: &[&str], expected: &[&str]) -> Done {
        let done = self.crowd.run(self.program, self.dir, args);
        self.judge(act, &done, expected, &format!("{args:?}"));
        done
    }

    /// Judges how a command ended.
    pub fn judge(&self, act: &'static str, done: &Done, expected: &[&str], what: &str) {
        let stopped = self.crowd.stopped_beside(done);
        let mut told = lock(&self.told);
        for code in done.codes() {
            let explained = expected.contains(&code.as_str())
                || (stopped && ["session-locked", "engine-db-locked"].contains(&code.as_str()));
            assert!(explained, "{what}: {code}\n{done:?}");
            Told::count(&mut told.refused, format!("{act}: {code}"));
        }
        let lost = "attestation-audit-durability-failed";
        assert!(stopped || !done.err.contains(lost), "{what}\n{done:?}");
        assert!(!done.err.contains("panicked"), "{what}\n{done:?}");
        let refused = matches!(done.code, Some(code) if code >= 2);
        assert!(!refused || !done.codes().is_empty(), "{what}\n{done:?}");
        if !stopped && done.code.is_some() {
            told.longest = told.longest.max(done.took());
        }
    }

    /// An arrow and one of its clauses.
    pub fn clause(&self, dice: &mut Dice) -> (&'static str, &'static str) {
        let (arrow, clauses) = ARROWS[dice.below(ARROWS.len() as u64) as usize];
        (arrow, clauses[dice.below(clauses.len() as u64) as usize])
    }

    /// The text of the next grid, in a file.
    pub fn next_grid(&self) -> PathBuf {
        let n = self.number();
        let path = self.dir.join(format!("grid-{n}.yaml"));
        std::fs::write(&path, text_of(n)).unwrap();
        path
    }
}

/// Somebody.
pub fn somebody(dice: &mut Dice) -> &'static str {
    PEOPLE[dice.below(PEOPLE.len() as u64) as usize]
}
