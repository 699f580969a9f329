//! Passes: one traversal of an arrow each, open until nothing in it waits.

use rusqlite::{Row, params};

use super::{EngineError, Tx};

/// Where a pass stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassStatus {
    /// Something in it waits.
    Open,
    /// Nothing waits any more: complete or blocked.
    Closed,
    /// Given up, for a reason.
    Aborted,
}

impl PassStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Aborted => "aborted",
        }
    }
}

/// One traversal of an arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

const COLUMNS: &str = "pass_id, arrow_id, role, context, stratum, source_role, target_role, \
    adversary_role, grid_version, status, reason, opened_at, ended_at, recovered_at";

fn pass(row: &Row<'_>) -> rusqlite::Result<Pass> {
    let status: String = row.get(9)?;
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
        status: match status.as_str() {
            "open" => PassStatus::Open,
            "closed" => PassStatus::Closed,
            _ => PassStatus::Aborted,
        },
        reason: row.get(10)?,
        opened_at: row.get(11)?,
        ended_at: row.get(12)?,
        recovered_at: row.get(13)?,
    })
}

impl Tx<'_> {
    /// Opens a pass.
    ///
    /// # Errors
    /// `engine-db-…`, also when one is open on its role and context.
    pub fn open_pass(&self, pass: &Pass) -> Result<(), EngineError> {
        let sql = format!(
            "INSERT INTO passes ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
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
                pass.status.as_str(),
                pass.reason,
                pass.opened_at,
                pass.ended_at,
                pass.recovered_at,
            ],
        )
        .map(drop)
    }

    /// The pass with this id.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pass(&self, pass_id: &str) -> Result<Option<Pass>, EngineError> {
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
    pub fn open_pass_on(&self, role: &str, context: &str) -> Result<Option<Pass>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM passes WHERE status = 'open' AND role = ?1 AND context = ?2"
        );
        self.first(&sql, [role, context], pass)
    }

    /// The open pass of an arrow, whatever its grid version.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_pass_of(&self, arrow_id: &str) -> Result<Option<Pass>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM passes WHERE status = 'open' AND arrow_id = ?1");
        self.first(&sql, [arrow_id], pass)
    }

    /// All passes, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn passes(&self) -> Result<Vec<Pass>, EngineError> {
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
    pub fn open_passes(&self) -> Result<Vec<Pass>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM passes WHERE status = 'open' ORDER BY opened_at, pass_id"
        );
        self.all(&sql, [], pass)
    }

    /// How many passes stand where: open, closed, aborted.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pass_counts(&self) -> Result<[u64; 3], EngineError> {
        let count =
            |status: &str| self.count("SELECT count(*) FROM passes WHERE status = ?1", [status]);
        Ok([count("open")?, count("closed")?, count("aborted")?])
    }

    /// Ends an open pass and withdraws what it still asks for.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn end_pass(
        &self,
        pass_id: &str,
        status: PassStatus,
        reason: &str,
        at: &str,
    ) -> Result<(), EngineError> {
        self.execute(
            "UPDATE passes SET status = ?2, reason = ?3, ended_at = ?4 \
             WHERE pass_id = ?1 AND status = 'open'",
            params![pass_id, status.as_str(), reason, at],
        )?;
        self.execute(
            "UPDATE requests SET status = 'withdrawn' WHERE pass_id = ?1 AND status = 'pending'",
            [pass_id],
        )
        .map(drop)
    }

    /// Notes, once, that a later session took the pass up.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_recovered(&self, pass_id: &str, at: &str) -> Result<(), EngineError> {
        self.execute(
            "UPDATE passes SET recovered_at = ?2 WHERE pass_id = ?1 AND recovered_at = ''",
            [pass_id, at],
        )
        .map(drop)
    }
}
