//! Digests of covered files, remembered by what a file looks like from
//! outside. Only a status relies on them, never a record.

use rusqlite::{Row, params};

use super::{DbError, Reader, Tx};

/// A file's digest, and what the file looked like when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest<'a> {
    /// The path from the project's root.
    pub path: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// Its time of last change of content, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Its time of last change of anything, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Its inode.
    pub inode: u64,
    /// SHA-256 of its bytes, hex.
    pub sha256: &'a str,
    /// When it was read, nanoseconds since 1970.
    pub seen_at_ns: i64,
}

fn digest<'a>(row: &'a Row<'_>) -> rusqlite::Result<Digest<'a>> {
    Ok(Digest {
        path: row.get_ref(0)?.as_str()?,
        size: row.get(1)?,
        mtime_ns: row.get(2)?,
        ctime_ns: row.get(3)?,
        // SQLite's integers are signed; an inode is only compared.
        inode: row.get::<_, i64>(4)?.cast_unsigned(),
        sha256: row.get_ref(5)?.as_str()?,
        seen_at_ns: row.get(6)?,
    })
}

impl Reader<'_> {
    /// Everything that is remembered, in the order of the paths' bytes.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn each_digest(&self, mut each: impl FnMut(Digest<'_>)) -> Result<(), DbError> {
        self.each(
            "SELECT path, size, mtime_ns, ctime_ns, inode, sha256, seen_at_ns FROM digests \
             ORDER BY path",
            [],
            |row| {
                each(self.sql(digest(row))?);
                Ok(())
            },
        )
    }
}

impl Tx<'_> {
    /// Remembers a digest.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn remember_digest(&self, digest: &Digest<'_>) -> Result<(), DbError> {
        self.execute("DELETE FROM digests WHERE path = ?1", [digest.path])?;
        self.execute(
            "INSERT INTO digests (path, size, mtime_ns, ctime_ns, inode, sha256, seen_at_ns) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                digest.path,
                digest.size,
                digest.mtime_ns,
                digest.ctime_ns,
                digest.inode.cast_signed(),
                digest.sha256,
                digest.seen_at_ns,
            ],
        )
        .map(drop)
    }
}
