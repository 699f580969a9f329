//! `ghyll dispatch`, `ghyll attest` and `ghyll attestations`: verdicts without
//! a conversation.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ghyll::db::{Filter, Pass, Request, Row};
use ghyll::files::bounded::{read_bounded_from, read_text};
use ghyll::grid::Arrow;
use ghyll::policy::Policy;
use ghyll::project::Holder;
use ghyll::runtime::cancel::Cancel;
use ghyll::session::{
    Attested, Dispatched, EVIDENCE_MAX, Options, Session, SessionError, Submission, Via,
    parse_evidence,
};
use ghyll::shape::{DispatchedWhole, LineObject, Reason, next_command, reasons, to_mend};
use ghyll::view::{View, find_arrow};
use ghyll::work::Verdict;
use ghyll::work::status::ArrowStatus;
use ghyll::work::verdict::evidence;

use crate::cli::output::{self, ALARM, Table, Text, clean, text};
use crate::cli::{Common, Failure, NO, Output, op_id};

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

#[derive(Args)]
pub struct DispatchArgs {
    /// The arrow's id
    arrow: String,
    /// What the producer says, by clause, as JSON in FILE or on standard input:
    /// {"C1":{"locations":["src/a.rs:3-9"],"basis":"…","residue":"…"}}
    #[arg(long, value_name = "FILE|-")]
    evidence: Option<PathBuf>,
    /// Wait until what it asks is answered, but no longer than this
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
}

pub fn dispatch(common: &Common, out: &Output, args: &DispatchArgs) -> Result<u8, Failure> {
    let evidence = match &args.evidence {
        Some(file) => parse_evidence(&read_evidence(file)?)?,
        None => BTreeMap::new(),
    };
    let session = common.session(out)?;
    let joined = |pass: &Pass, who: Option<Holder>| tell_joined(out, pass, who);
    let options = Options {
        evidence,
        joined: Some(&joined),
        ..Options::default()
    };
    let mut done = session.dispatch_with(&args.arrow, &options)?;
    // While it waits it is nobody who is at work.
    drop(session);
    if let Some(seconds) = args.wait {
        wait_for_answers(common, &mut done, Duration::from_secs(seconds))?;
    }
    print_dispatched(out, &args.arrow, &done)?;
    let whole = DispatchedWhole::new(&done);
    if !out.json() {
        for reason in whole.reasons.iter().filter(|r| r.run.is_none()) {
            print_verdict(out, reason)?;
        }
        if !whole.next.is_empty() {
            let mended = match to_mend(&whole.reasons) {
                true => ", once that is mended",
                false => "",
            };
            out.note_wrapped(format!("Next{mended}: {}", whole.next), 2);
        }
    }
    Ok(if done.status == ArrowStatus::Complete {
        0
    } else {
        NO
    })
}

/// Says that somebody else traverses the arrow just now, and that what they
/// come to is waited for.
pub fn tell_joined(out: &Output, pass: &Pass, who: Option<Holder>) {
    let who = who.map_or_else(|| "another session".to_owned(), |who| who.to_string());
    out.note_wrapped(
        format!(
            "{} is being run already: {who}; its pass is open since {}. What it comes to is \
             waited for, and is the answer here too.",
            clean(&pass.arrow_id),
            clean(&pass.opened_at),
        ),
        2,
    );
}

/// The text of the evidence, no more of it than there may be.
fn read_evidence(file: &Path) -> Result<String, Failure> {
    let read = match file.to_str() {
        Some("-") => read_bounded_from(&mut std::io::stdin().lock(), EVIDENCE_MAX),
        _ => read_text(file, EVIDENCE_MAX),
    };
    read.map_err(|e| Failure::new(e.code(), format!("--evidence {}: {e}", file.display())))
}

