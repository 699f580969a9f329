//! What went wrong with the database, in words an operator can act on.

use std::path::{Path, PathBuf};

use rusqlite::{Error, ErrorCode};

use super::BUSY;
use super::schema::SCHEMA_VERSION;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Written by a newer ghyll.
    #[error("{}: written by a newer ghyll (schema {found}, this one knows {SCHEMA_VERSION}); it was not touched", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: i64,
    },
    /// Of a version that never was, or not ours.
    #[error("{}: has schema {found}, not {SCHEMA_VERSION}; `ghyll engine rebuild-index` sets it aside and makes it anew from the tree", path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: i64,
    },
    /// Not a database any more, or one that says what cannot be.
    #[error("{}: damaged ({source}); `ghyll engine rebuild-index` sets it aside and makes it anew from the tree", path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: Error,
    },
    /// Has other tables, indexes, views or triggers than ghyll makes.
    #[error("{}: its tables are not those ghyll makes; `ghyll engine rebuild-index` sets it aside and makes it anew from the tree", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// Says of a file of the tree what it cannot prove.
    #[error("{}: what it says of {file} does not hold together; `ghyll engine rebuild-index` makes it anew from the tree", path.display())]
    Contradiction {
        /// The database.
        path: PathBuf,
        /// The file, below the tree's root.
        file: String,
    },
    /// Held by another program.
    #[error("{}: locked by another program for more than {} s", path.display(), BUSY.as_secs())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// Anything else SQLite says.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: Error,
    },
    /// A symbolic link where a file belongs.
    #[error("{}: a symbolic link; it was not followed", path.display())]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// Something else where the file belongs.
    #[error("{}: not an ordinary file; `ghyll engine rebuild-index` sets it aside and makes the database anew from the tree", path.display())]
    NotAFile {
        /// What stands there.
        path: PathBuf,
    },
    /// The file itself cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl DbError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "engine-db-newer",
            Self::Older { .. } => "engine-db-version",
            Self::Corrupt { .. } | Self::Foreign { .. } | Self::Contradiction { .. } => {
                "engine-db-corrupt"
            }
            Self::Locked { .. } => "engine-db-locked",
            Self::Symlink { .. } => "attestation-symlink-refused",
            Self::Sqlite { .. } | Self::Io { .. } | Self::NotAFile { .. } => "engine-db-unusable",
        }
    }

    /// Whether the database itself is at fault, so that making it anew helps.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Older { .. }
                | Self::Corrupt { .. }
                | Self::Foreign { .. }
                | Self::Contradiction { .. }
                | Self::NotAFile { .. }
        )
    }

    pub(super) fn from_sqlite(path: &Path, source: Error) -> Self {
        let path = path.to_owned();
        match &source {
            // The columns are ours: a value that does not fit is not.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
            | Error::InvalidColumnType(..) => return Self::Corrupt { path, source },
            _ => {}
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            // The statements are ours: if one does not fit, the tables are not.
            Some(
                ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown,
            ) => Self::Corrupt { path, source },
            _ => Self::Sqlite { path, source },
        }
    }
}
