//! What ghyll refuses, as a value a script can catch.

use rhai::{Dynamic, Engine, EvalAltResult, Position};

use crate::engine::EngineError;
use crate::modal::DrainError;
use crate::policy::PolicyError;
use crate::session::SessionError;

/// A refusal with its public code.
#[derive(Debug, Clone, thiserror::Error)]
#[error("error[{code}]: {message}")]
pub(super) struct Fault {
    pub(super) code: String,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(code: &str, message: impl ToString) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_string(),
        }
    }
}

macro_rules! from_coded {
    ($($error:ty),*) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::new(error.code(), &error)
            }
        }
    )*};
}

from_coded!(DrainError, EngineError, PolicyError, SessionError);

impl From<Fault> for Box<EvalAltResult> {
    fn from(fault: Fault) -> Self {
        EvalAltResult::ErrorRuntime(Dynamic::from(fault), Position::NONE).into()
    }
}

/// Lets scripts read what they caught.
pub(super) fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Fault>("Refusal")
        .register_get("code", |fault: &mut Fault| fault.code.clone())
        .register_get("message", |fault: &mut Fault| fault.message.clone())
        .register_fn("to_string", |fault: &mut Fault| fault.to_string())
        .register_fn("to_debug", |fault: &mut Fault| fault.to_string())
        .register_fn("+", |text: &str, fault: Fault| format!("{text}{fault}"))
        .register_fn("+", |fault: Fault, text: &str| format!("{fault}{text}"))
        .register_fn("contains", |fault: &mut Fault, text: &str| {
            fault.to_string().contains(text)
        });
}
