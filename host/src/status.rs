//! Where clauses and arrows stand, worked out from what is on record.
//!
//! Nothing here is kept: a status is a reading of attestations, requests, runs
//! and findings, so it cannot disagree with them.

use crate::engine::{EngineError, Request, Row, Run, Tx};
use crate::grid::{Arrow, Clause, Eval, Grid};
use crate::policy::{Policy, PolicyError};

/// Where a clause stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClauseStatus {
    /// Decided: it fails.
    Fail,
    /// Nobody and nothing has judged it, or what did no longer counts.
    Unevaluated,
    /// It waits for an operator.
    Pending,
    /// Decided: it holds, or its risk was accepted.
    Pass,
}

impl ClauseStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Unevaluated => "unevaluated",
            Self::Pending => "pending",
            Self::Pass => "pass",
        }
    }
}

/// Where an arrow stands; the most severe of what its clauses say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowStatus {
    /// A clause fails.
    Blocked,
    /// A clause was not judged.
    Unevaluated,
    /// A clause waits.
    Provisional,
    /// All clauses hold.
    Complete,
}

impl ArrowStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Unevaluated => "unevaluated",
            Self::Provisional => "provisional",
            Self::Complete => "complete",
        }
    }
}

/// A clause with where it stands and why.
#[derive(Debug, Clone)]
pub struct ClauseView {
    /// The clause's id.
    pub id: String,
    /// Where it stands.
    pub status: ClauseStatus,
    /// What an operator is asked for; empty for a machine clause.
    pub attestation_ref: String,
    /// The round asked for, else the last one answered, else 0.
    pub round: u32,
    /// How much deeper than the grid says the artifact has to be.
    pub deeper: u32,
    /// The authoritative verdict.
    pub newest: Option<Row>,
    /// What is asked now.
    pub pending: Option<Request>,
    /// The last command run.
    pub run: Option<Run>,
    /// Open findings on it.
    pub open_findings: usize,
}

/// An arrow with where it and its clauses stand.
#[derive(Debug, Clone)]
pub struct ArrowView {
    /// Where it stands.
    pub status: ArrowStatus,
    /// Its clauses, in the grid's order.
    pub clauses: Vec<ClauseView>,
}

/// Why a status could not be worked out.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The database.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The component.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl StatusError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Engine(e) => e.code(),
            Self::Policy(e) => e.code(),
        }
    }
}

/// Where an arrow of the grid stands.
///
/// # Errors
/// Those of the database and the component.
pub fn arrow(
    tx: &Tx<'_>,
    policy: &Policy,
    grid: &Grid,
    arrow: &Arrow,
) -> Result<ArrowView, StatusError> {
    let clauses = arrow
        .clauses
        .iter()
        .map(|c| clause(tx, policy, grid.version, arrow, c))
        .collect::<Result<Vec<_>, _>>()?;
    let has = |status| clauses.iter().any(|c| c.status == status);
    let status = if has(ClauseStatus::Fail) {
        ArrowStatus::Blocked
    } else if has(ClauseStatus::Unevaluated) {
        ArrowStatus::Unevaluated
    } else if has(ClauseStatus::Pending) {
        ArrowStatus::Provisional
    } else {
        ArrowStatus::Complete
    };
    Ok(ArrowView { status, clauses })
}

/// Where one clause stands.
///
/// # Errors
/// Those of the database and the component.
pub fn clause(
    tx: &Tx<'_>,
    policy: &Policy,
    grid_version: u64,
    arrow: &Arrow,
    clause: &Clause,
) -> Result<ClauseView, StatusError> {
    let open_findings = tx.open_findings(&arrow.id, &clause.id, grid_version)?.len();
    let mut view = ClauseView {
        id: clause.id.clone(),
        status: ClauseStatus::Unevaluated,
        attestation_ref: String::new(),
        round: 0,
        deeper: 0,
        newest: None,
        pending: None,
        run: None,
        open_findings,
    };
    if let Eval::Machine { .. } = clause.eval {
        view.run = tx.last_machine_run(&arrow.id, &clause.id, grid_version)?;
        view.status = match view.run.as_ref().map(|run| run.outcome.as_str()) {
            None => ClauseStatus::Unevaluated,
            Some("pass") => ClauseStatus::Pass,
            Some(_) => ClauseStatus::Fail,
        };
        return Ok(view);
    }
    view.attestation_ref = policy.attestation_ref(&arrow.id, &clause.id, grid_version)?;
    view.deeper = tx.routed_upstream(&view.attestation_ref)?;
    view.newest = tx.newest_of_ref(&view.attestation_ref)?;
    view.pending = tx.pending_on(&view.attestation_ref)?;
    let verdict = view.newest.as_ref().map(|row| row.rec.verdict.as_str());
    view.status = match (&view.pending, verdict) {
        (Some(_), _) | (None, Some("insufficient-basis")) => ClauseStatus::Pending,
        (None, Some("pass")) => ClauseStatus::Pass,
        (None, Some("fail")) => ClauseStatus::Fail,
        (None, Some("accepted-risk")) if open_findings == 0 => ClauseStatus::Pass,
        (None, Some("accepted-risk")) => ClauseStatus::Pending,
        (None, _) => ClauseStatus::Unevaluated,
    };
    view.round = match (&view.pending, &view.newest) {
        (Some(request), _) => request.round,
        (None, Some(row)) => row.round,
        (None, None) => 0,
    };
    Ok(view)
}
