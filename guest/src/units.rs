//! The shape of the evidence behind a verdict.
//!
//! A unit says which evidence was asked for; what is judged is only whether the
//! right fields are filled, never what they say. The same judgement serves a
//! payload given as fields and one read out of a record's JSON text, so both are
//! first reduced to [`Evidence`]: a record of a million locations is then judged
//! in no more memory than a record of one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::error::{PolicyError, codes, quote};
use crate::json;

/// The longest residue note in bytes, unless the host chooses otherwise.
pub const DEFAULT_MAX_RESIDUE_BYTES: u32 = 16_384;

/// Evidence. Which fields may be filled depends on the unit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct UnitPayload {
    /// Places the operator looked at, e.g. `src/cart.rs:10-24`.
    pub inspected: Vec<String>,
    /// A note in the operator's words.
    pub residue: String,
}

/// The shapes evidence can have, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Confirm,
    RecordLocationsInspected,
    WriteResidueNote,
}

impl Unit {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "confirm" => Self::Confirm,
            "record-locations-inspected" => Self::RecordLocationsInspected,
            "write-residue-note" => Self::WriteResidueNote,
            _ => return None,
        })
    }

    /// The weakest unit `verdict` may rest on; `None` when there is no such
    /// verdict.
    pub(crate) fn needed_for(verdict: &str) -> Option<Self> {
        Some(match verdict {
            "pass" => Self::Confirm,
            "fail" => Self::RecordLocationsInspected,
            "insufficient-basis" | "accepted-risk" | "route-upstream" => Self::WriteResidueNote,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::RecordLocationsInspected => "record-locations-inspected",
            Self::WriteResidueNote => "write-residue-note",
        }
    }
}

/// All that judging a payload needs to know of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    locations: usize,
    any_location_written: bool,
    residue_bytes: usize,
    residue_written: bool,
}

impl Evidence {
    fn add_location(&mut self, location: &str) {
        self.locations += 1;
        self.any_location_written |= !location.trim().is_empty();
    }

    fn set_residue(&mut self, residue: &str) {
        self.residue_bytes = residue.len();
        self.residue_written = !residue.trim().is_empty();
    }

    fn of(payload: &UnitPayload) -> Self {
        let mut evidence = Self::default();
        for location in &payload.inspected {
            evidence.add_location(location);
        }
        evidence.set_residue(&payload.residue);
        evidence
    }

    /// Reads a record's `unit_payload_json`: one object of `inspected` (an
    /// array of strings) and `residue` (a string), each at most once.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Evidence>(text)
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

/// The error for a name that is no unit.
pub(crate) fn unknown_unit(name: &str) -> PolicyError {
    PolicyError::new(
        codes::VERDICT_UNIT_INVALID,
        format!(
            "{} is none of `confirm`, `record-locations-inspected`, `write-residue-note`",
            quote(name)
        ),
    )
}

/// Whether `payload` is what `unit` asks for. A `max_residue_bytes` of 0 means
/// [`DEFAULT_MAX_RESIDUE_BYTES`].
///
/// # Errors
///
/// `verdict-unit-invalid`, `verdict-unit-unexpected-field`,
/// `verdict-inspected-empty`, `verdict-unit-missing-field`,
/// `verdict-residue-too-long`.
///
/// ```
/// use ghyll_policy::{UnitPayload, validate_unit_payload};
///
/// let looked = UnitPayload { inspected: vec!["src/cart.rs:10-24".into()], ..Default::default() };
/// assert!(validate_unit_payload("record-locations-inspected", &looked, 0).is_ok());
/// let refused = validate_unit_payload("confirm", &looked, 0).unwrap_err();
/// assert_eq!(refused.code, "verdict-unit-unexpected-field");
/// ```
pub fn validate_unit_payload(
    unit: &str,
    payload: &UnitPayload,
    max_residue_bytes: u32,
) -> Result<(), PolicyError> {
    let parsed = Unit::parse(unit).ok_or_else(|| unknown_unit(unit))?;
    Evidence::of(payload).check(parsed, max_residue_bytes)
}

/// The payload as the JSON text a record carries in `unit_payload_json`: keys
/// in contract order, empty ones left out.
///
/// ```
/// use ghyll_policy::{UnitPayload, encode_unit_payload};
///
/// let payload = UnitPayload { inspected: vec!["a.rs:1".into()], residue: "odd".into() };
/// assert_eq!(encode_unit_payload(&payload), r#"{"inspected":["a.rs:1"],"residue":"odd"}"#);
/// assert_eq!(encode_unit_payload(&UnitPayload::default()), "{}");
/// ```
#[must_use]
pub fn encode_unit_payload(payload: &UnitPayload) -> String {
    let locations: usize = payload
        .inspected
        .iter()
        .map(|location| json::string_len(location) + 1)
        .sum();
    let keys = r#"{"inspected":[],"residue":}"#.len();
    let mut out = String::with_capacity(keys + locations + json::string_len(&payload.residue));
    out.push('{');
    if !payload.inspected.is_empty() {
        json::push_key(&mut out, "inspected");
        let mut before = '[';
        for location in &payload.inspected {
            out.push(before);
            json::push_string(&mut out, location);
            before = ',';
        }
        out.push(']');
    }
    if !payload.residue.is_empty() {
        json::push_key(&mut out, "residue");
        json::push_string(&mut out, &payload.residue);
    }
    out.push('}');
    out
}

impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EvidenceVisitor)
    }
}

