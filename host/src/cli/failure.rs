//! Why a command failed, with the code and the exit status that say so.

use ghyll::audit::load::LoadError;
use ghyll::audit::verify::VerifyError;
use ghyll::db::DbError;
use ghyll::grid::GridError;
use ghyll::import::ImportError;
use ghyll::policy::PolicyError;
use ghyll::project::ProjectError;
use ghyll::session::SessionError;
use ghyll::subject::SubjectError;
use ghyll::view::ViewError;
use ghyll::work::status::StatusError;
use ghyll::work::verdict::UnknownVerdict;

/// Refused, or the environment is broken.
pub const REFUSED: u8 = 3;
/// Wrong usage.
pub const USAGE: u8 = 2;

/// A failure to be printed as `error[<code>]: <message>`.
#[derive(Debug)]
pub struct Failure {
    /// The public code.
    pub code: String,
    /// What went wrong; further lines are details of the first.
    pub message: String,
    /// The exit code.
    pub exit: u8,
    /// What helps here, where that is more than the code's page says.
    pub helps: Option<String>,
}

impl Failure {
    /// A refusal.
    pub fn new(code: &str, message: impl ToString) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_string(),
            exit: REFUSED,
            helps: None,
        }
    }

    /// A command line that cannot be meant.
    pub fn usage(message: impl ToString) -> Self {
        Self {
            code: ghyll::codes::USAGE.to_owned(),
            message: message.to_string(),
            exit: USAGE,
            helps: None,
        }
    }

    /// The same, with a hint that fits this very case.
    pub fn with_hint(mut self, helps: impl ToString) -> Self {
        self.helps = Some(helps.to_string());
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match &self.helps {
            Some(helps) if helps.is_empty() => None,
            Some(helps) => Some(helps),
            None => ghyll::codes::page(&self.code).map(|page| page.hint),
        }
    }
}

macro_rules! from_coded {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.code(), &error)
            }
        }
    )*};
}

from_coded!(
    DbError,
    GridError,
    ImportError,
    LoadError,
    PolicyError,
    ProjectError,
    SessionError,
    StatusError,
    SubjectError,
    UnknownVerdict,
    VerifyError,
    ViewError
);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ghyll::codes::BROKEN_PIPE,
            _ => ghyll::codes::IO_FAILED,
        };
        Self::new(code, error)
    }
}
