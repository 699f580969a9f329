//! What the producer says of its work: where to look, why it holds, what is
//! left open. It is kept with the question, and decides nothing.

use std::collections::BTreeMap;

use super::{Session, SessionError};
use crate::db::{Evidence, Request, Word};
use crate::grid::Arrow;
use crate::locations;
use crate::view::find_arrow;
use crate::work::pending;

/// The most of what the producer says that is read, in bytes.
pub const EVIDENCE_MAX: u64 = 1 << 20;

/// What the producer says, by clause, out of the JSON it is given in.
///
/// # Errors
/// `evidence-malformed`.
pub fn parse_evidence(json: &str) -> Result<BTreeMap<String, Evidence>, SessionError> {
    serde_json::from_str(json).map_err(|e| SessionError::EvidenceMalformed(e.to_string()))
}

impl Session {
    /// Keeps what the producer says of an arrow's clauses until they are asked
    /// for; what is asked already has it from now on. The next traversal of the
    /// arrow takes it up, and what is said with that one goes before it.
    ///
    /// # Errors
    /// `arrow-unknown`, and as [`Self::dispatch_with`] where what is said is
    /// refused; then nothing is kept.
    pub fn keep_said(
        &self,
        arrow_id: &str,
        evidence: &BTreeMap<String, Evidence>,
    ) -> Result<(), SessionError> {
        // Whoever takes the lock takes up the grid in force, which is the one meant.
        let hold = self.hold("keeping what the producer says")?;
        let grid = self.grid();
        let arrow = find_arrow(&grid, arrow_id)?;
        self.check_said(arrow, evidence)?;
        self.db.transaction(|tx| {
            for (clause, said) in evidence {
                let asked = self
                    .policy
                    .attestation_ref(&arrow.id, clause, grid.version)?;
                let standing = tx.standing(&asked)?;
                match pending::on(tx, &asked, standing.as_ref())? {
                    Some(request) => tx.ask_again(&Request {
                        evidence: said.clone(),
                        ..request
                    })?,
                    None => tx.keep_word(&Word {
                        arrow_id: arrow.id.clone(),
                        clause_id: clause.clone(),
                        evidence: said.clone(),
                    })?,
                }
            }
            Ok::<_, SessionError>(())
        })?;
        drop(hold);
        Ok(())
    }

    /// Refuses what the producer says of clauses the arrow does not have, what
    /// a record could not keep, and places that are not there. The limits are
    /// the policy's: it is asked about the hint that would be kept.
    pub(super) fn check_said(
        &self,
        arrow: &Arrow,
        evidence: &BTreeMap<String, Evidence>,
    ) -> Result<(), SessionError> {
        for (id, said) in evidence {
            let Some(clause) = arrow.clauses.iter().find(|clause| clause.id == *id) else {
                return Err(SessionError::EvidenceUnknownClause {
                    arrow: arrow.id.clone(),
                    clause: id.clone(),
                });
            };
            let request = Request {
                arrow_id: arrow.id.clone(),
                clause_id: clause.id.clone(),
                concept: clause.concept.clone(),
                evidence: said.clone(),
                ..Request::default()
            };
            let hint = self.hint(&request, "")?;
            let kept = self.policy.encode_hint(&hint)?;
            if let Err(source) = self.policy.decode_hint(&kept) {
                let clause = clause.id.clone();
                return Err(SessionError::EvidenceRefused { clause, source });
            }
        }
        for (clause, said) in evidence {
            let places = said.locations.iter().map(String::as_str);
            if let Some((place, why)) = locations::missing(self.project.root(), places) {
                return Err(SessionError::LocationUnknown {
                    of: clause.clone(),
                    place: place.to_owned(),
                    why,
                });
            }
        }
        Ok(())
    }
}
