//! `ghyll engine …`: the audit tree and what is derived from it.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use ghyll::audit::checkpoint::{CHECKPOINT_MAX, Checkpoint, CheckpointError};
use ghyll::audit::rebuild::rebuild;
use ghyll::audit::verify::{Issue, Report, verify_tree};
use ghyll::bus::Event;
use ghyll::clock::SystemClock;
use ghyll::files::bounded::read_text;
use ghyll::files::disk::CapDisk;
use ghyll::grid::GridLimits;
use ghyll::policy::Policy;
use ghyll::text::count;
use ghyll::view::View;
use ghyll::work::{proved, standing};
use serde::Serialize;
use serde_json::json;

use crate::cli::output::{ALARM, QUIET, STRONG, Text, clean, status as in_colour, text};
use crate::cli::{Common, Failure, NO, Output};

/// Issues shown to a person; all are in the JSON.
const SHOWN: usize = 50;

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
        #[arg(long, requires = "op_id")]
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
    /// even if everything in .ghyll was rewritten. `root` is the SHA-256 of
    /// {"files":…,"grids":…} as compact JSON, as printed.
    Checkpoint {
        /// Keep it as .ghyll/checkpoint.json, to be committed: verification
        /// then holds the tree against it by default
        #[arg(long)]
        write: bool,
    },
}

pub fn run(common: &Common, out: &Output, command: &EngineCommand) -> Result<u8, Failure> {
    match command {
        EngineCommand::Status => status(common, out),
        EngineCommand::Recover => recover(common, out),
        EngineCommand::VerifyAttestations { checkpoint } => {
            verify_attestations(common, out, checkpoint.as_deref())
        }
        EngineCommand::RebuildIndex { accept_loss, op_id } => {
            rebuild_index(common, out, op_id.as_deref().filter(|_| *accept_loss))
        }
        EngineCommand::Checkpoint { write } => checkpoint(common, out, *write),
    }
}

fn verify_attestations(
    common: &Common,
    out: &Output,
    checkpoint: Option<&Path>,
) -> Result<u8, Failure> {
    let project = common.project()?;
    let checkpoint = checkpoint.map(read_checkpoint).transpose()?;
    let mut progress = out.progress();
    let report = proved::verify(
        &project,
        &Policy::load()?,
        checkpoint.as_ref(),
        &mut |done, total| progress.show(done, total),
    )?;
    drop(progress);
    let code = if report.ok { 0 } else { NO };
    if out.json() {
        out.value(&report)?;
        return Ok(code);
    }
    out.paged(|| tell(out, &report))?;
    Ok(code)
}

/// What verification came to, in words.
pub fn tell(out: &Output, report: &Report) -> Result<(), Failure> {
    for issue in report.issues.iter().take(SHOWN) {
        print_issue(out, issue, Text::default())?;
    }
    if let Some(more) = report.issues.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        out.line(format!("and {more} more; --json has them all"))?;
    }
    for warning in report.warnings.iter().take(SHOWN) {
        print_issue(out, warning, text![in_colour("warning"), ": "])?;
    }
    if let Some(more) = report.warnings.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        out.line(format!("and {more} more warnings; --json has them all"))?;
    }
    let found = format!(
        ": {} in {}, {} in the flat file, {} indexed; {}, {}{}",
        count(number(report.tree.records), "record"),
        count(number(report.tree.files), "file"),
        report.flat.records,
        report.index.records,
        count(report.issues.len(), "issue"),
        count(report.warnings.len(), "warning"),
        if report.held_against_checkpoint {
            "; held against the checkpoint"
        } else {
            ""
        }
    );
    let answer = if report.ok {
        in_colour("verified")
    } else {
        Text::styled("NOT verified", ALARM)
    };
    Ok(out.line_wrapped(text![answer, found], 2)?)
}

/// Prints something that was found, where, and what to do about it.
pub fn print_issue(out: &Output, issue: &Issue, before: Text) -> Result<(), Failure> {
    let mut place = issue.path.clone();
    if issue.line > 0 {
        place.push_str(&format!(":{}", issue.line));
    }
    let about = match issue.attestation_id.as_str() {
        "" => String::new(),
        // It is named already.
        id if issue.message.contains(id) => String::new(),
        id => format!(" ({id})"),
    };
    out.line_wrapped(
        text![
            before,
            format!("{place}: "),
            Text::styled(&issue.code, STRONG),
            format!(": {}{about}", issue.message)
        ],
        2,
    )?;
    if !issue.what_to_do.is_empty() {
        let todo = Text::styled("  what to do: ", QUIET);
        out.line_wrapped(text![todo, &issue.what_to_do], 4)?;
    }
    Ok(())
}

fn number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn read_checkpoint(file: &Path) -> Result<Checkpoint, Failure> {
    let text = read_text(file, CHECKPOINT_MAX)
        .map_err(|e| Failure::new("checkpoint-unreadable", format!("{}: {e}", file.display())))?;
    Checkpoint::parse(&text).map_err(|e| Failure::new(e.code(), format!("{}: {e}", file.display())))
}

fn checkpoint(common: &Common, out: &Output, write: bool) -> Result<u8, Failure> {
    let project = common.project()?;
    let fail = |e: CheckpointError| Failure::new(e.code(), &e);
    let mut progress = out.progress();
    let report = verify_tree(&project, &Policy::load()?, &mut |done, total| {
        progress.show(done, total);
    })?;
    drop(progress);
    let checkpoint = Checkpoint::take(&report, project.ghyll()).map_err(fail)?;
    if write {
        let _lock = project.lock("writing a checkpoint")?;
        checkpoint
            .keep(&CapDisk::new(project.ghyll())?)
            .map_err(fail)?;
    }
    // JSON with and without --json: it is made to be kept.
    out.value(&checkpoint)?;
    Ok(0)
}

