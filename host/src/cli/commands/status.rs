//! `ghyll status`, and `ghyll` alone in a project: where everything stands,
//! and what to type next.

use ghyll::grid::Arrow;
use ghyll::shape::{reasons, to_mend};
use ghyll::view::View;
use ghyll::work::status::{ArrowStatus, ArrowView, ClauseStatus};
use serde::Serialize;

use crate::cli::output::{STRONG, Table, Text, status, text};
use crate::cli::{Common, Failure, Output};

/// The overview.
#[derive(Serialize)]
struct Overview<'a> {
    arrows: Vec<Line<'a>>,
    /// Arrows for which the grid in force would have to be attested.
    unattested: Vec<String>,
    /// The command to type next; empty when there is nothing to do.
    next: String,
}

/// An arrow in the overview.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    status: ArrowStatus,
    clauses: usize,
    decided: usize,
    pending: usize,
    stale: usize,
    accepted_risk: usize,
    concurrent: usize,
    last: Option<Last>,
}

/// The last verdict on an arrow.
#[derive(Serialize)]
struct Last {
    op_id: String,
    verdict: String,
    timestamp: String,
}

impl<'a> Line<'a> {
    fn new(arrow: &'a Arrow, view: &ArrowView) -> Self {
        let count = |is: &dyn Fn(ClauseStatus) -> bool| {
            view.clauses.iter().filter(|c| is(c.status)).count()
        };
        let newest = view.clauses.iter().filter_map(|c| c.newest.as_ref());
        let last = newest.max_by(|a, b| a.rec.timestamp.cmp(&b.rec.timestamp));
        Self {
            id: &arrow.id,
            status: view.status,
            clauses: view.clauses.len(),
            decided: count(&|s| matches!(s, ClauseStatus::Pass | ClauseStatus::Fail)),
            pending: count(&|s| s == ClauseStatus::Pending),
            stale: count(&|s| s == ClauseStatus::Stale),
            accepted_risk: view.clauses.iter().filter(|c| c.accepted_risk).count(),
            concurrent: view.clauses.iter().filter(|c| c.concurrent).count(),
            last: last.map(|row| Last {
                op_id: row.rec.op_id.clone(),
                verdict: row.rec.verdict.clone(),
                timestamp: row.rec.timestamp.clone(),
            }),
        }
    }

    /// What it waits for, and what is not plain about it.
    fn remarks(&self) -> String {
        let mut words = Vec::new();
        for (n, what) in [
            (self.pending, "waiting for an operator"),
            (self.stale, "stale"),
            (self.accepted_risk, "risk accepted"),
            (self.concurrent, "answered twice at once"),
        ] {
            if n > 0 {
                words.push(format!("{n} {what}"));
            }
        }
        words.join(", ")
    }
}

pub fn run(common: &Common, out: &Output) -> Result<u8, Failure> {
    let view = common.view(out)?;
    out.paged(|| print(out, &view))?;
    super::readable(&view)
}

/// Prints the overview of a project.
pub fn print(out: &Output, view: &View) -> Result<(), Failure> {
    let arrows = view.arrows()?;
    let lines: Vec<Line<'_>> = arrows
        .iter()
        .map(|(arrow, v)| Line::new(arrow, v))
        .collect();
    let unattested = view.unattested()?;
    let next = next(&arrows, &lines, &unattested);
    if out.json() {
        out.value(&Overview {
            arrows: lines,
            unattested,
            next,
        })?;
        return Ok(());
    }
    table(out, &lines)?;
    if !unattested.is_empty() {
        out.line_wrapped(
            format!(
                "grid v{} is not attested as it is now (grid-unattested): {}",
                view.grid().version,
                unattested.join(", ")
            ),
            2,
        )?;
    }
    out.line("")?;
    let next: Text = match next.as_str() {
        "" => "Nothing waits.".into(),
        next => text!["Next: ", Text::styled(next, STRONG)],
    };
    out.line_wrapped(next, 2)?;
    Ok(())
}

fn table(out: &Output, lines: &[Line<'_>]) -> Result<(), Failure> {
    let mut table = Table::new(&["ARROW", "STATUS", "DECIDED", "LAST"]);
    for line in lines {
        let mut last: Text = match &line.last {
            None => "no verdict yet".into(),
            Some(last) => text![
                status(&last.verdict),
                format!(" by {}, {}", last.op_id, out.when(&last.timestamp))
            ],
        };
        let remarks = line.remarks();
        if !remarks.is_empty() {
            last.push(format!("  ({remarks})"));
        }
        let cells = vec![
            line.id.into(),
            status(line.status.as_str()),
            format!("{}/{}", line.decided, line.clauses).into(),
            last,
        ];
        table.row(out, cells, Vec::new())?;
    }
    table.print(out)
}

/// The command that leads on.
fn next(arrows: &[(&Arrow, ArrowView)], lines: &[Line<'_>], unattested: &[String]) -> String {
    if lines
        .iter()
        .any(|line| line.status == ArrowStatus::Unreadable)
    {
        return "ghyll engine verify-attestations".to_owned();
    }
    if lines.iter().any(|line| line.pending > 0) {
        return "ghyll run".to_owned();
    }
    if !unattested.is_empty() {
        return "ghyll init attest --op-id ID".to_owned();
    }
    let open = arrows
        .iter()
        .find(|(_, view)| view.status != ArrowStatus::Complete);
    match open {
        None => String::new(),
        Some((arrow, view)) => {
            let id = shlex::try_quote(&arrow.id).unwrap_or_default();
            // What has to be mended is looked at first.
            match to_mend(&reasons(arrow, view)) {
                true => format!("ghyll arrow show {id}"),
                false => format!("ghyll dispatch {id}"),
            }
        }
    }
}
