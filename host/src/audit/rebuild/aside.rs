//! The place of the old database: cleared, or what was in it set aside.

use super::RebuildError;
use crate::db::ENGINE_DB;
use crate::files::disk::Disk;
use crate::project::Project;

/// Renames what cannot be used, with what belongs to it, to a name not taken.
pub(super) fn set_aside(
    project: &Project,
    disk: &dyn Disk,
) -> Result<Option<String>, RebuildError> {
    let io = |source| RebuildError::Io {
        path: project.path_of(ENGINE_DB),
        source,
    };
    // The journal first: without it a crash here leaves a database that is
    // damaged still, with it under a new name none that is wrongly repaired.
    let mut there = Vec::new();
    for suffix in ["-journal", "-wal", "-shm", ""] {
        if disk
            .meta(&format!("{ENGINE_DB}{suffix}"))
            .map_err(io)?
            .is_some()
        {
            there.push(suffix);
        }
    }
    if there.is_empty() {
        return Ok(None);
    }
    let mut number = 1;
    let aside = loop {
        let name = format!("{ENGINE_DB}.set-aside-{number}");
        if disk.meta(&name).map_err(io)?.is_none() {
            break name;
        }
        number += 1;
    };
    for suffix in there {
        let name = format!("{ENGINE_DB}{suffix}");
        disk.rename(&name, &format!("{aside}{suffix}"))
            .map_err(io)?;
    }
    disk.sync_dir("").map_err(io)?;
    Ok(Some(aside))
}

/// Removes what SQLite left beside a database whose content was taken over.
pub(super) fn remove_beside(project: &Project, disk: &dyn Disk) -> Result<(), RebuildError> {
    for suffix in ["-journal", "-wal", "-shm"] {
        let name = format!("{ENGINE_DB}{suffix}");
        let path = project.path_of(&name);
        let there = disk.meta(&name);
        if there.is_ok_and(|meta| meta.is_some()) {
            std::fs::remove_file(&path).map_err(|source| RebuildError::Io { path, source })?;
        }
    }
    Ok(())
}
