//! `ghyll init` and `ghyll init attest`.

mod import;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ghyll::db::{Db, ENGINE_DB};
use ghyll::git_files::{self, Done, GitFile};
use ghyll::grid::{self, Grid, SCHEMA_FILE, SKELETON};
use ghyll::policy::Policy;
use ghyll::project::{Project, ProjectError};
use ghyll::session::Via;
use serde_json::json;

use super::grid::read;
use crate::cli::output::clean;
use crate::cli::{Common, Failure, Output, op_id};

/// The grid of the sample project.
const EXAMPLE: &str = include_str!(concat!(env!("GHYLL_SAMPLE"), "/.ghyll/grid.v1.yaml"));

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InitArgs {
    #[command(subcommand)]
    command: Option<InitCommand>,
    /// Who starts the project
    #[arg(long, value_name = "ID")]
    op_id: Option<String>,
    /// Start with this grid instead of a skeleton; - for what is piped in
    #[arg(long, value_name = "FILE", conflicts_with_all = ["example", "git"])]
    grid: Option<PathBuf>,
    /// Start with the grid of the sample shop
    #[arg(long, conflicts_with = "git")]
    example: bool,
    /// Only write what git needs to know, in a project that has not got it
    #[arg(long, conflicts_with = "op_id")]
    git: bool,
    /// Take over a project of the earlier Go design, which stays as it is
    ///
    /// With --grid, that is the grid in force, and only records are taken from
    /// the old project.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["example", "git"])]
    import: Option<PathBuf>,
}

#[derive(Subcommand)]
enum InitCommand {
    /// One on-the-spot record per arrow, attested by `init`
    Attest {
        /// Who answers for it [default: GHYLL_OP_ID, else git's ghyll.op-id]
        #[arg(long, value_name = "ID")]
        op_id: Option<String>,
    },
}

pub fn run(common: &Common, out: &Output, args: &InitArgs) -> Result<u8, Failure> {
    match &args.command {
        Some(InitCommand::Attest { op_id }) => attest(common, out, op_id.as_deref()),
        None if args.git => git(common, out),
        None if args.import.is_some() => import::run(common, out, args),
        None => init(common, out, args),
    }
}

/// Makes the project, or says what to do with the one that is there.
fn create(common: &Common) -> Result<Project, Failure> {
    let root = common.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    Project::create(&root).map_err(|error| match error {
        ProjectError::Initialised(_) => Failure::new(
            error.code(),
            format!(
                "{error}\n\
                 `ghyll grid next FILE` brings another grid into force\n\
                 `ghyll init attest --op-id ID` attests its beginning\n\
                 `ghyll init --git` writes what git needs to know\n\
                 of the earlier Go design? `mv .ghyll .ghyll-go`, then `ghyll init --import .ghyll-go`"
            ),
        ),
        error => error.into(),
    })
}

/// What every project has beside its grid.
fn furnish(project: &Project) -> Result<Vec<GitFile>, Failure> {
    let files = git_files::write(project.ghyll()).map_err(git_failure)?;
    grid::write_schema(project.ghyll())
        .map_err(|error| Failure::new("grid-write-failed", format!("{SCHEMA_FILE}: {error}")))?;
    Ok(files)
}

fn init(common: &Common, out: &Output, args: &InitArgs) -> Result<u8, Failure> {
    if let Some(op_id) = &args.op_id {
        Policy::load()?.validate_op_id(op_id)?;
    }
    let (text, name) = match &args.grid {
        Some(file) => read(file)?,
        None if args.example => (EXAMPLE.to_owned(), Path::new("grid.v1.yaml")),
        None => (SKELETON.to_owned(), Path::new("grid.v1.yaml")),
    };
    // Judged before anything is made.
    let text = Grid::numbered(&text, 1, name)?;
    let grid = Grid::parse(&text, 1, name)?;
    let project = create(common)?;
    let _lock = project.lock("init")?;
    // The pointer comes last: with it, the project is one.
    let files = furnish(&project)?;
    Grid::write(project.ghyll(), 1, &text)?;
    Db::open(&project.path_of(ENGINE_DB))?;

    let path = project.path_of("grid.v1.yaml").display().to_string();
    if out.json() {
        out.value(&json!({
            "grid": path, "grid_version": 1, "arrows": grid.arrows.len(), "git": files,
        }))?;
    } else {
        let arrows = grid.arrows.len();
        let s = if arrows == 1 { "" } else { "s" };
        out.line(format!("{}: {arrows} arrow{s}", clean(&path)))?;
    }
    match &args.op_id {
        Some(op_id) => out.note(format!("next: ghyll init attest --op-id {}", clean(op_id))),
        None if args.grid.is_none() && !args.example => out.note(
            "next: say in a copy of it what your project hands over, then ghyll grid next FILE",
        ),
        None => {}
    }
    Ok(0)
}

/// Writes git's files in a project that is there already.
fn git(common: &Common, out: &Output) -> Result<u8, Failure> {
    let project = common.project()?;
    let _lock = project.lock("init --git")?;
    let files = git_files::write(project.ghyll()).map_err(git_failure)?;
    if out.json() {
        out.value(&json!({ "git": files }))?;
    } else {
        for GitFile { name, done, added } in &files {
            let path = clean(&project.path_of(name).to_string_lossy());
            match done {
                Done::Written => out.line(format!("{path}: written"))?,
                Done::Nothing => out.line(format!("{path}: nothing is missing"))?,
                Done::Extended => {
                    out.line(format!("{path}: put in what was missing:"))?;
                    for line in added {
                        out.line(format!("  {line}"))?;
                    }
                }
            }
        }
    }
    if files.iter().any(|file| file.done != Done::Nothing) {
        out.note("next: git add --renormalize .ghyll; and commit");
    }
    Ok(0)
}

fn git_failure(error: git_files::GitFileError) -> Failure {
    Failure::new(error.code(), &error)
}

fn attest(common: &Common, out: &Output, given: Option<&str>) -> Result<u8, Failure> {
    let session = common.session(out)?;
    let op_id = op_id::needed(given, session.project().root())?;
    let made = session.init_attest(&op_id, Via::Command)?;
    let arrows = session.grid().arrows.len();
    if out.json() {
        out.value(&serde_json::json!({ "recorded": made, "arrows": arrows }))?;
    } else {
        out.line(format!(
            "{made} recorded, {} were there already",
            arrows - made
        ))?;
    }
    Ok(0)
}
