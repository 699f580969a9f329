//! The engine database, `.ghyll/engine.db`.
//!
//! Two things share it: the index over the audit tree, which can be made anew
//! from the tree at any time, and the session's own state (passes, requests,
//! runs). One file a table; this one opens the database and knows its version.
//!
//! A reader of a project whose tree has moved on has the newer records in
//! temporary tables in front of the database's own ([`overlay`]): the same
//! statements then answer from the tree as it is, and the file is not touched.
//!
//! Another process may put a database made anew in the place of this one
//! (`rebuild-index`), or take it away (`git clean`). What is open then has no
//! name any more, and nobody else would ever see what is written to it: so the
//! file is looked at before each use, and the one with the name is opened.

mod attestations;
mod digests;
mod error;
mod files;
mod findings;
mod heads;
mod history;
mod overlay;
mod passes;
mod requests;
mod runs;
mod salvage;
mod schema;
mod sql;
mod standings;
mod words;

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::files::is_without_locks;

pub use attestations::{Recorded, Row, Stored};
pub use digests::Digest;
pub use error::DbError;
pub use findings::{Finding, FindingStatus, Severity};
pub use heads::Head;
pub use history::{Filter, Place};
pub use passes::{Pass, PassStatus, Traversal};
pub use requests::{Evidence, Request};
pub use runs::Run;
pub use salvage::State;
pub use sql::{Reader, Tx};
pub use standings::Standing;
pub use words::Word;

/// The database's file below `.ghyll`.
pub const ENGINE_DB: &str = "engine.db";
/// SQLite's way to open a file that nobody else has, without any lock.
const LOCKLESS: &str = if cfg!(windows) {
    "win32-none"
} else {
    "unix-none"
};
/// How long another program may hold the database before we give up.
const BUSY: Duration = Duration::from_secs(5);
/// How often a database that changes while it is copied is tried again.
const COPY_ATTEMPTS: u32 = 5;
/// Pages kept in memory while an index is made from nothing, in KiB, and else.
const CACHE_KIB: (i64, i64) = (64 << 10, 2 << 10);
/// Statements kept prepared: more than there are.
const STATEMENTS: usize = 128;

/// An open engine database. Calls are serialised.
#[derive(Debug)]
pub struct Db {
    path: PathBuf,
    open: Mutex<Open>,
    kind: Kind,
    /// Holds the copy a read-only database is read from, where one was needed.
    _copy: Option<tempfile::TempDir>,
}

#[derive(Debug)]
struct Open {
    conn: Connection,
    /// Which file it is, where it is one that others can get at.
    file: Option<files::Id>,
}

/// What a database may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The project's own, to read and write.
    Writable,
    /// The project's own, to read; writes go to temporary tables in front.
    Overlaid,
    /// Nobody's but this process's.
    Private,
}

impl Db {
    /// Opens the database to read and write, making it if it is not there.
    ///
    /// # Errors
    /// `engine-db-…`; a newer or damaged database is not touched.
    pub fn open(path: &Path) -> Result<Self, DbError> {
        let open = Self::open_writable(path)?;
        Ok(Self {
            path: path.to_owned(),
            open: Mutex::new(open),
            kind: Kind::Writable,
            _copy: None,
        })
    }

