//! What is found of one file of the tree, and of the lines that others have of
//! it: what the readers of the surfaces hand to the merge.

use std::collections::BTreeMap;

use super::keys::{Key, rec_key};
use super::{Issue, MOST, On};
use crate::audit::checkpoint::End;
use crate::policy::Attestation;

/// What reading the tree came to.
#[derive(Default)]
pub(super) struct Tree {
    /// Whether there is none.
    pub(super) absent: bool,
    /// Records that the flat file has too.
    pub(super) flat_records: u64,
    pub(super) index_records: u64,
    /// Files that the index knows.
    pub(super) heads: u64,
}

/// A record's verdict, and everything it says as one hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    verdict: String,
    op_id: String,
    key: Key,
}

impl Said {
    pub(super) fn of(rec: &Attestation) -> Self {
        Self {
            verdict: rec.verdict.clone(),
            op_id: rec.op_id.clone(),
            key: rec_key(rec),
        }
    }

    pub(super) fn words(&self) -> String {
        format!("{} by {}", self.verdict, self.op_id)
    }
}

/// A line of the tree that is no good record.
#[derive(Default)]
pub(super) struct Bad {
    pub(super) line: u64,
    pub(super) id: String,
    pub(super) code: String,
    pub(super) detail: String,
    pub(super) said: Option<Said>,
    /// The record, where all that is wrong with it is that it does not link to
    /// the line before it.
    pub(super) unlinked: Option<Box<Attestation>>,
    pub(super) chain: String,
    /// The file it belongs to, if that is another.
    pub(super) belongs: Option<String>,
    pub(super) accepted: bool,
}

/// A line of the tree that others lack.
#[derive(Default, Clone)]
pub(super) struct Lack {
    pub(super) line: u64,
    pub(super) id: String,
    pub(super) said: Option<Said>,
    pub(super) flat: bool,
    pub(super) index: bool,
}

/// A row of the index that says what no line of its file says.
pub(super) struct Lost {
    pub(super) line: u64,
    pub(super) id: String,
    pub(super) said: Said,
    pub(super) chain: String,
}

/// A line of the flat file that no line of the tree is like.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) line: u64,
    pub(super) id: String,
    /// Where in the tree it belongs; empty if nowhere.
    pub(super) path: String,
    pub(super) chain: String,
    pub(super) said: Option<Said>,
    /// What is wrong with it in itself, if anything is.
    pub(super) code: String,
    pub(super) detail: String,
    pub(super) accepted: bool,
}

/// What somebody saw of a file that is not so.
pub(super) struct Otherwise {
    pub(super) by: On,
    /// Lines seen, if there are fewer now; else it is another chain.
    pub(super) fewer: Option<u64>,
}

/// What was found of one file of the tree.
#[derive(Default)]
pub(super) struct FileFound {
    pub(super) lines: u64,
    pub(super) records: u64,
    /// Its records that the flat file has.
    pub(super) flat_records: u64,
    pub(super) bad: Vec<Bad>,
    pub(super) bad_more: u64,
    pub(super) lacks: BTreeMap<u64, Lack>,
    pub(super) lacks_more: u64,
    pub(super) lost: Vec<Lost>,
    pub(super) lost_more: u64,
    pub(super) rows_seen: u64,
    /// Rows of records that stand elsewhere in the file, or have another chain.
    pub(super) rows_elsewhere: u64,
    pub(super) otherwise: Vec<Otherwise>,
    /// Records of it that stand in another file.
    pub(super) astray: u64,
    /// The first mark of a conflict that git left in it.
    pub(super) conflict: Option<u64>,
    /// Lines that came after what the index saw.
    pub(super) news: u64,
    /// About the file as a whole.
    pub(super) issues: Vec<Issue>,
    pub(super) warnings: Vec<Issue>,
    pub(super) warnings_more: u64,
    pub(super) missing: bool,
    /// Whether git has it, and leaves it out of what it checks out.
    pub(super) left_out: bool,
    /// Whether no record belongs to it.
    pub(super) foreign: bool,
    pub(super) end: End,
}

impl FileFound {
    pub(super) fn bad(&mut self, bad: Bad) {
        if self.bad.len() < MOST {
            self.bad.push(bad);
        } else if !bad.accepted {
            self.bad_more += 1;
        }
    }

    /// Git moved the file from what the index saw: that it has other rows, and
    /// what came since is in neither, is no matter.
    pub(super) fn forget_index(&mut self, rows: u64) {
        self.rows_seen = rows;
        self.rows_elsewhere = 0;
        self.lost.clear();
        self.lost_more = 0;
        self.lacks.clear();
        self.lacks_more = 0;
    }

    pub(super) fn lack(&mut self, lack: Lack) {
        let full = self.lacks.len() >= MOST;
        match self.lacks.get_mut(&lack.line) {
            Some(known) => {
                known.flat |= lack.flat;
                known.index |= lack.index;
            }
            None if !full => {
                self.lacks.insert(lack.line, lack);
            }
            None => self.lacks_more += 1,
        }
    }

    pub(super) fn warning(&mut self, warning: Issue) {
        if self.warnings.len() < MOST {
            self.warnings.push(warning);
        } else {
            self.warnings_more += 1;
        }
    }

    pub(super) fn is_as_it_should_be(&self) -> bool {
        self.bad.is_empty()
            && self.lacks.is_empty()
            && self.lost.is_empty()
            && self.rows_elsewhere == 0
            && self.otherwise.is_empty()
            && self.issues.is_empty()
            && self.warnings.is_empty()
            && !self.left_out
    }

    /// Whether the index says of it, at the end, what it says itself.
    pub(super) fn is_as_indexed(&self) -> bool {
        !self.missing && !self.otherwise.iter().any(|o| o.by == On::Tree)
    }
}
