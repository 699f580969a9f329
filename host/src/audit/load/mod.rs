//! The start of a session: the index and the flat file brought up to the tree.
//!
//! Only files whose size or time of change differ from the index are read, and
//! only from where the index stopped. What a crash explains (a partial last
//! line, an index or flat file behind the tree) is put right and reported;
//! what it does not explain is refused and left as it is. Doing it twice comes
//! to the same as doing it once.

mod elsewhere;
mod error;
mod file;
mod flat;
mod held;
mod migrate;
mod notice;
mod tree;

use std::collections::BTreeMap;
use std::io;

pub use elsewhere::Elsewhere;
pub use error::LoadError;
use error::fail;
use file::limits_of_path;
pub use flat::{catch_up, each_flat_extra};
pub use held::{first_damage, rows_are_there, tree_denies};
pub use notice::Notice;
pub(crate) use tree::{MOVED, moved_note};

use crate::audit::accepted_losses::{AcceptedLosses, hex};
use crate::audit::flat::{CONFLICT, is_conflict_mark};
use crate::audit::reader::Line;
use crate::audit::{FLAT_FILE, TREE_DIR};
use crate::db::{Reader, Row, Tx};
use crate::files::disk::{Disk, Kind, Meta};
use crate::policy::{Limits, Policy};

/// How many new records are told of one by one.
const NEWS_KEPT: usize = 32;
/// The longest line there is, in bytes; the policy's.
const LINE_MAX: usize = 1 << 20;
/// Faults of the tree that are kept apart; more are only counted.
const DAMAGE_KEPT: usize = 100;

/// The limits of a version of the grid; the widest where it cannot be read.
pub type LimitsOf<'a> = dyn Fn(u64) -> Limits + 'a;

/// What reading needs.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Judges the lines.
    pub policy: &'a Policy,
    /// By which limits.
    pub limits: &'a LimitsOf<'a>,
    /// The files.
    pub disk: &'a dyn Disk,
    /// Lines that an operator said to go on without.
    pub losses: &'a AcceptedLosses,
    /// What git took out of the tree, and has.
    pub elsewhere: &'a Elsewhere,
    /// Whether what a crash left unfinished is cut off, not only passed over.
    pub repair: bool,
}

/// What loading came to.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What was put right or is worth knowing.
    pub notices: Vec<Notice>,
    /// What is wrong with the tree, the first first; at most a hundred.
    pub damage: Vec<LoadError>,
    /// How much of that is kept apart, if more than a hundred.
    pub keep: usize,
    /// How much is wrong with it.
    pub damaged: usize,
    /// Files that git moved, and how many records are elsewhere by it.
    pub(in crate::audit) moved: (u64, u64),
    /// The refs whose records changed, and the oldest round that is new or
    /// gone on each.
    pub touched: BTreeMap<String, u32>,
    /// The newest of the records that are new, at most a few dozen.
    pub news: Vec<Row>,
    /// Whether the index had nothing before.
    pub from_nothing: bool,
}

impl Loaded {
    pub(super) fn damage(&mut self, damage: LoadError) {
        self.damaged = self.damaged.saturating_add(1);
        if self.damage.len() < self.keep.max(DAMAGE_KEPT) {
            self.damage.push(damage);
        }
    }

    /// Takes back what was said of a file.
    fn spare(&mut self, full: &str) {
        let before = self.damage.len();
        self.damage
            .retain(|damage| damage.path().as_deref() != Some(full));
        let spared = before - self.damage.len();
        self.damaged = self.damaged.saturating_sub(spared);
    }

    fn moved(&mut self, records: u64) {
        self.moved.0 = self.moved.0.saturating_add(1);
        self.moved.1 = self.moved.1.saturating_add(records);
    }

    fn news(&mut self, row: Row) {
        if self.from_nothing {
            return;
        }
        if self.news.len() == NEWS_KEPT {
            self.news.remove(0);
        }
        self.news.push(row);
    }

    fn touch(&mut self, attestation_ref: &str, round: u32) {
        if self.from_nothing {
            return;
        }
        match self.touched.get_mut(attestation_ref) {
            Some(oldest) => *oldest = round.min(*oldest),
            None => {
                self.touched.insert(attestation_ref.to_owned(), round);
            }
        }
    }
}