    fn open_writable(path: &Path) -> Result<Open, DbError> {
        if !files::check(path)? {
            // Made here, for SQLite would take no notice of umask and group.
            crate::files::make_if_absent(path).map_err(|source| DbError::Io {
                path: path.to_owned(),
                source,
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let fail = |e| DbError::from_sqlite(path, e);
        // Before it is opened: if it is exchanged meanwhile, that shows later.
        let file = files::id(path)?;
        let mut conn = files::open(path, flags).map_err(fail)?;
        distrust(&conn).map_err(fail)?;
        match schema::version(&conn).map_err(fail)? {
            (0, 0) => schema::create(&mut conn).map_err(fail)?,
            found => schema::check(path, &conn, found)?,
        }
        // A rollback journal leaves no files behind, so that readers that
        // must change nothing can read; FULL, for requests are promises.
        let mode: String = conn
            .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))
            .map_err(fail)?;
        if !mode.eq_ignore_ascii_case("delete") {
            return Err(DbError::Locked {
                path: path.to_owned(),
            });
        }
        conn.pragma_update(None, "synchronous", "FULL")
            .map_err(fail)?;
        Ok(Open { conn, file })
    }

    /// Opens the database to read; `None` if there is none. Nothing in the
    /// project is changed: a database whose last writer crashed is read from
    /// a copy, in which SQLite may put it right, and so is one that nobody can
    /// lock while it is read.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>, DbError> {
        if !files::check(path)? {
            return Ok(None);
        }
        let fail = |e| DbError::from_sqlite(path, e);
        let mut attempts = 0;
        let mut file;
        let (conn, copy, found) = loop {
            attempts += 1;
            file = files::id(path)?;
            if !files::is_wal(path)? && !is_without_locks(path) {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let conn = Connection::open_with_flags(path, flags).map_err(fail)?;
                distrust(&conn).map_err(fail)?;
                match schema::version(&conn) {
                    Ok(found) => break (conn, None, found),
                    // Left by a writer that crashed: a journal to be played
                    // back, which would change files.
                    Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly) => {}
                    Err(e) => return Err(fail(e)),
                }
            }
            if let Some((conn, dir)) = files::copy(path)? {
                distrust(&conn).map_err(fail)?;
                let found = schema::version(&conn).map_err(fail)?;
                break (conn, Some(dir), found);
            }
            // It changed while it was copied: somebody is at work on it.
            if attempts == COPY_ATTEMPTS {
                return Err(DbError::Locked {
                    path: path.to_owned(),
                });
            }
        };
        if found == (0, 0) {
            return Ok(None);
        }
        schema::check(path, &conn, found)?;
        Ok(Some(Self {
            path: path.to_owned(),
            open: Mutex::new(Open { conn, file }),
            kind: Kind::Overlaid,
            _copy: copy,
        }))
    }

    /// A database that only this process sees, with nothing in it, on the
    /// temporary disk as far as it does not fit in memory.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn private() -> Result<Self, DbError> {
        let path = PathBuf::from(ENGINE_DB);
        let fail = |e| DbError::from_sqlite(&path, e);
        // The empty name is SQLite's for a file nobody else can open.
        let mut conn = Connection::open("").map_err(fail)?;
        distrust(&conn).map_err(fail)?;
        schema::create(&mut conn).map_err(fail)?;
        Ok(Self::over(&path, conn, Kind::Private))
    }

    /// A database made at `path`, which must not exist, without any durability
    /// until [`Self::settle`].
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn create_unsettled(path: &Path) -> Result<Self, DbError> {
        let fail = |e| DbError::from_sqlite(path, e);
        // Nobody else knows of it.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags_and_vfs(path, flags, LOCKLESS);
        let mut conn = conn.map_err(fail)?;
        distrust(&conn).map_err(fail)?;
        for (pragma, value) in [("journal_mode", "OFF"), ("synchronous", "OFF")] {
            conn.pragma_update_and_check(None, pragma, value, |_| Ok(()))
                .or_else(|e| match e {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    e => Err(e),
                })
                .map_err(fail)?;
        }
        schema::create(&mut conn).map_err(fail)?;
        Ok(Self::over(path, conn, Kind::Writable))
    }

    /// Closes the database; its file is complete, though not yet durable.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn settle(self) -> Result<(), DbError> {
        let path = self.path;
        self.open
            .into_inner()
            .conn
            .close()
            .map_err(|(_, e)| DbError::from_sqlite(&path, e))
    }

    fn over(path: &Path, conn: Connection, kind: Kind) -> Self {
        Self {
            path: path.to_owned(),
            open: Mutex::new(Open { conn, file: None }),
            kind,
            _copy: None,
        }
    }

    /// Whether every page is sound.
    ///
    /// # Errors
    /// `engine-db-…`, where even that cannot be told.
    pub fn is_whole(&self) -> Result<bool, DbError> {
        let check = self
            .opened()
            .conn
            .query_row("PRAGMA integrity_check(1)", [], |row| {
                row.get::<_, String>(0)
            });
        match check.map_err(|e| DbError::from_sqlite(&self.path, e)) {
            Ok(words) => Ok(words == "ok"),
            Err(e) if e.is_damage() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether another database has the name now; then nothing more is heard
    /// from this one.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn is_replaced(&self) -> Result<bool, DbError> {
        let known = self.opened().file;
        let named = files::id(&self.path)?;
        Ok(known.is_some() && named.is_some() && named != known)
    }

    /// A number that changes when another process changes the database.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn data_version(&self) -> Result<i64, DbError> {
        self.read(|reader| reader.data_version())
    }

    /// Runs `f` in one transaction: all of it happens or nothing. On a
    /// database opened to be read it happens in temporary tables.
    ///
    /// # Errors
    /// Those of `f`, and `engine-db-…`.
    pub fn transaction<T, E: From<DbError>>(
        &self,
        f: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let fail = |e| DbError::from_sqlite(&self.path, e);
        let overlaid = self.kind == Kind::Overlaid;
        let behavior = if overlaid {
            TransactionBehavior::Deferred
        } else {
            TransactionBehavior::Immediate
        };
        crate::seam::step();
        let mut open = self.opened();
        self.follow(&mut open, true)?;
        let sql = open
            .conn
            .transaction_with_behavior(behavior)
            .map_err(fail)?;
        if overlaid {
            overlay::lay(&sql).map_err(fail)?;
        }
        let tx = Tx(Reader {
            conn: &sql,
            path: &self.path,
            overlaid,
        });
        let value = f(&tx)?;
        sql.commit().map_err(fail)?;
        drop(open);
        crate::seam::step();
        Ok(value)
    }

    /// Runs `f` over the database as it is at one moment.
    ///
    /// # Errors
    /// Those of `f`, and `engine-db-…`.
    pub fn read<T, E: From<DbError>>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let fail = |e| DbError::from_sqlite(&self.path, e);
        crate::seam::step();
        let mut open = self.opened();
        self.follow(&mut open, false)?;
        let sql = open.conn.transaction().map_err(fail)?;
        f(&Reader {
            conn: &sql,
            path: &self.path,
            overlaid: false,
        })
    }

    /// Lifts what temporary tables were put in front of the database.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn lift(&self) -> Result<(), DbError> {
        overlay::lift(&self.opened().conn).map_err(|e| DbError::from_sqlite(&self.path, e))
    }

    fn opened(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// Opens the database that has the name now, if that is another one than
    /// is open. One that was taken away is made anew by who writes; who reads
    /// goes on with what is open, for it may be on its way.
    fn follow(&self, open: &mut Open, to_write: bool) -> Result<(), DbError> {
        let Some(known) = open.file.filter(|_| self.kind == Kind::Writable) else {
            return Ok(());
        };
        let named = files::id(&self.path)?;
        if named == Some(known) || (named.is_none() && !to_write) {
            return Ok(());
        }
        *open = Self::open_writable(&self.path)?;
        Ok(())
    }
}

/// What the file says is data, never something to be run.
fn distrust(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Else every bound parameter has a statement prepared anew.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

impl Reader<'_> {
    /// A note left by an earlier start.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn note(&self, key: &str) -> Result<Option<String>, DbError> {
        self.first("SELECT value FROM notes WHERE key = ?1", [key], |row| {
            row.get(0)
        })
    }
}

impl Tx<'_> {
    /// Leaves a note for the next start.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_note(&self, key: &str, value: &str) -> Result<(), DbError> {
        self.execute("DELETE FROM notes WHERE key = ?1", [key])?;
        self.execute(
            "INSERT INTO notes (key, value) VALUES (?1, ?2)",
            [key, value],
        )
        .map(drop)
    }
}
