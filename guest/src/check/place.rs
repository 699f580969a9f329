//! Where a line stands in its file.

use alloc::string::String;
use alloc::vec::Vec;

use super::findings::{CheckedLine, Content};
use crate::error::PolicyError;

/// A cursor's numbers, as they move.
pub(super) struct Position {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) skipped: u64,
    pub(super) at_end: bool,
}

/// Where a line stands in its file.
pub(super) struct Place {
    /// Which of the chunk's lines it is.
    pub(super) index: usize,
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Position {
    /// The place of the line that comes next, the chunk's line at `index`.
    pub(super) fn next_line(&self, index: usize, length: u64) -> Place {
        Place {
            index,
            number: self.lines.saturating_add(1),
            offset: self.bytes.saturating_sub(self.skipped),
            length,
        }
    }
}

impl Place {
    /// A healthy line there.
    pub(super) fn with(self, content: Content) -> CheckedLine {
        CheckedLine {
            number: self.number,
            offset: self.offset,
            length: self.length,
            content,
            round: 0,
            chained: false,
            path: None,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A line there that is no record.
    pub(super) fn without_record(self, chain: String, problems: Vec<PolicyError>) -> CheckedLine {
        CheckedLine {
            problems,
            ..self.with(Content::NoRecord(chain))
        }
    }
}
