//! One project, read and started: whatever has happened to it, each read-only
//! command says what a session started then says, and changes nothing.
//!
//! A history is a few dozen random things that befall a project: verdicts,
//! crashes, a colleague's files, an index that is lost or from yesterday,
//! damage. After each of them the project is looked at through a `View`, then a
//! session is started on it, and it is looked at again: both have to say the
//! same, or the session is refused with the very code that the view gave. At
//! the end of a history the commands themselves are asked, as text and as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ghyll::db::{DbError, Filter};
use ghyll::modal::Attended;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::Session;
use ghyll::shape::{LineObject, Pending};
use ghyll::view::View;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::survive::Dice;
use crate::survive::fixture::{self, ARROW};

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Seen {
    /// Histories played.
    pub histories: u64,
    /// Times a project was looked at.
    pub looks: u64,
    /// Times a session was refused, by code.
    pub refused: BTreeMap<String, u64>,
    /// Commands asked.
    pub commands: u64,
}

/// Plays `histories`, and asks the commands of `program` at the end of each.
///
/// # Panics
/// If anything is said of a project that is not said by a session, or the
/// other way round.
pub fn campaign(program: &Path, histories: u64, seed: u64) -> Seen {
    let policy = Arc::new(Policy::load().unwrap());
    let mut seen = Seen::default();
    for n in 0..histories {
        let seed = seed.wrapping_add(n);
        History::new(seed, &policy).play(program, &mut seen);
        seen.histories += 1;
    }
    seen
}

/// A project and what has happened to it.
struct History<'a> {
    seed: u64,
    dice: Dice,
    policy: &'a Arc<Policy>,
    dir: TempDir,
    clone: TempDir,
    /// A session at work, which a crash ends.
    session: Option<Attended>,
    /// The index as it once was.
    old_index: Option<Vec<u8>>,
    told: Vec<String>,
}

impl<'a> History<'a> {
    fn new(seed: u64, policy: &'a Arc<Policy>) -> Self {
        let dir = fixture::scratch();
        fixture::make(dir.path());
        let clone = fixture::scratch();
        fixture::make(clone.path());
        Self {
            seed,
            dice: Dice::new(seed),
            policy,
            dir,
            clone,
            session: None,
            old_index: None,
            told: Vec::new(),
        }
    }

    fn play(&mut self, program: &Path, seen: &mut Seen) {
        let damaged_at = 4 + self.dice.below(20);
        for step in 0..16 {
            let what = if step == damaged_at {
                self.damage()
            } else {
                self.befall()
            };
            self.told.push(what);
            self.look(seen);
        }
        self.ask(program, seen);
    }

