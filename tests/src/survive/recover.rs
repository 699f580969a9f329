//! From every damaged state the commands that the messages name lead on, and
//! give up no record that still verifies.
//!
//! A project is damaged at random, on one to four of its surfaces; then a
//! person does what the messages say, until a session starts. It must have
//! every record that the policy finds good in what is left of the tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ghyll::policy::{Cursor, Limits, Policy, Surface};
use serde_json::Value;
use tempfile::TempDir;

use super::Dice;
use super::fixture::{copy, scratch};

/// What a campaign came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Recovered {
    /// States tried.
    pub states: u64,
    /// Good records that stood in them, every one found by a session.
    pub records: u64,
    /// Commands that a person typed, the last ones included.
    pub commands: u64,
    /// States that were led out of by more than one command.
    pub led: u64,
}

/// Commands a person tries before they give up.
const PATIENCE: usize = 12;

/// A number below `n`; 0 where there is none.
fn roll(dice: &mut Dice, n: usize) -> usize {
    dice.below(n.max(1) as u64) as usize
}

/// Runs a command to its end.
pub fn run(program: &Path, dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(program)
        .arg("--dir")
        .arg(dir)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// The sample with verdicts of two people in three files.
pub fn sample(program: &Path) -> TempDir {
    let dir = scratch();
    let root = dir.path();
    let ok = |args: &[&str]| {
        let (exit, out, err) = run(program, root, args);
        assert!(exit <= 1, "{args:?}: {out}{err}");
    };
    let attest = |clause: &str, rest: &[&str], op: &str| {
        let reference = format!("att-A-checkout-{clause}-v1");
        ok(&[&["attest", &reference], rest, &["--op-id", op]].concat());
    };
    ok(&["init", "--example"]);
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/cart.rs"), "line\n".repeat(9)).unwrap();
    ok(&["dispatch", "A-checkout"]);
    attest("C1", &["fail", "--inspected", "src/cart.rs:1-9"], "alice");
    attest("C2", &["pass"], "alice");
    attest(
        "C3",
        &["insufficient-basis", "--residue", "what of a refund?"],
        "bob",
    );
    ok(&["dispatch", "A-checkout"]);
    attest("C1", &["pass"], "bob");
    attest("C3", &["pass"], "alice");
    attest("C2", &["fail", "--inspected", "src/cart.rs:1-2"], "alice");
    ok(&["init", "attest", "--op-id", "alice"]);
    ok(&["dispatch", "A-design"]);
    dir
}

fn tree_files(dir: &Path) -> Vec<PathBuf> {
    fn below(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below(&path, files),
                false => files.push(path),
            }
        }
    }
    let mut files = Vec::new();
    below(&dir.join(".ghyll/attestations"), &mut files);
    files.sort();
    files
}

/// What still verifies: each record by its line's chain.
pub fn good(dir: &Path, policy: &Policy) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let root = dir.join(".ghyll/attestations");
    for file in tree_files(dir) {
        let path = file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let bytes = fs::read(&file).unwrap();
        let mut cursor = Cursor {
            surface: Surface::Tree(path),
            bytes: 0,
            lines: 0,
            chain: String::new(),
            skipped: 0,
            at_end: true,
        };
        let limits = Limits {
            max_residue_bytes: 0,
        };
        let (mut left, mut ids) = (bytes.as_slice(), BTreeSet::new());
        while !left.is_empty() {
            let checked = policy.check_lines(left, &cursor, limits).unwrap();
            for line in checked.lines {
                let Some(rec) = line.rec() else { continue };
                if line.problems.is_empty() && ids.insert(rec.attestation_id) {
                    all.insert(line.chain().into_owned());
                }
            }
            left = &left[checked.consumed as usize..];
            cursor = Cursor {
                at_end: true,
                ..checked.cursor
            };
        }
    }
    all
}

