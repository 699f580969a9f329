//! `ghyll pending`, `ghyll findings` and `ghyll passes`: what the REPL shows,
//! for everybody.

use clap::Subcommand;
use ghyll::db::Pass;
use ghyll::shape::Pending;
use ghyll::view::View;

use crate::cli::output::{self, ALARM, QUIET, Table, Text, text};
use crate::cli::{Common, Failure, Output};
use ghyll::text::excerpt;

/// Which list.
#[derive(Debug, Clone, Copy)]
pub enum List {
    Pending,
    Findings,
    Passes,
}

/// What is done with one traversal.
#[derive(Subcommand)]
pub enum PassCommand {
    /// End a pass that was opened by mistake; what it asks is withdrawn
    Abort {
        /// Its id; `ghyll passes` lists them
        pass: String,
        /// Why
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: String,
    },
}

pub fn pass(common: &Common, out: &Output, command: &PassCommand) -> Result<u8, Failure> {
    let PassCommand::Abort { pass, reason } = command;
    let session = common.session(out)?;
    let ended = session.abort_pass(pass, reason)?;
    let ended = session
        .read(|reader| reader.pass(&ended.pass_id))?
        .unwrap_or(ended);
    if out.json() {
        out.value(&ended)?;
    } else {
        print_passes(out, std::slice::from_ref(&ended))?;
    }
    Ok(0)
}

pub fn run(common: &Common, out: &Output, list: List) -> Result<u8, Failure> {
    let view = common.look()?;
    out.paged(|| print(out, &view, list))?;
    if let (List::Pending, false) = (list, out.json())
        && !view.pending()?.is_empty()
    {
        out.note("Next: ghyll run");
    }
    // What waits, what was traversed and what a command found stands nowhere
    // but in the index, so what is shown may lack some.
    if let Some(fault) = view.db_fault() {
        return Err(Failure::new(fault.code(), fault).with_hint(
            "What is kept there and not in the tree is not known: ghyll engine rebuild-index.",
        ));
    }
    super::readable(&view)
}

/// Prints a list.
pub fn print(out: &Output, view: &View, list: List) -> Result<(), Failure> {
    match list {
        List::Pending => pending(out, view),
        List::Findings => findings(out, view),
        List::Passes => passes(out, view),
    }
}

/// Says that a list is empty, where that is known.
fn none(out: &Output, view: &View, words: &str) {
    if view.db_fault().is_none() {
        out.note(words);
    }
}

/// What waits for an operator, oldest first.
fn pending(out: &Output, view: &View) -> Result<(), Failure> {
    let pending = view.pending()?;
    let mut shown = Vec::new();
    for request in &pending {
        shown.push(Pending::new(request, view.escalation_due(request)?));
    }
    if out.json() {
        return Ok(out.value(&shown)?);
    }
    if shown.is_empty() {
        none(out, view, "Nothing is pending.");
        return Ok(());
    }
    let mut table = Table::new(&["REF", "ASKED", "CLAIM"]);
    for request in &shown {
        let claim = if request.escalation {
            text![Text::styled("escalation: ", ALARM), request.concept]
        } else {
            request.concept.into()
        };
        let cells = vec![
            request.attestation_ref.into(),
            format!("round {}", request.round).into(),
            claim,
        ];
        let said = request.evidence;
        let producer = [
            ("look at", said.locations.join(", ")),
            ("it holds because", said.basis.clone()),
            ("left open", said.residue.clone()),
        ];
        let producer = producer.iter().filter(|(_, text)| !text.is_empty());
        let producer = producer.map(|(what, text)| {
            Text::styled(
                &format!("the producer says, {what}: {}", excerpt(text)),
                QUIET,
            )
        });
        table.row(out, cells, producer.collect())?;
    }
    table.print(out)
}

/// The defects found, newest last.
fn findings(out: &Output, view: &View) -> Result<(), Failure> {
    let findings = view.findings()?;
    if out.json() {
        return Ok(out.value(&findings)?);
    }
    if findings.is_empty() {
        none(out, view, "No defect was found.");
        return Ok(());
    }
    let mut table = Table::new(&["#", "STATUS", "SEVERITY", "CLAUSE", "RAISED", "DEFECT"]);
    for f in &findings {
        let cells = vec![
            format!("#{}", f.finding_id).into(),
            output::status(f.status.as_str()),
            f.severity.as_str().into(),
            format!("{}/{}", f.arrow_id, f.clause_id).into(),
            out.when(&f.raised_at).into(),
            format!("{}: {}", f.kind, excerpt(&f.detail)).into(),
        ];
        table.row(out, cells, Vec::new())?;
    }
    table.print(out)
}

/// The traversals of arrows, newest last.
fn passes(out: &Output, view: &View) -> Result<(), Failure> {
    let passes = view.passes()?;
    if out.json() {
        return Ok(out.value(&passes)?);
    }
    if passes.is_empty() {
        none(out, view, "No arrow was traversed yet.");
        return Ok(());
    }
    print_passes(out, &passes)
}

fn print_passes(out: &Output, passes: &[Pass]) -> Result<(), Failure> {
    let mut table = Table::new(&["PASS", "ARROW", "STATUS", "OPENED", "ENDED"]);
    for pass in passes {
        let when = |time: &str| match time {
            "" => String::new(),
            time => out.when(time),
        };
        let mut ended = when(&pass.ended_at);
        if !pass.reason.is_empty() {
            ended.push_str(&format!(", {}", pass.reason));
        }
        let below = match pass.recovered_at.as_str() {
            "" => Vec::new(),
            at => vec![Text::styled(&format!("recovered {}", when(at)), QUIET)],
        };
        let cells = vec![
            pass.pass_id.as_str().into(),
            pass.arrow_id.as_str().into(),
            output::status(pass.status.as_str()),
            when(&pass.opened_at).into(),
            ended.into(),
        ];
        table.row(out, cells, below)?;
    }
    table.print(out)
}
