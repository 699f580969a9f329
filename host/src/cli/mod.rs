//! The command line: one file per group of commands, and [`output`], through
//! which everything printed goes.
//!
//! Exit codes: 0 done; 1 the answer is no; 2 wrong usage; 3 refused, or the
//! project is broken.

mod arrows;
mod attest;
mod card;
mod component;
mod demo;
mod engine;
mod failure;
mod init;
mod output;
mod places;
mod reader;
mod repl;
mod replay;
mod run;
mod term;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use ghyll::bus::Bus;
use ghyll::clock::SystemClock;
use ghyll::engine::{ENGINE_DB, EngineDb};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Session, read_limits};
use ghyll::store::disk::CapDisk;
use ghyll::store::load::read_index;

use failure::Failure;
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
    command: Command,
}

#[derive(Args)]
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
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
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
    Dispatch {
        /// The arrow's id
        arrow: String,
    },
    /// Put one verdict on record
    Attest(attest::AttestArgs),
    /// The arrows of the grid and where they stand
    Arrow {
        #[command(subcommand)]
        command: arrows::ArrowCommand,
    },
    /// The verdicts on record, newest last
    Attestations {
        /// Only those on this arrow
        arrow: Option<String>,
    },
    /// The audit tree and what is derived from it
    Engine {
        #[command(subcommand)]
        command: engine::EngineCommand,
    },
    /// The embedded policy component
    Component {
        /// Write the component itself to a file
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::ERROR)
        .with_writer(output::clean_stderr)
        .with_ansi(false)
        .without_time()
        .init();
    let out = Output::new(&cli.common);
    match run(cli, &out) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if failure.code != failure::BROKEN_PIPE {
                out.failure(&failure);
            }
            ExitCode::from(failure.exit)
        }
    }
}

fn run(cli: Cli, out: &Output) -> Result<u8, Failure> {
    let common = &cli.common;
    match cli.command {
        Command::Demo => demo::run(out),
        Command::Init(args) => init::run(common, out, &args),
        Command::Run(args) => run::run(common, out, args),
        Command::Replay(args) => replay::run(common, out, &args),
        Command::Dispatch { arrow } => attest::dispatch(common, out, &arrow),
        Command::Attest(args) => attest::attest(common, out, &args),
        Command::Arrow { command } => arrows::run(common, out, &command),
        Command::Attestations { arrow } => attest::list(common, out, arrow.as_deref()),
        Command::Engine { command } => engine::run(common, out, &command),
        Command::Component { output } => component::run(out, output.as_deref()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ghyll", &mut script);
            out.raw(&script)?;
            Ok(0)
        }
    }
}

impl Common {
    fn project(&self) -> Result<Project, Failure> {
        Ok(Project::find(self.dir.as_deref())?)
    }

    /// A session for a command that changes something; what its start put
    /// right is told.
    fn session(&self, out: &Output) -> Result<Session, Failure> {
        let session = self.open_session()?;
        for notice in session.notices() {
            out.note(&format!("note: {}", output::clean(&notice.to_string())));
        }
        Ok(session)
    }

    /// A session.
    fn open_session(&self) -> Result<Session, Failure> {
        let project = self.project()?;
        let bus = Arc::new(Bus::default());
        let clock = Arc::new(SystemClock);
        Ok(Session::open(
            project,
            Arc::new(Policy::load()?),
            clock,
            bus,
        )?)
    }
}

/// The index to read from; made from the tree where there is no database.
fn index(project: &Project) -> Result<EngineDb, Failure> {
    if let Some(db) = EngineDb::open_read_only(&project.path_of(ENGINE_DB))? {
        return Ok(db);
    }
    let disk = CapDisk::new(project.ghyll())?;
    let limits = read_limits(project.ghyll());
    Ok(read_index(&Policy::load()?, limits, &disk)?)
}