/// Looks at the project until none of what was asked waits for the round it
/// was asked for, or the time is up; `done` then says where things stand.
fn wait_for_answers(common: &Common, done: &mut Dispatched, most: Duration) -> Result<(), Failure> {
    const POLL: Duration = Duration::from_millis(500);
    let policy = Arc::new(Policy::load()?);
    let time = Cancel::at(Instant::now().checked_add(most));
    loop {
        let view = View::open(common.project()?, Arc::clone(&policy))?;
        let pending = view.pending()?;
        let waits = done.requested.iter().any(|asked| {
            pending.iter().any(|now| {
                (&now.attestation_ref, now.round) == (&asked.attestation_ref, asked.round)
            })
        });
        if !waits || time.sleep(POLL).is_err() {
            let stands = view.arrow(&done.arrow.id)?.1;
            done.requested = pending
                .into_iter()
                .filter(|request| request.pass_id == done.pass_id)
                .collect();
            (done.status, done.stands) = (stands.status, stands);
            return Ok(());
        }
    }
}

/// Prints what a dispatch came to, and which commands failed.
pub fn print_dispatched(out: &Output, arrow: &str, done: &Dispatched) -> Result<(), Failure> {
    let whole = DispatchedWhole::new(done);
    if out.json() {
        return Ok(out.value(&whole)?);
    }
    out.line_wrapped(
        text![
            arrow,
            ": ",
            output::status(done.status.as_str()),
            format!(" (pass {})", done.pass_id)
        ],
        2,
    )?;
    for reason in &whole.reasons {
        if let Some(run) = &reason.run {
            out.line_wrapped(
                text![
                    format!("  {} ", reason.clause_id),
                    output::status("fail"),
                    format!("s: {}", reason.concept)
                ],
                4,
            )?;
            let command = shlex::try_join(run.command.iter().map(String::as_str));
            out.line_wrapped(format!("      $ {}", command.unwrap_or_default()), 8)?;
            for line in last_lines(run.detail) {
                out.line_wrapped(format!("      {line}"), 6)?;
            }
        }
        if let Some(problem) = &reason.problem {
            let code = Text::styled(problem.code, ALARM);
            out.line_wrapped(
                text![
                    format!("  {} cannot be asked: ", reason.clause_id),
                    code,
                    format!(": {}", problem.message)
                ],
                4,
            )?;
            out.line_wrapped(format!("      {}", problem.hint), 6)?;
        }
    }
    for request in &done.requested {
        out.line_wrapped(asked(request), 4)?;
    }
    Ok(())
}

fn asked(request: &Request) -> String {
    format!(
        "  asks for {}: {}",
        request.attestation_ref, request.concept
    )
}

/// How a command ended, and the last of what it said.
pub fn last_lines(detail: &str) -> Vec<&str> {
    const MOST: usize = 10;
    let mut lines = detail.lines();
    let ended = lines.next();
    let said: Vec<&str> = lines.collect();
    let from = said.len().saturating_sub(MOST);
    ended
        .into_iter()
        .chain(said.into_iter().skip(from))
        .collect()
}

/// Prints the verdict that keeps a clause from passing.
fn print_verdict(out: &Output, reason: &Reason<'_>) -> Result<(), Failure> {
    let Some(given) = &reason.verdict else {
        return Ok(());
    };
    out.line_wrapped(
        text![
            format!("  {} does not pass: ", reason.clause_id),
            output::status(given.verdict),
            format!(" by {} (round {})", given.op_id, given.round)
        ],
        4,
    )?;
    for place in &given.inspected {
        out.line_wrapped(format!("      at {place}"), 8)?;
    }
    for line in given.residue.lines() {
        out.line_wrapped(format!("      {line}"), 6)?;
    }
    Ok(())
}

