//! Putting a verdict on record, and what follows from it.

use std::sync::Arc;

use super::question::{DEPTH_TYPE, OPERATOR, Question, question};
use super::submission::Submission;
use super::{Hold, Session, SessionError};
use crate::audit::{Draft, Recorded};
use crate::bus::Event;
use crate::db::{DbError, Pass, PassStatus, Request, Row, Standing, Traversal, Tx};
use crate::policy::{ArrowDefinition, Attestation, Clause, Hint, Limits};
use crate::subject::{SubjectStore, Taken};
use crate::view::resolve_ref;
use crate::work::{Verdict, pass, pending, standing};

/// What an answer to a ref came to.
#[derive(Debug, Clone)]
pub struct Attested {
    /// The record.
    pub recorded: Arc<Recorded>,
    /// The verdict that counted before it.
    pub replaces: Option<Row>,
}

/// Who answers what, about which files.
struct Answer<'a> {
    submission: &'a Submission,
    op_id: &'a str,
    taken: Option<Taken>,
}

impl Session {
    /// Answers a pending request, in the name of whoever the operator is now.
    ///
    /// # Errors
    /// `op-id-required`, `attestation-no-longer-asked` and
    /// `attestation-asked-anew` where somebody else was first, `escalation-…`,
    /// and whatever the store refuses; then nothing is recorded.
    pub fn submit(
        &self,
        request: &Request,
        submission: &Submission,
    ) -> Result<Arc<Recorded>, SessionError> {
        let op_id = self.op_id().unwrap_or_default();
        self.check_evidence(submission, &op_id)?;
        // Read before anybody is kept out: it may take a while.
        let taken = self.taken(request)?;
        self.check_subject(request, submission, taken.as_ref())?;
        let hold = self.hold("recording a verdict")?;
        let (now, standing) = self.db.read(|reader| {
            let standing = reader.standing(&request.attestation_ref)?;
            let now = pending::on(reader, &request.attestation_ref, standing.as_ref())?;
            Ok::<_, DbError>((now, standing))
        })?;
        let attestation_ref = request.attestation_ref.clone();
        let by = || Ok::<_, DbError>(self.authoritative(&request.attestation_ref)?.map(Box::new));
        match now {
            None => {
                let by = by()?.filter(|row| row.round >= request.round);
                return Err(SessionError::NoLongerAsked {
                    attestation_ref,
                    by,
                });
            }
            Some(now) if (now.request_id, now.round) != (request.request_id, request.round) => {
                let by = by()?;
                return Err(SessionError::AskedAnew {
                    attestation_ref,
                    by,
                });
            }
            Some(_) => {}
        }
        let question = Question {
            request: request.clone(),
            kind: DEPTH_TYPE,
            attested_by: OPERATOR,
            own_pass: false,
            beside: self.beside(request, OPERATOR)?,
        };
        let answer = Answer {
            submission,
            op_id: &op_id,
            taken,
        };
        self.answer(hold, question, standing, &answer)
    }

