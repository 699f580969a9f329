//! Digests of covered files between the database, which keeps them, and the
//! room of subjects, which knows no database.

use std::collections::HashMap;

use crate::db::{DbError, Digest, Reader, Tx};
use crate::subject::{Remembered, Stamp};

/// What is remembered of files, by path.
pub type Memory = HashMap<String, Remembered>;

/// What the database remembers; what it does not hold well is left out.
///
/// # Errors
/// `engine-db-…`.
pub fn load(reader: &Reader<'_>) -> Result<Memory, DbError> {
    let known = reader.digests()?.into_iter().filter_map(|digest| {
        let remembered = Remembered {
            stamp: Stamp {
                size: digest.size,
                mtime_ns: digest.mtime_ns,
                ctime_ns: digest.ctime_ns,
                inode: digest.inode,
            },
            sha256: digest.sha256.parse().ok()?,
            seen_at_ns: digest.seen_at_ns,
        };
        Some((digest.path, remembered))
    });
    Ok(known.collect())
}

/// Keeps what was learnt beyond what the database remembers.
///
/// # Errors
/// `engine-db-…`.
pub fn keep(tx: &Tx<'_>, learnt: Memory) -> Result<(), DbError> {
    let known = load(tx)?;
    for (path, remembered) in learnt {
        if known.get(&path) == Some(&remembered) {
            continue;
        }
        let Remembered {
            stamp,
            sha256,
            seen_at_ns,
        } = remembered;
        tx.remember_digest(&Digest {
            path,
            size: stamp.size,
            mtime_ns: stamp.mtime_ns,
            ctime_ns: stamp.ctime_ns,
            inode: stamp.inode,
            sha256: sha256.to_string(),
            seen_at_ns,
        })?;
    }
    Ok(())
}
