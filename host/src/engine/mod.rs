//! The engine database, `.ghyll/engine.db`.
//!
//! Two things share it: the index over the audit tree, which can be rebuilt
//! from the tree at any time, and the session's own state (passes, requests,
//! runs, findings). One file per concern; this one opens the database, knows
//! its version and says what went wrong in words an operator can act on.

mod files;
mod findings;
mod index;
mod passes;
mod requests;
mod runs;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use findings::Finding;
pub use index::{Head, Recorded, Row};
pub use passes::{Pass, PassStatus};
pub use requests::Request;
pub use runs::Run;

/// The database's file below `.ghyll`.
pub const ENGINE_DB: &str = "engine.db";
/// The version this program writes.
const SCHEMA_VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
/// How long another program may hold the database before we give up.
const BUSY: Duration = Duration::from_secs(5);
/// How often a database that changes while it is copied is tried again.
const COPY_ATTEMPTS: u32 = 5;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Written by a newer ghyll.
    #[error("{}: written by a newer ghyll (schema {found}, this one knows {SCHEMA_VERSION}); it was not touched", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: i64,
    },
    /// Of a version that never was, or not ours.
    #[error("{}: has schema {found}, not {SCHEMA_VERSION}; `ghyll engine rebuild-index` sets it aside and makes it anew from the tree", path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: i64,
    },
    /// Not a database any more.
    #[error("{}: damaged ({source}); `ghyll engine rebuild-index` sets it aside and makes it anew from the tree", path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Held by another program.
    #[error("{}: locked by another program for more than {} s", path.display(), BUSY.as_secs())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// Anything else SQLite says.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A symbolic link where a file belongs.
    #[error("{}: a symbolic link; it was not followed", path.display())]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// The file itself cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl EngineError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "engine-db-newer",
            Self::Older { .. } => "engine-db-version",
            Self::Corrupt { .. } => "engine-db-corrupt",
            Self::Locked { .. } => "engine-db-locked",
            Self::Symlink { .. } => "attestation-symlink-refused",
            Self::Sqlite { .. } | Self::Io { .. } => "engine-db-unusable",
        }
    }

    fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            // The statements are ours: if one does not fit, the tables are not.
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => {
                Self::Corrupt { path, source }
            }
            _ => Self::Sqlite { path, source },
        }
    }
}

/// An open engine database. Calls are serialised.
#[derive(Debug)]
pub struct EngineDb {
    path: PathBuf,
    conn: Mutex<Connection>,
    /// Holds the copy a read-only database is read from, where one was needed.
    _copy: Option<tempfile::TempDir>,
}

