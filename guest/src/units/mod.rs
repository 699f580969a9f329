//! The shape of the evidence behind a verdict.
//!
//! A unit says which evidence was asked for; what is judged is only whether the
//! right fields are filled, never what they say.

mod evidence;
mod payload;
mod read;
mod unit;

use crate::error::PolicyError;

pub use evidence::DEFAULT_MAX_RESIDUE_BYTES;
pub(crate) use evidence::Evidence;
pub use payload::{UnitPayload, decode_unit_payload, encode_unit_payload};
pub(crate) use unit::{Unit, unknown_unit};

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

/// The unit that evidence amounts to: a note if there is one, else locations,
/// else `confirm`. Whether it is enough, [`validate_unit_payload`] says.
///
/// ```
/// use ghyll_policy::{UnitPayload, infer_unit};
///
/// let looked = UnitPayload { inspected: vec!["a.rs:1".into()], ..Default::default() };
/// assert_eq!(infer_unit(&looked), "record-locations-inspected");
/// ```
#[must_use]
pub fn infer_unit(payload: &UnitPayload) -> &'static str {
    let unit = if !payload.residue.is_empty() {
        Unit::WriteResidueNote
    } else if !payload.inspected.is_empty() {
        Unit::RecordLocationsInspected
    } else {
        Unit::Confirm
    };
    unit.name()
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
    fn the_unit_is_what_the_evidence_amounts_to() {
        for (payload, unit) in [
            (payload(&[], ""), "confirm"),
            (payload(&["a"], ""), "record-locations-inspected"),
            (payload(&[""], ""), "record-locations-inspected"),
            (payload(&[], "x"), "write-residue-note"),
            (payload(&["a"], " "), "write-residue-note"),
        ] {
            assert_eq!(infer_unit(&payload), unit);
        }
    }
}
