//! The keys of a hint.

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    ArrowId,
    ClauseId,
    Concept,
    AttestationRef,
    Subject,
    Locations,
    Basis,
    Residue,
}

impl Key {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "arrow_id" => Self::ArrowId,
            "clause_id" => Self::ClauseId,
            "concept" => Self::Concept,
            "attestation_ref" => Self::AttestationRef,
            "subject" => Self::Subject,
            "locations" => Self::Locations,
            "basis" => Self::Basis,
            "residue" => Self::Residue,
            _ => return None,
        })
    }
}

/// Which keys a hint has.
#[derive(Clone, Copy, Default)]
pub(super) struct Given(u8);

impl Given {
    pub(super) fn has(self, key: Key) -> bool {
        self.0 & (1 << key as u8) != 0
    }

    /// Adds a key; whether it was there before.
    pub(super) fn add(&mut self, key: Key) -> bool {
        let twice = self.has(key);
        self.0 |= 1 << key as u8;
        twice
    }
}
