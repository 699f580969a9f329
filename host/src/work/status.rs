//! Where clauses and arrows stand, worked out from what is on record.
//!
//! Nothing here is kept: a status is a reading of attestations, requests, runs
//! and findings, so it cannot disagree with them.

use serde::Serialize;

use super::verdict::Verdict;
use super::{pending, standing};
use crate::db::{DbError, Reader, Request, Row, Run};
use crate::grid::{Arrow, Clause, Eval, Grid};
use crate::policy::{Policy, PolicyError};
use crate::subject::Present;

/// Where a clause stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClauseStatus {
    /// Decided: it fails.
    Fail,
    /// Nobody and nothing has judged it, or what did no longer counts.
    Unevaluated,
    /// It waits for an operator.
    Pending,
    /// It passed, but what was judged is no longer what is there.
    Stale,
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
            Self::Stale => "stale",
            Self::Pass => "pass",
        }
    }
}

/// Where an arrow stands; the most severe of what its clauses say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrowStatus {
    /// Records that may concern it cannot be read.
    Unreadable,
    /// A clause fails.
    Blocked,
    /// A clause was not judged.
    Unevaluated,
    /// A clause waits.
    Provisional,
    /// A clause passed, but what was judged is no longer what is there.
    Stale,
    /// All clauses hold.
    Complete,
}

impl ArrowStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Blocked => "blocked",
            Self::Unevaluated => "unevaluated",
            Self::Provisional => "provisional",
            Self::Stale => "stale",
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
    /// Whether it passes only because somebody took the risk on.
    pub accepted_risk: bool,
    /// What the covered files are now, by the SHA-256 of their manifest; empty
    /// where nothing is covered or they cannot be listed.
    pub subject: String,
    /// What they were when the verdict that counts was given; empty if it
    /// names nothing.
    pub judged: String,
    /// Why the covered files cannot be listed: a code, and in words.
    pub problem: Option<(&'static str, String)>,
    /// Whether the round that counts was given more than once, where nobody
    /// could see the others.
    pub concurrent: bool,
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
    Db(#[from] DbError),
    /// The component.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl StatusError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Db(e) => e.code(),
            Self::Policy(e) => e.code(),
        }
    }
}

/// Where an arrow of the grid stands.
///
/// # Errors
/// Those of the database and the component.
pub fn arrow(
    reader: &Reader<'_>,
    policy: &Policy,
    present: &Present,
    grid: &Grid,
    arrow: &Arrow,
) -> Result<ArrowView, StatusError> {
    let clauses = arrow
        .clauses
        .iter()
        .map(|c| clause(reader, policy, present, grid.version, arrow, c))
        .collect::<Result<Vec<_>, _>>()?;
    let status = combine(clauses.iter().map(|clause| clause.status));
    Ok(ArrowView { status, clauses })
}

/// Where an arrow stands whose clauses stand so: the most severe of it.
pub fn combine(clauses: impl Iterator<Item = ClauseStatus>) -> ArrowStatus {
    clauses
        .map(|status| match status {
            ClauseStatus::Fail => ArrowStatus::Blocked,
            ClauseStatus::Unevaluated => ArrowStatus::Unevaluated,
            ClauseStatus::Pending => ArrowStatus::Provisional,
            ClauseStatus::Stale => ArrowStatus::Stale,
            ClauseStatus::Pass => ArrowStatus::Complete,
        })
        .min()
        .unwrap_or(ArrowStatus::Complete)
}

/// Where one clause stands.
///
/// # Errors
/// Those of the database and the component.
pub fn clause(
    reader: &Reader<'_>,
    policy: &Policy,
    present: &Present,
    grid_version: u64,
    arrow: &Arrow,
    clause: &Clause,
) -> Result<ClauseView, StatusError> {
    let open_findings = reader
        .open_findings(&arrow.id, &clause.id, grid_version)?
        .len();
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
        accepted_risk: false,
        subject: String::new(),
        judged: String::new(),
        problem: None,
        concurrent: false,
    };
    if let Eval::Machine { .. } = clause.eval {
        view.run = reader.last_run(&arrow.id, &clause.id, grid_version)?;
        view.status = match view.run.as_ref().map(|run| run.passed) {
            None => ClauseStatus::Unevaluated,
            Some(true) => ClauseStatus::Pass,
            Some(false) => ClauseStatus::Fail,
        };
        return Ok(view);
    }
    let look = present.of(arrow.covers_of(clause));
    match look.as_deref() {
        None => {}
        Some(Ok(taken)) => view.subject = taken.subject.to_string(),
        Some(Err(e)) => view.problem = Some((e.code(), e.to_string())),
    }
    view.attestation_ref = policy.attestation_ref(&arrow.id, &clause.id, grid_version)?;
    let standing = reader.standing(&view.attestation_ref)?;
    view.pending = pending::on(reader, &view.attestation_ref, standing.as_ref())?;
    let Some(standing) = standing else {
        if view.pending.is_some() {
            (view.status, view.round) = (ClauseStatus::Pending, 1);
        }
        return Ok(view);
    };
    view.deeper = standing.routed_upstream;
    view.concurrent = standing.concurrent;
    let round = reader.round(&view.attestation_ref, standing.round)?;
    view.newest = standing::authoritative(&round).cloned();
    if let Some(row) = &view.newest {
        view.judged = policy.decode_hint(&row.rec.hint_json)?.subject;
    }
    let verdict = Verdict::of_record(&standing.verdict);
    view.status = match (&view.pending, verdict) {
        (Some(_), _) | (None, Some(Verdict::InsufficientBasis)) => ClauseStatus::Pending,
        (None, Some(Verdict::Pass)) => ClauseStatus::Pass,
        (None, Some(Verdict::Fail)) => ClauseStatus::Fail,
        (None, Some(Verdict::AcceptedRisk)) if open_findings == 0 => ClauseStatus::Pass,
        (None, Some(Verdict::AcceptedRisk)) => ClauseStatus::Pending,
        (None, Some(Verdict::RouteUpstream) | None) => ClauseStatus::Unevaluated,
    };
    view.accepted_risk =
        view.status == ClauseStatus::Pass && verdict == Some(Verdict::AcceptedRisk);
    if view.status == ClauseStatus::Pass && view.problem.is_some() {
        // What is there cannot be told: nobody can say that it still holds.
        view.status = ClauseStatus::Unevaluated;
    } else if view.status == ClauseStatus::Pass && look.is_some() && view.judged != view.subject {
        view.status = ClauseStatus::Stale;
    }
    view.round = match &view.pending {
        Some(request) => request.round,
        None => standing.round,
    };
    Ok(view)
}
