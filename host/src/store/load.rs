//! The start of a session: the index and the flat file brought up to the tree.
//!
//! Only files whose size or time of change differ from the index are read, and
//! only from where the index stopped. What a crash explains (a partial last
//! line, an index or flat file behind the tree) is put right and reported;
//! what it does not explain is refused and left as it is. Doing it twice comes
//! to the same as doing it once.

use std::collections::HashMap;
use std::io;

use sha2::{Digest, Sha256};

use super::append::{AppendFile, sync_parents};
use super::disk::{Disk, Kind, Meta};
use super::reader::{Line, ReadError, cursor, read_lines, row};
use super::tree::{Found, TREE_DIR, walk};
use super::{FLAT_FILE, FlatFile};
use crate::engine::{EngineDb, EngineError, Head, Row, Tx};
use crate::policy::{Limits, Policy, Surface};

/// Where a project from before the tree is built up before it is put in place.
const MIGRATING: &str = "attestations.migrating";
/// The bytes of flat lines that are no line of the tree.
const FLAT_EXTRA: &str = "flat-extra-bytes";

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
    /// Reading a file through the policy.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl LoadError {
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
}

/// Brings index and flat file up to the tree.
///
/// # Errors
/// What a crash does not explain, see [`LoadError`]; then nothing more was
/// changed than partial last lines cut off.
pub fn load(sources: Sources<'_>, flat: &FlatFile) -> Result<Vec<Notice>, LoadError> {
    let mut notices = Vec::new();
    cut_flat_tail(sources, &mut notices)?;
    match meta(sources.disk, TREE_DIR)?.map(|meta| meta.kind) {
        Some(Kind::Symlink) => {
            return Err(LoadError::Symlink {
                path: TREE_DIR.to_owned(),
            });
        }
        Some(_) => {}
        None => {
            let known = sources.db.read(|tx| tx.row_count())?;
            if known > 0 || !sources.db.read(|tx| tx.heads())?.is_empty() {
                return Err(LoadError::Lost { known });
            }
            migrate(sources, &mut notices)?;
        }
    }
    if meta(sources.disk, TREE_DIR)?.is_some() {
        sources
            .db
            .transaction(|tx| index_tree(sources, tx, &mut notices))?;
    }
    catch_up_flat(sources, flat, &mut notices)?;
    Ok(notices)
}

fn index_tree(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
    let mut known: HashMap<String, Head> = tx.heads()?.into_iter().collect();
    let mut records = 0;
    walk(
        sources.disk,
        TREE_DIR,
        &mut |path, found| match found {
            Found::Symlink => Err(LoadError::Symlink {
                path: format!("{TREE_DIR}/{path}"),
            }),
            Found::Foreign => {
                notices.push(Notice::Foreign {
                    path: format!("{TREE_DIR}/{path}"),
                });
                Ok(())
            }
            Found::Lines(meta) => {
                let head = known.remove(&path);
                if head
                    .as_ref()
                    .is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns)
                {
                    return Ok(());
                }
                records += index_file(sources, tx, &path, head, meta, notices)?;
                Ok(())
            }
        },
        &|path, source| LoadError::Io {
            path: path.to_owned(),
            source,
        },
    )?;
    if let Some((path, head)) = known.into_iter().min_by(|a, b| a.0.cmp(&b.0)) {
        return Err(LoadError::TailMissing {
            path,
            found: 0,
            seen: head.bytes,
        });
    }
    if records > 0 {
        notices.push(Notice::Indexed { records });
    }
    Ok(())
}

