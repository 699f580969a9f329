//! A project on disk: its directory, its `.ghyll`, and who may change it.
//!
//! Everything below `.ghyll` is reached through one directory capability, so
//! no path and no symbolic link leads out of it. Who writes holds the
//! [`SessionLock`] meanwhile; who lives shows it by a [`Presence`]; and a
//! project of somebody else is not opened unasked ([`trust`]).

mod alone;
mod lock;
mod presence;
mod trust;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use alone::Alone;
pub use lock::{Holder, LOCK_FILE, SessionLock};
pub use presence::{Presence, SESSIONS_DIR};

use crate::files::disk::sync_dir;
use crate::files::{PathContext, PathError};

/// The directory ghyll keeps everything in.
pub const GHYLL_DIR: &str = ".ghyll";

/// Why a project cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no `.ghyll` in the directory that was named.
    #[error("no {GHYLL_DIR} in {}; `ghyll init` makes one", .0.display())]
    NotFound(PathBuf),
    /// There is no `.ghyll` here or in any parent.
    #[error("no {GHYLL_DIR} in {} or a parent of it; `ghyll init` makes one", .0.display())]
    NotFoundAbove(PathBuf),
    /// `init` on a project that has a `.ghyll` already.
    #[error("{} is initialised already", .0.display())]
    Initialised(PathBuf),
    /// Another process wrote to the project for as long as was waited.
    #[error("another process is writing to this project{}", match .0 {
        Some(holder) => format!(": {holder}"),
        None => String::new(),
    })]
    Locked(Option<Holder>),
    /// The file that was locked is no longer the one with the name, so that
    /// another process may be writing too.
    #[error("{}: {why} while this process relied on it; nothing was written", path.display())]
    LockLost {
        /// What is no longer what it was.
        path: PathBuf,
        /// What happened to it.
        why: &'static str,
    },
    /// The file system has no locks, and another session has the project to
    /// itself, or had when it was killed.
    #[error(
        "{}: this file system has no locks, so one session has the project to itself: \
         {holder}; if that is gone, remove the file",
        path.display()
    )]
    TakenAlone {
        /// The file that says so.
        path: PathBuf,
        /// Who made it.
        holder: Holder,
    },
    /// Something else stands where ghyll keeps a file of its own.
    #[error("{}: {found}, where an ordinary file of ghyll's belongs; move it away", path.display())]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// An id that cannot be a file's name, or that is taken.
    #[error("{id:?}: cannot be a session's id")]
    SessionId {
        /// The id.
        id: String,
    },
    /// The project belongs to another user, and nobody said that it is trusted.
    #[error("{}: belongs to another user (uid {owner}), whose commands it may run; GHYLL_TRUST={} trusts it", path.display(), root.display())]
    Untrusted {
        /// Its `.ghyll`.
        path: PathBuf,
        /// Its directory, as `GHYLL_TRUST` has to list it.
        root: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// A symbolic link where ghyll follows none.
    #[error("{}: a symbolic link; it was not followed", .0.display())]
    Symlink(PathBuf),
    /// A file or directory could not be used.
    #[error(transparent)]
    Io(#[from] PathError),
}

impl ProjectError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) | Self::NotFoundAbove(_) => "project-not-found",
            Self::Initialised(_) => "project-already-initialised",
            Self::Locked(_) | Self::TakenAlone { .. } => "session-locked",
            Self::LockLost { .. } => "session-lock-lost",
            Self::NotAFile { .. } => "project-file-invalid",
            Self::SessionId { .. } => "session-id-invalid",
            Self::Untrusted { .. } => "project-owner-untrusted",
            Self::Symlink(_) => "attestation-symlink-refused",
            Self::Io(_) => "project-unreadable",
        }
    }
}

/// An opened project.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    ghyll: Dir,
    alone: Arc<Alone>,
}

impl Project {
    /// The project `dir` is, or, when `None`, the nearest one above the
    /// current directory.
    ///
    /// # Errors
    /// `project-not-found`, and those of [`Self::open`].
    pub fn find(dir: Option<&Path>) -> Result<Self, ProjectError> {
        if let Some(dir) = dir {
            return Self::open(dir);
        }
        let start = std::env::current_dir().context(".")?;
        start
            .ancestors()
            .find(|dir| dir.join(GHYLL_DIR).is_dir())
            .map_or_else(
                || Err(ProjectError::NotFoundAbove(start.clone())),
                Self::open,
            )
    }

    /// The project in exactly this directory.
    ///
    /// # Errors
    /// `project-not-found`, `project-unreadable`, `project-owner-untrusted`
    /// before anything of it was read.
    pub fn open(root: &Path) -> Result<Self, ProjectError> {
        let dir = match Dir::open_ambient_dir(root, ambient_authority()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(ProjectError::NotFound(root.to_owned()));
            }
            other => other.context(root)?,
        };
        let path = root.join(GHYLL_DIR);
        let ghyll = match dir.open_dir_nofollow(GHYLL_DIR) {
            Ok(ghyll) => ghyll,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(ProjectError::NotFound(root.to_owned()));
            }
            Err(_)
                if dir
                    .symlink_metadata(GHYLL_DIR)
                    .is_ok_and(|m| m.is_symlink()) =>
            {
                return Err(ProjectError::Symlink(path));
            }
            Err(source) => return Err(PathError { path, source }.into()),
        };
        let root = root.canonicalize().context(root)?;
        trust::check(&root, &ghyll.dir_metadata().context(path)?)?;
        let alone = Arc::default();
        Ok(Self { root, ghyll, alone })
    }

    /// Makes `.ghyll` in a directory that has none; a `.ghyll` without a grid
    /// (an `init` that was interrupted) is taken up again.
    ///
    /// # Errors
    /// `project-already-initialised`, and those of [`Self::open`].
    pub fn create(root: &Path) -> Result<Self, ProjectError> {
        std::fs::create_dir_all(root).context(root)?;
        let dir = Dir::open_ambient_dir(root, ambient_authority()).context(root)?;
        match dir.create_dir(GHYLL_DIR) {
            Ok(()) => sync_dir(&dir).context(root)?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.context(root.join(GHYLL_DIR))?,
        }
        let project = Self::open(root)?;
        if project.ghyll.symlink_metadata("grid.current").is_ok() {
            return Err(ProjectError::Initialised(project.root));
        }
        Ok(project)
    }

    /// The same project, through a handle of its own.
    ///
    /// # Errors
    /// `project-unreadable`, when there are no more handles.
    pub fn try_clone(&self) -> Result<Self, ProjectError> {
        Ok(Self {
            root: self.root.clone(),
            ghyll: self.ghyll.try_clone().context(&self.root)?,
            alone: Arc::clone(&self.alone),
        })
    }

    /// The project's directory, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The capability to everything below `.ghyll`.
    pub fn ghyll(&self) -> &Dir {
        &self.ghyll
    }

    /// Whether the file system has no locks, so that this process has the project
    /// to itself since it first wrote.
    pub fn is_alone(&self) -> bool {
        self.alone.is_held()
    }

    /// A path below `.ghyll`, for messages and for programs given a path.
    pub fn path_of(&self, below: &str) -> PathBuf {
        self.root.join(GHYLL_DIR).join(below)
    }
}

#[cfg(test)]
mod tests;