/// Damages one file of lines.
fn harm_lines(file: &Path, dice: &mut Dice) -> String {
    let mut bytes = fs::read(file).unwrap();
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let (at, line) = (roll(dice, bytes.len()), roll(dice, lines.len()));
    let what = match roll(dice, 9) {
        0 => {
            bytes[at] ^= 1 << roll(dice, 8);
            format!("bit of byte {at}")
        }
        1 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        2 => {
            lines.remove(line);
            bytes = lines.concat();
            format!("without line {}", line + 1)
        }
        3 => {
            lines.insert(line, b"{}\n".to_vec());
            bytes = lines.concat();
            format!("junk before line {}", line + 1)
        }
        4 => {
            let twin = lines[line].clone();
            lines.insert(line, twin);
            bytes = lines.concat();
            format!("line {} twice", line + 1)
        }
        5 => {
            lines.reverse();
            bytes = lines.concat();
            "turned round".to_owned()
        }
        6 => {
            let mut long = vec![b'x'; (1 << 20) + 1 + roll(dice, 1 << 20)];
            long.push(b'\n');
            lines.insert(line, long);
            bytes = lines.concat();
            format!("a very long line before {}", line + 1)
        }
        7 => {
            bytes.extend(b"{\"attestation_id\":");
            "a partial line".to_owned()
        }
        _ => {
            bytes.clear();
            "emptied".to_owned()
        }
    };
    fs::write(file, bytes).unwrap();
    what
}

fn harm_db(file: &Path, dice: &mut Dice) -> String {
    let mut bytes = fs::read(file).unwrap();
    if roll(dice, 2) == 0 {
        let statements = [
            "UPDATE file_heads SET bytes = -1",
            "UPDATE file_heads SET lines = lines + 1",
            "UPDATE file_heads SET chain = 'ff' || substr(chain, 3)",
            "UPDATE file_heads SET mtime_ns = 0",
            "DELETE FROM file_heads",
            "DELETE FROM attestations WHERE line = 1",
            "UPDATE attestations SET length = 4000000000000",
            "UPDATE attestations SET offset = -7, op_id = 'mallory'",
            "UPDATE attestations SET round = 4000000000",
            "UPDATE requests SET concept = CAST(x'c3' AS TEXT) || concept",
            "UPDATE passes SET status = 'open', session_id = 'nobody'",
            "UPDATE standings SET verdict = 'pass', round = 9",
            "UPDATE standings SET verdict = 'pass', open_findings = 0",
            "DELETE FROM standings",
            "DELETE FROM findings",
            "UPDATE attestations SET verdict = 'pass' WHERE verdict = 'fail'",
            "UPDATE attestations SET hint_json = '[', unit_payload_json = '{'",
            "UPDATE attestations SET attestation_ref = 'att-B-v1'",
            "DELETE FROM attestations WHERE verdict = 'fail'",
            "DELETE FROM requests",
            "UPDATE requests SET asked_after = 77, evidence_json = '{'",
            "UPDATE file_heads SET last_offset = bytes",
            "UPDATE notes SET value = 'x'; INSERT INTO notes VALUES ('moved:x', 'y')",
            "UPDATE evaluation_runs SET outcome = 'pass'",
            "CREATE VIEW notes_too AS SELECT * FROM notes",
            "PRAGMA user_version = 1",
        ];
        let statement = statements[roll(dice, statements.len())];
        let conn = rusqlite::Connection::open(file).unwrap();
        // Some do not go together with what is there, which is no damage.
        let _ = conn.execute_batch(statement);
        return statement.to_owned();
    }
    let what = match roll(dice, 4) {
        0 => {
            bytes.truncate(roll(dice, bytes.len()));
            "cut"
        }
        1 => {
            bytes.clear();
            "emptied"
        }
        2 => {
            fs::remove_file(file).unwrap();
            return "removed".to_owned();
        }
        _ => {
            for _ in 0..=roll(dice, 8) {
                let at = roll(dice, bytes.len());
                bytes[at] ^= 1 << roll(dice, 8);
            }
            "bits"
        }
    };
    fs::write(file, bytes).unwrap();
    what.to_owned()
}

