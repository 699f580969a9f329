//! The lock a process holds while it writes to the project, and only then.
//!
//! It is the operating system's lock on `.ghyll/lock`, so it falls with the
//! process that holds it, however that ends. The file says who holds it, for
//! those who wait: one line of JSON. It says so for people only; nothing is
//! decided by it.
//!
//! A lock on a file that lost its name keeps nobody away. So the file that was
//! locked has to be the one with the name, in the `.ghyll` that has the name:
//! it is looked at again after locking, and by [`SessionLock::still_ours`]
//! before each write.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, Metadata};
use serde::{Deserialize, Serialize};

use super::alone::{self, Writing};
use super::{GHYLL_DIR, Project, ProjectError};
use crate::clock::{Clock, SystemClock};
use crate::files::disk::{DiskFile, Kind, meta_of, read_full};
use crate::files::{PathContext, Way, lacks_locks, open_below};

/// The file below `.ghyll`.
pub const LOCK_FILE: &str = "lock";
/// How long the lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two attempts. Short, for between two writes of a busy
/// process the lock is free for a moment only.
const PAUSE: Duration = Duration::from_millis(1);
/// The most that is read of what a holder wrote, in bytes.
const HOLDER_MAX: usize = 4096;
/// The most that is said of what a holder does, in characters.
const WHAT_MAX: usize = 200;

/// Who holds the lock. Taken from a file that anybody may write: to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The process, in the process table it lives in; 0 if it is not known.
    pub pid: u32,
    /// What it does, in words; empty if it is not known.
    pub what: String,
    /// Since when, RFC 3339; empty if it is not known.
    pub since: String,
}

impl Holder {
    /// This process, from now on.
    pub(super) fn of_this(what: &str) -> Self {
        Self {
            pid: std::process::id(),
            what: what.chars().take(WHAT_MAX).collect(),
            since: format!("{:.0}", SystemClock.now()),
        }
    }

    /// What the file says, one line of JSON or, before there was such, a pid.
    fn parse(bytes: &[u8]) -> Self {
        let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        if let Ok(pid) = serde_json::from_slice::<u32>(line) {
            return Self {
                pid,
                ..Self::default()
            };
        }
        serde_json::from_slice(line).unwrap_or_default()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("it does not say who")?,
            pid => write!(f, "pid {pid}")?,
        }
        if !self.what.is_empty() {
            write!(f, ", {}", self.what)?;
        }
        if !self.since.is_empty() {
            write!(f, ", since {}", self.since)?;
        }
        Ok(())
    }
}

/// The project is this process's to write to while this lives.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    project: Project,
    /// Where the operating system has no such lock.
    _alone: Option<Writing>,
}

impl Project {
    /// Takes the project to write to it, until the lock is dropped; `what` says
    /// to others why. Waits five seconds.
    ///
    /// # Errors
    /// `session-locked` with who holds it, `project-file-invalid`,
    /// `attestation-symlink-refused` and
    /// `session-lock-lost` for what stands in its place.
    pub fn lock(&self, what: &str) -> Result<SessionLock, ProjectError> {
        self.lock_within(what, PATIENCE)
    }

    /// As [`Self::lock`], with another patience; none is one attempt.
    ///
    /// # Errors
    /// As [`Self::lock`].
    pub fn lock_within(&self, what: &str, patience: Duration) -> Result<SessionLock, ProjectError> {
        crate::seam::step();
        let deadline = Instant::now() + patience;
        let next = self.queue(deadline - patience / 2);
        loop {
            // Opened anew each time: what has the name may be another file now.
            let file = open_own(self, LOCK_FILE, Way::Write)?;
            let alone = match file.try_lock() {
                Err(TryLockError::Error(e)) if lacks_locks(&e) => {
                    Ok(Some(self.alone.write(self, what, deadline)?))
                }
                other => other.map(|()| None),
            };
            let holder = match alone {
                Ok(_alone) => {
                    let lock = SessionLock {
                        file,
                        project: self.try_clone()?,
                        _alone,
                    };
                    match lock.still_ours() {
                        Ok(()) => {
                            drop(next);
                            sign(&lock.file, what);
                            crate::seam::step();
                            return Ok(lock);
                        }
                        // Exchanged between opening and locking.
                        Err(ProjectError::LockLost { path, .. })
                            if path == self.path_of(LOCK_FILE) =>
                        {
                            None
                        }
                        Err(e) => return Err(e),
                    }
                }
                Err(TryLockError::WouldBlock) => Some(file),
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(source)) => {
                    let path = self.path_of(LOCK_FILE);
                    return Err(super::PathError { path, source }.into());
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ProjectError::Locked(holder.and_then(read_holder)));
            }
            std::thread::sleep(PAUSE.min(left));
        }
    }

    /// Waits to be the next who may have the lock, so that a process that writes
    /// one record after the other stands in line with those that wait for one.
    /// It is a lock on `.ghyll` itself, so that no further file is needed, and a
    /// courtesy: who waited until `deadline`, since whoever is next was
    /// suspended, say, or cannot lock a folder here, tries without.
    fn queue(&self, deadline: Instant) -> Option<File> {
        let folder = self.ghyll.open_dir(".").ok()?.into_std_file();
        loop {
            match folder.try_lock() {
                Ok(()) => return Some(folder),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => return None,
            }
        }
    }

    /// Who writes to the project now, if anybody does. Never waits.
    pub fn locked_by(&self) -> Option<Holder> {
        let file = open_below(&self.ghyll, LOCK_FILE, Way::Read).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read_holder(file).unwrap_or_default()),
            Err(TryLockError::Error(e)) if lacks_locks(&e) => alone::holder(self),
            _ => None,
        }
    }
}

