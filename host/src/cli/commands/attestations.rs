//! `ghyll attestations`: the verdicts on record, streamed.

use std::collections::VecDeque;

use clap::Args;
use ghyll::db::{Filter, Row};
use ghyll::shape::LineObject;
use ghyll::view::{View, find_arrow};
use ghyll::work::Verdict;
use ghyll::work::verdict::evidence;

use crate::cli::output::{self, Table, Text, clean};
use crate::cli::{Common, Failure, Output};

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

pub fn run(common: &Common, out: &Output, args: &ListArgs) -> Result<u8, Failure> {
    let view = common.view(out)?;
    out.paged(|| print(out, &view, args))?;
    super::readable(&view)
}

/// Prints the records asked for, newest last, one at a time.
pub fn print(out: &Output, view: &View, args: &ListArgs) -> Result<(), Failure> {
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
