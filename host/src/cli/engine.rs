//! `ghyll engine …`: the audit tree and what is derived from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use ghyll::checkpoint::Checkpoint;
use ghyll::clock::SystemClock;
use ghyll::engine::ENGINE_DB;
use ghyll::grid::Grid;
use ghyll::losses::AcceptedLosses;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::rebuild::rebuild;
use ghyll::session::{Preview, preview, read_limits};
use ghyll::store::disk::{CapDisk, Disk};
use ghyll::verify::{Issue, Report, verify};
use serde_json::json;

use super::output::clean;
use super::{Common, Failure, NO, Output};

/// Issues shown to a person; all are in the JSON.
const SHOWN: usize = 50;
/// The largest checkpoint that is read.
const CHECKPOINT_MAX: u64 = 256 << 20;

#[derive(Subcommand)]
pub enum EngineCommand {
    /// What there is, in numbers
    Status,
    /// What the next session would put right; changes nothing
    Recover,
    /// Read tree, flat file and index and report every problem; changes nothing
    VerifyAttestations {
        /// Also prove that nothing this checkpoint saw was removed or changed
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
    },
    /// Make the index anew from the tree
    RebuildIndex {
        /// Go on without what is lost or damaged, and record that you said so
        #[arg(long)]
        accept_loss: bool,
        /// Who accepts it
        #[arg(
            long,
            value_name = "ID",
            requires = "accept_loss",
            allow_hyphen_values = true
        )]
        op_id: Option<String>,
    },
    /// Print where every file of the tree stands, to be kept elsewhere
    ///
    /// Commit or sign it outside of .ghyll: with it, `verify-attestations
    /// --checkpoint FILE` proves that nothing older was removed or changed,
    /// even if everything in .ghyll was rewritten. `root` is the SHA-256 of the
    /// value of `files` as compact JSON, as printed.
    Checkpoint,
}

pub fn run(common: &Common, out: &Output, command: &EngineCommand) -> Result<u8, Failure> {
    match command {
        EngineCommand::Status => status(common, out),
        EngineCommand::Recover => recover(common, out),
        EngineCommand::VerifyAttestations { checkpoint } => {
            verify_attestations(common, out, checkpoint.as_deref())
        }
        EngineCommand::RebuildIndex { accept_loss, op_id } => {
            let op_id = accept_loss.then(|| op_id.as_deref().unwrap_or_default());
            rebuild_index(common, out, op_id)
        }
        EngineCommand::Checkpoint => checkpoint(common, out),
    }
}

fn look(
    out: &Output,
    project: &Project,
    checkpoint: Option<&Checkpoint>,
) -> Result<Report, Failure> {
    let policy = Policy::load()?;
    let limits = read_limits(project.ghyll());
    let mut progress = out.progress();
    Ok(verify(
        project,
        &policy,
        limits,
        checkpoint,
        &mut |done, total| progress.show(done, total),
    )?)
}

fn verify_attestations(
    common: &Common,
    out: &Output,
    checkpoint: Option<&Path>,
) -> Result<u8, Failure> {
    let project = common.project()?;
    let checkpoint = checkpoint.map(read_checkpoint).transpose()?;
    let report = look(out, &project, checkpoint.as_ref())?;
    let code = if report.ok { 0 } else { NO };
    if out.json() {
        out.value(&report)?;
        return Ok(code);
    }
    for issue in report.issues.iter().take(SHOWN) {
        out.line(&in_words(issue))?;
    }
    if let Some(more) = report.issues.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        out.line(&format!("and {more} more; --json has them all"))?;
    }
    for warning in report.warnings.iter().take(SHOWN) {
        out.line(&format!("warning: {}", in_words(warning)))?;
    }
    if let Some(more) = report.warnings.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        out.line(&format!("and {more} more warnings; --json has them all"))?;
    }
    out.line(&format!(
        "{}: {} records in {} files, {} in the flat file, {} indexed; {} issues, {} warnings{}",
        if report.ok {
            "verified"
        } else {
            "NOT verified"
        },
        report.tree.records,
        report.tree.files,
        report.flat.records,
        report.index.records,
        report.issues.len(),
        report.warnings.len(),
        match checkpoint {
            Some(_) => "; held against the checkpoint",
            None => "",
        }
    ))?;
    Ok(code)
}

fn in_words(issue: &Issue) -> String {
    let mut text = clean(&issue.path);
    if issue.line > 0 {
        text.push_str(&format!(":{}", issue.line));
    }
    text.push_str(&format!(
        ": {}: {}",
        clean(&issue.code),
        clean(&issue.message)
    ));
    if !issue.attestation_id.is_empty() {
        text.push_str(&format!(" ({})", clean(&issue.attestation_id)));
    }
    text
}

fn read_checkpoint(file: &Path) -> Result<Checkpoint, Failure> {
    use std::io::Read;
    let fail = |e| Failure::new("checkpoint-unreadable", format!("{}: {e}", file.display()));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(fail)?;
    opened
        .take(CHECKPOINT_MAX)
        .read_to_string(&mut text)
        .map_err(fail)?;
    Checkpoint::parse(&text).map_err(|e| Failure::new(e.code(), format!("{}: {e}", file.display())))
}

