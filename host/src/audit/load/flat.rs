//! The flat file brought up to the tree.

use std::collections::{BTreeMap, HashMap};
use std::io;

use sha2::{Digest, Sha256};

use super::{LINE_MAX, LoadError, Notice, Sources, bytes_at, fail, meta};
use crate::audit::accepted_losses::hex;
use crate::audit::flat::is_remark;
use crate::audit::reader::{ReadError, cursor, read_lines};
use crate::audit::{FLAT_FILE, FlatFile};
use crate::db::{Db, DbError, Head, Row, Standing, Tx};
use crate::files::disk::{Kind, last_newline, read_full};
use crate::policy::{Limits, Surface};

/// The bytes of flat lines that are no line of the tree.
const FLAT_EXTRA: &str = "flat-extra-bytes";
/// How much is appended with one write, about.
const BATCH: usize = 1 << 20;
/// Of so many records it is asked whether they are what is missing.
const NEWEST: usize = 2000;

/// Brings the flat file up to the tree. It is only a copy: whatever is wrong
/// with it is told, and stops nothing.
///
/// # Errors
/// Those of the database and the component.
pub fn catch_up(
    sources: Sources<'_>,
    db: &Db,
    flat: &FlatFile,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
    let done = match is_whole(sources, db) {
        Ok(true) => return Ok(()),
        Ok(false) => {
            cut_tail(sources, notices).and_then(|()| add_missing(sources, db, flat, notices))
        }
        Err(e) => Err(e),
    };
    match done {
        Ok(()) => Ok(()),
        Err(e @ (LoadError::Io { .. } | LoadError::Symlink { .. })) => {
            notices.push(Notice::FlatUnusable {
                message: e.to_string(),
            });
            Ok(())
        }
        Err(e) => Err(e),
    }
}

/// Whether the flat file has all it should: the same bytes stand in the tree,
/// so equal lengths say so.
fn is_whole(sources: Sources<'_>, db: &Db) -> Result<bool, LoadError> {
    let expected = expected_flat_bytes(db)?;
    Ok(match meta(sources.disk, FLAT_FILE)? {
        Some(meta) => meta.kind == Kind::File && Some(meta.bytes) == expected,
        None => expected == Some(0),
    })
}

/// Records are taken out of the index: equal lengths say nothing any more,
/// for others may come in that are as long.
pub(super) fn doubt(tx: &Tx<'_>) -> Result<(), DbError> {
    tx.set_note(FLAT_EXTRA, "")
}