/// Indexes what a file has beyond its head. Returns how many records.
fn index_file(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    path: &str,
    head: Option<Head>,
    meta: Meta,
    notices: &mut Vec<Notice>,
) -> Result<u64, LoadError> {
    let seen = head.clone().unwrap_or_default();
    if meta.bytes < seen.bytes {
        return Err(LoadError::TailMissing {
            path: path.to_owned(),
            found: meta.bytes,
            seen: seen.bytes,
        });
    }
    // A file that only grew is read from where the index stopped, if its last
    // indexed line still stands there; anything else is read whole.
    let grew = meta.bytes > seen.bytes && last_line_stands(sources, path, &seen)?;
    let from = if grew { seen.clone() } else { Head::default() };

    let full = format!("{TREE_DIR}/{path}");
    let mut file = sources.disk.open_append(&full).map_err(fail(&full))?;
    let mut last_offset = from.last_offset;
    let mut records = 0;
    let mut at_head = grew || seen.lines == 0;
    let mut partial = 0;
    let start = cursor(Surface::Tree(path.to_owned()), &from);
    let end = read_lines(
        sources.policy,
        sources.limits,
        file.as_mut(),
        start,
        &mut |line| {
            if line.is_partial() {
                partial = line.checked.length;
                return Ok(());
            }
            refuse_problems(&full, &line)?;
            last_offset = line.checked.offset;
            let number = line.checked.number;
            if number == seen.lines {
                at_head = line.checked.chain == seen.chain;
            }
            if number > seen.lines {
                if let Some(row) = row(line.checked, path) {
                    insert(tx, &full, &row)?;
                    records += 1;
                }
            }
            Ok::<_, LoadError>(())
        },
    )?;
    if !at_head {
        return Err(LoadError::ChainBroken {
            path: path.to_owned(),
        });
    }
    if partial > 0 {
        file.set_len(end.bytes).map_err(fail(&full))?;
        notices.push(Notice::PartialTail {
            path: full.clone(),
            bytes: partial,
        });
    }
    // What is acknowledged from here on has to be as durable as if this
    // session had written it.
    file.sync().map_err(fail(&full))?;
    sync_parents(sources.disk, &full).map_err(fail(&full))?;
    let meta = file.meta().map_err(fail(&full))?;
    tx.set_head(
        path,
        &Head {
            bytes: end.bytes,
            lines: end.lines,
            chain: end.chain,
            last_offset,
            mtime_ns: meta.mtime_ns,
        },
    )?;
    Ok(records)
}

/// Whether the last line the index saw of a file is still there, by its chain.
fn last_line_stands(sources: Sources<'_>, path: &str, seen: &Head) -> Result<bool, LoadError> {
    if seen.lines == 0 {
        return Ok(true);
    }
    let full = format!("{TREE_DIR}/{path}");
    let file = sources.disk.open_read(&full).map_err(fail(&full))?;
    let mut file = super::disk::Prefix::new(file, seen.bytes);
    let before = Head {
        bytes: seen.last_offset,
        lines: seen.lines - 1,
        ..Head::default()
    };
    let mut stands = false;
    let start = cursor(Surface::Tree(path.to_owned()), &before);
    read_lines(
        sources.policy,
        sources.limits,
        &mut file,
        start,
        &mut |line| {
            let line = line.checked;
            stands = line.chained && line.number == seen.lines && line.chain == seen.chain;
            Ok::<_, LoadError>(())
        },
    )?;
    Ok(stands)
}

