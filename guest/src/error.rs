//! Why the policy refuses something: one error type, and every code it can
//! carry, in one place.
//!
//! Codes are public interface: other hosts, scripts and tests match on them to
//! the letter. Details are for people and may change.

use alloc::string::String;
use core::fmt;

use crate::unicode::may_be_shown;

/// A fault, named by a stable code and told in words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PolicyError {
    /// One of [`codes`].
    pub code: &'static str,
    /// What exactly was wrong. May quote a short piece of the input, with
    /// control and format characters escaped.
    pub detail: String,
}

impl PolicyError {
    pub(crate) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl core::error::Error for PolicyError {}

/// How much of the input a detail quotes, in characters. Bounded, so that a
/// chunk of hostile lines cannot make the findings larger than the lines.
const QUOTED: usize = 48;

/// A short, printable quotation of `text`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("`");
    for c in text.chars().take(QUOTED) {
        if may_be_shown(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    if text.chars().nth(QUOTED).is_some() {
        out.push('…');
    }
    out.push('`');
    out
}

/// Keeps a parser's words short: they quote what they did not expect.
pub(crate) fn clip(mut text: String) -> String {
    const MAX: usize = 200;
    if text.len() > MAX {
        text.truncate(text.floor_char_boundary(MAX));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// Every code the policy answers with.
pub mod codes {
    /// The record has no `attestation-id`.
    pub const ATTESTATION_ID_EMPTY: &str = "attestation-id-empty";
    /// The record names no arrow.
    pub const ATTESTATION_ARROW_ID_EMPTY: &str = "attestation-arrow-id-empty";
    /// The record names no operator.
    pub const ATTESTATION_OP_ID_EMPTY: &str = "attestation-op-id-empty";
    /// The record does not say in which role the operator answered.
    pub const ATTESTATION_ATTESTED_BY_ROLE_EMPTY: &str = "attestation-attested-by-role-empty";
    /// The kind is neither `depth-type` nor `on-the-spot`.
    pub const ATTESTATION_KIND_INVALID: &str = "attestation-kind-invalid";
    /// A `depth-type` record must name its clause.
    pub const ATTESTATION_DEPTH_TYPE_REQUIRES_CLAUSE_ID: &str =
        "attestation-depth-type-requires-clause-id";
    /// An `on-the-spot` record is about the whole arrow and names no clause.
    pub const ATTESTATION_ON_THE_SPOT_REJECTS_CLAUSE_ID: &str =
        "attestation-on-the-spot-rejects-clause-id";
    /// The verdict is not one of the five.
    pub const ATTESTATION_VERDICT_INVALID: &str = "attestation-verdict-invalid";
    /// The record belongs to no pass.
    pub const ATTESTATION_PASS_ID_EMPTY: &str = "attestation-pass-id-empty";
    /// Whoever attests, or the adversary, is a party to the arrow.
    pub const ATTESTATION_SELF_CERT_FORBIDDEN: &str = "attestation-self-cert-forbidden";
    /// A role contains `__`, which separates roles in paths.
    pub const ATTESTATION_ROLE_INVALID: &str = "attestation-role-invalid";
    /// The timestamp is not `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`.
    pub const ATTESTATION_TIMESTAMP_INVALID: &str = "attestation-timestamp-invalid";
    /// `hint-json` is not a JSON object, not of the shape of a hint, or names
    /// another arrow or clause than its record.
    pub const ATTESTATION_HINT_MALFORMED: &str = "attestation-hint-malformed";
    /// `unit-payload-json` is not an object of `inspected` and `residue`.
    pub const ATTESTATION_PAYLOAD_MALFORMED: &str = "attestation-payload-malformed";
    /// The reason is too long or contains control characters.
    pub const ATTESTATION_REASON_INVALID: &str = "attestation-reason-invalid";
    /// The unit is none of the three.
    pub const VERDICT_UNIT_INVALID: &str = "verdict-unit-invalid";
    /// The payload fills a field its unit does not have.
    pub const VERDICT_UNIT_UNEXPECTED_FIELD: &str = "verdict-unit-unexpected-field";
    /// No location was inspected, or only blank ones.
    pub const VERDICT_INSPECTED_EMPTY: &str = "verdict-inspected-empty";
    /// The residue note is blank.
    pub const VERDICT_UNIT_MISSING_FIELD: &str = "verdict-unit-missing-field";
    /// The residue note is longer than the host allows.
    pub const VERDICT_RESIDUE_TOO_LONG: &str = "verdict-residue-too-long";
    /// The verdict needs stronger evidence than its unit gives.
    pub const VERDICT_UNIT_INSUFFICIENT: &str = "verdict-unit-insufficient";
    /// The op-id is blank.
    pub const OP_ID_REQUIRED: &str = "op-id-required";
    /// The op-id is longer than 256 bytes.
    pub const OP_ID_TOO_LONG: &str = "op-id-too-long";
    /// The op-id contains characters no op-id may contain.
    pub const OP_ID_INVALID_CHARACTERS: &str = "op-id-invalid-characters";
    /// An id of a grid contains characters that cannot be seen, or has another
    /// spelling that looks the same.
    pub const GRID_ID_INVALID_CHARACTERS: &str = "grid-id-invalid-characters";
    /// The id's round is not written as rounds are counted, or beyond them.
    pub const ATTESTATION_ID_MALFORMED: &str = "attestation-id-malformed";
    /// The grid version is not one a grid can have.
    pub const ATTESTATION_GRID_VERSION_INVALID: &str = "attestation-grid-version-invalid";
    /// A `prev-chain` is not 64 lower-case hex digits.
    pub const ATTESTATION_CHAIN_INVALID: &str = "attestation-chain-invalid";
    /// The line would be longer than 1 MiB.
    pub const ATTESTATION_LINE_TOO_LONG: &str = "attestation-line-too-long";
    /// The line is not a record, or not in its canonical bytes.
    pub const ATTESTATION_LINE_MALFORMED: &str = "attestation-line-malformed";
    /// The file ends inside a line.
    pub const ATTESTATION_LINE_PARTIAL: &str = "attestation-line-partial";
    /// The line's chain does not follow from the line before it.
    pub const ATTESTATION_CHAIN_BROKEN: &str = "attestation-chain-broken";
    /// The record does not belong into the file it stands in.
    pub const ATTESTATION_PATH_MISMATCH: &str = "attestation-path-mismatch";
    /// A warning, no fault: an older line without a chain.
    pub const ATTESTATION_CHAIN_ABSENT: &str = "attestation-chain-absent";
}
