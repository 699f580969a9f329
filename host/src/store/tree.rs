//! The audit tree, the primary writer: `.ghyll/attestations/`, a file a pass.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::append::{AppendFile, Appended};
use super::disk::{Disk, Kind, Meta};

/// The tree's directory below `.ghyll`.
pub const TREE_DIR: &str = "attestations";
/// Files kept open; a session has few passes open at a time.
const OPEN_FILES: usize = 16;

/// Appends lines to the files of the tree.
pub struct AuditTree {
    disk: Arc<dyn Disk>,
    open: HashMap<String, AppendFile>,
}

impl AuditTree {
    /// The tree below `.ghyll`.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            open: HashMap::new(),
        }
    }

    /// Appends a line to the file at `path` (below the tree's root), which
    /// must have `expected` bytes, durably or not at all.
    ///
    /// # Errors
    /// Those of the disk; see [`AppendFile::append`].
    pub fn append(&mut self, path: &str, expected: u64, line: &[u8]) -> io::Result<Appended> {
        if !self.open.contains_key(path) {
            if self.open.len() >= OPEN_FILES {
                // An unsound file stays, for it alone knows what to cut off.
                self.open.retain(|_, file| !file.is_sound());
            }
            let full = format!("{TREE_DIR}/{path}");
            let file = AppendFile::open(self.disk.as_ref(), &full, expected)?;
            self.open.insert(path.to_owned(), file);
        }
        match self.open.get_mut(path) {
            Some(file) => file.append(self.disk.as_ref(), line),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Something in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A file where records belong.
    Lines(Meta),
    /// A symbolic link, which is never followed.
    Symlink,
    /// A file or directory that has no place here.
    Foreign,
}

/// Walks the tree in order of names and tells of everything but the
/// directories on the way. Paths are below the tree's root.
///
/// # Errors
/// Those of the disk (with the path below `.ghyll`) and of `each`.
pub fn walk<E>(
    disk: &dyn Disk,
    root: &str,
    each: &mut dyn FnMut(String, Found) -> Result<(), E>,
    fail: &dyn Fn(&str, io::Error) -> E,
) -> Result<(), E> {
    descend(disk, root, "", 0, each, fail)
}

/// `v<N>/<context>/stratum-<S>/<role-pair>/<pass-id>.jsonl`
fn belongs(depth: usize, name: &str) -> bool {
    match depth {
        0 => name
            .strip_prefix('v')
            .is_some_and(|n| n.parse::<u64>().is_ok_and(|v| v.to_string() == n)),
        // The init arrow's stratum directory is `stratum-init`.
        2 => name.starts_with("stratum-"),
        4 => name.ends_with(".jsonl"),
        _ => true,
    }
}

fn descend<E>(
    disk: &dyn Disk,
    root: &str,
    below: &str,
    depth: usize,
    each: &mut dyn FnMut(String, Found) -> Result<(), E>,
    fail: &dyn Fn(&str, io::Error) -> E,
) -> Result<(), E> {
    let join = |a: &str, b: &str| {
        if a.is_empty() {
            b.to_owned()
        } else {
            format!("{a}/{b}")
        }
    };
    let here = join(root, below);
    let here = here.trim_end_matches('/');
    for entry in disk.list(here).map_err(|e| fail(here, e))? {
        let path = join(below, &entry.name);
        let belongs = belongs(depth, &entry.name);
        match entry.kind {
            Kind::Symlink => each(path, Found::Symlink)?,
            Kind::Dir if belongs && depth < 4 => descend(disk, root, &path, depth + 1, each, fail)?,
            Kind::File if belongs && depth == 4 => {
                let full = join(root, &path);
                // If it is gone since it was listed there is nothing to tell.
                if let Some(meta) = disk.meta(&full).map_err(|e| fail(&full, e))? {
                    each(path, Found::Lines(meta))?;
                }
            }
            _ => each(path, Found::Foreign)?,
        }
    }
    Ok(())
}