fn rebuild_index(common: &Common, out: &Output, accept: Option<&str>) -> Result<u8, Failure> {
    let project = common.project()?;
    let policy = Policy::load()?;
    if let Some(op_id) = accept {
        policy.validate_op_id(op_id)?;
    }
    let grids = GridLimits::new(project.ghyll())?;
    let rebuilt = rebuild(
        &project,
        &policy,
        &|version| grids.for_reading(version),
        &SystemClock,
        accept,
        &standing::fold_all,
    );
    let rebuilt = rebuilt.map_err(|e| Failure::new(e.code(), &e))?;
    for notice in &rebuilt.notices {
        out.note(clean(&notice.to_string()));
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
        out.line(format!("the old database is kept as {}", clean(name)))?;
    }
    if !rebuilt.accepted.is_empty() {
        out.line(format!(
            "{} losses accepted and recorded",
            rebuilt.accepted.len()
        ))?;
    }
    out.line(format!(
        "indexed {} records of {} files",
        rebuilt.records, rebuilt.files
    ))?;
    Ok(0)
}

/// What a session started now would do, told without doing it.
#[derive(Serialize)]
struct Recovery {
    refused: Option<Refused>,
    repairs: Vec<String>,
    replay: Vec<Replayed>,
    republish: Vec<Republished>,
    abort: Vec<AbortedPass>,
}

#[derive(Serialize)]
struct Refused {
    code: String,
    message: String,
}

#[derive(Serialize)]
struct Replayed {
    attestation_ref: String,
    attestation_id: String,
}

#[derive(Serialize)]
struct Republished {
    attestation_ref: String,
    pass_id: String,
    round: u32,
}

#[derive(Serialize)]
struct AbortedPass {
    pass_id: String,
    arrow: String,
}

impl Recovery {
    fn of(view: &View) -> Self {
        let refused = match (view.damage().first(), view.db_fault()) {
            (Some(damage), _) => Some((damage.code().to_owned(), damage.to_string())),
            (None, Some(fault)) => Some((fault.code().to_owned(), fault.to_string())),
            (None, None) => None,
        };
        let mut recovery = Self {
            refused: refused.map(|(code, message)| Refused { code, message }),
            repairs: view.notices().iter().map(ToString::to_string).collect(),
            replay: Vec::new(),
            republish: Vec::new(),
            abort: Vec::new(),
        };
        for event in view.events() {
            match event {
                Event::RecoveryAttestationReplay {
                    request,
                    attestation_id,
                } => recovery.replay.push(Replayed {
                    attestation_ref: request.attestation_ref.clone(),
                    attestation_id: attestation_id.clone(),
                }),
                Event::RecoveryAttestationRepublished(request) => {
                    recovery.republish.push(Republished {
                        attestation_ref: request.attestation_ref.clone(),
                        pass_id: request.pass_id.clone(),
                        round: request.round,
                    });
                }
                Event::RecoveryPassAbortedCrash(pass) => recovery.abort.push(AbortedPass {
                    pass_id: pass.pass_id.clone(),
                    arrow: pass.arrow_id.clone(),
                }),
                _ => {}
            }
        }
        recovery
    }

    fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(refused) = &self.refused {
            lines.push(format!(
                "would be refused: {}: {}",
                refused.code, refused.message
            ));
        }
        lines.extend(self.repairs.iter().cloned());
        for replayed in &self.replay {
            lines.push(format!(
                "{} is in the tree and would take effect on {}",
                replayed.attestation_id, replayed.attestation_ref
            ));
        }
        for asked in &self.republish {
            lines.push(format!(
                "{} would be asked again, round {}",
                asked.attestation_ref, asked.round
            ));
        }
        for pass in &self.abort {
            lines.push(format!(
                "pass {} of {} would be aborted: crash",
                pass.pass_id, pass.arrow
            ));
        }
        if lines.is_empty() {
            lines.push("nothing to recover".to_owned());
        }
        lines
    }
}

fn recover(common: &Common, out: &Output) -> Result<u8, Failure> {
    let recovery = Recovery::of(&common.view(out)?);
    if out.json() {
        out.value(&recovery)?;
    } else {
        for line in recovery.in_words() {
            out.line(clean(&line))?;
        }
    }
    Ok(0)
}

fn status(common: &Common, out: &Output) -> Result<u8, Failure> {
    let view = common.view(out)?;
    let counts = view.counts()?;
    if out.json() {
        out.value(&counts)?;
        return super::readable(&view);
    }
    out.line(format!("engine database  {}", counts.state))?;
    out.line(format!(
        "grid             v{}, {}",
        counts.grid_version,
        ghyll::text::count(counts.arrows, "arrow")
    ))?;
    out.line(format!("attestations     {}", counts.attestations))?;
    out.line(format!("pending          {}", counts.pending))?;
    let passes = counts.passes;
    out.line(format!(
        "passes           {} open, {} closed, {} aborted",
        passes.open, passes.closed, passes.aborted
    ))?;
    out.line(format!("findings         {} open", counts.findings.open))?;
    if counts.accepted_losses > 0 {
        out.line(format!("accepted losses  {}", counts.accepted_losses))?;
    }
    if let Some(holder) = view.project().locked_by() {
        out.line(format!("locked by        {}", clean(&holder.to_string())))?;
    }
    super::readable(&view)
}
