//! Passes: one traversal of an arrow each, open until nothing in it waits.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Row, params};
use serde::Serialize;

use super::findings::words;
use super::{DbError, Reader, Tx};

/// Where a pass stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassStatus {
    /// Something in it waits.
    Open,
    /// Nothing waits any more: complete or blocked.
    Closed,
    /// Given up, for a reason.
    Aborted,
}

words!(PassStatus {
    Open = "open",
    Closed = "closed",
    Aborted = "aborted",
});

/// How far a process has come with a pass it traverses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traversal {
    /// It runs commands, or is about to ask; others wait for what comes of it.
    UnderWay = 0,
    /// All that the pass asks for was asked.
    Asked = 1,
    /// It was called off before: whoever comes next takes the pass over.
    CalledOff = 2,
}

impl ToSql for Traversal {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((*self as i64).into())
    }
}

impl FromSql for Traversal {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_i64()? {
            0 => Ok(Self::UnderWay),
            1 => Ok(Self::Asked),
            2 => Ok(Self::CalledOff),
            other => Err(rusqlite::types::FromSqlError::OutOfRange(other)),
        }
    }
}

/// One traversal of an arrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// A UUIDv7.
    pub pass_id: String,
    /// The arrow traversed.
    pub arrow_id: String,
    /// The role at work: the arrow's source.
    pub role: String,
    /// Where it works.
    pub context: String,
    /// The arrow's stratum.
    pub stratum: String,
    /// Who hands over.
    pub source_role: String,
    /// To whom.
    pub target_role: String,
    /// Who doubts it; empty for none.
    pub adversary_role: String,
    /// The grid it was opened under.
    pub grid_version: u64,
    /// Where it stands.
    pub status: PassStatus,
    /// Why it ended, where that is worth a word.
    pub reason: String,
    /// RFC 3339.
    pub opened_at: String,
    /// RFC 3339; empty while open.
    pub ended_at: String,
    /// When a later session first took it up; empty if none did.
    pub recovered_at: String,
    /// The session whose process traverses it.
    #[serde(skip)]
    pub session_id: String,
    /// How far it has come with it.
    #[serde(skip)]
    pub traversal: Traversal,
}

/// All passes, in no particular order.
pub(super) fn select() -> String {
    format!("SELECT {COLUMNS} FROM passes")
}

const COLUMNS: &str = "pass_id, arrow_id, role, context, stratum, source_role, target_role, \
    adversary_role, grid_version, status, reason, opened_at, ended_at, recovered_at, \
    session_id, asked";

pub(super) fn pass(row: &Row<'_>) -> rusqlite::Result<Pass> {
    Ok(Pass {
        pass_id: row.get(0)?,
        arrow_id: row.get(1)?,
        role: row.get(2)?,
        context: row.get(3)?,
        stratum: row.get(4)?,
        source_role: row.get(5)?,
        target_role: row.get(6)?,
        adversary_role: row.get(7)?,
        grid_version: row.get(8)?,
        status: row.get(9)?,
        reason: row.get(10)?,
        opened_at: row.get(11)?,
        ended_at: row.get(12)?,
        recovered_at: row.get(13)?,
        session_id: row.get(14)?,
        traversal: row.get(15)?,
    })
}

impl Reader<'_> {
    /// The pass with this id.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pass(&self, pass_id: &str) -> Result<Option<Pass>, DbError> {
        self.first(
            &format!("SELECT {COLUMNS} FROM passes WHERE pass_id = ?1"),
            [pass_id],
            pass,
        )
    }

    /// The open pass on a role and context.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_pass_on(&self, role: &str, context: &str) -> Result<Option<Pass>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM passes WHERE status = 'open' AND role = ?1 AND context = ?2"
        );
        self.first(&sql, [role, context], pass)
    }

    /// The open pass of an arrow, whatever its grid version.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_pass_of(&self, arrow_id: &str) -> Result<Option<Pass>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM passes WHERE status = 'open' AND arrow_id = ?1");
        self.first(&sql, [arrow_id], pass)
    }

    /// All passes, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn passes(&self) -> Result<Vec<Pass>, DbError> {
        self.all(
            &format!("SELECT {COLUMNS} FROM passes ORDER BY opened_at, pass_id"),
            [],
            pass,
        )
    }

    /// The open passes, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_passes(&self) -> Result<Vec<Pass>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM passes WHERE status = 'open' ORDER BY opened_at, pass_id"
        );
        self.all(&sql, [], pass)
    }

    /// How many passes stand where: open, closed, aborted.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pass_counts(&self) -> Result<[u64; 3], DbError> {
        let count =
            |status: &str| self.count("SELECT count(*) FROM passes WHERE status = ?1", [status]);
        Ok([count("open")?, count("closed")?, count("aborted")?])
    }
}

