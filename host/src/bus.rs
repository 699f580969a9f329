//! The bus: what happened, told to whoever asked to hear it.
//!
//! Publishing holds no lock, so a subscriber may publish, subscribe or leave
//! while it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::db::{Pass, Recorded, Request};
use crate::subject::changed::Change;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A traversal of an arrow began.
    PassOpened(Pass),
    /// A traversal ended: closed, or aborted for a reason.
    PassClosed(Pass),
    /// An operator is asked for a verdict.
    AttestationRequested(Request),
    /// A verdict is durable in the tree.
    AttestationRecorded(Arc<Recorded>),
    /// A verdict says the clause fails; the producer should hear of it.
    ClauseFailVerdict(Arc<Recorded>),
    /// A clause has had too many rounds without a basis to judge it.
    InsufficientBasisRoundsExceeded {
        /// What is asked next: the escalation.
        request: Request,
        /// Rounds so far.
        rounds: u32,
    },
    /// An operator is shown an escalation.
    EscalationPresented(Request),
    /// The escalation shown last was decided.
    EscalationResolved {
        /// What was asked.
        request: Request,
        /// `accepted-risk` or `route-upstream`; `unresolved` when the operator
        /// left without an answer.
        outcome: String,
    },
    /// The covered files changed between the question and its answer, which
    /// was not taken.
    SubjectChanged {
        /// What was asked, and is asked again.
        request: Request,
        /// What changed.
        changed: Vec<Change>,
    },
    /// An operator deferred a verdict.
    ModalSkipped(Request),
    /// More requests than the queue takes; this one waits on disk.
    ModalBackpressure(Request),
    /// The clock was behind the ref's newest record; the verdict got the time
    /// right after that one.
    ClockBehind {
        /// The record.
        attestation_id: String,
        /// The time it got, RFC 3339.
        timestamp: String,
    },
    /// A value of a record was replaced by its hash in the path.
    AttestationPathTruncated {
        /// The record.
        recorded: Arc<Recorded>,
        /// Which values: `context`, `stratum`, `role-pair`, `pass-id`.
        substituted: Vec<String>,
    },
    /// A verdict is durable in the tree, but something behind it failed.
    AttestationAuditDurabilityFailed {
        /// The record.
        attestation_id: String,
        /// What failed: `flat`, `index`, …
        surface: &'static str,
        /// Why.
        message: String,
    },
    /// A request of a dead session is asked again.
    RecoveryAttestationRepublished(Request),
    /// A verdict of a dead session was found in the tree and acted upon.
    RecoveryAttestationReplay {
        /// What was asked.
        request: Request,
        /// The record that answers it.
        attestation_id: String,
    },
    /// A pass of a dead session had nothing that waits.
    RecoveryPassAbortedCrash(Pass),
}

impl Event {
    /// The event's kind, as it is called everywhere.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::PassOpened(_) => "pass-opened",
            Self::PassClosed(_) => "pass-closed",
            Self::AttestationRequested(_) => "attestation-requested",
            Self::AttestationRecorded(_) => "attestation-recorded",
            Self::ClauseFailVerdict(_) => "clause-fail-verdict",
            Self::InsufficientBasisRoundsExceeded { .. } => "insufficient-basis-rounds-exceeded",
            Self::EscalationPresented(_) => "escalation-presented",
            Self::EscalationResolved { .. } => "escalation-resolved",
            Self::SubjectChanged { .. } => "subject-changed",
            Self::ModalSkipped(_) => "modal-skipped",
            Self::ModalBackpressure(_) => "modal-backpressure",
            Self::ClockBehind { .. } => "clock-behind",
            Self::AttestationPathTruncated { .. } => "attestation-path-truncated",
            Self::AttestationAuditDurabilityFailed { .. } => "attestation-audit-durability-failed",
            Self::RecoveryAttestationRepublished(_) => "recovery-attestation-republished",
            Self::RecoveryAttestationReplay { .. } => "recovery-attestation-replay",
            Self::RecoveryPassAbortedCrash(_) => "recovery-pass-aborted-crash",
        }
    }
}

type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// Publishers and subscribers meet here.
#[derive(Default)]
pub struct Bus {
    next: AtomicU64,
    subscribers: Mutex<Vec<(u64, Subscriber)>>,
}

/// Proof of a subscription, needed to end it.
#[derive(Debug)]
pub struct Subscription(u64);

impl Bus {
    /// Tells `subscriber` of every event from now on.
    pub fn subscribe(&self, subscriber: impl Fn(&Event) + Send + Sync + 'static) -> Subscription {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().push((id, Arc::new(subscriber)));
        Subscription(id)
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, subscription: Subscription) {
        self.lock().retain(|(id, _)| *id != subscription.0);
    }

    /// Tells everyone, in order of subscription.
    pub fn publish(&self, event: &Event) {
        tracing::debug!(kind = event.kind(), "event");
        let subscribers: Vec<Subscriber> = self
            .lock()
            .iter()
            .map(|(_, subscriber)| Arc::clone(subscriber))
            .collect();
        for subscriber in subscribers {
            subscriber(event);
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<(u64, Subscriber)>> {
        self.subscribers.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_may_publish_and_leave_while_it_is_told() {
        let bus = Arc::new(Bus::default());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (inner, list) = (Arc::clone(&bus), Arc::clone(&heard));
        let subscription = bus.subscribe(move |event| {
            list.lock().push(event.kind());
            if let Event::AttestationRequested(request) = event {
                inner.publish(&Event::ModalSkipped(request.clone()));
            }
        });
        bus.publish(&Event::AttestationRequested(Request::default()));
        bus.unsubscribe(subscription);
        bus.publish(&Event::ModalSkipped(Request::default()));
        assert_eq!(*heard.lock(), ["attestation-requested", "modal-skipped"]);
    }
}
