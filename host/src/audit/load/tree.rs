//! The index brought up to the tree.

use std::collections::{BTreeSet, HashMap};

use super::{LoadError, Loaded, Notice, Sources, fail, flat, meta};
use crate::audit::proof::{ProofError, index_proves};
use crate::audit::reader::ReadError;
use crate::audit::{Found, TREE_DIR, walk};
use crate::db::{Head, Reader, Tx};
use crate::files::append::parents;
use crate::files::disk::Disk;

/// Files that are made durable each by itself; of more, all at once.
pub(super) const FEW: usize = 8;

/// Indexes what the index does not have.
pub(super) fn index_tree(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<(), LoadError> {
    let mut known: HashMap<String, Head> = tx.heads()?.into_iter().collect();
    loaded.from_nothing = known.is_empty() && tx.row_count()? == 0;
    let mut pass = Pass {
        sources,
        tx,
        loaded,
        records: 0,
        next_file: tx.new_file_id()?,
        to_sync: Vec::new(),
    };
    let late = pass.loaded.from_nothing && tx.drop_indexes()?;
    pass.left_out(&mut known)?;
    walk_if_there(sources, &mut |path, found| {
        let full = || format!("{TREE_DIR}/{path}");
        match found {
            Found::Symlink => pass.loaded.damage(LoadError::Symlink { path: full() }),
            Found::Unreadable(source) => pass.loaded.damage(fail(&full())(source)),
            Found::Foreign => {
                // In nobody's way, but where the index knows a file, that file
                // is gone.
                pass.loaded.notices.push(Notice::Foreign { path: full() });
                return Ok(());
            }
            Found::Lines(meta) => {
                let head = known.remove(&path);
                let unchanged = head
                    .as_ref()
                    .is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns);
                if !unchanged {
                    pass.file(&path, head, meta)?;
                }
                return Ok(());
            }
        }
        // What could not be looked at may hold what the index knows.
        known.retain(|file, _| !file.starts_with(&format!("{path}/")) && *file != path);
        Ok::<_, LoadError>(())
    })?;
    let mut gone: Vec<_> = known.into_iter().filter(|(_, h)| h.bytes > 0).collect();
    gone.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, head) in gone {
        if !pass.follow(&path, &head)? {
            pass.loaded.damage(LoadError::TailMissing {
                path,
                found: 0,
                seen: head.bytes,
            });
        }
    }
    if late {
        tx.make_indexes()?;
    }
    let (records, to_sync) = (pass.records, pass.to_sync);
    make_durable(sources.disk, &to_sync)?;
    if records > 0 {
        loaded.notices.push(Notice::Indexed { records });
    }
    Ok(())
}

/// Walks the tree; where it is not there, which git may have left out whole,
/// nothing is told.
fn walk_if_there(
    sources: Sources<'_>,
    each: &mut dyn FnMut(String, Found) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    match meta(sources.disk, TREE_DIR)? {
        Some(_) => walk(sources.policy, sources.disk, TREE_DIR, each),
        None => Ok(()),
    }
}

/// Whether no file differs from what the index saw.
pub(super) fn is_current(sources: Sources<'_>, reader: &Reader<'_>) -> Result<bool, LoadError> {
    let mut known: HashMap<String, Head> = reader.heads()?.into_iter().collect();
    let mut current = true;
    walk(
        sources.policy,
        sources.disk,
        TREE_DIR,
        &mut |path, found| {
            match found {
                Found::Lines(meta) => {
                    let head = known.remove(&path);
                    current &=
                        head.is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns);
                }
                Found::Foreign => {}
                Found::Symlink | Found::Unreadable(_) => current = false,
            }
            Ok::<_, LoadError>(())
        },
    )?;
    let left_out = || sources.elsewhere.left_out(sources.policy, sources.disk);
    Ok(current && known.values().all(|head| head.bytes == 0) && left_out().is_empty())
}

