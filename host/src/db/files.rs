//! The database's files, looked at without SQLite.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::{DbError, ENGINE_DB, LOCKLESS};
use crate::files::is_without_locks;

/// The database itself and what SQLite puts beside it.
const SUFFIXES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Refuses everything but ordinary files, links among them; a pipe would be
/// waited on. Says whether there is a database.
pub(super) fn check(path: &Path) -> Result<bool, DbError> {
    let mut there = false;
    for suffix in SUFFIXES {
        let path = beside(path, suffix);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => return Err(DbError::Symlink { path }),
            Ok(meta) if !meta.is_file() => return Err(DbError::NotAFile { path }),
            Ok(_) => there |= suffix.is_empty(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DbError::Io { path, source }),
        }
    }
    Ok(there)
}

/// Which file it is: device and inode.
pub(super) type Id = (u64, u64);

/// Which file has the name; `None` if none has, or where files have no such
/// numbers (there, one that is open cannot be exchanged).
pub(super) fn id(path: &Path) -> Result<Option<Id>, DbError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(id_of(&meta)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DbError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(unix)]
fn id_of(meta: &fs::Metadata) -> Option<Id> {
    use std::os::unix::fs::MetadataExt;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn id_of(_: &fs::Metadata) -> Option<Id> {
    None
}

/// Whether its header says that it has a write-ahead log: to read such a
/// database SQLite makes files.
pub(super) fn is_wal(path: &Path) -> Result<bool, DbError> {
    let mut header = Vec::new();
    File::open(path)
        .and_then(|file| file.take(20).read_to_end(&mut header))
        .map_err(|source| DbError::Io {
            path: path.to_owned(),
            source,
        })?;
    Ok(header.starts_with(b"SQLite format 3\0") && header.get(18) == Some(&2))
}

/// Opens a database that is there; without locks where there are none, for who
/// writes has the project to itself then.
pub(super) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    match is_without_locks(path) {
        true => Connection::open_with_flags_and_vfs(path, flags, LOCKLESS),
        false => Connection::open_with_flags(path, flags),
    }
}

/// Opens a copy, with its journal or log; `None` if the files changed
/// meanwhile.
pub(super) fn copy(path: &Path) -> Result<Option<(Connection, TempDir)>, DbError> {
    let io = |source| DbError::Io {
        path: path.to_owned(),
        source,
    };
    let dir = crate::files::private_tempdir("ghyll-index-").map_err(io)?;
    let copied = dir.path().join(ENGINE_DB);
    let before = stamps(path);
    for suffix in ["", "-journal", "-wal"] {
        match fs::copy(beside(path, suffix), beside(&copied, suffix)) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(io(e)),
        }
    }
    if stamps(path) != before {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = open(&copied, flags).map_err(|e| DbError::from_sqlite(path, e))?;
    Ok(Some((conn, dir)))
}

fn stamps(path: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |suffix| {
        let meta = fs::metadata(beside(path, suffix)).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    };
    ["", "-journal", "-wal"].map(stamp).to_vec()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
