//! Operators written down: a Rhai script drives a session as a person would.
//!
//! CI replays operators from scripts, so a script has what an operator has,
//! and nothing else: it runs arrows, says things, answers the modals that come
//! of it, looks at what is on record, and states what it expects. It reaches
//! no file, network, clock or chance; `eval` and `import` are not part of the
//! language it is written in, and it runs within [`Limits`].
//!
//! | call | does |
//! |---|---|
//! | `op_id(id)`, `op_id()` | who answers from now on; who answers now |
//! | `run_arrow(arrow[, evidence])` | dispatches, with what the producer says, then puts to the operator what is pending; the arrow's status |
//! | `say(text)` | a chat turn: puts what is pending, then the script's model; what it said |
//! | `attest(ref, verdict[, #{inspected: […], residue: "…"}])` | answers a ref without a modal; the record's id |
//! | `init_attest()` | attests the project's beginning; how many records that made |
//! | `restart()` | drops the session as a crash would and opens a new one |
//! | `expect(is_so, text)` | an expectation; the script goes on if it fails |
//! | `arrow_status(arrow)`, `clause_status(arrow, clause)` | words |
//! | `attestations()`, `attestations(arrow)` | the lines on record, newest last |
//! | `pending()`, `findings()`, `passes()` | what the engine knows, oldest first |
//! | `events()` | the kinds of all events so far |
//! | `log(…)`, `print(…)` | tells whoever watches |
//! | `parse_json(text)` | for the payloads that records carry as text |
//!
//! Modals are answered by two functions of the script. `verdict(hint)` returns
//! `pass()`, `pass([location, …])`, `fail([location, …])`,
//! `insufficient_basis(note)` or `skip()`; a note may follow the locations of a
//! pass or fail, and locations may come before the note without a basis.
//! `escalation(hint)` returns `accept_risk(note)` or `route_upstream(note)`.
//! `hint` has `arrow_id`, `clause_id`, `concept`, `attestation_ref`, `round`,
//! `pass_id`, `context`, `stratum`, `source_role`, `target_role`,
//! `adversary_role`, `deeper`, `op_id`, `subject` (what is covered, as it is now),
//! `changed` (the paths that changed since the last round), `evidence` (the
//! producer's words), and `rejected`: the code for which the last answer to the
//! same question was not taken, else empty. They may hand
//! over (`op_id("bob")`), log and look; what would ask or record something
//! while a question is open is refused there with `script-call-in-modal`.
//!
//! Chat turns go to `model(messages)`, if the script has one, and to nobody else:
//! a script reaches no network. `messages` are maps with `role` and `content`, as
//! a model is sent them; the last, the operator's, has `turn` too, from 1 in each
//! session. It returns text, which `say` returns; without it, `say` returns "".
//!
//! Locations, notes and whole values are read within the limits too; a byte
//! order mark at the start of a script is no part of it.
//!
//! A script without `verdict` is an operator who skips: requests stay pending.
//! An escalation has no skip, so a script without `escalation` fails when one
//! is put to it. An answer that is not taken is asked for again, and after
//! eight the script fails with the code of the refusal; whatever fails,
//! the request stays pending.
//!
//! What ghyll refuses is thrown: `catch (e)` finds `e.code` and `e.message`,
//! and `` `${e}` `` reads `error[<code>]: <message>`. The op-id outlives
//! `restart()`: the session is new, the operator is the same.

mod bounded;
mod calls;
mod engine;
mod fault;
pub mod golden;
mod guard;
pub mod junit;
mod modal;
mod model;
pub mod source;
#[cfg(test)]
mod tests;
mod values;

use crate::modal::Attended;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rhai::{AST, EvalAltResult, ParseErrorType, Position};

pub use guard::Limits;

use crate::bus::Bus;
use crate::clock::Clock;
use crate::model::Chat;
use crate::policy::Policy;
use crate::project::Project;
use crate::session::SessionError;
use fault::Fault;
use guard::Guard;

/// Room for the deepest script the limits let run; only what is used is taken.
const STACK: usize = 64 << 20;

