//! Two at once, step by step: one process does something, and between each two
//! of its steps another does the whole of something else.
//!
//! The steps are ghyll's own (`ghyll::seam`): before each call to the disk,
//! each transaction, the taking of the lock and after its release. The one is a
//! session in this process, the other the binary. Where the first holds the
//! lock the second has to wait; it is let go first as soon as the lock is free.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ghyll::grid::Grid;
use ghyll::modal::{
    Attended, EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, VerdictAnswer,
};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::seam;
use ghyll::session::{Submission, Via};
use ghyll::view::View;
use ghyll::work::Verdict;

use super::crowd::STUCK;
use super::judge;
use super::table::{make, text_of};
use crate::survive::fixture;

/// What the one does that is looked at step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum One {
    /// Is shown a question, thinks, and answers it.
    Answers,
    /// Records a verdict on what may have been decided already.
    Attests,
    /// Dispatches an arrow that has a command.
    Dispatches,
    /// Starts on a project that a dead session left in the middle of things.
    Recovers,
    /// Brings a grid into force.
    ChangesGrid,
}

/// What the other does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// Attests the same clause.
    AttestsTheSame,
    /// Attests another clause.
    AttestsAnother,
    /// Dispatches the same arrow.
    Dispatches,
    /// Ends the open pass.
    Aborts,
    /// Makes the index anew.
    Rebuilds,
    /// Brings a grid into force.
    ChangesGrid,
    /// Asks where things stand.
    Reads,
}

/// All of either.
pub const ONES: [One; 5] = [
    One::Answers,
    One::Attests,
    One::Dispatches,
    One::Recovers,
    One::ChangesGrid,
];
/// All of either.
pub const OTHERS: [Other; 7] = [
    Other::AttestsTheSame,
    Other::AttestsAnother,
    Other::Dispatches,
    Other::Aborts,
    Other::Rebuilds,
    Other::ChangesGrid,
    Other::Reads,
];

/// What it came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Stepped {
    /// Pairs of doings.
    pub pairs: u64,
    /// Steps at which the other came between.
    pub steps: u64,
    /// Of them, with the lock held by the one.
    pub held: u64,
    /// Times the one was refused, as it has to be.
    pub refused: u64,
}

const ARROW: &str = "A-bank";

/// Has each other come between the steps of each one: at every `stride`th.
///
/// # Panics
/// If anything is not as it has to be.
pub fn campaign(program: &Path, ones: &[One], others: &[Other], stride: usize) -> Stepped {
    let policy = Arc::new(Policy::load().unwrap());
    let mut total = Stepped::default();
    for one in ones.iter().copied() {
        let origin = fixture::scratch();
        prepare(program, origin.path(), &policy, one);
        for other in others.iter().copied() {
            total.pairs += 1;
            let mut n = (total.pairs as usize) % stride;
            loop {
                let dir = fixture::scratch();
                fixture::copy(origin.path(), dir.path());
                let case = Case {
                    program,
                    dir: dir.path(),
                    policy: &policy,
                    what: format!("{one:?}, {other:?} at step {n}"),
                };
                if !case.play(one, other, n, &mut total) {
                    break;
                }
                total.steps += 1;
                n += stride;
            }
        }
    }
    total
}

/// A project in which something is asked; nobody is at it any more.
fn prepare(program: &Path, dir: &Path, policy: &Arc<Policy>, one: One) {
    let made = fixture::scratch();
    make(program, made.path());
    let session = fixture::open(made.path(), policy).unwrap();
    if one != One::Dispatches {
        session.dispatch(ARROW).unwrap();
    }
    // As its process left it that died just now.
    fixture::copy(made.path(), dir);
    drop(session);
}

struct Case<'a> {
    program: &'a Path,
    dir: &'a Path,
    policy: &'a Arc<Policy>,
    what: String,
}

