//! Records, and what makes one valid.
//!
//! The same rules judge a record before it is written, where the first fault is
//! enough to refuse it, and one read from a file, where an auditor wants all of
//! them. Older lines are judged by what was known when they were written.

use alloc::format;
use alloc::vec::Vec;

use crate::attestation::{Attestation, Fields};
use crate::error::{PolicyError, codes, quote};
use crate::hints::check_hint;
use crate::ids;
use crate::operators::validate_op_id;
use crate::paths;
use crate::reason::{MAX_REASON_BYTES, check_reason};
use crate::roles::{check_adversary, check_roles, is_init, same_role};
use crate::timestamp;
use crate::units::{Evidence, Unit, unknown_unit};

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
    /// The line has no `grid_version`, and so no wrong one.
    pub(crate) version_absent: bool,
    /// The line has no pass, and stands where that is legal.
    pub(crate) pass_less: bool,
}

/// What of a record is known to be good, for it is as in one that was judged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// The op-id.
    pub(crate) op_id: bool,
    /// The four roles.
    pub(crate) roles: bool,
}

/// Whether the record may be written. Reports the first fault in the contract's
/// order: identity, kind, verdict, pass, roles, timestamp, the two JSON texts,
/// reason, evidence, round, grid version.
///
/// Blank means empty when trimmed. Roles are compared trimmed and in any case.
///
/// # Errors
///
/// Any code of [`codes`] from `attestation-id-empty` to
/// `attestation-grid-version-invalid`, but for the grid's own.
///
/// ```
/// use ghyll_policy::{Attestation, Limits, validate};
///
/// let fault = validate(&Attestation::default(), &Limits::default()).unwrap_err();
/// assert_eq!(fault.code, "attestation-id-empty");
/// ```
pub fn validate(rec: &Attestation, limits: &Limits) -> Result<(), PolicyError> {
    faults(&rec.into(), limits, Leniency::default(), Known::default())
        .into_iter()
        .next()
        .map_or(Ok(()), Err)
}

/// Everything wrong with the record, in the contract's order. What cannot be
/// judged because of an earlier fault is not.
pub(crate) fn faults(
    rec: &Fields<'_>,
    limits: &Limits,
    leniency: Leniency,
    known: Known,
) -> Vec<PolicyError> {
    let mut found = Vec::new();
    identity(rec, known, &mut found);
    if Unit::needed_for(rec.verdict).is_none() {
        found.push(PolicyError::new(
            codes::ATTESTATION_VERDICT_INVALID,
            format!("no such verdict: {}", quote(rec.verdict)),
        ));
    }
    if !leniency.pass_less && blank(rec.pass_id) {
        found.push(paths::pass_id_empty());
    }
    if !known.roles {
        roles(rec, &mut found);
    }
    if !timestamp::is_canonical(rec.timestamp) {
        found.push(timestamp_invalid(rec.timestamp));
    }
    found.extend(check_hint(rec.hint_json, rec.arrow_id, rec.clause_id).err());
    let evidence = match Evidence::parse(rec.unit_payload_json) {
        Ok(evidence) => Some(evidence),
        Err(fault) => {
            found.push(fault);
            None
        }
    };
    found.extend(check_reason(rec.reason, MAX_REASON_BYTES).err());
    if leniency.unit_absent {
        if evidence.is_some_and(|evidence| !evidence.is_empty()) {
            found.push(PolicyError::new(
                codes::VERDICT_UNIT_UNEXPECTED_FIELD,
                "evidence without a unit",
            ));
        }
    } else {
        unit(rec, limits, evidence, &mut found);
    }
    found.extend(ids::check_id(rec.attestation_id).err());
    if !leniency.version_absent {
        found.extend(ids::check_grid_version(rec.grid_version).err());
    }
    found
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn identity(rec: &Fields<'_>, known: Known, found: &mut Vec<PolicyError>) {
    if blank(rec.attestation_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ID_EMPTY,
            "attestation-id is blank",
        ));
    }
    if blank(rec.arrow_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ARROW_ID_EMPTY,
            "arrow-id is blank",
        ));
    }
    if blank(rec.op_id) {
        found.push(PolicyError::new(
            codes::ATTESTATION_OP_ID_EMPTY,
            "op-id is blank",
        ));
    } else if !known.op_id {
        found.extend(validate_op_id(rec.op_id).err());
    }
    if blank(rec.attested_by_role) {
        found.push(PolicyError::new(
            codes::ATTESTATION_ATTESTED_BY_ROLE_EMPTY,
            "attested-by-role is blank",
        ));
    }
    match rec.kind {
        "depth-type" if blank(rec.clause_id) => found.push(PolicyError::new(
            codes::ATTESTATION_DEPTH_TYPE_REQUIRES_CLAUSE_ID,
            "a depth-type record names its clause",
        )),
        "on-the-spot" if !rec.clause_id.is_empty() => found.push(PolicyError::new(
            codes::ATTESTATION_ON_THE_SPOT_REJECTS_CLAUSE_ID,
            format!(
                "an on-the-spot record names no clause, this one {}",
                quote(rec.clause_id)
            ),
        )),
        "depth-type" | "on-the-spot" => {}
        other => found.push(PolicyError::new(
            codes::ATTESTATION_KIND_INVALID,
            format!("{} is neither `depth-type` nor `on-the-spot`", quote(other)),
        )),
    }
}

fn roles(rec: &Fields<'_>, found: &mut Vec<PolicyError>) {
    if !blank(rec.attested_by_role) {
        for (party, role) in [("source", rec.source_role), ("target", rec.target_role)] {
            if same_role(rec.attested_by_role, role) {
                found.push(PolicyError::new(
                    codes::ATTESTATION_SELF_CERT_FORBIDDEN,
                    format!(
                        "attested by {}, the arrow's own {party}",
                        quote(rec.attested_by_role)
                    ),
                ));
                break;
            }
        }
    }
    if !is_init(rec) {
        found.extend(check_adversary(rec).err());
        found.extend(check_roles(rec).err());
    }
}

/// The error of a timestamp that is not canonical.
pub(crate) fn timestamp_invalid(text: &str) -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_TIMESTAMP_INVALID,
        format!("{} is not YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ", quote(text)),
    )
}

fn unit(
    rec: &Fields<'_>,
    limits: &Limits,
    evidence: Option<Evidence>,
    found: &mut Vec<PolicyError>,
) {
    let Some(unit) = Unit::parse(rec.unit) else {
        found.push(unknown_unit(rec.unit));
        return;
    };
    if let Some(evidence) = evidence {
        found.extend(evidence.check(unit, limits.max_residue_bytes).err());
    }
    if let Some(needed) = Unit::needed_for(rec.verdict)
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