/// Cuts off a partial last line of the flat file.
fn cut_tail(sources: Sources<'_>, notices: &mut Vec<Notice>) -> Result<(), LoadError> {
    let Some(meta) = meta(sources.disk, FLAT_FILE)? else {
        return Ok(());
    };
    if meta.kind == Kind::Symlink {
        return Err(LoadError::Symlink {
            path: FLAT_FILE.to_owned(),
        });
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

/// How long the flat file is if it has all it should; `None` if the two were
/// never held against each other since the index was made.
fn expected_flat_bytes(db: &Db) -> Result<Option<u64>, DbError> {
    db.read(|reader| {
        let extra: Option<u64> = reader.note(FLAT_EXTRA)?.and_then(|n| n.parse().ok());
        extra
            .map(|extra| Ok(reader.indexed_bytes()?.saturating_add(extra)))
            .transpose()
    })
}

/// Adds the lines of the tree that the flat file lacks.
fn add_missing(
    sources: Sources<'_>,
    db: &Db,
    flat: &FlatFile,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
    let bytes = meta(sources.disk, FLAT_FILE)?.map_or(0, |meta| meta.bytes);
    if let Some(missing) = newest_missing(sources, db, bytes)? {
        return append(sources, flat, missing, notices);
    }
    let mut have: HashMap<[u8; 32], u64> = HashMap::new();
    let mut legacy = BTreeMap::new();
    if bytes > 0 {
        let mut file = sources.disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
        let start = cursor(Surface::Flat, &Head::default());
        // Lines of many grids: they are held against the tree's, not judged.
        let limits = Limits {
            max_residue_bytes: u32::MAX,
        };
        read_lines(sources.policy, limits, file.as_mut(), start, &mut |line| {
            if is_remark(line.bytes) {
                return Ok(());
            }
            if line.checked.problems.is_empty() && line.checked.path.is_empty() {
                let round = legacy
                    .entry(line.checked.attestation_ref().into_owned())
                    .or_insert(0);
                *round = line.checked.round.max(*round);
            } else {
                *have.entry(line.digest()).or_default() += 1;
            }
            Ok::<_, LoadError>(())
        })
        .map_err(|e| e.in_file(FLAT_FILE))?;
    }
    // Read first, append after: `each_unordered` holds the database.
    let mut missing = Vec::new();
    db.read(|reader| {
        reader.each_unordered(|row| {
            let line = bytes_at(sources.disk, &row.path, row.offset, row.length)?;
            match have.get_mut(&<[u8; 32]>::from(Sha256::digest(&line))) {
                Some(count) if *count > 0 => *count -= 1,
                _ => missing.push(Missing::from(row)),
            }
            Ok::<_, LoadError>(())
        })
    })?;
    append(sources, flat, missing, notices)?;
    have.retain(|_, count| *count > 0);
    if !have.is_empty() {
        drop_moved(sources, flat, &mut have)?;
    }
    let lines: u64 = have.values().sum();
    if lines > 0 {
        notices.push(Notice::FlatDivergence { lines });
    }
    let bytes = meta(sources.disk, FLAT_FILE)?.map_or(0, |meta| meta.bytes);
    db.transaction(|tx| {
        let extra = bytes.saturating_sub(tx.indexed_bytes()?);
        tx.set_note(FLAT_EXTRA, &extra.to_string())?;
        // Ids of lines without a pass are taken, though they count for nothing.
        for (attestation_ref, round) in legacy {
            if tx.standing(&attestation_ref)?.is_none() {
                tx.set_standing(&Standing {
                    attestation_ref,
                    round,
                    ..Standing::default()
                })?;
            }
        }
        Ok(())
    })
}

/// The lines that the flat file lacks, if these are those of the records that
/// came into the index last, which is how it falls behind: as many bytes as it
/// is too short, and what it ends in is another line of the tree.
fn newest_missing(
    sources: Sources<'_>,
    db: &Db,
    bytes: u64,
) -> Result<Option<Vec<Missing>>, LoadError> {
    let expected = expected_flat_bytes(db)?;
    let mut lacking = match expected.and_then(|expected| expected.checked_sub(bytes)) {
        Some(lacking) if lacking > 0 && bytes > 0 => lacking,
        _ => return Ok(None),
    };
    let mut missing = Vec::new();
    for row in db.read(|reader| reader.newest_rows(NEWEST))? {
        lacking = match lacking.checked_sub(row.length) {
            Some(lacking) => lacking,
            None => return Ok(None),
        };
        missing.push(Missing::from(row));
        if lacking == 0 {
            let known = ends_in_a_record(sources, db, bytes, &missing)?;
            return Ok(known.then_some(missing));
        }
    }
    Ok(None)
}

/// Whether the flat file ends in a line of the tree that is not `missing`.
fn ends_in_a_record(
    sources: Sources<'_>,
    db: &Db,
    bytes: u64,
    missing: &[Missing],
) -> Result<bool, LoadError> {
    let mut file = sources.disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    let start = last_newline(file.as_mut(), bytes.saturating_sub(1)).map_err(fail(FLAT_FILE))?;
    let length = usize::try_from(bytes.saturating_sub(start)).unwrap_or(usize::MAX);
    if length > LINE_MAX {
        return Ok(false);
    }
    let mut line = vec![0; length];
    let read = read_full(file.as_mut(), start, &mut line).map_err(fail(FLAT_FILE))?;
    let mut alone = cursor(Surface::Flat, &Head::default());
    alone.at_end = true;
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    let checked = sources.policy.check_lines(&line, &alone, limits);
    let checked = checked.map_err(ReadError::Policy)?;
    let Some(last) = checked.lines.first().filter(|_| read == length) else {
        return Ok(false);
    };
    let rows = db.read(|reader| reader.round(&last.attestation_ref(), last.round))?;
    for row in rows {
        let lacks = |m: &Missing| (&m.path, m.offset) == (&row.path, row.offset);
        if row.length == length as u64
            && !missing.iter().any(lacks)
            && bytes_at(sources.disk, &row.path, row.offset, row.length)? == line
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Appends lines of the tree.
fn append(
    sources: Sources<'_>,
    flat: &FlatFile,
    mut missing: Vec<Missing>,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
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
    Ok(())
}

/// Drops the lines that git took out of the tree and has: what is `left` of
/// the flat file when every line of the tree is taken away, as far as a commit
/// has it.
fn drop_moved(
    sources: Sources<'_>,
    flat: &FlatFile,
    left: &mut HashMap<[u8; 32], u64>,
) -> Result<(), LoadError> {
    let disk = sources.disk;
    let mut file = disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    let start = cursor(Surface::Flat, &Head::default());
    let (mut kept, mut dropped) = (Vec::new(), false);
    read_lines(sources.policy, limits, file.as_mut(), start, &mut |line| {
        let count = left.get_mut(&<[u8; 32]>::from(Sha256::digest(line.bytes)));
        match count.filter(|count| **count > 0) {
            Some(count)
                if sources
                    .elsewhere
                    .has_line(disk, &line.checked.path, line.bytes) =>
            {
                *count -= 1;
                dropped = true;
            }
            _ if line.bytes.is_empty() => {
                // Too long to be held here: then all of it stays as it is.
                return Err(fail(FLAT_FILE)(io::Error::other("no line is so long")));
            }
            _ => kept.extend_from_slice(line.bytes),
        }
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(FLAT_FILE))?;
    drop(file);
    match dropped {
        true => flat.replace(&kept).map_err(fail(FLAT_FILE)),
        false => Ok(()),
    }
}

/// Tells `each` of the lines of the flat file that the tree does not have: the
/// number of each and the SHA-256 of its bytes.
///
/// # Errors
/// Those of the database and the component; a flat file that cannot be read
/// has none.
pub fn each_flat_extra(
    sources: Sources<'_>,
    db: &Db,
    each: &mut dyn FnMut(u64, &str),
) -> Result<(), LoadError> {
    match meta(sources.disk, FLAT_FILE) {
        Ok(Some(meta)) if meta.kind == Kind::File => {}
        _ => return Ok(()),
    }
    let mut tree: HashMap<[u8; 16], u32> = HashMap::new();
    db.read(|reader| {
        reader.each_unordered(|row| {
            let line = bytes_at(sources.disk, &row.path, row.offset, row.length)?;
            *tree.entry(half(&Sha256::digest(&line).into())).or_default() += 1;
            Ok::<_, LoadError>(())
        })
    })?;
    let mut file = sources.disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    let start = cursor(Surface::Flat, &Head::default());
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    read_lines(sources.policy, limits, file.as_mut(), start, &mut |line| {
        let legacy = line.checked.problems.is_empty() && line.checked.path.is_empty();
        if legacy || line.is_partial() || is_remark(line.bytes) {
            return Ok(());
        }
        let digest = line.digest();
        match tree.get_mut(&half(&digest)) {
            Some(count) if *count > 0 => *count -= 1,
            _ if sources
                .elsewhere
                .has_line(sources.disk, &line.checked.path, line.bytes) => {}
            _ => each(line.checked.number, &hex(&digest)),
        }
        Ok::<_, LoadError>(())
    })
    .map(drop)
    .map_err(|e| e.in_file(FLAT_FILE))
}

/// The first half of a digest.
fn half(digest: &[u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = *from);
    half
}

/// A line of the tree that the flat file lacks.
struct Missing {
    time: String,
    path: String,
    offset: u64,
    length: u64,
}

impl From<Row> for Missing {
    fn from(row: Row) -> Self {
        Self {
            time: row.rec.timestamp,
            path: row.path,
            offset: row.offset,
            length: row.length,
        }
    }
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
