//! Dispatch: one traversal of an arrow.
//!
//! Machine clauses are decided on the spot; attested ones are asked for, and
//! kept as requests before anybody hears of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Session, SessionError};
use crate::bus::Event;
use crate::db::{DbError, Evidence, Pass, PassStatus, Request, Traversal, Tx};
use crate::grid::{Arrow, Eval, Grid};
use crate::project::{Holder, Presence};
use crate::runtime::cancel::Cancel;
use crate::subject::Present;
use crate::view::find_arrow;
use crate::work::pass;
use crate::work::pending;
use crate::work::status::{self, ArrowStatus, ArrowView, ClauseStatus};

/// How often somebody else's traversal is looked at while it is waited for.
const POLL: Duration = Duration::from_millis(100);

/// What a dispatch came to.
#[derive(Debug, Clone)]
pub struct Dispatched {
    /// The pass traversed.
    pub pass_id: String,
    /// Where the arrow stands now.
    pub status: ArrowStatus,
    /// Where it and its clauses stand, and why.
    pub stands: ArrowView,
    /// What operators are asked for.
    pub requested: Vec<Request>,
    /// Those of the refs asked for that only an escalation's verdicts decide.
    pub escalations: BTreeSet<String>,
    /// The arrow, as the grid declares it.
    pub arrow: Arrow,
    /// Who was at it already and was waited for, in words; empty if nobody was.
    pub joined: String,
}

/// Hears that a pass is joined, and who runs it, if that can be told.
pub type Joined<'a> = &'a dyn Fn(&Pass, Option<Holder>);

/// How a dispatch goes about it.
#[derive(Default)]
pub struct Options<'a> {
    /// Calls it off.
    pub cancel: Cancel,
    /// What the producer says, by clause.
    pub evidence: BTreeMap<String, Evidence>,
    /// Told when somebody else traverses the arrow just now, whose traversal
    /// is waited for.
    pub joined: Option<Joined<'a>>,
}

/// Whose pass is traversed.
enum Taken {
    /// Ours.
    Ours(Pass),
    /// Somebody else's, who is at it.
    Theirs(Pass),
}

impl Session {
    /// Traverses an arrow: in its open pass if there is one, else in a new one.
    ///
    /// # Errors
    /// `arrow-unknown`, `role-context-busy`, `engine-db-…`; and, with the pass
    /// left open and the clause as it was, `machine-clause-unrunnable` if a
    /// command cannot be run for want of something of ghyll's own, and
    /// `dispatch-cancelled` when the process is told to end.
    pub fn dispatch(&self, arrow_id: &str) -> Result<Dispatched, SessionError> {
        self.dispatch_with(arrow_id, &Options::default())
    }

    /// As [`Self::dispatch`], until the caller calls it off, with what the
    /// producer says. A command cut short decides nothing: the time was not
    /// its own. An arrow that somebody else traverses just now is not
    /// traversed twice: their answer is waited for.
    ///
    /// # Errors
    /// As [`Self::dispatch`], and `dispatch-cancelled` or
    /// `dispatch-deadline-exceeded`, the pass left open;
    /// `evidence-unknown-clause`, `location-unknown` and, where it is more than
    /// a record may keep, `attestation-hint-malformed`, with nothing dispatched.
    pub fn dispatch_with(
        &self,
        arrow_id: &str,
        options: &Options<'_>,
    ) -> Result<Dispatched, SessionError> {
        let mut joined = String::new();
        // Anew when what it was begun with is over: the grid, or who was at it.
        let (grid, pass_id) = loop {
            self.take_up_grid()?;
            let grid = self.grid();
            let arrow = find_arrow(&grid, arrow_id)?;
            self.check_said(arrow, &options.evidence)?;
            let hold = self.hold("dispatching")?;
            if self.grid().version != grid.version {
                continue;
            }
            let mut events = Vec::new();
            let taken = self
                .db
                .transaction(|tx| self.take_pass(tx, &grid, arrow, &mut events))?;
            drop(hold);
            self.publish_all(events);
            let (pass, done) = match taken {
                Taken::Ours(pass) => {
                    let done = self
                        .run_commands(arrow, &pass, &options.cancel)
                        .and_then(|()| self.ask_for_clauses(arrow, &pass, &options.evidence));
                    if done.is_err() {
                        self.call_off(&pass);
                    }
                    (pass, done?)
                }
                Taken::Theirs(pass) => {
                    let who = Presence::who(&self.project, &pass.session_id);
                    joined = who
                        .as_ref()
                        .map_or_else(|| "another session".to_owned(), Holder::to_string);
                    if let Some(tell) = options.joined {
                        tell(&pass, who);
                    }
                    let done = self.wait_for(&pass, &options.cancel)?
                        // They could not know what is said here.
                        && (options.evidence.is_empty()
                            || self.ask_for_clauses(arrow, &pass, &options.evidence)?);
                    (pass, done)
                }
            };
            if done {
                break (grid, pass.pass_id);
            }
        };
        let arrow = find_arrow(&grid, arrow_id)?;
        let present = self.present();
        present.look_at(arrow);
        self.db.read(|reader| {
            let stands = status::arrow(reader, &self.policy, &present, &grid, arrow)?;
            let requested = pending::of_pass(reader, &pass_id)?;
            let rounds_max = grid.settings.insufficient_basis_rounds_max;
            let mut escalations = BTreeSet::new();
            for Request {
                attestation_ref, ..
            } in &requested
            {
                let standing = reader.standing(attestation_ref)?;
                if pending::escalation_due(standing.as_ref(), rounds_max) {
                    escalations.insert(attestation_ref.clone());
                }
            }
            Ok(Dispatched {
                pass_id,
                status: stands.status,
                stands,
                requested,
                escalations,
                arrow: arrow.clone(),
                joined,
            })
        })
    }

