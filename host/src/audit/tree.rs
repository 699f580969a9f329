//! The audit tree, the primary writer: `.ghyll/attestations/`, a file a pass.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::files::append::{AppendFile, Appended};
use crate::files::disk::{Disk, Entry, Kind, Meta};
use crate::policy::{Policy, PolicyError};

/// The tree's directory below `.ghyll`.
pub const TREE_DIR: &str = "attestations";
/// How many directories lead to a file of the tree.
const FILES_DEPTH: usize = 4;
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
        // Another process may have written to it since, or git put another in
        // its place; whoever calls has read it as it is now.
        let disk = self.disk.as_ref();
        let is_other = |file: &AppendFile| file.len() != expected || !file.is_in_place(disk);
        if self
            .open
            .get(path)
            .is_some_and(|file| file.is_sound() && is_other(file))
        {
            self.open.remove(path);
        }
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

    /// Cuts off what failed appends left behind, so that nobody reads as a
    /// record what was refused.
    ///
    /// # Errors
    /// Those of the disk, with the path below the tree's root.
    pub fn mend(&mut self) -> Result<(), (String, io::Error)> {
        for (path, file) in &mut self.open {
            file.mend(self.disk.as_ref())
                .map_err(|e| (path.clone(), e))?;
        }
        self.open.retain(|_, file| file.is_sound());
        Ok(())
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
/// directories on the way. Paths are below the tree's root; which names belong
/// is the policy's to say.
///
/// # Errors
/// Those of `each`.
pub fn walk<E>(
    policy: &Policy,
    disk: &dyn Disk,
    root: &str,
    each: &mut dyn FnMut(String, Found) -> Result<(), E>,
) -> Result<(), E> {
    descend(policy, disk, root, "", 0, each)
}

fn descend<E>(
    policy: &Policy,
    disk: &dyn Disk,
    root: &str,
    below: &str,
    depth: usize,
    each: &mut dyn FnMut(String, Found) -> Result<(), E>,
) -> Result<(), E> {
    let here = join(root, below);
    // Each file is looked at once; directories on the way need no look.
    let entries: io::Result<Vec<(Entry, Option<io::Result<Meta>>)>> = if depth == FILES_DEPTH {
        let looked = disk.list_meta(&here);
        looked.map(|all| {
            all.into_iter()
                .map(|(entry, meta)| (entry, Some(meta)))
                .collect()
        })
    } else {
        let listed = disk.list(&here);
        listed.map(|all| all.into_iter().map(|entry| (entry, None)).collect())
    };
    let entries = match entries {
        Ok(entries) => entries,
        Err(e) => return each(below.to_owned(), Found::Unreadable(e)),
    };
    let names: Vec<String> = entries
        .iter()
        .map(|(entry, _)| entry.name.clone())
        .collect();
    let belong = match belong(policy, below, &names) {
        Ok(belong) => belong,
        Err(e) => return each(below.to_owned(), Found::Unreadable(io::Error::other(e))),
    };
    for ((entry, meta), belongs) in entries.into_iter().zip(belong) {
        let path = join(below, &entry.name);
        match entry.kind {
            Kind::Symlink => each(path, Found::Symlink)?,
            Kind::Dir if belongs && depth < FILES_DEPTH => {
                descend(policy, disk, root, &path, depth + 1, each)?;
            }
            Kind::File if belongs && depth == FILES_DEPTH => match meta {
                Some(Ok(meta)) => each(path, Found::Lines(meta))?,
                // Gone since it was listed: nothing to tell.
                Some(Err(e)) if e.kind() == io::ErrorKind::NotFound => {}
                Some(Err(e)) => each(path, Found::Unreadable(e))?,
                None => {}
            },
            _ => each(path, Found::Foreign)?,
        }
    }
    Ok(())
}

/// Which names belong into a folder of the tree. Some systems put a file
/// `._<name>` beside each, which no path of ours needs.
fn belong(policy: &Policy, folder: &str, names: &[String]) -> Result<Vec<bool>, PolicyError> {
    let mut belong = policy.belong(folder, names)?;
    for (belongs, name) in belong.iter_mut().zip(names) {
        *belongs &= !name.starts_with("._");
    }
    Ok(belong)
}

/// Whether records belong into a file at this path, below the tree's root.
pub(super) fn belongs(policy: &Policy, path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    folder.split('/').count() == FILES_DEPTH
        && belong(policy, folder, &[name.to_owned()]).is_ok_and(|belong| belong == [true])
}

fn join(a: &str, b: &str) -> String {
    match (a, b) {
        ("", path) | (path, "") => path.to_owned(),
        (a, b) => format!("{a}/{b}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_path_of_the_tree_has_does_not_belong() {
        let policy = Policy::load().unwrap();
        let belongs = |folder: &str, name: &str| {
            belong(&policy, folder, &[name.to_owned()]).unwrap() == [true]
        };
        let roles = "v1/shop/stratum-L2/a__b";
        for (folder, name) in [
            ("", "v1"),
            ("", "v9007199254740991"),
            ("v1/shop", "stratum-L2"),
            (roles, "01.jsonl"),
            (roles, "h-00112233445566778899aabbccddeeff.jsonl"),
            (roles, "a_b-C.9.jsonl"),
        ] {
            assert!(belongs(folder, name), "{folder}/{name}");
        }
        for (folder, name) in [
            ("", "v01"),
            ("", "v"),
            ("", "v9223372036854775808"),
            ("", "._v1"),
            ("v1", "._shop"),
            ("v1", "a b"),
            ("v1/shop", "L2"),
            (roles, "._01.jsonl"),
            (roles, "01 (1).jsonl"),
            (roles, "01.jsonl~"),
            (roles, "01.jsonl.orig"),
            (roles, "01.JSONL"),
            (roles, "é.jsonl"),
            (roles, "01.jsonl."),
            (roles, ".DS_Store"),
            (roles, "desktop.ini"),
        ] {
            assert!(!belongs(folder, name), "{folder}/{name}");
        }
    }
}
