//! What git took away, and has.
//!
//! A file of the tree that has less than the index saw, or other lines, was
//! moved by git if both are so: it is byte for byte what HEAD has, and some
//! commit has everything the index saw of it. Then nothing is lost, and the
//! index follows. A verdict that was never committed is in no commit, so
//! taking it away is a loss whatever HEAD says.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::{LoadError, Sources, limits_of_path};
use crate::audit::TREE_DIR;
use crate::audit::reader::{ReadError, cursor, read_lines};
use crate::audit::tree::belongs;
use crate::db::Head;
use crate::files::bounded::read_below;
use crate::files::disk::{Bytes, Disk};
use crate::git::WorkTree;
use crate::policy::{Policy, Surface};

/// The tree's directory from the project's root.
const FROM_ROOT: &str = ".ghyll/attestations";
/// The largest file that is held against git, in bytes.
const FILE_MAX: u64 = 256 << 20;

/// A line by its SHA-256.
type Key = [u8; 32];

/// What stands elsewhere in a project's repository.
pub struct Elsewhere {
    git: WorkTree,
    /// The lines that stand elsewhere, by their file's path.
    lines: Mutex<HashMap<String, HashSet<Key>>>,
}

impl Elsewhere {
    /// In the repository of the project at `root`, which is absolute; it is
    /// looked at when it is first asked about.
    pub fn of(root: &Path) -> Self {
        Self {
            git: WorkTree::new(root, FROM_ROOT),
            lines: Mutex::default(),
        }
    }

    /// How many lines of a file that is not what the index saw stand in other
    /// commits; `None` if git did not make it so.
    ///
    /// # Errors
    /// Those of the component.
    pub fn moved(
        &self,
        sources: Sources<'_>,
        path: &str,
        seen: &Head,
    ) -> Result<Option<u64>, LoadError> {
        let Ok(now) = read(sources.disk, path) else {
            return Ok(None);
        };
        if !self.git.is_as_head(path, now.as_deref()) {
            return Ok(None);
        }
        let (mut away, mut failed) = (None, None);
        self.git.any_version(path, &mut |version| {
            let seen_of_it = usize::try_from(seen.bytes)
                .ok()
                .and_then(|bytes| version.get(..bytes));
            let Some(then) = seen_of_it else {
                return false;
            };
            match holds(sources, path, then, seen) {
                Ok(false) => false,
                Ok(true) => {
                    let here: HashSet<Key> = keys(now.as_deref().unwrap_or_default()).collect();
                    let gone = keys(then).filter(|line| !here.contains(line));
                    away = Some(gone.count() as u64);
                    true
                }
                Err(e) => {
                    failed = Some(e);
                    true
                }
            }
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(away),
        }
    }

    /// The files of the tree that are not there because git's sparse checkout
    /// leaves them out, though HEAD has them; by their paths.
    pub fn left_out(&self, policy: &Policy, disk: &dyn Disk) -> Vec<String> {
        let mut files = self.git.left_out();
        files.retain(|path| {
            let there = disk.meta(&format!("{TREE_DIR}/{path}"));
            belongs(policy, path) && matches!(there, Ok(None))
        });
        files.sort();
        files
    }

    /// Whether HEAD has everything that the index saw of a file.
    ///
    /// # Errors
    /// Those of the component.
    pub fn head_has(
        &self,
        sources: Sources<'_>,
        path: &str,
        seen: &Head,
    ) -> Result<bool, LoadError> {
        let committed = self.git.of_head(path);
        let seen_of_it = usize::try_from(seen.bytes)
            .ok()
            .and_then(|bytes| committed.as_ref()?.get(..bytes));
        match seen_of_it {
            Some(then) => holds(sources, path, then, seen),
            None => Ok(false),
        }
    }

    /// Whether a line that the tree lacks stands in another commit, its file
    /// being what HEAD has.
    pub fn has_line(&self, disk: &dyn Disk, path: &str, line: &[u8]) -> bool {
        if path.is_empty() {
            return false;
        }
        let mut lines = self.lines.lock();
        let known = lines.entry(path.to_owned()).or_insert_with(|| {
            let mut all = HashSet::new();
            if read(disk, path).is_ok_and(|now| self.git.is_as_head(path, now.as_deref())) {
                self.git.any_version(path, &mut |version| {
                    all.extend(keys(version));
                    false
                });
            }
            all
        });
        known.contains::<Key>(&Sha256::digest(line).into())
    }

    /// Whether a commit has lines of a file that the tree does not have.
    pub fn has_more(&self, disk: &dyn Disk, path: &str) -> bool {
        let Ok(now) = read(disk, path) else {
            return false;
        };
        let here: HashSet<Key> = keys(now.as_deref().unwrap_or_default()).collect();
        self.git.any_version(path, &mut |version| {
            keys(version).any(|line| !here.contains(&line))
        })
    }
}

fn keys(bytes: &[u8]) -> impl Iterator<Item = Key> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| Sha256::digest(line).into())
}

/// The bytes of a file of the tree; `None` if there is none.
fn read(disk: &dyn Disk, path: &str) -> io::Result<Option<Vec<u8>>> {
    read_below(disk, &format!("{TREE_DIR}/{path}"), FILE_MAX).map_err(io::Error::other)
}

/// Whether these bytes are what the index saw: whole lines that are sound, as
/// many, with the same chain at their end.
fn holds(sources: Sources<'_>, path: &str, bytes: &[u8], seen: &Head) -> Result<bool, LoadError> {
    let full = format!("{TREE_DIR}/{path}");
    let limits = limits_of_path(sources.limits, path);
    let start = cursor(Surface::Tree(path.to_owned()), &Head::default());
    let mut sound = true;
    let end = read_lines(
        sources.policy,
        limits,
        &mut Bytes(bytes.to_vec()),
        start,
        &mut |line| {
            sound &= line.checked.problems.is_empty()
                || sources
                    .losses
                    .has_digest(&full, line.checked.number, &line.digest());
            Ok::<_, ReadError>(())
        },
    );
    let end = end?;
    Ok(sound && end.lines == seen.lines && end.chain == seen.chain && end.bytes == seen.bytes)
}
