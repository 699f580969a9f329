//! Who lives: a process that may have something pending in the project holds a
//! lock on a file of its own, `.ghyll/sessions/<id>`, for as long as it lives.
//!
//! The lock tells, not the file and not a pid: it falls when the process ends
//! however it ends, and no sooner (one that is stopped holds it). Pids are used
//! again and mean nothing in another container; a file that was copied or
//! restored with the project is not locked, so it stands for nobody. Asking
//! takes the lock for a moment, shared, so that two who ask do not take each
//! other for the one who lives.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, DirBuilder, Metadata};

use super::lock::{open_own, read_holder, same, sign};
use super::{Holder, Project, ProjectError, SessionLock};
use crate::files::disk::Kind;
use crate::files::{PathContext, Way, below_kind, lacks_locks};

/// The directory below `.ghyll`.
pub const SESSIONS_DIR: &str = "sessions";
/// Longer than any id, a UUID, needs to be.
const ID_MAX: usize = 64;
/// How long a file of one's own is tried to be locked: those who ask hold it
/// for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// This process lives, as far as the project is concerned, while this does.
#[derive(Debug)]
pub struct Presence {
    id: String,
    project: Project,
    file: File,
}

impl Presence {
    /// Makes the file of `id` and locks it. `id` must be one that no process
    /// ever had, and is known to nobody before this returns.
    ///
    /// # Errors
    /// `session-id-invalid` if it cannot be a file's name or is taken,
    /// `project-file-invalid`, `attestation-symlink-refused`, `project-unreadable`.
    pub fn register(project: &Project, id: &str) -> Result<Self, ProjectError> {
        let below = path(id)?;
        make_dir(project)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            if below_kind(project.ghyll(), &below)
                .context(project.path_of(&below))?
                .is_some()
            {
                return Err(ProjectError::SessionId { id: id.to_owned() });
            }
            let file = open_own(project, &below, Way::CreateNew)?;
            let presence = Self {
                id: id.to_owned(),
                project: project.try_clone()?,
                file,
            };
            match presence.lock(deadline) {
                // Swept away by somebody who found it before it was locked.
                Ok(()) if presence.still_ours().is_err() && Instant::now() < deadline => {}
                Ok(()) => {
                    presence.still_ours()?;
                    sign(&presence.file, "");
                    return Ok(presence);
                }
                Err(e) if lacks_locks(&e) && project.alone.begin(id) => return Ok(presence),
                Err(source) => {
                    let path = project.path_of(&below);
                    return Err(super::PathError { path, source }.into());
                }
            }
        }
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether others can still see that this process lives.
    ///
    /// # Errors
    /// `session-lock-lost` if its file was removed or replaced: then what is
    /// this session's may be taken for a dead one's, and it has to register
    /// anew, under another id.
    pub fn still_ours(&self) -> Result<(), ProjectError> {
        let below = format!("{SESSIONS_DIR}/{}", self.id);
        let path = self.project.path_of(&below);
        let own = Metadata::from_file(&self.file).context(&path)?;
        let named = sessions(&self.project).and_then(|dir| dir.symlink_metadata(&self.id));
        same(&path, named, &own)
    }

    /// Whether the process that registered as `id` lives. One whose file may
    /// not be opened by this user counts as living, for nobody can tell.
    ///
    /// # Errors
    /// `session-id-invalid`, `project-unreadable`; `project-file-invalid` or `attestation-symlink-refused` where something
    /// else stands in the file's place.
    pub fn is_alive(project: &Project, id: &str) -> Result<bool, ProjectError> {
        let below = path(id)?;
        if below_kind(project.ghyll(), &below)
            .context(project.path_of(&below))?
            .is_none()
        {
            return Ok(false);
        }
        let file = match open_own(project, &below, Way::Read) {
            Ok(file) => file,
            Err(ProjectError::Io(e)) if e.source.kind() == io::ErrorKind::NotFound => {
                return Ok(false);
            }
            Err(ProjectError::Io(e)) if e.source.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(true);
            }
            Err(e) => return Err(e),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(e)) if lacks_locks(&e) => Ok(project.alone.lives(project, id)),
            Err(TryLockError::Error(source)) => {
                let path = project.path_of(&below);
                Err(super::PathError { path, source }.into())
            }
        }
    }

    /// Which process registered as `id`, and when, as it says itself: for
    /// people, nothing is decided by it.
    pub fn who(project: &Project, id: &str) -> Option<Holder> {
        let file = open_own(project, &path(id).ok()?, Way::Read).ok()?;
        read_holder(file).filter(|who| who.pid != 0)
    }

    /// Removes the files of those who are dead, and says who they were. What is
    /// not a session's file, and what cannot be judged, stays.
    ///
    /// Nobody else sweeps meanwhile, for `_lock` is held; whoever registers
    /// notices if the file goes before it is locked.
    ///
    /// # Errors
    /// `project-unreadable`.
    pub fn sweep(project: &Project, _lock: &SessionLock) -> Result<Vec<String>, ProjectError> {
        let at = || project.path_of(SESSIONS_DIR);
        let dir = match sessions(project) {
            Ok(dir) => dir,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(super::PathError { path: at(), source }.into()),
        };
        let mut dead = Vec::new();
        for entry in dir.entries().context(at())? {
            let entry = entry.context(at())?;
            let Ok(id) = entry.file_name().into_string() else {
                continue;
            };
            if !is_id(&id) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            match Self::is_alive(project, &id) {
                Ok(false) => match dir.remove_file(&id) {
                    Ok(()) => dead.push(id),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    // Another user's, in a directory where only they may.
                    Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                    Err(source) => {
                        let path = at().join(id);
                        return Err(super::PathError { path, source }.into());
                    }
                },
                Ok(true) => {}
                // Exchanged for something else since it was listed.
                Err(_) => {}
            }
        }
        dead.sort();
        Ok(dead)
    }

    fn lock(&self, deadline: Instant) -> io::Result<()> {
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl Drop for Presence {
    /// Takes the file away where it is still ours; otherwise the next sweep
    /// does. The lock falls after that, with the file.
    fn drop(&mut self) {
        self.project.alone.over(&self.id);
        if self.still_ours().is_ok()
            && let Ok(dir) = sessions(&self.project)
        {
            let _ = dir.remove_file(&self.id);
        }
    }
}

pub(super) fn sessions(project: &Project) -> io::Result<Dir> {
    crate::files::dir_below(project.ghyll(), SESSIONS_DIR)
}

/// Makes the directory, open to nobody whom `.ghyll` itself keeps out.
pub(super) fn make_dir(project: &Project) -> Result<(), ProjectError> {
    let path = || project.path_of(SESSIONS_DIR);
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::{DirBuilderExt, MetadataExt};
        let meta = project.ghyll().dir_metadata().context(path())?;
        builder.mode(meta.mode() & 0o777);
    }
    match project.ghyll().create_dir_with(SESSIONS_DIR, &builder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        other => return Ok(other.context(path())?),
    }
    match below_kind(project.ghyll(), SESSIONS_DIR).context(path())? {
        Some(Kind::Symlink) => Err(ProjectError::Symlink(path())),
        Some(Kind::File | Kind::Other) => Err(ProjectError::NotAFile {
            path: path(),
            found: "no directory",
        }),
        Some(Kind::Dir) | None => Ok(()),
    }
}

/// Where the file of a session is, below `.ghyll`.
fn path(id: &str) -> Result<String, ProjectError> {
    match is_id(id) {
        true => Ok(format!("{SESSIONS_DIR}/{id}")),
        false => Err(ProjectError::SessionId { id: id.to_owned() }),
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= ID_MAX
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
