//! A project from before the tree.

use std::collections::HashMap;

use super::{LoadError, Loaded, Notice, Sources, fail, meta, problem_of};
use crate::audit::accepted_losses::hex;
use crate::audit::flat::is_remark;
use crate::audit::reader::{cursor, read_lines, row};
use crate::audit::{FLAT_FILE, TREE_DIR};
use crate::db::{Head, Tx};
use crate::files::append::AppendFile;
use crate::files::disk::{DiskFile, Kind};
use crate::policy::{Limits, Surface};

/// Where the tree is built up before it is put in place.
const MIGRATING: &str = "attestations.migrating";

/// Moves a project that has only a flat file into a tree. Built beside its
/// place and renamed, so that a crash leaves the old state or the new one.
/// Returns whether there is a tree now.
pub(super) fn migrate(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<bool, LoadError> {
    let disk = sources.disk;
    if sources.repair {
        disk.remove_dir_all(MIGRATING).map_err(fail(MIGRATING))?;
    }
    match meta(disk, FLAT_FILE)?.map(|meta| meta.kind) {
        Some(Kind::File) => {}
        // The flat file's own matter, told of where it is brought up.
        _ => return Ok(false),
    }
    let mut file = disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    // Chained lines come from a tree: then this is no old project, the tree is
    // gone. Found out, like all that is wrong, before anything is made.
    let (mut chained, mut records, mut left) = (0, 0, 0);
    // By id: the bytes of its line, by hash. One that stands there twice, byte
    // for byte, is one record.
    let mut ids: HashMap<String, [u8; 32]> = HashMap::new();
    let start = cursor(Surface::Flat, &Head::default());
    let policy = sources.policy;
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    read_lines(policy, limits, file.as_mut(), start.clone(), &mut |line| {
        if line.checked.chained {
            let path = line.checked.path.as_ref();
            chained += u64::from(!sources.elsewhere.has_line(disk, path, line.bytes));
            return Ok(());
        }
        if chained > 0 {
            return Ok(());
        }
        if is_remark(line.bytes) {
            return Ok(());
        }
        if let Some(problem) = problem_of(FLAT_FILE, &line) {
            return Err(problem);
        }
        if line.checked.path.is_empty() {
            left += 1;
            return Ok(());
        }
        let bytes = line.digest();
        let id = line.checked.attestation_id().map(String::from);
        let twin = id.as_ref().and_then(|id| ids.get(id));
        if twin.is_none() {
            records += 1;
        }
        if let Some(id) = id
            && ids
                .insert(id.clone(), bytes)
                .is_some_and(|other| other != bytes)
        {
            return Err(LoadError::Corrupt {
                path: FLAT_FILE.to_owned(),
                line: line.checked.number,
                code: "attestation-duplicate".to_owned(),
                detail: format!("an earlier line is {id} too, and says something else"),
                sha256: hex(&bytes),
            });
        }
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(FLAT_FILE))?;
    if chained > 0 {
        return Err(LoadError::Lost { known: chained });
    }
    if records == 0 {
        if left > 0 {
            loaded.notices.push(Notice::Migrated { records, left });
        }
        return Ok(false);
    }
    loaded.notices.push(Notice::Migrated { records, left });
    if !sources.repair {
        loaded.from_nothing = true;
        let mut file = file;
        in_front(sources, tx, file.as_mut(), ids)?;
        return Ok(false);
    }
    read_lines(policy, limits, file.as_mut(), start, &mut |line| {
        let id = line.checked.attestation_id();
        // The first of several equal lines is the one that is moved.
        let first = id.is_some_and(|id| ids.remove(id.as_ref()).is_some());
        if line.checked.path.is_empty() || !first || is_remark(line.bytes) {
            return Ok(());
        }
        let path = format!("{MIGRATING}/{}", line.checked.path);
        let bytes = meta(disk, &path)?.map_or(0, |meta| meta.bytes);
        AppendFile::open(disk, &path, bytes)
            .and_then(|mut file| file.append(disk, line.bytes))
            .map_err(fail(&path))?;
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(FLAT_FILE))?;
    disk.rename(MIGRATING, TREE_DIR).map_err(fail(TREE_DIR))?;
    disk.sync_dir("").map_err(fail(TREE_DIR))?;
    Ok(true)
}

/// Indexes the records as if they stood in the tree already, for a reader, who
/// writes none but says what it would say.
fn in_front(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    file: &mut dyn DiskFile,
    mut ids: HashMap<String, [u8; 32]>,
) -> Result<(), LoadError> {
    let mut heads: HashMap<String, Head> = HashMap::new();
    let mut next = tx.new_file_id()?;
    let start = cursor(Surface::Flat, &Head::default());
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    read_lines(sources.policy, limits, file, start, &mut |line| {
        let path = line.checked.path.clone();
        let id = line.checked.attestation_id();
        let first = id.is_some_and(|id| ids.remove(id.as_ref()).is_some());
        if path.is_empty() || !first {
            return Ok(());
        }
        let Some(mut row) = row(&line.checked, &path) else {
            return Ok(());
        };
        let head = heads.entry(path.to_string()).or_default();
        if head.file_id == 0 {
            head.file_id = next;
            next = next.saturating_add(1);
        }
        head.lines = head.lines.saturating_add(1);
        (row.line, row.offset) = (head.lines, head.bytes);
        head.bytes = head.bytes.saturating_add(row.length);
        tx.insert_row(&row, head.file_id)?;
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(FLAT_FILE))?;
    for (path, head) in heads {
        tx.set_head(&path, &head)?;
    }
    Ok(())
}
