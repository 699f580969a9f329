//! The REPL: lines in, one after the other, commands and chat turns.
//!
//! What is pending is asked when a session starts, after every command and
//! before every chat turn, so nothing goes on while a verdict is due. What was
//! skipped is asked again at the next turn, which a command that only shows
//! something is not. A
//! question is answered by the same reader, and a command is a command at any
//! prompt.

mod announce;
mod chat;
mod commands;
mod hear;
mod record;
mod slash;
#[cfg(test)]
mod tests;
mod who;

use ghyll::modal::Attended;
use std::collections::HashSet;
use std::io;
use std::sync::MutexGuard;

use ghyll::bus::Event;
use ghyll::modal::Turn;
use ghyll::modal::{DrainError, ModalError, ModalHint};
use ghyll::model::Chat;
use ghyll::runtime::signals::AtWork;
use ghyll::session::Session;

use ghyll::text::count;
use jiff::Timestamp;

pub use super::desk::Flow;
use super::desk::prompt::TermModal;
use super::desk::question;
use super::desk::{Desk, Draft};
use super::reader::{Line, LineReader, Topic};
use super::tty::QuietTerminal;
use super::{Failure, NO, Output};
use announce::Inbox;
use hear::{Ear, Own};
pub use record::Recorder;
use slash::worth_keeping;
use who::Doubted;

/// A session with an operator.
pub struct Repl<'a> {
    pub session: &'a Attended,
    pub out: &'a Output,
    pub reader: Box<dyn LineReader + 'a>,
    /// What was said to a question that has to be asked again.
    draft: Draft,
    pub recorder: Option<Recorder>,
    /// The time ages are told by.
    now: fn() -> Timestamp,
    /// Who answers, if nobody else is named: git's `user.email`, which is only
    /// ever offered.
    who: Option<String>,
    /// A name that is new, and may be a slip.
    doubted: Option<Doubted>,
    /// Who answered for anything in this project.
    people: Vec<String>,
    /// What the line read last was given to.
    given_to: String,
    /// The question that is open.
    question: Option<String>,
    /// What was skipped until the next turn, by its number.
    put_off: HashSet<i64>,
    /// Whether something was refused where nobody can be asked again.
    refused: bool,
    chat: Chat,
    /// To whom the last turn was said.
    model_told: String,
    inbox: Inbox<'a>,
    ear: Option<Ear<'a>>,
    /// What this session did since the ear last listened.
    own: Own,
    terminal: Option<&'a QuietTerminal>,
    at_work: Option<&'a AtWork>,
    working: Option<MutexGuard<'a, ()>>,
    leaving: bool,
}

