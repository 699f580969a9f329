//! Reading and writing, told apart by type: whoever holds a [`Reader`] cannot
//! change anything, and a [`Tx`] can do whatever a reader can.

use std::ops::Deref;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Row, Statement};

use super::DbError;

/// A consistent look at the tables; what can be asked is said beside each of
/// them.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) conn: &'a Connection,
    pub(super) path: &'a Path,
    /// Whether temporary tables stand in front of the database's own.
    pub(super) overlaid: bool,
}

/// A transaction: all of it happens or nothing.
#[derive(Debug)]
pub struct Tx<'a>(pub(super) Reader<'a>);

impl<'a> Deref for Tx<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Reader<'_> {
    /// The error for a file of the tree of which the index says what it cannot
    /// prove.
    pub fn contradiction(&self, file: &str) -> DbError {
        DbError::Contradiction {
            path: self.path.to_owned(),
            file: file.to_owned(),
        }
    }

    /// A number that is another one for whoever looks after another process
    /// changed the database.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn data_version(&self) -> Result<i64, DbError> {
        let version = |row: &Row<'_>| row.get(0);
        self.sql(self.conn.pragma_query_value(None, "data_version", version))
    }

    pub(super) fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, DbError> {
        result.map_err(|e| DbError::from_sqlite(self.path, e))
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, DbError> {
        self.sql(self.conn.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_map(params, row)?
                .collect::<rusqlite::Result<Vec<T>>>()
        }))
    }

    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DbError> {
        self.sql(
            self.conn
                .prepare_cached(sql)
                .and_then(|mut s| s.query_row(params, row).optional()),
        )
    }

    /// Tells `each` of every row, one at a time.
    pub(super) fn each<E: From<DbError>>(
        &self,
        sql: &str,
        params: impl Params,
        mut each: impl FnMut(&Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.sql(self.conn.prepare_cached(sql))?;
        let mut rows = self.sql(statement.query(params))?;
        while let Some(row) = self.sql(rows.next())? {
            each(row)?;
        }
        Ok(())
    }

    pub(super) fn count(&self, sql: &str, params: impl Params) -> Result<u64, DbError> {
        Ok(self.first(sql, params, |row| row.get(0))?.unwrap_or(0))
    }

    /// The number a new row of `table` gets.
    pub(super) fn next_id(&self, table: &str, column: &str) -> Result<i64, DbError> {
        let newest = |name: &str| {
            let sql = format!("SELECT max({column}) FROM {name}");
            let newest: Option<Option<i64>> = self.first(&sql, [], |row| row.get(0))?;
            Ok::<_, DbError>(newest.flatten().unwrap_or(0))
        };
        let mut id = newest(&format!("main.{table}"))?;
        if self.overlaid {
            id = id.max(newest(&format!("temp.new_{table}"))?);
        }
        Ok(id.saturating_add(1))
    }
}

impl Tx<'_> {
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, DbError> {
        self.sql(
            self.conn
                .prepare_cached(sql)
                .and_then(|mut s: rusqlite::CachedStatement<'_>| {
                    let statement: &mut Statement<'_> = &mut s;
                    statement.execute(params)
                }),
        )
    }
}