    fn root(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    fn ghyll(&self, below: &str) -> PathBuf {
        self.dir.path().join(".ghyll").join(below)
    }

    /// One thing that happens to a project which is in order.
    fn befall(&mut self) -> String {
        match self.dice.below(12) {
            0 | 1 => self.at_work("dispatch", |session, _| {
                session
                    .dispatch(ARROW)
                    .map(drop)
                    .map_err(|e| e.code().to_owned())
            }),
            2..=5 => self.at_work("attest", |session, dice| {
                let attested = fixture::attest(session, dice);
                attested.map(drop).map_err(|e| e.code().to_owned())
            }),
            6 => {
                self.session = None;
                "the session ends".to_owned()
            }
            7 => self.crash(),
            8 => self.pull(),
            9 => {
                self.session = None;
                let kept = fs::read(self.ghyll("engine.db")).ok();
                let words = format!(
                    "the index is kept ({} bytes)",
                    kept.as_ref().map_or(0, Vec::len)
                );
                self.old_index = kept;
                words
            }
            10 => {
                self.session = None;
                match &self.old_index {
                    Some(bytes) => fs::write(self.ghyll("engine.db"), bytes).unwrap(),
                    None => drop(fs::remove_file(self.ghyll("engine.db"))),
                }
                "the index is lost, or as it was kept".to_owned()
            }
            _ => {
                self.session = None;
                let _ = fs::remove_file(self.ghyll("engine.db"));
                let _ = fs::remove_file(self.ghyll("attestations.jsonl"));
                "as in a clone, there is no index".to_owned()
            }
        }
    }

    fn at_work(
        &mut self,
        what: &str,
        act: impl FnOnce(&Session, &mut Dice) -> Result<(), String>,
    ) -> String {
        if self.session.is_none() {
            match fixture::open(&self.root(), self.policy) {
                Ok(session) => self.session = Some(session),
                Err(e) => return format!("{what}: no session, {}", e.code()),
            }
        }
        let session = self.session.as_ref().unwrap();
        match act(session, &mut self.dice) {
            Ok(()) => what.to_owned(),
            Err(code) => format!("{what}: {code}"),
        }
    }

    /// What is on disk lives on elsewhere; nothing is put in order. Sometimes
    /// the last line was not whole yet.
    fn crash(&mut self) -> String {
        let left = fixture::scratch();
        fixture::copy(&self.root(), left.path());
        self.session = None;
        self.dir = left;
        if self.dice.below(2) == 0
            && let Some(path) = self.some_file()
        {
            let mut bytes = fs::read(&path).unwrap();
            bytes.extend_from_slice(br#"{"attestation_id":"att-A-che"#);
            fs::write(&path, bytes).unwrap();
            return "a crash in the middle of a line".to_owned();
        }
        "a crash".to_owned()
    }

    /// A colleague gives a verdict in a clone, and the tree of it comes here:
    /// files that are new, or go on where ours end.
    fn pull(&mut self) -> String {
        let clone = self.clone.path();
        if self.dice.below(2) == 0 {
            take(
                &self.ghyll("attestations"),
                &clone.join(".ghyll/attestations"),
            );
        }
        let given = fixture::open(clone, self.policy).and_then(|session| {
            session.dispatch(ARROW)?;
            fixture::attest(&session, &mut self.dice)
        });
        let came = take(
            &clone.join(".ghyll/attestations"),
            &self.ghyll("attestations"),
        );
        format!(
            "a pull of {came} files ({:?})",
            given.err().map(|e| e.code().to_owned())
        )
    }

    /// Something that ghyll has to find.
    fn damage(&mut self) -> String {
        self.session = None;
        let Some(path) = self.some_file() else {
            return "nothing to damage".to_owned();
        };
        let bytes = fs::read(&path).unwrap();
        let at = self.dice.below(bytes.len() as u64) as usize;
        match self.dice.below(7) {
            0 | 1 => {
                let mut flipped = bytes;
                flipped[at] ^= 1 << self.dice.below(8);
                fs::write(&path, flipped).unwrap();
                format!("a bit of byte {at}")
            }
            2 => {
                fs::write(&path, &bytes[..at]).unwrap();
                format!("cut at {at}")
            }
            3 => {
                fs::remove_file(&path).unwrap();
                "a file is gone".to_owned()
            }
            4 => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                "a directory where a file was".to_owned()
            }
            5 => {
                fs::remove_dir_all(self.ghyll("attestations")).unwrap();
                "the tree is gone".to_owned()
            }
            _ => {
                fs::write(self.ghyll("engine.db"), b"no database at all").unwrap();
                "the index is none".to_owned()
            }
        }
    }

    fn some_file(&mut self) -> Option<PathBuf> {
        let mut files = fixture::tree(&self.root());
        files.retain(|_, bytes| !bytes.is_empty());
        let count = files.len() as u64;
        if count == 0 {
            return None;
        }
        files.into_keys().nth(self.dice.below(count) as usize)
    }

    /// Looks without a session, then with one.
    fn look(&self, seen: &mut Seen) {
        seen.looks += 1;
        let what = format!("seed {}: {:#?}", self.seed, self.told);
        let before = fixture::files(&self.ghyll(""));
        let read = said(&self.root(), self.policy);
        assert_eq!(
            changed(&before, &fixture::files(&self.ghyll(""))),
            [""; 0],
            "{what}"
        );

        match fixture::open(&self.root(), self.policy) {
            Ok(session) => {
                let (read, fault) = read.unwrap_or_else(|code| panic!("{code}: {what}"));
                assert_eq!(fault, None, "{what}");
                let (then, _) = said(&self.root(), self.policy).unwrap();
                assert_eq!(read, then, "{what}");
                drop(session);
            }
            Err(refused) => {
                let code = refused.code().to_owned();
                *seen.refused.entry(code.clone()).or_default() += 1;
                let first = match read {
                    Ok((_, fault)) => fault,
                    Err(code) => Some(code),
                };
                assert_eq!(first, Some(code), "{refused}; {what}");
                // But for the end of a line that a crash cut short.
                let whole = |bytes: &mut Vec<u8>| {
                    let end = bytes.iter().rposition(|b| *b == b'\n');
                    bytes.truncate(end.map_or(0, |end| end + 1));
                };
                let tree = |files: &BTreeMap<PathBuf, Vec<u8>>| {
                    let mut files = files.clone();
                    files.values_mut().for_each(whole);
                    files.retain(|path, _| {
                        path.components().any(|c| c.as_os_str() == "attestations")
                    });
                    files
                };
                let now = fixture::files(&self.ghyll(""));
                assert_eq!(changed(&tree(&before), &tree(&now)), [""; 0], "{what}");
            }
        }
    }

    /// What the commands say before a session starts, and what after it.
    fn ask(&mut self, program: &Path, seen: &mut Seen) {
        self.session = None;
        let what = format!("seed {}: {:#?}", self.seed, self.told);
        // So that there is something to bring up.
        if self.dice.below(2) == 0 && self.told.len().is_multiple_of(2) {
            let _ = fs::remove_file(self.ghyll("engine.db"));
        }
        let before = self.answers(program, seen);
        let started = fixture::open(&self.root(), self.policy);
        let refused = started.err().map(|e| e.code().to_owned());
        let after = self.answers(program, seen);
        for ((command, before), (_, after)) in before.iter().zip(&after) {
            assert_eq!(before.out, after.out, "{command}: {what}");
            assert_eq!(before.code, after.code, "{command}: {what}\n{}", before.err);
            let Some(code) = &refused else { continue };
            // Where the index alone is unusable, the tree answers all the same,
            // but for what stands nowhere else.
            let lists = ["pending", "findings", "passes"];
            let nowhere_else = lists.iter().any(|list| command.starts_with(list));
            let (exit, word) = match code.starts_with("engine-db-") && !nowhere_else {
                true => (0, "warning"),
                false => (3, "error"),
            };
            let words = format!("{command}, {code}: {what}\n{}{}", before.out, before.err);
            assert_eq!(before.code, exit, "{words}");
            assert!(before.err.contains(&format!("{word}[{code}]")), "{words}");
        }
    }

    fn answers(&self, program: &Path, seen: &mut Seen) -> Vec<(String, Said)> {
        let mut answers = Vec::new();
        for command in COMMANDS {
            for json in ["", " --json"] {
                seen.commands += 1;
                let line = format!("{command}{json}");
                let output = Command::new(program)
                    .args(line.split_whitespace())
                    .current_dir(self.root())
                    .env("NO_COLOR", "1")
                    .env_remove("GHYLL_OP_ID")
                    .output()
                    .unwrap();
                let out = String::from_utf8(output.stdout).unwrap();
                let said = Said {
                    code: output.status.code().unwrap(),
                    out: untimed(command, &out),
                    err: String::from_utf8(output.stderr).unwrap(),
                };
                answers.push((line, said));
            }
        }
        answers
    }
}

/// The commands that only read, and whose answer is not about the index.
const COMMANDS: [&str; 7] = [
    "status",
    "arrow list",
    "arrow show A-checkout",
    "attestations",
    "pending",
    "findings",
    "passes",
];

/// What a command said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// What a start of a session would do now, it does at another time later: of
/// passes only whether they ended is held against each other.
fn untimed(command: &str, out: &str) -> String {
    if command != "passes" {
        return out.to_owned();
    }
    let mut text = String::new();
    for word in out.split_inclusive([' ', '\n', '"', ',', '(', ')']) {
        let bytes = word.as_bytes();
        let is_time = bytes.len() > 19 && bytes[4] == b'-' && bytes[10] == b'T';
        text.push_str(if is_time { "<time>" } else { word });
    }
    text
}

/// What is said of a project, and the first thing that is wrong with it.
fn said(root: &Path, policy: &Arc<Policy>) -> Result<(Value, Option<String>), String> {
    let project = Project::open(root).map_err(|e| e.code().to_owned())?;
    let view = View::open(project, Arc::clone(policy)).map_err(|e| e.code().to_owned())?;
    let fault = match (view.db_fault(), view.damage().first()) {
        (Some(fault), _) => Some(fault.code().to_owned()),
        (None, damage) => damage.map(|damage| damage.code().to_owned()),
    };
    let said = everything(&view).map_err(|e: ghyll::view::ViewError| e.code().to_owned())?;
    Ok((said, fault))
}

fn everything(view: &View) -> Result<Value, ghyll::view::ViewError> {
    let mut arrows = Vec::new();
    for (arrow, stands) in view.arrows()? {
        let clauses: Vec<_> = stands
            .clauses
            .iter()
            .map(|clause| {
                json!({
                    "id": clause.id,
                    "status": clause.status,
                    "round": clause.round,
                    "deeper": clause.deeper,
                    "newest": clause.newest.as_ref().map(|row| &row.chain),
                    "pending": clause.pending.as_ref().map(|request| request.round),
                    "findings": clause.open_findings,
                    "accepted_risk": clause.accepted_risk,
                    "concurrent": clause.concurrent,
                })
            })
            .collect();
        arrows.push(json!({ "id": arrow.id, "status": stands.status, "clauses": clauses }));
    }
    let mut pending = Vec::new();
    for request in view.pending()? {
        pending.push(json!(Pending::new(
            &request,
            view.escalation_due(&request)?
        )));
    }
    let passes: Vec<_> = view
        .passes()?
        .into_iter()
        .map(|pass| {
            let (ended, recovered) = (pass.ended_at.is_empty(), pass.recovered_at.is_empty());
            json!([pass.pass_id, pass.status, pass.reason, ended, recovered])
        })
        .collect();
    let mut records = Vec::new();
    view.each_record(&Filter::default(), |row| {
        records.push(json!(LineObject(&row)));
        Ok::<_, DbError>(())
    })?;
    let findings = view.findings()?;
    Ok(json!({
        "arrows": arrows,
        "pending": pending,
        "passes": passes,
        "records": records,
        "findings": findings,
    }))
}

/// Files that are not what they were.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, now: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let mut changed = Vec::new();
    for path in before.keys().chain(now.keys()) {
        if before.get(path) != now.get(path) {
            changed.push(path.display().to_string());
        }
    }
    changed
}

/// Takes files over as git would that has no conflict: new ones, and such as
/// go on where those there end. Returns how many.
fn take(from: &Path, to: &Path) -> u32 {
    let mut came = 0;
    for (path, theirs) in fixture::files(from) {
        let to = to.join(path.strip_prefix(from).unwrap());
        let ours = fs::read(&to).unwrap_or_default();
        if theirs.len() > ours.len()
            && theirs.starts_with(&ours)
            && theirs.ends_with(b"\n")
            && fs::create_dir_all(to.parent().unwrap()).is_ok()
            && fs::write(&to, theirs).is_ok()
        {
            came += 1;
        }
    }
    came
}