/// Whether git took every file of a tree that is not there; then the index
/// follows.
pub(super) fn moved_whole(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<bool, LoadError> {
    let heads = tx.heads()?;
    let mut moved = Vec::new();
    for (path, head) in heads.iter().filter(|(_, head)| head.bytes > 0) {
        if !index_proves(tx, sources.policy, head)? {
            return Ok(false);
        }
        match sources.elsewhere.moved(sources, path, head)? {
            Some(records) => moved.push((path, records)),
            None => return Ok(false),
        }
    }
    if moved.is_empty() {
        return Ok(false);
    }
    for (_, head) in &heads {
        forget(tx, loaded, head)?;
    }
    for (path, records) in moved {
        note_moved(tx, loaded, path, records)?;
    }
    Ok(true)
}

fn forget(tx: &Tx<'_>, loaded: &mut Loaded, head: &Head) -> Result<(), LoadError> {
    flat::doubt(tx)?;
    for attestation_ref in tx.forget_file(head.file_id)? {
        loaded.touch(&attestation_ref, 0);
    }
    Ok(())
}

fn note_moved(tx: &Tx<'_>, loaded: &mut Loaded, path: &str, records: u64) -> Result<(), LoadError> {
    tx.set_note(&moved_note(path), MOVED)?;
    loaded.moved(records);
    Ok(())
}

/// What that note says at first; then the pass that is used instead.
pub(crate) const MOVED: &str = "moved";

/// The note that git moved a file once: somebody who appends to it has to look
/// whether there is more of it elsewhere.
pub(crate) fn moved_note(path: &str) -> String {
    format!("moved:{path}")
}

/// One pass over the tree.
pub(super) struct Pass<'a, 'b> {
    pub(super) sources: Sources<'a>,
    pub(super) tx: &'a Tx<'a>,
    pub(super) loaded: &'b mut Loaded,
    pub(super) records: u64,
    pub(super) next_file: i64,
    /// Files that have to be made durable, with the directories above them.
    pub(super) to_sync: Vec<String>,
}

/// Makes files durable that this process did not write: what is acknowledged
/// from here on has to be as durable as if it had. A few are worth a call each.
fn make_durable(disk: &dyn Disk, files: &[String]) -> Result<(), LoadError> {
    if files.len() > FEW {
        return disk.sync_all().map_err(fail(TREE_DIR));
    }
    let mut dirs = BTreeSet::new();
    for path in files {
        let mut file = disk.open_append(path).map_err(fail(path))?;
        file.sync().map_err(fail(path))?;
        dirs.extend(parents(path));
        dirs.insert("");
    }
    for dir in dirs.into_iter().rev() {
        disk.sync_dir(dir).map_err(fail(dir))?;
    }
    Ok(())
}

impl Pass<'_, '_> {
    /// Tells of the files that git's sparse checkout leaves out. What they say
    /// cannot be read, so nobody can say where their arrows stand; what the
    /// index saw of them is not gone as long as HEAD has all of it.
    fn left_out(&mut self, known: &mut HashMap<String, Head>) -> Result<(), LoadError> {
        let Sources {
            policy,
            disk,
            elsewhere,
            ..
        } = self.sources;
        for path in elsewhere.left_out(policy, disk) {
            let whole = match known.get(&path) {
                Some(head) => elsewhere.head_has(self.sources, &path, head)?,
                None => true,
            };
            if whole {
                known.remove(&path);
                self.loaded.damage(LoadError::NotCheckedOut { path });
            }
        }
        Ok(())
    }

    /// Takes a file that is not what the index saw out of the index; if the
    /// index really saw what it says. Returns whether git moved it, so that
    /// nothing is lost.
    pub(super) fn follow(&mut self, path: &str, head: &Head) -> Result<bool, LoadError> {
        let Sources {
            policy, elsewhere, ..
        } = self.sources;
        if !index_proves(self.tx, policy, head)? {
            return Err(self.tx.contradiction(path).into());
        }
        forget(self.tx, self.loaded, head)?;
        let moved = elsewhere.moved(self.sources, path, head)?;
        if let Some(records) = moved {
            note_moved(self.tx, self.loaded, path, records)?;
        }
        Ok(moved.is_some())
    }
}

impl From<ProofError> for LoadError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Db(e) => Self::Db(e),
            ProofError::Policy(e) => Self::Read(ReadError::Policy(e)),
        }
    }
}
