//! What the start of a session put right, or wants known.

use std::fmt;

use crate::audit::FLAT_FILE;
use crate::text::count;

/// Something the start of a session put right or wants known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The file system has no locks.
    NoLocks,
    /// A partial last line was cut off.
    PartialTail {
        /// Below `.ghyll`.
        path: String,
        /// Bytes cut.
        bytes: u64,
    },
    /// Records that are not in what git has checked out, and in a commit.
    Moved {
        /// How many.
        records: u64,
        /// In how many files.
        files: u64,
    },
    /// Records of the tree that the index did not have.
    Indexed {
        /// How many.
        records: u64,
    },
    /// Records of the tree that the flat file did not have.
    FlatCaughtUp {
        /// How many.
        records: u64,
    },
    /// The flat file cannot be used; it is written anew when it can be.
    FlatUnusable {
        /// Why.
        message: String,
    },
    /// Lines of the flat file that the tree does not have.
    FlatDivergence {
        /// How many.
        lines: u64,
    },
    /// A project from before the tree was moved into one.
    Migrated {
        /// Records written to the tree.
        records: u64,
        /// Pass-less lines that stay in the flat file.
        left: u64,
    },
    /// Lines that are no good records, and were accepted as lost.
    Accepted {
        /// Below `.ghyll`.
        path: String,
        /// From 1.
        line: u64,
    },
    /// A file that has no place in the tree; left alone.
    Foreign {
        /// Below `.ghyll`.
        path: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLocks => f.write_str(
                "this file system has no locks: the project is this session's alone until it ends",
            ),
            Self::PartialTail { path, bytes } => {
                write!(f, "{path}: a partial last line ({bytes} bytes) was cut off")
            }
            Self::Moved { records, files } => write!(
                f,
                "git has something else checked out: {} of {} {} on another branch (or in a stash), and count there",
                counted(*records, "record"),
                counted(*files, "file"),
                be(*records, "is", "are"),
            ),
            Self::Indexed { records } => {
                write!(f, "{} indexed from the tree", were(*records, "record"))
            }
            Self::FlatCaughtUp { records } => {
                let lines = were(*records, "line");
                write!(f, "{FLAT_FILE}: {lines} added from the tree")
            }
            Self::FlatDivergence { lines } => {
                let lines = are(*lines, "line");
                write!(f, "{FLAT_FILE}: {lines} not in the tree; left for you")
            }
            Self::FlatUnusable { message } => write!(
                f,
                "{FLAT_FILE}: {message}; it is written anew from the tree once it can be"
            ),
            Self::Migrated { records: 0, left } => write!(
                f,
                "{FLAT_FILE}: {} without a pass left there; their ids are not given again",
                were(*left, "line"),
            ),
            Self::Migrated { records, left } => write!(
                f,
                "{} moved into the tree; {} without a pass left in {FLAT_FILE}",
                were(*records, "record"),
                were(*left, "line"),
            ),
            Self::Accepted { path, line } => {
                write!(f, "{path}:{line}: passed over; it was accepted as lost")
            }
            Self::Foreign { path } => write!(f, "{path}: has no place here; left alone"),
        }
    }
}

fn counted(n: u64, what: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), what)
}

fn be(n: u64, one: &'static str, more: &'static str) -> &'static str {
    if n == 1 { one } else { more }
}

/// How many are.
fn are(n: u64, what: &str) -> String {
    format!("{} {}", counted(n, what), be(n, "is", "are"))
}

/// How many were.
fn were(n: u64, what: &str) -> String {
    format!("{} {}", counted(n, what), be(n, "was", "were"))
}
