//! What a verdict is about: the covered files as they were when judged.
//!
//! `covers` reads globs, `walk` finds the files they match (`git` and
//! `git_index` tell which of them git tracks or would track), `digest` reads
//! them (or `memory` knows them), `manifest` is the list, whose SHA-256 is the subject that a record
//! names; `store` keeps lists below `.ghyll/subjects`, `changed` says what lies
//! between two. Nothing here knows of records, passes or SQLite: what is
//! needed is a project's root, the capability to its `.ghyll` and, where
//! somebody has one, a memory of digests.
//!
//! The rule of the room: there is the whole list or an error that names what
//! is wrong, never a shorter list.

mod beneath;
pub mod changed;
mod covers;
mod digest;
mod error;
mod git;
mod git_index;
mod manifest;
mod memory;
mod parts;
mod present;
mod store;
#[cfg(test)]
mod tests;
mod walk;

use std::path::Path;

use cap_std::fs::Dir;

pub use beneath::Stamp;
pub use covers::Covers;
pub use digest::Reading;
pub use error::SubjectError;
pub use manifest::{Entry, Malformed, Manifest, NotSha256, Sha256};
pub use memory::{Known, Memory, Remembered};
pub use present::{Look, Present};
pub(crate) use store::place;
pub use store::{SUBJECTS_DIR, SubjectStore};
pub use walk::MAX_FILES;

use beneath::Beneath;
use covers::Met;

/// The covered files of a project as they are now.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Their list.
    pub manifest: Manifest,
    /// Its SHA-256.
    pub subject: Sha256,
    /// Globs without `!` that match no file, though others of the list do: a
    /// slip, or files that are gone.
    pub unmatched: Vec<String>,
}

/// Looks at the covered files below `root`, the project's directory.
///
/// # Errors
/// `subject-empty` if there are none, `subject-too-many-files` beyond
/// [`MAX_FILES`], and for the first file or directory that is the matter
/// `subject-unreadable`, `subject-name-invalid`, `subject-not-a-file`,
/// `subject-changing`, `subject-too-deep`, `subject-git-unreadable`.
pub fn take(root: &Path, covers: &Covers, reading: Reading<'_>) -> Result<Taken, SubjectError> {
    take_at_most(root, covers, reading, MAX_FILES)
}

fn take_at_most(
    root: &Path,
    covers: &Covers,
    mut reading: Reading<'_>,
    max: usize,
) -> Result<Taken, SubjectError> {
    if let Reading::Remembered(memory) = &mut reading {
        memory.prepare();
    }
    let root = root
        .canonicalize()
        .map_err(|e| SubjectError::unreadable(b"", e))?;
    let beneath = Beneath::open(&root).map_err(|e| SubjectError::unreadable(b"", e))?;
    let walked = walk::walk(&root, &beneath, covers, max)?;
    let manifest = Manifest::new(digest::digest(&beneath, walked.files, reading)?);
    if manifest.entries().is_empty() {
        let is_dir = |glob: &&String| root.join(glob).is_dir();
        return Err(SubjectError::Empty {
            globs: covers.globs().to_vec(),
            directory: covers.included().iter().find(is_dir).cloned(),
        });
    }
    Ok(Taken {
        subject: manifest.subject(),
        unmatched: unmatched(covers, &walked.met),
        manifest,
    })
}

fn unmatched(covers: &Covers, met: &Met) -> Vec<String> {
    let pairs = covers.included().iter().zip(&met.0);
    pairs
        .filter(|(_, met)| !**met)
        .map(|(glob, _)| glob.clone())
        .collect()
}

/// What the attestation of a project's beginning is about: the manifest of
/// exactly `.ghyll/grid.v<version>.yaml`, every byte of it read.
///
/// # Errors
/// `subject-unreadable`, also when there is no such file, `subject-not-a-file`
/// and `subject-changing`.
pub fn of_grid(ghyll: &Dir, version: u64) -> Result<Taken, SubjectError> {
    let name = format!("grid.v{version}.yaml");
    let path = format!("{}/{name}", crate::project::GHYLL_DIR);
    let unreadable = |e: std::io::Error| SubjectError::unreadable(path.as_bytes(), e);
    if ghyll
        .symlink_metadata(&name)
        .is_ok_and(|meta| meta.is_symlink())
    {
        let what = "a symbolic link";
        return Err(SubjectError::NotAFile { path, what });
    }
    let beneath = Beneath::of(ghyll).map_err(unreadable)?;
    let read = digest::Reader::new(&beneath).read(name.as_bytes());
    let read = read.map_err(|e| e.at(&path))?;
    let read = read.ok_or_else(|| unreadable(std::io::ErrorKind::NotFound.into()))?;
    let manifest = Manifest::new(vec![Entry {
        path,
        sha256: read.sha256,
    }]);
    Ok(Taken {
        subject: manifest.subject(),
        manifest,
        unmatched: Vec::new(),
    })
}
