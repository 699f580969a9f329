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
        let Some(file) = self.open.get_mut(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let result = file.append(self.disk.as_ref(), line);
        if result.is_err() && file.is_sound() {
            // Opened anew the next time: it may be another file by then.
            self.open.remove(path);
        }
        result
    }
}

/// Something in the tree.
#[derive(Debug)]
pub enum Found {
    /// A file where records belong.
    Lines(Meta),
    /// A symbolic link, which is never followed.
    Symlink,
    /// A file or directory that has no place here.
    Foreign,
    /// A file or directory that could not be looked at.
    Unreadable(io::Error),
}

/// Walks the tree in order of names and tells of everything but the
/// directories on the way. Paths are below the tree's root.
///
/// # Errors
/// Those of `each`.
pub fn walk<E>(
    disk: &dyn Disk,
    root: &str,
    each: &mut dyn FnMut(String, Found) -> Result<(), E>,
) -> Result<(), E> {
    descend(disk, root, "", 0, each)
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
) -> Result<(), E> {
    let here = join(root, below);
    let entries = match disk.list(&here) {
        Ok(entries) => entries,
        Err(e) => return each(below.to_owned(), Found::Unreadable(e)),
    };
    for entry in entries {
        let path = join(below, &entry.name);
        let belongs = belongs(depth, &entry.name);
        match entry.kind {
            Kind::Symlink => each(path, Found::Symlink)?,
            Kind::Dir if belongs && depth < 4 => descend(disk, root, &path, depth + 1, each)?,
            Kind::File if belongs && depth == 4 => match disk.meta(&join(root, &path)) {
                Ok(Some(meta)) => each(path, Found::Lines(meta))?,
                // Gone since it was listed: nothing to tell.
                Ok(None) => {}
                Err(e) => each(path, Found::Unreadable(e))?,
            },
            _ => each(path, Found::Foreign)?,
        }
    }
    Ok(())
}

fn join(a: &str, b: &str) -> String {
    match (a, b) {
        ("", path) | (path, "") => path.to_owned(),
        (a, b) => format!("{a}/{b}"),
    }
}
