//! An operator's answer, and whether it would do: before any lock is taken,
//! and for whatever it answers.

use super::question::{DEPTH_TYPE, OPERATOR};
use super::{Session, SessionError};
use crate::bus::Event;
use crate::db::{Request, Row};
use crate::locations;
use crate::policy::{Attestation, UnitPayload};
use crate::subject::Taken;
use crate::view::empty_record;
use crate::work::Verdict;

/// The fewest digits that name a subject.
const SUBJECT_DIGITS: usize = 8;

/// How a verdict came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    /// Typed at a terminal.
    Terminal,
    /// Read from a pipe.
    Pipe,
    /// Given on a command line.
    #[default]
    Command,
    /// Given by a script.
    Script,
}

impl Via {
    pub(super) fn annotation(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Pipe => "pipe",
            Self::Command => "command",
            Self::Script => "script",
        }
    }
}

/// An operator's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// What is said.
    pub verdict: Verdict,
    /// Places inspected.
    pub inspected: Vec<String>,
    /// A note.
    pub residue: String,
    /// How it came in.
    pub via: Via,
    /// The first digits, at least eight, of the subject that is meant; empty
    /// for whatever is there.
    pub subject: String,
    /// Whether places that are not in the project are refused.
    pub places_checked: bool,
}

impl Submission {
    /// The evidence, as the policy takes it.
    fn evidence(&self) -> UnitPayload {
        UnitPayload {
            inspected: self.inspected.clone(),
            residue: self.residue.clone(),
        }
    }
}

impl Session {
    /// Whether the covered files are what was shown, or what is meant.
    pub(super) fn check_subject(
        &self,
        request: &Request,
        submission: &Submission,
        taken: Option<&Taken>,
    ) -> Result<(), SessionError> {
        let now = taken.map(|t| t.subject.to_string()).unwrap_or_default();
        let shown = request.shown.as_ref().is_none_or(|shown| *shown == now);
        let meant = submission.subject.is_empty()
            || submission.subject.len() >= SUBJECT_DIGITS && now.starts_with(&submission.subject);
        if shown && meant {
            return Ok(());
        }
        let before = request.shown.as_ref().unwrap_or(&submission.subject);
        let changed = taken.map_or_else(Vec::new, |now| self.changed_since(before, now));
        self.bus.publish(&Event::SubjectChanged {
            request: request.clone(),
            changed: changed.clone(),
        });
        Err(SessionError::SubjectChanged {
            attestation_ref: request.attestation_ref.clone(),
            changed,
        })
    }

    /// Whether a record is this answer, about the same files.
    pub(super) fn says_the_same(
        &self,
        row: &Row,
        submission: &Submission,
        op_id: &str,
        taken: Option<&Taken>,
    ) -> Result<bool, SessionError> {
        let judged = self.policy.decode_hint(&row.rec.hint_json)?.subject;
        if judged != taken.map(|t| t.subject.to_string()).unwrap_or_default() {
            return Ok(false);
        }
        let again = self.answered(submission, op_id, String::new())?;
        let rec = &row.rec;
        Ok(rec.op_id == again.op_id
            && rec.verdict == again.verdict
            && rec.unit == again.unit
            && rec.unit_payload_json == again.unit_payload_json)
    }

    /// Whether the answer would do for any ref at all: who answers first, then
    /// the evidence. The policy is asked about a record that is good but for
    /// these.
    pub(super) fn check_evidence(
        &self,
        submission: &Submission,
        op_id: &str,
    ) -> Result<(), SessionError> {
        self.policy.validate_op_id(op_id)?;
        let probe = "probe".to_owned();
        let rec = Attestation {
            attestation_id: probe.clone(),
            kind: DEPTH_TYPE.to_owned(),
            arrow_id: probe.clone(),
            clause_id: probe.clone(),
            attested_by_role: OPERATOR.to_owned(),
            grid_version: self.grid().version,
            pass_id: probe,
            hint_json: "{}".to_owned(),
            ..self.answered(
                submission,
                op_id,
                "2000-01-01T00:00:00.000000000Z".to_owned(),
            )?
        };
        self.policy.validate(&rec, self.limits())?;
        if !submission.places_checked {
            return Ok(());
        }
        let root = self.project.root();
        let mut places = submission.inspected.iter();
        let doubtful = places.find_map(|place| Some((place, locations::doubt(root, place)?)));
        match doubtful {
            None => Ok(()),
            Some((place, why)) => Err(SessionError::LocationUnknown {
                of: "--inspected".to_owned(),
                place: place.clone(),
                why,
            }),
        }
    }

    /// The part of a record that is the answer.
    pub(super) fn answered(
        &self,
        submission: &Submission,
        op_id: &str,
        timestamp: String,
    ) -> Result<Attestation, SessionError> {
        Ok(Attestation {
            op_id: op_id.to_owned(),
            verdict: submission.verdict.to_string(),
            timestamp,
            unit: self.policy.infer_unit(&submission.evidence())?,
            unit_payload_json: self.policy.encode_unit_payload(&submission.evidence())?,
            ..empty_record()
        })
    }
}
