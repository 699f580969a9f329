//! `ghyll init` and `ghyll init attest`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ghyll::engine::{ENGINE_DB, EngineDb};
use ghyll::grid::Grid;
use ghyll::policy::Policy;
use ghyll::project::Project;

use super::output::clean;
use super::{Common, Failure, Output};

/// The grid a project starts with where none is given.
pub const STARTER_GRID: &str = include_str!("../../../scripts/sample/.ghyll/grid.v1.yaml");

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InitArgs {
    #[command(subcommand)]
    command: Option<InitCommand>,
    /// Who starts the project
    #[arg(long, value_name = "ID")]
    op_id: Option<String>,
    /// Start with this grid instead of the sample one
    #[arg(long, value_name = "FILE")]
    grid: Option<PathBuf>,
}

#[derive(Subcommand)]
enum InitCommand {
    /// One on-the-spot record per arrow, attested by `init`
    Attest {
        /// Who answers for it
        #[arg(long, value_name = "ID")]
        op_id: String,
    },
}

pub fn run(common: &Common, out: &Output, args: &InitArgs) -> Result<u8, Failure> {
    match &args.command {
        Some(InitCommand::Attest { op_id }) => attest(common, out, op_id),
        None => init(common, out, args),
    }
}

fn init(common: &Common, out: &Output, args: &InitArgs) -> Result<u8, Failure> {
    if let Some(op_id) = &args.op_id {
        Policy::load()?.validate_op_id(op_id)?;
    }
    let text = match &args.grid {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|e| Failure::new("grid-read-failed", format!("{}: {e}", file.display())))?,
        None => STARTER_GRID.to_owned(),
    };
    // Judged before anything is made.
    let grid = Grid::parse(
        &text,
        1,
        args.grid.as_deref().unwrap_or(Path::new("grid.v1.yaml")),
    )?;
    let root = common.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let project = Project::create(&root)?;
    let _lock = project.lock()?;
    Grid::write(project.ghyll(), 1, &text)?;
    EngineDb::open(&project.path_of(ENGINE_DB))?;

    let path = project.path_of("grid.v1.yaml").display().to_string();
    if out.json() {
        out.value(&serde_json::json!({
            "grid": path, "grid_version": 1, "arrows": grid.arrows.len(),
        }))?;
    } else {
        out.line(&format!("{}: {} arrows", clean(&path), grid.arrows.len()))?;
    }
    if let Some(op_id) = &args.op_id {
        out.note(&format!("next: ghyll init attest --op-id {}", clean(op_id)));
    }
    Ok(0)
}

fn attest(common: &Common, out: &Output, op_id: &str) -> Result<u8, Failure> {
    let session = common.session(out)?;
    let made = session.init_attest(op_id)?;
    let arrows = session.grid().arrows.len();
    if out.json() {
        out.value(&serde_json::json!({ "recorded": made, "arrows": arrows }))?;
    } else {
        out.line(&format!(
            "{made} recorded, {} were there already",
            arrows - made
        ))?;
    }
    Ok(0)
}