fn checkpoint(common: &Common, out: &Output) -> Result<u8, Failure> {
    let report = look(out, &common.project()?, None)?;
    let checkpoint = Checkpoint::take(&report).map_err(|e| Failure::new(e.code(), &e))?;
    // JSON with and without --json: it is made to be kept.
    out.value(&checkpoint)?;
    Ok(0)
}

fn rebuild_index(common: &Common, out: &Output, accept: Option<&str>) -> Result<u8, Failure> {
    let project = common.project()?;
    let policy = Policy::load()?;
    if let Some(op_id) = accept.filter(|op_id| !op_id.is_empty()) {
        policy.validate_op_id(op_id)?;
    }
    let mut progress = out.progress();
    let rebuilt = rebuild(
        &project,
        &policy,
        &SystemClock,
        accept,
        &mut |done, total| {
            progress.show(done, total);
        },
    );
    drop(progress);
    let rebuilt = rebuilt.map_err(|e| Failure::new(e.code(), &e))?;
    for notice in &rebuilt.notices {
        out.note(&clean(&notice.to_string()));
    }
    if out.json() {
        out.value(&json!({
            "records": rebuilt.records,
            "files": rebuilt.files,
            "set_aside": rebuilt.set_aside,
            "accepted": rebuilt.accepted,
        }))?;
        return Ok(0);
    }
    if let Some(name) = &rebuilt.set_aside {
        out.line(&format!("the old database is kept as {}", clean(name)))?;
    }
    if !rebuilt.accepted.is_empty() {
        out.line(&format!(
            "{} losses accepted and recorded",
            rebuilt.accepted.len()
        ))?;
    }
    out.line(&format!(
        "indexed {} records of {} files",
        rebuilt.records, rebuilt.files
    ))?;
    Ok(0)
}

fn recover(common: &Common, out: &Output) -> Result<u8, Failure> {
    let project = common.project()?;
    let preview = preview(&project, Arc::new(Policy::load()?))?;
    if out.json() {
        let notices: Vec<String> = preview.notices.iter().map(ToString::to_string).collect();
        let replay: Vec<_> = preview
            .replay
            .iter()
            .map(|(request, id)| {
                json!({ "attestation_ref": request.attestation_ref, "attestation_id": id })
            })
            .collect();
        let republish: Vec<_> = preview
            .republish
            .iter()
            .map(|r| json!({ "attestation_ref": r.attestation_ref, "pass_id": r.pass_id, "round": r.round }))
            .collect();
        let abort: Vec<_> = preview
            .abort
            .iter()
            .map(|p| json!({ "pass_id": p.pass_id, "arrow": p.arrow_id }))
            .collect();
        let refusal = preview
            .refusal
            .as_ref()
            .map(|e| json!({ "code": e.code(), "message": e.to_string() }));
        out.value(&json!({
            "locked_by": preview.session,
            "refused": refusal,
            "repairs": notices,
            "replay": replay,
            "republish": republish,
            "abort": abort,
        }))?;
        return Ok(0);
    }
    for line in words_of(&preview) {
        out.line(&clean(&line))?;
    }
    Ok(0)
}

fn words_of(preview: &Preview) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(pid) = preview.session {
        lines.push(format!(
            "a session has the project (pid {pid}); nothing to recover until it ends"
        ));
        return lines;
    }
    if let Some(refusal) = &preview.refusal {
        lines.push(format!("would be refused: {}: {refusal}", refusal.code()));
    }
    lines.extend(preview.notices.iter().map(ToString::to_string));
    for (request, id) in &preview.replay {
        lines.push(format!(
            "{id} is in the tree and would take effect on {}",
            request.attestation_ref
        ));
    }
    for request in &preview.republish {
        lines.push(format!(
            "{} would be asked again, round {}",
            request.attestation_ref, request.round
        ));
    }
    for pass in &preview.abort {
        lines.push(format!(
            "pass {} of {} would be aborted: crash",
            pass.pass_id, pass.arrow_id
        ));
    }
    if lines.is_empty() {
        lines.push("nothing to recover".to_owned());
    }
    lines
}

fn status(common: &Common, out: &Output) -> Result<u8, Failure> {
    let project = common.project()?;
    let grid = Grid::read_active(project.ghyll())?;
    let disk = CapDisk::new(project.ghyll())?;
    let missing = disk.meta(ENGINE_DB)?.is_none();
    let db = super::index(&project)?;
    let (attestations, pending, passes, findings) = db.read(|tx| {
        Ok::<_, Failure>((
            tx.row_count()?,
            tx.pending_count()?,
            tx.pass_counts()?,
            tx.open_finding_count()?,
        ))
    })?;
    let accepted = AcceptedLosses::read(&disk)?.all.len();
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
            "accepted_losses": accepted,
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
    if accepted > 0 {
        out.line(&format!("accepted losses  {accepted}"))?;
    }
    if let Some(pid) = project.locked_by() {
        out.line(&format!("session          pid {pid}"))?;
    }
    Ok(0)
}
