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
use crate::db::Request;
use crate::session::{Session, SessionError, Submission};
use crate::work::{Verdict, pending};

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

/// A request and its round, in order of asking.
type Key = (i64, u32);

fn key(request: &Request) -> Key {
    (request.request_id, request.round)
}

#[derive(Default)]
struct Queue {
    /// To be asked, in order of number.
    waiting: BTreeMap<Key, Request>,
    /// Being asked now: the rest of the snapshot.
    asking: BTreeMap<Key, Request>,
    /// Skipped, or to be asked for another round: not in this turn. They take
    /// no room, so that those behind them get their turn.
    not_now: HashSet<Key>,
    /// Escalations shown and not yet decided, by ref.
    escalated: HashMap<String, Request>,
}

impl Queue {
    fn len(&self) -> usize {
        self.waiting.len() + self.asking.len()
    }

    fn holds(&self, id: Key) -> bool {
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

    /// Queues what an event asks for, and notes what it decides.
    fn on_event(&self, event: &Event) {
        match event {
            // Another round of what this pass asked is asked at the next turn,
            // not in this one.
            Event::AttestationRequested(request)
                if request.round > request.asked_after.saturating_add(1) =>
            {
                self.queue().not_now.insert(key(request));
            }
            Event::AttestationRequested(request)
            | Event::RecoveryAttestationRepublished(request)
            | Event::InsufficientBasisRoundsExceeded { request, .. } => self.enqueue(request),
            Event::AttestationRecorded(recorded) => {
                let shown = self.queue().escalated.remove(&recorded.row.attestation_ref);
                if let Some(request) = shown {
                    self.bus.publish(&Event::EscalationResolved {
                        request,
                        outcome: recorded.row.rec.verdict.clone(),
                    });
                }
            }
            _ => {}
        }
    }

    fn enqueue(&self, request: &Request) {
        let mut queue = self.queue();
        if queue.holds(key(request)) {
            return;
        }
        queue.not_now.remove(&key(request));
        // One question a ref: a newer request takes the place of an older one.
        queue
            .waiting
            .retain(|_, other| other.attestation_ref != request.attestation_ref);
        if queue.len() >= self.max_len {
            drop(queue);
            self.bus.publish(&Event::ModalBackpressure(request.clone()));
            return;
        }
        queue.waiting.insert(key(request), request.clone());
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
        asked: &mut HashSet<Key>,
    ) -> Result<(), DrainError> {
        for _ in 0..DRAIN_ROUNDS {
            self.refill(session, asked, None)?;
            let newest = session.pending()?.last().map_or((0, 0), key);
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
                let (outcome, put) = self.ask(session, prompt, &request)?;
                let keys = [key(&request), key(&put)];
                asked.extend(keys);
                let mut queue = self.queue();
                for key in keys {
                    queue.asking.remove(&key);
                    queue.waiting.remove(&key);
                }
                if let Asked::Skipped = outcome {
                    queue.not_now.insert(key(&put));
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
        asked: &HashSet<Key>,
        this_round: Option<Key>,
    ) -> Result<(), DrainError> {
        if self.queue().len() >= self.max_len {
            return Ok(());
        }
        let pending = session.pending()?;
        let mut queue = self.queue();
        for request in pending {
            let id = key(&request);
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
    /// Where somebody else answers it meanwhile and it is asked for another
    /// round, it is put again as that; the last that was put is returned.
    fn ask(
        &self,
        session: &Session,
        prompt: &mut dyn OperatorModalPrompt,
        request: &Request,
    ) -> Result<(Asked, Request), DrainError> {
        let mut request = request.clone();
        let mut problem = None;
        loop {
            let Some((hint, escalation)) = self.hint(session, &request, problem.take())? else {
                return Ok((Asked::Answered, request));
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
                        return Ok((Asked::Skipped, request));
                    }
                }
            };
            match session.submit(&hint.request, &submission) {
                Ok(_) => return Ok((Asked::Answered, request)),
                Err(error) => {
                    let why = Problem {
                        code: error.code().to_owned(),
                        message: error.to_string(),
                        attempts: attempts + 1,
                    };
                    let anew = match error {
                        SessionError::NoLongerAsked { .. } => None,
                        SessionError::AskedAnew { .. } => self.anew(session, &request)?,
                        _ => Some(request.clone()),
                    };
                    let Some(anew) = anew else {
                        prompt.withdrawn(&hint, &why)?;
                        return Ok((Asked::Answered, request));
                    };
                    request = anew;
                    problem = Some(why);
                }
            }
        }
    }

    /// What is asked now on the ref of a request.
    fn anew(&self, session: &Session, request: &Request) -> Result<Option<Request>, DrainError> {
        let attestation_ref = &request.attestation_ref;
        Ok(session.read(|reader| {
            let standing = reader.standing(attestation_ref)?;
            Ok::<_, SessionError>(pending::on(reader, attestation_ref, standing.as_ref())?)
        })?)
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
            EscalationChoice::AcceptedRisk(note) => (Verdict::AcceptedRisk, note),
            EscalationChoice::RouteUpstream(rationale) => (Verdict::RouteUpstream, rationale),
        };
        Ok(Submission {
            verdict,
            residue,
            via: prompt.via(),
            ..Submission::default()
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
        let attestation_ref = &request.attestation_ref;
        let read = session.read(|reader| {
            let standing = reader.standing(attestation_ref)?;
            let stands = pending::on(reader, attestation_ref, standing.as_ref())?;
            let Some(request) = stands.filter(|now| key(now) == key(request)) else {
                return Ok(None);
            };
            let due = pending::escalation_due(standing.as_ref(), rounds_max);
            let history = reader.rounds_from(attestation_ref, 0)?;
            let findings = reader.open_findings(
                &request.arrow_id,
                &request.clause_id,
                request.grid_version,
            )?;
            let pending = pending::all(reader)?.len();
            Ok::<_, SessionError>(Some((request, due, history, findings, pending)))
        })?;
        let Some((request, due, history, findings, pending)) = read else {
            return Ok(None);
        };
        // Files that cannot be listed cannot be judged: said with the question,
        // which can be put off until they can.
        let (subject, changed, problem) = match session.shown(&request, history.last()) {
            Ok((subject, changed)) => (Some(subject), changed, problem),
            Err(SessionError::Subject(e)) => {
                let attempts = problem.as_ref().map_or(0, |p| p.attempts);
                let problem = Problem {
                    code: e.code().to_owned(),
                    message: e.to_string(),
                    attempts,
                };
                (None, Vec::new(), Some(problem))
            }
            Err(e) => return Err(e.into()),
        };
        let hint = session.hint(&request, subject.as_deref().unwrap_or_default())?;
        let request = Request {
            shown: subject,
            ..request
        };
        let waiting = pending.saturating_sub(1);
        let hint = ModalHint {
            hint,
            request,
            escalation: due,
            history,
            findings,
            changed,
            waiting,
            max_residue_bytes: session.limits().max_residue_bytes,
            op_id: session.op_id(),
            problem,
        };
        Ok(Some((hint, due)))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
