//! Checkpoints: where every file of the tree stood, in one small document.
//!
//! Whoever can rewrite the tree can rewrite flat file and index with it, and
//! nothing inside `.ghyll` could tell. A checkpoint kept elsewhere (committed,
//! signed, printed) can: a file's chain covers all its lines, so lines seen
//! then that are gone or changed now show, while lines added since are fine.
//!
//! ```json
//! {"version":1,"root":"…","files":{"v1/checkout/…/….jsonl":{"lines":3,"chain":"…"}}}
//! ```
//!
//! Paths are below the tree's root, sorted by their bytes. `root` is the hex
//! SHA-256 of the value of `files` as compact JSON, exactly as printed: one
//! hash to sign, that stands for the whole tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::losses::sha256;
use crate::verify::{Issue, Report};

/// The version of the document.
const VERSION: u64 = 1;

/// Where a file ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its lines.
    pub lines: u64,
    /// The chain behind the last one.
    pub chain: String,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The document's version.
    pub version: u64,
    /// What stands for everything in `files`.
    pub root: String,
    /// Where each file ended, by its path below the tree's root.
    pub files: BTreeMap<String, End>,
}

/// Why there is no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The tree is not whole.
    #[error("{}{}: {}; no checkpoint is taken of a tree that does not verify", .0.path, match .0.line { 0 => String::new(), n => format!(":{n}") }, .0.message)]
    Tree(Issue),
    /// The text is no checkpoint.
    #[error("no checkpoint: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A document of a later version.
    #[error("a checkpoint of version {0}; this ghyll knows version {VERSION}")]
    Version(u64),
    /// Its own root does not fit.
    #[error("the checkpoint's root is not that of its files: it was changed")]
    Root,
}

impl CheckpointError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Tree(issue) => &issue.code,
            Self::Malformed(_) => "checkpoint-malformed",
            Self::Version(_) => "checkpoint-version",
            Self::Root => "checkpoint-root-mismatch",
        }
    }
}

impl Checkpoint {
    /// A checkpoint of what a verification found.
    ///
    /// # Errors
    /// The first issue of the tree, if it has one.
    pub fn take(report: &Report) -> Result<Self, CheckpointError> {
        let damage = |issue: &&Issue| issue.code != "attestation-foreign-file";
        if let Some(issue) = report.tree_issues().find(damage) {
            return Err(CheckpointError::Tree(issue.clone()));
        }
        let mut files = report.ends.clone();
        // An empty file has nothing to be missed.
        files.retain(|_, end| end.lines > 0);
        Ok(Self {
            version: VERSION,
            root: root(&files)?,
            files,
        })
    }

    /// Reads one back.
    ///
    /// # Errors
    /// If it is none, or its root is not that of its files.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        let Version { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(CheckpointError::Version(version));
        }
        let checkpoint: Self = serde_json::from_str(text)?;
        if root(&checkpoint.files)? != checkpoint.root {
            return Err(CheckpointError::Root);
        }
        Ok(checkpoint)
    }
}

fn root(files: &BTreeMap<String, End>) -> Result<String, serde_json::Error> {
    Ok(sha256(serde_json::to_string(files)?.as_bytes()))
}
