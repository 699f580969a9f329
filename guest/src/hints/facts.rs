//! What judging a hint needs to know of it, and the judgement.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use super::hint::{Hint, MAX_HINT_LOCATION_BYTES, MAX_HINT_LOCATIONS, MAX_STATEMENT_BYTES};
use super::keys::{Given, Key};
use crate::error::quote;
use crate::hex;
use crate::json::{self, Value};

/// All that judging a hint needs to know of it.
#[derive(Default)]
pub(super) struct Facts<'a> {
    given: Given,
    arrow_id: Cow<'a, str>,
    clause_id: Cow<'a, str>,
    subject: Cow<'a, str>,
    basis: usize,
    residue: usize,
    locations: usize,
    longest: usize,
}

impl<'a> Facts<'a> {
    pub(super) fn of(hint: &'a Hint, given: Given) -> Self {
        Self {
            given,
            arrow_id: Cow::Borrowed(&hint.arrow_id),
            clause_id: Cow::Borrowed(&hint.clause_id),
            subject: Cow::Borrowed(&hint.subject),
            basis: hint.basis.len(),
            residue: hint.residue.len(),
            locations: hint.locations.len(),
            longest: hint.locations.iter().map(String::len).max().unwrap_or(0),
        }
    }

    /// What is wrong with the hint by itself.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.given.has(Key::Subject) && !hex::is_digest(self.subject.as_bytes()) {
            return Err(format!(
                "subject {} is not 64 lower-case hex digits",
                quote(&self.subject)
            ));
        }
        for (key, bytes) in [("basis", self.basis), ("residue", self.residue)] {
            if bytes > MAX_STATEMENT_BYTES {
                return Err(format!(
                    "{key} has {bytes} bytes, at most {MAX_STATEMENT_BYTES}"
                ));
            }
        }
        if self.locations > MAX_HINT_LOCATIONS {
            return Err(format!(
                "{} locations, at most {MAX_HINT_LOCATIONS}",
                self.locations
            ));
        }
        if self.longest > MAX_HINT_LOCATION_BYTES {
            return Err(format!(
                "a location of {} bytes, at most {MAX_HINT_LOCATION_BYTES}",
                self.longest
            ));
        }
        Ok(())
    }

    /// Whether it is about what its record is about, as far as it says.
    pub(super) fn names(&self, arrow_id: &str, clause_id: &str) -> Result<(), String> {
        for (key, name, said, meant) in [
            (Key::ArrowId, "arrow_id", &self.arrow_id, arrow_id),
            (Key::ClauseId, "clause_id", &self.clause_id, clause_id),
        ] {
            if self.given.has(key) && *said != meant {
                return Err(format!(
                    "{name} {} is not the record's, {}",
                    quote(said),
                    quote(meant)
                ));
            }
        }
        Ok(())
    }
}

/// Reads a hint as [`encode_hint`](super::encode_hint) writes it; `None` of any
/// other text.
pub(super) fn read_plain(text: &str) -> Option<Facts<'_>> {
    let mut facts = Facts::default();
    json::flat_object(text, |key, value| {
        let key = Key::parse(key)?;
        if facts.given.add(key) {
            return None;
        }
        match (key, value) {
            (Key::Locations, Value::List(locations)) => {
                for location in locations {
                    facts.locations += 1;
                    facts.longest = facts.longest.max(location.len());
                }
            }
            (Key::Locations, _) | (_, Value::List(_)) => return None,
            (Key::ArrowId, Value::Text(text)) => facts.arrow_id = text,
            (Key::ClauseId, Value::Text(text)) => facts.clause_id = text,
            (Key::Subject, Value::Text(text)) => facts.subject = text,
            (Key::Basis, Value::Text(text)) => facts.basis = text.len(),
            (Key::Residue, Value::Text(text)) => facts.residue = text.len(),
            (Key::Concept | Key::AttestationRef, Value::Text(_)) => {}
        }
        Some(())
    })?;
    Some(facts)
}
