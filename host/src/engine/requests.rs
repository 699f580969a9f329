//! Requests: what an operator is asked, kept until answered or withdrawn.
//!
//! A request carries all that its answer will need, so that it can be asked
//! again after a restart, under the grid it was made under.

use rusqlite::{Row, params};

use super::{EngineError, Tx};

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
    /// Which answer it will get, from 1.
    pub round: u32,
    /// How many times the clause was routed upstream: how much deeper the
    /// artifact has to be than the grid asks.
    pub deeper: u32,
}

const COLUMNS: &str = "request_id, attestation_ref, pass_id, arrow_id, clause_id, concept, \
    context, stratum, source_role, target_role, adversary_role, grid_version, round, deeper";

fn request(row: &Row<'_>) -> rusqlite::Result<Request> {
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
        round: row.get(12)?,
        deeper: row.get(13)?,
    })
}

impl Tx<'_> {
    /// Keeps a request as pending and numbers it.
    ///
    /// # Errors
    /// `engine-db-…`, also when its ref has one pending.
    pub fn add_request(&self, request: &mut Request) -> Result<(), EngineError> {
        self.execute(
            "INSERT INTO requests (attestation_ref, pass_id, arrow_id, clause_id, concept, \
             context, stratum, source_role, target_role, adversary_role, grid_version, round, \
             deeper, status) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'pending')",
            params![
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
                request.round,
                request.deeper,
            ],
        )?;
        request.request_id = self.conn.last_insert_rowid();
        Ok(())
    }

    /// The pending request on a ref.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending_on(&self, attestation_ref: &str) -> Result<Option<Request>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM requests WHERE attestation_ref = ?1 AND status = 'pending'"
        );
        self.first(&sql, [attestation_ref], request)
    }

    /// The newest request on a ref that some pass made, decided or not.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_request(&self, attestation_ref: &str) -> Result<Option<Request>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM requests WHERE attestation_ref = ?1 \
             ORDER BY request_id DESC LIMIT 1"
        );
        self.first(&sql, [attestation_ref], request)
    }

    /// The pending requests, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending(&self) -> Result<Vec<Request>, EngineError> {
        let sql =
            format!("SELECT {COLUMNS} FROM requests WHERE status = 'pending' ORDER BY request_id");
        self.all(&sql, [], request)
    }

    /// How many requests are pending.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending_count(&self) -> Result<u64, EngineError> {
        self.count("SELECT count(*) FROM requests WHERE status = 'pending'", [])
    }

    /// How many requests of a pass are pending.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending_in(&self, pass_id: &str) -> Result<u64, EngineError> {
        self.count(
            "SELECT count(*) FROM requests WHERE pass_id = ?1 AND status = 'pending'",
            [pass_id],
        )
    }

    /// Notes that the request pending on a ref was answered.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn answer_request(&self, attestation_ref: &str, by: &str) -> Result<(), EngineError> {
        self.execute(
            "UPDATE requests SET status = 'answered', answered_by = ?2 \
             WHERE attestation_ref = ?1 AND status = 'pending'",
            [attestation_ref, by],
        )
        .map(drop)
    }
}
