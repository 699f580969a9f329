//! A chat turn, the same for every surface.

use super::Session;
use crate::modal::{DrainError, OperatorModalPrompt};

impl Session {
    /// Puts to the operator what is pending, and only then hands `text` to
    /// the model. This version has none: the turn is logged.
    ///
    /// # Errors
    /// As [`Session::drain_pending`]; then the model was not called.
    pub fn turn(&self, text: &str, prompt: &mut dyn OperatorModalPrompt) -> Result<(), DrainError> {
        self.drain_pending(prompt)?;
        tracing::info!(bytes = text.len(), "no model is configured");
        Ok(())
    }
}