pub fn attest(common: &Common, out: &Output, args: &AttestArgs) -> Result<u8, Failure> {
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
    let view = session.arrow_view(arrow_id)?;
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

/// Which records are listed.
#[derive(Args)]
pub struct ListArgs {
    /// Only those on this arrow
    arrow: Option<String>,
    /// Only this person's
    #[arg(long, value_name = "OP", allow_hyphen_values = true)]
    by: Option<String>,
    /// Only those since a day (2026-01-31) or a time (RFC 3339)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only those that say this
    #[arg(long, value_name = "V")]
    verdict: Option<String>,
    /// Only those whose note, places, reason or claim contain this, any case
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    grep: Option<String>,
    /// Only the newest so many
    #[arg(short = 'n', value_name = "N")]
    newest: Option<usize>,
}

impl ListArgs {
    /// Only those on an arrow, if one is named.
    pub fn of_arrow(arrow: Option<&str>) -> Self {
        Self {
            arrow: arrow.map(str::to_owned),
            by: None,
            since: None,
            verdict: None,
            grep: None,
            newest: None,
        }
    }

    fn filter(&self) -> Result<Filter, Failure> {
        let verdict = self.verdict.as_deref().map(Verdict::parse).transpose()?;
        let since = self.since.as_deref().map(ghyll::clock::since).transpose();
        let since = since.map_err(|e| Failure::usage(format!("--since: {e}")))?;
        Ok(Filter {
            arrow_id: self.arrow.clone(),
            op_id: self.by.clone(),
            verdict: verdict.map(|verdict| verdict.to_string()),
            since,
        })
    }

    fn takes(&self, row: &Row) -> bool {
        let Some(text) = &self.grep else {
            return true;
        };
        let text = text.to_lowercase();
        let rec = &row.rec;
        [
            &rec.unit_payload_json,
            &rec.reason,
            &rec.hint_json,
            &rec.attestation_id,
        ]
        .iter()
        .any(|field| field.to_lowercase().contains(&text))
    }
}

pub fn list(common: &Common, out: &Output, args: &ListArgs) -> Result<u8, Failure> {
    let view = common.view(out)?;
    out.paged(|| print_list(out, &view, args))?;
    super::readable(&view)
}

/// Prints the records asked for, newest last, one at a time.
pub fn print_list(out: &Output, view: &View, args: &ListArgs) -> Result<(), Failure> {
    let filter = args.filter()?;
    let mut printed = 0_usize;
    let mut table = Table::new(&["WHEN", "ID", "VERDICT", "EVIDENCE"]);
    let mut print = |row: &Row, concurrent: bool| {
        if out.json() {
            let object = serde_json::to_string(&LineObject(row)).map_err(std::io::Error::other)?;
            let opening = if printed == 0 { "[" } else { "," };
            out.json_part(&format!("{opening}{object}"))?;
        } else {
            table.row(out, cells(out, row, concurrent), Vec::new())?;
        }
        printed += 1;
        Ok::<_, Failure>(())
    };
    match args.newest {
        None => {
            let rounds = view.read(|reader| reader.concurrent_rounds())?;
            view.each_record(&filter, |row| match args.takes(&row) {
                true => {
                    let round = (row.attestation_ref.clone(), row.round);
                    print(&row, !rounds.is_empty() && rounds.contains(&round))
                }
                false => Ok(()),
            })?
        }
        Some(newest) => {
            let mut last = VecDeque::new();
            view.each_record(&filter, |row| {
                if args.takes(&row) {
                    last.push_back(row);
                    if last.len() > newest {
                        last.pop_front();
                    }
                }
                Ok::<_, Failure>(())
            })?;
            for row in &last {
                let round = view.read(|reader| reader.round(&row.attestation_ref, row.round))?;
                print(row, round.len() > 1)?;
            }
        }
    }
    if out.json() {
        out.json_part(if printed == 0 { "[]\n" } else { "]\n" })?;
    } else if printed == 0 {
        none_to_list(out, view, args)?;
    } else {
        table.print(out)?;
    }
    Ok(())
}

/// Says why a list is empty: an arrow that neither the grid nor any record
/// knows is a slip.
fn none_to_list(out: &Output, view: &View, args: &ListArgs) -> Result<(), Failure> {
    match &args.arrow {
        None => out.note("No verdict is on record that was asked for."),
        Some(id) => {
            let on_record = view.read(|reader| reader.knows_arrow(id))?;
            if !on_record {
                find_arrow(view.grid(), id)?;
            }
            out.note(format!(
                "No verdict on {} is on record that was asked for.",
                clean(id)
            ));
        }
    }
    Ok(())
}

/// A record in the list, and whether it is one of several on its round.
fn cells(out: &Output, row: &Row, concurrent: bool) -> Vec<Text> {
    let rec = &row.rec;
    // Who says so stands with what is said, so that a search finds both.
    let mut verdict = output::status(&rec.verdict);
    verdict.push(format!(" by {}", rec.op_id));
    if concurrent {
        verdict.push(" (concurrent)");
    }
    vec![
        out.when(&rec.timestamp).into(),
        rec.attestation_id.as_str().into(),
        verdict,
        evidence(row).into(),
    ]
}
