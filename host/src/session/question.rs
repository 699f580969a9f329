//! What an answer to a ref would answer: what asked for it, in which pass, and
//! where the record goes.

use super::beside::Beside;
use crate::db::{DbError, PassStatus, Reader, Request, Row, Standing};
use crate::work::standing;

/// The role an operator attests by.
pub(super) const OPERATOR: &str = "operator";
/// The role a project's beginning is attested by.
pub(super) const INIT: &str = "init";
pub(super) const DEPTH_TYPE: &str = "depth-type";
pub(super) const ON_THE_SPOT: &str = "on-the-spot";

/// What is answered, and where the record goes.
pub(super) struct Question {
    pub(super) request: Request,
    /// Empty for a whole arrow attested on the spot.
    pub(super) kind: &'static str,
    pub(super) attested_by: &'static str,
    /// Whether no open pass asks: the record gets a pass of its own.
    pub(super) own_pass: bool,
    /// The pass whose file takes the record, if not the one that asks.
    pub(super) beside: Option<Beside>,
}

impl Question {
    /// The pass that the record belongs to.
    pub(super) fn record_pass(&self) -> &str {
        match &self.beside {
            Some(beside) => &beside.pass_id,
            None => &self.request.pass_id,
        }
    }
}

/// What an answer to a ref would answer; `None` if nothing ever asked for it.
pub(super) fn question(
    reader: &Reader<'_>,
    attestation_ref: &str,
    standing: Option<&Standing>,
) -> Result<Option<Question>, DbError> {
    let asked = reader.newest_request(attestation_ref)?;
    if let Some(request) = &asked {
        let open = reader
            .pass(&request.pass_id)?
            .is_some_and(|pass| pass.status == PassStatus::Open);
        if open {
            return Ok(Some(Question {
                request: request.clone().at(standing),
                kind: DEPTH_TYPE,
                attested_by: OPERATOR,
                own_pass: false,
                beside: None,
            }));
        }
    }
    let newest = standing::newest(reader, attestation_ref)?;
    Ok(match (asked, newest) {
        // What was asked is in the record itself.
        (asked, Some(row)) => {
            let concept = asked.map_or_else(|| concept_of(&row), |request| request.concept);
            let on_the_spot = row.rec.kind == ON_THE_SPOT;
            Some(Question {
                kind: if on_the_spot { ON_THE_SPOT } else { DEPTH_TYPE },
                attested_by: if on_the_spot { INIT } else { OPERATOR },
                own_pass: true,
                beside: None,
                request: Request {
                    attestation_ref: attestation_ref.to_owned(),
                    arrow_id: row.rec.arrow_id,
                    clause_id: row.rec.clause_id,
                    concept,
                    context: row.rec.context,
                    stratum: row.rec.stratum,
                    source_role: row.rec.source_role,
                    target_role: row.rec.target_role,
                    adversary_role: row.rec.adversary_role,
                    grid_version: row.rec.grid_version,
                    ..Request::default()
                },
            })
        }
        (Some(request), None) => Some(Question {
            request,
            kind: DEPTH_TYPE,
            attested_by: OPERATOR,
            own_pass: true,
            beside: None,
        }),
        (None, None) => None,
    })
}

/// What the clause claimed, as the record's hint has it.
fn concept_of(row: &Row) -> String {
    let hint: serde_json::Value = serde_json::from_str(&row.rec.hint_json).unwrap_or_default();
    let concept = hint.get("concept").and_then(serde_json::Value::as_str);
    concept.unwrap_or_default().to_owned()
}
