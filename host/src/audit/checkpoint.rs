//! Checkpoints: where every file of the tree stood, in one small document.
//!
//! Whoever can rewrite the tree can rewrite flat file and index with it, and
//! nothing inside `.ghyll` could tell. A checkpoint kept elsewhere (committed,
//! signed, printed) can: a file's chain covers all its lines, so lines seen
//! then that are gone or changed now show, while lines added since are fine.
//! The grids are in it too, for a version is never edited.
//!
//! ```json
//! {"version":2,"root":"…","files":{"v1/checkout/…/….jsonl":{"lines":3,"chain":"…"}},"grids":{"grid.v1.yaml":"…"}}
//! ```
//!
//! Paths are below the tree's root, sorted by their bytes; a grid is named as
//! its file is and has the SHA-256 of that. `root` is the hex SHA-256 of
//! `{"files":…,"grids":…}` as compact JSON, exactly as printed: one hash to
//! sign, that stands for everything. Version 1 had no grids, and its `root` was
//! that of the value of `files` alone.

use std::collections::BTreeMap;
use std::io;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::audit::accepted_losses::sha256;
pub use crate::audit::report::End;
use crate::audit::report::{Issue, Report};
use crate::files::bounded::{ReadError, read_below, text};
use crate::files::disk::Disk;
use crate::files::replace::replace;
use crate::grid::{Grid, GridError};

/// The checkpoint a project keeps itself, below `.ghyll`.
pub const KEPT_CHECKPOINT: &str = "checkpoint.json";
/// The largest checkpoint that is read, in bytes.
pub const CHECKPOINT_MAX: u64 = 256 << 20;
/// The version of the document.
const VERSION: u64 = 2;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The document's version.
    pub version: u64,
    /// What stands for everything else in it.
    pub root: String,
    /// Where each file ended, by its path below the tree's root.
    pub files: BTreeMap<String, End>,
    /// The SHA-256 of each version of the grid, by its file's name.
    #[serde(default)]
    pub grids: BTreeMap<String, String>,
}

/// Why there is no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The tree is not whole.
    #[error("{}{}: {}; no checkpoint is taken of a tree that does not verify", .0.path, match .0.line { 0 => String::new(), n => format!(":{n}") }, .0.message)]
    Tree(Box<Issue>),
    /// A version of the grid cannot be read.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The text is no checkpoint.
    #[error("no checkpoint: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A document of a later version.
    #[error("a checkpoint of version {0}; this ghyll knows versions up to {VERSION}")]
    Version(u64),
    /// Its own root does not fit.
    #[error("the checkpoint's root is not that of its files and grids: it was changed")]
    Root,
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be written.
    #[error("{KEPT_CHECKPOINT}: {0}")]
    Write(io::Error),
}

impl CheckpointError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Tree(issue) => &issue.code,
            Self::Grid(e) => e.code(),
            Self::Malformed(_) => "checkpoint-malformed",
            Self::Version(_) => "checkpoint-version",
            Self::Root => "checkpoint-root-mismatch",
            Self::Read(ReadError::Symlink) => "attestation-symlink-refused",
            Self::Read(_) => "checkpoint-unreadable",
            Self::Write(_) => "checkpoint-write-failed",
        }
    }
}

impl Checkpoint {
    /// A checkpoint of what a verification of the tree found, with the grids
    /// in this `.ghyll` directory.
    ///
    /// # Errors
    /// The first issue of the tree, if it has one; a grid that cannot be read.
    pub fn take(report: &Report, ghyll: &Dir) -> Result<Self, CheckpointError> {
        if let Some(issue) = report.tree_issues().next() {
            return Err(CheckpointError::Tree(Box::new(issue.clone())));
        }
        let mut files = report.ends.clone();
        // An empty file has nothing to be missed.
        files.retain(|_, end| end.lines > 0);
        let mut grids = BTreeMap::new();
        for version in Grid::versions(ghyll)? {
            grids.insert(Grid::file_name(version), Grid::digest_of(ghyll, version)?);
        }
        let mut checkpoint = Self {
            version: VERSION,
            root: String::new(),
            files,
            grids,
        };
        checkpoint.root = checkpoint.own_root()?;
        Ok(checkpoint)
    }

    /// Reads one back.
    ///
    /// # Errors
    /// If it is none, or its root is not that of what it says.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        let Version { version } = serde_json::from_str(text)?;
        if !(1..=VERSION).contains(&version) {
            return Err(CheckpointError::Version(version));
        }
        let checkpoint: Self = serde_json::from_str(text)?;
        if checkpoint.own_root()? != checkpoint.root {
            return Err(CheckpointError::Root);
        }
        Ok(checkpoint)
    }

    /// The one a project keeps itself; `None` if it keeps none.
    ///
    /// # Errors
    /// If it cannot be read, and as [`Self::parse`].
    pub fn kept(disk: &dyn Disk) -> Result<Option<Self>, CheckpointError> {
        match read_below(disk, KEPT_CHECKPOINT, CHECKPOINT_MAX)? {
            Some(bytes) => Self::parse(&text(bytes)?).map(Some),
            None => Ok(None),
        }
    }

    /// Keeps it in the project, in the place of an older one.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep(&self, disk: &dyn Disk) -> Result<(), CheckpointError> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        replace(disk, KEPT_CHECKPOINT, &bytes).map_err(CheckpointError::Write)
    }

    fn own_root(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Rooted<'a> {
            files: &'a BTreeMap<String, End>,
            grids: &'a BTreeMap<String, String>,
        }
        let (files, grids) = (&self.files, &self.grids);
        let text = match self.version {
            // Grids would not be covered there: they are none of its.
            1 if grids.is_empty() => serde_json::to_string(files)?,
            _ => serde_json::to_string(&Rooted { files, grids })?,
        };
        Ok(sha256(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &str = r#"{"v1/a.jsonl":{"lines":3,"chain":"ab"}}"#;

    fn code(text: &str) -> String {
        Checkpoint::parse(text).unwrap_err().code().to_owned()
    }

    #[test]
    fn the_root_stands_for_files_and_grids() {
        let grids = r#"{"grid.v1.yaml":"00"}"#;
        let root = sha256(format!(r#"{{"files":{FILES},"grids":{grids}}}"#).as_bytes());
        let text = format!(r#"{{"version":2,"root":"{root}","files":{FILES},"grids":{grids}}}"#);
        let checkpoint = Checkpoint::parse(&text).unwrap();
        assert_eq!(serde_json::to_string(&checkpoint).unwrap(), text);
        for (from, to) in [
            ("\"00\"", "\"01\""),
            ("\"lines\":3", "\"lines\":2"),
            ("ab", "ac"),
        ] {
            assert_eq!(
                code(&text.replacen(from, to, 1)),
                "checkpoint-root-mismatch"
            );
        }
        assert_eq!(
            code(&text.replace("\"version\":2", "\"version\":3")),
            "checkpoint-version"
        );
        assert_eq!(
            code(&text.replace("\"version\":2", "\"version\":0")),
            "checkpoint-version"
        );
        assert_eq!(code("{}"), "checkpoint-malformed");
    }

    #[test]
    fn one_without_grids_is_still_read() {
        let root = sha256(FILES.as_bytes());
        let text = format!(r#"{{"version":1,"root":"{root}","files":{FILES}}}"#);
        assert_eq!(Checkpoint::parse(&text).unwrap().files.len(), 1);
        // Grids in one would be covered by no root.
        let text = text.replace("\"files\"", r#""grids":{"grid.v1.yaml":"00"},"files""#);
        assert_eq!(code(&text), "checkpoint-root-mismatch");
    }
}