/// What scripts run on.
pub struct Stage {
    /// The project's directory.
    pub root: PathBuf,
    /// The policy.
    pub policy: Arc<Policy>,
    /// Goes on from script to script.
    pub clock: Arc<dyn Clock>,
    /// What a script may use.
    pub limits: Limits,
    /// Told what scripts log.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
    /// How many bytes the program holds now, as its global allocator counts
    /// them; [`Limits::memory`] is held against it.
    pub heap: fn() -> usize,
}

/// What came of a script.
#[derive(Debug, Clone)]
pub struct Report {
    /// What it expected, in order.
    pub expectations: Vec<Expectation>,
    /// Why it ended early, if it did.
    pub error: Option<ScriptError>,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// Whether it ran to its end and all was as expected.
    pub fn ok(&self) -> bool {
        self.error.is_none() && self.expectations.iter().all(|e| e.met)
    }

    /// The expectations that were not met.
    pub fn failed(&self) -> impl Iterator<Item = &Expectation> {
        self.expectations.iter().filter(|e| !e.met)
    }
}

/// Why a script did not run at all, which says nothing about it.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// There is no script.
    #[error(transparent)]
    Source(#[from] source::SourceError),
    /// There is no session.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl NotRun {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Source(error) => error.code(),
            Self::Session(error) => error.code(),
        }
    }
}

/// One `expect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// What was expected, in the script's words.
    pub text: String,
    /// Whether it was so.
    pub met: bool,
    /// Where it is in the script.
    pub place: Place,
}

/// A place in a script; both from 1, 0 where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl From<Position> for Place {
    fn from(position: Position) -> Self {
        Self {
            line: position.line().unwrap_or(0),
            column: position.position().unwrap_or(0),
        }
    }
}

impl Place {
    /// The place with its file, as compilers write it.
    pub fn in_file(&self, name: &str) -> String {
        match self {
            Self { line: 0, .. } => name.to_owned(),
            Self { line, column } => format!("{name}:{line}:{column}"),
        }
    }
}

/// Why a script ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// Where.
    pub place: Place,
    /// The code of ghyll's refusal, `script-limit-exceeded`, or
    /// `script-failed` for anything else.
    pub code: String,
    /// In words; a refusal of ghyll's reads `error[<code>]: …`.
    pub message: String,
}

/// The code of what goes beyond [`Limits`].
const LIMIT: &str = "script-limit-exceeded";
/// The most that is said of an error, in bytes.
const MESSAGE_MAX: usize = 1024;

/// The beginning of what `said` writes, which may be more than there is room
/// for: a script can throw anything.
fn short(said: impl Display) -> String {
    struct Short(String);
    impl std::fmt::Write for Short {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let room = MESSAGE_MAX.saturating_sub(self.0.len());
            let fits = text
                .get(..text.floor_char_boundary(room))
                .unwrap_or_default();
            self.0.push_str(fits);
            match fits.len() == text.len() {
                true => Ok(()),
                false => Err(std::fmt::Error),
            }
        }
    }
    let mut short = Short(String::new());
    if std::fmt::write(&mut short, format_args!("{said}")).is_err() {
        short.0.push('…');
    }
    short.0
}

/// What the calls of one script share.
struct Host {
    root: PathBuf,
    policy: Arc<Policy>,
    clock: Arc<dyn Clock>,
    bus: Arc<Bus>,
    log: Arc<dyn Fn(&str) + Send + Sync>,
    guard: Arc<Guard>,
    /// `None` after a restart that failed.
    session: Mutex<Option<Arc<Attended>>>,
    /// Whether a question is open.
    in_modal: AtomicBool,
    /// Which of the answering functions the script has.
    answers: OnceLock<modal::Answers>,
    /// The session's chat with the script's model.
    chat: Mutex<Chat>,
    expectations: Mutex<Vec<Expectation>>,
    events: Arc<Mutex<Vec<&'static str>>>,
}

