//! Why a session may not start on a project, each with its code and place.

use std::io;

use crate::audit::TREE_DIR;
use crate::audit::reader::ReadError;
use crate::db::DbError;

/// Why a session may not start on this project.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The tree is gone while records of it are known.
    #[error(
        "{TREE_DIR}: the audit tree is missing, though {known} of its records are known; nothing was created; restore it from git, or `ghyll engine rebuild-index --accept-loss --op-id ID` goes on without it"
    )]
    Lost {
        /// Records known from the index or the flat file.
        known: u64,
    },
    /// A file has less than the index saw.
    #[error(
        "{TREE_DIR}/{path}: {found} bytes where the index saw {seen}; restore the file from git, or `ghyll engine rebuild-index --accept-loss --op-id ID` goes on without the rest"
    )]
    TailMissing {
        /// Below the tree's root.
        path: String,
        /// Bytes there now.
        found: u64,
        /// Bytes indexed.
        seen: u64,
    },
    /// A file that is committed, and left out of what git checks out.
    #[error(
        "{TREE_DIR}/{path}: git has it, and its sparse checkout leaves it out: what it says cannot be read; nothing is lost: `git sparse-checkout add .ghyll` in the project's directory brings it back"
    )]
    NotCheckedOut {
        /// Below the tree's root.
        path: String,
    },
    /// A file is not the one the index saw.
    #[error(
        "{TREE_DIR}/{path}: not what the index saw; `ghyll engine verify-attestations` says more, `ghyll engine rebuild-index --accept-loss --op-id ID` takes it as it is"
    )]
    ChainBroken {
        /// Below the tree's root.
        path: String,
    },
    /// A line that is no good record.
    #[error(
        "{path}:{line}: {code}: {detail}; restore the file from git, or `ghyll engine rebuild-index --accept-loss --op-id ID` goes on without the line"
    )]
    Corrupt {
        /// Below `.ghyll`.
        path: String,
        /// From 1.
        line: u64,
        /// What is wrong with it.
        code: String,
        /// In words.
        detail: String,
        /// SHA-256 of the line's bytes, hex.
        sha256: String,
    },
    /// A merge of a file that git could not finish.
    #[error(
        "{path}:{line}: conflict marks of git's; take one side whole (`git checkout --ours -- FILE` or `--theirs`), commit, and give the other side's verdicts again with `ghyll attest`"
    )]
    Conflict {
        /// Below `.ghyll`.
        path: String,
        /// The first of the marks, from 1.
        line: u64,
    },
    /// A symbolic link where a file or directory of the tree belongs.
    #[error(
        "{path}: a symbolic link; it was not followed; put the file or directory itself in its place"
    )]
    Symlink {
        /// Below `.ghyll`.
        path: String,
    },
    /// The database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A file.
    #[error("{path}: {source}")]
    Io {
        /// Below `.ghyll`.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Reading some file through the policy.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl LoadError {
    /// Names the file that was being read.
    pub(super) fn in_file(self, path: &str) -> Self {
        match self {
            Self::Read(ReadError::Io(source)) => fail(path)(source),
            other => other,
        }
    }

    /// Where it is, below `.ghyll`; `None` if it is about no file.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Lost { .. } => Some(TREE_DIR.to_owned()),
            Self::TailMissing { path, .. }
            | Self::NotCheckedOut { path }
            | Self::ChainBroken { path } => Some(format!("{TREE_DIR}/{path}")),
            Self::Corrupt { path, .. }
            | Self::Conflict { path, .. }
            | Self::Symlink { path }
            | Self::Io { path, .. } => Some(path.clone()),
            Self::Db(_) | Self::Read(_) => None,
        }
    }

    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Lost { .. } => "attestation-audit-lost",
            Self::TailMissing { .. } => "attestation-tail-missing",
            Self::NotCheckedOut { .. } => "attestation-not-checked-out",
            Self::ChainBroken { .. } => "attestation-chain-broken",
            Self::Corrupt { .. } | Self::Conflict { .. } => "attestation-audit-corrupt",
            Self::Symlink { .. } => "attestation-symlink-refused",
            Self::Db(e) => e.code(),
            Self::Io { .. } => "attestation-audit-unreadable",
            Self::Read(ReadError::Io(_)) => "attestation-audit-unreadable",
            Self::Read(ReadError::Policy(e)) => e.code(),
        }
    }
}

pub(super) fn fail(path: &str) -> impl FnOnce(io::Error) -> LoadError {
    move |source| LoadError::Io {
        path: path.to_owned(),
        source,
    }
}
