//! Records, and what makes one valid.
//!
//! The same rules judge a record before it is written, where the first fault is
//! enough to refuse it, and one read from a file, where an auditor wants all of
//! them. Older lines are judged by what was known when they were written.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

use crate::error::{PolicyError, codes, quote};
use crate::operators::validate_op_id;
use crate::paths;
use crate::timestamp;
use crate::units::{Evidence, Unit, unknown_unit};

/// The longest reason, in bytes. Callers give at most 3072: the rest is for
/// annotations.
pub const MAX_REASON_BYTES: usize = 4096;

/// One verdict, immutable once written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Attestation {
    /// The ref answered; from the second round on with `.r<k>` behind it.
    pub attestation_id: String,
    /// `depth-type` (one clause) or `on-the-spot` (a whole arrow).
    pub kind: String,
    /// The arrow.
    pub arrow_id: String,
    /// Empty exactly when the kind is `on-the-spot`.
    pub clause_id: String,
    /// The human who answers for it.
    pub op_id: String,
    /// In which role; never one of the arrow's own.
    pub attested_by_role: String,
    /// Who hands over.
    pub source_role: String,
    /// Who takes over.
    pub target_role: String,
    /// Empty but for a three-role chain.
    pub adversary_role: String,
    /// `pass`, `fail`, `insufficient-basis`, `accepted-risk`, `route-upstream`.
    pub verdict: String,
    /// Free text and annotations, at most [`MAX_REASON_BYTES`], no control
    /// characters.
    pub reason: String,
    /// RFC 3339, UTC (`Z`), exactly nine fractional digits.
    pub timestamp: String,
    /// The grid the arrow was declared in.
    pub grid_version: u64,
    /// The traversal of the arrow the verdict belongs to.
    pub pass_id: String,
    /// The arrow's context.
    pub context: String,
    /// The arrow's stratum.
    pub stratum: String,
    /// `confirm`, `record-locations-inspected`, `write-residue-note`.
    pub unit: String,
    /// JSON text of the evidence, see [`encode_unit_payload`](crate::encode_unit_payload).
    pub unit_payload_json: String,
    /// JSON text of the hint shown, `{}` when there was none.
    pub hint_json: String,
}

/// What the host chooses. A limit of 0 means its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Largest residue note in bytes; default
    /// [`DEFAULT_MAX_RESIDUE_BYTES`](crate::DEFAULT_MAX_RESIDUE_BYTES).
    pub max_residue_bytes: u32,
}

/// What an older line is forgiven.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leniency {
    /// The line has no `unit`: it dates from before evidence had a shape.
    pub(crate) unit_absent: bool,
    /// The line has no pass, and stands where that is legal.
    pub(crate) pass_less: bool,
}

/// Whether the record may be written. Reports the first fault in the contract's
/// order: identity, kind, verdict, pass, roles, timestamp, the two JSON texts,
/// reason, evidence.
///
/// Blank means empty when trimmed. Roles are compared trimmed and in any case.
///
/// # Errors
///
/// Any code of [`codes`] from `attestation-id-empty` to
/// `op-id-invalid-characters`.
///
/// ```
/// use ghyll_policy::{Attestation, Limits, validate};
///
/// let fault = validate(&Attestation::default(), &Limits::default()).unwrap_err();
/// assert_eq!(fault.code, "attestation-id-empty");
/// ```
pub fn validate(rec: &Attestation, limits: &Limits) -> Result<(), PolicyError> {
    faults(rec, limits, Leniency::default())
        .into_iter()
        .next()
        .map_or(Ok(()), Err)
}

