//! Why nothing was made anew.

use std::path::PathBuf;

use super::LOSSES_MAX;
use crate::audit::load::LoadError;
use crate::audit::proof::ProofError;
use crate::db::DbError;
use crate::grid::GridError;
use crate::policy::PolicyError;
use crate::project::ProjectError;

/// Why nothing was made anew.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Its database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Reading the tree.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Something is lost, and nobody accepted it.
    #[error("{}", losses_in_words(.0, *.1))]
    Losses(Vec<LoadError>, usize),
    /// More is lost than can be written down.
    #[error(
        "{0} losses, more than {LOSSES_MAX}: restore the tree, or move the damaged file away, which is one loss"
    )]
    TooMany(usize),
    /// Something is wrong that cannot be accepted.
    #[error(transparent)]
    Refused(Box<LoadError>),
    /// A file or directory.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl RebuildError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Project(e) => e.code(),
            Self::Grid(e) => e.code(),
            Self::Db(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::Load(e) => e.code(),
            Self::Losses(losses, _) => losses
                .first()
                .map_or("attestation-audit-corrupt", LoadError::code),
            Self::TooMany(_) => "accepted-losses-too-many",
            Self::Refused(e) => e.code(),
            Self::Io { .. } => "project-unreadable",
        }
    }
}

impl From<ProofError> for RebuildError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Db(e) => Self::Db(e),
            ProofError::Policy(e) => Self::Policy(e),
        }
    }
}

fn losses_in_words(losses: &[LoadError], count: usize) -> String {
    /// More are counted.
    const SHOWN: usize = 20;
    let mut text = format!(
        "{count} lost; `ghyll engine rebuild-index --accept-loss --op-id ID` goes on without and records that you said so"
    );
    for loss in losses.iter().take(SHOWN) {
        text.push_str(&format!("\n{}: {loss}", loss.code()));
    }
    if count > SHOWN {
        text.push_str(&format!("\nand {} more", count - SHOWN));
    }
    text
}
