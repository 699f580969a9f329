//! Slash commands: the same at the REPL's prompt and at any question.

use clap::Parser;
use ghyll::engine::{Finding, Pass, Request};
use ghyll::grid::Eval;
use ghyll::nearest::nearest;
use ghyll::session::{SessionError, find_arrow};
use serde_json::json;

use super::news::excerpt;
use super::{Flow, Repl, record};
use crate::cli::Failure;
use crate::cli::attest::{Answer, print_dispatched, print_list};
use crate::cli::output::{self, clean};
use crate::cli::reader::Candidates;

/// What there is: how it is written, and what it does.
const COMMANDS: [(&str, &str); 9] = [
    (
        "/run-arrow ID",
        "traverse an arrow: decide its machine clauses, ask for the others",
    ),
    (
        "/op-id [ID|clear]",
        "who answers from now on; without ID, who does now",
    ),
    (
        "/attest REF VERDICT [--inspected L]… [--residue TEXT]",
        "put one verdict on record, also as a correction",
    ),
    (
        "/attestations [ARROW]",
        "the verdicts on record, newest last",
    ),
    ("/pending", "what is asked and not answered"),
    ("/passes", "the traversals of arrows, newest last"),
    ("/findings", "the defects found, newest last"),
    ("/help", "this list"),
    (
        "/exit",
        "leave; what is pending is asked again at the next start",
    ),
];

/// `/attest`, after its name.
#[derive(Parser)]
#[command(name = "/attest", no_binary_name = true, disable_help_flag = true)]
struct AttestLine {
    #[command(flatten)]
    answer: Answer,
}

