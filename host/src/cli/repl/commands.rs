//! Slash commands: the same at the REPL's prompt and at any question.

use clap::Parser;
use ghyll::db::Pass;
use ghyll::grid::Eval;
use ghyll::project::Holder;
use ghyll::runtime::cancel::Cancel;
use ghyll::runtime::signals::InterruptCancels;
use ghyll::session::{Options, SessionError};
use ghyll::text::nearest;
use ghyll::view::find_arrow;

use super::slash::{self, Kind};
use super::{Flow, Repl, record};
use crate::cli::Failure;
use crate::cli::commands::attest::Answer;
use crate::cli::commands::attestations::{self, ListArgs};
use crate::cli::commands::dispatch::{self, tell_joined};
use crate::cli::commands::lists::{self, List};
use crate::cli::output::clean;
use crate::cli::reader::Candidates;

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
                Ok(self.after_refusal())
            }
        }
    }

    fn run_words(&mut self, words: &[String]) -> Result<Flow, Failure> {
        let (kind, arguments) = slash::parse(words)?;
        match (kind, arguments.as_slice()) {
            (Kind::Exit, _) => return Ok(Flow::Leave),
            (Kind::Help, _) => self.help(),
            (Kind::OpId, arguments) => match arguments.first() {
                Some(id) => self.set_op_id(id)?,
                None => self.tell_op_id(),
            },
            (Kind::RunArrow, arguments) => {
                self.run_arrow(arguments.first().copied().unwrap_or_default())?;
            }
            (Kind::Attest, arguments) => self.attest(arguments)?,
            (Kind::Attestations, arguments) => self.attestations(arguments.first().copied())?,
            (Kind::Passes, _) => self.list(List::Passes)?,
            (Kind::Findings, _) => self.list(List::Findings)?,
            (Kind::Pending, _) => self.list(List::Pending)?,
        }
        Ok(Flow::Stay)
    }

    fn help(&self) {
        for slash in slash::ALL {
            self.out.note_wrapped(slash.usage(), 4);
            self.out.note_wrapped(format!("      {}", slash.does), 6);
        }
        self.out.note_wrapped(
            "Anything else is said to the model. A command is a command at any question too; \
             a blank in front of / makes it text. An empty line has what is pending asked.",
            0,
        );
    }

    fn run_arrow(&mut self, id: &str) -> Result<(), Failure> {
        self.session.take_up_grid()?;
        let grid = self.session.grid();
        let arrow = find_arrow(&grid, id)?;
        let runs = arrow
            .clauses
            .iter()
            .any(|c| matches!(c.eval, Eval::Machine { .. }));
        let interruptible = self
            .terminal
            .filter(|_| runs && self.reader.is_interactive());
        let cancel = Cancel::default();
        // Ctrl-C calls the commands off, and a second one leaves.
        let interrupts = interruptible.map(|_| InterruptCancels::new(&cancel));
        if let Some(terminal) = interruptible {
            terminal.interruptible(true);
        }
        let out = self.out;
        let joined = |pass: &Pass, who: Option<Holder>| tell_joined(out, pass, who);
        let done = self.session.dispatch_with(
            id,
            &Options {
                cancel,
                joined: Some(&joined),
                ..Options::default()
            },
        );
        drop(interrupts);
        if let Some(terminal) = interruptible {
            terminal.interruptible(false);
        }
        let done = done?;
        if let Some(recorder) = &mut self.recorder {
            recorder.turn(record::run_arrow(id))?;
        }
        dispatch::print(self.out, id, &done)
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
        let view = self.session.view()?;
        self.shown(|| attestations::print(self.out, &view, &ListArgs::of_arrow(arrow)))
    }

    fn list(&self, list: List) -> Result<(), Failure> {
        let view = self.session.view()?;
        self.shown(|| lists::print(self.out, &view, list))
    }

    /// Shows something long: page by page, if somebody is there to turn them.
    fn shown(&self, show: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        if self.reader.is_interactive() {
            self.out.paged(show)
        } else {
            show()
        }
    }

    /// Says what lines may be completed with.
    pub(super) fn offer(&mut self) -> Result<(), Failure> {
        let candidates = Candidates {
            commands: slash::offered(),
            arrows: self
                .session
                .grid()
                .arrows
                .iter()
                .map(|a| clean(&a.id))
                .collect(),
            refs: self.refs()?,
            people: self.people.clone(),
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
