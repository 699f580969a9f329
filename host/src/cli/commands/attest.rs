//! `ghyll attest`: a verdict without a conversation.

use std::path::Path;

use clap::Args;
use ghyll::files::bounded::read_text;
use ghyll::grid::Arrow;
use ghyll::session::{Attested, Session, SessionError, Submission, Via};
use ghyll::shape::{LineObject, next_command, reasons, to_mend};
use ghyll::work::Verdict;
use ghyll::work::verdict::evidence;

use super::dispatch::asked;
use crate::cli::output::{self, Text, clean, text};
use crate::cli::{Common, Failure, Output, op_id};

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
    /// Take places that are not in the project, too
    #[arg(long)]
    keep: bool,
    /// The first digits (at least 8) of the subject that is meant; another is refused
    #[arg(long, value_name = "DIGEST")]
    subject: Option<String>,
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
        Ok(Submission {
            verdict: Verdict::parse(&self.verdict)?,
            inspected: self.inspected.clone(),
            residue,
            via: Via::Command,
            subject: self.subject.clone().unwrap_or_default(),
            places_checked: !self.keep,
        })
    }
}

#[derive(Args)]
pub struct AttestArgs {
    #[command(flatten)]
    answer: Answer,
    /// Who answers [default: GHYLL_OP_ID, else git's ghyll.op-id]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    op_id: Option<String>,
}

pub fn run(common: &Common, out: &Output, args: &AttestArgs) -> Result<u8, Failure> {
    let submission = args.answer.submission()?;
    let session = common.session(out)?;
    let op_id = op_id::needed(args.op_id.as_deref(), session.project().root())?;
    let new = session.read(|reader| op_id::is_new(reader, &op_id))?;
    let reference = &args.answer.attestation_ref;
    let attested = session
        .attest(reference, &submission, &op_id)
        .map_err(|error| dispatch_first(&session, reference, error))?;
    if let Some(new) = new {
        out.note_wrapped(format!("note: {new}"), 2);
    }
    print_attested(out, &attested)?;
    if !out.json() {
        print_where_it_stands(out, &session, &attested.recorded.row.rec.arrow_id)?;
    }
    Ok(0)
}

/// Nothing asked for a ref: says which arrow would, if one of the grid does.
fn dispatch_first(session: &Session, reference: &str, error: SessionError) -> Failure {
    let none = matches!(error, SessionError::NoPassForRef(_));
    let failure = Failure::from(error);
    let grid = session.grid();
    let asks = |arrow: &&Arrow| {
        arrow.clauses.iter().any(|clause| {
            let policy = session.policy();
            let own = policy.attestation_ref(&arrow.id, &clause.id, grid.version);
            format!("{}/{}", arrow.id, clause.id) == reference
                || own.is_ok_and(|own| own == reference)
        })
    };
    match grid.arrows.iter().find(asks) {
        Some(arrow) if none => {
            let id = shlex::try_quote(&arrow.id).unwrap_or_default();
            failure.with_hint(format!(
                "`ghyll dispatch {id}` first; `ghyll pending` shows what is asked."
            ))
        }
        _ => failure,
    }
}

/// Tells which clauses of an arrow do not pass and why, what is asked, and the
/// next command. An arrow of an older grid stands nowhere in this one.
pub fn print_where_it_stands(
    out: &Output,
    session: &Session,
    arrow_id: &str,
) -> Result<(), Failure> {
    let grid = session.grid();
    let Some(arrow) = grid.arrow(arrow_id) else {
        return Ok(());
    };
    let view = session.stands(arrow_id)?;
    out.note(text![
        clean(arrow_id).as_str(),
        ": ",
        output::status(view.status.as_str())
    ]);
    let reasons = reasons(arrow, &view);
    for reason in &reasons {
        let why: Text = match (&reason.verdict, &reason.problem) {
            (Some(given), _) => text![
                output::status(given.verdict),
                format!(" by {} (round {})", given.op_id, given.round)
            ],
            (None, Some(problem)) => format!("{}: {}", problem.code, problem.message).into(),
            (None, None) => output::status(reason.status.as_str()),
        };
        out.note_wrapped(
            text![format!("  {} does not pass: ", reason.clause_id), why],
            4,
        );
    }
    for request in session.pending()?.iter().filter(|r| r.arrow_id == arrow_id) {
        out.note_wrapped(asked(request), 4);
    }
    let next = next_command(arrow, &view);
    if !next.is_empty() {
        let mended = match to_mend(&reasons) {
            true => ", once that is mended",
            false => "",
        };
        out.note_wrapped(format!("Next{mended}: {next}"), 2);
    }
    Ok(())
}

/// Prints what an answer came to.
pub fn print_attested(out: &Output, attested: &Attested) -> Result<(), Failure> {
    let row = &attested.recorded.row;
    if out.json() {
        let object = serde_json::to_string(&LineObject(row)).map_err(std::io::Error::other)?;
        out.json_text(&object)?;
        return Ok(());
    }
    let rec = &row.rec;
    let mut line = text![
        "Recorded ",
        &rec.attestation_id,
        ": ",
        output::status(&rec.verdict),
        " by ",
        &rec.op_id,
    ];
    let said = evidence(row);
    if !said.is_empty() {
        line.push(format!("  [{said}]"));
    }
    out.line_wrapped(line, 2)?;
    if let Some(before) = &attested.replaces {
        out.note(format!(
            "It replaces the {} of round {} by {}.",
            before.rec.verdict,
            before.round,
            clean(&before.rec.op_id)
        ));
    }
    Ok(())
}

fn read_note(file: &Path) -> Result<String, Failure> {
    read_text(file, RESIDUE_FILE_MAX).map_err(|e| {
        Failure::new(
            "residue-file-unreadable",
            format!("{}: {e}", file.display()),
        )
    })
}