    /// Answers a ref, or `ARROW/CLAUSE`, decided or not: under the newest open
    /// pass that asks for it, else, if it was ever asked for, under a pass of
    /// its own.
    ///
    /// # Errors
    /// In this order: the op-id's, the evidence's, `attestation-no-pass-for-ref`,
    /// `escalation-…`, and what the store refuses.
    pub fn attest(
        &self,
        reference: &str,
        submission: &Submission,
        op_id: &str,
    ) -> Result<Attested, SessionError> {
        self.take_up_grid()?;
        self.check_evidence(submission, op_id)?;
        let grid = self.grid();
        let attestation_ref = resolve_ref(&grid, &self.policy, reference)?;
        // Read before anybody is kept out: it may take a while.
        let asked = self.db.read(|reader| {
            let standing = reader.standing(&attestation_ref)?;
            question(reader, &attestation_ref, standing.as_ref())
        })?;
        let taken = match &asked {
            Some(asked) => self.taken(&asked.request)?,
            None => None,
        };
        if let Some(asked) = &asked {
            self.check_subject(&asked.request, submission, taken.as_ref())?;
        }
        let hold = self.hold("recording a verdict")?;
        if self.grid().version != grid.version {
            // `ARROW/CLAUSE` is another ref now.
            drop(hold);
            return self.attest(reference, submission, op_id);
        }
        let (question, standing, replaces) = self.db.read(|reader| {
            let standing = reader.standing(&attestation_ref)?;
            let question = question(reader, &attestation_ref, standing.as_ref())?;
            let replaces = standing::newest(reader, &attestation_ref)?;
            Ok::<_, DbError>((question, standing, replaces))
        })?;
        let mut question =
            question.ok_or_else(|| SessionError::NoPassForRef(reference.to_owned()))?;
        if question.own_pass {
            question.request.pass_id = self.clock.new_id().to_string();
        } else {
            question.beside = self.beside(&question.request, question.attested_by)?;
        }
        // What is decided and said again in the same words by the same person
        // is on record already.
        if let Some(row) = &replaces
            && !pending::waits(&question.request, standing.as_ref())
            && self.says_the_same(row, submission, op_id, taken.as_ref())?
        {
            let recorded = Arc::new(Recorded {
                row: row.clone(),
                line: String::new(),
            });
            return Ok(Attested {
                recorded,
                replaces: None,
            });
        }
        let answer = Answer {
            submission,
            op_id,
            taken,
        };
        let recorded = self.answer(hold, question, standing, &answer)?;
        Ok(Attested { recorded, replaces })
    }

    /// What an operator is shown of a request, and what the record keeps of it.
    pub(crate) fn hint(&self, request: &Request, subject: &str) -> Result<Hint, SessionError> {
        Ok(self.policy.synthesize_hint(
            &Clause {
                clause_id: request.clause_id.clone(),
                concept: request.concept.clone(),
                depth_type_attestation_ref: request.attestation_ref.clone(),
                subject: subject.to_owned(),
                locations: request.evidence.locations.clone(),
                basis: request.evidence.basis.clone(),
                residue: request.evidence.residue.clone(),
            },
            &ArrowDefinition {
                id: request.arrow_id.clone(),
                source_role: request.source_role.clone(),
                target_role: request.target_role.clone(),
                context: request.context.clone(),
                stratum: request.stratum.clone(),
            },
        )?)
    }

    /// The limits a request's answer is held to: those of its own grid.
    fn limits_of(&self, grid_version: u64) -> Limits {
        let grid = self.grid();
        if grid_version == grid.version {
            return grid.limits();
        }
        self.grids.for_reading(grid_version)
    }

    /// Records an answer, under a hold that is let go of before it is told.
    fn answer(
        &self,
        hold: Hold,
        question: Question,
        before: Option<Standing>,
        answer: &Answer<'_>,
    ) -> Result<Arc<Recorded>, SessionError> {
        let Answer {
            submission, op_id, ..
        } = answer;
        let request = &question.request;
        let attestation_ref = request.attestation_ref.clone();
        let rounds_max = self.grid().settings.insufficient_basis_rounds_max;
        let due = pending::escalation_due(before.as_ref(), rounds_max);
        if due && !submission.verdict.is_escalation() {
            return Err(SessionError::EscalationDue {
                attestation_ref,
                rounds: before.map_or(0, |s| s.basis_streak),
            });
        }
        if !due && submission.verdict.is_escalation() && question.kind == DEPTH_TYPE {
            return Err(SessionError::EscalationNotDue {
                attestation_ref,
                verdict: submission.verdict.as_str(),
            });
        }
        // The list of files is there before the record that names it.
        let subject = match &answer.taken {
            Some(taken) => SubjectStore::new(self.disk.as_ref())
                .keep(&taken.manifest)?
                .to_string(),
            None => String::new(),
        };
        let hint = self.hint(request, &subject)?;
        let hint_json = match question.kind {
            DEPTH_TYPE => self.policy.encode_hint(&hint)?,
            _ => self.init_hint(request)?,
        };
        let rec = Attestation {
            kind: question.kind.to_owned(),
            arrow_id: request.arrow_id.clone(),
            clause_id: request.clause_id.clone(),
            attested_by_role: question.attested_by.to_owned(),
            source_role: request.source_role.clone(),
            target_role: request.target_role.clone(),
            adversary_role: request.adversary_role.clone(),
            grid_version: request.grid_version,
            pass_id: question.record_pass().to_owned(),
            context: request.context.clone(),
            stratum: request.stratum.clone(),
            hint_json,
            ..self.answered(submission, op_id, self.now())?
        };
        let draft = Draft {
            rec,
            attestation_ref,
            limits: self.limits_of(request.grid_version),
            via: submission.via.annotation(),
        };
        let mut opened = Vec::new();
        let mut came = Vec::new();
        let written = self.store.write(draft, &hold.lock, &mut |tx, recorded| {
            (opened, came) = self.act(tx, &question, recorded)?;
            Ok(())
        })?;
        let observed = self.store.observe(written);
        drop(hold);
        self.publish_all(opened);
        let recorded = self.store.publish(observed);
        self.publish_all(came);
        Ok(recorded)
    }

