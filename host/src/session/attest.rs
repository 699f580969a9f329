//! Putting a verdict on record, and what follows from it.

use std::sync::Arc;

use super::{Session, SessionError, limits};
use crate::bus::Event;
use crate::engine::{EngineError, Request};
use crate::policy::{ArrowDefinition, Attestation, Clause, Hint, UnitPayload};
use crate::store::Recorded;
use crate::verdicts::{self, Effects};

/// The role an operator attests by.
const OPERATOR: &str = "operator";
/// The role a project's beginning is attested by.
const INIT: &str = "init";

/// An operator's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// `pass`, `fail`, `insufficient-basis`, `accepted-risk`, `route-upstream`.
    pub verdict: String,
    /// Places inspected.
    pub inspected: Vec<String>,
    /// A note.
    pub residue: String,
}

impl Submission {
    /// The unit the evidence amounts to.
    pub fn unit(&self) -> &'static str {
        if !self.residue.is_empty() {
            "write-residue-note"
        } else if !self.inspected.is_empty() {
            "record-locations-inspected"
        } else {
            "confirm"
        }
    }
}

impl Session {
    /// Answers a pending request, in the name of whoever the operator is now.
    ///
    /// # Errors
    /// `op-id-required` and whatever the store refuses; then the request is
    /// still pending.
    pub fn submit(
        &self,
        request: &Request,
        submission: &Submission,
    ) -> Result<Arc<Recorded>, SessionError> {
        let op_id = self.op_id().unwrap_or_default();
        self.check_evidence(submission, &op_id)?;
        self.record_answer(request, submission, &op_id)
    }

    /// Answers a ref, decided or not, under the newest pass that asked for it.
    ///
    /// # Errors
    /// In this order: the op-id's, the evidence's, `attestation-no-pass-for-ref`,
    /// and what the store refuses.
    pub fn attest(
        &self,
        attestation_ref: &str,
        submission: &Submission,
        op_id: &str,
    ) -> Result<Arc<Recorded>, SessionError> {
        self.check_evidence(submission, op_id)?;
        let request = self
            .db
            .read(|tx| tx.newest_request(attestation_ref))?
            .ok_or_else(|| SessionError::NoPassForRef(attestation_ref.to_owned()))?;
        self.record_answer(&request, submission, op_id)
    }

    /// One on-the-spot record for every arrow that has none, attested by
    /// `init`. Returns how many were made.
    ///
    /// # Errors
    /// The op-id's, and what the store refuses.
    pub fn init_attest(&self, op_id: &str) -> Result<usize, SessionError> {
        self.policy.validate_op_id(op_id)?;
        let mut pass_id = None;
        let mut made = 0;
        for arrow in &self.grid.arrows {
            let attestation_ref = self
                .policy
                .attestation_ref(&arrow.id, "", self.grid.version)?;
            if let Some(row) = self.db.read(|tx| tx.newest_of_ref(&attestation_ref))? {
                pass_id.get_or_insert(row.rec.pass_id);
                continue;
            }
            let pass_id = pass_id.get_or_insert_with(|| self.clock.new_id().to_string());
            let submission = Submission {
                verdict: "pass".to_owned(),
                ..Submission::default()
            };
            self.store.record(Attestation {
                attestation_id: attestation_ref,
                kind: "on-the-spot".to_owned(),
                arrow_id: arrow.id.clone(),
                clause_id: String::new(),
                op_id: op_id.to_owned(),
                attested_by_role: INIT.to_owned(),
                source_role: arrow.source_role.clone(),
                target_role: arrow.target_role.clone(),
                adversary_role: arrow.adversary_role.clone().unwrap_or_default(),
                verdict: submission.verdict.clone(),
                reason: String::new(),
                timestamp: self.now(),
                grid_version: self.grid.version,
                pass_id: pass_id.clone(),
                context: arrow.context.clone(),
                stratum: arrow.stratum.clone(),
                unit: submission.unit().to_owned(),
                unit_payload_json: self.payload(&submission)?,
                hint_json: "{}".to_owned(),
            })?;
            made += 1;
        }
        Ok(made)
    }

