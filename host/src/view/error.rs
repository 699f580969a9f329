//! Why a project cannot be read at all, each with its code.

use crate::audit::load::LoadError;
use crate::db::DbError;
use crate::grid::GridError;
use crate::policy::PolicyError;
use crate::project::ProjectError;
use crate::subject::SubjectError;
use crate::work::status::StatusError;

/// Why a project cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Its database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// Its tree.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The covered files.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The grid has no such arrow.
    #[error("the grid has no arrow {id:?}{}", match nearest { Some(n) => format!("; did you mean {n:?}?"), None => String::new() })]
    ArrowUnknown {
        /// What was asked for.
        id: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A file below `.ghyll`.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be used.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl ViewError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Project(e) => e.code(),
            Self::Grid(e) => e.code(),
            Self::Db(e) => e.code(),
            Self::Load(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::Subject(e) => e.code(),
            Self::ArrowUnknown { .. } => "arrow-unknown",
            Self::Io { .. } => "project-unreadable",
        }
    }
}

impl From<StatusError> for ViewError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Db(e) => Self::Db(e),
            StatusError::Policy(e) => Self::Policy(e),
        }
    }
}
