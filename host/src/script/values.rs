//! What scripts are shown: maps, made by serde from the types that `--json`
//! prints, so that a script reads the same names and shapes.

use rhai::Dynamic;
use serde::Serialize;

use super::fault::Fault;
use crate::db::Request;
use crate::modal::ModalHint;
use crate::shape::Pending;

/// Anything that serialises, as a script sees it.
pub(super) fn of<T: Serialize>(value: &T) -> Result<Dynamic, Fault> {
    rhai::serde::to_dynamic(value).map_err(|e| Fault::new("script-value-invalid", e))
}

/// What an operator is asked.
pub(super) fn request(request: &Request, escalation: bool) -> Result<Dynamic, Fault> {
    of(&Pending::new(request, escalation))
}

#[derive(Serialize)]
struct Question<'a> {
    #[serde(flatten)]
    asked: Pending<'a>,
    /// What the covered files are; empty where nothing is covered.
    subject: &'a str,
    /// The paths that changed since the last round.
    changed: Vec<&'a str>,
    op_id: &'a str,
    rejected: &'a str,
}

/// A question: the request, as the policy says to show it.
pub(super) fn hint(hint: &ModalHint) -> Result<Dynamic, Fault> {
    of(&Question {
        asked: Pending {
            arrow_id: &hint.hint.arrow_id,
            clause_id: &hint.hint.clause_id,
            concept: &hint.hint.concept,
            attestation_ref: &hint.hint.attestation_ref,
            ..Pending::new(&hint.request, hint.escalation)
        },
        subject: &hint.hint.subject,
        changed: hint.changed.iter().map(|c| c.path.as_str()).collect(),
        op_id: hint.op_id.as_deref().unwrap_or_default(),
        rejected: hint.problem.as_ref().map_or("", |problem| &problem.code),
    })
}
