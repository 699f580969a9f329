//! `ghyll dispatch`: an arrow traversed, and what came of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ghyll::db::{Pass, Request};
use ghyll::files::bounded::{read_bounded_from, read_text};
use ghyll::policy::Policy;
use ghyll::project::Holder;
use ghyll::runtime::cancel::Cancel;
use ghyll::session::{Dispatched, EVIDENCE_MAX, Options, parse_evidence};
use ghyll::shape::{DispatchedWhole, Reason, to_mend};
use ghyll::view::View;
use ghyll::work::status::ArrowStatus;

use crate::cli::output::{self, ALARM, Text, clean, text};
use crate::cli::{Common, Failure, NO, Output};

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

pub fn run(common: &Common, out: &Output, args: &DispatchArgs) -> Result<u8, Failure> {
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
    print(out, &args.arrow, &done)?;
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
pub fn print(out: &Output, arrow: &str, done: &Dispatched) -> Result<(), Failure> {
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

/// That a request is asked.
pub fn asked(request: &Request) -> String {
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
