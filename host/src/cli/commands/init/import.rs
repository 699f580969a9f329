//! `ghyll init --import DIR`: what was taken over, and what was not.

use std::path::Path;

use ghyll::import::{ImportError, Left, Plan};
use ghyll::policy::Policy;
use ghyll::text::count;
use serde_json::json;

use super::{InitArgs, create, furnish, read};
use crate::cli::output::clean;
use crate::cli::{Common, Failure, Output};

pub fn run(common: &Common, out: &Output, args: &InitArgs) -> Result<u8, Failure> {
    let policy = Policy::load()?;
    if let Some(op_id) = &args.op_id {
        policy.validate_op_id(op_id)?;
    }
    let dir = args.import.as_deref().unwrap_or(Path::new("."));
    let text = args.grid.as_deref().map(read).transpose()?;
    let decided = text.as_ref().map(|(text, file)| (text.as_str(), *file));
    let plan = Plan::make(dir, &policy, decided)?;
    if !plan.is_decided() {
        return undecided(out, &plan, dir);
    }
    let project = create(common)?;
    let lock = project.lock("init --import")?;
    let files = furnish(&project)?;
    plan.apply(&project)?;
    drop(lock);

    let records = plan.records();
    if out.json() {
        out.value(&json!({
            "ok": true, "grid_version": plan.active, "grids": plan.versions, "records": records,
            "undecided": plan.undecided, "left": plan.left, "git": files,
        }))?;
    } else {
        for version in &plan.versions {
            let path = project.path_of(&ghyll::grid::Grid::file_name(version.version));
            let path = clean(&path.to_string_lossy());
            out.line(format!("{path}: {}", count(version.arrows, "arrow")))?;
        }
        out.line(format!(
            "{} taken byte for byte",
            count(records.tree, "record")
        ))?;
        if records.flat_only > 0 {
            let told = count(records.flat_only, "record");
            out.line(format!(
                "{told} of before the tree, which decide nothing, kept"
            ))?;
        }
        list(out, "not in the grid, or in its comments:", &plan.undecided)?;
        list(out, "not taken:", &plan.left)?;
    }
    if !plan.undecided.is_empty() {
        out.note("next: decide what stands in comments, in a copy, then ghyll grid next FILE");
    }
    out.note("next: ghyll init attest --op-id ID attests the grid as it is now");
    // The first session makes the index of what was taken.
    common.session(out)?;
    Ok(0)
}

/// Nothing is written, but what there is of a grid is handed out.
fn undecided(out: &Output, plan: &Plan, dir: &Path) -> Result<u8, Failure> {
    if out.json() {
        out.value(&json!({
            "ok": false, "grid_version": plan.active, "draft": plan.draft,
            "records": plan.records(), "undecided": plan.undecided, "left": plan.left,
        }))?;
    } else {
        out.raw(plan.draft.as_bytes())?;
    }
    let version = plan.active;
    let error = ImportError::Undecided { version };
    let dir = dir.display();
    Err(Failure::new(
        error.code(),
        format!(
            "{error}; nothing was written. Decide what stands in comments:\n\
             ghyll init --import {dir} > draft.yaml\n\
             ghyll init --import {dir} --grid draft.yaml"
        ),
    ))
}

fn list(out: &Output, heading: &str, all: &[Left]) -> Result<(), Failure> {
    if all.is_empty() {
        return Ok(());
    }
    out.line(heading)?;
    for left in all {
        let line = match left.line {
            0 => String::new(),
            line => format!(":{line}"),
        };
        out.line(format!(
            "  {}{line}: {}: {}: {}",
            clean(&left.path),
            clean(&left.what),
            clean(&left.code),
            clean(&left.message)
        ))?;
    }
    Ok(())
}
