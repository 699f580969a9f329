//! The one line reader REPL and modals share.
//!
//! One reader, so that a paste at a verdict prompt is as many answers as it has
//! lines: nothing typed ahead is ever in a buffer the next question does not
//! read from. A paste at a note's or a location's prompt is one answer. On a
//! terminal lines can be edited ([`TerminalReader`]); otherwise they are read
//! as they come ([`PlainReader`]).

mod completion;
mod history;
mod plain;
mod terminal;

use std::collections::VecDeque;
use std::io;

pub use completion::{Candidates, Completes, Offered};
pub use history::History;
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

impl Topic {
    /// Whether a paste of several lines is one answer here.
    fn takes_several_lines(self) -> bool {
        matches!(self, Self::Locations | Self::Note)
    }
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
    /// Ctrl-L at a question: it is to be shown again, and then the same asked
    /// for; what was typed is kept.
    Redraw,
    /// Ctrl-D, or the end of the input.
    End,
    /// Something that is no line of text, and why.
    Unreadable(&'static str),
}

impl Line {
    /// A line that was pasted into a prompt that takes one: as many lines as
    /// it has, the first of them now.
    fn first_of(text: &str, rest: &mut VecDeque<String>) -> Self {
        let mut lines = text.lines().map(str::to_owned);
        let first = lines.next().unwrap_or_default();
        // In front of what an earlier paste left.
        for (at, line) in lines.enumerate() {
            rest.insert(at, line);
        }
        Self::Text(first)
    }
}

/// Where lines come from.
pub trait LineReader {
    /// Asks for a line.
    fn line(&mut self, prompt: &str, topic: Topic) -> io::Result<Line>;

    /// What can print above a line that is being edited.
    fn printer(&mut self) -> Option<Printer> {
        None
    }

    /// Whether a person is there to be asked back.
    fn is_interactive(&self) -> bool {
        false
    }

    /// The number of the line read last, from 1.
    fn line_number(&self) -> u64;

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

/// Prints above a line that is being edited, from another thread.
pub type Printer = Box<dyn FnMut(String) + Send>;

/// Answers from a list: what a test types.
#[cfg(test)]
pub struct ScriptedReader {
    lines: VecDeque<Line>,
    read: u64,
    interactive: bool,
    /// What was remembered.
    pub remembered: Vec<String>,
}

#[cfg(test)]
impl ScriptedReader {
    /// Types these lines, then the input ends. `^C` is Ctrl-C, `^L` Ctrl-L.
    pub fn new(interactive: bool, lines: &[&str]) -> Self {
        let line = |text: &&str| match *text {
            "^C" => Line::Interrupted { cleared: false },
            "^L" => Line::Redraw,
            text => Line::Text(text.to_owned()),
        };
        Self {
            lines: lines.iter().map(line).collect(),
            read: 0,
            interactive,
            remembered: Vec::new(),
        }
    }
}

#[cfg(test)]
impl LineReader for ScriptedReader {
    fn line(&mut self, _prompt: &str, _topic: Topic) -> io::Result<Line> {
        self.read += 1;
        Ok(self.lines.pop_front().unwrap_or(Line::End))
    }

    fn line_number(&self) -> u64 {
        self.read
    }

    fn is_interactive(&self) -> bool {
        self.interactive
    }

    fn remember(&mut self, line: &str) {
        self.remembered.push(line.to_owned());
    }
}
