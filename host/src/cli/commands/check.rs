//! `ghyll check`: the gate for CI.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use ghyll::audit::checkpoint::Checkpoint;
use ghyll::check::{Checked, CheckedArrow, CheckedClause, Options, check};
use ghyll::export;
use ghyll::files::bounded::{read_below, read_text};
use ghyll::policy::Policy;
use ghyll::text::count;
use ghyll::view::View;
use ghyll::work::status::{ArrowStatus, ClauseStatus};

use super::engine::print_issue;
use crate::cli::output::{ALARM, STRONG, Text, status, text};
use crate::cli::{Common, Failure, NO, Output};

/// The checkpoint that is held against the tree unless another is named.
const CHECKPOINT: &str = "checkpoint.json";
/// The largest checkpoint that is read.
const CHECKPOINT_MAX: u64 = 256 << 20;

#[derive(Args)]
pub struct CheckArgs {
    /// Only these arrows; all of the grid if none is named
    #[arg(value_name = "ARROW")]
    arrows: Vec<String>,
    /// Do not run machine clauses; they count as unevaluated
    #[arg(long)]
    no_run: bool,
    /// Hold the tree against this checkpoint [default: .ghyll/checkpoint.json, if there is one]
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// How the answer is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line a clause
    Text,
    /// One JSON object
    Json,
    /// JUnit's XML
    Junit,
    /// GitHub's annotations
    Github,
}

pub fn run(common: &Common, out: &Output, args: &CheckArgs) -> Result<u8, Failure> {
    let view = View::open_trusting_nothing(common.project()?, Arc::new(Policy::load()?))?;
    let checkpoint = checkpoint(&view, args.checkpoint.as_deref())?;
    let checked = check(
        &view,
        &Options {
            arrows: args.arrows.clone(),
            no_run: args.no_run,
            checkpoint: checkpoint.as_ref(),
            ..Options::default()
        },
    )
    .map_err(|e| Failure::new(e.code(), &e))?;
    match args.format {
        Format::Json => out.value(&checked)?,
        Format::Text if out.json() => out.value(&checked)?,
        Format::Text => {
            out.paged(|| in_words(out, &checked))?;
            out.note_wrapped(in_all(&checked), 2);
        }
        Format::Junit => {
            let xml = export::junit(&checked).map_err(|e| Failure::new("junit-write-failed", e))?;
            out.raw(xml.as_bytes())?;
        }
        Format::Github => out.raw(export::github(&checked).as_bytes())?,
    }
    Ok(if checked.ok { 0 } else { NO })
}

/// The checkpoint named, or the one that the project keeps.
fn checkpoint(view: &View, named: Option<&Path>) -> Result<Option<Checkpoint>, Failure> {
    let fail = |e: &dyn std::fmt::Display, path: &str| {
        Failure::new("checkpoint-unreadable", format!("{path}: {e}"))
    };
    let (text, path) = match named {
        Some(path) => {
            let name = path.display().to_string();
            (
                read_text(path, CHECKPOINT_MAX).map_err(|e| fail(&e, &name))?,
                name,
            )
        }
        None => {
            let name = view.project().path_of(CHECKPOINT).display().to_string();
            let bytes = read_below(view.disk(), CHECKPOINT, CHECKPOINT_MAX);
            match bytes.map_err(|e| fail(&e, &name))? {
                None => return Ok(None),
                Some(bytes) => {
                    let text = String::from_utf8(bytes).map_err(|e| fail(&e, &name))?;
                    (text, name)
                }
            }
        }
    };
    let checkpoint =
        Checkpoint::parse(&text).map_err(|e| Failure::new(e.code(), format!("{path}: {e}")))?;
    Ok(Some(checkpoint))
}

/// What was found, a line a clause.
pub fn in_words(out: &Output, checked: &Checked) -> Result<(), Failure> {
    for issue in &checked.issues {
        print_issue(out, issue, Text::default())?;
    }
    for arrow in &checked.arrows {
        out.line(text![
            Text::styled(&arrow.id, STRONG),
            "  ",
            status(arrow.status.as_str())
        ])?;
        let width = |of: fn(&CheckedClause) -> usize| {
            let clauses = arrow.clauses.iter();
            clauses.map(of).max().unwrap_or(0)
        };
        let ids = width(|clause| ghyll::text::width(&clause.id));
        let states = width(|clause| clause.status.as_str().len());
        for clause in &arrow.clauses {
            let blanks = |text: &str, width: usize| {
                " ".repeat(width.saturating_sub(ghyll::text::width(text)) + 2)
            };
            let stands = clause.status.as_str();
            out.line_wrapped(
                text![
                    "  ",
                    &clause.id,
                    blanks(&clause.id, ids),
                    status(stands),
                    blanks(stands, states),
                    why(clause)
                ],
                indent(
                    out.data_columns(),
                    ids.saturating_add(states).saturating_add(6),
                ),
            )?;
        }
    }
    Ok(())
}

/// How far what does not fit is indented: below itself, where there is room.
fn indent(columns: usize, below_itself: usize) -> usize {
    const NARROW: usize = 60;
    match columns {
        0..NARROW => 6,
        _ => below_itself.min(24),
    }
}

fn why(clause: &CheckedClause) -> String {
    let mut words = clause.message.lines().next().unwrap_or_default().to_owned();
    if clause.status == ClauseStatus::Fail && clause.message.lines().count() > 1 {
        let last = clause.message.lines().last().unwrap_or_default();
        words.push_str(&format!(": {last}"));
    }
    if !clause.changed.is_empty() {
        words.push_str(&format!(" (changed: {})", clause.changed.join(", ")));
    }
    words
}

/// The answer.
pub fn in_all(checked: &Checked) -> Text {
    let complete = |arrow: &&CheckedArrow| arrow.status == ArrowStatus::Complete;
    let done = checked.arrows.iter().filter(complete).count();
    let arrows = count(checked.arrows.len(), "arrow");
    let issues = match checked.issues.len() {
        0 => String::new(),
        n => format!("; {} with the record", count(n, "issue")),
    };
    let words = format!("{done} of {arrows} complete{issues}");
    if checked.ok {
        text![status("pass"), format!(": {words}")]
    } else {
        text![Text::styled("NOT complete", ALARM), format!(": {words}")]
    }
}
