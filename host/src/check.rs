//! The gate: may this arrow's work go on?
//!
//! For CI, which holds a merge back with it. It relies on nothing but the tree
//! and the work itself: every record is read, every covered byte, every
//! machine clause is run anew; no index, no remembered digest, no lock, and
//! nothing is written. So it answers the same in a fresh clone.

use serde::Serialize;

use crate::audit::checkpoint::Checkpoint;
use crate::audit::load::LoadError;
use crate::audit::verify::subjects::Subjects;
use crate::audit::verify::{Issue, On};
use crate::audit::{TREE_DIR, accepted_losses::sha256};
use crate::codes;
use crate::db::{DbError, Filter};
use crate::grid::{Arrow, Clause, Eval, Grid, differences};
use crate::policy::PolicyError;
use crate::runtime::cancel::Cancel;
use crate::runtime::command;
use crate::view::{View, ViewError, find_arrow};
use crate::work::status::{ArrowStatus, ArrowView, ClauseStatus, ClauseView, combine};

/// What is checked, and how.
#[derive(Default)]
pub struct Options<'a> {
    /// Only these arrows; all of the grid if none is named.
    pub arrows: Vec<String>,
    /// Machine clauses are not run; they count as unevaluated.
    pub no_run: bool,
    /// What the tree must still hold.
    pub checkpoint: Option<&'a Checkpoint>,
    /// Calls it off.
    pub cancel: Cancel,
}

/// What the gate says.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Whether every arrow is complete and nothing is wrong with the record.
    pub ok: bool,
    /// The arrows, in the grid's order.
    pub arrows: Vec<CheckedArrow>,
    /// What is wrong with the record.
    pub issues: Vec<Issue>,
}

/// An arrow at the gate.
#[derive(Debug, Clone, Serialize)]
pub struct CheckedArrow {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: ArrowStatus,
    /// Its clauses, in the grid's order.
    pub clauses: Vec<CheckedClause>,
}

/// A clause at the gate.
#[derive(Debug, Clone, Serialize)]
pub struct CheckedClause {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: ClauseStatus,
    /// Why, and what to do about it.
    pub message: String,
    /// The paths that changed since it was judged.
    pub changed: Vec<String>,
    /// The first place the last verdict names, e.g. `src/a.rs:3-9`; empty if
    /// it names none.
    pub place: String,
}

/// Holds the work against the record.
///
/// # Errors
/// `arrow-unknown`, and what the machine itself refuses; all that is wrong
/// with the project is in the answer.
pub fn check(view: &View, options: &Options<'_>) -> Result<Checked, CheckError> {
    let arrows: Vec<&Arrow> = if options.arrows.is_empty() {
        view.grid().arrows.iter().collect()
    } else {
        let named = options.arrows.iter();
        named
            .map(|id| find_arrow(view.grid(), id))
            .collect::<Result<_, _>>()?
    };
    let mut issues: Vec<Issue> = view.damage().iter().map(of_damage).collect();
    if let Some(checkpoint) = options.checkpoint {
        hold_against(view, checkpoint, &mut issues)?;
    }
    for id in view.unattested()? {
        let message = format!(
            "grid v{} is not attested for {id} as it is now; `ghyll init attest` by somebody who \
             read it",
            view.grid().version
        );
        issues.push(issue("grid-unattested", &grid_file(view.grid()), message));
    }
    let mut checked = Checked {
        ok: true,
        arrows: Vec::new(),
        issues,
    };
    let subjects = Subjects::new(view.disk());
    for arrow in arrows {
        hold_records(view, arrow, &subjects, &mut checked.issues)?;
        let (_, stands) = view.arrow(&arrow.id)?;
        let arrow = checked_arrow(view, arrow, &stands, options)?;
        checked.ok &= arrow.status == ArrowStatus::Complete;
        checked.arrows.push(arrow);
    }
    // What is only gone takes no verdict with it.
    checked.issues.extend(subjects.tell().0);
    checked.ok &= checked.issues.is_empty();
    Ok(checked)
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The project.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Its index, made for this check.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A command could not be run for want of something of the machine's.
    #[error(transparent)]
    Run(#[from] command::RunError),
}

impl CheckError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::View(e) => e.code(),
            Self::Db(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::Run(e) => e.code(),
        }
    }
}

