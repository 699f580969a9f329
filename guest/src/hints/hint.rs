//! The hint itself, and the JSON text a record carries of it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json;

/// The longest `basis` and the longest `residue` of a producer, in bytes.
pub const MAX_STATEMENT_BYTES: usize = 4096;
/// The most places a producer may name for a clause.
pub const MAX_HINT_LOCATIONS: usize = 64;
/// The longest of them, in bytes.
pub const MAX_HINT_LOCATION_BYTES: usize = 1024;

/// What the operator is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Hint {
    /// The arrow.
    pub arrow_id: String,
    /// The clause; empty when the whole arrow is asked about.
    pub clause_id: String,
    /// What is claimed, in words.
    pub concept: String,
    /// The ref a verdict answers.
    pub attestation_ref: String,
    /// The SHA-256 of what is judged, 64 lower-case hex digits; empty when
    /// nothing is covered.
    pub subject: String,
    /// Where to look, as the producer says.
    pub locations: Vec<String>,
    /// Why it should hold, as the producer says.
    pub basis: String,
    /// What is left open, as the producer says.
    pub residue: String,
}

/// The hint as the JSON text a record carries in `hint_json`: keys in contract
/// order, empty ones left out.
///
/// ```
/// use ghyll_policy::{Hint, encode_hint};
///
/// let hint = Hint { arrow_id: "A".into(), concept: "all \"green\"".into(), ..Default::default() };
/// assert_eq!(encode_hint(&hint), r#"{"arrow_id":"A","concept":"all \"green\""}"#);
/// assert_eq!(encode_hint(&Hint::default()), "{}");
/// ```
#[must_use]
pub fn encode_hint(h: &Hint) -> String {
    let before = [
        ("arrow_id", &h.arrow_id),
        ("clause_id", &h.clause_id),
        ("concept", &h.concept),
        ("attestation_ref", &h.attestation_ref),
        ("subject", &h.subject),
    ];
    let behind = [("basis", &h.basis), ("residue", &h.residue)];
    // Four bytes around a key: two quotes, a colon, a comma or the brace.
    let texts: usize = before
        .iter()
        .chain(&behind)
        .map(|(key, value)| key.len() + 4 + json::string_len(value))
        .sum();
    let locations: usize = h
        .locations
        .iter()
        .map(|text| json::string_len(text) + 1)
        .sum();
    let mut out = String::with_capacity(texts + locations + r#"{"locations":[],}"#.len());
    out.push('{');
    push_present(&mut out, &before);
    if !h.locations.is_empty() {
        json::push_key(&mut out, "locations");
        json::push_list(&mut out, &h.locations);
    }
    push_present(&mut out, &behind);
    out.push('}');
    out
}

fn push_present(out: &mut String, members: &[(&str, &String)]) {
    for (key, value) in members {
        if !value.is_empty() {
            json::push_key(out, key);
            json::push_string(out, value);
        }
    }
}
