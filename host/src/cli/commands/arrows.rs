//! `ghyll arrow list` and `ghyll arrow show`.

use clap::Subcommand;
use ghyll::codes;
use ghyll::grid::{Arrow, Clause, Eval};
use ghyll::shape::{ArrowLine, ArrowWhole, accepted_risks, concurrent, next_command};
use ghyll::text::excerpt;
use ghyll::view::View;
use ghyll::work::status::{ArrowView, ClauseView};
use ghyll::work::verdict::evidence;

use super::dispatch::last_lines;
use crate::cli::output::{ALARM, STRONG, Table, Text, status, text};
use crate::cli::{Common, Failure, Output};

#[derive(Subcommand)]
pub enum ArrowCommand {
    /// All arrows, one a line
    List,
    /// One arrow with its clauses
    Show {
        /// The arrow's id
        arrow: String,
    },
}

pub fn run(common: &Common, out: &Output, command: &ArrowCommand) -> Result<u8, Failure> {
    let view = common.view(out)?;
    match command {
        ArrowCommand::List => {
            let arrows = view.arrows()?;
            if out.json() {
                let lines = arrows
                    .iter()
                    .map(|(arrow, view)| ArrowLine::new(arrow, view));
                out.value(&lines.collect::<Vec<_>>())?;
            } else {
                out.paged(|| list(out, &arrows))?;
            }
        }
        ArrowCommand::Show { arrow } => {
            let (arrow, stands) = view.arrow(arrow)?;
            if out.json() {
                out.value(&ArrowWhole::new(arrow, &stands, |clause, stands| {
                    changed_paths(&view, arrow, clause, stands)
                }))?;
            } else {
                out.paged(|| print(out, &view, arrow, &stands))?;
                let next = next_command(arrow, &stands);
                if !next.is_empty() {
                    out.note_wrapped(format!("Next: {next}"), 2);
                }
            }
        }
    }
    super::readable(&view)
}

/// The paths that changed since a clause was judged; none where that cannot be
/// told.
pub fn changed_paths(
    project: &View,
    arrow: &Arrow,
    clause: &Clause,
    stands: &ClauseView,
) -> Vec<String> {
    let changed = project.changed(arrow, clause, stands).unwrap_or_default();
    changed.into_iter().map(|change| change.path).collect()
}

/// All arrows, one a line.
pub fn list(out: &Output, arrows: &[(&Arrow, ArrowView)]) -> Result<(), Failure> {
    let mut table = Table::new(&["ARROW", "STATUS", "CONTEXT", "STRATUM", "ROLES"]);
    for (arrow, view) in arrows {
        let mut stands = status(view.status.as_str());
        stands.push(besides(view));
        let cells = vec![
            arrow.id.as_str().into(),
            stands,
            arrow.context.as_str().into(),
            arrow.stratum.as_str().into(),
            roles(arrow).into(),
        ];
        table.row(out, cells, Vec::new())?;
    }
    table.print(out)
}

/// What is not plain about where an arrow stands.
fn besides(view: &ArrowView) -> String {
    let mut words = String::new();
    for (n, what) in [
        (accepted_risks(view), "risk accepted on"),
        (concurrent(view), "concurrent on"),
    ] {
        if n > 0 {
            words.push_str(&format!(" ({what} {})", ghyll::text::count(n, "clause")));
        }
    }
    words
}

fn roles(arrow: &Arrow) -> String {
    let adversary = arrow.adversary_role.as_deref();
    let adversary = adversary.map(|role| format!(" (adversary {role})"));
    format!(
        "{} → {}{}",
        arrow.source_role,
        arrow.target_role,
        adversary.unwrap_or_default()
    )
}

/// Prints an arrow with its clauses.
pub fn print(out: &Output, project: &View, arrow: &Arrow, view: &ArrowView) -> Result<(), Failure> {
    let place = format!("in {}, stratum {}", arrow.context, arrow.stratum);
    out.line_wrapped(
        text![
            Text::styled(&arrow.id, STRONG),
            "  ",
            status(view.status.as_str()),
            besides(view),
            format!("  {}  {place}", roles(arrow)),
        ],
        2,
    )?;
    let mut table = Table::new(&["CLAUSE", "STATUS", "DECIDED BY", "CLAIM"]);
    for (clause, view) in arrow.clauses.iter().zip(&view.clauses) {
        let mut stands = status(view.status.as_str());
        if view.accepted_risk {
            stands.push(" (risk accepted)");
        }
        let by = match clause.eval {
            Eval::Machine { .. } => "a command",
            Eval::Attested => "a person",
        };
        let cells = vec![
            clause.id.as_str().into(),
            stands,
            by.into(),
            clause.concept.as_str().into(),
        ];
        let changed = changed_paths(project, arrow, clause, view);
        table.row(out, cells, remarks(out, clause, view, &changed))?;
    }
    table.print(out)
}

fn remarks(out: &Output, clause: &Clause, view: &ClauseView, changed: &[String]) -> Vec<Text> {
    let mut words: Vec<Text> = Vec::new();
    if let Some((code, problem)) = &view.problem {
        words.push(text![
            Text::styled(code, ALARM),
            format!(": {problem}. "),
            codes::page(code).map_or("", |page| page.hint)
        ]);
    }
    if !changed.is_empty() {
        words.push(format!("changed since: {}", changed.join(", ")).into());
    }
    if let Some(row) = &view.newest {
        let mut said = excerpt(&evidence(row));
        if !said.is_empty() {
            said.insert_str(0, ": ");
        }
        words.push(text![
            format!("round {}: ", row.round),
            status(&row.rec.verdict),
            format!(" by {}, {}", row.rec.op_id, out.when(&row.rec.timestamp)),
            if view.concurrent {
                " (concurrent: others answered the same round; the severest counts)"
            } else {
                ""
            },
            said,
        ]);
    }
    if view.pending.is_some() {
        words.push(format!("round {} is asked: {}", view.round, view.attestation_ref).into());
    }
    if let (Eval::Machine { run, .. }, Some(last)) = (&clause.eval, &view.run) {
        let command = shlex::try_join(run.iter().map(String::as_str)).unwrap_or_default();
        words.push(format!("$ {command}").into());
        words.extend(last_lines(&last.detail).into_iter().map(Text::from));
    }
    if view.deeper > 0 {
        words.push(
            format!(
                "routed upstream: a tier {} deeper is asked for",
                view.deeper
            )
            .into(),
        );
    }
    if view.open_findings > 0 {
        words.push(format!("open findings: {}", view.open_findings).into());
    }
    words
}