    fn payload(&self, submission: &Submission) -> Result<String, SessionError> {
        Ok(self.policy.encode_unit_payload(&UnitPayload {
            inspected: submission.inspected.clone(),
            residue: submission.residue.clone(),
        })?)
    }

    /// Whether the answer would do for any ref at all: who answers first, then
    /// the evidence. The policy is asked about a record that is good but for
    /// these.
    fn check_evidence(&self, submission: &Submission, op_id: &str) -> Result<(), SessionError> {
        self.policy.validate_op_id(op_id)?;
        let mut probe = self.draft(&Request::default(), submission, op_id)?;
        for field in [
            &mut probe.attestation_id,
            &mut probe.arrow_id,
            &mut probe.clause_id,
            &mut probe.pass_id,
        ] {
            "probe".clone_into(field);
        }
        probe.hint_json = "{}".to_owned();
        Ok(self.policy.validate(&probe, limits(&self.grid))?)
    }

    /// What an operator is shown of a request, and what the record keeps of it.
    pub(crate) fn hint(&self, request: &Request) -> Result<Hint, SessionError> {
        Ok(self.policy.synthesize_hint(
            &Clause {
                clause_id: request.clause_id.clone(),
                concept: request.concept.clone(),
                depth_type_attestation_ref: request.attestation_ref.clone(),
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

    fn draft(
        &self,
        request: &Request,
        submission: &Submission,
        op_id: &str,
    ) -> Result<Attestation, SessionError> {
        let hint = self.hint(request)?;
        Ok(Attestation {
            attestation_id: String::new(),
            kind: "depth-type".to_owned(),
            arrow_id: request.arrow_id.clone(),
            clause_id: request.clause_id.clone(),
            op_id: op_id.to_owned(),
            attested_by_role: OPERATOR.to_owned(),
            source_role: request.source_role.clone(),
            target_role: request.target_role.clone(),
            adversary_role: request.adversary_role.clone(),
            verdict: submission.verdict.clone(),
            reason: String::new(),
            timestamp: self.now(),
            grid_version: request.grid_version,
            pass_id: request.pass_id.clone(),
            context: request.context.clone(),
            stratum: request.stratum.clone(),
            unit: submission.unit().to_owned(),
            unit_payload_json: self.payload(submission)?,
            hint_json: self.policy.encode_hint(&hint)?,
        })
    }

    fn record_answer(
        &self,
        request: &Request,
        submission: &Submission,
        op_id: &str,
    ) -> Result<Arc<Recorded>, SessionError> {
        let draft = self.draft(request, submission, op_id)?;
        let recorded = self.store.record_next(&request.attestation_ref, draft)?;
        match self.act(&recorded) {
            Ok(effects) => self.publish(effects),
            // It is on record and stands; it takes effect with the next one
            // that can, or at the next start.
            Err(error) => {
                let message = error.to_string();
                tracing::error!(message, "attestation-audit-durability-failed");
                self.bus.publish(&Event::AttestationAuditDurabilityFailed {
                    attestation_id: recorded.row.rec.attestation_id.clone(),
                    surface: "state",
                    message,
                });
            }
        }
        if let Some(asked) = self.driver.resolve_escalation(&request.attestation_ref) {
            self.bus.publish(&Event::EscalationResolved {
                request: asked,
                outcome: submission.verdict.clone(),
            });
        }
        Ok(recorded)
    }

    /// Lets a recorded verdict take effect, and any before it that could not.
    pub(super) fn act(&self, recorded: &Arc<Recorded>) -> Result<Effects, SessionError> {
        let now = self.now();
        let rounds_max = self.grid.settings.insufficient_basis_rounds_max;
        Ok(self.db.transaction(|tx| {
            let mut all = Effects::default();
            for row in tx.unacted()? {
                let this = row.rec.attestation_id == recorded.row.rec.attestation_id;
                let recorded = if this {
                    Arc::clone(recorded)
                } else {
                    let line = String::new();
                    Arc::new(Recorded { row, line })
                };
                let effects = verdicts::act(tx, &recorded, rounds_max, &now)?;
                all.events.extend(effects.events);
                all.asked_again = effects.asked_again.or(all.asked_again);
            }
            Ok::<_, EngineError>(all)
        })?)
    }
}
