//! `ghyll engine …`: the audit tree and what is derived from it.

use clap::Subcommand;
use ghyll::engine::{ENGINE_DB, EngineDb};
use ghyll::grid::Grid;
use serde_json::json;

use super::{Common, Failure, Output};

#[derive(Subcommand)]
pub enum EngineCommand {
    /// What there is, in numbers
    Status,
}

pub fn run(common: &Common, out: &Output, command: &EngineCommand) -> Result<u8, Failure> {
    match command {
        EngineCommand::Status => status(common, out),
    }
}

fn status(common: &Common, out: &Output) -> Result<u8, Failure> {
    let project = common.project()?;
    let grid = Grid::read_active(project.ghyll())?;
    let db = EngineDb::open_read_only(&project.path_of(ENGINE_DB))?;
    let missing = db.is_none();
    let db = db.unwrap_or(EngineDb::empty()?);
    let (attestations, pending, passes, findings) = db.read(|tx| {
        Ok::<_, Failure>((
            tx.row_count()?,
            tx.pending_count()?,
            tx.pass_counts()?,
            tx.open_finding_count()?,
        ))
    })?;
    let [open, closed, aborted] = passes;
    let state = if missing {
        "missing"
    } else if attestations == 0 && open + closed + aborted == 0 {
        "empty"
    } else {
        "present"
    };
    if out.json() {
        out.value(&json!({
            "state": state,
            "grid_version": grid.version,
            "arrows": grid.arrows.len(),
            "attestations": attestations,
            "pending": pending,
            "passes": { "open": open, "closed": closed, "aborted": aborted },
            "findings": { "open": findings },
            "locked_by": project.locked_by(),
        }))?;
        return Ok(0);
    }
    out.line(&format!("engine database  {state}"))?;
    out.line(&format!(
        "grid             v{}, {} arrows",
        grid.version,
        grid.arrows.len()
    ))?;
    out.line(&format!("attestations     {attestations}"))?;
    out.line(&format!("pending          {pending}"))?;
    out.line(&format!(
        "passes           {open} open, {closed} closed, {aborted} aborted"
    ))?;
    out.line(&format!("findings         {findings} open"))?;
    if let Some(pid) = project.locked_by() {
        out.line(&format!("session          pid {pid}"))?;
    }
    Ok(0)
}
