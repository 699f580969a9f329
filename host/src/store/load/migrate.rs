//! A project from before the tree.

use std::collections::HashSet;

use super::{LoadError, Notice, Sources, fail, meta, refuse_problems};
use crate::engine::Head;
use crate::policy::Surface;
use crate::store::append::AppendFile;
use crate::store::reader::{cursor, read_lines};
use crate::store::{FLAT_FILE, TREE_DIR};

/// Where the tree is built up before it is put in place.
const MIGRATING: &str = "attestations.migrating";

/// Moves a project that has only a flat file into a tree. Built beside its
/// place and renamed, so that a crash leaves the old state or the new one.
/// Returns whether there is a tree now.
pub(super) fn migrate(sources: Sources<'_>, notices: &mut Vec<Notice>) -> Result<bool, LoadError> {
    let disk = sources.disk;
    disk.remove_dir_all(MIGRATING).map_err(fail(MIGRATING))?;
    if meta(disk, FLAT_FILE)?.is_none() {
        return Ok(false);
    }
    let mut file = disk.open_read(FLAT_FILE).map_err(fail(FLAT_FILE))?;
    // Chained lines come from a tree: then this is no old project, the tree is
    // gone. Found out, like all that is wrong, before anything is made.
    let (mut chained, mut records, mut left) = (0, 0, 0);
    let mut ids = HashSet::new();
    let start = cursor(Surface::Flat, &Head::default());
    let (policy, limits) = (sources.policy, sources.limits);
    read_lines(policy, limits, file.as_mut(), start.clone(), &mut |line| {
        chained += u64::from(line.checked.chained);
        if chained > 0 {
            return Ok(());
        }
        refuse_problems(FLAT_FILE, &line)?;
        let placed = u64::from(!line.checked.path.is_empty());
        records += placed;
        left += 1 - placed;
        let id = line.checked.rec.map(|rec| rec.attestation_id);
        if let Some(id) = id
            && placed > 0
            && !ids.insert(id.clone())
        {
            return Err(LoadError::Corrupt {
                path: FLAT_FILE.to_owned(),
                line: line.checked.number,
                code: "attestation-duplicate".to_owned(),
                detail: format!("an earlier line is {id} too"),
            });
        }
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(FLAT_FILE))?;
    if chained > 0 {
        return Err(LoadError::Lost { known: chained });
    }
    if records == 0 {
        return Ok(false);
    }
    read_lines(policy, limits, file.as_mut(), start, &mut |line| {
        if line.checked.path.is_empty() {
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
    notices.push(Notice::Migrated { records, left });
    Ok(true)
}