impl SessionLock {
    /// Whether the lock still keeps others away: to be asked right before
    /// anything is written.
    ///
    /// # Errors
    /// `session-lock-lost` if the lock file, or `.ghyll` itself, was removed or
    /// replaced; `project-unreadable`.
    pub fn still_ours(&self) -> Result<(), ProjectError> {
        let Project {
            root, ghyll: dir, ..
        } = &self.project;
        let ghyll = root.join(GHYLL_DIR);
        let own = dir.dir_metadata().context(&ghyll)?;
        let named = Dir::open_ambient_dir(root, cap_std::ambient_authority())
            .and_then(|root| root.symlink_metadata(GHYLL_DIR));
        same(&ghyll, named, &own)?;
        let path = ghyll.join(LOCK_FILE);
        let own = Metadata::from_file(&self.file).context(&path)?;
        same(&path, dir.symlink_metadata(LOCK_FILE), &own)?;
        self.project.alone.still_ours(&self.project)
    }
}

/// Says who holds a file's lock. Who cannot say so holds it all the same.
pub(super) fn sign(file: &File, what: &str) {
    let Ok(mut line) = serde_json::to_vec(&Holder::of_this(what)) else {
        return;
    };
    line.push(b'\n');
    // Written over what is there and then cut: a reader takes the first line,
    // and finds it whole.
    let _ = write_at_start(file, &line).and_then(|()| file.set_len(line.len() as u64));
}

/// Opens a file of ghyll's own, and says what stands there instead.
pub(super) fn open_own(project: &Project, below: &str, way: Way) -> Result<File, ProjectError> {
    let path = || project.path_of(below);
    match crate::files::below_kind(&project.ghyll, below) {
        Ok(Some(Kind::Symlink)) => return Err(ProjectError::Symlink(path())),
        Ok(Some(Kind::Dir)) => {
            return Err(ProjectError::NotAFile {
                path: path(),
                found: "a directory",
            });
        }
        Ok(Some(Kind::Other)) => {
            return Err(ProjectError::NotAFile {
                path: path(),
                found: "a pipe, socket or device",
            });
        }
        // What cannot be looked at cannot be opened either, and that says why.
        Ok(Some(Kind::File) | None) | Err(_) => {}
    }
    Ok(open_below(&project.ghyll, below, way).context(path())?)
}

/// Whether what has the name is what is held.
pub(super) fn same(
    path: &std::path::Path,
    named: io::Result<Metadata>,
    own: &Metadata,
) -> Result<(), ProjectError> {
    let lost = |why| ProjectError::LockLost {
        path: path.to_owned(),
        why,
    };
    match named {
        Ok(named) if meta_of(&named).id == meta_of(own).id => Ok(()),
        Ok(_) => Err(lost("somebody replaced it")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(lost("somebody removed it")),
        Err(source) => Err(super::PathError {
            path: path.to_owned(),
            source,
        }
        .into()),
    }
}

pub(super) fn read_holder(mut file: File) -> Option<Holder> {
    let mut bytes = vec![0; HOLDER_MAX];
    let file: &mut dyn DiskFile = &mut file;
    let read = read_full(file, 0, &mut bytes).ok()?;
    bytes.truncate(read);
    Some(Holder::parse(&bytes))
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_holder_wrote_is_read_and_what_it_did_not_write_is_tolerated() {
        let holder = Holder {
            pid: 7,
            what: "recording att-x".to_owned(),
            since: "2026-01-02T03:04:05Z".to_owned(),
        };
        let mut line = serde_json::to_vec(&holder).unwrap();
        line.extend(b"\nrest of a longer one\"}\n");
        assert_eq!(Holder::parse(&line), holder);
        assert_eq!(
            holder.to_string(),
            "pid 7, recording att-x, since 2026-01-02T03:04:05Z"
        );
        assert_eq!(Holder::parse(b"4711\n").pid, 4711);
        assert_eq!(Holder::parse(b"{\"pid\":3}").pid, 3);
        for garbage in [
            &b""[..],
            b"\n",
            b"\0\0\0",
            b"{\"pid\":-1}",
            b"[]",
            b"{\"pid\"",
            b"4294967296",
        ] {
            assert_eq!(Holder::parse(garbage), Holder::default());
        }
        assert_eq!(Holder::default().to_string(), "it does not say who");
    }
}
