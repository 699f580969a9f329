//! One scenario: its project, its session, and what came of them.

use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use cucumber::World;
use ghyll::bus::{Bus, Event};
use ghyll::clock::SystemClock;
use ghyll::modal::ModalHint;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Session, SessionError};
use ghyll::store::disk::CapDisk;
use tempfile::TempDir;

use crate::desk::{Desk, Line};
use crate::grid::GridSketch;
use crate::journal::{Heard, Journal, WatchedDisk, listen};

#[derive(World)]
#[world(init = Self::new)]
pub struct Scene {
    dir: TempDir,
    pub grid: GridSketch,
    /// The newest grid on disk.
    pub version: u64,
    session: Option<Arc<Session>>,
    pub journal: Journal,
    /// The code the last thing tried failed with, and what it said.
    pub refusal: Option<(String, String)>,
    /// What was asked in the last turn, and whether it was an escalation.
    pub asked: Vec<(ModalHint, bool)>,
    /// What a program last said: exit status, stdout, stderr.
    pub said: Option<(i32, String, String)>,
    /// Bytes of the tree as they were when a scenario asked for them.
    pub before: Vec<(String, Vec<u8>)>,
    /// Whether the scenario broke the trail on purpose.
    pub broken: bool,
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
            grid: GridSketch::default(),
            version: 0,
            session: None,
            journal: Journal::default(),
            refusal: None,
            asked: Vec::new(),
            said: None,
            before: Vec::new(),
            broken: false,
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
        let session = Arc::new(Session::open_on(
            project,
            policy,
            clock,
            bus,
            Arc::new(disk),
        )?);
        self.journal.watch(&session);
        self.session = Some(session);
        Ok(())
    }

    /// Ends the session as a crash would: nothing is said or put in order.
    pub fn end(&mut self) {
        if let Some(session) = self.session.take() {
            let last = Arc::into_inner(session);
            assert!(last.is_some(), "somebody else holds the session");
        }
    }

    /// The session, started if need be.
    pub fn session(&mut self) -> Arc<Session> {
        if self.session.is_none() {
            self.start().expect("a session");
        }
        Arc::clone(self.session.as_ref().unwrap())
    }

    pub fn running(&self) -> Option<&Arc<Session>> {
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

    /// One turn: what is pending is asked, and answered from `lines`.
    pub fn turn(&mut self, lines: Vec<Line>) {
        let session = self.session();
        let mut desk = Desk::new(&session, lines);
        if self.journal.is_crashing() {
            // What is on disk then is what a crash leaves; the rest is thrown away.
            let crashed = catch_unwind(AssertUnwindSafe(|| session.drain_pending(&mut desk)));
            assert!(crashed.is_err(), "the session died");
            drop(session);
            self.end();
            return;
        }
        let drained = session.drain_pending(&mut desk);
        assert_eq!(desk.unused(), 0, "every answer was asked for");
        self.asked = desk.stub.asked;
        self.tried(drained.map_err(|e| (e.code().to_owned(), e.to_string())));
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
