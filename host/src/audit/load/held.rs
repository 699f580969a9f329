//! Rows of the index, held against the lines that they repeat.
//!
//! Whoever may write the database may write anything into it, in tables that
//! are as they should be. So before a row decides anything its line is read,
//! and no row may be missing without the file saying why.

use std::collections::HashSet;

use super::{LINE_MAX, LoadError, Sources, fail, limits_of_path, problem_of};
use crate::audit::TREE_DIR;
use crate::audit::reader::{self, read_lines};
use crate::db::{Head, Reader, Row};
use crate::files::disk::{Disk, DiskFile, read_full};
use crate::policy::{Limits, Policy, PolicyError, Surface};

/// So many bytes of lines are held at a time.
const AT_ONCE: usize = 1 << 18;

/// The first of the rows of which the tree does not say, at its place, what it
/// says.
///
/// # Errors
/// Those of the component.
pub fn tree_denies<'r>(
    policy: &Policy,
    disk: &dyn Disk,
    rows: &[&'r Row],
) -> Result<Option<&'r Row>, PolicyError> {
    let mut held: Vec<&Row> = Vec::new();
    let mut lines = Vec::new();
    let mut open: Option<(&str, Box<dyn DiskFile>)> = None;
    for row in rows.iter().copied() {
        let path = row.path.as_str();
        if open.as_ref().is_none_or(|(at, _)| *at != path) {
            let file = disk.open_read(&format!("{TREE_DIR}/{path}"));
            open = file.ok().map(|file| (path, file));
        }
        // What cannot be read there is not what was seen there.
        let file = open.as_mut().map(|(_, file)| file.as_mut());
        if !file.is_some_and(|file| append_line(file, row, &mut lines)) {
            return Ok(Some(row));
        }
        held.push(row);
        if lines.len() >= AT_ONCE {
            if let Some(row) = denied(policy, &held, &lines)? {
                return Ok(Some(row));
            }
            held.clear();
            lines.clear();
        }
    }
    denied(policy, &held, &lines)
}

/// Appends the line at a row's place, if one line is there.
fn append_line(file: &mut dyn DiskFile, row: &Row, lines: &mut Vec<u8>) -> bool {
    let at = lines.len();
    let Some(length) = usize::try_from(row.length)
        .ok()
        .filter(|length| *length <= LINE_MAX)
    else {
        return false;
    };
    lines.resize(at.saturating_add(length), 0);
    let room = lines.get_mut(at..).unwrap_or_default();
    let whole = read_full(file, row.offset, room).is_ok_and(|read| read == length);
    whole && room.iter().position(|byte| *byte == b'\n') == length.checked_sub(1)
}

/// The first of the rows that its line does not say.
fn denied<'r>(
    policy: &Policy,
    rows: &[&'r Row],
    lines: &[u8],
) -> Result<Option<&'r Row>, PolicyError> {
    // They were judged when they were indexed; each only has to be the same.
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    let mut rest = lines;
    let mut rows = rows.iter().copied();
    while !rest.is_empty() {
        let mut start = reader::cursor(Surface::Flat, &Head::default());
        start.at_end = true;
        let checked = policy.check_lines(rest, &start, limits)?;
        for line in &checked.lines {
            let Some(row) = rows.next() else {
                return Ok(None);
            };
            let same = reader::row(line, &row.path).is_some_and(|read| {
                read.rec == row.rec
                    && read.chain == row.chain
                    && read.attestation_ref == row.attestation_ref
                    && read.round == row.round
            });
            if !same {
                return Ok(Some(row));
            }
        }
        let consumed = usize::try_from(checked.consumed).unwrap_or(usize::MAX);
        rest = rest.get(consumed..).unwrap_or_default();
        if checked.lines.is_empty() {
            break;
        }
    }
    Ok(rows.next())
}

/// What is wrong with a file of the tree, the first of it: where the tree denies
/// what a row says, it may be the tree that was changed.
///
/// # Errors
/// Those of the disk and the component.
pub fn first_damage(sources: Sources<'_>, path: &str) -> Result<Option<LoadError>, LoadError> {
    let full = format!("{TREE_DIR}/{path}");
    let mut open = sources.disk.open_read(&full).map_err(fail(&full))?;
    let (mut seen, mut damage) = (HashSet::new(), None);
    let start = reader::cursor(Surface::Tree(path.to_owned()), &Head::default());
    let limits = limits_of_path(sources.limits, path);
    read_lines(sources.policy, limits, open.as_mut(), start, &mut |line| {
        let digest = line.digest();
        let known = !seen.insert(digest)
            || sources
                .losses
                .has_digest(&full, line.checked.number, &digest);
        if damage.is_none() && !known && !line.is_partial() {
            damage = problem_of(&full, &line);
        }
        Ok::<_, LoadError>(())
    })?;
    Ok(damage)
}

/// Whether every line that the index counts has its row; where not, the file
/// says why: a line is accepted as lost, or is there twice.
///
/// # Errors
/// `engine-db-corrupt` for a row that is missing; those of the component.
pub fn rows_are_there(sources: Sources<'_>, reader: &Reader<'_>) -> Result<(), LoadError> {
    if reader.row_count()? == reader.indexed_lines()? {
        return Ok(());
    }
    for (path, head) in reader.heads()? {
        if reader.row_count_of(head.file_id)? != head.lines
            && !lines_say_why(sources, reader, &path, &head)?
        {
            return Err(reader.contradiction(&path).into());
        }
    }
    Ok(())
}

fn lines_say_why(
    sources: Sources<'_>,
    reader: &Reader<'_>,
    path: &str,
    head: &Head,
) -> Result<bool, LoadError> {
    let Sources {
        policy,
        disk,
        losses,
        ..
    } = sources;
    let full = format!("{TREE_DIR}/{path}");
    let mut open = disk.open_read(&full).map_err(fail(&full))?;
    let (mut seen, mut all) = (HashSet::new(), true);
    let start = reader::cursor(Surface::Tree(path.to_owned()), &Head::default());
    let limits = limits_of_path(sources.limits, path);
    read_lines(policy, limits, open.as_mut(), start, &mut |line| {
        let number = line.checked.number;
        let digest = line.digest();
        // What came since is not the index's business yet.
        if number > head.lines || !seen.insert(digest) || losses.has_digest(&full, number, &digest)
        {
            return Ok(());
        }
        all &= match reader::row(&line.checked, path) {
            None => false,
            // The same record may stand there twice in other words.
            Some(row) => reader
                .round(&row.attestation_ref, row.round)?
                .iter()
                .any(|known| known.path == path && known.rec == row.rec),
        };
        Ok::<_, LoadError>(())
    })?;
    Ok(all)
}
