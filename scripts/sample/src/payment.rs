//! Charging cards: each key at most once.

use std::collections::HashMap;

/// What the bank said to a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Accepted,
    Refused,
    /// No answer in time; to be asked about before anything is charged again.
    Unknown,
}

pub struct Charge {
    /// Derived from the order, so that a repeated request finds the first.
    pub key: String,
    pub amount_cents: u64,
}

pub trait Bank {
    fn charge(&mut self, charge: &Charge) -> Outcome;
    fn outcome_of(&mut self, key: &str) -> Option<Outcome>;
}

#[derive(Default)]
pub struct Ledger {
    outcomes: HashMap<String, Outcome>,
}

/// Charges a card, unless the charge was made already.
pub fn charge(ledger: &mut Ledger, bank: &mut dyn Bank, charge: &Charge) -> Outcome {
    let known = match ledger.outcomes.get(&charge.key) {
        Some(Outcome::Unknown) => bank.outcome_of(&charge.key),
        other => other.copied(),
    };
    let outcome = known.unwrap_or_else(|| bank.charge(charge));
    ledger.outcomes.insert(charge.key.clone(), outcome);
    outcome
}