impl<'a> Repl<'a> {
    /// A session with whoever types into `reader`.
    pub fn new(
        session: &'a Attended,
        out: &'a Output,
        reader: Box<dyn LineReader + 'a>,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            session,
            out,
            reader,
            draft: Draft::default(),
            recorder,
            now: Timestamp::now,
            who: None,
            doubted: None,
            people: Vec::new(),
            given_to: String::new(),
            question: None,
            put_off: HashSet::new(),
            refused: false,
            chat: Chat::in_memory(),
            model_told: String::new(),
            inbox: Inbox::on(session.bus()),
            ear: None,
            own: Own::default(),
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

    /// Has whoever is there be asked at the first question whether they are
    /// this person, where nobody answers.
    pub fn may_be(&mut self, who: Option<String>) {
        self.who = who;
    }

    /// Has chat turns be part of `chat`; else they are kept nowhere.
    pub fn go_on_with(&mut self, chat: Chat) {
        self.chat = chat;
    }

    /// Holds the session until the operator leaves; the exit code. It is not 0
    /// if something was refused where nobody could be asked again.
    ///
    /// # Errors
    /// If lines can no longer be read.
    pub fn run(&mut self) -> Result<u8, Failure> {
        self.greet()?;
        if let Some(op_id) = self.session.op_id() {
            self.doubt_new_name(&op_id, None)?;
        }
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
                Line::Redraw => {}
                Line::End => self.leaving = true,
                Line::Unreadable(why) => {
                    self.out.note(why);
                    self.after_refusal();
                }
            }
        }
        let pending = self.session.pending()?.len();
        if pending > 0 {
            let stay = if pending == 1 { "stays" } else { "stay" };
            self.out.note_wrapped(
                format!(
                    "{} {stay} pending, asked again at the next start.",
                    count(pending, "request")
                ),
                2,
            );
        }
        Ok(if self.refused { NO } else { 0 })
    }

    /// Something was refused, and that was told. Where the input is no
    /// terminal nobody can be asked again: nothing more is read, so that no
    /// answer lands on a question it was not meant for.
    fn after_refusal(&mut self) -> Flow {
        if self.reader.is_interactive() {
            return Flow::Stay;
        }
        if !std::mem::replace(&mut self.refused, true) {
            let question = self
                .question
                .as_ref()
                .map(|name| format!(" of {name}"))
                .unwrap_or_default();
            self.out.note_wrapped(
                format!(
                    "Line {} was given to {:?}{question} and refused. Standard input is no \
                     terminal, so the session ends here: nothing after that line was read.",
                    self.reader.line_number(),
                    self.given_to.trim_end(),
                ),
                2,
            );
        }
        self.leaving = true;
        Flow::Leave
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let grid = self.session.grid();
        let root = self.session.project().root().display().to_string();
        self.out.note(format!(
            "ghyll session on {}: grid v{}, {}. /help lists the commands.",
            root,
            grid.version,
            count(grid.arrows.len(), "arrow"),
        ));
        for notice in self.session.notices() {
            self.out.note_wrapped(format!("note: {notice}"), 2);
        }
        match self.session.pending()?.len() {
            0 => {}
            n => self
                .out
                .note(format!("{} pending, asked now.", count(n, "request"))),
        }
        self.people = self.session.read(|reader| reader.people())?;
        self.offer()
    }

    /// Asks for a line, again if it only takes back a new name.
    fn read(&mut self, prompt: &str, topic: Topic) -> Result<Line, Failure> {
        loop {
            let line = self.read_line(prompt, topic)?;
            if !self.takes_back(&line, topic)? {
                return Ok(line);
            }
        }
    }

    /// Reads a line. What happened meanwhile is told first; nothing is in hand
    /// while it waits.
    fn read_line(&mut self, prompt: &str, topic: Topic) -> Result<Line, Failure> {
        self.tell_news()?;
        self.hear();
        self.given_to.clear();
        self.given_to.push_str(prompt);
        self.working = None;
        let print = if self.out.json() {
            None
        } else {
            self.reader.printer()
        };
        let reader = &mut self.reader;
        let (line, news) =
            hear::while_reading(self.ear.as_mut(), print, || reader.line(prompt, topic));
        self.working = self.at_work.map(AtWork::hold);
        self.tell_others(&news);
        // Where it cannot be read, whatever acts next says so.
        let _ = self.session.take_up_grid();
        Ok(line?)
    }

    /// Tells what others did since the last line was read.
    fn hear(&mut self) {
        let own = std::mem::take(&mut self.own);
        let news = match &mut self.ear {
            Some(ear) => ear.news(&own),
            // Where it cannot be read, whatever needs it says so.
            ear => {
                *ear = Ear::open(self.session.project()).ok().flatten();
                Vec::new()
            }
        };
        self.tell_others(&news);
    }

    fn tell_others(&self, news: &[String]) {
        for line in news {
            self.out.note_wrapped(line.as_str(), 2);
        }
    }

    fn turn(&mut self, line: &str) -> Result<(), Failure> {
        let line = slash::bare(line).unwrap_or(line);
        if line.starts_with('/') {
            if let Some(kept) = worth_keeping(line) {
                self.reader.remember(&kept);
            }
            if self.command(line)? == Flow::Leave {
                self.leaving = true;
                return Ok(());
            }
            if slash::is_turn(line) || !self.all_put_off()? {
                self.drain(None)?;
            }
            self.tell_news()?;
            return self.offer();
        }
        // An empty line says nothing, but is a turn: what is due is asked.
        let said = line.trim();
        let due = self.drain((!said.is_empty()).then_some(said))?;
        if said.is_empty() || self.leaving {
            return Ok(());
        }
        match due {
            Due::Left => self.out.note("Not said, for a question is open."),
            Due::Asked(None) => {}
            Due::Asked(Some(turn)) => {
                self.converse(turn)?;
                self.offer()?;
            }
        }
        Ok(())
    }

    fn all_put_off(&self) -> Result<bool, Failure> {
        let pending = self.session.pending()?;
        Ok(pending.iter().all(|r| self.put_off.contains(&r.request_id)))
    }

    /// Asks what is pending, and only then says what is to be `said`.
    fn drain(&mut self, said: Option<&str>) -> Result<Due<'a>, Failure> {
        self.tell_news()?;
        self.put_off.clear();
        if let (Some(recorder), Some(text)) = (&mut self.recorder, said) {
            recorder.turn(record::say(text))?;
        }
        let session = self.session;
        let mut prompt = TermModal::new(self);
        let result = match said {
            Some(text) => session.turn(text, &mut prompt).map(Some),
            None => session.drain_pending(&mut prompt).map(|()| None),
        };
        self.draft.forget();
        self.question = None;
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
            Ok(turn) => Ok(Due::Asked(turn)),
            Err(error) => {
                self.tell_open(&error)?;
                Ok(Due::Left)
            }
        }
    }

    fn tell_open(&mut self, error: &DrainError) -> Result<(), Failure> {
        if !matches!(error, DrainError::Modal(ModalError::Left)) {
            self.out.failure(&Failure::new(error.code(), error));
            self.after_refusal();
        }
        if !self.leaving {
            let waiting = count(self.session.pending()?.len(), "request");
            self.out.note(format!(
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
            if let Event::ModalSkipped(request) = &event {
                self.put_off.insert(request.request_id);
            }
            self.own.note(&event);
            announce::tell(self.out, self.session, &event, escalates)?;
            if let Some(recorder) = &mut self.recorder {
                recorder.heard(&event)?;
            }
        }
        Ok(())
    }
}

/// Whether what is due was asked.
enum Due<'a> {
    /// All of it; what may be said now, if something is to be.
    Asked(Option<Turn<'a>>),
    /// A question was left open.
    Left,
}

impl<'a> Desk<'a> for Repl<'a> {
    fn session(&self) -> &'a Session {
        self.session
    }

    fn out(&self) -> &'a Output {
        self.out
    }

    fn now(&self) -> Timestamp {
        (self.now)()
    }

    fn is_interactive(&self) -> bool {
        self.reader.is_interactive()
    }

    fn draft(&mut self) -> &mut Draft {
        &mut self.draft
    }

    fn ask_who(&mut self) -> Result<bool, Failure> {
        Repl::ask_who(self)
    }

    fn asking(&mut self, hint: &ModalHint, escalation: bool) -> Result<(), Failure> {
        self.tell_news()?;
        self.question = Some(question::name(hint));
        if let Some(recorder) = &mut self.recorder {
            recorder.asking(&hint.request, escalation);
        }
        Ok(())
    }

    fn read(&mut self, prompt: &str, topic: Topic) -> Result<Line, Failure> {
        Repl::read(self, prompt, topic)
    }

    fn command(&mut self, line: &str) -> Result<Flow, Failure> {
        let flow = Repl::command(self, line)?;
        if flow == Flow::Leave {
            self.leaving = true;
        }
        self.offer()?;
        Ok(flow)
    }

    fn after_refusal(&mut self) -> Flow {
        Repl::after_refusal(self)
    }

    fn input_ended(&mut self) {
        self.leaving = true;
    }

    fn step_aside(&mut self, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        self.reader.step_aside(run)
    }
}
