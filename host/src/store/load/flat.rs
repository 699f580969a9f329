//! The flat file brought up to the tree.

use std::collections::HashMap;
use std::io;

use sha2::{Digest, Sha256};

use super::{LoadError, Notice, Sources, bytes_at, fail, line_at, meta};
use crate::engine::{EngineDb, EngineError, Head};
use crate::policy::Surface;
use crate::store::disk::{DiskFile, Kind, read_full};
use crate::store::reader::{cursor, read_lines};
use crate::store::{FLAT_FILE, FlatFile};

/// The bytes of flat lines that are no line of the tree.
const FLAT_EXTRA: &str = "flat-extra-bytes";
/// How much is appended with one write, about.
const BATCH: usize = 1 << 20;

/// Cuts off a partial last line of the flat file.
pub(super) fn cut_tail(sources: Sources<'_>, notices: &mut Vec<Notice>) -> Result<(), LoadError> {
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

/// Where the last whole line among the first `bytes` bytes ends.
///
/// # Errors
/// Those of the file.
pub fn last_newline(file: &mut dyn DiskFile, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    let mut buffer = [0; 4096];
    while end > 0 {
        let from = end.saturating_sub(buffer.len() as u64);
        let piece = buffer.get_mut(..(end - from) as usize).unwrap_or_default();
        let read = read_full(file, from, piece)?;
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
pub(super) fn catch_up(
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
        let (policy, limits) = (sources.policy, sources.limits);
        read_lines(policy, limits, file.as_mut(), start, &mut |line| {
            let legacy = line.checked.problems.is_empty() && line.checked.path.is_empty();
            if !legacy {
                *have.entry(Sha256::digest(line.bytes).into()).or_default() += 1;
            }
            Ok::<_, LoadError>(())
        })
        .map_err(|e| e.in_file(FLAT_FILE))?;
    }
    // Read first, append after: `each_row` holds the database.
    let mut missing = Vec::new();
    sources.db.read(|tx| {
        tx.each_row(None, |row| {
            let line = line_at(sources.disk, &row)?;
            match have.get_mut(&<[u8; 32]>::from(Sha256::digest(&line))) {
                Some(count) if *count > 0 => *count -= 1,
                _ => missing.push(Missing {
                    time: row.rec.timestamp,
                    path: row.path,
                    offset: row.offset,
                    length: row.length,
                }),
            }
            Ok::<_, LoadError>(())
        })
    })?;
    in_order_of_writing(&mut missing);
    let records = missing.len() as u64;
    let mut batch = Vec::new();
    for line in &missing {
        batch.extend(bytes_at(
            sources.disk,
            &line.path,
            line.offset,
            line.length,
        )?);
        if batch.len() >= BATCH {
            flat.append(&batch).map_err(fail(FLAT_FILE))?;
            batch.clear();
        }
    }
    if !batch.is_empty() {
        flat.append(&batch).map_err(fail(FLAT_FILE))?;
    }
    if records > 0 {
        notices.push(Notice::FlatCaughtUp { records });
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

/// A line of the tree that the flat file lacks.
struct Missing {
    time: String,
    path: String,
    offset: u64,
    length: u64,
}

/// By time; but within a file by place, even if the clock was set back.
fn in_order_of_writing(lines: &mut [Missing]) {
    lines.sort_by(|a, b| (&a.path, a.offset).cmp(&(&b.path, b.offset)));
    let mut before: Option<(String, String)> = None;
    for line in lines.iter_mut() {
        if let Some((path, time)) = &before
            && *path == line.path
            && *time > line.time
        {
            line.time.clone_from(time);
        }
        before = Some((line.path.clone(), line.time.clone()));
    }
    lines.sort_by(|a, b| (&a.time, &a.path, a.offset).cmp(&(&b.time, &b.path, b.offset)));
}
