//! What scripts are shown of records, requests, findings and passes: maps,
//! with the names these things have everywhere else.

use rhai::{Dynamic, INT, Map};

use crate::engine::{Finding, Pass, Request, Row};
use crate::modal::ModalHint;

fn number(n: impl TryInto<INT>) -> Dynamic {
    n.try_into().unwrap_or(INT::MAX).into()
}

macro_rules! map {
    ($($key:literal: $value:expr),* $(,)?) => {{
        let mut map = Map::new();
        $(map.insert($key.into(), Dynamic::from($value));)*
        map
    }};
}

/// A record: the keys of its line, and its ref and round.
pub(super) fn record(row: Row) -> Map {
    let rec = row.rec;
    map! {
        "attestation_id": rec.attestation_id,
        "kind": rec.kind,
        "arrow_id": rec.arrow_id,
        "clause_id": rec.clause_id,
        "op_id": rec.op_id,
        "attested_by_role": rec.attested_by_role,
        "source_role": rec.source_role,
        "target_role": rec.target_role,
        "adversary_role": rec.adversary_role,
        "verdict": rec.verdict,
        "reason": rec.reason,
        "timestamp": rec.timestamp,
        "grid_version": number(rec.grid_version),
        "pass_id": rec.pass_id,
        "context": rec.context,
        "stratum": rec.stratum,
        "unit": rec.unit,
        "unit_payload_json": rec.unit_payload_json,
        "hint_json": rec.hint_json,
        "chain": row.chain,
        "attestation_ref": row.attestation_ref,
        "round": number(row.round),
    }
}

/// What an operator is asked.
pub(super) fn request(request: Request) -> Map {
    map! {
        "attestation_ref": request.attestation_ref,
        "pass_id": request.pass_id,
        "arrow_id": request.arrow_id,
        "clause_id": request.clause_id,
        "concept": request.concept,
        "context": request.context,
        "stratum": request.stratum,
        "source_role": request.source_role,
        "target_role": request.target_role,
        "adversary_role": request.adversary_role,
        "grid_version": number(request.grid_version),
        "round": number(request.round),
        "deeper": number(request.deeper),
    }
}

/// A question: the request, as the policy says to show it.
pub(super) fn hint(hint: &ModalHint) -> Map {
    let mut map = request(hint.request.clone());
    let shown = hint.hint.clone();
    let rejected = hint.problem.as_ref().map(|problem| problem.code.clone());
    map.extend(map! {
        "arrow_id": shown.arrow_id,
        "clause_id": shown.clause_id,
        "concept": shown.concept,
        "attestation_ref": shown.attestation_ref,
        "op_id": hint.op_id.clone().unwrap_or_default(),
        "rejected": rejected.unwrap_or_default(),
    });
    map
}

/// A finding.
pub(super) fn finding(finding: Finding) -> Map {
    map! {
        "finding_id": finding.finding_id,
        "arrow_id": finding.arrow_id,
        "clause_id": finding.clause_id,
        "grid_version": number(finding.grid_version),
        "pass_id": finding.pass_id,
        "type": finding.kind,
        "severity": finding.severity,
        "status": finding.status,
        "detail": finding.detail,
        "raised_at": finding.raised_at,
        "disposed_by": finding.disposed_by,
    }
}

/// A pass.
pub(super) fn pass(pass: Pass) -> Map {
    map! {
        "pass_id": pass.pass_id,
        "arrow_id": pass.arrow_id,
        "role": pass.role,
        "context": pass.context,
        "status": pass.status.as_str().to_owned(),
        "reason": pass.reason,
        "opened_at": pass.opened_at,
        "ended_at": pass.ended_at,
        "recovered_at": pass.recovered_at,
    }
}
