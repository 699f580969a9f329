//! `ghyll show REF[@ROUND]`: one verdict, whole.

use clap::Args;
use ghyll::db::Row;
use ghyll::policy::Hint;
use ghyll::shape::LineObject;
use ghyll::subject::changed::Change;
use ghyll::view::{View, resolve_ref};
use ghyll::work::standing;
use ghyll::work::status::ClauseStatus;
use serde::Serialize;

use crate::cli::desk::question::{behind_bar, cut};
use crate::cli::output::{QUIET, STRONG, Text, status, text};
use crate::cli::{Common, Failure, Output};
use ghyll::locations::lines_at;

/// Lines shown at a place.
const LINES: usize = 12;

#[derive(Args)]
pub struct ShowArgs {
    /// A ref, an id, or ARROW/CLAUSE; @ROUND for another round than the last
    #[arg(value_name = "REF[@ROUND]")]
    what: String,
}

/// A verdict with what is known of it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    line: LineObject<'a>,
    attestation_ref: &'a str,
    round: u32,
    path: &'a str,
    line_number: u64,
    concurrent: bool,
    stale: bool,
    changed: Vec<&'a str>,
}

pub fn run(common: &Common, out: &Output, args: &ShowArgs) -> Result<u8, Failure> {
    let view = common.view(out)?;
    out.paged(|| print(out, &view, &args.what))?;
    super::readable(&view)
}

/// Prints one verdict.
pub fn print(out: &Output, view: &View, what: &str) -> Result<(), Failure> {
    let (row, concurrent) = find(view, what)?;
    let (stale, changed) = since(view, &row)?;
    if out.json() {
        // `line` is the contract's name for where it stands.
        let mut shown = serde_json::to_value(Shown {
            line: LineObject(&row),
            attestation_ref: &row.attestation_ref,
            round: row.round,
            path: &row.path,
            line_number: row.line,
            concurrent,
            stale,
            changed: changed.iter().map(|change| change.path.as_str()).collect(),
        })
        .map_err(std::io::Error::other)?;
        if let Some(object) = shown.as_object_mut()
            && let Some(line) = object.remove("line_number")
        {
            object.insert("line".to_owned(), line);
        }
        return Ok(out.value(&shown)?);
    }
    in_words(out, view, &row, concurrent, stale, &changed)
}

/// The record that is meant, and whether others answer the same round.
fn find(view: &View, what: &str) -> Result<(Row, bool), Failure> {
    let (reference, round) = match what.rsplit_once('@') {
        Some((reference, round)) if !round.is_empty() => {
            let round: u32 = round.parse().map_err(|_| {
                Failure::usage(format!("{round:?} is no round; rounds count from 1"))
            })?;
            (reference, Some(round))
        }
        _ => (what, None),
    };
    let reference = resolve_ref(view.grid(), view.policy(), reference)?;
    let answered = view.policy().ref_and_round(&reference)?;
    let (attestation_ref, named) = (answered.attestation_ref, answered.round);
    let newest = view.read(|reader| reader.standing(&attestation_ref))?;
    let unknown = || {
        Failure::new(
            "attestation-unknown",
            format!("no verdict on {what} is on record"),
        )
    };
    let newest = newest.ok_or_else(unknown)?.round;
    let round = round.unwrap_or(if named > 1 { named } else { newest });
    let rows = view.read(|reader| reader.round(&attestation_ref, round))?;
    let row = standing::authoritative(&rows)
        .cloned()
        .ok_or_else(unknown)?;
    Ok((row, rows.len() > 1))
}

/// Whether what was judged is no longer what is there, and what changed.
fn since(view: &View, row: &Row) -> Result<(bool, Vec<Change>), Failure> {
    let Some(arrow) = view.grid().arrow(&row.rec.arrow_id) else {
        return Ok((false, Vec::new()));
    };
    let (_, stands) = view.arrow(&arrow.id)?;
    let clause = arrow.clauses.iter().zip(&stands.clauses);
    let Some((clause, stands)) = clause.into_iter().find(|(c, _)| c.id == row.rec.clause_id) else {
        return Ok((false, Vec::new()));
    };
    let mut judged = stands.clone();
    judged.judged = view.policy().decode_hint(&row.rec.hint_json)?.subject;
    let changed = view.changed(arrow, clause, &judged).unwrap_or_default();
    Ok((
        stands.status == ClauseStatus::Stale || !changed.is_empty(),
        changed,
    ))
}

