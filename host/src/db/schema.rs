//! What is declared in the database, and its version. A database is used only
//! if it is declared exactly as one made now would be.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{CACHE_KIB, DbError, Tx};

/// The version this program writes.
pub(super) const SCHEMA_VERSION: i64 = 4;
const SCHEMA: &str = include_str!("schema.sql");

/// Whether the database is one of this version, declared exactly as one is.
pub(super) fn check(path: &Path, conn: &Connection, found: (i64, i64)) -> Result<(), DbError> {
    let fail = |e| DbError::from_sqlite(path, e);
    let path = path.to_owned();
    match found.0 {
        SCHEMA_VERSION => {}
        found if found > SCHEMA_VERSION => return Err(DbError::Newer { path, found }),
        found => return Err(DbError::Older { path, found }),
    }
    if declared(conn).map_err(fail)? == expected().map_err(fail)? {
        Ok(())
    } else {
        Err(DbError::Foreign { path })
    }
}

/// Everything declared in it, as it was declared.
type Schema = Vec<(String, String, Option<String>)>;

fn declared(conn: &Connection) -> rusqlite::Result<Schema> {
    conn.prepare("SELECT type, name, sql FROM main.sqlite_schema ORDER BY type, name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// The statements that make the indexes over the records.
fn record_indexes() -> impl Iterator<Item = &'static str> {
    SCHEMA
        .split(';')
        .map(str::trim)
        .filter(|statement| statement.starts_with("CREATE INDEX attestations_"))
}

/// The schema of a new database.
fn expected() -> rusqlite::Result<Schema> {
    let mut conn = Connection::open_in_memory()?;
    create(&mut conn)?;
    declared(&conn)
}

/// Its version, and how much is declared in it.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<(i64, i64)> {
    let version = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((version, tables))
}

/// Declares everything in an empty database.
pub(super) fn create(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&tx)? != (0, 0) {
        // Another process was at it, too.
        return Ok(());
    }
    tx.execute_batch(SCHEMA)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    tx.commit()
}

impl Tx<'_> {
    /// Takes away the indexes over the records, which are made faster when all
    /// of these are there. Returns whether there are any to be made again.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn drop_indexes(&self) -> Result<bool, DbError> {
        if self.overlaid {
            return Ok(false);
        }
        self.cache(CACHE_KIB.0)?;
        for statement in record_indexes() {
            let name = statement.split_whitespace().nth(2).unwrap_or_default();
            self.execute(&format!("DROP INDEX {name}"), [])?;
        }
        Ok(true)
    }

    /// Makes them again.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn make_indexes(&self) -> Result<(), DbError> {
        for statement in record_indexes() {
            self.execute(statement, [])?;
        }
        self.cache(CACHE_KIB.1)
    }

    fn cache(&self, kib: i64) -> Result<(), DbError> {
        self.sql(self.conn.pragma_update(None, "cache_size", -kib))
    }

    /// Forgets the index, to be read again from the tree.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn clear_index(&self) -> Result<(), DbError> {
        for table in ["attestations", "file_heads", "standings", "notes"] {
            self.execute(&format!("DELETE FROM {table}"), [])?;
        }
        self.execute("DELETE FROM findings WHERE attestation_ref <> ''", [])
            .map(drop)
    }
}
