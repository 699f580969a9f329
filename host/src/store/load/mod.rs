//! The start of a session: the index and the flat file brought up to the tree.
//!
//! Only files whose size or time of change differ from the index are read, and
//! only from where the index stopped. What a crash explains (a partial last
//! line, an index or flat file behind the tree) is put right and reported;
//! what it does not explain is refused and left as it is. Doing it twice comes
//! to the same as doing it once.

mod flat;
mod migrate;
mod tree;

use std::io;

pub use flat::last_newline;

use super::disk::{Disk, Kind, Meta};
use super::reader::{Line, ReadError};
use super::tree::TREE_DIR;
use super::{FLAT_FILE, FlatFile};
use crate::engine::{EngineDb, EngineError, Row};
use crate::losses::AcceptedLosses;
use crate::policy::{Limits, Policy};

/// Why a session may not start on this project.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The tree is gone while records of it are known.
    #[error(
        "{TREE_DIR}: the audit tree is missing, though {known} of its records are known; nothing was created"
    )]
    Lost {
        /// Records known from the index or the flat file.
        known: u64,
    },
    /// A file has less than the index saw.
    #[error(
        "{TREE_DIR}/{path}: {found} bytes where the index saw {seen}; `ghyll engine rebuild-index --accept-loss` goes on without the rest"
    )]
    TailMissing {
        /// Below the tree's root.
        path: String,
        /// Bytes there now.
        found: u64,
        /// Bytes indexed.
        seen: u64,
    },
    /// A file is not the one the index saw.
    #[error(
        "{TREE_DIR}/{path}: not what the index saw; `ghyll engine verify-attestations` says more, `ghyll engine rebuild-index --accept-loss` takes it as it is"
    )]
    ChainBroken {
        /// Below the tree's root.
        path: String,
    },
    /// A line that is no good record.
    #[error("{path}:{line}: {code}: {detail}")]
    Corrupt {
        /// Below `.ghyll`.
        path: String,
        /// From 1.
        line: u64,
        /// What is wrong with it.
        code: String,
        /// In words.
        detail: String,
    },
    /// A symbolic link where a file or directory of the tree belongs.
    #[error("{path}: a symbolic link; it was not followed")]
    Symlink {
        /// Below `.ghyll`.
        path: String,
    },
    /// The database.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file.
    #[error("{path}: {source}")]
    Io {
        /// Below `.ghyll`.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Reading some file through the policy.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl LoadError {
    /// Names the file that was being read.
    fn in_file(self, path: &str) -> Self {
        match self {
            Self::Read(ReadError::Io(source)) => fail(path)(source),
            other => other,
        }
    }

    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Lost { .. } => "attestation-audit-lost",
            Self::TailMissing { .. } => "attestation-tail-missing",
            Self::ChainBroken { .. } => "attestation-chain-broken",
            Self::Corrupt { .. } => "attestation-audit-corrupt",
            Self::Symlink { .. } => "attestation-symlink-refused",
            Self::Engine(e) => e.code(),
            Self::Io { .. } => "attestation-audit-unreadable",
            Self::Read(ReadError::Io(_)) => "attestation-audit-unreadable",
            Self::Read(ReadError::Policy(e)) => e.code(),
        }
    }
}

/// Something the start of a session put right or wants known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A partial last line was cut off.
    PartialTail {
        /// Below `.ghyll`.
        path: String,
        /// Bytes cut.
        bytes: u64,
    },
    /// Records of the tree that the index did not have.
    Indexed {
        /// How many.
        records: u64,
    },
    /// Records of the tree that the flat file did not have.
    FlatCaughtUp {
        /// How many.
        records: u64,
    },
    /// Lines of the flat file that the tree does not have.
    FlatDivergence {
        /// How many.
        lines: u64,
    },
    /// A project from before the tree was moved into one.
    Migrated {
        /// Records written to the tree.
        records: u64,
        /// Pass-less lines that stay in the flat file.
        left: u64,
    },
    /// Lines that are no good records, and were accepted as lost.
    Accepted {
        /// Below `.ghyll`.
        path: String,
        /// From 1.
        line: u64,
    },
    /// A file that has no place in the tree; left alone.
    Foreign {
        /// Below `.ghyll`.
        path: String,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PartialTail { path, bytes } => {
                write!(f, "{path}: a partial last line ({bytes} bytes) was cut off")
            }
            Self::Indexed { records } => write!(f, "{records} records were indexed from the tree"),
            Self::FlatCaughtUp { records } => {
                write!(f, "{FLAT_FILE}: {records} lines were added from the tree")
            }
            Self::FlatDivergence { lines } => {
                write!(
                    f,
                    "{FLAT_FILE}: {lines} lines are not in the tree; left for you"
                )
            }
            Self::Migrated { records, left } => write!(
                f,
                "{records} records were moved into the tree; {left} lines without a pass stay in {FLAT_FILE}"
            ),
            Self::Accepted { path, line } => {
                write!(f, "{path}:{line}: passed over; it was accepted as lost")
            }
            Self::Foreign { path } => write!(f, "{path}: has no place here; left alone"),
        }
    }
}

