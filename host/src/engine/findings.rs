//! Findings: defects on a clause, open until resolved or accepted as a risk.

use rusqlite::{Row, params};

use super::{EngineError, Tx};

/// A defect on an arrow's clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its number; 0 before it is kept.
    pub finding_id: i64,
    /// The arrow.
    pub arrow_id: String,
    /// The clause.
    pub clause_id: String,
    /// The grid it was raised under.
    pub grid_version: u64,
    /// The pass it was raised in.
    pub pass_id: String,
    /// `fail-verdict`, `machine-fail` or `insufficient-basis`.
    pub kind: String,
    /// `info`, `low`, `medium`, `high`, `critical`.
    pub severity: String,
    /// `open`, `resolved`, `accepted-risk`.
    pub status: String,
    /// What is wrong, and where.
    pub detail: String,
    /// RFC 3339.
    pub raised_at: String,
    /// The record (or pass, for a command) that disposed of it.
    pub disposed_by: String,
}

const COLUMNS: &str = "finding_id, arrow_id, clause_id, grid_version, pass_id, type, severity, \
    status, detail, raised_at, disposed_by";

fn finding(row: &Row<'_>) -> rusqlite::Result<Finding> {
    Ok(Finding {
        finding_id: row.get(0)?,
        arrow_id: row.get(1)?,
        clause_id: row.get(2)?,
        grid_version: row.get(3)?,
        pass_id: row.get(4)?,
        kind: row.get(5)?,
        severity: row.get(6)?,
        status: row.get(7)?,
        detail: row.get(8)?,
        raised_at: row.get(9)?,
        disposed_by: row.get(10)?,
    })
}

impl Tx<'_> {
    /// Raises a finding and numbers it.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn raise_finding(&self, finding: &Finding) -> Result<i64, EngineError> {
        self.execute(
            "INSERT INTO findings (arrow_id, clause_id, grid_version, pass_id, type, severity, \
             status, detail, raised_at, disposed_by) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                finding.arrow_id,
                finding.clause_id,
                finding.grid_version,
                finding.pass_id,
                finding.kind,
                finding.severity,
                finding.status,
                finding.detail,
                finding.raised_at,
                finding.disposed_by,
            ],
        )?;
        Ok(self.conn.last_insert_rowid())
    }

    /// All findings, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn findings(&self) -> Result<Vec<Finding>, EngineError> {
        self.all(
            &format!("SELECT {COLUMNS} FROM findings ORDER BY finding_id"),
            [],
            finding,
        )
    }

    /// The open findings on a clause, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_findings(
        &self,
        arrow_id: &str,
        clause_id: &str,
        grid_version: u64,
    ) -> Result<Vec<Finding>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM findings WHERE arrow_id = ?1 AND clause_id = ?2 \
             AND grid_version = ?3 AND status = 'open' ORDER BY finding_id"
        );
        self.all(&sql, params![arrow_id, clause_id, grid_version], finding)
    }

    /// How many findings are open.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_finding_count(&self) -> Result<u64, EngineError> {
        self.count("SELECT count(*) FROM findings WHERE status = 'open'", [])
    }

    /// Disposes of one open finding.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn dispose_finding(
        &self,
        finding_id: i64,
        status: &str,
        by: &str,
    ) -> Result<(), EngineError> {
        self.execute(
            "UPDATE findings SET status = ?2, disposed_by = ?3 \
             WHERE finding_id = ?1 AND status = 'open'",
            params![finding_id, status, by],
        )
        .map(drop)
    }
}
