//! The one line reader REPL and modals share.
//!
//! One reader, so that a paste is as many answers as it has lines: nothing
//! typed ahead is ever in a buffer the next question does not read from. On a
//! terminal lines can be edited ([`TerminalReader`]); otherwise they are read
//! as they come ([`PlainReader`]).

mod completion;
mod history;
mod plain;
mod terminal;

use std::io;

pub use completion::Candidates;
pub use history::{History, worth_keeping};
pub use plain::PlainReader;
pub use terminal::TerminalReader;

/// What is being asked for: it decides what can be completed and whether the
/// line may be kept in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A command or a chat turn.
    Turn,
    /// A verdict word.
    Verdict,
    /// Places inspected.
    Locations,
    /// A note, or a line of one.
    Note,
    /// One of two numbers.
    Choice,
}

/// What came of asking for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C. Whether the line had something on it.
    Interrupted {
        /// If not, Ctrl-C cleared nothing.
        cleared: bool,
    },
    /// Ctrl-D, or the end of the input.
    End,
    /// Something that is no line of text, and why.
    Unreadable(&'static str),
}

/// Where lines come from.
pub trait LineReader {
    /// Asks for a line.
    fn line(&mut self, prompt: &str, topic: Topic) -> io::Result<Line>;

    /// Whether a person is there to be asked back.
    fn is_interactive(&self) -> bool {
        false
    }

    /// Keeps a line to be recalled later. The caller sees to it that it holds
    /// no evidence.
    fn remember(&mut self, _line: &str) {}

    /// What the next lines may be completed with.
    fn offer(&mut self, _candidates: Candidates) {}

    /// Runs something that needs the terminal for itself.
    fn step_aside(&mut self, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        run()
    }
}

/// Answers from a list: what a test types.
#[cfg(test)]
pub struct ScriptedReader {
    lines: std::collections::VecDeque<Line>,
    interactive: bool,
    /// What was remembered.
    pub remembered: Vec<String>,
}

#[cfg(test)]
impl ScriptedReader {
    /// Types these lines, then the input ends. `^C` is Ctrl-C.
    pub fn new(interactive: bool, lines: &[&str]) -> Self {
        let line = |text: &&str| match *text {
            "^C" => Line::Interrupted { cleared: false },
            text => Line::Text(text.to_owned()),
        };
        Self {
            lines: lines.iter().map(line).collect(),
            interactive,
            remembered: Vec::new(),
        }
    }
}

#[cfg(test)]
impl LineReader for ScriptedReader {
    fn line(&mut self, _prompt: &str, _topic: Topic) -> io::Result<Line> {
        Ok(self.lines.pop_front().unwrap_or(Line::End))
    }

    fn is_interactive(&self) -> bool {
        self.interactive
    }

    fn remember(&mut self, line: &str) {
        self.remembered.push(line.to_owned());
    }
}
