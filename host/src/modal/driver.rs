//! The modal driver: which question is put next, and none ever lost.
//!
//! Requests arrive on the bus and are kept in order of their number, once
//! each. Draining takes a snapshot, presents it, and looks again, for answers
//! may raise new questions; whatever is not answered, for whatever reason,
//! stays queued.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, Problem, VerdictAnswer};
use crate::bus::{Bus, Event};
use crate::engine::Request;
use crate::session::{Session, SessionError, Submission, limits};

/// How often draining looks again for new questions.
const DRAIN_ROUNDS: usize = 8;
/// What became of an escalation the operator left without an answer.
const UNRESOLVED: &str = "unresolved";

/// Why draining stopped before everything was asked.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// Answers kept raising questions.
    #[error("answers raised new questions {DRAIN_ROUNDS} times over; the rest is asked next turn")]
    CapExceeded,
    /// A question was not answered.
    #[error(transparent)]
    Modal(#[from] ModalError),
    /// The session could not say what to ask.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl DrainError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::CapExceeded => "modal-drain-cap-exceeded",
            Self::Modal(e) => e.code(),
            Self::Session(e) => e.code(),
        }
    }
}

/// Queues requests from the bus and puts them to an operator.
pub struct ModalDriver {
    max_len: usize,
    bus: Arc<Bus>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// To be asked, in order of number.
    waiting: BTreeMap<i64, Request>,
    /// Being asked now: the rest of the snapshot.
    asking: BTreeMap<i64, Request>,
    /// Skipped, or to be asked for another round: not in this turn. They take
    /// no room, so that those behind them get their turn.
    not_now: HashSet<i64>,
    /// Escalations shown and not yet decided, by ref.
    escalated: HashMap<String, Request>,
}

impl Queue {
    fn len(&self) -> usize {
        self.waiting.len() + self.asking.len()
    }

    fn holds(&self, id: i64) -> bool {
        self.waiting.contains_key(&id) || self.asking.contains_key(&id)
    }
}

enum Asked {
    Answered,
    Skipped,
}

impl ModalDriver {
    /// A driver that hears of requests on `bus` and queues at most `max_len`.
    pub fn attach(bus: &Arc<Bus>, max_len: usize) -> Arc<Self> {
        let driver = Arc::new(Self {
            max_len,
            bus: Arc::clone(bus),
            queue: Mutex::default(),
        });
        // Held weakly: a session that ends leaves nothing behind on the bus.
        let weak = Arc::downgrade(&driver);
        bus.subscribe(move |event| {
            if let Some(driver) = weak.upgrade() {
                driver.on_event(event);
            }
        });
        driver
    }

    /// Queues what an event asks for.
    fn on_event(&self, event: &Event) {
        match event {
            Event::AttestationRequested(request)
            | Event::RecoveryAttestationRepublished(request)
            | Event::InsufficientBasisRoundsExceeded { request, .. } => self.enqueue(request),
            _ => {}
        }
    }

    fn enqueue(&self, request: &Request) {
        let mut queue = self.queue();
        if queue.holds(request.request_id) {
            return;
        }
        queue.not_now.remove(&request.request_id);
        // One question a ref: a newer request takes the place of an older one.
        queue
            .waiting
            .retain(|_, other| other.attestation_ref != request.attestation_ref);
        if queue.len() >= self.max_len {
            drop(queue);
            self.bus.publish(&Event::ModalBackpressure(request.clone()));
            return;
        }
        queue.waiting.insert(request.request_id, request.clone());
    }

    /// Has a request asked at the next turn, not in this one.
    pub(crate) fn defer(&self, request: &Request) {
        self.queue().not_now.insert(request.request_id);
    }

    /// The escalation shown on a ref, if it was not decided yet; it is now.
    pub(crate) fn resolve_escalation(&self, attestation_ref: &str) -> Option<Request> {
        self.queue().escalated.remove(attestation_ref)
    }