impl Repl<'_> {
    /// Runs a line that starts with `/`. What goes wrong is told, and the
    /// session goes on.
    pub fn command(&mut self, line: &str) -> Result<Flow, Failure> {
        let done = match shlex::split(line) {
            Some(words) => self.run_words(&words),
            None => Err(Failure::usage(
                "a quote is not closed, or a \\ has nothing behind it",
            )),
        };
        match done {
            Ok(flow) => Ok(flow),
            Err(failure) => {
                self.tell_news()?;
                self.out.failure(&failure);
                Ok(Flow::Stay)
            }
        }
    }

    fn run_words(&mut self, words: &[String]) -> Result<Flow, Failure> {
        let mut words = words.iter().map(String::as_str);
        let command = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.collect();
        match (command, arguments.as_slice()) {
            ("/exit", []) => return Ok(Flow::Leave),
            ("/help", _) => self.help(),
            ("/op-id", []) => self.tell_op_id(),
            ("/op-id", [id]) => self.set_op_id(id)?,
            ("/run-arrow", [id]) => self.run_arrow(id)?,
            ("/attest", arguments) => self.attest(arguments)?,
            ("/attestations", []) => self.attestations(None)?,
            ("/attestations", [arrow]) => self.attestations(Some(arrow))?,
            ("/passes", []) => self.passes()?,
            ("/findings", []) => self.findings()?,
            ("/pending", []) => self.pending()?,
            _ => return Err(misuse(command)),
        }
        Ok(Flow::Stay)
    }

    fn help(&self) {
        for (usage, does) in COMMANDS {
            self.out.note_wrapped(usage, 4);
            self.out.note_wrapped(&format!("      {does}"), 6);
        }
        self.out.note_wrapped(
            "Anything else is said to the model. A command is a command at any question too; \
             a blank in front of / makes it text. An empty line has what is pending asked.",
            0,
        );
    }

    fn tell_op_id(&self) {
        match self.session.op_id() {
            Some(op_id) => self.out.note(&format!("You answer as {}.", clean(&op_id))),
            None => self
                .out
                .note("Nobody answers yet; /op-id ID says who you are."),
        }
    }

    fn set_op_id(&mut self, id: &str) -> Result<(), Failure> {
        let op_id = (id != "clear").then_some(id);
        self.session.set_op_id(op_id)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.op_id(op_id)?;
        }
        match op_id {
            Some(op_id) => self
                .out
                .note(&format!("You answer as {} from now on.", clean(op_id))),
            None => self.out.note("Nobody answers from now on."),
        }
        Ok(())
    }

    fn run_arrow(&mut self, id: &str) -> Result<(), Failure> {
        let arrow = find_arrow(self.session.grid(), id)?;
        let runs = arrow
            .clauses
            .iter()
            .any(|c| matches!(c.eval, Eval::Machine { .. }));
        let interruptible = self.terminal.filter(|_| runs);
        if let Some(terminal) = interruptible {
            terminal.interruptible(true);
        }
        let done = self.session.dispatch(id);
        if let Some(terminal) = interruptible {
            terminal.interruptible(false);
        }
        let done = done?;
        if let Some(recorder) = &mut self.recorder {
            recorder.turn(record::run_arrow(id))?;
        }
        print_dispatched(self.out, id, &done)
    }

    fn attest(&mut self, arguments: &[&str]) -> Result<(), Failure> {
        let line = AttestLine::try_parse_from(arguments).map_err(|e| {
            let text = e.render().to_string();
            Failure::usage(text.trim_start_matches("error: ").trim_end())
        })?;
        let submission = line.answer.submission()?;
        let op_id = self.session.op_id().unwrap_or_default();
        if let Some(recorder) = &mut self.recorder {
            recorder.by_command(true);
        }
        let recorded = self
            .session
            .attest(&line.answer.attestation_ref, &submission, &op_id);
        self.tell_news()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.by_command(false);
        }
        match recorded {
            Ok(_) => Ok(()),
            Err(error @ SessionError::NoPassForRef(_)) => Err(self.no_pass(error, &line.answer)),
            Err(error) => Err(error.into()),
        }
    }

    /// A ref that was never asked for: says which one may have been meant.
    fn no_pass(&self, error: SessionError, answer: &Answer) -> Failure {
        let mut failure = Failure::from(error);
        let refs = self.refs().unwrap_or_default();
        let near = nearest(&answer.attestation_ref, refs.iter().map(String::as_str));
        if let Some(near) = near.filter(|near| *near != answer.attestation_ref) {
            failure.message.push_str(&format!("; did you mean {near}?"));
        }
        failure
    }

    fn attestations(&self, arrow: Option<&str>) -> Result<(), Failure> {
        let (db, disk) = (self.session.db(), self.session.disk());
        if let Some(id) = arrow {
            // An arrow of an older grid may have records.
            let on_record = db.read(|tx| {
                let mut any = false;
                tx.each_row(arrow, |_| {
                    any = true;
                    Ok::<_, Failure>(())
                })?;
                Ok::<_, Failure>(any)
            })?;
            if !on_record {
                find_arrow(self.session.grid(), id)?;
            }
        }
        if !self.out.json() && db.read(|tx| tx.row_count())? == 0 {
            self.out.note("No verdict is on record.");
        }
        print_list(self.out, db, disk, arrow)
    }

    fn passes(&self) -> Result<(), Failure> {
        let passes = self.session.db().read(|tx| tx.passes())?;
        if self.out.json() {
            let value = |p: &Pass| {
                json!({
                    "pass_id": p.pass_id, "arrow_id": p.arrow_id, "status": p.status.as_str(),
                    "reason": p.reason, "opened_at": p.opened_at, "ended_at": p.ended_at,
                    "recovered_at": p.recovered_at, "grid_version": p.grid_version,
                })
            };
            return Ok(self
                .out
                .value(&passes.iter().map(value).collect::<Vec<_>>())?);
        }
        if passes.is_empty() {
            self.out.note("No arrow was traversed yet.");
        }
        for pass in &passes {
            self.out.line(&pass_line(pass))?;
        }
        Ok(())
    }

    fn findings(&self) -> Result<(), Failure> {
        let findings = self.session.db().read(|tx| tx.findings())?;
        if self.out.json() {
            let value = |f: &Finding| {
                json!({
                    "finding_id": f.finding_id, "arrow_id": f.arrow_id, "clause_id": f.clause_id,
                    "pass_id": f.pass_id, "type": f.kind, "severity": f.severity,
                    "status": f.status, "detail": f.detail, "raised_at": f.raised_at,
                    "disposed_by": f.disposed_by, "grid_version": f.grid_version,
                })
            };
            return Ok(self
                .out
                .value(&findings.iter().map(value).collect::<Vec<_>>())?);
        }
        if findings.is_empty() {
            self.out.note("No defect was found.");
        }
        for f in &findings {
            self.out.line(&format!(
                "#{}  {}  {} on {} {}: {}, {}",
                f.finding_id,
                output::status(&f.status),
                clean(&f.severity),
                clean(&f.arrow_id),
                clean(&f.clause_id),
                clean(&f.kind),
                excerpt(&f.detail),
            ))?;
        }
        Ok(())
    }

    fn pending(&self) -> Result<(), Failure> {
        let pending = self.session.pending()?;
        if self.out.json() {
            let value = |r: &Request| {
                json!({
                    "attestation_ref": r.attestation_ref, "round": r.round, "pass_id": r.pass_id,
                    "arrow_id": r.arrow_id, "clause_id": r.clause_id, "concept": r.concept,
                    "deeper": r.deeper, "grid_version": r.grid_version,
                })
            };
            return Ok(self
                .out
                .value(&pending.iter().map(value).collect::<Vec<_>>())?);
        }
        if pending.is_empty() {
            self.out.note("Nothing is pending.");
        }
        for request in &pending {
            self.out.line(&format!(
                "{}  round {}: {}",
                clean(&request.attestation_ref),
                request.round,
                clean(&request.concept),
            ))?;
        }
        Ok(())
    }

    /// Says what lines may be completed with.
    pub(super) fn offer(&mut self) -> Result<(), Failure> {
        let candidates = Candidates {
            commands: names().map(str::to_owned).collect(),
            arrows: self
                .session
                .grid()
                .arrows
                .iter()
                .map(|a| clean(&a.id))
                .collect(),
            refs: self.refs()?,
            root: self.session.project().root().to_owned(),
        };
        self.reader.offer(candidates);
        Ok(())
    }

    /// The refs that can be answered: the grid's, and what else is pending.
    fn refs(&self) -> Result<Vec<String>, Failure> {
        let (grid, policy) = (self.session.grid(), self.session.policy());
        let mut refs: Vec<String> = self
            .session
            .pending()?
            .into_iter()
            .map(|r| r.attestation_ref)
            .collect();
        for arrow in &grid.arrows {
            for clause in arrow.clauses.iter().filter(|c| c.eval == Eval::Attested) {
                refs.push(policy.attestation_ref(&arrow.id, &clause.id, grid.version)?);
            }
        }
        refs.sort();
        refs.dedup();
        Ok(refs.iter().map(|r| clean(r)).collect())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .filter_map(|(usage, _)| usage.split(' ').next())
}

/// A line that is no command as it stands: how it would be one.
fn misuse(command: &str) -> Failure {
    if let Some((usage, _)) = COMMANDS
        .iter()
        .find(|(usage, _)| usage.split(' ').next() == Some(command))
    {
        return Failure::usage(format!("that is written {usage}"));
    }
    let meant = match nearest(command, names()) {
        Some(name) => format!("did you mean {name}?"),
        None => "/help lists the commands".to_owned(),
    };
    let text = "A blank in front of / makes it text.";
    Failure::usage(format!("there is no command {command}; {meant} {text}"))
}

fn pass_line(pass: &Pass) -> String {
    let mut line = format!(
        "{}  {}  {}  opened {}",
        clean(&pass.pass_id),
        clean(&pass.arrow_id),
        output::status(pass.status.as_str()),
        clean(&pass.opened_at),
    );
    for (word, value) in [
        ("ended", &pass.ended_at),
        ("reason", &pass.reason),
        ("recovered", &pass.recovered_at),
    ] {
        if !value.is_empty() {
            line.push_str(&format!(", {word} {}", clean(value)));
        }
    }
    line
}
