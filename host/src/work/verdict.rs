//! The five verdicts, and the words for them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::db::Row;

/// What an operator says of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    #[default]
    Pass,
    /// It does not; the risk of that is taken on.
    AcceptedRisk,
    /// What there is does not let anybody judge it.
    InsufficientBasis,
    /// It does not hold.
    Fail,
    /// The source role has to make something deeper first.
    RouteUpstream,
}

/// A word that names no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such verdict: {0:?}; there are pass, fail, insufficient-basis, accepted-risk and route-upstream"
)]
pub struct UnknownVerdict(pub String);

impl UnknownVerdict {
    /// The public code.
    pub fn code(&self) -> &'static str {
        "attestation-verdict-invalid"
    }
}

impl Verdict {
    /// All of them, the least severe first: of verdicts given at the same
    /// time, where nobody could see the others, the last counts.
    pub const ALL: [Self; 5] = [
        Self::Pass,
        Self::AcceptedRisk,
        Self::InsufficientBasis,
        Self::Fail,
        Self::RouteUpstream,
    ];

    /// As records spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::AcceptedRisk => "accepted-risk",
            Self::InsufficientBasis => "insufficient-basis",
            Self::Fail => "fail",
            Self::RouteUpstream => "route-upstream",
        }
    }

    /// The verdict a record names, spelt as records do.
    pub fn of_record(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.as_str() == text)
    }

    /// The verdict an operator means: its name or its short form, any case.
    ///
    /// # Errors
    /// If the word names none.
    pub fn parse(word: &str) -> Result<Self, UnknownVerdict> {
        let lower = word.trim().to_lowercase();
        match lower.as_str() {
            "p" => Ok(Self::Pass),
            "f" => Ok(Self::Fail),
            "ib" | "i" => Ok(Self::InsufficientBasis),
            name => Self::of_record(name).ok_or_else(|| UnknownVerdict(word.to_owned())),
        }
    }

    /// Whether it decides an escalation, and is taken only while one is due.
    pub fn is_escalation(self) -> bool {
        matches!(self, Self::AcceptedRisk | Self::RouteUpstream)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a record's verdict rests on.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The places inspected.
    pub inspected: Vec<String>,
    /// The note.
    pub residue: String,
}

impl Evidence {
    /// That of a record.
    pub fn of(row: &Row) -> Self {
        // The policy has checked the payload's shape.
        serde_json::from_str(&row.rec.unit_payload_json).unwrap_or_default()
    }
}

/// The evidence of a record in words: its locations, then its note.
pub fn evidence(row: &Row) -> String {
    let Evidence { inspected, residue } = Evidence::of(row);
    let mut words = inspected.join(", ");
    if !residue.is_empty() {
        if !words.is_empty() {
            words.push_str(": ");
        }
        words.push_str(&residue);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_weighs_verdicts_as_their_order_here_does() {
        let policy = crate::policy::Policy::load().unwrap();
        let weights = Verdict::ALL.map(|v| policy.verdict_severity(v.as_str()).unwrap());
        assert_eq!(weights, [1, 2, 3, 4, 5]);
        assert!(Verdict::ALL.is_sorted());
        // What is no verdict weighs less than any, there and here.
        assert_eq!(policy.verdict_severity("maybe").unwrap(), 0);
        assert!(Verdict::of_record("maybe") < Some(Verdict::Pass));
    }

    #[test]
    fn words_of_any_case_name_verdicts_and_others_do_not() {
        for (word, verdict) in [
            ("PASS", Verdict::Pass),
            ("p", Verdict::Pass),
            ("F", Verdict::Fail),
            ("ib", Verdict::InsufficientBasis),
            ("i", Verdict::InsufficientBasis),
            ("Accepted-Risk", Verdict::AcceptedRisk),
            ("route-upstream", Verdict::RouteUpstream),
        ] {
            assert_eq!(Verdict::parse(word), Ok(verdict));
        }
        let code = Verdict::parse("maybe").unwrap_err().code();
        assert_eq!(code, "attestation-verdict-invalid");
        assert_eq!(Verdict::of_record("PASS"), None);
    }
}
