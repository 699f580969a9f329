//! Findings: defects on a clause, open until resolved or accepted as a risk.
//!
//! Those that verdicts raised are derived from the records, as standings are;
//! those that commands raised are the session's own.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Row, params};
use serde::Serialize;

use super::{DbError, Reader, Tx};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Accepted or not, the clause could not be judged.
    Medium,
    /// The clause does not hold.
    High,
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingStatus {
    /// Nothing yet.
    Open,
    /// A later verdict or run passed the clause.
    Resolved,
    /// An operator took the risk on.
    AcceptedRisk,
}

macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// The word for it, as it is kept and shown.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(rusqlite::types::FromSqlError::InvalidType),
                }
            }
        }
    };
}
pub(super) use words;

words!(Severity { Medium = "medium", High = "high" });
words!(FindingStatus {
    Open = "open",
    Resolved = "resolved",
    AcceptedRisk = "accepted-risk",
});

/// A defect on an arrow's clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its number; 0 before it is kept.
    pub finding_id: i64,
    /// The ref whose record raised it; empty for what a command found.
    pub attestation_ref: String,
    /// The arrow.
    pub arrow_id: String,
    /// The clause.
    pub clause_id: String,
    /// The grid it was raised under.
    pub grid_version: u64,
    /// The pass it was raised in.
    pub pass_id: String,
    /// `fail-verdict`, `machine-fail` or `insufficient-basis`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// What became of it.
    pub status: FindingStatus,
    /// What is wrong, and where.
    pub detail: String,
    /// When, RFC 3339.
    pub raised_at: String,
    /// The record that raised it; empty for what a command found.
    pub raised_by: String,
    /// The record (or pass, for a command) that disposed of it.
    pub disposed_by: String,
}

const COLUMNS: &str = "finding_id, attestation_ref, arrow_id, clause_id, grid_version, pass_id, \
    type, severity, status, detail, raised_at, raised_by, disposed_by";

/// Those that commands raised.
pub(super) fn select_own() -> String {
    format!("SELECT {COLUMNS} FROM findings WHERE attestation_ref = ''")
}

pub(super) fn finding(row: &Row<'_>) -> rusqlite::Result<Finding> {
    Ok(Finding {
        finding_id: row.get(0)?,
        attestation_ref: row.get(1)?,
        arrow_id: row.get(2)?,
        clause_id: row.get(3)?,
        grid_version: row.get(4)?,
        pass_id: row.get(5)?,
        kind: row.get(6)?,
        severity: row.get(7)?,
        status: row.get(8)?,
        detail: row.get(9)?,
        raised_at: row.get(10)?,
        raised_by: row.get(11)?,
        disposed_by: row.get(12)?,
    })
}

impl Reader<'_> {
    /// All findings, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn findings(&self) -> Result<Vec<Finding>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM findings ORDER BY raised_at, finding_id");
        self.all(&sql, [], finding)
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
    ) -> Result<Vec<Finding>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM findings WHERE arrow_id = ?1 AND clause_id = ?2 \
             AND grid_version = ?3 AND status = 'open' ORDER BY finding_id"
        );
        self.all(&sql, params![arrow_id, clause_id, grid_version], finding)
    }

    /// The findings that the records of a ref raised, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn findings_of_ref(&self, attestation_ref: &str) -> Result<Vec<Finding>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM findings WHERE attestation_ref = ?1 ORDER BY finding_id"
        );
        self.all(&sql, [attestation_ref], finding)
    }

    /// How many findings are open.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn open_finding_count(&self) -> Result<u64, DbError> {
        self.count("SELECT count(*) FROM findings WHERE status = 'open'", [])
    }
}

impl Tx<'_> {
    /// Raises a finding; one without a number gets the next, but none up to
    /// `reserved`: those numbers are of findings that may be raised again.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn raise_finding(&self, finding: &mut Finding, reserved: i64) -> Result<(), DbError> {
        if finding.finding_id == 0 {
            let next = self.next_id("findings", "finding_id")?;
            finding.finding_id = next.max(reserved.saturating_add(1));
        }
        let sql = format!(
            "INSERT INTO findings ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        self.execute(
            &sql,
            params![
                finding.finding_id,
                finding.attestation_ref,
                finding.arrow_id,
                finding.clause_id,
                finding.grid_version,
                finding.pass_id,
                finding.kind,
                finding.severity,
                finding.status,
                finding.detail,
                finding.raised_at,
                finding.raised_by,
                finding.disposed_by,
            ],
        )
        .map(drop)
    }

    /// Disposes of a finding.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn dispose_finding(
        &self,
        finding_id: i64,
        status: FindingStatus,
        by: &str,
    ) -> Result<(), DbError> {
        self.execute(
            "UPDATE findings SET status = ?2, disposed_by = ?3 WHERE finding_id = ?1",
            params![finding_id, status, by],
        )
        .map(drop)
    }

    /// Forgets the findings that the records of a ref raised.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn forget_findings(&self, attestation_ref: &str) -> Result<(), DbError> {
        self.execute(
            "DELETE FROM findings WHERE attestation_ref = ?1",
            [attestation_ref],
        )
        .map(drop)
    }
}
