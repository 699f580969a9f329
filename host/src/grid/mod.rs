//! The grid: the arrows a project has declared, and the limits it works under.
//!
//! A grid is read by people as much as by ghyll, so it is YAML, and every
//! mistake in it is reported at once, with its line. It decides who may answer
//! for what, so a version is written once and never edited: a change is the
//! next version, and a pointer names the one in force.
//!
//! Types are here; `yaml` reads text into a tree with lines, `fields` reads
//! typed values off it, `parse` holds the rules of a grid, `files` moves text
//! between the `.ghyll` directory and memory, `error` says what can be wrong.

mod error;
mod fields;
mod files;
mod parse;
mod yaml;

pub use error::{GridError, Problem};

use std::time::Duration;

/// The largest grid file read or written, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// One version of a project's grid, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The `<N>` of `grid.v<N>.yaml`, from 1.
    pub version: u64,
    /// In file order, at least one.
    pub arrows: Vec<Arrow>,
    /// The limits this grid sets.
    pub settings: Settings,
}

impl Grid {
    /// The arrow with this id.
    #[must_use]
    pub fn arrow(&self, id: &str) -> Option<&Arrow> {
        self.arrows.iter().find(|arrow| arrow.id == id)
    }
}

/// Limits a grid may set; what it leaves out keeps its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Consecutive `insufficient-basis` verdicts on a clause that end in an
    /// escalation. Default 3.
    pub insufficient_basis_rounds_max: u32,
    /// The longest residue note, in bytes. Default 16384.
    pub residue_note_max_bytes: u32,
    /// How many requests may wait for the operator at once. Default 64.
    pub modal_pending_max_len: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            insufficient_basis_rounds_max: 3,
            residue_note_max_bytes: 16384,
            modal_pending_max_len: 64,
        }
    }
}

/// A hand-over from one role to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// Unique in the grid, without whitespace.
    pub id: String,
    /// The role whose work crosses.
    pub source_role: String,
    /// The role that takes it over.
    pub target_role: String,
    /// The role that argues against it, if any.
    pub adversary_role: Option<String>,
    /// The layer of the work, e.g. `1`.
    pub stratum: String,
    /// The part of the project the work belongs to.
    pub context: String,
    /// What has to be decided, in file order, at least one.
    pub clauses: Vec<Clause>,
}

/// One thing to be decided before work crosses an arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Unique in the arrow, without whitespace.
    pub id: String,
    /// What the clause claims, in words.
    pub concept: String,
    /// Who decides it.
    pub eval: Eval,
    /// The depth of inspection asked for, if any.
    pub depth: Option<String>,
    /// The lowest tier of model or person that may do the work, if any.
    pub min_tier: Option<String>,
}

/// How a clause is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eval {
    /// By an operator's verdict.
    Attested,
    /// By a command: exit status 0 is a pass.
    Machine {
        /// Program and arguments; no shell reads them. Never empty.
        run: Vec<String>,
        /// How long the command may take. Default 60 s.
        timeout: Duration,
    },
}