impl EngineDb {
    /// Opens the database to read and write, making it if it is not there.
    ///
    /// # Errors
    /// `engine-db-…`; a newer or damaged database is not touched.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        files::check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let fail = |e| EngineError::from_sqlite(path, e);
        let mut conn = Connection::open_with_flags(path, flags).map_err(fail)?;
        conn.busy_timeout(BUSY).map_err(fail)?;
        match version(&conn).map_err(fail)? {
            (0, 0) => create(&mut conn).map_err(fail)?,
            found => check_version(path, found)?,
        }
        // A rollback journal leaves no files behind, so that readers that
        // must change nothing can read; FULL, for requests are promises.
        let mode: String = conn
            .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))
            .map_err(fail)?;
        if !mode.eq_ignore_ascii_case("delete") {
            return Err(EngineError::Locked {
                path: path.to_owned(),
            });
        }
        conn.pragma_update(None, "synchronous", "FULL")
            .map_err(fail)?;
        conn.pragma_update(None, "foreign_keys", true)
            .map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            conn: Mutex::new(conn),
            _copy: None,
        })
    }

    /// Opens the database to read; `None` if there is none. Nothing in the
    /// project is changed: a database whose last writer crashed is read from
    /// a copy, in which SQLite may put it right.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>, EngineError> {
        if !files::check(path)? {
            return Ok(None);
        }
        let fail = |e| EngineError::from_sqlite(path, e);
        let mut attempts = 0;
        let (conn, copy, found) = loop {
            attempts += 1;
            if !files::is_wal(path)? {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let conn = Connection::open_with_flags(path, flags).map_err(fail)?;
                conn.busy_timeout(BUSY).map_err(fail)?;
                match version(&conn) {
                    Ok(found) => break (conn, None, found),
                    // Left by a writer that crashed: a journal to be played
                    // back, which would change files.
                    Err(e) if e.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {}
                    Err(e) => return Err(fail(e)),
                }
            }
            if let Some((conn, dir)) = files::copy(path)? {
                conn.busy_timeout(BUSY).map_err(fail)?;
                let found = version(&conn).map_err(fail)?;
                break (conn, Some(dir), found);
            }
            // It changed while it was copied: somebody is at work on it.
            if attempts == COPY_ATTEMPTS {
                return Err(EngineError::Locked {
                    path: path.to_owned(),
                });
            }
        };
        if found == (0, 0) {
            return Ok(None);
        }
        check_version(path, found)?;
        Ok(Some(Self {
            path: path.to_owned(),
            conn: Mutex::new(conn),
            _copy: copy,
        }))
    }

    /// Whether every page is sound and every table there.
    ///
    /// # Errors
    /// `engine-db-…`, where even that cannot be told.
    pub fn is_whole(&self) -> Result<bool, EngineError> {
        let fail = |e| EngineError::from_sqlite(&self.path, e);
        let conn = self.conn();
        let check = conn.query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        });
        let words = match check.map_err(fail) {
            Ok(words) => words,
            Err(EngineError::Corrupt { .. }) => return Ok(false),
            Err(e) => return Err(e),
        };
        let ours = Self::empty()?;
        let (found, expected) = (schema(&conn).map_err(fail)?, schema(&ours.conn()));
        let expected = expected.map_err(fail)?;
        Ok(words == "ok" && expected.iter().all(|table| found.contains(table)))
    }

    /// A database with nothing in it, kept nowhere; what a reader sees of a
    /// project that has none.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn empty() -> Result<Self, EngineError> {
        let path = PathBuf::from(ENGINE_DB);
        let fail = |e| EngineError::from_sqlite(&path, e);
        let mut conn = Connection::open_in_memory().map_err(fail)?;
        create(&mut conn).map_err(fail)?;
        Ok(Self {
            path,
            conn: Mutex::new(conn),
            _copy: None,
        })
    }

    /// Runs `f` in one transaction: all of it happens or nothing.
    ///
    /// # Errors
    /// Those of `f`, and `engine-db-…`.
    pub fn transaction<T, E: From<EngineError>>(
        &self,
        f: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let fail = |e| EngineError::from_sqlite(&self.path, e);
        let conn = self.conn();
        conn.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
        let tx = Tx {
            conn: &conn,
            path: &self.path,
        };
        match f(&tx) {
            Ok(value) => match conn.execute_batch("COMMIT") {
                Ok(()) => Ok(value),
                Err(e) => {
                    let _ = conn.execute_batch("ROLLBACK");
                    Err(fail(e).into())
                }
            },
            Err(e) => {
                // Where SQLite rolled back by itself this fails, as it should.
                let _ = conn.execute_batch("ROLLBACK");
                Err(e)
            }
        }
    }

    /// Runs `f` over the database as it is.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn read<T, E>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, E>) -> Result<T, E> {
        let conn = self.conn();
        f(&Tx {
            conn: &conn,
            path: &self.path,
        })
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Access to the tables; what it can do is said beside each of them.
#[derive(Debug)]
pub struct Tx<'a> {
    conn: &'a Connection,
    path: &'a Path,
}

impl Tx<'_> {
    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, EngineError> {
        result.map_err(|e| EngineError::from_sqlite(self.path, e))
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize, EngineError> {
        self.sql(
            self.conn
                .prepare_cached(sql)
                .and_then(|mut s| s.execute(params)),
        )
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, EngineError> {
        self.sql(self.conn.prepare_cached(sql).and_then(|mut statement| {
            statement
                .query_map(params, row)?
                .collect::<rusqlite::Result<Vec<T>>>()
        }))
    }

    fn first<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, EngineError> {
        use rusqlite::OptionalExtension;
        self.sql(
            self.conn
                .prepare_cached(sql)
                .and_then(|mut s| s.query_row(params, row).optional()),
        )
    }

    fn count(&self, sql: &str, params: impl rusqlite::Params) -> Result<u64, EngineError> {
        Ok(self.first(sql, params, |row| row.get(0))?.unwrap_or(0))
    }

    /// A note left by an earlier start.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn note(&self, key: &str) -> Result<Option<String>, EngineError> {
        self.first("SELECT value FROM notes WHERE key = ?1", [key], |row| {
            row.get(0)
        })
    }

    /// Leaves a note for the next start.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_note(&self, key: &str, value: &str) -> Result<(), EngineError> {
        self.execute(
            "INSERT OR REPLACE INTO notes (key, value) VALUES (?1, ?2)",
            [key, value],
        )
        .map(drop)
    }
}

fn check_version(path: &Path, found: (i64, i64)) -> Result<(), EngineError> {
    let path = path.to_owned();
    match found {
        (SCHEMA_VERSION, _) => Ok(()),
        (found, _) if found > SCHEMA_VERSION => Err(EngineError::Newer { path, found }),
        (found, _) => Err(EngineError::Older { path, found }),
    }
}

/// Every table and index, as it was declared.
fn schema(conn: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    conn.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn version(conn: &Connection) -> rusqlite::Result<(i64, i64)> {
    let version = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((version, tables))
}

fn create(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    tx.execute_batch(SCHEMA)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    tx.commit()
}
