//! A project on disk: its directory, its `.ghyll`, and who may change it.
//!
//! Everything below `.ghyll` is reached through one directory capability, so
//! no path and no symbolic link leads out of it; one operating-system lock
//! keeps a second session away and falls with the process that holds it.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// The directory ghyll keeps everything in.
pub const GHYLL_DIR: &str = ".ghyll";
const LOCK_FILE: &str = "lock";
/// How often, and after what pause, a lock that is held is tried again.
const LOCK_ATTEMPTS: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Why a project cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no `.ghyll` here or in any parent.
    #[error("no {GHYLL_DIR} in {} or a parent of it; `ghyll init` makes one", .0.display())]
    NotFound(PathBuf),
    /// `init` on a project that has a `.ghyll` already.
    #[error("{} is initialised already", .0.display())]
    Initialised(PathBuf),
    /// Another session holds the project.
    #[error("another session has this project{}", match .0 { Some(pid) => format!(" (pid {pid})"), None => String::new() })]
    Locked(Option<u32>),
    /// `.ghyll` is a symbolic link.
    #[error("{}: a symbolic link; it was not followed", .0.display())]
    Symlink(PathBuf),
    /// A file or directory could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be used.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ProjectError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "project-not-found",
            Self::Initialised(_) => "project-already-initialised",
            Self::Locked(_) => "session-locked",
            Self::Symlink(_) => "attestation-symlink-refused",
            Self::Io { .. } => "project-unreadable",
        }
    }

    fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.into(),
            source,
        }
    }
}

/// An opened project.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    ghyll: Dir,
}

impl Project {
    /// The project `dir` is, or, when `None`, the nearest one above the
    /// current directory.
    ///
    /// # Errors
    /// `project-not-found`, `project-unreadable`.
    pub fn find(dir: Option<&Path>) -> Result<Self, ProjectError> {
        if let Some(dir) = dir {
            return Self::open(dir);
        }
        let start = std::env::current_dir().map_err(ProjectError::io("."))?;
        start
            .ancestors()
            .find(|dir| dir.join(GHYLL_DIR).is_dir())
            .map_or_else(|| Err(ProjectError::NotFound(start.clone())), Self::open)
    }

    /// The project in exactly this directory.
    ///
    /// # Errors
    /// `project-not-found`, `project-unreadable`.
    pub fn open(root: &Path) -> Result<Self, ProjectError> {
        let dir = match Dir::open_ambient_dir(root, ambient_authority()) {
            Ok(dir) => dir,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(ProjectError::NotFound(root.to_owned()));
            }
            Err(e) => return Err(ProjectError::io(root)(e)),
        };
        match dir.open_dir_nofollow(GHYLL_DIR) {
            Ok(ghyll) => Ok(Self {
                root: absolute(root)?,
                ghyll,
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(ProjectError::NotFound(root.to_owned()))
            }
            Err(e) => {
                let path = root.join(GHYLL_DIR);
                match dir.symlink_metadata(GHYLL_DIR) {
                    Ok(meta) if meta.is_symlink() => Err(ProjectError::Symlink(path)),
                    _ => Err(ProjectError::io(path)(e)),
                }
            }
        }
    }

    /// Makes `.ghyll` in a directory that has none; a `.ghyll` without a grid
    /// (an `init` that was interrupted) is taken up again.
    ///
    /// # Errors
    /// `project-already-initialised`, `project-unreadable`.
    pub fn create(root: &Path) -> Result<Self, ProjectError> {
        std::fs::create_dir_all(root).map_err(ProjectError::io(root))?;
        let dir =
            Dir::open_ambient_dir(root, ambient_authority()).map_err(ProjectError::io(root))?;
        match dir.create_dir(GHYLL_DIR) {
            Ok(()) => sync(&dir).map_err(ProjectError::io(root))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(ProjectError::io(root.join(GHYLL_DIR))(e)),
        }
        let project = Self::open(root)?;
        if project.ghyll.symlink_metadata("grid.current").is_ok() {
            return Err(ProjectError::Initialised(project.root));
        }
        Ok(project)
    }

    /// The project's directory, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The capability to everything below `.ghyll`.
    pub fn ghyll(&self) -> &Dir {
        &self.ghyll
    }

    /// A path below `.ghyll`, for messages and for programs given a path.
    pub fn path_of(&self, below: &str) -> PathBuf {
        self.root.join(GHYLL_DIR).join(below)
    }

    /// Takes the project for this process until the lock is dropped.
    ///
    /// # Errors
    /// `session-locked` with the holder's pid, `project-unreadable`.
    pub fn lock(&self) -> Result<SessionLock, ProjectError> {
        let io = || ProjectError::io(self.path_of(LOCK_FILE));
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .follow(FollowSymlinks::No);
        let mut file = self
            .ghyll
            .open_with(LOCK_FILE, &options)
            .map_err(io())?
            .into_std();
        let mut attempts = 0;
        while let Err(error) = file.try_lock() {
            match error {
                // A reader that asks who has the lock holds it for a moment.
                std::fs::TryLockError::WouldBlock if attempts < LOCK_ATTEMPTS => {
                    attempts += 1;
                    std::thread::sleep(LOCK_PAUSE);
                }
                std::fs::TryLockError::WouldBlock => {
                    return Err(ProjectError::Locked(holder(&mut file)));
                }
                std::fs::TryLockError::Error(e) => return Err(io()(e)),
            }
        }
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(io())?;
        Ok(SessionLock { _file: file })
    }

    /// The pid of the session that has the project now, if one does.
    pub fn locked_by(&self) -> Option<u32> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let mut file = self.ghyll.open_with(LOCK_FILE, &options).ok()?.into_std();
        match file.try_lock_shared() {
            Err(std::fs::TryLockError::WouldBlock) => Some(holder(&mut file).unwrap_or(0)),
            _ => None,
        }
    }
}

/// The project is this process's while this lives.
#[derive(Debug)]
pub struct SessionLock {
    _file: File,
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn absolute(path: &Path) -> Result<PathBuf, ProjectError> {
    path.canonicalize().map_err(ProjectError::io(path))
}

/// Makes a directory's entries durable.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}
