//! Requests: what a pass asks of operators.
//!
//! A request carries all that its answer will need, so that it can be asked
//! again after a restart, under the grid it was made under. Whether it still
//! waits, and for which round, is read off the standing of its ref: so it
//! cannot disagree with the tree, whoever answered and wherever.

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::{DbError, Reader, Standing, Tx};

/// What the producer of the work says about a clause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Evidence {
    /// Where to look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<String>,
    /// Why the clause should hold.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub basis: String,
    /// What is left open.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub residue: String,
}

/// A verdict asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Its number; 0 before it is kept.
    pub request_id: i64,
    /// What is asked for.
    pub attestation_ref: String,
    /// The pass that asks.
    pub pass_id: String,
    /// The arrow traversed.
    pub arrow_id: String,
    /// The clause in question.
    pub clause_id: String,
    /// What the clause claims.
    pub concept: String,
    /// The arrow's context.
    pub context: String,
    /// The arrow's stratum.
    pub stratum: String,
    /// Who hands over.
    pub source_role: String,
    /// To whom.
    pub target_role: String,
    /// Who doubts it; empty for none.
    pub adversary_role: String,
    /// The grid it was made under.
    pub grid_version: u64,
    /// The newest round when it was asked last; 0 for none.
    pub asked_after: u32,
    /// The pass of the record that counted then; empty for none.
    pub asked_upon: String,
    /// The record known to answer it; empty for none.
    pub answered_by: String,
    /// What the producer says.
    pub evidence: Evidence,
    /// What the covered files were when it was shown; `None` if it was not,
    /// empty if nothing is covered. Never kept.
    pub shown: Option<String>,
    /// Which answer it will get, from 1; read off the standing.
    pub round: u32,
    /// How many times the clause was routed upstream: how much deeper the
    /// artifact has to be than the grid asks. Read off the standing.
    pub deeper: u32,
}

/// All requests, in no particular order.
pub(super) fn select() -> String {
    format!("SELECT {COLUMNS} FROM requests")
}

const COLUMNS: &str = "request_id, attestation_ref, pass_id, arrow_id, clause_id, concept, \
    context, stratum, source_role, target_role, adversary_role, grid_version, asked_after, \
    answered_by, evidence_json, asked_upon";

pub(super) fn request(row: &Row<'_>) -> rusqlite::Result<Request> {
    let evidence: String = row.get(14)?;
    Ok(Request {
        request_id: row.get(0)?,
        attestation_ref: row.get(1)?,
        pass_id: row.get(2)?,
        arrow_id: row.get(3)?,
        clause_id: row.get(4)?,
        concept: row.get(5)?,
        context: row.get(6)?,
        stratum: row.get(7)?,
        source_role: row.get(8)?,
        target_role: row.get(9)?,
        adversary_role: row.get(10)?,
        grid_version: row.get(11)?,
        asked_after: row.get(12)?,
        answered_by: row.get(13)?,
        evidence: serde_json::from_str(&evidence).map_err(|e| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(14, kind, Box::new(e))
        })?,
        shown: None,
        asked_upon: row.get(15)?,
        round: 0,
        deeper: 0,
    })
}

impl Request {
    /// Says that it is asked now that its ref stands so.
    pub fn asked(mut self, standing: Option<&Standing>) -> Self {
        self.asked_after = standing.map_or(0, |s| s.round);
        self.asked_upon = standing.map_or_else(String::new, |s| s.pass_id.clone());
        self
    }

    /// Says which round it asks for, now that its ref stands so.
    pub fn at(mut self, standing: Option<&Standing>) -> Self {
        self.round = standing.map_or(0, |s| s.round).saturating_add(1);
        self.deeper = standing.map_or(0, |s| s.routed_upstream);
        self
    }
}

impl Reader<'_> {
    /// What a pass asks for, oldest first, answered or not.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn requests_of_pass(&self, pass_id: &str) -> Result<Vec<Request>, DbError> {
        let sql = format!("SELECT {COLUMNS} FROM requests WHERE pass_id = ?1 ORDER BY request_id");
        self.all(&sql, [pass_id], request)
    }

    /// The request of a pass on a ref.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn request(
        &self,
        pass_id: &str,
        attestation_ref: &str,
    ) -> Result<Option<Request>, DbError> {
        let sql =
            format!("SELECT {COLUMNS} FROM requests WHERE pass_id = ?1 AND attestation_ref = ?2");
        self.first(&sql, [pass_id, attestation_ref], request)
    }

    /// The number of the newest request; 0 if there is none.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_request_id(&self) -> Result<i64, DbError> {
        let sql = "SELECT max(request_id) FROM requests";
        let newest: Option<Option<i64>> = self.first(sql, [], |row| row.get(0))?;
        Ok(newest.flatten().unwrap_or(0))
    }

    /// Requests made after the one of this number.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn requests_after(&self, request_id: i64) -> Result<Vec<Request>, DbError> {
        let sql =
            format!("SELECT {COLUMNS} FROM requests WHERE request_id > ?1 ORDER BY request_id");
        self.all(&sql, [request_id], request)
    }

    /// The newest request on a ref that some pass made, decided or not.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_request(&self, attestation_ref: &str) -> Result<Option<Request>, DbError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM requests WHERE attestation_ref = ?1 \
             ORDER BY request_id DESC LIMIT 1"
        );
        self.first(&sql, [attestation_ref], request)
    }
}

impl Tx<'_> {
    /// Keeps a request; one without a number gets the next.
    ///
    /// # Errors
    /// `engine-db-…`, also when its pass asks for the ref already.
    pub fn add_request(&self, request: &mut Request) -> Result<(), DbError> {
        if request.request_id == 0 {
            request.request_id = self.next_id("requests", "request_id")?;
        }
        let sql = format!(
            "INSERT INTO requests ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        );
        let evidence = serde_json::to_string(&request.evidence).unwrap_or_else(|_| "{}".into());
        self.execute(
            &sql,
            params![
                request.request_id,
                request.attestation_ref,
                request.pass_id,
                request.arrow_id,
                request.clause_id,
                request.concept,
                request.context,
                request.stratum,
                request.source_role,
                request.target_role,
                request.adversary_role,
                request.grid_version,
                request.asked_after,
                request.answered_by,
                evidence,
                request.asked_upon,
            ],
        )
        .map(drop)
    }

    /// Asks a request again, as it was [`Request::asked`] last.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn ask_again(&self, request: &Request) -> Result<(), DbError> {
        let evidence = serde_json::to_string(&request.evidence).unwrap_or_else(|_| "{}".into());
        self.execute(
            "UPDATE requests SET asked_after = ?2, asked_upon = ?4, answered_by = '', \
             evidence_json = ?3 WHERE request_id = ?1",
            params![
                request.request_id,
                request.asked_after,
                evidence,
                request.asked_upon
            ],
        )
        .map(drop)
    }

    /// Notes which record answers a request.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn answer_request(&self, request_id: i64, by: &str) -> Result<(), DbError> {
        self.execute(
            "UPDATE requests SET answered_by = ?2 WHERE request_id = ?1",
            params![request_id, by],
        )
        .map(drop)
    }
}
