//! Roles: when two names mean the same one, and which a record may not mix.

use alloc::format;
use alloc::string::String;

use crate::attestation::Fields;
use crate::error::{PolicyError, codes, quote};

/// A role's name as names are compared: two names with the same key mean the
/// same role. Trimmed, in any case.
///
/// ```
/// use ghyll_policy::role_key;
///
/// assert_eq!(role_key(" Analyst"), role_key("ANALYST"));
/// ```
#[must_use]
pub fn role_key(role: &str) -> String {
    role.trim().to_lowercase()
}

/// Whether two names mean the same role, see [`role_key`].
pub(crate) fn same_role(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    one.to_lowercase() == other.to_lowercase()
}

/// Whether the record was made when the project was initialised, on behalf of
/// no arrow's roles.
pub(crate) fn is_init(rec: &Fields<'_>) -> bool {
    same_role(rec.attested_by_role, "init")
}

/// Whether the text contains what stands between the roles of a pair.
pub(crate) fn has_separator(text: &str) -> bool {
    // A search for so little costs more to set up than to do.
    text.as_bytes().array_windows().any(|two| two == b"__")
}

/// No role may contain the separator of role pairs.
pub(crate) fn check_roles(rec: &Fields<'_>) -> Result<(), PolicyError> {
    for role in [rec.source_role, rec.adversary_role, rec.target_role] {
        if has_separator(role) {
            return Err(PolicyError::new(
                codes::ATTESTATION_ROLE_INVALID,
                format!("role {} contains `__`", quote(role)),
            ));
        }
    }
    Ok(())
}

/// An adversary who is a party to the arrow is none.
pub(crate) fn check_adversary(rec: &Fields<'_>) -> Result<(), PolicyError> {
    if rec.adversary_role.is_empty() {
        return Ok(());
    }
    for (party, role) in [("source", rec.source_role), ("target", rec.target_role)] {
        if same_role(rec.adversary_role, role) {
            return Err(PolicyError::new(
                codes::ATTESTATION_SELF_CERT_FORBIDDEN,
                format!(
                    "the adversary {} is the arrow's {party}",
                    quote(rec.adversary_role)
                ),
            ));
        }
    }
    Ok(())
}