/// Whether a file of the tree is what the index saw.
///
/// # Errors
/// Those of the database and the disk.
pub fn is_as_indexed(
    sources: Sources<'_>,
    reader: &Reader<'_>,
    path: &str,
) -> Result<bool, LoadError> {
    let found = meta(sources.disk, &format!("{TREE_DIR}/{path}"))?;
    let head = reader.head(path)?;
    Ok(match (found, head) {
        (Some(found), Some(head)) => {
            found.kind == Kind::File && (found.bytes, found.mtime_ns) == (head.bytes, head.mtime_ns)
        }
        _ => false,
    })
}

/// Brings the index up to the tree as it is. What is wrong with the tree is in
/// the answer, and everything else of it in the index.
///
/// # Errors
/// Those of the database and the component.
pub fn index(sources: Sources<'_>, tx: &Tx<'_>, loaded: &mut Loaded) -> Result<(), LoadError> {
    index_all(sources, tx, loaded)?;
    let (files, records) = loaded.moved;
    if files > 0 {
        loaded.notices.push(Notice::Moved { records, files });
    }
    Ok(())
}

fn index_all(sources: Sources<'_>, tx: &Tx<'_>, loaded: &mut Loaded) -> Result<(), LoadError> {
    let disk = sources.disk;
    match meta(disk, TREE_DIR)?.map(|meta| meta.kind) {
        Some(Kind::Dir) => {}
        Some(Kind::Symlink) => {
            loaded.damage(LoadError::Symlink {
                path: TREE_DIR.to_owned(),
            });
            return Ok(());
        }
        Some(_) => {
            loaded.damage(fail(TREE_DIR)(io::ErrorKind::NotADirectory.into()));
            return Ok(());
        }
        None if !sources.elsewhere.left_out(sources.policy, disk).is_empty() => {}
        None => {
            let known = tx.row_count()?;
            if known > 0 || !tx.heads()?.is_empty() {
                if tree::moved_whole(sources, tx, loaded)? {
                    return Ok(());
                }
                loaded.damage(LoadError::Lost { known });
                return Ok(());
            }
            match migrate::migrate(sources, tx, loaded) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(damage @ (LoadError::Lost { .. } | LoadError::Corrupt { .. })) => {
                    loaded.damage(damage);
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
        }
    }
    tree::index_tree(sources, tx, loaded)
}

/// Whether [`index`] would find nothing to do.
///
/// # Errors
/// Those of the database.
pub fn is_current(sources: Sources<'_>, reader: &Reader<'_>) -> Result<bool, LoadError> {
    match meta(sources.disk, TREE_DIR)?.map(|meta| meta.kind) {
        Some(Kind::Dir) => tree::is_current(sources, reader),
        Some(_) => Ok(false),
        None => Ok(reader.heads()?.is_empty()
            && meta(sources.disk, FLAT_FILE)?.is_none()
            && sources
                .elsewhere
                .left_out(sources.policy, sources.disk)
                .is_empty()),
    }
}

/// As [`index`], where nothing may be wrong with the tree.
///
/// # Errors
/// As [`index`], and the first thing that is wrong.
pub fn index_sound(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<(), LoadError> {
    index(sources, tx, loaded)?;
    match loaded.damage.is_empty() {
        true => Ok(()),
        false => Err(loaded.damage.swap_remove(0)),
    }
}

/// A part of a file of the tree.
fn bytes_at(disk: &dyn Disk, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, LoadError> {
    let full = format!("{TREE_DIR}/{path}");
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= LINE_MAX)
        .ok_or_else(|| fail(&full)(io::Error::other("no line is so long")))?;
    let mut file = disk.open_read(&full).map_err(fail(&full))?;
    let mut bytes = vec![0; length];
    let read =
        crate::files::disk::read_full(file.as_mut(), offset, &mut bytes).map_err(fail(&full))?;
    if read != length {
        return Err(fail(&full)(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes)
}

fn problem_of(full: &str, line: &Line<'_>) -> Option<LoadError> {
    line.checked
        .problems
        .first()
        .map(|problem| LoadError::Corrupt {
            path: full.to_owned(),
            line: line.checked.number,
            code: problem.code.clone(),
            detail: match is_conflict_mark(line.bytes) {
                true => CONFLICT.to_owned(),
                false => problem.detail.clone(),
            },
            sha256: hex(&line.digest()),
        })
}

fn meta(disk: &dyn Disk, path: &str) -> Result<Option<Meta>, LoadError> {
    disk.meta(path).map_err(fail(path))
}
