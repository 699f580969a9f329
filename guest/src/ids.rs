//! What a verdict answers, and which answer it is.
//!
//! Refs and ids are spelt here and taken apart here and nowhere else, so that
//! two hosts asking about the same clause ask under the same name and count its
//! rounds alike.

use alloc::format;
use alloc::string::String;

use crate::error::{PolicyError, codes, quote};

/// The highest round a ref can have. No clause is asked so often; a number that
/// is only large would leave its ref without a next one.
pub const MAX_ROUND: u32 = 1_000_000;

/// The highest version of a grid: the largest number that every reader of JSON
/// reads exactly.
pub const MAX_GRID_VERSION: u64 = (1 << 53) - 1;

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

/// The id of round `round` (from 1) on a ref: the ref itself, then `<ref>.r<k>`.
///
/// ```
/// use ghyll_policy::attestation_id;
///
/// assert_eq!(attestation_id("att-A-C1-v1", 1), "att-A-C1-v1");
/// assert_eq!(attestation_id("att-A-C1-v1", 2), "att-A-C1-v1.r2");
/// ```
#[must_use]
pub fn attestation_id(attestation_ref: &str, round: u32) -> String {
    if round < 2 {
        attestation_ref.into()
    } else {
        format!("{attestation_ref}.r{round}")
    }
}

/// The ref an id answers, and which round: the inverse of [`attestation_id`].
///
/// An id that ends in `.r` and digits claims a round. Where that is not written
/// as rounds are counted (`.r1`, `.r02`, above [`MAX_ROUND`]) the record is
/// `attestation-id-malformed`; it still was meant for the ref in front, and is
/// round 0 of it: behind none and before all. What only looks like a round
/// (`.r`, `.r2x`, `.R2`, no ref in front) is part of the ref.
///
/// ```
/// use ghyll_policy::ref_and_round;
///
/// assert_eq!(ref_and_round("att-A-C1-v1"), ("att-A-C1-v1", 1));
/// assert_eq!(ref_and_round("att-A-C1-v1.r2"), ("att-A-C1-v1", 2));
/// assert_eq!(ref_and_round("att-A-C1-v1.r02"), ("att-A-C1-v1", 0));
/// ```
#[must_use]
pub fn ref_and_round(id: &str) -> (&str, u32) {
    let before = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = id.get(before.len()..).unwrap_or_default();
    match before.strip_suffix(".r") {
        Some(before) if !before.is_empty() && !digits.is_empty() => {
            (before, round(digits).unwrap_or(0))
        }
        _ => (id, 1),
    }
}

/// The round that `digits` write, as rounds from the second on are written.
fn round(digits: &str) -> Option<u32> {
    let round = digits.parse().ok()?;
    let counted = !digits.starts_with('0') && (2..=MAX_ROUND).contains(&round);
    counted.then_some(round)
}

/// The error of an id that claims a round there is not.
pub(crate) fn check_id(id: &str) -> Result<(), PolicyError> {
    if ref_and_round(id).1 > 0 {
        return Ok(());
    }
    Err(PolicyError::new(
        codes::ATTESTATION_ID_MALFORMED,
        format!(
            "the round of {} is not written as it is counted, from 2 to {MAX_ROUND}",
            quote(id)
        ),
    ))
}

/// The error of a version that no grid has.
pub(crate) fn check_grid_version(version: u64) -> Result<(), PolicyError> {
    if (1..=MAX_GRID_VERSION).contains(&version) {
        return Ok(());
    }
    Err(PolicyError::new(
        codes::ATTESTATION_GRID_VERSION_INVALID,
        format!("{version} is not from 1 to {MAX_GRID_VERSION}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_name_a_clause_or_an_arrow() {
        assert_eq!(attestation_ref("A-x", "C2", 7), "att-A-x-C2-v7");
        assert_eq!(attestation_ref("A-x", "", 7), "att-A-x-v7");
    }

    #[test]
    fn ids_and_rounds_are_inverse() {
        for (id, expected) in [
            ("att-A-v1", ("att-A-v1", 1)),
            ("att-A-v1.r2", ("att-A-v1", 2)),
            ("att-A-v1.r1000000", ("att-A-v1", MAX_ROUND)),
            ("a.r2.r3", ("a.r2", 3)),
        ] {
            assert_eq!(ref_and_round(id), expected);
            assert_eq!(attestation_id(expected.0, expected.1), id);
            assert_eq!(check_id(id), Ok(()));
        }
        for whole in ["", "a.r", "a.r+2", "a.r2x", ".r2", "a.R2", "2", "a.r２"] {
            assert_eq!(ref_and_round(whole), (whole, 1));
            assert_eq!(check_id(whole), Ok(()));
        }
        for digits in [
            "0",
            "1",
            "02",
            "1000001",
            "4294967298",
            "99999999999999999999",
        ] {
            let id = format!("a.r{digits}");
            assert_eq!(ref_and_round(&id), ("a", 0));
            assert_eq!(check_id(&id).unwrap_err().code, "attestation-id-malformed");
        }
        assert_eq!(attestation_id("a", 0), "a");
    }

    #[test]
    fn versions() {
        for good in [1, 2, MAX_GRID_VERSION] {
            assert_eq!(check_grid_version(good), Ok(()));
        }
        for bad in [0, MAX_GRID_VERSION + 1, u64::MAX] {
            assert!(check_grid_version(bad).is_err());
        }
    }
}
