//! Digests of covered files between the database, which keeps them, and the
//! room of subjects, which knows no database.

use crate::db::{Db, DbError, Digest, ENGINE_DB, Tx};
use crate::project::Project;
use crate::subject::{Known, Memory, Remembered, Stamp};

/// What a project's database remembers; what it does not hold well is left
/// out, and a database that cannot be read remembers nothing.
pub fn of(project: &Project) -> Memory {
    let path = project.path_of(ENGINE_DB);
    Memory::of(move || {
        let db = Db::open_read_only(&path).ok().flatten();
        db.and_then(|db| load(&db).ok()).unwrap_or_default()
    })
}

fn load(db: &Db) -> Result<Known, DbError> {
    let mut known = Known::default();
    db.read(|reader| {
        reader.each_digest(|digest| {
            let Ok(sha256) = digest.sha256.parse() else {
                return;
            };
            let stamp = Stamp {
                size: digest.size,
                mtime_ns: digest.mtime_ns,
                ctime_ns: digest.ctime_ns,
                inode: digest.inode,
            };
            let seen_at_ns = digest.seen_at_ns;
            let remembered = Remembered {
                stamp,
                sha256,
                seen_at_ns,
            };
            known.add(digest.path, remembered);
        })
    })?;
    Ok(known)
}

/// Keeps what was learnt beyond what the database remembered.
///
/// # Errors
/// `engine-db-…`.
pub fn keep(tx: &Tx<'_>, memory: Memory) -> Result<(), DbError> {
    for (path, remembered) in memory.into_learnt() {
        let Remembered {
            stamp,
            sha256,
            seen_at_ns,
        } = remembered;
        tx.remember_digest(&Digest {
            path: &path,
            size: stamp.size,
            mtime_ns: stamp.mtime_ns,
            ctime_ns: stamp.ctime_ns,
            inode: stamp.inode,
            sha256: &sha256.to_string(),
            seen_at_ns,
        })?;
    }
    Ok(())
}
