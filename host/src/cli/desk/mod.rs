//! The operator's desk: how a question is shown, and how it is answered.
//!
//! The desk knows no REPL: whoever holds the session lends it what a question
//! needs, [`Desk`].

pub mod editor;
pub mod prompt;
pub mod question;

use std::io;

use ghyll::modal::ModalHint;
use ghyll::session::Session;
use jiff::Timestamp;

use super::Failure;
use super::output::Output;
use super::reader::{Line, Topic};

/// What comes after a command, or after an answer that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The session goes on.
    Stay,
    /// The operator leaves.
    Leave,
}

/// What a question needs of whoever holds the session.
pub trait Desk<'a> {
    /// The session the question is from.
    fn session(&self) -> &'a Session;
    /// Where it is shown.
    fn out(&self) -> &'a Output;
    /// The time ages are told by.
    fn now(&self) -> Timestamp;
    /// Whether a person is there to be asked again.
    fn is_interactive(&self) -> bool;
    /// What was said before to the question that is open.
    fn draft(&mut self) -> &mut Draft;
    /// Nobody answers yet: asks whoever is there whether they are who git says.
    /// Whether somebody answers now.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn ask_who(&mut self) -> Result<bool, Failure>;
    /// A question is put.
    ///
    /// # Errors
    /// If what happened before it cannot be told.
    fn asking(&mut self, hint: &ModalHint, escalation: bool) -> Result<(), Failure>;
    /// Asks for a line.
    ///
    /// # Errors
    /// If lines can no longer be read.
    fn read(&mut self, prompt: &str, topic: Topic) -> Result<Line, Failure>;
    /// Runs a line that starts with `/`; nothing is asked after it, for the
    /// question is still there.
    ///
    /// # Errors
    /// If the session cannot go on.
    fn command(&mut self, line: &str) -> Result<Flow, Failure>;
    /// An answer was refused, and that was told: whether it can be given again.
    fn after_refusal(&mut self) -> Flow;
    /// The input has ended: nothing more is asked.
    fn input_ended(&mut self);
    /// Runs something that needs the terminal for itself.
    ///
    /// # Errors
    /// What `run` returns.
    fn step_aside(&mut self, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// What was said to a question whose answer was not taken in the end, so that
/// it need not be typed again.
#[derive(Debug, Default)]
pub struct Draft {
    request: i64,
    places: Vec<String>,
    note: String,
}

impl Draft {
    /// Nothing is open any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
