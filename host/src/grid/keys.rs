//! Every key a grid may have, in one table.
//!
//! The parser refuses any other key, the JSON Schema for editors is made from
//! the table, and a test holds `docs/grid.md` against it: so the three cannot
//! drift apart.

/// A key of a map in a grid.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Whether the map is refused without it.
    pub required: bool,
    /// What its value may be.
    pub shape: Shape,
    /// What it means, for whoever edits a grid.
    pub about: &'static str,
}

/// What the value of a key may be.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Text that is not blank; a plain number is taken as its text.
    Text,
    /// As [`Shape::Text`], without whitespace.
    Id,
    /// An integer from 1 to `max`.
    Positive {
        /// The largest value, inclusive.
        max: u64,
        /// What counts where the key is left out, if anything.
        default: Option<u64>,
    },
    /// A list of text, at least one.
    Texts,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of maps, at least one, each with these keys.
    Maps(&'static [Key]),
}

/// The largest version of a grid: beyond it, JSON readers that keep numbers as
/// floating-point ones would take two versions for one.
pub const MAX_VERSION: u64 = (1 << 53) - 1;

/// Settings and times are kept in 32 bits. A widening, which `From` cannot do
/// in a constant.
pub(super) const U32_MAX: u64 = u32::MAX as u64;
/// 1 MiB: a note, escaped twice into a line, must stay within what one call of
/// the policy component accepts.
pub(super) const NOTE_MAX_BYTES: u64 = 1024 * 1024;
pub(super) const DEFAULT_TIMEOUT_S: u64 = 60;

/// The keys of a grid.
pub const GRID: &[Key] = &[
    Key {
        name: "version",
        required: false,
        shape: Shape::Positive {
            max: MAX_VERSION,
            default: None,
        },
        about: "The version of the grid; must be the one its file is named by. \
                `ghyll grid next` sets it.",
    },
    Key {
        name: "insufficient-basis-rounds-max",
        required: false,
        shape: Shape::Positive {
            max: U32_MAX,
            default: Some(3),
        },
        about: "How many insufficient-basis verdicts in a row on one clause end in an escalation.",
    },
    Key {
        name: "residue-note-max-bytes",
        required: false,
        shape: Shape::Positive {
            max: NOTE_MAX_BYTES,
            default: Some(16384),
        },
        about: "The longest note a verdict may carry, in bytes.",
    },
    Key {
        name: "modal-pending-max-len",
        required: false,
        shape: Shape::Positive {
            max: U32_MAX,
            default: Some(64),
        },
        about: "How many questions may wait in one session at once; the rest are taken up later.",
    },
    Key {
        name: "arrows",
        required: true,
        shape: Shape::Maps(ARROW),
        about: "The hand-overs of the project, from one role to the next.",
    },
];

/// The keys of an arrow.
pub const ARROW: &[Key] = &[
    Key {
        name: "id",
        required: true,
        shape: Shape::Id,
        about: "What the arrow is called by; unique in the grid.",
    },
    Key {
        name: "source-role",
        required: true,
        shape: Shape::Text,
        about: "The role whose work crosses.",
    },
    Key {
        name: "target-role",
        required: true,
        shape: Shape::Text,
        about: "The role that takes the work over.",
    },
    Key {
        name: "adversary-role",
        required: false,
        shape: Shape::Text,
        about: "The role that argues against the work; neither of the two ends.",
    },
    Key {
        name: "stratum",
        required: true,
        shape: Shape::Text,
        about: "The layer of the work, such as behaviour, design or code.",
    },
    Key {
        name: "context",
        required: true,
        shape: Shape::Text,
        about: "The part of the project the work belongs to. \
                A role has one piece of work in a context at a time.",
    },
    Key {
        name: "covers",
        required: false,
        shape: Shape::Texts,
        about: "The files the verdicts are about: globs from the project's root, \
                ! in front excludes. A verdict goes stale when one of them changes.",
    },
    Key {
        name: "clauses",
        required: true,
        shape: Shape::Maps(CLAUSE),
        about: "What has to be decided before the work crosses.",
    },
];

/// The keys of a clause.
pub const CLAUSE: &[Key] = &[
    Key {
        name: "id",
        required: true,
        shape: Shape::Id,
        about: "What the clause is called by; unique in its arrow.",
    },
    Key {
        name: "concept",
        required: true,
        shape: Shape::Text,
        about: "What the clause claims, in words: this is what an operator is asked.",
    },
    Key {
        name: "eval",
        required: true,
        shape: Shape::Word(&["attested", "machine"]),
        about: "Who decides it: an operator's verdict, or a command.",
    },
    Key {
        name: "covers",
        required: false,
        shape: Shape::Texts,
        about: "The files this clause is about, in place of those of its arrow.",
    },
    Key {
        name: "depth",
        required: false,
        shape: Shape::Text,
        about: "How deep to look, in the project's own words.",
    },
    Key {
        name: "min-tier",
        required: false,
        shape: Shape::Positive {
            max: U32_MAX,
            default: None,
        },
        about: "The lowest tier of model that may do the work.",
    },
    Key {
        name: "run",
        required: false,
        shape: Shape::Texts,
        about: "For a machine clause: program and arguments, run in the project's directory \
                without a shell. Exit status 0 is a pass.",
    },
    Key {
        name: "timeout-s",
        required: false,
        shape: Shape::Positive {
            max: U32_MAX,
            default: Some(DEFAULT_TIMEOUT_S),
        },
        about: "For a machine clause: the seconds the command may take.",
    },
];