fn harm(dir: &Path, dice: &mut Dice) -> String {
    let below = |name: &str| dir.join(".ghyll").join(name);
    match roll(dice, 19) {
        0..4 => {
            let files = tree_files(dir);
            let Some(file) = files.get(roll(dice, files.len())) else {
                return "nothing left to harm".to_owned();
            };
            match roll(dice, 6) {
                0 => {
                    fs::remove_file(file).unwrap();
                    "a file of the tree removed".to_owned()
                }
                1 => {
                    fs::rename(file, file.with_file_name("other.jsonl")).unwrap();
                    "a file of the tree renamed".to_owned()
                }
                2 => {
                    fs::copy(file, file.with_file_name("copy.jsonl")).unwrap();
                    "a file of the tree copied".to_owned()
                }
                _ if fs::metadata(file).unwrap().len() == 0 => "nothing in it to harm".to_owned(),
                _ => format!("tree: {}", harm_lines(file, dice)),
            }
        }
        4 => {
            let _ = fs::remove_dir_all(below("attestations"));
            "the tree removed".to_owned()
        }
        5 | 6 => {
            let flat = below("attestations.jsonl");
            match roll(dice, 4) {
                0 => {
                    let _ = fs::remove_file(flat);
                    "the flat file removed".to_owned()
                }
                1 => {
                    let _ = fs::remove_file(&flat);
                    let _ = fs::create_dir(flat);
                    "a directory in the place of the flat file".to_owned()
                }
                _ if fs::metadata(&flat).is_ok_and(|meta| meta.is_file() && meta.len() > 0) => {
                    format!("flat: {}", harm_lines(&flat, dice))
                }
                _ => "no flat file to harm".to_owned(),
            }
        }
        7..10 => {
            let db = below("engine.db");
            match db.is_file() {
                true => format!("index: {}", harm_db(&db, dice)),
                false => "no index to harm".to_owned(),
            }
        }
        10 => {
            let junk: [&[u8]; 3] = [b"{}\n", b"{\"at\":\"\",\"op_id", b"\xff\xfe\n\n\n"];
            fs::write(below("accepted-losses.jsonl"), junk[roll(dice, 3)]).unwrap();
            "junk for losses".to_owned()
        }
        11 => {
            let pointer = below("grid.current");
            match roll(dice, 2) {
                0 => drop(fs::remove_file(pointer)),
                _ => fs::write(pointer, "v1\nv2\n").unwrap(),
            }
            "the grid's pointer".to_owned()
        }
        12 => {
            // Each is made anew, or told for what it is.
            let name = ["lock", "history", "engine.db", "attestations.jsonl"][roll(dice, 4)];
            let place = below(name);
            let _ = fs::remove_file(&place);
            let _ = fs::remove_dir_all(&place);
            fs::create_dir(&place).unwrap();
            format!("a directory called {name}")
        }
        13 => {
            let _ = fs::remove_dir_all(below("sessions"));
            fs::write(below("sessions"), "x").unwrap();
            "a file called sessions".to_owned()
        }
        14 => {
            let _ = fs::remove_dir_all(below("subjects"));
            "the subjects removed".to_owned()
        }
        15 => {
            fs::write(below("engine.db-journal"), vec![0xd9; 1 + roll(dice, 9000)]).unwrap();
            "a journal of nothing".to_owned()
        }
        16 => {
            fs::write(below("engine.db-wal"), vec![7; 1 + roll(dice, 9000)]).unwrap();
            "a log of nothing".to_owned()
        }
        17 => {
            let grid = below("grid.v1.yaml");
            let mut text = fs::read(&grid).unwrap_or_default();
            let at = roll(dice, text.len());
            text.truncate(at);
            text.extend_from_slice(b": [\xff");
            fs::write(grid, text).unwrap();
            "the grid itself".to_owned()
        }
        _ => {
            // Where a directory stands, it stays.
            let _ = fs::write(below("lock"), b"\xff not a holder");
            let _ = fs::write(below("history"), b"\x1b]0;x\x07\n\xff");
            "junk in lock and history".to_owned()
        }
    }
}

/// The command that a message names, as a person would type it.
fn named(message: &str) -> Option<Vec<String>> {
    // What is quoted of a damaged file may have quotes of its own.
    let command = message
        .match_indices("`ghyll ")
        .filter_map(|(at, quote)| message[at + quote.len()..].split('`').next())
        // It looks and mends nothing.
        .find(|command| !command.contains("verify-attestations"))?;
    Some(
        command
            .split_whitespace()
            .map(|word| if word == "ID" { "carol" } else { word }.to_owned())
            .collect(),
    )
}

/// What a message has a person do by hand, who can do no more than it says.
fn by_hand(dir: &Path, sample: &Path, message: &str) -> Option<&'static str> {
    let below = |name: &str| dir.join(".ghyll").join(name);
    if message.contains("write the newest version's \"v<N>\" into it") {
        fs::write(below("grid.current"), "v1\n").unwrap();
        return Some("the pointer is written");
    }
    if message.contains(".ghyll/sessions: no directory") && message.contains("move it away") {
        fs::remove_file(below("sessions")).unwrap();
        return Some("what was called sessions is moved away");
    }
    if message.contains(".ghyll/lock: a directory") && message.contains("move it away") {
        fs::remove_dir(below("lock")).unwrap();
        return Some("what was called lock is moved away");
    }
    // A grid is somebody's text: who broke it in place has it from git.
    if message.contains("error[grid-") && message.contains("grid.v1.yaml") {
        let whole = sample.join(".ghyll/grid.v1.yaml");
        fs::copy(whole, below("grid.v1.yaml")).unwrap();
        return Some("the grid is restored");
    }
    None
}

