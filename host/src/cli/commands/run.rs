//! `ghyll run`: an operator's session on a project.

use ghyll::modal::Attended;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ghyll::model::Chat;
use ghyll::model::transcript::TranscriptError;
use ghyll::runtime::signals::AtWork;
use ghyll::session::Session;
use ghyll::text::count;

use crate::cli::output::clean;
use crate::cli::reader::{History, LineReader, PlainReader, TerminalReader};
use crate::cli::repl::{Recorder, Repl};
use crate::cli::tty::{GiveBack, QuietTerminal, leave_on_signals};
use crate::cli::{Common, Failure, Output, op_id};

#[derive(Args)]
pub struct RunArgs {
    /// Who answers, until /op-id says otherwise [default: GHYLL_OP_ID, else git's
    /// ghyll.op-id]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    op_id: Option<String>,
    /// Write the session as a script that `ghyll replay` runs
    #[arg(long, value_name = "FILE.rhai")]
    record: Option<PathBuf>,
    /// Go on with the newest chat
    #[arg(long)]
    resume: bool,
}

/// How a session is held.
#[derive(Debug, Default)]
pub struct ReplOptions {
    /// Who answers at first.
    pub op_id: Option<String>,
    /// Where the session is written as a script.
    pub record: Option<PathBuf>,
    /// Whether the newest chat is gone on with.
    pub resume: bool,
    /// What is said before anything else.
    pub guide: Option<String>,
}

pub fn run(common: &Common, out: &Output, args: RunArgs) -> Result<u8, Failure> {
    let session = common.open_session()?;
    let options = ReplOptions {
        op_id: op_id::of(args.op_id.as_deref(), session.project().root()),
        record: args.record,
        resume: args.resume,
        guide: None,
    };
    repl(session, out, options)
}

/// Holds a session with whoever is at standard input, until they leave.
pub fn repl(session: Attended, out: &Output, options: ReplOptions) -> Result<u8, Failure> {
    out.hears(session.bus());
    if let Some(op_id) = &options.op_id {
        session.set_op_id(Some(op_id))?;
    }
    let recorder = match &options.record {
        Some(file) => Some(Recorder::create(file, &session)?),
        None => None,
    };
    let terminal = Arc::new(QuietTerminal::default());
    let at_work = Arc::new(AtWork::default());
    // Before the terminal is touched, so that it is given back whatever comes.
    leave_on_signals(Arc::clone(&terminal), Arc::clone(&at_work));
    let _give_back = GiveBack(&terminal);
    let reader: Box<dyn LineReader + '_> = if can_edit() {
        terminal.quiet();
        let lent = Arc::clone(&terminal);
        out.lends_terminal(move |lend| match lend {
            true => lent.restore(),
            false => lent.quiet(),
        });
        let history = History::of(session.project().ghyll());
        Box::new(TerminalReader::new(history, Arc::clone(&terminal))?)
    } else {
        Box::new(PlainReader::stdin(out))
    };
    if let Some(guide) = &options.guide {
        out.notes(guide);
    }
    let mut repl = Repl::new(&session, out, reader, recorder);
    repl.may_be(op_id::offered(session.project().root()));
    repl.share(terminal.as_ref(), at_work.as_ref());
    repl.go_on_with(chat(&session, out, options.resume)?);
    repl.run()
}

/// The session's chat: a new one, or the newest of the project again.
fn chat(session: &Session, out: &Output, resume: bool) -> Result<Chat, Failure> {
    let failed =
        |error: TranscriptError| Failure::new(error.code(), format!("{error}\n{}", error.hint()));
    let mut chat = Chat::new(session).map_err(failed)?;
    if !resume {
        return Ok(chat);
    }
    match chat.resume().map_err(failed)? {
        None => out.note("There is no chat to go on with; this is a new one."),
        Some(resumed) => {
            let turns = count(resumed.turns.len(), "turn");
            out.note(format!("Going on with {}: {turns}.", clean(&resumed.path)));
            if resumed.torn > 0 {
                out.note("note: its last turn was cut off by a crash, and is gone");
            }
            if resumed.unreadable > 0 {
                let lines = count(resumed.unreadable, "line");
                out.note(format!("note: {lines} of it cannot be read, and stay"));
            }
        }
    }
    Ok(chat)
}

/// Whether lines can be edited: a terminal at both ends, and not a dumb one.
fn can_edit() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb
}
