//! Why a command failed, with the code and the exit status that say so.

use ghyll::engine::EngineError;
use ghyll::grid::GridError;
use ghyll::policy::PolicyError;
use ghyll::project::ProjectError;
use ghyll::session::SessionError;
use ghyll::status::StatusError;
use ghyll::store::load::LoadError;
use ghyll::verify::VerifyError;

/// Refused, or the environment is broken.
const REFUSED: u8 = 3;
/// Wrong usage.
const USAGE: u8 = 2;

/// A failure to be printed as `error[<code>]: <message>`.
#[derive(Debug)]
pub struct Failure {
    pub code: String,
    pub message: String,
    pub exit: u8,
}

impl Failure {
    /// A refusal.
    pub fn new(code: &str, message: impl ToString) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_string(),
            exit: REFUSED,
        }
    }

    /// A command line that cannot be meant.
    pub fn usage(message: impl ToString) -> Self {
        Self {
            code: "usage".to_owned(),
            message: message.to_string(),
            exit: USAGE,
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
    EngineError,
    GridError,
    LoadError,
    PolicyError,
    ProjectError,
    SessionError,
    StatusError,
    VerifyError
);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new("io-failed", error)
    }
}