fn checked_arrow(
    view: &View,
    arrow: &Arrow,
    stands: &ArrowView,
    options: &Options<'_>,
) -> Result<CheckedArrow, CheckError> {
    let mut clauses = Vec::new();
    for (clause, stands) in arrow.clauses.iter().zip(&stands.clauses) {
        clauses.push(match &clause.eval {
            Eval::Machine { .. } => machine(view, clause, options)?,
            Eval::Attested => attested(view, arrow, clause, stands),
        });
    }
    let status = match stands.status {
        ArrowStatus::Unreadable => ArrowStatus::Unreadable,
        _ => combine(clauses.iter().map(|clause| clause.status)),
    };
    Ok(CheckedArrow {
        id: arrow.id.clone(),
        status,
        clauses,
    })
}

fn machine(
    view: &View,
    clause: &Clause,
    options: &Options<'_>,
) -> Result<CheckedClause, CheckError> {
    let (status, message) = match &clause.eval {
        Eval::Machine { run, timeout } if !options.no_run => {
            let finished = command::run(run, view.project().root(), *timeout, &options.cancel)?;
            let status = if finished.passed() {
                ClauseStatus::Pass
            } else {
                ClauseStatus::Fail
            };
            (status, finished.detail())
        }
        _ => (
            ClauseStatus::Unevaluated,
            "its command was not run (--no-run)".to_owned(),
        ),
    };
    Ok(CheckedClause {
        id: clause.id.clone(),
        status,
        message,
        changed: Vec::new(),
        place: String::new(),
    })
}

fn attested(view: &View, arrow: &Arrow, clause: &Clause, stands: &ClauseView) -> CheckedClause {
    let changes = view.changed(arrow, clause, stands);
    let mut message = match (&stands.newest, stands.status) {
        (Some(row), ClauseStatus::Pass) if stands.accepted_risk => {
            format!("risk accepted by {}", row.rec.op_id)
        }
        (Some(row), ClauseStatus::Pass) => format!("passed by {}", row.rec.op_id),
        (Some(row), ClauseStatus::Stale) => {
            format!("passed by {}, on other files than these", row.rec.op_id)
        }
        (Some(row), _) => format!("{} by {}", row.rec.verdict, row.rec.op_id),
        (None, _) => "nobody has answered".to_owned(),
    };
    if let Some((code, problem)) = &stands.problem {
        message = format!("{code}: {problem}");
    }
    if let Err(e) = &changes {
        message.push_str(&format!("; {}: {e}", e.code()));
    }
    if stands.concurrent {
        message.push_str("; answered more than once in the same round, the severest counts");
    }
    let todo = match (&stands.problem, stands.status) {
        (_, ClauseStatus::Pass) => None,
        // Nobody can be asked before that is mended.
        (Some((code, _)), _) => {
            let hint = codes::page(code).map(|page| page.hint);
            message.push_str(&hint.map_or(String::new(), |hint| format!(". {hint}")));
            None
        }
        (None, ClauseStatus::Pending) => Some("`ghyll run` asks for it".to_owned()),
        (None, _) => Some(format!("`ghyll dispatch {}` asks for it", arrow.id)),
    };
    if let Some(todo) = todo {
        message.push_str(&format!("; {todo}"));
    }
    CheckedClause {
        id: clause.id.clone(),
        status: stands.status,
        message,
        changed: changes
            .unwrap_or_default()
            .into_iter()
            .map(|change| change.path)
            .collect(),
        place: first_place(view, stands),
    }
}

fn first_place(view: &View, stands: &ClauseView) -> String {
    let payload = stands.newest.as_ref().and_then(|row| {
        view.policy()
            .decode_unit_payload(&row.rec.unit_payload_json)
            .ok()
    });
    payload
        .and_then(|payload| payload.inspected.into_iter().next())
        .unwrap_or_default()
}