impl Tx<'_> {
    /// Opens a pass.
    ///
    /// # Errors
    /// `engine-db-…`, also when one is open on its role and context.
    pub fn open_pass(&self, pass: &Pass) -> Result<(), DbError> {
        let sql = format!(
            "INSERT INTO passes ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        );
        self.execute(
            &sql,
            params![
                pass.pass_id,
                pass.arrow_id,
                pass.role,
                pass.context,
                pass.stratum,
                pass.source_role,
                pass.target_role,
                pass.adversary_role,
                pass.grid_version,
                pass.status,
                pass.reason,
                pass.opened_at,
                pass.ended_at,
                pass.recovered_at,
                pass.session_id,
                pass.traversal,
            ],
        )
        .map(drop)
    }

    /// Opens a pass, or, where another is open on its role and context, notes
    /// it as one that is closed already.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_pass_unless_busy(&self, pass: &Pass) -> Result<(), DbError> {
        if self.open_pass_on(&pass.role, &pass.context)?.is_none() {
            return self.open_pass(pass);
        }
        self.open_pass(&Pass {
            status: PassStatus::Closed,
            ended_at: pass.opened_at.clone(),
            ..pass.clone()
        })
    }

    /// Notes that all a pass asks for was asked.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_asked(&self, pass_id: &str) -> Result<(), DbError> {
        self.execute("UPDATE passes SET asked = 1 WHERE pass_id = ?1", [pass_id])
            .map(drop)
    }

    /// Notes that a session traverses a pass no longer, though it is not done.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn call_off(&self, pass_id: &str, session_id: &str) -> Result<(), DbError> {
        self.execute(
            "UPDATE passes SET asked = ?3 \
             WHERE pass_id = ?1 AND session_id = ?2 AND status = 'open' AND asked = ?4",
            params![
                pass_id,
                session_id,
                Traversal::CalledOff,
                Traversal::UnderWay
            ],
        )
        .map(drop)
    }

    /// Notes that a session goes by another id from now on.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn rename_session(&self, before: &str, now: &str) -> Result<(), DbError> {
        self.execute(
            "UPDATE passes SET session_id = ?2 WHERE session_id = ?1 AND status = 'open'",
            [before, now],
        )
        .map(drop)
    }

    /// Notes whose process traverses a pass from now on, and that it is on
    /// its way again.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn take_pass(&self, pass_id: &str, session_id: &str) -> Result<(), DbError> {
        self.execute(
            "UPDATE passes SET session_id = ?2, asked = 0 WHERE pass_id = ?1",
            [pass_id, session_id],
        )
        .map(drop)
    }

    /// Ends a pass.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn end_pass(
        &self,
        pass_id: &str,
        status: PassStatus,
        reason: &str,
        at: &str,
    ) -> Result<(), DbError> {
        self.execute(
            "UPDATE passes SET status = ?2, reason = ?3, ended_at = ?4 WHERE pass_id = ?1",
            params![pass_id, status, reason, at],
        )
        .map(drop)
    }

    /// Notes that a later session took the pass up.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_recovered(&self, pass_id: &str, at: &str) -> Result<(), DbError> {
        self.execute(
            "UPDATE passes SET recovered_at = ?2 WHERE pass_id = ?1",
            [pass_id, at],
        )
        .map(drop)
    }
}
