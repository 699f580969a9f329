//! Lines edited on a terminal, with history and completion.
//!
//! Between two lines the terminal stays as it is while a line is edited: no
//! echo, no line discipline. So what is typed ahead is neither shown twice nor
//! cut off at the kernel's line length, and Ctrl-C typed ahead is a key for
//! the next question like any other. Ctrl-C and Ctrl-D are bound to end the
//! line with a mark instead of an error, for an error would throw away what
//! was typed behind them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, Modifiers, RepeatCount,
};

use super::{Candidates, History, Line, LineReader, Topic};
use crate::cli::repl::tty::QuietTerminal;

/// How a line ended.
const ENTER: u8 = 0;
const INTERRUPT: u8 = 1;
const END: u8 = 2;

/// Reads from the terminal that standard input is.
pub struct TerminalReader {
    editor: Editor<Completion, MemHistory>,
    ending: Arc<AtomicU8>,
    /// Whether Tab completes whatever the line is.
    completes: Arc<AtomicBool>,
    history: History,
    terminal: Arc<QuietTerminal>,
}

impl TerminalReader {
    /// A reader with a project's history.
    pub fn new(history: History, terminal: Arc<QuietTerminal>) -> io::Result<Self> {
        let config = Config::builder()
            .auto_add_history(false)
            .bracketed_paste(false) // a paste is as many answers as it has lines
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
        editor.bind_sequence(KeyEvent::ctrl('C'), end_with(INTERRUPT, false));
        editor.bind_sequence(KeyEvent::ctrl('D'), end_with(END, true));
        editor.set_helper(Some(Completion::default()));
        Ok(Self {
            editor,
            ending,
            completes,
            history,
            terminal,
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
        loop {
            self.ending.store(ENTER, Ordering::Relaxed);
            match self.editor.readline(prompt) {
                Ok(text) => {
                    return Ok(match self.ending.load(Ordering::Relaxed) {
                        INTERRUPT => Line::Interrupted {
                            cleared: !text.is_empty(),
                        },
                        END => Line::End,
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

    fn is_interactive(&self) -> bool {
        true
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
impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}
