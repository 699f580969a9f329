//! The REPL: lines in, one after the other, commands and chat turns.
//!
//! What is pending is asked when a session starts, after every command and
//! before every chat turn, so nothing goes on while a verdict is due. A
//! question is answered by the same reader, and a command is a command at any
//! prompt.

mod commands;
mod news;
mod record;
#[cfg(test)]
mod tests;
pub mod tty;

use std::sync::MutexGuard;

use ghyll::bus::Event;
use ghyll::modal::{DrainError, ModalError, ModalHint};
use ghyll::session::Session;

use super::output::clean;
use super::reader::{Line, LineReader, Topic, worth_keeping};
use super::term::TermModal;
use super::{Failure, Output};
use news::Inbox;
pub use news::excerpt;
pub use record::Recorder;
use tty::{AtWork, QuietTerminal};

/// What comes of a chat turn while there is no model.
const NO_MODEL: &str = "No model is configured in this version: nobody hears this but you. \
                        /help lists what there is.";

/// What comes after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The session goes on.
    Stay,
    /// The operator leaves.
    Leave,
}

/// A session with an operator.
pub struct Repl<'a> {
    pub session: &'a Session,
    pub out: &'a Output,
    pub reader: Box<dyn LineReader + 'a>,
    /// What was said to a question that has to be asked again.
    pub draft: super::term::Draft,
    pub recorder: Option<Recorder>,
    inbox: Inbox<'a>,
    terminal: Option<&'a QuietTerminal>,
    at_work: Option<&'a AtWork>,
    working: Option<MutexGuard<'a, ()>>,
    leaving: bool,
}

