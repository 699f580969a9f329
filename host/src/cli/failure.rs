//! Why a command failed, with the code and the exit status that say so.

use ghyll::engine::EngineError;
use ghyll::grid::GridError;
use ghyll::policy::PolicyError;
use ghyll::project::ProjectError;
use ghyll::session::SessionError;
use ghyll::status::StatusError;
use ghyll::store::load::LoadError;
use ghyll::verify::VerifyError;

/// Whoever read the output has heard enough; nothing to complain of.
pub const BROKEN_PIPE: &str = "broken-pipe";
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
        let code = match error.kind() {
            std::io::ErrorKind::BrokenPipe => BROKEN_PIPE,
            _ => "io-failed",
        };
        Self::new(code, error)
    }
}
