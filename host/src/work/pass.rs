//! How a pass goes on and ends, now that its refs stand as they do.
//!
//! Read off the records each time, so that it makes no difference whether a
//! verdict was given here, in another process, or came with a colleague's
//! commit; twice is the same as once.

use super::pending;
use super::standing::authoritative;
use crate::bus::Event;
use crate::db::{DbError, Pass, PassStatus, Traversal, Tx};

/// Why a pass ended whose process died before it had asked anything.
pub const CRASH: &str = "crash";

/// Who lives, so that what belonged to others can be taken up.
pub trait Living {
    /// Whether the session with this id is at work somewhere.
    fn is_alive(&self, session_id: &str) -> bool;
}

/// Brings every open pass up to its refs: what was answered is noted, what
/// waits for nothing ends. Returns what is to be told of it.
///
/// # Errors
/// `engine-db-…`.
pub fn settle_all(tx: &Tx<'_>, living: &dyn Living, now: &str) -> Result<Vec<Event>, DbError> {
    let mut events = Vec::new();
    for pass in tx.open_passes()? {
        let alive = living.is_alive(&pass.session_id);
        note_answers(tx, &pass, &mut events)?;
        let waiting = pending::of_pass(tx, &pass.pass_id)?;
        if !waiting.is_empty() {
            if !alive {
                if pass.recovered_at.is_empty() {
                    tx.set_recovered(&pass.pass_id, now)?;
                }
                events.extend(
                    waiting
                        .into_iter()
                        .map(Event::RecoveryAttestationRepublished),
                );
            }
        } else if pending::rests(tx, &pass.pass_id)? {
            // Neither waits it nor is it done.
        } else if pass.traversal == Traversal::Asked {
            end(tx, &pass.pass_id, PassStatus::Closed, "", now, &mut events)?;
        } else if !alive {
            tx.end_pass(&pass.pass_id, PassStatus::Aborted, CRASH, now)?;
            if let Some(pass) = tx.pass(&pass.pass_id)? {
                events.push(Event::RecoveryPassAbortedCrash(pass.clone()));
                events.push(Event::PassClosed(pass));
            }
        }
    }
    Ok(events)
}

/// Notes which records answer what a pass asked, and tells of those that
/// nobody has told of.
fn note_answers(tx: &Tx<'_>, pass: &Pass, events: &mut Vec<Event>) -> Result<(), DbError> {
    for request in tx.requests_of_pass(&pass.pass_id)? {
        let Some(standing) = tx.standing(&request.attestation_ref)? else {
            continue;
        };
        if standing.round <= request.asked_after {
            continue;
        }
        let round = tx.round(&request.attestation_ref, standing.round)?;
        let Some(row) = authoritative(&round) else {
            continue;
        };
        let id = &row.rec.attestation_id;
        if request.answered_by != *id {
            tx.answer_request(request.request_id, id)?;
            events.push(Event::RecoveryAttestationReplay {
                request,
                attestation_id: id.clone(),
            });
        }
    }
    Ok(())
}

/// Closes an open pass in which nothing waits any more.
///
/// # Errors
/// `engine-db-…`.
pub fn close_if_done(
    tx: &Tx<'_>,
    pass_id: &str,
    now: &str,
    events: &mut Vec<Event>,
) -> Result<(), DbError> {
    let pass = tx.pass(pass_id)?;
    let asked = pass.is_some_and(|pass| pass.traversal == Traversal::Asked);
    if asked && pending::of_pass(tx, pass_id)?.is_empty() && !pending::rests(tx, pass_id)? {
        end(tx, pass_id, PassStatus::Closed, "", now, events)?;
    }
    Ok(())
}

/// Ends a pass that is open, and has it told.
///
/// # Errors
/// `engine-db-…`.
pub fn end(
    tx: &Tx<'_>,
    pass_id: &str,
    status: PassStatus,
    reason: &str,
    now: &str,
    events: &mut Vec<Event>,
) -> Result<(), DbError> {
    let open = tx
        .pass(pass_id)?
        .is_some_and(|pass| pass.status == PassStatus::Open);
    if open {
        tx.end_pass(pass_id, status, reason, now)?;
        events.extend(tx.pass(pass_id)?.map(Event::PassClosed));
    }
    Ok(())
}
