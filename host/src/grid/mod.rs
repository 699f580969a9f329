//! The grid: the arrows a project has declared, and the limits it works under.
//!
//! A grid is read by people as much as by ghyll, so it is YAML, and every
//! mistake in it is reported at once, with its line. It decides who may answer
//! for what, so a version is written once and never edited: a change is the
//! next version, and a pointer names the one in force.
//!
//! Types are here; `yaml` reads text into a tree with lines, `fields` reads
//! typed values off it, `keys` lists what may be said, `parse` holds the rules
//! of a grid (`alike` and `covers` those of ids and globs, `ids` what the
//! policy component is asked), `files` moves text between the `.ghyll`
//! directory and memory and `source` from anywhere else, `next` brings a text
//! into force, `diff` says what changes by it, `limits` and `record` hold
//! records against the version they name, `schema` is for editors, `error`
//! says what can be wrong.

mod alike;
mod covers;
mod diff;
mod error;
mod fields;
mod files;
mod ids;
mod keys;
mod limits;
mod next;
mod parse;
mod record;
mod schema;
mod source;
pub(crate) mod yaml;

pub use covers::{Cover, Covers};
pub use diff::{Change, diff};
pub(crate) use error::printable;
pub use error::{GridError, Problem};
pub use files::digest;
pub use ids::IdRules;
pub use keys::{ARROW, CLAUSE, GRID, Key, MAX_VERSION, Shape};
pub use limits::GridLimits;
pub use next::Next;
pub use record::{Difference, differences};
pub use schema::{schema, schema_text, write_schema};
pub use source::{read_file, read_stream};

use std::time::Duration;

use serde::{Serialize, Serializer};

/// The largest grid file read or written, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The grid a project starts with where none is given: one arrow, and in
/// comments what else can be said.
pub const SKELETON: &str = include_str!("skeleton.yaml");

/// The file below `.ghyll` that the skeleton's first line names.
pub const SCHEMA_FILE: &str = "grid.schema.json";

/// One version of a project's grid, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grid {
    /// The `<N>` of `grid.v<N>.yaml`, 1 to [`MAX_VERSION`].
    pub version: u64,
    /// The limits this grid sets.
    pub settings: Settings,
    /// In file order, at least one.
    pub arrows: Vec<Arrow>,
}

impl Grid {
    /// The arrow with this id.
    #[must_use]
    pub fn arrow(&self, id: &str) -> Option<&Arrow> {
        self.arrows.iter().find(|arrow| arrow.id == id)
    }
}

/// Limits a grid may set; what it leaves out keeps its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// The files its verdicts are about, as globs from the project's root, `!`
    /// in front excludes; empty if it says nothing of them.
    pub covers: Vec<String>,
    /// What has to be decided, in file order, at least one.
    pub clauses: Vec<Clause>,
}

impl Arrow {
    /// The globs of the files that a verdict on `clause`, one of this arrow's,
    /// is about: its own in place of the arrow's. Empty if nothing is covered.
    /// [`Covers::parse`] makes a matcher of them.
    #[must_use]
    pub fn covers_of<'a>(&'a self, clause: &'a Clause) -> &'a [String] {
        clause.covers.as_deref().unwrap_or(&self.covers)
    }
}

/// One thing to be decided before work crosses an arrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clause {
    /// Unique in the arrow, without whitespace.
    pub id: String,
    /// What the clause claims, in words.
    pub concept: String,
    /// Who decides it.
    #[serde(flatten)]
    pub eval: Eval,
    /// The files this clause is about, where they are not its arrow's. Never
    /// empty; see [`Arrow::covers_of`].
    pub covers: Option<Vec<String>>,
    /// The depth of inspection asked for, if any.
    pub depth: Option<String>,
    /// The lowest tier of model that may do the work, from 1, if any.
    pub min_tier: Option<u32>,
}

/// How a clause is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "eval", rename_all = "kebab-case")]
pub enum Eval {
    /// By an operator's verdict.
    Attested,
    /// By a command: exit status 0 is a pass.
    Machine {
        /// Program and arguments; no shell reads them. Never empty.
        run: Vec<String>,
        /// How long the command may take. Default 60 s.
        #[serde(rename = "timeout_s", serialize_with = "seconds")]
        timeout: Duration,
    },
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.as_secs())
}
