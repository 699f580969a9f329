//! The fault campaign: every single call to the file system fails once, on the
//! way of a record and at the start of a session.
//!
//! The real disk is wrapped; the n-th call fails, for every n there is, each
//! in several ways: not at all done, half done, done and then reported as
//! failed, and with the next calls (those that would clean up) failing too.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use ghyll::files::disk::{CapDisk, Disk, DiskFile, Entry, Meta};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::Session;

use super::Dice;
use super::fixture::{self, ARROW};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Nothing of it is done.
    NotDone,
    /// A write is half done, and says so; anything else is not done.
    Short,
    /// A write is half done and fails; anything else is not done.
    Torn,
    /// It is done, and reported as failed.
    Done,
}

/// All of them.
pub const WAYS: [How; 4] = [How::NotDone, How::Short, How::Torn, How::Done];

/// What a campaign came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Faulted {
    /// Faults made.
    pub faults: u64,
    /// Of them, on the way of a record.
    pub recording: u64,
    /// Of them, at the start of a session.
    pub starting: u64,
    /// Records refused, none of which left a trace.
    pub refused: u64,
    /// Records taken all the same, all of which are there.
    pub taken: u64,
}

#[derive(Debug)]
struct Plan {
    /// Calls until the fault; negative: none is planned.
    left: AtomicI64,
    /// How many calls fail from then on.
    last: AtomicI64,
    how: Mutex<How>,
}

impl Plan {
    fn none() -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(-1),
            last: AtomicI64::new(0),
            how: Mutex::new(How::NotDone),
        })
    }

    fn arm(&self, after: i64, count: i64, how: How) {
        *self.how.lock().unwrap() = how;
        self.last.store(count, Ordering::SeqCst);
        self.left.store(after, Ordering::SeqCst);
    }

    /// Whether the fault was made; none is planned after this.
    fn disarm(&self) -> bool {
        self.left.swap(-1, Ordering::SeqCst) < 0
    }

    fn due(&self) -> Option<How> {
        if self.left.load(Ordering::SeqCst) < 0 && self.last.load(Ordering::SeqCst) <= 0 {
            return None;
        }
        if self.left.load(Ordering::SeqCst) > 0 {
            self.left.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        self.left.store(-1, Ordering::SeqCst);
        let left = self.last.fetch_sub(1, Ordering::SeqCst);
        (left > 0).then(|| *self.how.lock().unwrap())
    }

    fn call<T>(&self, real: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.due() {
            None => real(),
            Some(How::Done) => {
                let _ = real();
                Err(fault())
            }
            Some(_) => Err(fault()),
        }
    }
}

fn fault() -> io::Error {
    // EIO.
    io::Error::from_raw_os_error(5)
}

/// A disk on which calls fail as planned.
struct FaultyDisk {
    real: CapDisk,
    plan: Arc<Plan>,
}

struct FaultyFile {
    real: Box<dyn DiskFile>,
    plan: Arc<Plan>,
}

impl FaultyDisk {
    fn file(&self, real: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FaultyFile {
            real,
            plan: Arc::clone(&self.plan),
        })
    }
}

impl Disk for FaultyDisk {
    fn meta(&self, path: &str) -> io::Result<Option<Meta>> {
        self.plan.call(|| self.real.meta(path))
    }
    fn list(&self, dir: &str) -> io::Result<Vec<Entry>> {
        self.plan.call(|| self.real.list(dir))
    }
    fn list_meta(&self, dir: &str) -> io::Result<Vec<(Entry, io::Result<Meta>)>> {
        self.plan.call(|| self.real.list_meta(dir))
    }
    fn is_empty(&self, dir: &str) -> io::Result<bool> {
        self.plan.call(|| self.real.is_empty(dir))
    }
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.plan.call(|| self.real.create_dir(dir))
    }
    fn sync_all(&self) -> io::Result<()> {
        self.plan.call(|| self.real.sync_all())
    }
    fn create_new(&self, path: &str, like: &str) -> io::Result<Box<dyn DiskFile>> {
        let real = self.plan.call(|| self.real.create_new(path, like))?;
        Ok(self.file(real))
    }
    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.plan.call(|| self.real.remove_file(path))
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.plan.call(|| self.real.sync_dir(dir))
    }
    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let real = self.plan.call(|| self.real.create_append(path))?;
        Ok(self.file(real))
    }
    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let real = self.plan.call(|| self.real.open_append(path))?;
        Ok(self.file(real))
    }
    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let real = self.plan.call(|| self.real.open_read(path))?;
        Ok(self.file(real))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.plan.call(|| self.real.rename(from, to))
    }
    fn remove_dir_all(&self, dir: &str) -> io::Result<()> {
        self.plan.call(|| self.real.remove_dir_all(dir))
    }
}

impl DiskFile for FaultyFile {
    fn meta(&self) -> io::Result<Meta> {
        self.plan.call(|| self.real.meta())
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let real = &mut self.real;
        self.plan.call(|| real.read_at(offset, buffer))
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let half = &bytes[..bytes.len() / 2];
        match self.plan.due() {
            None => self.real.write(bytes),
            Some(How::NotDone) => Err(fault()),
            Some(How::Short) => self.real.write(half),
            Some(How::Torn) => {
                self.real.write(half)?;
                Err(fault())
            }
            Some(How::Done) => {
                self.real.write(bytes)?;
                Err(fault())
            }
        }
    }
    fn sync(&mut self) -> io::Result<()> {
        let real = &mut self.real;
        self.plan.call(|| real.sync())
    }
    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        let real = &mut self.real;
        self.plan.call(|| real.set_len(bytes))
    }
}

