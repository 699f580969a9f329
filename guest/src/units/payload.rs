//! The evidence itself, and the JSON text a record carries of it.

use alloc::string::String;
use alloc::vec::Vec;

use super::read::{self, Payload};
use crate::error::PolicyError;
use crate::json;

/// Evidence. Which fields may be filled depends on the unit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct UnitPayload {
    /// Places the operator looked at, e.g. `src/cart.rs:10-24`.
    pub inspected: Vec<String>,
    /// A note in the operator's words.
    pub residue: String,
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
        json::push_list(&mut out, &payload.inspected);
    }
    if !payload.residue.is_empty() {
        json::push_key(&mut out, "residue");
        json::push_string(&mut out, &payload.residue);
    }
    out.push('}');
    out
}

/// The payload that a record's `unit_payload_json` holds, as
/// [`validate`](crate::validate) reads it.
///
/// # Errors
///
/// `attestation-payload-malformed`.
///
/// ```
/// use ghyll_policy::decode_unit_payload;
///
/// assert_eq!(decode_unit_payload(r#"{"residue":"odd"}"#)?.residue, "odd");
/// # Ok::<(), ghyll_policy::PolicyError>(())
/// ```
pub fn decode_unit_payload(text: &str) -> Result<UnitPayload, PolicyError> {
    let mut payload = UnitPayload::default();
    read::any(text, &mut payload)?;
    Ok(payload)
}

impl Payload for UnitPayload {
    fn location(&mut self, location: &str) {
        self.inspected.push(location.into());
    }

    fn residue(&mut self, residue: &str) {
        self.residue = residue.into();
    }
}
