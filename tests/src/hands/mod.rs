//! Many hands at once: processes of every kind on one project, some of them
//! killed or stopped in the middle of it, and what is true all the same.
//!
//! Each hand is a thread that does one thing after another, as dice tell it:
//! answers at a terminal or through a pipe, attests, dispatches, replays a
//! script, aborts a pass, makes the index anew, brings a grid into force, edits
//! what is covered, reads. Whatever is said carries a tag of its own, which
//! names the record it is meant to be: so the tree alone tells at the end
//! whether every verdict is there once, and none was laid over another that
//! its operator was not shown.
//!
//! A few seconds of it run with the other tests (`tests/hands.rs`), hours with
//! `campaign --hands ROUNDS`.

mod acts;
mod crowd;
mod judge;
mod repl;
#[cfg(debug_assertions)]
pub mod steps;
mod table;
pub mod throughput;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub use table::make;

use crate::survive::Dice;
use crate::survive::fixture;
use table::Table;

/// What a campaign is to be.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Things done, all hands together.
    pub rounds: u64,
    /// How many at once.
    pub hands: u64,
    /// Done on one project before the next is begun.
    pub on_one_project: u64,
    /// What the dice start from.
    pub seed: u64,
    /// Whether processes are killed.
    pub kills: bool,
    /// Whether processes are stopped for a while.
    pub stops: bool,
}

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Told {
    /// Projects made.
    pub projects: u64,
    /// Things done, by what they were.
    pub acts: BTreeMap<&'static str, u64>,
    /// Refusals that have to be expected, by act and code.
    pub refused: BTreeMap<String, u64>,
    /// Verdicts acknowledged, every one found once.
    pub acknowledged: u64,
    /// Records in the trees at the end.
    pub records: u64,
    /// Of them, those of which it was known which question they answer.
    pub shown: u64,
    /// Rounds beyond the first.
    pub later_rounds: u64,
    /// Processes killed.
    pub kills: u64,
    /// Processes stopped for a while.
    pub stops: u64,
    /// Of them, for longer than a lock is waited for.
    pub long_stops: u64,
    /// The longest that a command took, of those beside which none was stopped.
    pub longest: Duration,
}

impl Told {
    fn count(counts: &mut BTreeMap<String, u64>, what: String) {
        *counts.entry(what).or_default() += 1;
    }

    /// Things done.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.acts.values().sum()
    }
}

/// Plays a campaign; `program` is the `ghyll` binary.
///
/// # Panics
/// If anything is not as it has to be.
pub fn campaign(program: &Path, plan: Plan) -> Told {
    let mut told = Told::default();
    let mut dice = Dice::new(plan.seed);
    while told.rounds() < plan.rounds {
        let scratch = fixture::scratch();
        make(program, scratch.path());
        let rounds = plan.on_one_project.min(plan.rounds - told.rounds());
        let table = Table::new(program, scratch.path(), std::mem::take(&mut told));
        let crowd = &table.crowd;
        std::thread::scope(|scope| {
            let chaos = Dice::new(dice.below(u64::MAX));
            let trouble = scope.spawn(move || crowd.trouble(plan.kills, plan.stops, chaos));
            let hands: Vec<_> = (0..plan.hands)
                .map(|n| {
                    let mut dice = Dice::new(dice.below(u64::MAX));
                    let share = rounds / plan.hands + u64::from(n < rounds % plan.hands);
                    let table = &table;
                    scope.spawn(move || {
                        for _ in 0..share {
                            table.act(&mut dice);
                        }
                    })
                })
                .collect();
            // Of what went wrong first the rest follows: it is what is told.
            let ended: Vec<_> = hands.into_iter().map(|hand| hand.join()).collect();
            crowd.end();
            trouble.join().unwrap();
            if let Some(Err(panic)) = ended.into_iter().find(Result::is_err) {
                std::panic::resume_unwind(panic);
            }
        });
        told = judge::settle(table);
        told.projects += 1;
    }
    told
}