fn faulty(dir: &Path, plan: &Arc<Plan>) -> Arc<dyn Disk> {
    let project = Project::open(dir).unwrap();
    Arc::new(FaultyDisk {
        real: CapDisk::new(project.ghyll()).unwrap(),
        plan: Arc::clone(plan),
    })
}

/// Runs the whole campaign: every call, in every one of `ways`, alone and with
/// `more` calls after it failing too.
///
/// # Panics
/// If anything is not as it has to be.
pub fn campaign(ways: &[How], more: &[i64]) -> Faulted {
    let policy = Arc::new(Policy::load().unwrap());
    let mut total = Faulted::default();
    for how in ways.iter().copied() {
        for count in more.iter().map(|more| more + 1) {
            for first in [true, false] {
                recording(&policy, how, count, first, &mut total);
            }
        }
        for count in more.iter().map(|more| more + 1) {
            starting(&policy, how, count, &mut total);
        }
    }
    total
}

/// Faults on the way of a record: the first of its file, or a later one.
fn recording(policy: &Arc<Policy>, how: How, count: i64, first: bool, total: &mut Faulted) {
    for n in 0.. {
        let scratch = fixture::scratch();
        let dir = scratch.path();
        fixture::make(dir);
        let plan = Plan::none();
        let session = fixture::open_on(dir, policy, faulty(dir, &plan)).unwrap();
        session.dispatch(ARROW).unwrap();
        let mut dice = Dice::new(7);
        if !first {
            fixture::attest(&session, &mut dice).unwrap();
        }
        let before = state(dir, &session);

        plan.arm(n, count, how);
        let result = fixture::attest(&session, &mut dice);
        let made = plan.disarm();
        plan.last.store(0, Ordering::SeqCst);
        if !made {
            assert!(result.is_ok(), "no fault, and yet {:?}", result.err());
            return;
        }
        total.faults += 1;
        total.recording += 1;
        let what = format!("call {n} and {} more: {how:?}, first: {first}", count - 1);
        match &result {
            Err(e) => {
                total.refused += 1;
                // Accepted losses and the tree are looked at before it is written to.
                let codes = [
                    "attestation-audit-write-failed",
                    "attestation-audit-unreadable",
                    "project-unreadable",
                ];
                assert!(codes.contains(&e.code()), "{what}: {e}");
                let after = state(dir, &session);
                assert_eq!(after.rows, before.rows, "{what}");
                assert_eq!(after.flat, before.flat, "{what}");
                assert_eq!(after.pending, before.pending, "{what}");
            }
            Ok(recorded) => {
                total.taken += 1;
                let lines = fixture::tree_lines(dir);
                assert_eq!(lines.get(&recorded.line), Some(&1), "{what}");
            }
        }
        // The next verdict lands on a line of its own.
        let next = fixture::attest(&session, &mut dice).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(fixture::tree_lines(dir).get(&next.line), Some(&1), "{what}");
        let expected = before.rows + 1 + u64::from(result.is_ok());
        assert_eq!(state(dir, &session).rows, expected, "{what}");
        drop(session);
        drop(fixture::open(dir, policy).unwrap());
        let report = fixture::assert_clean(dir, policy);
        assert_eq!(report.tree.records, expected, "{what}");
    }
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    rows: u64,
    flat: Option<Vec<u8>>,
    pending: usize,
}

fn state(dir: &Path, session: &Session) -> State {
    State {
        rows: session.read(|reader| reader.row_count()).unwrap(),
        flat: std::fs::read(dir.join(".ghyll/attestations.jsonl")).ok(),
        pending: session.pending().unwrap().len(),
    }
}

/// Faults at the start of a session that has everything to put right: a
/// partial line, an index and a flat file that are behind.
fn starting(policy: &Arc<Policy>, how: How, count: i64, total: &mut Faulted) {
    let origin = fixture::scratch();
    fixture::make(origin.path());
    let session = fixture::open(origin.path(), policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut dice = Dice::new(11);
    for _ in 0..2 {
        fixture::attest(&session, &mut dice).unwrap();
    }
    let db = origin.path().join(".ghyll/engine.db");
    let old = std::fs::read(&db).unwrap();
    for _ in 0..2 {
        fixture::attest(&session, &mut dice).unwrap();
    }
    drop(session);
    std::fs::write(&db, old).unwrap();
    let flat = origin.path().join(".ghyll/attestations.jsonl");
    let whole = std::fs::read(&flat).unwrap();
    std::fs::write(&flat, &whole[..whole.len() - 700]).unwrap();
    let (path, mut bytes) = fixture::tree(origin.path()).into_iter().next().unwrap();
    let partial = bytes[..300].to_vec();
    bytes.extend(partial);
    std::fs::write(&path, bytes).unwrap();

    for n in 0.. {
        let scratch = fixture::scratch();
        let dir = scratch.path();
        fixture::copy(origin.path(), dir);
        let plan = Plan::none();
        plan.arm(n, count, how);
        let started = fixture::open_on(dir, policy, faulty(dir, &plan));
        let made = plan.disarm();
        let ok = started.is_ok();
        drop(started);
        if !made {
            assert!(ok);
            return;
        }
        total.faults += 1;
        total.starting += 1;
        // Whatever became of it, the next start puts everything right.
        drop(fixture::open(dir, policy).unwrap_or_else(|e| panic!("call {n}, {how:?}: {e}")));
        let report = fixture::assert_clean(dir, policy);
        assert_eq!(report.tree.records, 4, "call {n}, {how:?}");
    }
}