fn in_words(
    out: &Output,
    view: &View,
    row: &Row,
    concurrent: bool,
    stale: bool,
    changed: &[Change],
) -> Result<(), Failure> {
    let rec = &row.rec;
    let hint = view.policy().decode_hint(&rec.hint_json)?;
    let payload = view.policy().decode_unit_payload(&rec.unit_payload_json)?;
    let line = text![
        &row.attestation_ref,
        format!(", round {}: ", row.round),
        status(&rec.verdict),
        format!(" by {}, {}", rec.op_id, when(out, &rec.timestamp))
    ];
    out.line_wrapped(line, 2)?;
    if !hint.concept.is_empty() {
        out.line_wrapped(text!["  ", Text::styled(&hint.concept, STRONG)], 2)?;
    }
    if concurrent {
        out.line_wrapped(
            "  concurrent: others answered the same round; the severest counts",
            4,
        )?;
    }
    for place in &payload.inspected {
        out.line_wrapped(text!["  at ", place], 5)?;
        if let Some((lines, more)) = lines_at(view.project().root(), place, LINES) {
            for (number, line) in lines {
                out.line(text![
                    Text::styled(&format!("  {number:>5} │ "), QUIET),
                    cut(&line, out.data_columns())
                ])?;
            }
            if more {
                out.line(Text::styled("        …", QUIET))?;
            }
        }
    }
    for line in payload.residue.lines() {
        out.line_wrapped(text!["  │ ", line], 4)?;
    }
    producer(out, &rec.source_role, &hint)?;
    if !hint.subject.is_empty() {
        let name = Text::styled("  subject    ", QUIET);
        out.line_wrapped(text![name, &hint.subject], 13)?;
    }
    if stale {
        let words = ": what was judged is no longer what is there";
        out.line_wrapped(text!["  ", status("stale"), words], 4)?;
    }
    for change in changed {
        out.line_wrapped(format!("    {}", change.in_words()), 6)?;
    }
    for (name, value) in [
        ("roles", roles(row)),
        (
            "context",
            format!("{}, stratum {}", rec.context, rec.stratum),
        ),
        ("pass", rec.pass_id.clone()),
        ("reason", rec.reason.clone()),
        ("stands in", format!("{}:{}", row.path, row.line)),
        ("chain", row.chain.clone()),
    ] {
        if !value.is_empty() {
            let name = Text::styled(&format!("  {name:11}"), QUIET);
            out.line_wrapped(text![name, &value], 13)?;
        }
    }
    if stale {
        let arrow = shlex::try_quote(&rec.arrow_id).unwrap_or_default();
        out.note_wrapped(format!("Next: ghyll dispatch {arrow}"), 2);
    }
    Ok(())
}

/// What the producer said of the work when the verdict was asked for, whole.
fn producer(out: &Output, role: &str, hint: &Hint) -> Result<(), Failure> {
    if hint.locations.is_empty() && hint.basis.is_empty() && hint.residue.is_empty() {
        return Ok(());
    }
    out.line_wrapped(
        format!("  The producer ({role}) said, and nobody had checked it:"),
        4,
    )?;
    for (what, words) in [("it holds:", &hint.basis), ("left open:", &hint.residue)] {
        for (n, line) in words.lines().enumerate() {
            let what = if n == 0 { what } else { "" };
            out.line_wrapped(text![behind_bar(what), line], 15)?;
        }
    }
    for (n, place) in hint.locations.iter().enumerate() {
        let what = if n == 0 { "look at:" } else { "" };
        out.line_wrapped(text![behind_bar(what), place], 15)?;
    }
    Ok(())
}

/// How long ago on a terminal, and always when.
fn when(out: &Output, timestamp: &str) -> String {
    let second = ghyll::text::second(timestamp);
    match out.when(timestamp) {
        ago if ago == second => second,
        ago => format!("{ago} ({second})"),
    }
}

fn roles(row: &Row) -> String {
    let rec = &row.rec;
    let adversary = match rec.adversary_role.as_str() {
        "" => String::new(),
        adversary => format!(" (adversary {adversary})"),
    };
    format!("{} → {}{adversary}", rec.source_role, rec.target_role)
}
