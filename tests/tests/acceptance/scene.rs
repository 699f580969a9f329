//! One scenario: its project, its session, and what came of them.

use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use cucumber::World;
use ghyll::bus::{Bus, Event};
use ghyll::clock::SystemClock;
use ghyll::files::disk::CapDisk;
use ghyll::modal::Attended;
use ghyll::modal::ModalHint;
use ghyll::policy::Policy;
use ghyll::project::{Project, SessionLock};
use ghyll::session::SessionError;
use ghyll_tests::survive::fixture::copy;
use tempfile::TempDir;

use crate::desk::{Desk, Line};
use crate::grid::GridSketch;
use crate::journal::{Heard, Journal, WatchedDisk, listen};

#[derive(World)]
#[world(init = Self::new)]
pub struct Scene {
    dir: TempDir,
    /// Sessions that died, as they were: nothing of theirs is put in order. What
    /// they had on disk at that moment lives on elsewhere.
    graves: Vec<(Arc<Attended>, TempDir)>,
    pub grid: GridSketch,
    /// Who sits down when the first session starts.
    pub op_id: Option<String>,
    /// The newest grid on disk.
    pub version: u64,
    session: Option<Arc<Attended>>,
    pub journal: Journal,
    /// The code the last thing tried failed with, and what it said.
    pub refusal: Option<(String, String)>,
    /// What was asked in the last turn, and whether it was an escalation.
    pub asked: Vec<(ModalHint, bool)>,
    /// What a program last said: exit status, stdout, stderr.
    pub said: Option<(i32, String, String)>,
    /// Bytes of the tree as they were when a scenario asked for them.
    pub before: Vec<(String, Vec<u8>)>,
    /// Whether a session died with a question on the screen.
    pub died: bool,
    /// Another session on the same project.
    pub second: Option<Attended>,
    /// Held by somebody who is in the middle of writing.
    pub lock: Option<SessionLock>,
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self
            .events()
            .iter()
            .map(|heard| heard.event.kind())
            .collect();
        f.debug_struct("Scene")
            .field("refusal", &self.refusal)
            .field("said", &self.said)
            .field("events", &kinds)
            .finish_non_exhaustive()
    }
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a directory"),
            graves: Vec::new(),
            grid: GridSketch::default(),
            op_id: None,
            version: 0,
            session: None,
            journal: Journal::default(),
            refusal: None,
            asked: Vec::new(),
            said: None,
            before: Vec::new(),
            died: false,
            second: None,
            lock: None,
        }
    }

    /// The project's directory.
    pub fn root(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// A path below the project's `.ghyll`.
    pub fn ghyll(&self, below: &str) -> PathBuf {
        self.dir.path().join(".ghyll").join(below)
    }

    /// Writes the grid as the next version and brings it into force, the way
    /// somebody with an editor would.
    pub fn write_grid(&mut self) {
        self.version += 1;
        let name = format!("grid.v{}.yaml", self.version);
        fs::create_dir_all(self.ghyll("")).unwrap();
        fs::write(self.ghyll(&name), self.grid.yaml(self.version)).unwrap();
        fs::write(self.ghyll("grid.current"), format!("v{}\n", self.version)).unwrap();
    }

    /// Starts a session on the project.
    pub fn start(&mut self) -> Result<(), SessionError> {
        assert!(self.session.is_none(), "the scenario has a session already");
        if self.version == 0 {
            self.write_grid();
        }
        let project = Project::open(&self.root())?;
        let disk = CapDisk::new(project.ghyll()).expect("a disk");
        let disk = WatchedDisk {
            disk,
            journal: self.journal.clone(),
        };
        let bus = Arc::new(Bus::default());
        listen(&bus, &self.journal, self.ghyll(""));
        let policy = Arc::new(Policy::load()?);
        let clock = Arc::new(SystemClock);
        let session = Arc::new(Attended::open_on(
            project,
            policy,
            clock,
            bus,
            Arc::new(disk),
        )?);
        self.journal.watch(&session);
        if let Some(op_id) = self.op_id.take() {
            session.set_op_id(Some(&op_id))?;
        }
        self.session = Some(session);
        Ok(())
    }

    /// Ends the session as a crash would: nothing is said or put in order, no
    /// destructor runs. The project goes on with the bytes that are on disk.
    pub fn end(&mut self) {
        let left = tempfile::tempdir().expect("a directory");
        copy(&self.root(), left.path());
        self.bury(left);
    }

    fn bury(&mut self, left: TempDir) {
        let dir = std::mem::replace(&mut self.dir, left);
        if let Some(session) = self.session.take() {
            self.graves.push((session, dir));
        }
    }

    /// The session, started if need be.
    pub fn session(&mut self) -> Arc<Attended> {
        if self.session.is_none() {
            self.start().expect("a session");
        }
        Arc::clone(self.session.as_ref().unwrap())
    }

    pub fn running(&self) -> Option<&Arc<Attended>> {
        self.session.as_ref()
    }

    /// Notes how something that was tried ended.
    pub fn tried<T>(&mut self, result: Result<T, (String, String)>) -> Option<T> {
        match result {
            Ok(value) => {
                self.refusal = None;
                Some(value)
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                None
            }
        }
    }

    /// What was to be given is so.
    pub fn expect_done(&self) {
        assert_eq!(self.refusal, None, "what is given went wrong");
    }

    /// The refusal, if it is another than this.
    pub fn refused_but_for(&self, code: &str) -> Option<&(String, String)> {
        self.refusal.as_ref().filter(|refusal| refusal.0 != code)
    }

    /// One turn: what is pending is asked, and answered from `lines`.
    pub fn turn(&mut self, lines: Vec<Line>) {
        if self.journal.is_crashing() {
            self.crashing(|session| {
                let _ = session.drain_pending(&mut Desk::new(session, lines));
            });
            return;
        }
        let session = self.session();
        let mut desk = Desk::new(&session, lines);
        let drained = session.drain_pending(&mut desk);
        assert_eq!(desk.unused(), 0, "every answer was asked for");
        self.asked = desk.stub.asked;
        self.tried(drained.map_err(|e| (e.code().to_owned(), e.to_string())));
    }

    /// Does what kills the session. What is on disk then is what a crash
    /// leaves; the rest of it is thrown away.
    pub fn crashing(&mut self, deadly: impl FnOnce(&Attended)) {
        let session = self.session();
        let left = tempfile::tempdir().expect("a directory");
        self.journal.leave(&self.root(), left.path());
        let died = catch_unwind(AssertUnwindSafe(|| deadly(&session)));
        assert!(died.is_err(), "the session died");
        let early = self.journal.is_crashing();
        assert!(!early, "it died of something else");
        self.died = true;
        drop(session);
        self.bury(left);
    }

    pub fn events(&self) -> Vec<Heard> {
        self.journal.events()
    }

    /// The ids of the passes opened so far, in order.
    pub fn passes(&self) -> Vec<String> {
        let opened = |heard: &Heard| match &heard.event {
            Event::PassOpened(pass) => Some(pass.pass_id.clone()),
            _ => None,
        };
        self.events().iter().filter_map(opened).collect()
    }

    /// A feature's words with `«pass»`, `«pass 2»`, … put in.
    pub fn resolve(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for (i, pass) in self.passes().iter().enumerate() {
            words = words.replace(&format!("«pass {}»", i + 1), pass);
            if i == 0 {
                words = words.replace("«pass»", pass);
            }
        }
        crate::desk::text(&words)
    }
}

/// An error as a code and words.
pub fn coded(error: SessionError) -> (String, String) {
    (error.code().to_owned(), error.to_string())
}