impl<'a> Repl<'a> {
    /// A session with whoever types into `reader`.
    pub fn new(
        session: &'a Session,
        out: &'a Output,
        reader: Box<dyn LineReader + 'a>,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            session,
            out,
            reader,
            draft: super::term::Draft::default(),
            recorder,
            inbox: Inbox::on(session.bus()),
            terminal: None,
            at_work: None,
            working: None,
            leaving: false,
        }
    }

    /// Has signals wait for work in hand, and commands be interruptible.
    pub fn share(&mut self, terminal: &'a QuietTerminal, at_work: &'a AtWork) {
        self.terminal = Some(terminal);
        self.at_work = Some(at_work);
        self.working = Some(at_work.hold());
    }

    /// Holds the session until the operator leaves.
    ///
    /// # Errors
    /// If lines can no longer be read.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.greet()?;
        self.drain(None)?;
        let mut interrupted = false;
        while !self.leaving {
            let line = self.read("ghyll> ", Topic::Turn)?;
            let again = std::mem::replace(&mut interrupted, false);
            match line {
                Line::Text(line) => self.turn(&line)?,
                Line::Interrupted { cleared: false } if again => self.leaving = true,
                Line::Interrupted { cleared } => {
                    interrupted = true;
                    if !cleared {
                        self.out.note("Ctrl-C once more, Ctrl-D or /exit leaves.");
                    }
                }
                Line::End => self.leaving = true,
                Line::Unreadable(why) => self.out.note(why),
            }
        }
        let pending = self.session.pending()?.len();
        if pending > 0 {
            let asked = if pending == 1 {
                "request stays"
            } else {
                "requests stay"
            };
            self.out.note(&format!(
                "{pending} {asked} pending, asked again at the next start."
            ));
        }
        Ok(())
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let grid = self.session.grid();
        let root = self.session.project().root().display().to_string();
        self.out.note(&format!(
            "ghyll session on {}: grid v{}, {}. /help lists the commands.",
            clean(&root),
            grid.version,
            count(grid.arrows.len(), "arrow"),
        ));
        for notice in self.session.notices() {
            self.out
                .note_wrapped(&format!("note: {}", clean(&notice.to_string())), 2);
        }
        match self.session.pending()?.len() {
            0 => {}
            n => self
                .out
                .note(&format!("{} pending, asked now.", count(n, "request"))),
        }
        self.offer()
    }

    /// Asks for a line. What happened meanwhile is told first; nothing is in
    /// hand while it waits.
    pub fn read(&mut self, prompt: &str, topic: Topic) -> Result<Line, Failure> {
        self.tell_news()?;
        self.working = None;
        let line = self.reader.line(prompt, topic);
        self.working = self.at_work.map(AtWork::hold);
        Ok(line?)
    }

    /// Runs a command given at a question; nothing is asked after it, for the
    /// question is still there.
    pub fn command_in_modal(&mut self, line: &str) -> Result<Flow, Failure> {
        let flow = self.command(line)?;
        if flow == Flow::Leave {
            self.leaving = true;
        }
        self.offer()?;
        Ok(flow)
    }

    /// A question is put.
    pub fn asking(&mut self, hint: &ModalHint, escalation: bool) -> Result<(), Failure> {
        self.tell_news()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.asking(&hint.request, escalation);
        }
        Ok(())
    }

    /// The input has ended: nothing more is asked.
    pub fn input_ended(&mut self) {
        self.leaving = true;
    }

    fn turn(&mut self, line: &str) -> Result<(), Failure> {
        if line.starts_with('/') {
            if let Some(kept) = worth_keeping(line) {
                self.reader.remember(&kept);
            }
            if self.command(line)? == Flow::Leave {
                self.leaving = true;
                return Ok(());
            }
            self.drain(None)?;
            return self.offer();
        }
        // An empty line says nothing, but is a turn: what is due is asked.
        let said = line.trim();
        let due = self.drain((!said.is_empty()).then_some(said))?;
        if said.is_empty() || self.leaving {
            return Ok(());
        }
        if due == Due::Left {
            self.out.note("Not said, for a question is open.");
            return Ok(());
        }
        self.out.note_wrapped(NO_MODEL, 0);
        self.offer()
    }

    /// Asks what is pending, and only then says what is to be `said`.
    fn drain(&mut self, said: Option<&str>) -> Result<Due, Failure> {
        self.tell_news()?;
        if let (Some(recorder), Some(text)) = (&mut self.recorder, said) {
            recorder.turn(record::say(text))?;
        }
        let session = self.session;
        let mut prompt = TermModal::new(self);
        let result = match said {
            Some(text) => session.turn(text, &mut prompt),
            None => session.drain_pending(&mut prompt),
        };
        self.draft.forget();
        self.tell_news()?;
        if let Some(recorder) = &mut self.recorder {
            let left = if result.is_err() {
                session.pending()?
            } else {
                Vec::new()
            };
            recorder.drained(&left)?;
        }
        match result {
            Ok(()) => Ok(Due::Asked),
            Err(error) => {
                self.tell_open(&error)?;
                Ok(Due::Left)
            }
        }
    }

    fn tell_open(&mut self, error: &DrainError) -> Result<(), Failure> {
        if !matches!(error, DrainError::Modal(ModalError::Left)) {
            self.out.failure(&Failure::new(error.code(), error));
        }
        if !self.leaving {
            let waiting = count(self.session.pending()?.len(), "request");
            self.out.note(&format!(
                "Left open: {waiting} pending, asked again at your next turn."
            ));
        }
        Ok(())
    }

    /// Tells, and records, what happened since it was last told.
    fn tell_news(&mut self) -> Result<(), Failure> {
        let events = self.inbox.take();
        let escalates = events
            .iter()
            .any(|e| matches!(e, Event::InsufficientBasisRoundsExceeded { .. }));
        for event in events {
            news::tell(self.out, self.session, &event, escalates)?;
            if let Some(recorder) = &mut self.recorder {
                recorder.heard(&event)?;
            }
        }
        Ok(())
    }
}

/// Whether what is due was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// All of it.
    Asked,
    /// A question was left open.
    Left,
}

/// A number of things.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}
