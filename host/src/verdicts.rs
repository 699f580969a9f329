//! What a verdict does, once it is on record.
//!
//! Each recorded verdict takes effect exactly once, in the transaction that
//! notes that it did; a crash before it leaves the verdict to the next start.

use crate::bus::Event;
use crate::engine::{EngineError, Finding, PassStatus, Recorded, Request, Row, Run, Tx};
use std::sync::Arc;

/// What came of a verdict.
#[derive(Debug, Default)]
pub struct Effects {
    /// To be published when the transaction is done.
    pub events: Vec<Event>,
    /// The next round's request, to be asked at the next turn.
    pub asked_again: Option<Request>,
}

/// Lets the verdict of `recorded` take effect; nothing if it already has.
/// `rounds_max` is the grid's `insufficient-basis-rounds-max`.
///
/// # Errors
/// Those of the database.
pub fn act(
    tx: &Tx<'_>,
    recorded: &Arc<Recorded>,
    rounds_max: u32,
    now: &str,
) -> Result<Effects, EngineError> {
    let row = &recorded.row;
    let rec = &row.rec;
    let mut effects = Effects::default();
    if rec.clause_id.is_empty() || !tx.set_acted(&rec.attestation_id)? {
        return Ok(effects);
    }
    // A run is there where only the index was lost and read anew.
    let news = tx.add_run(&Run {
        pass_id: rec.pass_id.clone(),
        arrow_id: rec.arrow_id.clone(),
        clause_id: rec.clause_id.clone(),
        grid_version: rec.grid_version,
        eval: "attested",
        outcome: rec.verdict.clone(),
        detail: evidence(row),
        attestation_id: rec.attestation_id.clone(),
        at: rec.timestamp.clone(),
    })?;
    if !news {
        return Ok(effects);
    }
    let asked = tx.newest_request(&row.attestation_ref)?;
    tx.answer_request(&row.attestation_ref, &rec.attestation_id)?;
    let open = |tx: &Tx<'_>| tx.open_findings(&rec.arrow_id, &rec.clause_id, rec.grid_version);
    let mut ask_again = false;
    match rec.verdict.as_str() {
        "pass" => {
            for finding in open(tx)? {
                tx.dispose_finding(finding.finding_id, "resolved", &rec.attestation_id)?;
            }
        }
        "fail" => {
            tx.raise_finding(&finding(row, "fail-verdict", "high", now))?;
            effects
                .events
                .push(Event::ClauseFailVerdict(Arc::clone(recorded)));
        }
        "insufficient-basis" => ask_again = true,
        "accepted-risk" => {
            let first = match open(tx)?.first() {
                Some(finding) => finding.finding_id,
                None => tx.raise_finding(&finding(row, "insufficient-basis", "medium", now))?,
            };
            tx.dispose_finding(first, "accepted-risk", &rec.attestation_id)?;
            // Accepted one at a time: while one is open, the clause waits.
            ask_again = !open(tx)?.is_empty();
        }
        "route-upstream" => {
            let reason = "requires-deeper-artifact";
            end_pass(
                tx,
                &rec.pass_id,
                PassStatus::Aborted,
                reason,
                now,
                &mut effects,
            )?;
        }
        _ => {}
    }
    let pass_is_open = tx
        .pass(&rec.pass_id)?
        .is_some_and(|pass| pass.status == PassStatus::Open);
    if let (true, true, Some(asked)) = (ask_again, pass_is_open, asked) {
        let mut request = Request {
            round: row.round + 1,
            ..asked
        };
        tx.add_request(&mut request)?;
        let rounds = tx.insufficient_basis_rounds(&rec.pass_id, &rec.arrow_id, &rec.clause_id)?;
        if rounds >= rounds_max {
            effects
                .events
                .push(Event::InsufficientBasisRoundsExceeded { request, rounds });
        } else {
            effects.asked_again = Some(request);
        }
    }
    close_if_done(tx, &rec.pass_id, now, &mut effects)?;
    Ok(effects)
}

/// Closes an open pass in which nothing waits any more.
///
/// # Errors
/// Those of the database.
pub fn close_if_done(
    tx: &Tx<'_>,
    pass_id: &str,
    now: &str,
    effects: &mut Effects,
) -> Result<(), EngineError> {
    if tx.pending_in(pass_id)? == 0 {
        end_pass(tx, pass_id, PassStatus::Closed, "", now, effects)?;
    }
    Ok(())
}

/// Ends an open pass, and has it told.
///
/// # Errors
/// Those of the database.
pub fn end_pass(
    tx: &Tx<'_>,
    pass_id: &str,
    status: PassStatus,
    reason: &str,
    now: &str,
    effects: &mut Effects,
) -> Result<(), EngineError> {
    let open = tx
        .pass(pass_id)?
        .is_some_and(|pass| pass.status == PassStatus::Open);
    if open {
        tx.end_pass(pass_id, status, reason, now)?;
        effects
            .events
            .extend(tx.pass(pass_id)?.map(Event::PassClosed));
    }
    Ok(())
}

fn finding(row: &Row, kind: &str, severity: &str, now: &str) -> Finding {
    Finding {
        finding_id: 0,
        arrow_id: row.rec.arrow_id.clone(),
        clause_id: row.rec.clause_id.clone(),
        grid_version: row.rec.grid_version,
        pass_id: row.rec.pass_id.clone(),
        kind: kind.to_owned(),
        severity: severity.to_owned(),
        status: "open".to_owned(),
        detail: evidence(row),
        raised_at: now.to_owned(),
        disposed_by: String::new(),
    }
}

/// The evidence of a record in words: its locations, then its note.
pub fn evidence(row: &Row) -> String {
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct Payload {
        inspected: Vec<String>,
        residue: String,
    }
    // The policy has checked the payload's shape.
    let payload: Payload = serde_json::from_str(&row.rec.unit_payload_json).unwrap_or_default();
    let mut words = payload.inspected.join(", ");
    if !payload.residue.is_empty() {
        if !words.is_empty() {
            words.push_str(": ");
        }
        words.push_str(&payload.residue);
    }
    words
}