/// Does what the messages say until a command is done, and returns what that
/// printed.
fn follow(
    program: &Path,
    (dir, sample): (&Path, &Path),
    goal: &[&str],
    story: &mut Vec<String>,
    commands: &mut u64,
) -> Option<String> {
    let goal: Vec<String> = goal.iter().map(|word| (*word).to_owned()).collect();
    let mut next = goal.clone();
    for _ in 0..PATIENCE {
        let args = std::mem::replace(&mut next, goal.clone());
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        *commands += 1;
        let (exit, out, err) = run(program, dir, &words);
        story.push(format!("ghyll {}: exit {exit}\n{err}", words.join(" ")));
        if exit == 0 {
            match args == goal {
                true => return Some(out),
                false => continue,
            }
        }
        if let Some(done) = by_hand(dir, sample, &err) {
            story.push(done.to_owned());
            continue;
        }
        match named(&err) {
            Some(command) if command != args => next = command,
            _ => return None,
        }
    }
    None
}

/// Damages a project `states` times over, each time anew, and follows the
/// messages out of it.
///
/// # Panics
/// With the stories of those states that no command leads out of, or whose
/// good records are not all found.
pub fn campaign(program: &Path, states: u64, seed: u64) -> Recovered {
    let policy = Policy::load().unwrap();
    let sample = sample(program);
    let mut total = Recovered::default();
    let mut failures = Vec::new();
    for seed in seed..seed.saturating_add(states) {
        let mut story = vec![format!("seed {seed}")];
        if !one_state(
            program,
            &policy,
            sample.path(),
            seed,
            &mut story,
            &mut total,
        ) {
            failures.push(story.join("\n"));
        }
        total.states += 1;
    }
    assert!(
        failures.is_empty(),
        "{} of {states}:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    total
}

fn one_state(
    program: &Path,
    policy: &Policy,
    sample: &Path,
    seed: u64,
    story: &mut Vec<String>,
    total: &mut Recovered,
) -> bool {
    let temp = scratch();
    let dir = temp.path();
    copy(sample, dir);
    let mut dice = Dice::new(seed);
    for _ in 0..=roll(&mut dice, 4) {
        story.push(harm(dir, &mut dice));
    }
    let before = good(dir, policy);
    let (exit, report, err) = run(program, dir, &["engine", "verify-attestations", "--json"]);
    if exit > 1 || serde_json::from_str::<Value>(&report).is_err() {
        story.push(format!("verification: exit {exit}: {err}"));
        return false;
    }
    // Who reads gets an answer, a coded one at the least.
    for command in ["status", "attestations", "findings", "passes", "pending"] {
        let (exit, _, err) = run(program, dir, &[command, "--json"]);
        let coded = exit == 0 || exit == 3 && err.contains("error[");
        if !coded {
            story.push(format!("{command}: exit {exit}: {err}"));
            return false;
        }
    }
    let typed = total.commands;
    if follow(program, (dir, sample), &["run"], story, &mut total.commands).is_none() {
        return false;
    }
    total.led += u64::from(total.commands > typed + 1);
    // An index whose files are as it saw them is believed by a start; that its
    // rows are not is what verification is for, and it says what to do.
    let (_, report, _) = run(program, dir, &["engine", "verify-attestations", "--json"]);
    if report.contains("ghyll engine rebuild-index makes the index anew") {
        let (exit, out, err) = run(program, dir, &["engine", "rebuild-index"]);
        story.push(format!("rebuilt: exit {exit}: {out}{err}"));
    }
    let goal = ["attestations", "--json"];
    let listed = follow(program, (dir, sample), &goal, story, &mut total.commands);
    let listed: Value = serde_json::from_str(&listed.unwrap_or_default()).unwrap_or(Value::Null);
    let after: BTreeSet<String> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|line| line["chain"].as_str().unwrap_or_default().to_owned())
        .collect();
    total.records += before.len() as u64;
    let lost = before.difference(&after).count();
    if lost > 0 {
        story.push(format!("{lost} good records are not listed"));
    }
    lost == 0
}
