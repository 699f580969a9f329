//! The beginning of a project, attested: one record an arrow, about the grid's
//! own file, so that a grid in force has a name under it.

use super::question::{INIT, ON_THE_SPOT};
use super::submission::{Submission, Via};
use super::{Session, SessionError};
use crate::audit::Draft;
use crate::db::Request;
use crate::policy::Attestation;
use crate::subject::{SubjectStore, of_grid};
use crate::work::standing;

impl Session {
    /// One on-the-spot record for every arrow that has none, attested by
    /// `init`. Returns how many were made.
    ///
    /// # Errors
    /// The op-id's, and what the store refuses.
    pub fn init_attest(&self, op_id: &str, via: Via) -> Result<usize, SessionError> {
        self.policy.validate_op_id(op_id)?;
        let hold = self.hold("attesting the beginning")?;
        let grid = self.grid();
        let mut pass_id = None;
        let mut observed = Vec::new();
        for arrow in &grid.arrows {
            let attestation_ref = self.policy.attestation_ref(&arrow.id, "", grid.version)?;
            let request = Request {
                attestation_ref: attestation_ref.clone(),
                arrow_id: arrow.id.clone(),
                context: arrow.context.clone(),
                stratum: arrow.stratum.clone(),
                source_role: arrow.source_role.clone(),
                target_role: arrow.target_role.clone(),
                grid_version: grid.version,
                ..Request::default()
            };
            let hint_json = self.init_hint(&request)?;
            if let Some(row) = self.authoritative(&attestation_ref)? {
                // Attested, and of the grid as it is.
                let same = row.rec.hint_json == hint_json && row.rec.verdict == "pass";
                pass_id.get_or_insert(row.rec.pass_id);
                if same {
                    continue;
                }
            }
            let pass_id = pass_id.get_or_insert_with(|| self.clock.new_id().to_string());
            let submission = Submission::default();
            let rec = Attestation {
                kind: ON_THE_SPOT.to_owned(),
                arrow_id: arrow.id.clone(),
                attested_by_role: INIT.to_owned(),
                source_role: arrow.source_role.clone(),
                target_role: arrow.target_role.clone(),
                adversary_role: arrow.adversary_role.clone().unwrap_or_default(),
                grid_version: grid.version,
                pass_id: pass_id.clone(),
                context: arrow.context.clone(),
                stratum: arrow.stratum.clone(),
                hint_json,
                ..self.answered(&submission, op_id, self.now())?
            };
            let draft = Draft {
                rec,
                attestation_ref: attestation_ref.clone(),
                limits: self.limits(),
                via: via.annotation(),
            };
            let written = self.store.write(draft, &hold.lock, &mut |tx, recorded| {
                standing::fold(tx, &attestation_ref, recorded.row.round)
            })?;
            observed.push(self.store.observe(written));
        }
        drop(hold);
        let made = observed.len();
        for observed in observed {
            self.store.publish(observed);
        }
        Ok(made)
    }

    /// What the attestation of a whole arrow is about: the grid's own file,
    /// kept like any list of files.
    pub(super) fn init_hint(&self, request: &Request) -> Result<String, SessionError> {
        let taken = of_grid(self.project.ghyll(), request.grid_version)?;
        let subject = SubjectStore::new(self.disk.as_ref()).keep(&taken.manifest)?;
        let mut hint = self.hint(request, &subject.to_string())?;
        hint.concept.clear();
        Ok(self.policy.encode_hint(&hint)?)
    }
}