impl Case<'_> {
    /// Whether there is a step `n`.
    fn play(&self, one: One, other: Other, n: usize, total: &mut Stepped) -> bool {
        // Who recovers is looked at from the start of the session on.
        let before = (one != One::Recovers).then(|| fixture::open(self.dir, self.policy).unwrap());
        let meanwhile = Rc::new(RefCell::new(Meanwhile::new(self, one, other, n)));
        let hook = Rc::clone(&meanwhile);
        let done = seam::each_step(
            move || hook.borrow_mut().step(),
            || self.do_one(one, before.as_ref()),
        );
        drop(before);
        let mut meanwhile = meanwhile.borrow_mut();
        let came = meanwhile.running.is_some() || meanwhile.ended.is_some();
        meanwhile.join(&self.what);
        if came {
            total.held += u64::from(meanwhile.held);
            meanwhile.judge(&self.what);
        }
        if let Err(code) = &done {
            total.refused += 1;
            let expected: &[&str] = match one {
                One::Answers => &["modal-left"],
                One::Attests => &["attestation-no-pass-for-ref"],
                One::Dispatches | One::Recovers => &[],
                One::ChangesGrid => &[],
            };
            assert!(expected.contains(&code.as_str()), "{}: {code}", self.what);
        }
        self.still(&done);
        came
    }

    /// The one's doing: the record it made, if it did, or why it was refused.
    fn do_one(&self, one: One, session: Option<&Attended>) -> Result<Option<String>, String> {
        let refused = |e: ghyll::session::SessionError| e.code().to_owned();
        match (one, session) {
            (One::Answers, Some(session)) => {
                let mut prompt = Person::default();
                session.set_op_id(Some("alice")).map_err(refused)?;
                let drained = session.drain_pending(&mut prompt);
                drained.map_err(|e| e.code().to_owned())?;
                Ok(None)
            }
            (One::Attests, Some(session)) => {
                let submission = passes("t1@any@");
                let attested = session.attest("A-bank/C1", &submission, "alice");
                let attested = attested.map_err(refused)?;
                let rec = &attested.recorded.row.rec;
                if let Some(before) = attested.replaces {
                    assert_eq!(
                        before.round + 1,
                        attested.recorded.row.round,
                        "{}",
                        self.what
                    );
                }
                Ok(Some(rec.attestation_id.clone()))
            }
            (One::Dispatches, Some(session)) => {
                session.dispatch(ARROW).map_err(refused)?;
                Ok(None)
            }
            (One::Recovers, _) => {
                drop(fixture::open(self.dir, self.policy).map_err(refused)?);
                Ok(None)
            }
            (One::ChangesGrid, _) => {
                let project = Project::open(self.dir).unwrap();
                let _lock = project.lock("grid next").unwrap();
                let text = text_of(1001);
                Grid::next(project.ghyll(), &text, Path::new("next.yaml")).unwrap();
                Ok(None)
            }
            (one, None) => panic!("{one:?} has no session"),
        }
    }

    /// What has to be true when both are done.
    fn still(&self, done: &Result<Option<String>, String>) {
        let lines = judge::lines(self.dir);
        judge::meant(&lines);
        if let Ok(Some(id)) = done {
            let there = lines
                .iter()
                .filter(|line| line.text("attestation_id") == id);
            assert_eq!(there.count(), 1, "{}: {id}", self.what);
        }
        // Whoever comes next finds everything, and what is asked is asked.
        let session =
            fixture::open(self.dir, self.policy).unwrap_or_else(|e| panic!("{}: {e}", self.what));
        let grid = session.grid();
        let open = session.read(|reader| reader.open_passes()).unwrap();
        for pass in &open {
            let known: BTreeSet<u64> = Grid::versions(session.project().ghyll())
                .unwrap()
                .into_iter()
                .collect();
            assert!(
                known.contains(&pass.grid_version),
                "{}: {pass:?}",
                self.what
            );
        }
        let mut turns = 0;
        loop {
            turns += 1;
            assert!(turns < 20, "{}: it never ends", self.what);
            for asked in session.pending().unwrap() {
                let submission = passes(&format!("t{turns}-{}@any@", asked.attestation_ref));
                session
                    .attest(&asked.attestation_ref, &submission, "erin")
                    .unwrap_or_else(|e| panic!("{}: {e}", self.what));
            }
            let dispatched = session.dispatch(ARROW);
            let dispatched = dispatched.unwrap_or_else(|e| panic!("{}: {e}", self.what));
            assert_eq!(dispatched.arrow, *grid.arrow(ARROW).unwrap());
            if dispatched.stands.status.as_str() == "complete" {
                break;
            }
        }
        assert_eq!(session.pending().unwrap(), [], "{}", self.what);
        drop(session);
        let report = fixture::look(self.dir, self.policy);
        assert!(report.ok, "{}: {:#?}", self.what, report.issues);
        assert_eq!(report.tree.records, report.index.records, "{}", self.what);
        let view = View::open(Project::open(self.dir).unwrap(), Arc::clone(self.policy)).unwrap();
        assert_eq!(view.counts().unwrap().passes.open, 0, "{}", self.what);
        let overlaps = self.dir.join(super::table::OVERLAPS);
        assert!(!overlaps.exists(), "{}: run beside itself", self.what);
    }
}

fn passes(note: &str) -> Submission {
    Submission {
        verdict: Verdict::Pass,
        residue: note.to_owned(),
        via: Via::Command,
        ..Submission::default()
    }
}

/// Answers what it is shown, and says what it was shown.
#[derive(Default)]
struct Person {
    asked: u32,
}

impl OperatorModalPrompt for Person {
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        // Thinking is a step.
        seam::step();
        self.asked += 1;
        if self.asked > 8 {
            return Err(ModalError::Left);
        }
        let name = &hint.hint.attestation_ref;
        let meant = match hint.request.round {
            1 => name.clone(),
            round => format!("{name}.r{round}"),
        };
        Ok(VerdictAnswer::Submit(passes(&format!(
            "p{}@{meant}@",
            self.asked
        ))))
    }

    fn present_escalation(&mut self, _: &ModalHint) -> Result<EscalationChoice, ModalError> {
        Err(ModalError::Left)
    }
}

