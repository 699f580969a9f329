//! `ghyll run`: an operator's session on a project.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ghyll::session::Session;

use super::reader::{History, LineReader, PlainReader, TerminalReader};
use super::repl::tty::{AtWork, GiveBack, QuietTerminal, leave_on_signals};
use super::repl::{Recorder, Repl};
use super::{Common, Failure, Output};

#[derive(Args)]
pub struct RunArgs {
    /// Who answers, until /op-id says otherwise
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    op_id: Option<String>,
    /// Write the session as a script that `ghyll replay` runs
    #[arg(long, value_name = "FILE.rhai")]
    record: Option<PathBuf>,
}

/// How a session is held.
#[derive(Debug, Default)]
pub struct ReplOptions {
    /// Who answers at first.
    pub op_id: Option<String>,
    /// Where the session is written as a script.
    pub record: Option<PathBuf>,
    /// What is said before anything else.
    pub guide: Option<String>,
}

pub fn run(common: &Common, out: &Output, args: RunArgs) -> Result<u8, Failure> {
    let session = common.open_session()?;
    let options = ReplOptions {
        op_id: args.op_id,
        record: args.record,
        guide: None,
    };
    repl(session, out, options)
}

/// Holds a session with whoever is at standard input, until they leave.
pub fn repl(session: Session, out: &Output, options: ReplOptions) -> Result<u8, Failure> {
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
    leave_on_signals(Arc::clone(&terminal), Arc::clone(&at_work))?;
    let _give_back = GiveBack(&terminal);
    let reader: Box<dyn LineReader + '_> = if can_edit() {
        terminal.quiet();
        let history = History::of(session.project().ghyll());
        Box::new(TerminalReader::new(history, Arc::clone(&terminal))?)
    } else {
        Box::new(PlainReader::stdin(out))
    };
    if let Some(guide) = &options.guide {
        out.note(guide);
    }
    let mut repl = Repl::new(&session, out, reader, recorder);
    repl.share(terminal.as_ref(), at_work.as_ref());
    repl.run()?;
    Ok(0)
}

/// Whether lines can be edited: a terminal at both ends, and not a dumb one.
fn can_edit() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb
}
