//! Why a model did not answer, or not to the end.

use std::io;
use std::time::Duration;

use crate::runtime::cancel::Why;

/// Why a turn of a model came to nothing, or ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Nobody can be reached at its url.
    #[error("nothing answers at {url}: {source}")]
    Unreachable {
        /// The url.
        url: String,
        /// Why.
        source: io::Error,
    },
    /// Who answers cannot show that it is the one that was meant.
    #[error("the certificate of {url} is not accepted: {why}")]
    CertificateRefused {
        /// The url.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing came for too long.
    #[error("nothing came for {} s while {doing}", after.as_secs_f32())]
    TimedOut {
        /// What was waited for, as "connecting".
        doing: &'static str,
        /// How long.
        after: Duration,
    },
    /// The key is not accepted, or is missing.
    #[error("the key is not accepted (HTTP {status}){}", said(detail))]
    Unauthorised {
        /// 401 or 403.
        status: u16,
        /// What the other side says.
        detail: String,
    },
    /// It points elsewhere; nobody is followed with a key.
    #[error("it points to {to:?} (HTTP {status}), where it was not followed")]
    Redirected {
        /// The status.
        status: u16,
        /// Where to, as it says.
        to: String,
    },
    /// It will not take the turn as it is.
    #[error("the model refused{}{}", match status { 0 => String::new(), n => format!(" (HTTP {n})") }, said(detail))]
    Refused {
        /// The status; 0 if it refused in the middle of its answer.
        status: u16,
        /// What the other side says.
        detail: String,
    },
    /// It cannot take a turn now, and was asked often enough.
    #[error("the model is not available (HTTP {status}, asked {attempts} times){}{}", match retry_after { Some(wait) => format!("; it asks for {} s of patience", wait.as_secs()), None => String::new() }, said(detail))]
    Unavailable {
        /// 429 or one of the 500s.
        status: u16,
        /// How often it was asked.
        attempts: u32,
        /// How long it wants to be left alone, if it says so.
        retry_after: Option<Duration>,
        /// What it says.
        detail: String,
    },
    /// What came is no reply.
    #[error("what came is no reply: {0}")]
    Malformed(String),
    /// More came than is taken of one reply.
    #[error("the reply has more than {max} bytes in {what}")]
    TooLong {
        /// What of it, as "its text".
        what: &'static str,
        /// The most, in bytes.
        max: usize,
    },
    /// The connection ended before the reply did.
    #[error("the connection ended in the middle of the reply")]
    CutOff,
    /// It was called off.
    #[error("the reply was called off{}", match .0 {
        Why::Said => "",
        Why::Deadline => ": the time for it is over",
        Why::Leaving => ": ghyll was told to end",
    })]
    Cancelled(Why),
    /// Something of ghyll's own was short, or a model that is not on the
    /// network failed.
    #[error("{message}")]
    Failed {
        /// The public code.
        code: &'static str,
        /// In words.
        message: String,
    },
}

fn said(detail: &str) -> String {
    match detail {
        "" => String::new(),
        detail => format!(": {detail}"),
    }
}

impl ModelError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "model-unreachable",
            Self::CertificateRefused { .. } => "model-certificate-refused",
            Self::TimedOut { .. } => "model-timeout",
            Self::Unauthorised { .. } => "model-unauthorised",
            Self::Redirected { .. } => "model-redirected",
            Self::Refused { .. } => "model-refused",
            Self::Unavailable { .. } => "model-unavailable",
            Self::Malformed(_) => "model-reply-malformed",
            Self::TooLong { .. } => "model-reply-too-long",
            Self::CutOff => "model-reply-cut-off",
            Self::Cancelled(_) => "model-cancelled",
            Self::Failed { code, .. } => code,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "see that the endpoint runs and its url is right, then say it again"
            }
            Self::CertificateRefused { .. } => {
                "use the name the certificate was made for, or add its issuer to the system's"
            }
            Self::TimedOut { .. } => "say it again; if it stays so, see what the endpoint does",
            Self::Unauthorised { .. } => {
                "put the key for this endpoint into GHYLL_MODEL_API_KEY or its key-file"
            }
            Self::Redirected { .. } => "if it is meant, make that the url",
            Self::Refused { .. } => "see that the model's name is one the endpoint knows",
            Self::Unavailable { .. } => "say it again later",
            Self::Malformed(_) | Self::CutOff => {
                "say it again; if it stays so, the endpoint does not speak the protocol"
            }
            Self::TooLong { .. } => "ask for less at a time",
            Self::Cancelled(_) => "what came until then is kept; say on, or say it again",
            Self::Failed { .. } => "say it again",
        }
    }
}
