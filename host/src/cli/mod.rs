//! The command line: one file per group of commands, and [`output`], through
//! which everything printed goes.
//!
//! Exit codes: 0 done; 1 the answer is no; 2 wrong usage; 3 refused, or the
//! project is broken.

mod commands;
mod completions;
mod desk;
mod failure;
mod help;
mod op_id;
mod output;
mod reader;
mod repl;
mod tty;

use ghyll::modal::Attended;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use ghyll::bus::Bus;
use ghyll::clock::SystemClock;
use ghyll::policy::Policy;
use ghyll::project::{GHYLL_DIR, Project, ProjectError};
use ghyll::runtime::signals::{self, Ending, Heard};
use ghyll::view::View;

use commands::lists::{self, List};
use commands::{
    arrows, attest, attestations, check, component, demo, dispatch, engine, explain, grid, init,
    man, mcp, replay, run, show, status, subject,
};
use failure::{Failure, REFUSED, USAGE};
use output::Output;

/// The answer is no: not complete, not verified, an expectation failed.
const NO: u8 = 1;

/// A named human answers for work that AI agents deliver.
#[derive(Parser)]
#[command(name = "ghyll", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Args, Default)]
struct Common {
    /// The project [default: the nearest parent with a .ghyll]
    #[arg(long, global = true, value_name = "PROJECT")]
    dir: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true)]
    json: bool,
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Tell what ghyll does, as far as FILTER says, e.g. debug or ghyll=trace
    /// [env: GHYLL_LOG]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    /// Show everything on a sample project in a temporary directory
    Demo,
    /// Write the first grid of a project, or attest its beginning
    Init(init::InitArgs),
    /// Hold a session: what is pending is asked, and commands are taken
    Run(run::RunArgs),
    /// Run operator scripts
    Replay(replay::ReplayArgs),
    /// Traverse an arrow: decide its machine clauses, ask for the others
    Dispatch(dispatch::DispatchArgs),
    /// Put one verdict on record
    Attest(attest::AttestArgs),
    /// The arrows of the grid and where they stand
    Arrow {
        #[command(subcommand)]
        command: arrows::ArrowCommand,
    },
    /// The verdicts on record, newest last
    Attestations(attestations::ListArgs),
    /// One verdict, whole
    Show(show::ShowArgs),
    /// Where everything stands, and what to type next
    Status,
    /// Whether work may go on: the gate for CI
    Check(check::CheckArgs),
    /// What waits for an operator, oldest first
    Pending,
    /// The defects found, newest last
    Findings,
    /// The traversals of arrows, newest last
    Passes,
    /// One traversal
    Pass {
        #[command(subcommand)]
        command: lists::PassCommand,
    },
    /// Judge, show, compare and change what the project declares
    Grid {
        #[command(subcommand)]
        command: grid::GridCommand,
    },
    /// The audit tree and what is derived from it
    Engine {
        #[command(subcommand)]
        command: engine::EngineCommand,
    },
    /// The files a verdict is about: as they are now, as they were judged, or
    /// what lies between
    Subject(subject::SubjectArgs),
    /// The embedded policy component
    Component {
        /// Write the component itself to a file
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Serve agents on standard input and output (Model Context Protocol)
    Mcp,
    /// What a code means, and what to do about it
    Explain {
        /// The code; all are listed without one
        code: Option<String>,
    },
    /// Write the manual: one page a command, or print the first
    Man {
        /// Where the pages go
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    completions::answer(help::command);
    output::tell_panics();
    let matches = match help::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return ExitCode::from(output::arguments(&error)),
    };
    if let Some(topic) = help::asked(&matches) {
        return ExitCode::from(explain_topic(topic));
    }
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(output::arguments(&error)),
    };
    let heard = cli.command.as_ref().map_or(Heard::Limits, Command::hears);
    let out = Arc::new(Output::new(&cli.common));
    let done = log(&cli.common)
        .and_then(|()| listen(heard, &out))
        .and_then(|()| execute(cli, &out));
    signals::finish(match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit)
        }
    })
}

/// Explains a topic; the exit code.
fn explain_topic(topic: &str) -> u8 {
    let out = Output::new(&Common::default());
    help::topic(&out, topic).unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit
    })
}

/// Hears signals; on those that end the process somebody is told why.
fn listen(heard: Heard, out: &Arc<Output>) -> Result<(), Failure> {
    let out = Arc::clone(out);
    signals::before_leaving(move |leaving| {
        leaving.wait_for_main();
        if leaving.ending == Ending::CpuTime {
            let message = "the processor time that ghyll may use is over";
            out.failure(&Failure::new("cpu-time-exceeded", message));
        }
    });
    match signals::hear(heard) {
        // Without it a limit ends the process as it would any other.
        Err(_) if heard == Heard::Limits => Ok(()),
        heard => heard.map_err(|e| Failure::new("signals-unheard", e)),
    }
}

impl Command {
    /// What runs commands, or a session, ends them before it ends itself.
    fn hears(&self) -> Heard {
        match self {
            Self::Demo
            | Self::Run(_)
            | Self::Replay(_)
            | Self::Dispatch(_)
            | Self::Mcp
            | Self::Check(_) => Heard::All,
            _ => Heard::Limits,
        }
    }
}

