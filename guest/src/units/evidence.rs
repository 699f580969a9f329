//! What judging evidence needs to know of it, and the judgement.
//!
//! A payload given as fields and one read out of a record's JSON text are both
//! reduced to this first: a record of a million locations is then judged in no
//! more memory than a record of one.

use alloc::format;

use super::payload::UnitPayload;
use super::read::{self, Payload};
use super::unit::Unit;
use crate::error::{PolicyError, codes};
use crate::json::{self, Value};

/// The longest residue note in bytes, unless the host chooses otherwise.
pub const DEFAULT_MAX_RESIDUE_BYTES: u32 = 16_384;

/// All that judging a payload needs to know of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    locations: usize,
    any_location_written: bool,
    residue_bytes: usize,
    residue_written: bool,
}

impl Payload for Evidence {
    fn location(&mut self, location: &str) {
        self.locations += 1;
        self.any_location_written |= !location.trim().is_empty();
    }

    fn residue(&mut self, residue: &str) {
        self.residue_bytes = residue.len();
        self.residue_written = !residue.trim().is_empty();
    }
}

impl Evidence {
    pub(super) fn of(payload: &UnitPayload) -> Self {
        let mut evidence = Self::default();
        for location in &payload.inspected {
            evidence.location(location);
        }
        evidence.residue(&payload.residue);
        evidence
    }

    /// Reads a record's `unit_payload_json`.
    ///
    /// # Errors
    ///
    /// `attestation-payload-malformed`.
    pub(crate) fn parse(text: &str) -> Result<Self, PolicyError> {
        match Self::parse_plain(text) {
            Some(evidence) => Ok(evidence),
            None => Self::parse_any(text),
        }
    }

    fn parse_any(text: &str) -> Result<Self, PolicyError> {
        let mut evidence = Self::default();
        read::any(text, &mut evidence)?;
        Ok(evidence)
    }

    /// The same of a text as [`encode_unit_payload`](super::encode_unit_payload) writes it; `None` of any
    /// other.
    fn parse_plain(text: &str) -> Option<Self> {
        let mut evidence = Self::default();
        let (mut inspected, mut residue) = (false, false);
        json::flat_object(text, |key, value| {
            match (key, value) {
                ("inspected", Value::List(locations)) if !inspected => {
                    inspected = true;
                    for location in locations {
                        evidence.location(&location);
                    }
                }
                ("residue", Value::Text(note)) if !residue => {
                    residue = true;
                    evidence.residue(&note);
                }
                _ => return None,
            }
            Some(())
        })?;
        Some(evidence)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.locations == 0 && self.residue_bytes == 0
    }

    /// Whether this is what `unit` asks for.
    pub(crate) fn check(self, unit: Unit, max_residue_bytes: u32) -> Result<(), PolicyError> {
        let refuse = |code, detail| Err(PolicyError::new(code, detail));
        let max = match max_residue_bytes {
            0 => DEFAULT_MAX_RESIDUE_BYTES,
            chosen => chosen,
        };
        match unit {
            Unit::Confirm if !self.is_empty() => refuse(
                codes::VERDICT_UNIT_UNEXPECTED_FIELD,
                "`confirm` takes neither locations nor a residue note".into(),
            ),
            Unit::RecordLocationsInspected if !self.any_location_written => refuse(
                codes::VERDICT_INSPECTED_EMPTY,
                "at least one inspected location is needed".into(),
            ),
            Unit::RecordLocationsInspected if self.residue_bytes > 0 => refuse(
                codes::VERDICT_UNIT_UNEXPECTED_FIELD,
                "`record-locations-inspected` takes no residue note".into(),
            ),
            Unit::WriteResidueNote if !self.residue_written => refuse(
                codes::VERDICT_UNIT_MISSING_FIELD,
                "a residue note is needed".into(),
            ),
            Unit::WriteResidueNote
                if u32::try_from(self.residue_bytes).map_or(true, |bytes| bytes > max) =>
            {
                refuse(
                    codes::VERDICT_RESIDUE_TOO_LONG,
                    format!("the note is {} bytes, at most {max}", self.residue_bytes),
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decode_unit_payload, encode_unit_payload};
    use super::*;

    fn payload(inspected: &[&str], residue: &str) -> UnitPayload {
        UnitPayload {
            inspected: inspected.iter().map(|l| (*l).into()).collect(),
            residue: residue.into(),
        }
    }

    #[test]
    fn what_is_encoded_is_read_back() {
        for payload in [
            payload(&[], ""),
            payload(&["a.rs:1-2", "b \"q\""], ""),
            payload(&[], "line\nline"),
            payload(&["", "c"], "é"),
        ] {
            let text = encode_unit_payload(&payload);
            assert!(text.capacity() <= text.len() + 32);
            let read = Evidence::parse_plain(&text).unwrap();
            assert_eq!(read, Evidence::of(&payload));
            assert_eq!(Evidence::parse_any(&text).unwrap(), read);
            assert_eq!(decode_unit_payload(&text), Ok(payload));
        }
    }

    #[test]
    fn only_the_two_fields_once_each() {
        for good in ["{}", " { \"residue\" : \"x\" } ", r#"{"inspected":[]}"#] {
            assert!(Evidence::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "null",
            "[]",
            "\"\"",
            "{} {}",
            "{",
            r#"{"inspected":"a"}"#,
            r#"{"inspected":[1]}"#,
            r#"{"inspected":[["a"]]}"#,
            r#"{"inspected":null}"#,
            r#"{"residue":1}"#,
            r#"{"residue":null}"#,
            r#"{"note":"x"}"#,
            r#"{"residue":"a","residue":"a"}"#,
            r#"{"inspected":[],"inspected":[]}"#,
            r#"{"residue":"\ud800"}"#,
        ] {
            assert!(Evidence::parse(bad).is_err(), "{bad}");
            let code = decode_unit_payload(bad).unwrap_err().code;
            assert_eq!(code, "attestation-payload-malformed");
        }
        let deep = "[".repeat(100_000);
        assert!(Evidence::parse(&deep).is_err());
        assert!(Evidence::parse(&format!("{{\"inspected\":{deep}")).is_err());
    }
}
