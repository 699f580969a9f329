//! Why an arrow does not hold, for whoever has to mend it: the command that
//! failed with the last of what it said, the verdict with its places and note.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Pending, eval};
use crate::codes;
use crate::db::{Row, Run};
use crate::grid::{Arrow, Clause, Eval};
use crate::session::Dispatched;
use crate::work::Verdict;
use crate::work::status::{ArrowStatus, ArrowView, ClauseStatus, ClauseView};
use crate::work::verdict::Evidence;

/// What a dispatch came to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DispatchedWhole<'a> {
    /// The arrow's id.
    pub arrow: &'a str,
    /// The pass that traversed it.
    pub pass_id: &'a str,
    /// Where the arrow stands.
    pub status: ArrowStatus,
    /// The refs that operators are asked for.
    pub requested: Vec<&'a str>,
    /// The same, with all there is to say of each.
    pub pending: Vec<Pending<'a>>,
    /// Why clauses do not hold, as far as somebody or something said so.
    pub reasons: Vec<Reason<'a>>,
    /// The command to type next; empty if nothing is left to do.
    pub next: String,
    /// Who was traversing the arrow already, and since when: theirs is the
    /// answer. Empty if nobody was.
    pub joined: &'a str,
}

impl<'a> DispatchedWhole<'a> {
    /// What a dispatch came to.
    pub fn new(done: &'a Dispatched) -> Self {
        let arrow = &done.arrow;
        let requested = done.requested.iter();
        Self {
            arrow: &arrow.id,
            pass_id: &done.pass_id,
            status: done.status,
            requested: requested.map(|r| r.attestation_ref.as_str()).collect(),
            pending: done
                .requested
                .iter()
                .map(|request| {
                    let due = done.escalations.contains(&request.attestation_ref);
                    Pending::new(request, due)
                })
                .collect(),
            reasons: reasons(arrow, &done.stands),
            next: next_command(arrow, &done.stands),
            joined: &done.joined,
        }
    }
}

/// Why one clause does not hold.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reason<'a> {
    /// The clause's id.
    pub clause_id: &'a str,
    /// What it claims.
    pub concept: &'a str,
    /// `machine` or `attested`.
    pub eval: &'static str,
    /// Where it stands.
    pub status: ClauseStatus,
    /// The command that failed, for a machine clause.
    pub run: Option<FailedRun<'a>>,
    /// The verdict that counts, for an attested one.
    pub verdict: Option<Given<'a>>,
    /// Why nobody can be asked: what it covers cannot be told.
    pub problem: Option<Problem<'a>>,
}

/// Why what a clause covers cannot be told.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Problem<'a> {
    /// The public code, `subject-…`.
    pub code: &'a str,
    /// In words.
    pub message: &'a str,
    /// What to do about it.
    pub hint: &'static str,
}

/// A command that failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FailedRun<'a> {
    /// The command, as the grid declares it.
    pub command: &'a [String],
    /// How it ended, on the first line, then the last of what it said.
    pub detail: &'a str,
    /// When, RFC 3339.
    pub at: &'a str,
}

/// A verdict that does not let a clause hold.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Given<'a> {
    /// `fail`, `insufficient-basis`, `accepted-risk` or `route-upstream`.
    pub verdict: &'a str,
    /// Which answer to its ref it was, from 1.
    pub round: u32,
    /// Who gave it.
    pub op_id: &'a str,
    /// When, RFC 3339.
    pub timestamp: &'a str,
    /// The places inspected.
    pub inspected: Vec<String>,
    /// The note: what is wrong, what is missing, or why it goes back.
    pub residue: String,
}

impl<'a> Given<'a> {
    fn new(row: &'a Row) -> Self {
        let said = Evidence::of(row);
        Self {
            verdict: &row.rec.verdict,
            round: row.round,
            op_id: &row.rec.op_id,
            timestamp: &row.rec.timestamp,
            inspected: said.inspected,
            residue: said.residue,
        }
    }
}

/// Why the clauses of an arrow do not hold, in the grid's order. Those that
/// only nobody has judged are not among them.
pub fn reasons<'a>(arrow: &'a Arrow, view: &'a ArrowView) -> Vec<Reason<'a>> {
    let clauses = arrow.clauses.iter().zip(&view.clauses);
    clauses
        .filter(|(_, view)| view.status != ClauseStatus::Pass)
        .filter_map(|(clause, view)| reason(clause, view))
        .collect()
}

fn reason<'a>(clause: &'a Clause, view: &'a ClauseView) -> Option<Reason<'a>> {
    let run = match (&clause.eval, &view.run) {
        (Eval::Machine { run, .. }, Some(last)) if !last.passed => Some(failed(run, last)),
        _ => None,
    };
    let verdict = view
        .newest
        .as_ref()
        .filter(|row| Verdict::of_record(&row.rec.verdict) != Some(Verdict::Pass))
        .map(Given::new);
    let problem = view.problem.as_ref().map(|(code, message)| Problem {
        code,
        message,
        hint: codes::page(code).map_or("", |page| page.hint),
    });
    let why = run.is_some() || verdict.is_some() || problem.is_some();
    why.then_some(Reason {
        clause_id: &clause.id,
        concept: &clause.concept,
        eval: eval(&clause.eval),
        status: view.status,
        run,
        verdict,
        problem,
    })
}

/// Whether something has to be mended before it is of use to dispatch again: a
/// command that fails, files that are not there.
pub fn to_mend(reasons: &[Reason<'_>]) -> bool {
    reasons
        .iter()
        .any(|reason| reason.run.is_some() || reason.problem.is_some())
}

fn failed<'a>(command: &'a [String], run: &'a Run) -> FailedRun<'a> {
    FailedRun {
        command,
        detail: &run.detail,
        at: &run.at,
    }
}

/// The command that takes an arrow further; empty if nothing is left to do.
pub fn next_command(arrow: &Arrow, view: &ArrowView) -> String {
    let dispatch = || {
        let id = shlex::try_quote(&arrow.id).unwrap_or_default();
        format!("ghyll dispatch {id}")
    };
    match view.status {
        ArrowStatus::Complete => String::new(),
        ArrowStatus::Unreadable => "ghyll engine verify-attestations".to_owned(),
        ArrowStatus::Provisional => "ghyll run".to_owned(),
        // What fails is mended first.
        _ => dispatch(),
    }
}
