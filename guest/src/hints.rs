//! What an operator is shown, and how the thing asked for is named.
//!
//! Refs are made here and nowhere else, so that two hosts asking about the same
//! clause ask under the same name.

use alloc::format;
use alloc::string::String;

use crate::json;

/// An attested clause, as far as asking for a verdict needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Clause {
    /// The clause within its arrow.
    pub clause_id: String,
    /// What the clause claims, in words.
    pub concept: String,
    /// The ref asked for, see [`attestation_ref`].
    pub depth_type_attestation_ref: String,
}

/// An arrow, as far as asking for a verdict needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ArrowDefinition {
    /// The arrow within its grid.
    pub id: String,
    /// Who hands over.
    pub source_role: String,
    /// Who takes over.
    pub target_role: String,
    /// The bounded context the arrow lies in.
    pub context: String,
    /// The stratum the arrow lies in.
    pub stratum: String,
}

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
}

/// The hint for one clause of one arrow.
///
/// ```
/// use ghyll_policy::{ArrowDefinition, Clause, attestation_ref, synthesize_hint};
///
/// let clause = Clause {
///     clause_id: "C1".into(),
///     concept: "payment is idempotent".into(),
///     depth_type_attestation_ref: attestation_ref("A-checkout", "C1", 1),
/// };
/// let arrow = ArrowDefinition { id: "A-checkout".into(), ..Default::default() };
/// assert_eq!(synthesize_hint(&clause, &arrow).attestation_ref, "att-A-checkout-C1-v1");
/// ```
#[must_use]
pub fn synthesize_hint(c: &Clause, def: &ArrowDefinition) -> Hint {
    Hint {
        arrow_id: def.id.clone(),
        clause_id: c.clause_id.clone(),
        concept: c.concept.clone(),
        attestation_ref: c.depth_type_attestation_ref.clone(),
    }
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
    let members = [
        ("arrow_id", &h.arrow_id),
        ("clause_id", &h.clause_id),
        ("concept", &h.concept),
        ("attestation_ref", &h.attestation_ref),
    ];
    let present = || members.iter().filter(|(_, value)| !value.is_empty());
    // Four bytes around a key: two quotes, a colon, a comma or the brace.
    let len: usize = present()
        .map(|(key, value)| key.len() + 4 + json::string_len(value))
        .sum();
    let mut out = String::with_capacity(len + 2);
    out.push('{');
    for (key, value) in present() {
        json::push_key(&mut out, key);
        json::push_string(&mut out, value);
    }
    out.push('}');
    out
}

/// The ref of a clause, `att-<arrow>-<clause>-v<N>`, or of a whole arrow,
/// `att-<arrow>-v<N>`, when `clause_id` is empty.
#[must_use]
pub fn attestation_ref(arrow_id: &str, clause_id: &str, grid_version: u64) -> String {
    if clause_id.is_empty() {
        format!("att-{arrow_id}-v{grid_version}")
    } else {
        format!("att-{arrow_id}-{clause_id}-v{grid_version}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_carries_clause_and_arrow() {
        let clause = Clause {
            clause_id: "C1".into(),
            concept: "it holds".into(),
            depth_type_attestation_ref: "att-A-C1-v3".into(),
        };
        let arrow = ArrowDefinition {
            id: "A".into(),
            ..Default::default()
        };
        let hint = synthesize_hint(&clause, &arrow);
        assert_eq!(
            encode_hint(&hint),
            r#"{"arrow_id":"A","clause_id":"C1","concept":"it holds","attestation_ref":"att-A-C1-v3"}"#
        );
    }

    #[test]
    fn the_buffer_is_sized_exactly_enough() {
        let hint = Hint {
            arrow_id: "\u{1}\n".into(),
            clause_id: String::new(),
            concept: "é\"".into(),
            attestation_ref: "r".into(),
        };
        let text = encode_hint(&hint);
        assert!(text.capacity() <= text.len() + 2);
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["arrow_id"], "\u{1}\n");
        assert_eq!(back.as_object().unwrap().len(), 3);
    }

    #[test]
    fn refs_name_a_clause_or_an_arrow() {
        assert_eq!(attestation_ref("A-x", "C2", 7), "att-A-x-C2-v7");
        assert_eq!(attestation_ref("A-x", "", 7), "att-A-x-v7");
    }
}
