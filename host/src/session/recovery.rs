//! Recovery: what a session that died left behind.
//!
//! Runs at every start, with the project locked, so that whatever is open
//! belongs to a dead process. Twice is the same as once.

use std::sync::Arc;

use super::{Session, SessionError};
use crate::bus::Event;
use crate::engine::{EngineError, PassStatus};
use crate::store::Recorded;
use crate::verdicts::{self, Effects};

impl Session {
    /// Recovers, in one transaction, then tells of it.
    pub(super) fn recover(&self) -> Result<(), SessionError> {
        let now = self.now();
        let rounds_max = self.grid.settings.insufficient_basis_rounds_max;
        let effects = self.db.transaction(|tx| {
            let mut all = Effects::default();
            // Verdicts that are in the tree but were not acted upon.
            for row in tx.unacted()? {
                let asked = tx.pending_on(&row.attestation_ref)?;
                let id = row.rec.attestation_id.clone();
                let recorded = Arc::new(Recorded {
                    row,
                    line: String::new(),
                });
                let effects = verdicts::act(tx, &recorded, rounds_max, &now)?;
                all.events
                    .extend(asked.map(|request| Event::RecoveryAttestationReplay {
                        request,
                        attestation_id: id,
                    }));
                all.events.extend(effects.events);
                // What is asked again is among the pending ones below.
            }
            for pass in tx.open_passes()? {
                if tx.pending_in(&pass.pass_id)? > 0 {
                    tx.set_recovered(&pass.pass_id, &now)?;
                    continue;
                }
                tx.end_pass(&pass.pass_id, PassStatus::Aborted, "crash", &now)?;
                let pass = tx.pass(&pass.pass_id)?.unwrap_or(pass);
                all.events
                    .push(Event::RecoveryPassAbortedCrash(pass.clone()));
                all.events.push(Event::PassClosed(pass));
            }
            for request in tx.pending()? {
                all.events
                    .push(Event::RecoveryAttestationRepublished(request));
            }
            Ok::<_, EngineError>(all)
        })?;
        self.publish(effects);
        Ok(())
    }
}
