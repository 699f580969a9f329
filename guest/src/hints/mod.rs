//! What an operator is shown of what is asked: the clause, the subject it is
//! about, and the producer's words.
//!
//! The record keeps it, so what was answered can be held against what is there
//! now.

mod facts;
mod hint;
mod keys;
mod read;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{PolicyError, codes};
use facts::{Facts, read_plain};
use read::read_any;

pub use hint::{
    Hint, MAX_HINT_LOCATION_BYTES, MAX_HINT_LOCATIONS, MAX_STATEMENT_BYTES, encode_hint,
};

/// An attested clause, as far as asking for a verdict needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Clause {
    /// The clause within its arrow.
    pub clause_id: String,
    /// What the clause claims, in words.
    pub concept: String,
    /// The ref asked for, see [`attestation_ref`](crate::attestation_ref).
    pub depth_type_attestation_ref: String,
    /// The SHA-256 of what it covers, 64 lower-case hex digits; empty when it
    /// covers nothing.
    pub subject: String,
    /// Where to look, as the producer says.
    pub locations: Vec<String>,
    /// Why it should hold, as the producer says.
    pub basis: String,
    /// What is left open, as the producer says.
    pub residue: String,
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

/// The hint for one clause of one arrow.
///
/// ```
/// use ghyll_policy::{ArrowDefinition, Clause, attestation_ref, synthesize_hint};
///
/// let clause = Clause {
///     clause_id: "C1".into(),
///     concept: "payment is idempotent".into(),
///     depth_type_attestation_ref: attestation_ref("A-checkout", "C1", 1),
///     ..Default::default()
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
        subject: c.subject.clone(),
        locations: c.locations.clone(),
        basis: c.basis.clone(),
        residue: c.residue.clone(),
    }
}

/// The hint that a record's `hint_json` holds, as [`validate`](crate::validate)
/// reads it. What it does not say is empty.
///
/// # Errors
///
/// `attestation-hint-malformed`.
///
/// ```
/// use ghyll_policy::decode_hint;
///
/// assert_eq!(decode_hint(r#"{"concept":"all green"}"#)?.concept, "all green");
/// assert!(decode_hint(r#"{"subject":"none"}"#).is_err());
/// # Ok::<(), ghyll_policy::PolicyError>(())
/// ```
pub fn decode_hint(text: &str) -> Result<Hint, PolicyError> {
    let (hint, given) = read_any(text).map_err(malformed)?;
    Facts::of(&hint, given).check().map_err(malformed)?;
    Ok(hint)
}

/// Whether `text` may be the hint of a record about this arrow and clause.
///
/// # Errors
///
/// `attestation-hint-malformed`.
pub(crate) fn check_hint(text: &str, arrow_id: &str, clause_id: &str) -> Result<(), PolicyError> {
    let check = |facts: &Facts<'_>| {
        facts.check()?;
        facts.names(arrow_id, clause_id)
    };
    if let Some(facts) = read_plain(text) {
        return check(&facts).map_err(malformed);
    }
    let (hint, given) = read_any(text).map_err(malformed)?;
    check(&Facts::of(&hint, given)).map_err(malformed)
}

fn malformed(cause: String) -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_HINT_MALFORMED,
        format!("hint-json: {cause}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn full() -> Hint {
        Hint {
            arrow_id: "A".into(),
            clause_id: "C1".into(),
            concept: "it holds".into(),
            attestation_ref: "att-A-C1-v3".into(),
            subject: "5e".repeat(32),
            locations: vec!["src/a.rs:3-9".into(), String::new()],
            basis: "tests \"pass\"".into(),
            residue: "é\n".into(),
        }
    }

    #[test]
    fn a_hint_carries_clause_and_arrow() {
        let hint = full();
        let clause = Clause {
            clause_id: hint.clause_id.clone(),
            concept: hint.concept.clone(),
            depth_type_attestation_ref: hint.attestation_ref.clone(),
            subject: hint.subject.clone(),
            locations: hint.locations.clone(),
            basis: hint.basis.clone(),
            residue: hint.residue.clone(),
        };
        let arrow = ArrowDefinition {
            id: "A".into(),
            ..Default::default()
        };
        assert_eq!(synthesize_hint(&clause, &arrow), hint);
        let text = encode_hint(&hint);
        assert_eq!(
            text,
            format!(
                r#"{{"arrow_id":"A","clause_id":"C1","concept":"it holds","attestation_ref":"att-A-C1-v3","subject":"{}","locations":["src/a.rs:3-9",""],"basis":"tests \"pass\"","residue":"é\n"}}"#,
                hint.subject
            )
        );
        assert!(text.capacity() <= text.len() + 2);
        assert_eq!(decode_hint(&text), Ok(hint));
        assert_eq!(decode_hint("{}"), Ok(Hint::default()));
    }

    #[test]
    fn plain_or_not_it_reads_the_same() {
        let full = encode_hint(&full());
        let long = |key: &str, bytes: usize| format!(r#"{{"{key}":"{}"}}"#, "x".repeat(bytes));
        let many = |count: usize, bytes: usize| {
            let one = format!("\"{}\",", "x".repeat(bytes)).repeat(count);
            format!(r#"{{"locations":[{}]}}"#, one.trim_end_matches(','))
        };
        for (text, good) in [
            (full.as_str(), true),
            ("{}", true),
            (r#"{"arrow_id":"A"}"#, true),
            (r#"{"arrow_id":"B"}"#, false),
            (r#"{"arrow_id":""}"#, false),
            (r#"{"clause_id":"C2"}"#, false),
            (r#"{"arrow_id":1}"#, false),
            (r#"{"concept":null}"#, false),
            (r#"{"attestation_ref":"whatever"}"#, true),
            (r#"{"subject":""}"#, false),
            (r#"{"subject":null}"#, false),
            (&long("subject", 64), false),
            (&full.replace("5e5e", "5E5E"), false),
            (&full.replace("5e5e5e", "5e5e"), false),
            (&long("basis", 4096), true),
            (&long("basis", 4097), false),
            (&long("residue", 4096), true),
            (&long("residue", 4097), false),
            (&many(64, 1024), true),
            (&many(65, 1), false),
            (&many(1, 1025), false),
            (r#"{"locations":[]}"#, true),
            (r#"{"locations":"a"}"#, false),
            (r#"{"locations":[1]}"#, false),
            (r#"{"basis":["a"]}"#, false),
            (r#"{"basis":"a","basis":"a"}"#, false),
            (r#"{"more":"a","more":"a"}"#, true),
            (r#"{"more":["a"],"deep":{"x":[1e999]}}"#, true),
            (r#"{"\ud800":"\ud800"}"#, true),
            (r#"{"\u0073ubject":""}"#, false),
        ] {
            for text in [text.into(), format!(" {text}")] {
                let checked = check_hint(&text, "A", "C1");
                assert_eq!(checked.is_ok(), good, "{text:.80}");
            }
        }
    }
}
