//! `ghyll arrow list` and `ghyll arrow show`.

use clap::Subcommand;
use ghyll::engine::{ENGINE_DB, EngineDb};
use ghyll::grid::{Arrow, Eval, Grid};
use ghyll::policy::Policy;
use ghyll::session::find_arrow;
use ghyll::status::{self, ArrowView, ClauseView};
use serde_json::{Value, json};

use super::output::{self, clean};
use super::{Common, Failure, Output};

#[derive(Subcommand)]
pub enum ArrowCommand {
    /// All arrows, one a line
    List,
    /// One arrow with its clauses
    Show {
        /// The arrow's id
        arrow: String,
    },
}

pub fn run(common: &Common, out: &Output, command: &ArrowCommand) -> Result<u8, Failure> {
    let project = common.project()?;
    let grid = Grid::read_active(project.ghyll())?;
    let policy = Policy::load()?;
    let db = EngineDb::open_read_only(&project.path_of(ENGINE_DB))?.unwrap_or(EngineDb::empty()?);
    let view = |arrow: &Arrow| db.read(|tx| status::arrow(tx, &policy, &grid, arrow));
    match command {
        ArrowCommand::List => {
            let mut rows = Vec::new();
            for arrow in &grid.arrows {
                let view = view(arrow)?;
                if out.json() {
                    rows.push(json!({
                        "id": arrow.id, "source_role": arrow.source_role,
                        "target_role": arrow.target_role, "adversary_role": arrow.adversary_role,
                        "context": arrow.context, "stratum": arrow.stratum,
                        "clauses": arrow.clauses.len(), "status": view.status.as_str(),
                    }));
                } else {
                    out.line(&headline(arrow, &view))?;
                }
            }
            if out.json() {
                out.value(&rows)?;
            }
        }
        ArrowCommand::Show { arrow } => {
            let arrow = find_arrow(&grid, arrow)?;
            let view = view(arrow)?;
            if out.json() {
                out.value(&value(arrow, &view))?;
            } else {
                print(out, arrow, &view)?;
            }
        }
    }
    Ok(0)
}

fn headline(arrow: &Arrow, view: &ArrowView) -> String {
    let adversary = arrow.adversary_role.as_deref();
    format!(
        "{}  {}  {} → {}{}  in {}, stratum {}",
        clean(&arrow.id),
        output::status(view.status.as_str()),
        clean(&arrow.source_role),
        clean(&arrow.target_role),
        adversary
            .map(|role| format!(" (adversary {})", clean(role)))
            .unwrap_or_default(),
        clean(&arrow.context),
        clean(&arrow.stratum),
    )
}

fn value(arrow: &Arrow, view: &ArrowView) -> Value {
    let clauses: Vec<Value> = arrow
        .clauses
        .iter()
        .zip(&view.clauses)
        .map(|(clause, view)| {
            json!({
                "id": clause.id,
                "eval": eval(&clause.eval),
                "status": view.status.as_str(),
                "round": view.round,
                "concept": clause.concept,
                "depth": clause.depth,
                "min_tier": clause.min_tier,
                "deeper": view.deeper,
                "attestation_ref": view.attestation_ref,
                "verdict": view.newest.as_ref().map(|row| row.rec.verdict.clone()),
                "open_findings": view.open_findings,
                "detail": view.run.as_ref().map(|run| run.detail.clone()),
            })
        })
        .collect();
    json!({
        "id": arrow.id,
        "status": view.status.as_str(),
        "source_role": arrow.source_role,
        "target_role": arrow.target_role,
        "adversary_role": arrow.adversary_role,
        "context": arrow.context,
        "stratum": arrow.stratum,
        "clauses": clauses,
    })
}

/// Prints an arrow with its clauses.
pub fn print(out: &Output, arrow: &Arrow, view: &ArrowView) -> Result<(), Failure> {
    out.line(&headline(arrow, view))?;
    for (clause, view) in arrow.clauses.iter().zip(&view.clauses) {
        out.line(&format!(
            "  {}  {}  {}: {}",
            clean(&clause.id),
            output::status(view.status.as_str()),
            eval(&clause.eval),
            clean(&clause.concept),
        ))?;
        for word in remarks(view) {
            out.line(&format!("      {word}"))?;
        }
    }
    Ok(())
}

fn remarks(view: &ClauseView) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(row) = &view.newest {
        words.push(format!(
            "round {}: {} by {}",
            row.round,
            output::status(&row.rec.verdict),
            clean(&row.rec.op_id)
        ));
    }
    if view.pending.is_some() {
        words.push(format!(
            "round {} is asked: {}",
            view.round,
            clean(&view.attestation_ref)
        ));
    }
    if let Some(run) = &view.run {
        words.push(clean(run.detail.lines().next().unwrap_or_default()));
    }
    if view.deeper > 0 {
        words.push(format!(
            "routed upstream: a tier {} deeper is asked for",
            view.deeper
        ));
    }
    if view.open_findings > 0 {
        words.push(format!("open findings: {}", view.open_findings));
    }
    words
}

fn eval(eval: &Eval) -> &'static str {
    match eval {
        Eval::Attested => "attested",
        Eval::Machine { .. } => "machine",
    }
}