struct EvidenceVisitor;

impl<'de> Visitor<'de> for EvidenceVisitor {
    type Value = Evidence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of `inspected` and `residue`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Evidence, A::Error> {
        let mut evidence = Evidence::default();
        let (mut inspected, mut residue) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "inspected" if !inspected => {
                    inspected = true;
                    map.next_value_seed(Locations(&mut evidence))?;
                }
                "residue" if !residue => {
                    residue = true;
                    evidence.set_residue(&map.next_value::<String>()?);
                }
                "inspected" | "residue" => {
                    return Err(A::Error::custom(format_args!("{} twice", quote(&key))));
                }
                _ => {
                    return Err(A::Error::custom(format_args!(
                        "unknown key {}",
                        quote(&key)
                    )));
                }
            }
        }
        Ok(evidence)
    }
}

/// Counts an array of strings into the evidence.
struct Locations<'a>(&'a mut Evidence);

impl<'de> de::DeserializeSeed<'de> for Locations<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Locations<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(location) = seq.next_element::<String>()? {
            self.0.add_location(&location);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(inspected: &[&str], residue: &str) -> UnitPayload {
        UnitPayload {
            inspected: inspected.iter().map(|l| (*l).into()).collect(),
            residue: residue.into(),
        }
    }

    fn code(unit: &str, payload: &UnitPayload, max: u32) -> &'static str {
        validate_unit_payload(unit, payload, max)
            .map_err(|e| e.code)
            .err()
            .unwrap_or("ok")
    }

    #[test]
    fn each_unit_takes_its_own_fields() {
        let nothing = payload(&[], "");
        let looked = payload(&["a.rs:1"], "");
        let noted = payload(&[], "odd");
        let both = payload(&["a.rs:1"], "odd");
        for (unit, payload, expected) in [
            ("confirm", &nothing, "ok"),
            ("confirm", &looked, "verdict-unit-unexpected-field"),
            ("confirm", &noted, "verdict-unit-unexpected-field"),
            (
                "record-locations-inspected",
                &nothing,
                "verdict-inspected-empty",
            ),
            ("record-locations-inspected", &looked, "ok"),
            (
                "record-locations-inspected",
                &noted,
                "verdict-inspected-empty",
            ),
            (
                "record-locations-inspected",
                &both,
                "verdict-unit-unexpected-field",
            ),
            ("write-residue-note", &nothing, "verdict-unit-missing-field"),
            ("write-residue-note", &looked, "verdict-unit-missing-field"),
            ("write-residue-note", &noted, "ok"),
            ("write-residue-note", &both, "ok"),
            ("", &nothing, "verdict-unit-invalid"),
            ("Confirm", &nothing, "verdict-unit-invalid"),
            ("confirm ", &nothing, "verdict-unit-invalid"),
        ] {
            assert_eq!(code(unit, payload, 0), expected, "{unit} {payload:?}");
        }
    }

    #[test]
    fn blank_is_not_filled() {
        let locations = "record-locations-inspected";
        assert_eq!(
            code(locations, &payload(&["", " \t"], ""), 0),
            "verdict-inspected-empty"
        );
        assert_eq!(code(locations, &payload(&["", "a"], ""), 0), "ok");
        assert_eq!(
            code(locations, &payload(&["a"], " "), 0),
            "verdict-unit-unexpected-field"
        );
        assert_eq!(
            code("write-residue-note", &payload(&[], " \n"), 0),
            "verdict-unit-missing-field"
        );
        assert_eq!(
            code("confirm", &payload(&[""], ""), 0),
            "verdict-unit-unexpected-field"
        );
    }

    #[test]
    fn the_note_is_measured_in_bytes() {
        let note = |text: &str, max| code("write-residue-note", &payload(&[], text), max);
        assert_eq!(note(&"é".repeat(8_192), 0), "ok");
        assert_eq!(note(&"x".repeat(16_385), 0), "verdict-residue-too-long");
        assert_eq!(note("éé", 4), "ok");
        assert_eq!(note("ééa", 4), "verdict-residue-too-long");
        assert_eq!(note(&"x".repeat(20_000), u32::MAX), "ok");
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
            assert_eq!(Evidence::parse(&text).unwrap(), Evidence::of(&payload));
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
        }
        let deep = "[".repeat(100_000);
        assert!(Evidence::parse(&deep).is_err());
        assert!(Evidence::parse(&format!("{{\"inspected\":{deep}")).is_err());
    }
}