/// Tells what `--log`, else `GHYLL_LOG`, asks to be told; errors in any case.
fn log(common: &Common) -> Result<(), Failure> {
    use tracing_subscriber::Layer;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    let asked = match &common.log {
        Some(filter) => filter.clone(),
        None => std::env::var("GHYLL_LOG").unwrap_or_default(),
    };
    let filter = match asked.trim() {
        "" => "error",
        asked => asked,
    };
    let filter: Targets = filter.parse().map_err(|e| {
        let message = format!("{filter:?} is no filter: {e}");
        Failure {
            exit: failure::USAGE,
            ..Failure::new(ghyll::codes::LOG_FILTER_INVALID, message)
        }
    })?;
    let told = tracing_subscriber::fmt::layer()
        .with_writer(output::clean_stderr)
        .with_ansi(false)
        .without_time();
    tracing_subscriber::registry()
        .with(told.with_filter(filter))
        .init();
    Ok(())
}

/// Without a command: the overview of a project, or what there is.
fn alone(common: &Common, out: &Output) -> Result<u8, Failure> {
    match common.project() {
        Ok(_) => status::run(common, out),
        Err(_) => {
            out.notes(&help::command().render_help().to_string());
            Ok(USAGE)
        }
    }
}

fn execute(cli: Cli, out: &Output) -> Result<u8, Failure> {
    let common = &cli.common;
    let Some(command) = cli.command else {
        return alone(common, out);
    };
    match command {
        Command::Demo => demo::run(out),
        Command::Init(args) => init::run(common, out, &args),
        Command::Run(args) => run::run(common, out, args),
        Command::Replay(args) => replay::run(common, out, &args),
        Command::Dispatch(args) => dispatch::run(common, out, &args),
        Command::Attest(args) => attest::run(common, out, &args),
        Command::Arrow { command } => arrows::run(common, out, &command),
        Command::Attestations(args) => attestations::run(common, out, &args),
        Command::Show(args) => show::run(common, out, &args),
        Command::Status => status::run(common, out),
        Command::Check(args) => check::run(common, out, &args),
        Command::Pending => lists::run(common, out, List::Pending),
        Command::Findings => lists::run(common, out, List::Findings),
        Command::Passes => lists::run(common, out, List::Passes),
        Command::Pass { command } => lists::pass(common, out, &command),
        Command::Grid { command } => grid::run(common, out, &command),
        Command::Engine { command } => engine::run(common, out, &command),
        Command::Subject(args) => subject::run(common, out, &args),
        Command::Component { output } => component::run(out, output.as_deref()),
        Command::Mcp => mcp::run(common),
        Command::Explain { code } => explain::run(out, code.as_deref()),
        Command::Man { dir } => man::run(out, help::command(), dir.as_deref()),
        Command::Completions { shell } => completions::script(out, shell),
    }
}

impl Common {
    fn project(&self) -> Result<Project, Failure> {
        match (Project::find(self.dir.as_deref()), &self.dir) {
            // Where it is named, parents are not looked at; nor is that said.
            (Err(error @ ProjectError::NotFound(_)), Some(dir)) => {
                let message = format!("there is no .ghyll in {}", dir.display());
                let failure = Failure::new(error.code(), message);
                // One that is not there has parents all the same.
                let whole = dir.canonicalize().or_else(|_| std::path::absolute(dir));
                let mut above = whole.iter().flat_map(|whole| whole.ancestors());
                let parent = above.find(|p| p.join(GHYLL_DIR).is_dir());
                Err(match parent {
                    Some(parent) => failure
                        .with_hint(format!("{} has one: name it with --dir.", parent.display())),
                    None => failure,
                })
            }
            (found, _) => Ok(found?),
        }
    }

    /// The project as it is now, for who says what is wrong with the index.
    fn look(&self) -> Result<View, Failure> {
        Ok(View::open(self.project()?, Arc::new(Policy::load()?))?)
    }

    /// The project as it is now, to be read.
    fn view(&self, out: &Output) -> Result<View, Failure> {
        let view = self.look()?;
        if let Some(fault) = view.db_fault() {
            out.note(format!(
                "warning[{}]: {}; read from the tree instead",
                fault.code(),
                output::clean(&fault.to_string())
            ));
        }
        Ok(view)
    }

    /// A session for a command that changes something; what its start put
    /// right is told.
    fn session(&self, out: &Output) -> Result<Attended, Failure> {
        let session = self.open_session()?;
        for notice in session.notices() {
            out.note(format!("note: {notice}"));
        }
        out.hears(session.bus());
        Ok(session)
    }

    /// A session.
    fn open_session(&self) -> Result<Attended, Failure> {
        let project = self.project()?;
        let bus = Arc::new(Bus::default());
        let clock = Arc::new(SystemClock);
        Ok(Attended::open(
            project,
            Arc::new(Policy::load()?),
            clock,
            bus,
        )?)
    }
}
