//! Where each ref stands: its records, folded in order of rounds.
//!
//! Derived from the records and kept so that nobody has to read all rounds to
//! answer for one; `work::standing` says how they are folded.

use rusqlite::{Row, params};

use super::{DbError, Reader, Tx};

/// Where a ref stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The ref.
    pub attestation_ref: String,
    /// The newest round, from 1.
    pub round: u32,
    /// What it says: the authoritative verdict.
    pub verdict: String,
    /// The pass it was given in.
    pub pass_id: String,
    /// Its place in the history, RFC 3339.
    pub listed_at: String,
    /// How many rounds up to it, in a row and in its pass, say
    /// `insufficient-basis`.
    pub basis_streak: u32,
    /// How often the ref was routed upstream.
    pub routed_upstream: u32,
    /// Findings its records raised and none disposed of.
    pub open_findings: u32,
    /// Whether the newest round was given more than once, where nobody could
    /// see the others.
    pub concurrent: bool,
}

const COLUMNS: &str = "attestation_ref, round, verdict, pass_id, listed_at, basis_streak, \
    routed_upstream, open_findings, concurrent";

fn standing(row: &Row<'_>) -> rusqlite::Result<Standing> {
    Ok(Standing {
        attestation_ref: row.get(0)?,
        round: row.get(1)?,
        verdict: row.get(2)?,
        pass_id: row.get(3)?,
        listed_at: row.get(4)?,
        basis_streak: row.get(5)?,
        routed_upstream: row.get(6)?,
        open_findings: row.get(7)?,
        concurrent: row.get(8)?,
    })
}

impl Reader<'_> {
    /// Where a ref stands; `None` if nobody ever answered it.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn standing(&self, attestation_ref: &str) -> Result<Option<Standing>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM standings WHERE attestation_ref = ?1");
        self.first(&sql, [attestation_ref], standing)
    }
}

impl Reader<'_> {
    /// Refs that have a verdict, or findings, and no record; the first hundred.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn baseless(&self) -> Result<Vec<String>, DbError> {
        let sql = "SELECT attestation_ref FROM standings WHERE verdict <> '' \
             AND attestation_ref NOT IN (SELECT attestation_ref FROM attestations) \
             UNION SELECT attestation_ref FROM findings WHERE attestation_ref <> '' \
             AND attestation_ref NOT IN (SELECT attestation_ref FROM attestations) LIMIT 100";
        self.all(sql, [], |row| row.get(0))
    }
}

impl Tx<'_> {
    /// Keeps where a ref stands.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_standing(&self, standing: &Standing) -> Result<(), DbError> {
        self.forget_standing(&standing.attestation_ref)?;
        let sql = format!(
            "INSERT INTO standings ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
        );
        self.execute(
            &sql,
            params![
                standing.attestation_ref,
                standing.round,
                standing.verdict,
                standing.pass_id,
                standing.listed_at,
                standing.basis_streak,
                standing.routed_upstream,
                standing.open_findings,
                standing.concurrent,
            ],
        )
        .map(drop)
    }

    /// Forgets where a ref stands.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn forget_standing(&self, attestation_ref: &str) -> Result<(), DbError> {
        self.execute(
            "DELETE FROM standings WHERE attestation_ref = ?1",
            [attestation_ref],
        )
        .map(drop)
    }
}
