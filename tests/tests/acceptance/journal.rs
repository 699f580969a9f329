//! What happened, in order: every event, and every call that makes bytes
//! durable, in one list, so that a scenario can say what came before what.
//!
//! The disk is the real one with an ear at it, and with faults on request.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ghyll::bus::Event;
use ghyll::files::disk::{Disk, DiskFile, Entry, Meta};
use ghyll::modal::Attended;
use ghyll_tests::survive::fixture::copy;

/// What events are called.
pub const KINDS: [&str; 17] = [
    "subject-changed",
    "clock-behind",
    "pass-opened",
    "pass-closed",
    "attestation-requested",
    "attestation-recorded",
    "clause-fail-verdict",
    "insufficient-basis-rounds-exceeded",
    "escalation-presented",
    "escalation-resolved",
    "modal-skipped",
    "modal-backpressure",
    "attestation-path-truncated",
    "attestation-audit-durability-failed",
    "recovery-attestation-republished",
    "recovery-attestation-replay",
    "recovery-pass-aborted-crash",
];

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Happened {
    /// Bytes were written to a file below `.ghyll`.
    Written(String),
    /// A file or directory below `.ghyll` was made durable.
    Durable(String),
    /// An event was published.
    Event(Box<Heard>),
}

/// An event, with what could be seen from outside when it was published.
#[derive(Debug, Clone)]
pub struct Heard {
    pub event: Event,
    /// For `attestation-recorded`: the last line of its file at that moment.
    pub line_on_disk: Option<String>,
    /// For `attestation-recorded`: where the arrow stood at that moment.
    pub arrow_status: Option<String>,
}

/// What the disk is to do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A write takes nothing.
    Full,
    /// A write takes half of the line.
    Short,
    /// The line is written but cannot be made durable.
    NoSync,
}

#[derive(Default)]
struct Kept {
    happened: Vec<Happened>,
    fault: Option<(Fault, String)>,
    session: Weak<Attended>,
    /// When the session dies, and from where to where the bytes are copied
    /// that it leaves.
    dies: Option<Death>,
    leaves: (PathBuf, PathBuf),
}

/// When a session dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// When an event of this kind is published.
    On(&'static str),
    /// When a line of the tree is durable, before anything is made of it.
    Durable,
}

/// The list, shared by everything that writes to it.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Kept>>);

impl Journal {
    pub fn events(&self) -> Vec<Heard> {
        let heard = |happened: &Happened| match happened {
            Happened::Event(heard) => Some((**heard).clone()),
            _ => None,
        };
        self.kept().happened.iter().filter_map(heard).collect()
    }

    pub fn all(&self) -> Vec<Happened> {
        self.kept().happened.clone()
    }

    /// Whose arrows are looked at when an event is heard.
    pub fn watch(&self, session: &Arc<Attended>) {
        self.kept().session = Arc::downgrade(session);
    }

    /// Files whose path contains `file` fail from now on.
    pub fn fail(&self, fault: Fault, file: &str) {
        self.kept().fault = Some((fault, file.to_owned()));
    }

    /// Has the session die.
    pub fn dies(&self, death: Death) {
        self.kept().dies = Some(death);
    }

    pub fn is_crashing(&self) -> bool {
        self.kept().dies.is_some()
    }

    /// Where the bytes are, and where they are copied when the session dies:
    /// what is written after that, while it unwinds, was never written.
    pub fn leave(&self, project: &Path, copy: &Path) {
        self.kept().leaves = (project.to_owned(), copy.to_owned());
    }

    fn die_if(&self, death: Death) {
        let now = self.kept().dies.take_if(|at| *at == death).is_some();
        if now {
            let (project, to) = self.kept().leaves.clone();
            copy(&project, &to);
            panic!("the session dies here");
        }
    }

    /// The session whose events are heard.
    pub fn session(&self) -> Option<Arc<Attended>> {
        self.kept().session.upgrade()
    }

    pub fn heal(&self) {
        self.kept().fault = None;
    }

    pub fn hear(&self, event: &Event, ghyll: &Path) {
        let mut heard = Heard {
            event: event.clone(),
            line_on_disk: None,
            arrow_status: None,
        };
        if let Event::AttestationRecorded(recorded) = event {
            let tree = ghyll.join("attestations").join(&recorded.row.path);
            let text = std::fs::read_to_string(tree).unwrap_or_default();
            heard.line_on_disk = text.lines().last().map(str::to_owned);
            let view = self
                .session()
                .map(|session| session.arrow_view(&recorded.row.rec.arrow_id));
            heard.arrow_status = view
                .and_then(Result::ok)
                .map(|view| view.status.as_str().to_owned());
        }
        assert!(KINDS.contains(&event.kind()), "{} is no kind", event.kind());
        self.note(Happened::Event(Box::new(heard)));
        self.die_if(Death::On(event.kind()));
    }

    fn note(&self, happened: Happened) {
        self.kept().happened.push(happened);
    }

    fn fault(&self, path: &str) -> Option<Fault> {
        let kept = self.kept();
        let (fault, file) = kept.fault.as_ref()?;
        path.contains(file).then_some(*fault)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A disk with an ear at it.
pub struct WatchedDisk {
    pub disk: ghyll::files::disk::CapDisk,
    pub journal: Journal,
}

struct WatchedFile {
    file: Box<dyn DiskFile>,
    path: String,
    journal: Journal,
}

impl WatchedDisk {
    fn watched(&self, path: &str, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(WatchedFile {
            file,
            path: path.to_owned(),
            journal: self.journal.clone(),
        })
    }
}

impl Disk for WatchedDisk {
    fn meta(&self, path: &str) -> io::Result<Option<Meta>> {
        self.disk.meta(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(dir)
    }

    fn list_meta(&self, dir: &str) -> io::Result<Vec<(Entry, io::Result<Meta>)>> {
        self.disk.list_meta(dir)
    }

    fn is_empty(&self, dir: &str) -> io::Result<bool> {
        self.disk.is_empty(dir)
    }

    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.sync_all()
    }

    fn create_new(&self, path: &str, like: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.watched(path, self.disk.create_new(path, like)?))
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.sync_dir(dir)?;
        self.journal.note(Happened::Durable(format!("{dir}/")));
        Ok(())
    }

    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.watched(path, self.disk.open_append(path)?))
    }

    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.watched(path, self.disk.create_append(path)?))
    }

    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.watched(path, self.disk.open_read(path)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_dir_all(&self, dir: &str) -> io::Result<()> {
        self.disk.remove_dir_all(dir)
    }
}

impl DiskFile for WatchedFile {
    fn meta(&self) -> io::Result<Meta> {
        self.file.meta()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let some = match self.journal.fault(&self.path) {
            Some(Fault::Full) => return Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Short) => bytes.len() / 2,
            _ => bytes.len(),
        };
        let written = self.file.write(&bytes[..some])?;
        self.journal.note(Happened::Written(self.path.clone()));
        Ok(written)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.journal.fault(&self.path) == Some(Fault::NoSync) {
            return Err(io::Error::other("the medium does not answer"));
        }
        self.file.sync()?;
        self.journal.note(Happened::Durable(self.path.clone()));
        if self.path.starts_with("attestations/") {
            self.journal.die_if(Death::Durable);
        }
        Ok(())
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}

/// Has everything on `bus` heard.
pub fn listen(bus: &ghyll::bus::Bus, journal: &Journal, ghyll: PathBuf) {
    let journal = journal.clone();
    bus.subscribe(move |event| journal.hear(event, &ghyll));
}