    /// Asks operators for the attested clauses that do not hold, or closes the
    /// pass. False if another grid has come into force: the pass is over.
    fn ask_for_clauses(
        &self,
        arrow: &Arrow,
        pass: &Pass,
        evidence: &BTreeMap<String, Evidence>,
    ) -> Result<bool, SessionError> {
        let present = self.present();
        present.look_at(arrow);
        let hold = self.hold("asking for verdicts")?;
        let now = self.now();
        let mut events = Vec::new();
        if self.grid().version != pass.grid_version {
            self.db
                .transaction(|tx| end_for_grid(tx, pass, &now, &mut events))?;
            drop(hold);
            self.publish_all(events);
            return Ok(false);
        }
        let requested = self.db.transaction(|tx| {
            let Some(pass) = tx.pass(&pass.pass_id)?.filter(is_open) else {
                return Ok(Vec::new());
            };
            let mut said = tx.take_words(&arrow.id)?;
            said.extend(evidence.clone());
            let requested = self.request_all(tx, &present, &pass, arrow, &said)?;
            tx.set_asked(&pass.pass_id)?;
            pass::close_if_done(tx, &pass.pass_id, &now, &mut events)?;
            Ok::<_, SessionError>(requested)
        })?;
        self.remember(present)?;
        drop(hold);
        for request in requested {
            self.bus.publish(&Event::AttestationRequested(request));
        }
        self.publish_all(events);
        Ok(true)
    }

    /// Notes that this process is no longer at a pass that it leaves open, so
    /// that nobody waits for it. Where that cannot be written, they wait until
    /// the process has ended.
    fn call_off(&self, pass: &Pass) {
        let id = self.lives_as();
        let noted = self.hold("calling off a dispatch").and_then(|hold| {
            let called_off = self.db.transaction(|tx| tx.call_off(&pass.pass_id, &id));
            drop(hold);
            Ok(called_off?)
        });
        if let Err(error) = noted {
            tracing::warn!("{error}");
        }
    }

    /// Waits until somebody else's traversal has asked what it asks for, or
    /// its pass has ended; false if they gave it up, or died at it.
    fn wait_for(&self, pass: &Pass, cancel: &Cancel) -> Result<bool, SessionError> {
        loop {
            let now = self.db.read(|reader| reader.pass(&pass.pass_id))?;
            match now {
                Some(now) if is_open(&now) => match now.traversal {
                    Traversal::Asked => return Ok(true),
                    Traversal::CalledOff => return Ok(false),
                    Traversal::UnderWay => {
                        if !Presence::is_alive(&self.project, &now.session_id)? {
                            return Ok(false);
                        }
                    }
                },
                Some(now) if now.reason == pass::CRASH => return Ok(false),
                Some(_) => return Ok(true),
                // The database was taken away.
                None => return Ok(false),
            }
            cancel
                .sleep(POLL)
                .map_err(|why| SessionError::WaitingCancelled {
                    arrow: pass.arrow_id.clone(),
                    why,
                })?;
        }
    }

