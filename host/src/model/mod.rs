//! The model behind the gate: who a chat line goes to once nothing is due.
//!
//! A model is asked, and answers with text. Nothing it says is a command, a
//! verdict or an answer: it is shown, kept in the transcript, and sent back to
//! it with the next turn. One thing in it is read, the block [`stated`] finds:
//! what it says of clauses, which operators see as the producer's words. What
//! it is told of the project is made in one place, [`briefing`].
//!
//! [`Model`] is all that a turn needs. [`client`] is the one that reaches the
//! network, by [`config`]; a script brings its own. [`chat`] is a conversation:
//! it takes a [`crate::session::Turn`], which only a session gives that has
//! asked all that is due, and keeps each turn in its [`transcript`].

pub mod briefing;
pub mod chat;
pub mod client;
pub mod config;
mod error;
mod http;
mod redact;
pub mod sse;
pub mod stated;
pub mod transcript;

pub use chat::{Chat, ChatError, Heard, Said, Stated};
pub use error::ModelError;

use serde::{Deserialize, Serialize};

use crate::runtime::cancel::Cancel;

/// Whose words a message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// ghyll's: what the model is told of the project.
    System,
    /// The operator's.
    User,
    /// The model's own, from an earlier turn.
    Assistant,
}

/// One message of a conversation, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Whose words they are.
    pub role: Role,
    /// The words.
    pub content: String,
}

/// Why a model stopped where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It had said what it wanted to.
    Stop,
    /// It may say no more: its own limit.
    Length,
    /// Something held it back, or it wanted to call a tool: nothing is called.
    Other,
}

/// Something that answers a conversation with text.
pub trait Model {
    /// What it is called, for operators and the transcript.
    fn name(&self) -> &str;

    /// Answers `messages`. Its text is handed to `on_text` as it comes; what
    /// was handed over stands, also when the rest does not come.
    ///
    /// # Errors
    /// [`ModelError`]; `model-cancelled` once `cancel` is called off.
    fn turn(
        &self,
        messages: &[Message],
        on_text: &mut dyn FnMut(&str),
        cancel: &Cancel,
    ) -> Result<Finish, ModelError>;
}
