//! Dispatch: one traversal of an arrow.
//!
//! Machine clauses are decided on the spot; attested ones are asked for, and
//! kept as requests before anybody hears of them.

use std::time::Instant;

use super::{Session, SessionError, find_arrow, machine};
use crate::bus::Event;
use crate::engine::{Finding, Pass, PassStatus, Request, Run, Tx};
use crate::grid::{Arrow, Clause, Eval};
use crate::status::{self, ArrowStatus, ClauseStatus};
use crate::verdicts::{self, Effects};

/// What a dispatch came to.
#[derive(Debug, Clone)]
pub struct Dispatched {
    /// The pass traversed.
    pub pass_id: String,
    /// Where the arrow stands now.
    pub status: ArrowStatus,
    /// What operators are asked for.
    pub requested: Vec<Request>,
}

impl Session {
    /// Traverses an arrow: in its open pass if there is one, else in a new one.
    ///
    /// # Errors
    /// `arrow-unknown`, `role-context-busy`, `engine-db-…`.
    pub fn dispatch(&self, arrow_id: &str) -> Result<Dispatched, SessionError> {
        self.dispatch_until(arrow_id, None)
    }

    /// As [`Self::dispatch`], with an end to the time commands may take. A
    /// command cut short by it decides nothing: the time was not its own.
    ///
    /// # Errors
    /// As [`Self::dispatch`], and `dispatch-deadline-exceeded`; the pass stays
    /// open.
    pub fn dispatch_until(
        &self,
        arrow_id: &str,
        deadline: Option<Instant>,
    ) -> Result<Dispatched, SessionError> {
        let arrow = find_arrow(&self.grid, arrow_id)?;
        let (pass, effects) = self.db.transaction(|tx| self.take_pass(tx, arrow))?;
        self.publish(effects);
        for clause in &arrow.clauses {
            if let Eval::Machine { run, timeout } = &clause.eval {
                let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
                let time = left.map_or(*timeout, |left| left.min(*timeout));
                let verdict = machine::run(run, self.project.root(), time).map_err(|source| {
                    SessionError::Machine {
                        command: run.join(" "),
                        source,
                    }
                })?;
                if time < *timeout && deadline.is_some_and(|end| end <= Instant::now()) {
                    return Err(SessionError::Deadline {
                        arrow: arrow.id.clone(),
                    });
                }
                self.db
                    .transaction(|tx| self.decide(tx, &pass, clause, &verdict))?;
            }
        }
        let requested = self
            .db
            .transaction(|tx| self.request_all(tx, &pass, arrow))?;
        for request in &requested {
            self.bus
                .publish(&Event::AttestationRequested(request.clone()));
        }
        let now = self.now();
        let (status, effects) = self.db.transaction(|tx| {
            let mut effects = Effects::default();
            verdicts::close_if_done(tx, &pass.pass_id, &now, &mut effects)?;
            let view = status::arrow(tx, &self.policy, &self.grid, arrow)?;
            Ok::<_, SessionError>((view.status, effects))
        })?;
        self.publish(effects);
        Ok(Dispatched {
            pass_id: pass.pass_id,
            status,
            requested,
        })
    }

    fn take_pass(&self, tx: &Tx<'_>, arrow: &Arrow) -> Result<(Pass, Effects), SessionError> {
        let mut effects = Effects::default();
        let now = self.now();
        if let Some(pass) = tx.open_pass_of(&arrow.id)? {
            if pass.grid_version == self.grid.version {
                return Ok((pass, effects));
            }
            // Its requests belong to a grid that is no longer asked by.
            let aborted = PassStatus::Aborted;
            verdicts::end_pass(
                tx,
                &pass.pass_id,
                aborted,
                "grid-changed",
                &now,
                &mut effects,
            )?;
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
            grid_version: self.grid.version,
            status: PassStatus::Open,
            reason: String::new(),
            opened_at: now,
            ended_at: String::new(),
            recovered_at: String::new(),
        };
        tx.open_pass(&pass)?;
        effects.events.push(Event::PassOpened(pass.clone()));
        Ok((pass, effects))
    }

    /// Keeps what a command came to, and the defect it found.
    fn decide(
        &self,
        tx: &Tx<'_>,
        pass: &Pass,
        clause: &Clause,
        verdict: &machine::MachineVerdict,
    ) -> Result<(), SessionError> {
        let now = self.now();
        tx.add_run(&Run {
            pass_id: pass.pass_id.clone(),
            arrow_id: pass.arrow_id.clone(),
            clause_id: clause.id.clone(),
            grid_version: pass.grid_version,
            eval: "machine",
            outcome: if verdict.passed { "pass" } else { "fail" }.to_owned(),
            detail: verdict.detail.clone(),
            attestation_id: String::new(),
            at: now.clone(),
        })?;
        let open = tx.open_findings(&pass.arrow_id, &clause.id, pass.grid_version)?;
        if verdict.passed {
            for finding in open {
                tx.dispose_finding(finding.finding_id, "resolved", &pass.pass_id)?;
            }
        } else if open.is_empty() {
            tx.raise_finding(&Finding {
                finding_id: 0,
                arrow_id: pass.arrow_id.clone(),
                clause_id: clause.id.clone(),
                grid_version: pass.grid_version,
                pass_id: pass.pass_id.clone(),
                kind: "machine-fail".to_owned(),
                severity: "high".to_owned(),
                status: "open".to_owned(),
                detail: verdict.detail.clone(),
                raised_at: now,
                disposed_by: String::new(),
            })?;
        }
        Ok(())
    }

    /// Asks for every attested clause that does not hold.
    fn request_all(
        &self,
        tx: &Tx<'_>,
        pass: &Pass,
        arrow: &Arrow,
    ) -> Result<Vec<Request>, SessionError> {
        let mut requested = Vec::new();
        for clause in arrow
            .clauses
            .iter()
            .filter(|clause| clause.eval == Eval::Attested)
        {
            let view = status::clause(tx, &self.policy, pass.grid_version, arrow, clause)?;
            if view.status == ClauseStatus::Pass {
                continue;
            }
            if let Some(request) = view.pending {
                requested.push(request);
                continue;
            }
            let mut request = Request {
                request_id: 0,
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
                round: view.newest.map_or(0, |row| row.round).saturating_add(1),
                deeper: view.deeper,
            };
            tx.add_request(&mut request)?;
            requested.push(request);
        }
        Ok(requested)
    }
}