/// Whether the records of an arrow are of the grid as it now reads, and the
/// lists of files they name those that were judged.
fn hold_records(
    view: &View,
    arrow: &Arrow,
    subjects: &Subjects<'_>,
    issues: &mut Vec<Issue>,
) -> Result<(), CheckError> {
    let filter = Filter {
        arrow_id: Some(arrow.id.clone()),
        ..Filter::default()
    };
    view.each_record(&filter, |row| {
        subjects.hold(&row.rec, &format!("{TREE_DIR}/{}", row.path), row.line);
        if row.rec.grid_version == view.grid().version {
            for difference in differences(view.grid(), &row.rec) {
                issues.push(Issue {
                    line: row.line,
                    attestation_id: row.rec.attestation_id.clone(),
                    ..issue(
                        "grid-changed-in-place",
                        &format!("{TREE_DIR}/{}", row.path),
                        format!("{difference}; a change is the next version (`ghyll grid next`)"),
                    )
                });
            }
        }
        Ok::<_, DbError>(())
    })?;
    Ok(())
}

/// Whether the tree still holds what a checkpoint saw.
fn hold_against(
    view: &View,
    checkpoint: &Checkpoint,
    issues: &mut Vec<Issue>,
) -> Result<(), CheckError> {
    for (path, end) in checkpoint.files.iter().filter(|(_, end)| end.lines > 0) {
        let found = view.read(|reader| {
            let head = reader.head(path)?;
            let row = match &head {
                Some(head) if head.lines >= end.lines => reader.row_at(head.file_id, end.lines)?,
                _ => None,
            };
            Ok::<_, DbError>((head, row))
        })?;
        let full = format!("{TREE_DIR}/{path}");
        let left_out = |damage: &&LoadError| matches!(damage, LoadError::NotCheckedOut { path: left_out } if left_out == path);
        if view.damage().iter().any(|damage| left_out(&damage)) {
            continue;
        }
        let (code, message) = match found {
            (Some(head), _) if head.lines < end.lines => (
                "attestation-tail-missing",
                format!("has {} lines; the checkpoint saw {}", head.lines, end.lines),
            ),
            (None, _) => (
                "attestation-tail-missing",
                format!(
                    "the file is missing; the checkpoint saw {} lines in it",
                    end.lines
                ),
            ),
            (Some(head), _) if head.lines == end.lines && head.chain == end.chain => continue,
            (Some(_), Some(row)) if row.chain == end.chain => continue,
            _ => (
                "attestation-chain-broken",
                format!("line {}: up to here not what the checkpoint saw", end.lines),
            ),
        };
        issues.push(Issue {
            surface: On::Checkpoint,
            ..issue(code, &full, message)
        });
    }
    for (name, digest) in &checkpoint.grids {
        let now = view.disk().open_read(name).ok().and_then(|mut file| {
            let mut bytes = vec![0; usize::try_from(file.meta().ok()?.bytes).ok()?];
            let read = crate::files::disk::read_full(file.as_mut(), 0, &mut bytes).ok()?;
            bytes.truncate(read);
            Some(sha256(&bytes))
        });
        if now.as_ref() != Some(digest) {
            issues.push(Issue {
                surface: On::Checkpoint,
                ..issue(
                    "grid-changed-in-place",
                    name,
                    "not the grid that the checkpoint saw under this name".to_owned(),
                )
            });
        }
    }
    Ok(())
}

fn of_damage(damage: &LoadError) -> Issue {
    let line = match damage {
        LoadError::Corrupt { line, .. } => *line,
        _ => 0,
    };
    let path = damage.path().unwrap_or_default();
    let message = damage.to_string();
    let place = match line {
        0 => format!("{path}: "),
        line => format!("{path}:{line}: "),
    };
    Issue {
        line,
        ..issue(
            damage.code(),
            &path,
            // Where it is stands before it already.
            message.strip_prefix(&place).unwrap_or(&message).to_owned(),
        )
    }
}

fn grid_file(grid: &Grid) -> String {
    format!("grid.v{}.yaml", grid.version)
}

fn issue(code: &str, path: &str, message: String) -> Issue {
    Issue {
        code: code.to_owned(),
        surface: On::Tree,
        path: path.to_owned(),
        line: 0,
        attestation_id: String::new(),
        message,
        surfaces: vec![On::Tree],
        what_to_do: String::new(),
        count: 1,
    }
}
