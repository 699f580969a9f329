//! A script's own model: `model(messages)` answers in place of the network, so
//! that chat turns replay byte for byte.

use std::cell::RefCell;

use rhai::{Array, Dynamic, EvalAltResult, INT, Map, NativeCallContext};

use super::fault::Fault;
use super::modal::{MODEL, Open};
use super::{Host, values};
use crate::model::{Finish, Message, Model, ModelError};
use crate::runtime::cancel::Cancel;

/// A model that calls a function of the script it is asked from.
pub(super) struct ScriptedModel<'a, 'c> {
    host: &'a Host,
    context: &'a NativeCallContext<'c>,
    /// Which turn of the session it is, from 1.
    turn: u64,
    /// What the script itself went wrong with.
    pub(super) error: RefCell<Option<Box<EvalAltResult>>>,
}

impl<'a, 'c> ScriptedModel<'a, 'c> {
    pub(super) fn new(host: &'a Host, context: &'a NativeCallContext<'c>, turn: u64) -> Self {
        Self {
            host,
            context,
            turn,
            error: RefCell::new(None),
        }
    }

    fn ask(&self, messages: &[Message]) -> Result<String, Box<EvalAltResult>> {
        let messages = self.shown(messages)?;
        self.host.guard.judge(&messages)?;
        // It may look and log; it does not act.
        let _open = Open::question(&self.host.in_modal);
        let said = self.context.call_fn::<Dynamic>(MODEL, (messages,))?;
        self.host.guard.judge(&said)?;
        said.into_string().map_err(|found| {
            let message = format!("{MODEL}(messages) returned {found}, which is no text");
            Fault::new("script-answer-invalid", message).into()
        })
    }

    /// The messages as maps; the last, which is the operator's, says which
    /// turn it is.
    fn shown(&self, messages: &[Message]) -> Result<Dynamic, Box<EvalAltResult>> {
        let mut shown = values::of(&messages)?;
        if let Some(mut list) = shown.write_lock::<Array>()
            && let Some(last) = list.last_mut()
            && let Some(mut map) = last.write_lock::<Map>()
        {
            let turn = INT::try_from(self.turn).unwrap_or(INT::MAX);
            map.insert("turn".into(), turn.into());
        }
        Ok(shown)
    }
}

impl Model for ScriptedModel<'_, '_> {
    fn name(&self) -> &str {
        "script"
    }

    fn turn(
        &self,
        messages: &[Message],
        on_text: &mut dyn FnMut(&str),
        _: &Cancel,
    ) -> Result<Finish, ModelError> {
        match self.ask(messages) {
            Ok(text) => {
                on_text(&text);
                Ok(Finish::Stop)
            }
            Err(error) => {
                let message = error.to_string();
                *self.error.borrow_mut() = Some(error);
                Err(ModelError::Failed {
                    code: "script-failed",
                    message,
                })
            }
        }
    }
}
