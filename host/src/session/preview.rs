//! What the next start of a session would do, told without doing it.
//!
//! The start itself is run, on a copy of `.ghyll` in a temporary directory: so
//! the preview cannot say anything else than what will happen.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use super::{Session, SessionError};
use crate::bus::{Bus, Event};
use crate::clock::SystemClock;
use crate::engine::{ENGINE_DB, Pass, Request};
use crate::policy::Policy;
use crate::project::{GHYLL_DIR, Project};
use crate::store::disk::{CapDisk, Disk, Kind, read_full};
use crate::store::load::Notice;

/// What the next start would do.
#[derive(Debug, Default)]
pub struct Preview {
    /// Who has the project now; then there is nothing to recover.
    pub session: Option<u32>,
    /// Why a session would be refused.
    pub refusal: Option<SessionError>,
    /// What would be put right on tree, index and flat file.
    pub notices: Vec<Notice>,
    /// Verdicts in the tree that would now take effect: what was asked, and
    /// the record that answers it.
    pub replay: Vec<(Request, String)>,
    /// Requests that would be asked again.
    pub republish: Vec<Request>,
    /// Open passes in which nothing waits, that would be aborted.
    pub abort: Vec<Pass>,
}

/// What the next start would do. Changes nothing in the project.
///
/// # Errors
/// If the project cannot be copied; what the start would refuse is in the
/// answer.
pub fn preview(project: &Project, policy: Arc<Policy>) -> Result<Preview, SessionError> {
    if let Some(pid) = project.locked_by() {
        return Ok(Preview {
            session: Some(pid),
            ..Preview::default()
        });
    }
    let io = |(below, source): (String, io::Error)| SessionError::Io {
        path: project.path_of(&below),
        source,
    };
    let dir = tempfile::tempdir().map_err(|e| io((String::new(), e)))?;
    let disk = CapDisk::new(project.ghyll()).map_err(|e| io((String::new(), e)))?;
    let ghyll = dir.path().join(GHYLL_DIR);
    copy_dir(&disk, "", &ghyll).map_err(io)?;

    let heard = Arc::new(Mutex::new(Preview::default()));
    let bus = Arc::new(Bus::default());
    let ear = Arc::clone(&heard);
    bus.subscribe(move |event| {
        let mut heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::RecoveryAttestationReplay {
                request,
                attestation_id,
            } => heard.replay.push((request.clone(), attestation_id.clone())),
            Event::RecoveryAttestationRepublished(request) => heard.republish.push(request.clone()),
            Event::RecoveryPassAbortedCrash(pass) => heard.abort.push(pass.clone()),
            _ => {}
        }
    });
    let copy = Project::open(dir.path())?;
    let started = Session::open(copy, policy, Arc::new(SystemClock), bus);
    let mut preview = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    match started {
        Ok(session) => preview.notices = session.notices().to_vec(),
        Err(refusal) => preview.refusal = Some(refusal),
    }
    Ok(preview)
}

/// Copies a directory below `.ghyll`, times of change included. Links are
/// copied as links; what is neither file, directory nor link is stood for by
/// an empty directory, which is refused in the same places.
fn copy_dir(disk: &dyn Disk, from: &str, to: &Path) -> Result<(), (String, io::Error)> {
    let fail = |e| (from.to_owned(), e);
    fs::create_dir(to).map_err(fail)?;
    let mut entries = disk.list(from).map_err(fail)?;
    // The index before the tree, as everywhere: it may only be behind.
    entries.sort_by_key(|entry| !entry.name.starts_with(ENGINE_DB));
    for entry in entries {
        let below = match from {
            "" => entry.name.clone(),
            from => format!("{from}/{}", entry.name),
        };
        let to: PathBuf = to.join(&entry.name);
        let done = match entry.kind {
            Kind::Dir => {
                copy_dir(disk, &below, &to)?;
                Ok(())
            }
            Kind::File => copy_file(disk, &below, &to),
            Kind::Symlink => stand_in_link(&to),
            Kind::Other => fs::create_dir(&to),
        };
        done.map_err(|e| (below, e))?;
    }
    Ok(())
}

fn copy_file(disk: &dyn Disk, from: &str, to: &Path) -> io::Result<()> {
    let mut source = disk.open_read(from)?;
    let meta = source.meta()?;
    let mut target = File::create_new(to)?;
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    loop {
        let read = read_full(source.as_mut(), offset, &mut buffer)?;
        let piece = buffer.get(..read).unwrap_or_default();
        io::Write::write_all(&mut target, piece)?;
        offset += read as u64;
        if read < buffer.len() {
            break;
        }
    }
    let since = Duration::from_nanos(u64::try_from(meta.mtime_ns).unwrap_or(0));
    target.set_modified(UNIX_EPOCH + since)
}

/// A link that leads nowhere: where it led does not matter.
#[cfg(unix)]
fn stand_in_link(at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink("nowhere", at)
}

#[cfg(not(unix))]
fn stand_in_link(at: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file("nowhere", at)
}