fn insert(tx: &Tx<'_>, full: &str, row: &Row) -> Result<(), LoadError> {
    if let Some(other) = tx.row(&row.rec.attestation_id)? {
        return Err(LoadError::Corrupt {
            path: full.to_owned(),
            line: row.line,
            code: "attestation-duplicate".to_owned(),
            detail: format!(
                "{} stands in {}:{} already",
                row.rec.attestation_id, other.path, other.line
            ),
        });
    }
    Ok(tx.insert_row(row)?)
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

/// Cuts off a partial last line of the flat file.
fn cut_flat_tail(sources: Sources<'_>, notices: &mut Vec<Notice>) -> Result<(), LoadError> {
    let Some(meta) = meta(sources.disk, FLAT_FILE)? else {
        return Ok(());
    };
    if meta.kind == Kind::Symlink {
        return Err(LoadError::Symlink {
            path: FLAT_FILE.to_owned(),
        });
    }
    if meta.bytes == expected_flat_bytes(sources.db)? {
        return Ok(());
    }
    let mut file = sources
        .disk
        .open_append(FLAT_FILE)
        .map_err(fail(FLAT_FILE))?;
    let end = last_newline(file.as_mut(), meta.bytes).map_err(fail(FLAT_FILE))?;
    if end < meta.bytes {
        file.set_len(end).map_err(fail(FLAT_FILE))?;
        file.sync().map_err(fail(FLAT_FILE))?;
        notices.push(Notice::PartialTail {
            path: FLAT_FILE.to_owned(),
            bytes: meta.bytes - end,
        });
    }
    Ok(())
}

/// Where the last whole line ends.
fn last_newline(file: &mut dyn super::disk::DiskFile, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    let mut buffer = [0; 4096];
    while end > 0 {
        let from = end.saturating_sub(buffer.len() as u64);
        let piece = buffer.get_mut(..(end - from) as usize).unwrap_or_default();
        let read = super::disk::read_full(file, from, piece)?;
        if let Some(at) = piece.iter().take(read).rposition(|b| *b == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

fn expected_flat_bytes(db: &EngineDb) -> Result<u64, EngineError> {
    db.read(|tx| {
        let extra = tx
            .note(FLAT_EXTRA)?
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        Ok(tx.indexed_bytes()? + extra)
    })
}

/// Adds the lines of the tree that the flat file lacks. The same bytes stand
/// in both, so equal lengths say that there are none.
fn catch_up_flat(
    sources: Sources<'_>,
    flat: &FlatFile,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
    let bytes = meta(sources.disk, FLAT_FILE)?.map_or(0, |meta| meta.bytes);
    if bytes == expected_flat_bytes(sources.db)? {
        return Ok(());
    }
    let mut have: HashMap<[u8; 32], u64> = HashMap::new();
    if bytes > 0 {
        let mut file = sources.disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
        let start = cursor(Surface::Flat, &Head::default());
        read_lines(
            sources.policy,
            sources.limits,
            file.as_mut(),
            start,
            &mut |line| {
                let legacy = line.checked.problems.is_empty() && line.checked.path.is_empty();
                if !legacy {
                    *have.entry(Sha256::digest(line.bytes).into()).or_default() += 1;
                }
                Ok::<_, LoadError>(())
            },
        )?;
    }
    let mut added = 0;
    // Read first, append after: `each_row` holds the database.
    let mut missing = Vec::new();
    sources.db.read(|tx| {
        tx.each_row(None, |row| {
            let line = line_at(sources.disk, &row)?;
            match have.get_mut(&<[u8; 32]>::from(Sha256::digest(&line))) {
                Some(count) if *count > 0 => *count -= 1,
                _ => missing.push((row.path, row.offset, row.length)),
            }
            Ok::<_, LoadError>(())
        })
    })?;
    for (path, offset, length) in missing {
        let line = bytes_at(sources.disk, &path, offset, length)?;
        flat.append(&line).map_err(fail(FLAT_FILE))?;
        added += 1;
    }
    if added > 0 {
        notices.push(Notice::FlatCaughtUp { records: added });
    }
    let lines: u64 = have.values().sum();
    if lines > 0 {
        notices.push(Notice::FlatDivergence { lines });
    }
    let bytes = meta(sources.disk, FLAT_FILE)?.map_or(0, |meta| meta.bytes);
    sources.db.transaction(|tx| {
        let extra = bytes.saturating_sub(tx.indexed_bytes()?);
        tx.set_note(FLAT_EXTRA, &extra.to_string())
    })?;
    Ok(())
}

/// Moves a project that has only a flat file into a tree. Built beside its
/// place and renamed, so that a crash leaves the old state or the new one.
fn migrate(sources: Sources<'_>, notices: &mut Vec<Notice>) -> Result<(), LoadError> {
    sources
        .disk
        .remove_dir_all(MIGRATING)
        .map_err(fail(MIGRATING))?;
    if meta(sources.disk, FLAT_FILE)?.is_none() {
        return Ok(());
    }
    let mut file = sources.disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    // Chained lines come from a tree: then this is no old project, the tree is
    // gone. Found out before anything is made.
    let (mut chained, mut records, mut left) = (0, 0, 0);
    let start = cursor(Surface::Flat, &Head::default());
    read_lines(
        sources.policy,
        sources.limits,
        file.as_mut(),
        start.clone(),
        &mut |line| {
            refuse_problems(FLAT_FILE, &line)?;
            chained += u64::from(line.checked.chained);
            let placed = u64::from(!line.checked.path.is_empty());
            records += placed;
            left += 1 - placed;
            Ok::<_, LoadError>(())
        },
    )?;
    if chained > 0 {
        return Err(LoadError::Lost { known: chained });
    }
    if records == 0 {
        return Ok(());
    }
    let disk = sources.disk;
    read_lines(
        sources.policy,
        sources.limits,
        file.as_mut(),
        start,
        &mut |line| {
            if line.checked.path.is_empty() {
                return Ok(());
            }
            let path = format!("{MIGRATING}/{}", line.checked.path);
            let bytes = disk.meta(&path).ok().flatten().map_or(0, |meta| meta.bytes);
            AppendFile::open(disk, &path, bytes)
                .and_then(|mut file| file.append(disk, line.bytes))
                .map_err(fail(&path))?;
            Ok::<_, LoadError>(())
        },
    )?;
    disk.rename(MIGRATING, TREE_DIR).map_err(fail(TREE_DIR))?;
    disk.sync_dir("").map_err(fail(TREE_DIR))?;
    notices.push(Notice::Migrated { records, left });
    Ok(())
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

fn meta(disk: &dyn Disk, path: &str) -> Result<Option<Meta>, LoadError> {
    disk.meta(path).map_err(fail(path))
}

fn fail(path: &str) -> impl FnOnce(io::Error) -> LoadError {
    move |source| LoadError::Io {
        path: path.to_owned(),
        source,
    }
}
