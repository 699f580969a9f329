//! What verification says: what was found, and where.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a file ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its lines.
    pub lines: u64,
    /// The chain behind the last one.
    pub chain: String,
}

/// Which of the surfaces something was found on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// The audit tree.
    Tree,
    /// The flat file.
    Flat,
    /// The index in the engine database.
    Index,
    /// A version of the grid.
    Grid,
    /// The checkpoint verified against.
    Checkpoint,
}

/// Something found: about one record, or about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The public code.
    pub code: String,
    /// Where it is to be put right.
    pub surface: On,
    /// The file, below `.ghyll`.
    pub path: String,
    /// The line, from 1; 0 where no line applies.
    pub line: u64,
    /// The record concerned, if one can be named.
    pub attestation_id: String,
    /// In words.
    pub message: String,
    /// All surfaces it shows on.
    pub surfaces: Vec<On>,
    /// What an operator can do about it; empty where nothing need be done.
    pub what_to_do: String,
    /// How many records, or other issues, it stands for.
    pub count: u64,
}

impl Issue {
    pub(super) fn key(&self) -> (String, On, String, u64, String) {
        let (code, path, id) = (&self.code, &self.path, &self.attestation_id);
        (
            code.clone(),
            self.surface,
            path.clone(),
            self.line,
            id.clone(),
        )
    }

    pub(super) fn order(&self) -> (On, &str, u64, &str, &str) {
        let id = self.attestation_id.as_str();
        (self.surface, &self.path, self.line, id, &self.message)
    }

    pub(crate) fn advise(self, what_to_do: impl Into<String>) -> Self {
        Self {
            what_to_do: what_to_do.into(),
            ..self
        }
    }

    /// It shows there too.
    pub(super) fn also(&mut self, on: On) {
        if !self.surfaces.contains(&on) {
            self.surfaces.push(on);
            self.surfaces.sort();
        }
    }
}

pub(crate) fn issue(code: &str, surface: On, path: &str, message: impl ToString) -> Issue {
    Issue {
        code: code.to_owned(),
        surface,
        path: path.to_owned(),
        line: 0,
        attestation_id: String::new(),
        message: message.to_string(),
        surfaces: vec![surface],
        what_to_do: String::new(),
        count: 1,
    }
}

/// What a surface holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    /// Records on it.
    pub records: u64,
}

/// What the tree holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TreeRecords {
    /// Files of records.
    pub files: u64,
    /// Records in them.
    pub records: u64,
}

/// What verification came to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Whether there are no issues.
    pub ok: bool,
    /// The tree.
    pub tree: TreeRecords,
    /// The flat file.
    pub flat: Records,
    /// The index.
    pub index: Records,
    /// What is wrong; of each file and surface the first, and how many more.
    pub issues: Vec<Issue>,
    /// What is worth knowing and no fault.
    pub warnings: Vec<Issue>,
    /// Whether the tree was held against a checkpoint.
    #[serde(skip)]
    pub held_against_checkpoint: bool,
    /// Where the files of the tree end, by path below its root; only of a look
    /// at the tree alone.
    #[serde(skip)]
    pub ends: BTreeMap<String, End>,
}

impl Report {
    /// The issues with the tree itself.
    pub fn tree_issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|issue| issue.surface == On::Tree)
    }
}
