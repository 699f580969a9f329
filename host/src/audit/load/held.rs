//! Rows of the index, held against the lines that they repeat.
//!
//! Whoever may write the database may write anything into it, in tables that
//! are as they should be. So before a row decides anything its line is read,
//! and no row may be missing without the file saying why.

use std::collections::HashSet;

use super::{LoadError, Sources, bytes_at, fail, limits_of_path};
use crate::audit::TREE_DIR;
use crate::audit::reader::{self, read_lines};
use crate::db::{Head, Reader, Row};
use crate::files::disk::Disk;
use crate::policy::{Limits, Policy, PolicyError, Surface};

/// Whether the tree says at the row's place what the row says.
///
/// # Errors
/// Those of the component.
pub fn tree_says(policy: &Policy, disk: &dyn Disk, row: &Row) -> Result<bool, PolicyError> {
    // What cannot be read there is not what was seen there.
    let Ok(bytes) = bytes_at(disk, &row.path, row.offset, row.length) else {
        return Ok(false);
    };
    let mut alone = reader::cursor(Surface::Flat, &Head::default());
    alone.at_end = true;
    // It was judged when it was indexed; it only has to be the same.
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    let checked = policy.check_lines(&bytes, &alone, limits)?;
    let [line] = checked.lines.as_slice() else {
        return Ok(false);
    };
    Ok(reader::row(line, &row.path).is_some_and(|read| {
        read.rec == row.rec
            && read.chain == row.chain
            && read.attestation_ref == row.attestation_ref
            && read.round == row.round
    }))
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