impl Stage {
    /// Runs one script in a session of its own.
    ///
    /// # Errors
    /// If no session can be opened, which says nothing about the script.
    pub fn run(&self, source: &str) -> Result<Report, SessionError> {
        let started = Instant::now();
        let guard = Arc::new(Guard::new(self.limits, started, self.heap));
        let bus = Arc::new(Bus::default());
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&events);
        bus.subscribe(move |event| {
            heard
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.kind());
        });
        let host = Host {
            root: self.root.clone(),
            policy: Arc::clone(&self.policy),
            clock: Arc::clone(&self.clock),
            bus,
            log: Arc::clone(&self.log),
            guard,
            session: Mutex::new(None),
            in_modal: AtomicBool::new(false),
            answers: OnceLock::new(),
            chat: Mutex::new(Chat::in_memory()),
            expectations: Mutex::default(),
            events,
        };
        host.open(None)?;
        let host = Arc::new(host);
        let source = source::without_bom(source);
        // A thread of its own, for its stack; and a panic ends there.
        let error = std::thread::scope(|scope| {
            let run = || run(&host, source).err();
            match std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, run)
            {
                Ok(thread) => thread.join().unwrap_or_else(|_| {
                    Some(ScriptError::at(
                        Position::NONE,
                        "script-failed",
                        "the interpreter panicked",
                    ))
                }),
                Err(e) => Some(ScriptError::at(Position::NONE, "script-failed", e)),
            }
        });
        host.close();
        host.guard.let_go();
        let expectations = std::mem::take(
            &mut *host
                .expectations
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        Ok(Report {
            expectations,
            error,
            took: started.elapsed(),
        })
    }
}

fn run(host: &Arc<Host>, source: &str) -> Result<(), ScriptError> {
    let mut engine = engine::sandbox(&host.guard, &host.log);
    calls::register(&mut engine, host);
    let ast = engine
        .compile(source)
        .map_err(|e| ScriptError::parse(&e, &host.guard))?;
    let answers = modal::Answers::of(&ast)?;
    host.answers.get_or_init(|| answers);
    run_ast(&engine, &ast)
}

fn run_ast(engine: &rhai::Engine, ast: &AST) -> Result<(), ScriptError> {
    engine
        .run_ast(ast)
        .map_err(|error| ScriptError::from_rhai(*error))
}

impl Host {
    /// Opens a session, for the operator `op_id`.
    fn open(&self, op_id: Option<&str>) -> Result<(), SessionError> {
        let session = Attended::open(
            Project::open(&self.root)?,
            Arc::clone(&self.policy),
            Arc::clone(&self.clock),
            Arc::clone(&self.bus),
        )?;
        session.set_op_id(op_id)?;
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(session));
        Ok(())
    }

    /// Lets go of the session; nothing more than dropping it.
    fn close(&self) {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    fn session(&self) -> Result<Arc<Attended>, Fault> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session
            .clone()
            .ok_or_else(|| Fault::new("session-closed", "the restart failed"))
    }
}

impl ScriptError {
    fn at(position: Position, code: &str, message: impl Display) -> Self {
        Self {
            place: position.into(),
            code: code.to_owned(),
            message: short(message),
        }
    }

    fn parse(error: &rhai::ParseError, guard: &Guard) -> Self {
        let kind = error.err_type();
        let beyond = matches!(
            kind,
            ParseErrorType::LiteralTooLarge(..)
                | ParseErrorType::TooManyFunctions
                | ParseErrorType::ExprTooDeep
        );
        let code = match beyond || guard.exceeded().is_some() {
            true => LIMIT,
            false => "script-failed",
        };
        Self::at(error.position(), code, kind)
    }

    /// Where it began and what was wrong there.
    fn from_rhai(mut error: EvalAltResult) -> Self {
        let mut position = error.position();
        while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) = error {
            error = *inner;
            if !error.position().is_none() {
                position = error.position();
            }
        }
        let _ = error.take_position();
        match &error {
            EvalAltResult::ErrorRuntime(thrown, _) => {
                if let Some(fault) = thrown.read_lock::<Fault>() {
                    return Self::at(position, &fault.code, &*fault);
                }
                match thrown.is_unit() {
                    true => Self::at(position, "script-failed", "thrown"),
                    false => Self::at(position, "script-failed", thrown),
                }
            }
            EvalAltResult::ErrorTerminated(why, _) => Self::at(position, LIMIT, why),
            EvalAltResult::ErrorTooManyOperations(_)
            | EvalAltResult::ErrorTooManyVariables(_)
            | EvalAltResult::ErrorStackOverflow(_)
            | EvalAltResult::ErrorDataTooLarge(..) => Self::at(position, LIMIT, &error),
            _ => Self::at(position, "script-failed", &error),
        }
    }
}
