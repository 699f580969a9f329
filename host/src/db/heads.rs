//! How far each file of the tree was read.

use rusqlite::{Row, params};

use super::{DbError, Reader, Tx};

/// How far a file of the tree was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Its number in the index; 0 before it has one.
    pub file_id: i64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// The chain behind its last line; empty for a file without any.
    pub chain: String,
    /// Where its last line starts, in bytes.
    pub last_offset: u64,
    /// Its time of last change, nanoseconds since 1970.
    pub mtime_ns: i64,
}

const COLUMNS: &str = "file_id, bytes, lines, chain, last_offset, mtime_ns";

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        file_id: row.get(0)?,
        bytes: row.get(1)?,
        lines: row.get(2)?,
        chain: row.get(3)?,
        last_offset: row.get(4)?,
        mtime_ns: row.get(5)?,
    })
}

impl Reader<'_> {
    /// How far a file was read.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn head(&self, path: &str) -> Result<Option<Head>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM file_heads WHERE path = ?1");
        self.first(&sql, [path], head)
    }

    /// Tells `each` of every head, in order of paths.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_head<E: From<DbError>>(
        &self,
        mut each: impl FnMut(String, Head) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {COLUMNS}, path FROM file_heads ORDER BY path");
        self.each(&sql, [], |row| {
            let (path, head) = self.sql(row.get(6).and_then(|path| Ok((path, head(row)?))))?;
            each(path, head)
        })
    }

    /// How many files have lines.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn head_count(&self) -> Result<u64, DbError> {
        self.count("SELECT count(*) FROM file_heads WHERE lines > 0", [])
    }

    /// All heads, by path.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn heads(&self) -> Result<Vec<(String, Head)>, DbError> {
        let mut heads = Vec::new();
        self.each_head(|path, head| {
            heads.push((path, head));
            Ok::<_, DbError>(())
        })?;
        Ok(heads)
    }

    /// The lines of all files of the tree together, as indexed.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn indexed_lines(&self) -> Result<u64, DbError> {
        self.count("SELECT coalesce(sum(lines), 0) FROM file_heads", [])
    }

    /// The bytes of all files of the tree together, as indexed.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn indexed_bytes(&self) -> Result<u64, DbError> {
        self.count("SELECT coalesce(sum(bytes), 0) FROM file_heads", [])
    }
}

impl Tx<'_> {
    /// A number for a file that has none yet.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn new_file_id(&self) -> Result<i64, DbError> {
        self.next_id("file_heads", "file_id")
    }

    /// Sets how far a file was read.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_head(&self, path: &str, head: &Head) -> Result<(), DbError> {
        self.execute("DELETE FROM file_heads WHERE file_id = ?1", [head.file_id])?;
        self.execute(
            "INSERT INTO file_heads (file_id, path, bytes, lines, chain, last_offset, mtime_ns) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                head.file_id,
                path,
                head.bytes,
                head.lines,
                head.chain,
                head.last_offset,
                head.mtime_ns
            ],
        )
        .map(drop)
    }

    /// Forgets a file and its records. Returns the refs these answered.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn forget_file(&self, file_id: i64) -> Result<Vec<String>, DbError> {
        let refs = self.all(
            "SELECT DISTINCT attestation_ref FROM attestations WHERE file_id = ?1",
            [file_id],
            |row| row.get(0),
        )?;
        self.execute("DELETE FROM attestations WHERE file_id = ?1", [file_id])?;
        self.execute("DELETE FROM file_heads WHERE file_id = ?1", [file_id])?;
        Ok(refs)
    }
}