    fn take_pass(
        &self,
        tx: &Tx<'_>,
        grid: &Grid,
        arrow: &Arrow,
        events: &mut Vec<Event>,
    ) -> Result<Taken, SessionError> {
        let now = self.now();
        let me = self.lives_as();
        if let Some(pass) = tx.open_pass_of(&arrow.id)? {
            if pass.grid_version != grid.version {
                end_for_grid(tx, &pass, &now, events)?;
            } else if pass.session_id != me
                && pass.traversal == Traversal::UnderWay
                && Presence::is_alive(&self.project, &pass.session_id)?
            {
                return Ok(Taken::Theirs(pass));
            } else {
                tx.take_pass(&pass.pass_id, &me)?;
                return Ok(Taken::Ours(pass));
            }
        }
        if let Some(other) = tx.open_pass_on(&arrow.source_role, &arrow.context)? {
            return Err(SessionError::RoleContextBusy {
                role: other.role,
                context: other.context,
                arrow: other.arrow_id,
                pass_id: other.pass_id,
            });
        }
        // A replayed clock gives the ids of its last replay again.
        let pass_id = loop {
            let id = self.clock.new_id().to_string();
            if tx.pass(&id)?.is_none() {
                break id;
            }
        };
        let pass = Pass {
            pass_id,
            arrow_id: arrow.id.clone(),
            role: arrow.source_role.clone(),
            context: arrow.context.clone(),
            stratum: arrow.stratum.clone(),
            source_role: arrow.source_role.clone(),
            target_role: arrow.target_role.clone(),
            adversary_role: arrow.adversary_role.clone().unwrap_or_default(),
            grid_version: grid.version,
            status: PassStatus::Open,
            reason: String::new(),
            opened_at: now,
            ended_at: String::new(),
            recovered_at: String::new(),
            session_id: me,
            traversal: Traversal::UnderWay,
        };
        tx.open_pass(&pass)?;
        events.push(Event::PassOpened(pass.clone()));
        Ok(Taken::Ours(pass))
    }

    /// Asks for every attested clause that does not hold.
    fn request_all(
        &self,
        tx: &Tx<'_>,
        present: &Present,
        pass: &Pass,
        arrow: &Arrow,
        evidence: &BTreeMap<String, Evidence>,
    ) -> Result<Vec<Request>, SessionError> {
        let mut requested = Vec::new();
        for clause in arrow
            .clauses
            .iter()
            .filter(|clause| clause.eval == Eval::Attested)
        {
            let view = status::clause(tx, &self.policy, present, pass.grid_version, arrow, clause)?;
            // What cannot be listed cannot be judged: it stays unevaluated.
            if view.status == ClauseStatus::Pass || view.problem.is_some() {
                continue;
            }
            let said = evidence.get(&clause.id);
            if let Some(mut request) = view.pending {
                if let Some(said) = said {
                    request.evidence = said.clone();
                    tx.ask_again(&request)?;
                }
                requested.push(request);
                continue;
            }
            let standing = tx.standing(&view.attestation_ref)?;
            let request = match tx.request(&pass.pass_id, &view.attestation_ref)? {
                Some(before) => {
                    let request = Request {
                        evidence: said.cloned().unwrap_or(before.evidence),
                        ..before
                    }
                    .asked(standing.as_ref());
                    tx.ask_again(&request)?;
                    request
                }
                None => {
                    let mut request = Request {
                        attestation_ref: view.attestation_ref,
                        pass_id: pass.pass_id.clone(),
                        arrow_id: arrow.id.clone(),
                        clause_id: clause.id.clone(),
                        concept: clause.concept.clone(),
                        context: pass.context.clone(),
                        stratum: pass.stratum.clone(),
                        source_role: pass.source_role.clone(),
                        target_role: pass.target_role.clone(),
                        adversary_role: pass.adversary_role.clone(),
                        grid_version: pass.grid_version,
                        evidence: said.cloned().unwrap_or_default(),
                        ..Request::default()
                    }
                    .asked(standing.as_ref());
                    tx.add_request(&mut request)?;
                    request
                }
            };
            requested.push(request.at(standing.as_ref()));
        }
        Ok(requested)
    }
}

/// Ends a pass of a grid that is no longer in force: nobody is asked by it.
fn end_for_grid(
    tx: &Tx<'_>,
    pass: &Pass,
    now: &str,
    events: &mut Vec<Event>,
) -> Result<(), DbError> {
    let aborted = PassStatus::Aborted;
    pass::end(tx, &pass.pass_id, aborted, "grid-changed", now, events)
}

pub(super) fn is_open(pass: &Pass) -> bool {
    pass.status == PassStatus::Open
}
