//! Lines edited on a terminal, with history and completion.
//!
//! Between two lines the terminal stays as it is while a line is edited: no
//! echo, no line discipline. So what is typed ahead is neither shown twice nor
//! cut off at the kernel's line length, and Ctrl-C typed ahead is a key for
//! the next question like any other. Ctrl-C and Ctrl-D are bound to end the
//! line with a mark instead of an error, for an error would throw away what
//! was typed behind them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, Modifiers, RepeatCount,
};

use ghyll::runtime::signals::TerminalLent;
use ghyll::text::is_harmless;

use super::{Candidates, History, Line, LineReader, Printer, Topic};
use crate::cli::output::note;
use crate::cli::tty::QuietTerminal;

/// How a line ended.
const ENTER: u8 = 0;
const INTERRUPT: u8 = 1;
const END: u8 = 2;
const REDRAW: u8 = 3;

/// Reads from the terminal that standard input is.
pub struct TerminalReader {
    editor: Editor<Completion, MemHistory>,
    ending: Arc<AtomicU8>,
    /// Whether Tab completes whatever the line is.
    completes: Arc<AtomicBool>,
    /// Whether a question is open, which Ctrl-L shows again.
    at_question: Arc<AtomicBool>,
    /// What was typed when it did.
    typed: String,
    history: History,
    terminal: Arc<QuietTerminal>,
    /// Lines of a paste that are answers to come.
    pasted: VecDeque<String>,
    read: u64,
}

impl TerminalReader {
    /// A reader with a project's history.
    pub fn new(history: History, terminal: Arc<QuietTerminal>) -> io::Result<Self> {
        let config = Config::builder()
            .auto_add_history(false)
            .bracketed_paste(true) // so that a pasted note is one answer
            .completion_type(CompletionType::List)
            .completion_prompt_limit(usize::MAX) // a question would take what is typed ahead
            .build();
        let lines = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, lines).map_err(io_error)?;
        for line in history.lines() {
            editor.add_history_entry(line).map_err(io_error)?;
        }
        let ending = Arc::new(AtomicU8::new(ENTER));
        let end_with = |mark, only_if_empty| {
            EventHandler::Conditional(Box::new(EndLine {
                ending: Arc::clone(&ending),
                mark,
                only_if_empty,
            }))
        };
        let completes = Arc::new(AtomicBool::new(true));
        let tab = Tab {
            completes: Arc::clone(&completes),
        };
        editor.bind_sequence(
            KeyEvent::new('\t', Modifiers::NONE),
            EventHandler::Conditional(Box::new(tab)),
        );
        let at_question = Arc::new(AtomicBool::new(false));
        let redraw = Redraw {
            ending: Arc::clone(&ending),
            at_question: Arc::clone(&at_question),
        };
        editor.bind_sequence(
            KeyEvent::ctrl('L'),
            EventHandler::Conditional(Box::new(redraw)),
        );
        editor.bind_sequence(KeyEvent::ctrl('C'), end_with(INTERRUPT, false));
        editor.bind_sequence(KeyEvent::ctrl('D'), end_with(END, true));
        editor.set_helper(Some(Completion::default()));
        Ok(Self {
            editor,
            ending,
            completes,
            at_question,
            typed: String::new(),
            history,
            terminal,
            pasted: VecDeque::new(),
            read: 0,
        })
    }
}

fn io_error(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(e) => e,
        other => io::Error::other(other.to_string()),
    }
}

/// Ends the line and leaves a mark how.
struct EndLine {
    ending: Arc<AtomicU8>,
    mark: u8,
    only_if_empty: bool,
}

impl ConditionalEventHandler for EndLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        if self.only_if_empty && !ctx.line().is_empty() {
            return None;
        }
        self.ending.store(self.mark, Ordering::Relaxed);
        Some(Cmd::AcceptLine)
    }
}

/// Shows the question again; where none is open, clears the screen as ever.
struct Redraw {
    ending: Arc<AtomicU8>,
    at_question: Arc<AtomicBool>,
}

impl ConditionalEventHandler for Redraw {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.at_question.load(Ordering::Relaxed).then(|| {
            self.ending.store(REDRAW, Ordering::Relaxed);
            Cmd::AcceptLine
        })
    }
}