/// What reading needs.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Judges the lines.
    pub policy: &'a Policy,
    /// The project's limits.
    pub limits: Limits,
    /// The files.
    pub disk: &'a dyn Disk,
    /// The index.
    pub db: &'a EngineDb,
    /// Lines that an operator said to go on without.
    pub losses: &'a AcceptedLosses,
}

/// Brings index and flat file up to the tree.
///
/// # Errors
/// What a crash does not explain, see [`LoadError`]; then nothing more was
/// changed than partial last lines cut off.
pub fn load(sources: Sources<'_>, flat: &FlatFile) -> Result<Vec<Notice>, LoadError> {
    let mut notices = Vec::new();
    let tree = meta(sources.disk, TREE_DIR)?.map(|meta| meta.kind);
    match tree {
        Some(Kind::Dir) => {}
        Some(Kind::Symlink) => {
            return Err(LoadError::Symlink {
                path: TREE_DIR.to_owned(),
            });
        }
        Some(_) => return Err(fail(TREE_DIR)(io::ErrorKind::NotADirectory.into())),
        None => {
            let known = sources.db.read(|tx| tx.row_count())?;
            if known > 0 || !sources.db.read(|tx| tx.heads())?.is_empty() {
                return Err(LoadError::Lost { known });
            }
        }
    }
    flat::cut_tail(sources, &mut notices)?;
    if tree.is_some() || migrate::migrate(sources, &mut notices)? {
        sources
            .db
            .transaction(|tx| tree::index_tree(sources, tx, &mut notices))?;
    }
    flat::catch_up(sources, flat, &mut notices)?;
    Ok(notices)
}

/// Makes the index anew from the tree, all of it or nothing, then brings the
/// flat file up to the tree. Verdicts that took effect are known by their runs.
///
/// # Errors
/// As [`load`], but for what only a comparison with the old index can show.
pub fn rebuild(sources: Sources<'_>, flat: &FlatFile) -> Result<Vec<Notice>, LoadError> {
    let mut notices = Vec::new();
    flat::cut_tail(sources, &mut notices)?;
    let tree = meta(sources.disk, TREE_DIR)?.is_some();
    if tree || migrate::migrate(sources, &mut notices)? {
        sources.db.transaction(|tx| {
            tx.clear_index()?;
            tree::index_tree(sources, tx, &mut notices)?;
            tx.set_acted_by_runs()?;
            Ok::<_, LoadError>(())
        })?;
    }
    flat::catch_up(sources, flat, &mut notices)?;
    Ok(notices)
}

/// The bytes of a record's line, from the tree.
///
/// # Errors
/// If the file no longer has them.
pub fn line_at(disk: &dyn Disk, row: &Row) -> Result<Vec<u8>, LoadError> {
    bytes_at(disk, &row.path, row.offset, row.length)
}

fn bytes_at(disk: &dyn Disk, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, LoadError> {
    let full = format!("{TREE_DIR}/{path}");
    let mut file = disk.open_read(&full).map_err(fail(&full))?;
    let mut bytes = vec![0; length as usize];
    let read = super::disk::read_full(file.as_mut(), offset, &mut bytes).map_err(fail(&full))?;
    if read as u64 != length {
        return Err(fail(&full)(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes)
}

fn refuse_problems(full: &str, line: &Line<'_>) -> Result<(), LoadError> {
    match line.checked.problems.first() {
        None => Ok(()),
        Some(problem) => Err(LoadError::Corrupt {
            path: full.to_owned(),
            line: line.checked.number,
            code: problem.code.clone(),
            detail: problem.detail.clone(),
        }),
    }
}

fn meta(disk: &dyn Disk, path: &str) -> Result<Option<Meta>, LoadError> {
    disk.meta(path).map_err(fail(path))
}

fn fail(path: &str) -> impl FnOnce(io::Error) -> LoadError {
    move |source| LoadError::Io {
        path: path.to_owned(),
        source,
    }
}