/// The other, who comes at one step.
struct Meanwhile {
    command: Command,
    other: Other,
    waits: bool,
    left: usize,
    project: Project,
    running: Option<Running>,
    ended: Option<(Option<i32>, String)>,
    held: bool,
}

struct Running {
    child: Child,
    err: Receiver<String>,
    said: String,
}

impl Meanwhile {
    fn new(case: &Case<'_>, one: One, other: Other, left: usize) -> Self {
        let next = case.dir.join("next.yaml");
        let mut command = Command::new(case.program);
        match other {
            Other::AttestsTheSame => command.args(["attest", "A-bank/C1", "fail"]).args([
                "--keep",
                "--inspected",
                "t2@any@:1",
                "--op-id",
                "bob",
            ]),
            Other::AttestsAnother => command
                .args(["attest", "A-bank/C2", "insufficient-basis"])
                .args(["--residue", "t3@any@", "--op-id", "bob"]),
            Other::Dispatches => command.args(["dispatch", ARROW]),
            Other::Aborts => {
                let view =
                    View::open(Project::open(case.dir).unwrap(), Arc::clone(case.policy)).unwrap();
                let open = view.read(|reader| reader.open_passes()).unwrap();
                let id = open.first().map_or("none", |pass| pass.pass_id.as_str());
                command.args(["pass", "abort", id, "--reason", "by mistake"])
            }
            Other::Rebuilds => command.args(["engine", "rebuild-index"]),
            Other::ChangesGrid => {
                std::fs::write(&next, text_of(1000)).unwrap();
                command.args(["grid", "next"]).arg(next)
            }
            Other::Reads => command.args(["status", "--json"]),
        };
        command
            .current_dir(case.dir)
            .env_remove("GHYLL_OP_ID")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Self {
            command,
            other,
            // Who reads waits for nobody, but for a grid that is on its way.
            waits: other != Other::Reads || one == One::ChangesGrid,
            left,
            project: Project::open(case.dir).unwrap(),
            running: None,
            ended: None,
            held: false,
        }
    }

    fn step(&mut self) {
        if self.running.is_some() {
            self.settle();
            return;
        }
        if self.ended.is_some() {
            return;
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                let mut child = self.command.spawn().unwrap();
                let err = hear(&mut child);
                self.running = Some(Running {
                    child,
                    err,
                    said: String::new(),
                });
                self.held = self.we_hold();
                self.settle();
            }
        }
    }

    fn we_hold(&self) -> bool {
        let holder = self.project.locked_by();
        holder.is_some_and(|holder| holder.pid == std::process::id())
    }

    /// Waits until the other has done, or waits itself for the one.
    fn settle(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        let began = Instant::now();
        loop {
            running.said.extend(running.err.try_iter());
            if let Some(status) = running.child.try_wait().unwrap() {
                running.said.extend(running.err.iter());
                self.ended = Some((status.code(), std::mem::take(&mut running.said)));
                self.running = None;
                return;
            }
            let joins = running.said.contains("is being run already");
            let holder = self.project.locked_by();
            let kept_out =
                self.waits && holder.is_some_and(|holder| holder.pid == std::process::id());
            if joins || kept_out {
                return;
            }
            assert!(
                began.elapsed() < STUCK,
                "{:?} is stuck: {}",
                self.other,
                running.said
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end of the other, now that the one is done.
    fn join(&mut self, what: &str) {
        if let Some(mut running) = self.running.take() {
            let status = running.child.wait().unwrap();
            running.said.extend(running.err.iter());
            self.ended = Some((status.code(), running.said));
        }
        if let Some((code, said)) = &self.ended {
            assert!(
                code.is_some() && !said.contains("panicked"),
                "{what}: {said}"
            );
        }
    }

    fn judge(&self, what: &str) {
        let Some((code, said)) = &self.ended else {
            return;
        };
        let refused = super::crowd::codes(said);
        let expected: &[&str] = match self.other {
            Other::AttestsTheSame | Other::AttestsAnother => &["attestation-no-pass-for-ref"],
            Other::Aborts => &["pass-not-open", "pass-unknown"],
            _ => &[],
        };
        let fine = refused.iter().all(|code| expected.contains(&code.as_str()));
        assert!(fine, "{what}: {code:?}: {said}");
        assert!(
            matches!(code, Some(0 | 1)) || !refused.is_empty(),
            "{what}: {code:?}: {said}"
        );
    }
}

fn hear(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let err = super::crowd::read_chunks(child.stderr.take().unwrap(), move |bytes| {
        let _ = sender.send(String::from_utf8_lossy(bytes).into_owned());
    });
    drop(err);
    receiver
}
