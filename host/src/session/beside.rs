//! Where a verdict goes when the file of its pass goes on elsewhere.
//!
//! A pass has one file. Answered on two branches it would be extended on both,
//! and git could merge them no more. So an answer to a pass of whose file
//! another branch has more goes to a file beside it, that of a pass noted for
//! it alone; the next one on this branch follows it there.

use super::{Session, SessionError};
use crate::audit::load::{Elsewhere, MOVED, moved_note};
use crate::db::{DbError, Request};
use crate::policy::Attestation;
use crate::view::empty_record;

/// Passes beside passes that are looked at.
const DEPTH_MAX: usize = 64;

/// A pass in the place of the one that asked.
pub(super) struct Beside {
    /// Which; noted when something is recorded under it.
    pub(super) pass_id: String,
    /// The note that leads to it.
    pub(super) note: String,
}

impl Session {
    /// The pass that an answer to this request is recorded under, if it is
    /// not the one that asked.
    pub(super) fn beside(
        &self,
        request: &Request,
        attested_by: &str,
    ) -> Result<Option<Beside>, SessionError> {
        let elsewhere = Elsewhere::of(self.project.root());
        let mut pass_id = request.pass_id.clone();
        let mut beside: Option<Beside> = None;
        for _ in 0..DEPTH_MAX {
            let path = self.policy.encode_path(&Attestation {
                attested_by_role: attested_by.to_owned(),
                source_role: request.source_role.clone(),
                target_role: request.target_role.clone(),
                adversary_role: request.adversary_role.clone(),
                grid_version: request.grid_version,
                pass_id: pass_id.clone(),
                context: request.context.clone(),
                stratum: request.stratum.clone(),
                ..empty_record()
            })?;
            let note = moved_note(&path.path);
            let next = self.db.read(|reader| reader.note(&note))?;
            let Some(next) = next.filter(|_| elsewhere.has_more(self.disk.as_ref(), &path.path))
            else {
                break;
            };
            let is_new = next == MOVED;
            pass_id = match is_new {
                true => self.clock.new_id().to_string(),
                false => next,
            };
            beside = Some(Beside {
                pass_id: pass_id.clone(),
                note,
            });
            if is_new {
                break;
            }
        }
        Ok(beside)
    }

    /// Notes the pass, if it is a new one, and the way to it.
    pub(super) fn note_beside(
        &self,
        tx: &crate::db::Tx<'_>,
        beside: &Beside,
        pass: crate::db::Pass,
    ) -> Result<(), DbError> {
        if tx.pass(&beside.pass_id)?.is_none() {
            tx.open_pass_unless_busy(&pass)?;
        }
        tx.set_note(&beside.note, &beside.pass_id)
    }
}