/// Everything wrong with the record, in the contract's order. What cannot be
/// judged because of an earlier fault is not.
pub(crate) fn faults(rec: &Attestation, limits: &Limits, leniency: Leniency) -> Vec<PolicyError> {
    let mut found = Vec::new();
    identity(rec, &mut found);
    if Unit::needed_for(&rec.verdict).is_none() {
        found.push(PolicyError::new(
            codes::ATTESTATION_VERDICT_INVALID,
            format!("no such verdict: {}", quote(&rec.verdict)),
        ));
    }
    if !leniency.pass_less && blank(&rec.pass_id) {
        found.push(paths::pass_id_empty());
    }
    roles(rec, &mut found);
    if !timestamp::is_canonical(&rec.timestamp) {
        found.push(timestamp_invalid(&rec.timestamp));
    }
    if let Err(cause) = check_object(&rec.hint_json) {
        found.push(PolicyError::new(
            codes::ATTESTATION_HINT_MALFORMED,
            format!("hint-json: {cause}"),
        ));
    }
    let evidence = Evidence::parse(&rec.unit_payload_json);
    if let Err(cause) = &evidence {
        found.push(PolicyError::new(
            codes::ATTESTATION_PAYLOAD_MALFORMED,
            format!("unit-payload-json: {}", clip(cause.to_string())),
        ));
    }
    reason(rec, &mut found);
    if leniency.unit_absent {
        if evidence.is_ok_and(|evidence| !evidence.is_empty()) {
            found.push(PolicyError::new(
                codes::VERDICT_UNIT_UNEXPECTED_FIELD,
                "evidence without a unit",
            ));
        }
    } else {
        unit(rec, limits, evidence.ok(), &mut found);
    }
    found
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn identity(rec: &Attestation, found: &mut Vec<PolicyError>) {
    if blank(&rec.attestation_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ID_EMPTY,
            "attestation-id is blank",
        ));
    }
    if blank(&rec.arrow_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ARROW_ID_EMPTY,
            "arrow-id is blank",
        ));
    }
    if blank(&rec.op_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_OP_ID_EMPTY,
            "op-id is blank",
        ));
    } else if let Err(fault) = validate_op_id(&rec.op_id) {
        found.push(fault);
    }
    if blank(&rec.attested_by_role) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ATTESTED_BY_ROLE_EMPTY,
            "attested-by-role is blank",
        ));
    }
    match rec.kind.as_str() {
        "depth-type" if blank(&rec.clause_id) => found.push(PolicyError::new(
            codes::ATTESTATION_DEPTH_TYPE_REQUIRES_CLAUSE_ID,
            "a depth-type record names its clause",
        )),
        "on-the-spot" if !rec.clause_id.is_empty() => found.push(PolicyError::new(
            codes::ATTESTATION_ON_THE_SPOT_REJECTS_CLAUSE_ID,
            format!(
                "an on-the-spot record names no clause, this one {}",
                quote(&rec.clause_id)
            ),
        )),
        "depth-type" | "on-the-spot" => {}
        other => found.push(PolicyError::new(
            codes::ATTESTATION_KIND_INVALID,
            format!("{} is neither `depth-type` nor `on-the-spot`", quote(other)),
        )),
    }
}

fn roles(rec: &Attestation, found: &mut Vec<PolicyError>) {
    if !blank(&rec.attested_by_role) {
        for (party, role) in [("source", &rec.source_role), ("target", &rec.target_role)] {
            if paths::same_role(&rec.attested_by_role, role) {
                found.push(PolicyError::new(
                    codes::ATTESTATION_SELF_CERT_FORBIDDEN,
                    format!(
                        "attested by {}, the arrow's own {party}",
                        quote(&rec.attested_by_role)
                    ),
                ));
                break;
            }
        }
    }
    if !paths::is_init(rec) {
        found.extend(paths::check_adversary(rec).err());
        found.extend(paths::check_roles(rec).err());
    }
}

/// The error of a timestamp that is not canonical.
pub(crate) fn timestamp_invalid(text: &str) -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_TIMESTAMP_INVALID,
        format!("{} is not YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ", quote(text)),
    )
}

fn reason(rec: &Attestation, found: &mut Vec<PolicyError>) {
    let detail = if rec.reason.len() > MAX_REASON_BYTES {
        format!("{} bytes, at most {MAX_REASON_BYTES}", rec.reason.len())
    } else if let Some(c) = rec.reason.chars().find(|c| c.is_control()) {
        format!("control character U+{:04X}", u32::from(c))
    } else {
        return;
    };
    found.push(PolicyError::new(codes::ATTESTATION_REASON_INVALID, detail));
}

fn unit(
    rec: &Attestation,
    limits: &Limits,
    evidence: Option<Evidence>,
    found: &mut Vec<PolicyError>,
) {
    let Some(unit) = Unit::parse(&rec.unit) else {
        found.push(unknown_unit(&rec.unit));
        return;
    };
    if let Some(evidence) = evidence {
        found.extend(evidence.check(unit, limits.max_residue_bytes).err());
    }
    if let Some(needed) = Unit::needed_for(&rec.verdict)
        && unit < needed
    {
        found.push(PolicyError::new(
            codes::VERDICT_UNIT_INSUFFICIENT,
            format!(
                "verdict `{}` needs at least `{}`, not `{}`",
                rec.verdict,
                needed.name(),
                unit.name()
            ),
        ));
    }
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

/// Whether `text` is one JSON object, whatever is in it and however deep.
fn check_object(text: &str) -> Result<(), String> {
    struct AnyObject;
    impl<'de> Visitor<'de> for AnyObject {
        type Value = ();
        fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            // Ignored values are skipped without recursion.
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    (&mut reader)
        .deserialize_map(AnyObject)
        .and_then(|()| reader.end())
        .map_err(|cause| clip(cause.to_string()))
}