    /// How many requests are queued.
    pub fn len(&self) -> usize {
        self.queue().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks what is pending, until nothing is left that was not skipped.
    ///
    /// # Errors
    /// `modal-drain-cap-exceeded`, or what kept a question from being
    /// answered; every request not yet answered stays queued, in order.
    pub fn drain_pending(
        &self,
        session: &Session,
        prompt: &mut dyn OperatorModalPrompt,
    ) -> Result<(), DrainError> {
        let result = self.drain(session, prompt, &mut HashSet::new());
        let mut queue = self.queue();
        let rest = std::mem::take(&mut queue.asking);
        queue.waiting.extend(rest);
        queue.not_now.clear();
        // What was shown and not decided is shown anew next time.
        let unresolved = std::mem::take(&mut queue.escalated);
        drop(queue);
        for request in unresolved.into_values() {
            let outcome = UNRESOLVED.to_owned();
            self.bus
                .publish(&Event::EscalationResolved { request, outcome });
        }
        // The turn is over: what was put off is queued again. What cannot be
        // read now is taken up at the next turn.
        let requeued = self.refill(session, &HashSet::new(), None);
        result.and(requeued)
    }

    fn drain(
        &self,
        session: &Session,
        prompt: &mut dyn OperatorModalPrompt,
        asked: &mut HashSet<i64>,
    ) -> Result<(), DrainError> {
        for _ in 0..DRAIN_ROUNDS {
            self.refill(session, asked, None)?;
            let newest = session
                .pending()?
                .last()
                .map_or(0, |request| request.request_id);
            {
                let mut queue = self.queue();
                queue.asking = std::mem::take(&mut queue.waiting);
            }
            let mut presented = false;
            loop {
                if self.queue().asking.is_empty() {
                    // What had no room belongs to this round: rounds count
                    // what answers raise, not how little the queue holds.
                    self.refill(session, asked, Some(newest))?;
                }
                let next = self
                    .queue()
                    .asking
                    .first_key_value()
                    .map(|(_, r)| r.clone());
                let Some(request) = next else { break };
                presented = true;
                let outcome = self.ask(session, prompt, &request)?;
                asked.insert(request.request_id);
                let mut queue = self.queue();
                queue.asking.remove(&request.request_id);
                if let Asked::Skipped = outcome {
                    queue.not_now.insert(request.request_id);
                }
            }
            if !presented {
                return Ok(());
            }
        }
        self.refill(session, asked, None)?;
        if self.queue().waiting.is_empty() {
            Ok(())
        } else {
            Err(DrainError::CapExceeded)
        }
    }

    /// Takes up pending requests that found no room when they were made: into
    /// the round that is on, as far as they were there when it began, or to
    /// wait for the next.
    fn refill(
        &self,
        session: &Session,
        asked: &HashSet<i64>,
        this_round: Option<i64>,
    ) -> Result<(), DrainError> {
        if self.queue().len() >= self.max_len {
            return Ok(());
        }
        let pending = session.pending()?;
        let mut queue = self.queue();
        for request in pending {
            let id = request.request_id;
            let known = queue.holds(id) || queue.not_now.contains(&id) || asked.contains(&id);
            if known || queue.len() >= self.max_len {
                continue;
            }
            match this_round {
                Some(newest) if id <= newest => queue.asking.insert(id, request),
                _ => queue.waiting.insert(id, request),
            };
        }
        Ok(())
    }

    /// Asks one question until it is answered, skipped or no longer stands.
    fn ask(
        &self,
        session: &Session,
        prompt: &mut dyn OperatorModalPrompt,
        request: &Request,
    ) -> Result<Asked, DrainError> {
        let mut problem = None;
        loop {
            let Some((hint, escalation)) = self.hint(session, request, problem.take())? else {
                return Ok(Asked::Answered);
            };
            let attempts = hint.problem.as_ref().map_or(0, |p: &Problem| p.attempts);
            let submission = if escalation {
                match self.present_escalation(prompt, &hint) {
                    Err(ModalError::Withdrawn) => continue,
                    other => other?,
                }
            } else {
                match prompt.present_verdict(&hint)? {
                    VerdictAnswer::Submit(submission) => submission,
                    VerdictAnswer::Withdrawn => continue,
                    VerdictAnswer::Skip => {
                        self.bus.publish(&Event::ModalSkipped(request.clone()));
                        return Ok(Asked::Skipped);
                    }
                }
            };
            match session.submit(request, &submission) {
                Ok(_) => return Ok(Asked::Answered),
                Err(error) => {
                    problem = Some(Problem {
                        code: error.code().to_owned(),
                        message: error.to_string(),
                        attempts: attempts + 1,
                    });
                }
            }
        }
    }

    fn present_escalation(
        &self,
        prompt: &mut dyn OperatorModalPrompt,
        hint: &ModalHint,
    ) -> Result<Submission, ModalError> {
        let request = &hint.request;
        let shown = self
            .queue()
            .escalated
            .insert(request.attestation_ref.clone(), request.clone())
            .is_some();
        if !shown {
            self.bus
                .publish(&Event::EscalationPresented(request.clone()));
        }
        let (verdict, residue) = match prompt.present_escalation(hint)? {
            EscalationChoice::AcceptedRisk(note) => ("accepted-risk", note),
            EscalationChoice::RouteUpstream(rationale) => ("route-upstream", rationale),
        };
        Ok(Submission {
            verdict: verdict.to_owned(),
            inspected: Vec::new(),
            residue,
        })
    }

    /// What to show for a request and whether it is an escalation; `None` if
    /// it is no longer pending.
    fn hint(
        &self,
        session: &Session,
        request: &Request,
        problem: Option<Problem>,
    ) -> Result<Option<(ModalHint, bool)>, DrainError> {
        let rounds_max = session.grid().settings.insufficient_basis_rounds_max;
        let read = session.db().read(|tx| {
            let stands = tx
                .pending_on(&request.attestation_ref)?
                .is_some_and(|pending| pending.request_id == request.request_id);
            if !stands {
                return Ok(None);
            }
            let (pass, arrow, clause) = (&request.pass_id, &request.arrow_id, &request.clause_id);
            let rounds = tx.insufficient_basis_rounds(pass, arrow, clause)?;
            let history = tx.rows_of_ref(&request.attestation_ref)?;
            let findings = tx.open_findings(arrow, clause, request.grid_version)?;
            let pending = tx.pending_count()?;
            Ok::<_, SessionError>(Some((rounds, history, findings, pending)))
        })?;
        let Some((rounds, history, findings, pending)) = read else {
            return Ok(None);
        };
        let hint = session.hint(request)?;
        let waiting = usize::try_from(pending.saturating_sub(1)).unwrap_or(usize::MAX);
        let hint = ModalHint {
            hint,
            request: request.clone(),
            history,
            findings,
            waiting,
            max_residue_bytes: limits(session.grid()).max_residue_bytes,
            op_id: session.op_id(),
            problem,
        };
        Ok(Some((hint, rounds >= rounds_max)))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
