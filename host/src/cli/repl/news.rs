//! What happened, in the operator's words.
//!
//! Events are kept in an inbox and told before the next question, so that
//! nothing is printed into a line that is being typed.

use std::sync::{Arc, Mutex, PoisonError};

use ghyll::bus::{Bus, Event, Subscription};
use ghyll::engine::{PassStatus, Request};
use ghyll::session::Session;
use ghyll::store::PATH_TOO_LONG;
use ghyll::verdicts::evidence;

use crate::cli::output::{self, clean};
use crate::cli::{Failure, Output};

/// The most of a note that is shown in passing, in characters.
const EXCERPT: usize = 200;

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

/// The beginning of a text, and how long it is if that is not all.
pub fn excerpt(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(EXCERPT) {
        None => text,
        Some((end, _)) => {
            format!(
                "{}… ({} bytes in all)",
                text.get(..end).unwrap_or_default(),
                text.len()
            )
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
            out.line(&format!(
                "Recorded {}: {} by {}",
                clean(&rec.attestation_id),
                output::status(&rec.verdict),
                clean(&rec.op_id),
            ))?;
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
                &format!(
                    "  {} is told that {} fails: {}",
                    clean(&rec.source_role),
                    clean(&rec.clause_id),
                    excerpt(&evidence(&recorded.row)),
                ),
                4,
            );
        }
        Event::InsufficientBasisRoundsExceeded { request, rounds } => out.note_wrapped(
            &format!(
                "  {}: {} in a row without a basis to judge it. It has to be decided now.",
                clean(&request.clause_id),
                super::count(usize::try_from(*rounds).unwrap_or(usize::MAX), "round"),
            ),
            2,
        ),
        Event::PassClosed(pass) if pass.status == PassStatus::Aborted => {
            let next = if pass.reason == "requires-deeper-artifact" {
                format!(
                    " The next /run-arrow {} asks for a deeper tier.",
                    clean(&pass.arrow_id)
                )
            } else {
                String::new()
            };
            out.note_wrapped(
                &format!(
                    "Pass of {} aborted: {}.{next}",
                    clean(&pass.arrow_id),
                    clean(&pass.reason)
                ),
                2,
            );
        }
        Event::PassClosed(pass) => {
            // An arrow of an older grid has no status in this one.
            if let Ok(view) = session.arrow_view(&pass.arrow_id) {
                let status = output::status(view.status.as_str());
                out.note(&format!(
                    "{} is {status}; its pass is closed.",
                    clean(&pass.arrow_id)
                ));
            }
        }
        Event::ModalSkipped(request) => {
            out.note(&format!(
                "Skipped {}; asked again at your next turn.",
                clean(&request.attestation_ref)
            ));
        }
        Event::AttestationPathTruncated { substituted, .. } => out.note_wrapped(
            &format!(
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
            &format!(
                "warning[attestation-audit-durability-failed]: {} is on record, but not in \
                     the {surface}: {}",
                clean(attestation_id),
                clean(message),
            ),
            2,
        ),
        _ => {}
    }
    Ok(())
}
