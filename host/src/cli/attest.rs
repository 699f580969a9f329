//! `ghyll dispatch`, `ghyll attest` and `ghyll attestations`: verdicts without
//! a conversation.

use std::path::Path;

use clap::Args;
use ghyll::engine::{ENGINE_DB, EngineDb, Row};
use ghyll::session::{Dispatched, Submission};
use ghyll::status::ArrowStatus;
use ghyll::store::disk::{CapDisk, Disk};
use ghyll::store::load::line_at;
use ghyll::verdicts::evidence;
use serde_json::json;

use super::output::{self, clean};
use super::{Common, Failure, NO, Output};

/// The most that is read from `--residue @FILE`: more than any note may have.
const RESIDUE_FILE_MAX: u64 = 4 << 20;

/// What is answered, and how.
#[derive(Args)]
pub struct Answer {
    /// What is answered, e.g. att-A-checkout-C1-v1
    #[arg(value_name = "REF")]
    pub attestation_ref: String,
    /// pass, fail, insufficient-basis, accepted-risk or route-upstream
    verdict: String,
    /// A place inspected, e.g. src/cart.rs:10-24; may be given again
    #[arg(long, value_name = "LOCATION")]
    inspected: Vec<String>,
    /// A note, or @FILE to read it from a file
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    residue: Option<String>,
}

impl Answer {
    /// The answer as it is submitted; a note in a file is read.
    pub fn submission(&self) -> Result<Submission, Failure> {
        let residue = match self
            .residue
            .as_deref()
            .map(|text| (text, text.strip_prefix('@')))
        {
            None => String::new(),
            Some((_, Some(file))) => read_note(Path::new(file))?,
            Some((text, None)) => text.to_owned(),
        };
        let (verdict, inspected) = (self.verdict.clone(), self.inspected.clone());
        Ok(Submission {
            verdict,
            inspected,
            residue,
        })
    }
}

#[derive(Args)]
pub struct AttestArgs {
    #[command(flatten)]
    answer: Answer,
    /// Who answers
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    op_id: String,
}

pub fn dispatch(common: &Common, out: &Output, arrow: &str) -> Result<u8, Failure> {
    let session = common.session(out)?;
    let done = session.dispatch(arrow)?;
    print_dispatched(out, arrow, &done)?;
    Ok(if done.status == ArrowStatus::Complete {
        0
    } else {
        NO
    })
}

/// Prints what a dispatch came to.
pub fn print_dispatched(out: &Output, arrow: &str, done: &Dispatched) -> Result<(), Failure> {
    if out.json() {
        let requested: Vec<_> = done.requested.iter().map(|r| &r.attestation_ref).collect();
        out.value(&json!({
            "arrow": arrow, "pass_id": done.pass_id, "status": done.status.as_str(),
            "requested": requested,
        }))?;
    } else {
        let id = clean(arrow);
        out.line(&format!(
            "{id}: {} (pass {})",
            output::status(done.status.as_str()),
            done.pass_id
        ))?;
        for request in &done.requested {
            out.line(&format!(
                "  asks for {}: {}",
                clean(&request.attestation_ref),
                clean(&request.concept)
            ))?;
        }
    }
    Ok(())
}

pub fn attest(common: &Common, out: &Output, args: &AttestArgs) -> Result<u8, Failure> {
    let submission = args.answer.submission()?;
    let session = common.session(out)?;
    let recorded = session.attest(&args.answer.attestation_ref, &submission, &args.op_id)?;
    if out.json() {
        out.json_text(recorded.line.trim_end())?;
    } else {
        out.line(&summary(&recorded.row))?;
    }
    Ok(0)
}

fn read_note(file: &Path) -> Result<String, Failure> {
    use std::io::Read;
    let fail = |e| {
        Failure::new(
            "residue-file-unreadable",
            format!("{}: {e}", file.display()),
        )
    };
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(fail)?;
    opened
        .take(RESIDUE_FILE_MAX)
        .read_to_string(&mut text)
        .map_err(fail)?;
    Ok(text)
}

pub fn list(common: &Common, out: &Output, arrow: Option<&str>) -> Result<u8, Failure> {
    let project = common.project()?;
    let db = EngineDb::open_read_only(&project.path_of(ENGINE_DB))?.unwrap_or(EngineDb::empty()?);
    let disk = CapDisk::new(project.ghyll())?;
    print_list(out, &db, &disk, arrow)?;
    Ok(0)
}

/// Prints the records, or those of one arrow, newest last.
pub fn print_list(
    out: &Output,
    db: &EngineDb,
    disk: &dyn Disk,
    arrow: Option<&str>,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    db.read(|tx| {
        tx.each_row(arrow, |row| {
            if out.json() {
                // The tree's own bytes: what is shown is what is on record.
                let line = line_at(disk, &row)?;
                lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            } else {
                lines.push(summary(&row));
            }
            Ok::<_, Failure>(())
        })
    })?;
    if out.json() {
        out.json_text(&format!("[{}]", lines.join(",")))?;
    } else {
        for line in lines {
            out.line(&line)?;
        }
    }
    Ok(())
}

/// A record on one line.
pub fn summary(row: &Row) -> String {
    let mut text = format!(
        "{}  {}  {} by {}",
        clean(&row.rec.timestamp),
        clean(&row.rec.attestation_id),
        output::status(&row.rec.verdict),
        clean(&row.rec.op_id),
    );
    let evidence = evidence(row);
    if !evidence.is_empty() {
        text.push_str(&format!("  [{}]", clean(&evidence)));
    }
    text
}
