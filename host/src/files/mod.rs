//! The files below `.ghyll`: one capability, through which no link is followed.
//!
//! [`disk`] is the seam every call of the record path goes through; [`append`]
//! and [`replace`] are the two ways a file may change (grow by whole lines, or
//! be put in the place of another at once); [`bounded`] is the one way a file
//! is read that anybody may have made. [`output`] is for the files that commands
//! are told to write, where links are followed.

pub mod append;
pub mod bounded;
pub mod disk;
mod kind;
mod locks;
pub mod output;
pub mod replace;
mod resolve;

use std::io;
use std::path::PathBuf;

pub use locks::{is_without_locks, lacks_locks};
pub use resolve::{Way, open_below};
pub(crate) use resolve::{below_kind, dir as dir_below};

/// A file or directory that could not be used, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct PathError {
    /// What could not be used.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// Says where an error of the file system happened. The public code depends on
/// what was being done, so it belongs to the error that takes this one in.
pub trait PathContext<T> {
    /// The same, with the path.
    ///
    /// # Errors
    /// The error that was there.
    fn context(self, path: impl Into<PathBuf>) -> Result<T, PathError>;
}

impl<T> PathContext<T> for io::Result<T> {
    fn context(self, path: impl Into<PathBuf>) -> Result<T, PathError> {
        self.map_err(|source| PathError {
            path: path.into(),
            source,
        })
    }
}

/// A temporary directory that nobody else can look into, whatever the umask:
/// what is copied there may come from a private project.
///
/// # Errors
/// If none can be made.
pub fn private_tempdir(prefix: &str) -> io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir()
}

/// Makes an empty file if there is none, with the permissions that umask and
/// directory give. For programs that would choose narrower ones: SQLite makes
/// `engine.db` unwritable for a group, and its journal like `engine.db`.
///
/// # Errors
/// Those of the file system; a file that is there is none.
pub fn make_if_absent(path: &std::path::Path) -> io::Result<()> {
    match std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
    {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
pub(crate) mod tests;