    /// Lets a recorded verdict take effect, in the transaction that indexes it.
    /// Returns what is to be told before the record itself, and after it.
    fn act(
        &self,
        tx: &Tx<'_>,
        question: &Question,
        recorded: &Arc<Recorded>,
    ) -> Result<(Vec<Event>, Vec<Event>), DbError> {
        let now = recorded.row.rec.timestamp.as_str();
        let row = &recorded.row;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        standing::fold(tx, &row.attestation_ref, row.round)?;
        let standing = tx.standing(&row.attestation_ref)?;
        let mut request = question.request.clone();
        if question.own_pass {
            let pass = self.own_pass(question, now);
            tx.open_pass_unless_busy(&pass)?;
            request.request_id = 0;
            request.asked_after = row.round.saturating_sub(1);
            request.answered_by = row.rec.attestation_id.clone();
            if question.kind == DEPTH_TYPE {
                tx.add_request(&mut request)?;
            }
            before.push(Event::PassOpened(pass));
        } else {
            if let Some(beside) = &question.beside {
                self.note_beside(tx, beside, self.own_pass(question, now))?;
            }
            tx.answer_request(request.request_id, &row.rec.attestation_id)?;
        }
        let verdict = Verdict::of_record(&row.rec.verdict);
        if verdict == Some(Verdict::Fail) && question.kind == DEPTH_TYPE {
            after.push(Event::ClauseFailVerdict(Arc::clone(recorded)));
        }
        if verdict == Some(Verdict::RouteUpstream) {
            // What was routed upstream is made anew: no pass of it goes on.
            let reason = "requires-deeper-artifact";
            for pass in tx.open_passes()? {
                if pass.pass_id == row.rec.pass_id || pass.arrow_id == row.rec.arrow_id {
                    let aborted = PassStatus::Aborted;
                    pass::end(tx, &pass.pass_id, aborted, reason, now, &mut after)?;
                }
            }
        }
        let open = tx
            .pass(&question.request.pass_id)?
            .is_some_and(|pass| pass.status == PassStatus::Open);
        if open && pending::waits(&request, standing.as_ref()) {
            let rounds = standing.as_ref().map_or(0, |s| s.basis_streak);
            let request = request.at(standing.as_ref());
            let rounds_max = self.grid().settings.insufficient_basis_rounds_max;
            after.push(if pending::escalation_due(standing.as_ref(), rounds_max) {
                Event::InsufficientBasisRoundsExceeded { request, rounds }
            } else {
                Event::AttestationRequested(request)
            });
        }
        pass::close_if_done(tx, &question.request.pass_id, now, &mut after)?;
        Ok((before, after))
    }

    /// The pass of a verdict that no open pass asks for.
    fn own_pass(&self, question: &Question, now: &str) -> Pass {
        let request = &question.request;
        Pass {
            pass_id: question.record_pass().to_owned(),
            arrow_id: request.arrow_id.clone(),
            role: request.source_role.clone(),
            context: request.context.clone(),
            stratum: request.stratum.clone(),
            source_role: request.source_role.clone(),
            target_role: request.target_role.clone(),
            adversary_role: request.adversary_role.clone(),
            grid_version: request.grid_version,
            status: PassStatus::Open,
            reason: String::new(),
            opened_at: now.to_owned(),
            ended_at: String::new(),
            recovered_at: String::new(),
            session_id: self.lives_as(),
            traversal: Traversal::Asked,
        }
    }
}
