//! What ghyll refuses, as a value a script can catch.

use rhai::{Dynamic, Engine, EvalAltResult, ImmutableString, Position};

use crate::codes::from_coded;
use crate::db::DbError;
use crate::modal::DrainError;
use crate::model::ChatError;
use crate::policy::PolicyError;
use crate::session::SessionError;

/// A refusal with its public code. A script may keep many of one: they share
/// their texts.
#[derive(Debug, Clone, thiserror::Error)]
#[error("error[{code}]: {message}")]
pub(super) struct Fault {
    pub(super) code: ImmutableString,
    pub(super) message: ImmutableString,
}

impl Fault {
    pub(super) fn new(code: &str, message: impl ToString) -> Self {
        Self {
            code: code.into(),
            message: message.to_string().into(),
        }
    }
}

from_coded!(Fault: ChatError, DrainError, DbError, PolicyError, SessionError);

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
