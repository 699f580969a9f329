//! What happened, in the operator's words.
//!
//! Events are kept in an inbox and told before the next question, so that
//! nothing is printed into a line that is being typed.

use std::sync::{Arc, Mutex, PoisonError};

use ghyll::audit::PATH_TOO_LONG;
use ghyll::bus::{Bus, Event, Subscription};
use ghyll::db::{PassStatus, Request};
use ghyll::session::Session;
use ghyll::text::{count, excerpt};
use ghyll::work::verdict::evidence;

use crate::cli::output::{status, text};
use crate::cli::{Failure, Output};

/// Events not yet told.
pub struct Inbox<'a> {
    events: Arc<Mutex<Vec<Event>>>,
    bus: &'a Bus,
    subscription: Option<Subscription>,
}

impl<'a> Inbox<'a> {
    /// Keeps what is published from now on.
    pub fn on(bus: &'a Bus) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&events);
        let subscription = bus.subscribe(move |event| {
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.clone());
        });
        Self {
            events,
            bus,
            subscription: Some(subscription),
        }
    }

    /// What was published since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Inbox<'_> {
    fn drop(&mut self) {
        if let Some(subscription) = self.subscription.take() {
            self.bus.unsubscribe(subscription);
        }
    }
}

/// Tells of an event, if it is for the operator. `escalates` says whether an
/// escalation comes of what is told.
pub fn tell(
    out: &Output,
    session: &Session,
    event: &Event,
    escalates: bool,
) -> Result<(), Failure> {
    match event {
        Event::AttestationRecorded(recorded) => {
            let rec = &recorded.row.rec;
            if out.json() {
                return Ok(out.json_text(recorded.line.trim_end())?);
            }
            out.line(text![
                "Recorded ",
                &rec.attestation_id,
                ": ",
                status(&rec.verdict),
                " by ",
                &rec.op_id,
            ])?;
            let asked = |r: &Request| r.attestation_ref == recorded.row.attestation_ref;
            if rec.verdict == "insufficient-basis"
                && !escalates
                && session.pending()?.iter().any(asked)
            {
                out.note_wrapped(
                    "  The clause stays pending and is asked again at your next turn (Enter is one).",
                    2,
                );
            }
        }
        Event::ClauseFailVerdict(recorded) => {
            let rec = &recorded.row.rec;
            out.note_wrapped(
                format!(
                    "  {} is told that {} fails: {}",
                    rec.source_role,
                    rec.clause_id,
                    excerpt(&evidence(&recorded.row)),
                ),
                4,
            );
        }
        Event::InsufficientBasisRoundsExceeded { request, rounds } => out.note_wrapped(
            format!(
                "  {}: {} in a row without a basis to judge it. It has to be decided now.",
                request.clause_id,
                count(usize::try_from(*rounds).unwrap_or(usize::MAX), "round"),
            ),
            2,
        ),
        Event::PassClosed(pass) if pass.status == PassStatus::Aborted => {
            let next = if pass.reason == "requires-deeper-artifact" {
                format!(
                    " The next /run-arrow {} asks for a deeper tier.",
                    pass.arrow_id
                )
            } else {
                String::new()
            };
            out.note_wrapped(
                format!("Pass of {} aborted: {}.{next}", pass.arrow_id, pass.reason),
                2,
            );
        }
        Event::PassClosed(pass) => {
            // An arrow of an older grid has no status in this one.
            if let Ok(view) = session.stands(&pass.arrow_id) {
                out.note(text![
                    &pass.arrow_id,
                    " is ",
                    status(view.status.as_str()),
                    "; its pass is closed."
                ]);
            }
        }
        Event::ModalSkipped(request) => {
            out.note(format!(
                "Skipped {}; asked again at your next turn.",
                request.attestation_ref
            ));
        }
        Event::ClockBehind { timestamp, .. } => out.note_wrapped(
            format!(
                "warning[clock-behind]: the clock is behind the verdict before; this one has \
                 its time and a nanosecond: {}",
                timestamp
            ),
            2,
        ),
        Event::AttestationPathTruncated { substituted, .. } => out.note_wrapped(
            format!(
                "warning[{PATH_TOO_LONG}]: replaced by a hash in the record's path: {}",
                substituted.join(", "),
            ),
            2,
        ),
        Event::AttestationAuditDurabilityFailed {
            attestation_id,
            surface,
            message,
        } => out.note_wrapped(
            format!(
                "warning[attestation-audit-durability-failed]: {} is on record, but not in \
                     the {surface}: {}",
                attestation_id, message,
            ),
            2,
        ),
        _ => {}
    }
    Ok(())
}