/// Completes where there is something to complete with; elsewhere a tab is a
/// character, as in a note that is pasted.
struct Tab {
    completes: Arc<AtomicBool>,
}

impl ConditionalEventHandler for Tab {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let completes = self.completes.load(Ordering::Relaxed) || ctx.line().starts_with('/');
        Some(if completes {
            Cmd::Complete
        } else {
            Cmd::Insert(1, "\t".to_owned())
        })
    }
}

impl LineReader for TerminalReader {
    fn line(&mut self, prompt: &str, topic: Topic) -> io::Result<Line> {
        self.completes.store(
            matches!(topic, Topic::Verdict | Topic::Locations),
            Ordering::Relaxed,
        );
        if let Some(helper) = self.editor.helper_mut() {
            helper.topic = topic;
        }
        self.at_question
            .store(topic != Topic::Turn, Ordering::Relaxed);
        self.read += 1;
        if let Some(line) = self.pasted.pop_front() {
            note(format!("{prompt}{line}"));
            return Ok(Line::Text(line));
        }
        loop {
            self.ending.store(ENTER, Ordering::Relaxed);
            let typed = std::mem::take(&mut self.typed);
            match self.editor.readline_with_initial(prompt, (&typed, "")) {
                Ok(text) => {
                    return Ok(match self.ending.load(Ordering::Relaxed) {
                        REDRAW => {
                            self.typed = text;
                            Line::Redraw
                        }
                        INTERRUPT => Line::Interrupted {
                            cleared: !text.is_empty(),
                        },
                        END => Line::End,
                        _ if text.contains('\n') && !topic.takes_several_lines() => {
                            Line::first_of(&text, &mut self.pasted)
                        }
                        _ => Line::Text(text),
                    });
                }
                Err(ReadlineError::Signal(_)) => {} // the window changed: asked again
                Err(ReadlineError::Interrupted) => {
                    return Ok(Line::Interrupted { cleared: false });
                }
                Err(ReadlineError::Eof) => return Ok(Line::End),
                Err(ReadlineError::Io(e)) if e.kind() == io::ErrorKind::InvalidData => {
                    return Ok(Line::Unreadable("a line that is not UTF-8 was left out"));
                }
                // A terminal that is gone is an end of input like any other.
                Err(_) if !self.terminal.is_there() => return Ok(Line::End),
                Err(e) => return Err(io_error(e)),
            }
        }
    }

    fn printer(&mut self) -> Option<Printer> {
        use rustyline::ExternalPrinter as _;
        let mut printer = self.editor.create_external_printer().ok()?;
        // A terminal that is gone is noticed where lines are read.
        Some(Box::new(move |text| drop(printer.print(text))))
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn line_number(&self) -> u64 {
        self.read
    }

    fn remember(&mut self, line: &str) {
        if matches!(self.editor.add_history_entry(line), Ok(true)) {
            self.history.add(line);
        }
    }

    fn offer(&mut self, candidates: Candidates) {
        if let Some(helper) = self.editor.helper_mut() {
            *helper
                .candidates
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = candidates;
        }
    }

    fn step_aside(&mut self, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let _keys = TerminalLent::begin();
        self.terminal.restore();
        let done = run();
        self.terminal.quiet();
        done
    }
}

struct Completion {
    candidates: Mutex<Candidates>,
    topic: Topic,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            candidates: Mutex::default(),
            topic: Topic::Turn,
        }
    }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let candidates = self
            .candidates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(candidates.complete(self.topic, line.get(..pos).unwrap_or_default()))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

/// A paste may hold anything; it is shown without what acts on a terminal.
impl Highlighter for Completion {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        let shows = |c: char| c == '\n' || c == '\t' || is_harmless(c);
        if line.chars().all(shows) {
            return Cow::Borrowed(line);
        }
        // Sequences whole, for the editor counts no columns for them.
        let stripped = anstream::adapter::strip_str(line).to_string();
        Cow::Owned(stripped.chars().filter(|c| shows(*c)).collect())
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        !line
            .chars()
            .all(|c| c == '\n' || c == '\t' || is_harmless(c))
    }
}

impl Validator for Completion {}
impl Helper for Completion {}
