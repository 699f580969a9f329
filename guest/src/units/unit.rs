//! The three units, weakest first, and which verdict may rest on which.

use alloc::format;

use crate::error::{PolicyError, codes, quote};

/// The shapes evidence can have, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Confirm,
    RecordLocationsInspected,
    WriteResidueNote,
}

impl Unit {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "confirm" => Self::Confirm,
            "record-locations-inspected" => Self::RecordLocationsInspected,
            "write-residue-note" => Self::WriteResidueNote,
            _ => return None,
        })
    }

    /// The weakest unit `verdict` may rest on; `None` when there is no such
    /// verdict.
    pub(crate) fn needed_for(verdict: &str) -> Option<Self> {
        Some(match verdict {
            "pass" => Self::Confirm,
            "fail" => Self::RecordLocationsInspected,
            "insufficient-basis" | "accepted-risk" | "route-upstream" => Self::WriteResidueNote,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::RecordLocationsInspected => "record-locations-inspected",
            Self::WriteResidueNote => "write-residue-note",
        }
    }
}

/// The error for a name that is no unit.
pub(crate) fn unknown_unit(name: &str) -> PolicyError {
    PolicyError::new(
        codes::VERDICT_UNIT_INVALID,
        format!(
            "{} is none of `confirm`, `record-locations-inspected`, `write-residue-note`",
            quote(name)
        ),
    )
}
