//! The kill campaign: a process that records verdicts is killed at a random
//! moment, over and over, on the same tree.
//!
//! The child prints each record's line once the session has acknowledged it.
//! Whatever moment it dies at, every line printed stands in the tree exactly
//! once, the chain is whole, and nothing is wrong but what dying explains.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ghyll::audit::verify::On;
use ghyll::db::{Db, DbError};
use ghyll::policy::Policy;

use super::Dice;
use super::fixture::{self, ARROW};

/// Lives on one tree before the next one is begun.
const LIVES: u64 = 40;

/// What a campaign came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Killed {
    /// Processes killed.
    pub kills: u64,
    /// Of them, before they said that their session had started.
    pub while_starting: u64,
    /// Records acknowledged, every one found.
    pub acknowledged: u64,
    /// Records found that were not acknowledged any more.
    pub unacknowledged: u64,
    /// Times a surface was behind the tree, as it may be.
    pub behind: u64,
    /// Partial lines found, most of them made by cutting off what was not
    /// acknowledged, as a loss of power does.
    pub partial: u64,
}

/// What the child does: opens a session and records until it is killed.
pub fn record(dir: &Path, seed: u64) -> Result<(), String> {
    let policy = Arc::new(Policy::load().map_err(|e| e.to_string())?);
    let mut dice = Dice::new(seed);
    let session = fixture::open(dir, &policy).map_err(|e| format!("{}: {e}", e.code()))?;
    say("started");
    let mut refused = 0;
    loop {
        let done = match dice.below(8) {
            0 => session.dispatch(ARROW).map(drop),
            _ => fixture::attest(&session, &mut dice)
                .map(|recorded| say(&format!("ack {}", recorded.line.trim_end()))),
        };
        match done {
            Ok(()) => {}
            Err(e) if e.code() == "attestation-no-pass-for-ref" => {
                session.dispatch(ARROW).map_err(|e| e.to_string())?;
            }
            Err(e) => {
                say(&format!("refused {}: {e}", e.code()));
                refused += 1;
                if refused > 20 {
                    return Ok(());
                }
            }
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever reads this may be gone; then so are we, soon.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Runs a campaign of `kills`; `program` is the campaign binary.
///
/// # Panics
/// If anything is not as it has to be.
pub fn campaign(program: &Path, kills: u64, seed: u64) -> Killed {
    let policy = Arc::new(Policy::load().unwrap());
    let mut dice = Dice::new(seed);
    let mut total = Killed::default();
    while total.kills < kills {
        let lives = LIVES.min(kills - total.kills);
        one_tree(program, &policy, lives, &mut dice, &mut total);
    }
    total
}

fn one_tree(program: &Path, policy: &Arc<Policy>, lives: u64, dice: &mut Dice, total: &mut Killed) {
    let scratch = fixture::scratch();
    let dir = scratch.path();
    fixture::make(dir);
    let mut acknowledged = BTreeSet::new();
    for _ in 0..lives {
        let heard = one_life(program, dir, dice);
        total.kills += 1;
        total.while_starting += u64::from(!heard.started);
        for line in heard.acknowledged {
            assert!(acknowledged.insert(line), "a line was acknowledged twice");
        }
        if dice.below(3) == 0 {
            lose_power(dir, &acknowledged, dice);
        }
        inspect(dir, policy, &acknowledged, total);
    }
    // A last session puts right what the last death left.
    drop(fixture::open(dir, policy).unwrap());
    let report = fixture::assert_clean(dir, policy);
    let found = acknowledged.len() as u64;
    assert!(report.tree.records >= found);
    assert_eq!(report.tree.records, report.index.records);
    assert_eq!(report.tree.records, report.flat.records);
    total.acknowledged += found;
    total.unacknowledged += report.tree.records - found;
}

struct Heard {
    started: bool,
    acknowledged: Vec<String>,
}

/// Starts a child, kills it, and returns what it said.
fn one_life(program: &Path, dir: &Path, dice: &mut Dice) -> Heard {
    let seed = dice.below(u64::MAX).to_string();
    let mut child = Command::new(program)
        .arg("record")
        .arg(dir)
        .arg(seed)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = listen(&mut child);
    let mut heard = Heard {
        started: false,
        acknowledged: Vec::new(),
    };
    if dice.below(3) == 0 {
        // At any moment from its first one on, the start of the session too.
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
    } else {
        // At a moment after so many acknowledgements.
        let mut patience = 1 + dice.below(6);
        while patience > 0 {
            let Ok(line) = lines.recv_timeout(Duration::from_secs(60)) else {
                break;
            };
            patience -= 1;
            heard.take(line);
        }
        std::thread::sleep(Duration::from_micros(dice.below(4_000)));
    }
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    for line in lines {
        heard.take(line);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.is_empty(), "the child said: {words}");
    heard
}

impl Heard {
    fn take(&mut self, line: String) {
        if line == "started" {
            self.started = true;
        } else if let Some(record) = line.strip_prefix("ack ") {
            // A line cut short by death acknowledges nothing.
            if record.ends_with("\"}") {
                self.acknowledged.push(format!("{record}\n"));
            }
        } else {
            assert!(!line.starts_with("refused "), "{line}");
        }
    }
}

fn listen(child: &mut Child) -> Receiver<String> {
    let out = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// A kill leaves all that was written; a loss of power only what was made
/// durable. So what was not acknowledged is cut off, at any byte.
fn lose_power(dir: &Path, acknowledged: &BTreeSet<String>, dice: &mut Dice) {
    let flat = dir.join(".ghyll/attestations.jsonl");
    let index = dir.join(".ghyll/engine.db-journal");
    for (path, bytes) in fixture::tree(dir) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut durable = 0;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            if acknowledged.contains(line) {
                durable = end;
            }
        }
        // Only what the index has not seen: it is written after the tree is
        // durable.
        let last = text.get(durable..).unwrap_or_default();
        if last.is_empty() || index.exists() || indexed(dir, last) {
            continue;
        }
        let keep = durable as u64 + dice.below(last.len() as u64 + 1);
        cut(&path, keep);
    }
    // The flat file may be behind by any number of bytes: it is caught up.
    if let Ok(meta) = fs::metadata(&flat)
        && meta.len() > 0
    {
        cut(&flat, meta.len() - dice.below(meta.len().min(2000)));
    }
}

/// Whether the index may know any of these lines.
fn indexed(dir: &Path, lines: &str) -> bool {
    let db = Db::open_read_only(&dir.join(".ghyll/engine.db"));
    let Ok(Some(db)) = db else { return true };
    lines.lines().any(|line| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let chain = value["chain"].as_str().unwrap_or_default();
        let mut known = false;
        let read = db.read(|reader| {
            reader.each_unordered(|row| {
                known |= row.chain == chain;
                Ok::<_, DbError>(())
            })
        });
        known || read.is_err()
    })
}

fn cut(path: &PathBuf, keep: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(keep).unwrap();
}

/// What has to be true after a death.
fn inspect(dir: &Path, policy: &Policy, acknowledged: &BTreeSet<String>, total: &mut Killed) {
    let lines = fixture::tree_lines(dir);
    for line in acknowledged {
        let count = lines.get(line).copied().unwrap_or(0);
        assert_eq!(
            count, 1,
            "acknowledged, and {count} times in the tree: {line}"
        );
    }
    for issue in fixture::look(dir, policy).issues {
        // The crash explains a partial line, and a surface behind the tree.
        let behind = issue.code == "attestation-aggregate-divergence" && issue.line == 0;
        let partial = issue.code == "attestation-line-partial";
        assert!(behind || partial, "{issue:#?}");
        assert!(issue.surface != On::Checkpoint);
        total.behind += u64::from(behind);
        total.partial += u64::from(partial);
    }
}
