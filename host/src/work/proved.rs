//! What the index says of refs, held against the tree before it is believed.
//!
//! The index is derived, and whoever may write `engine.db` may write anything
//! into it. So a ref's row counts only if its line stands in the tree, and
//! where the ref stands only if that is what its rows come to. It costs a line
//! a row of the refs that are asked for, not a reading of the tree.

use super::standing::Folding;
use crate::audit::checkpoint::Checkpoint;
use crate::audit::load::{LoadError, Sources, rows_are_there, tree_says};
use crate::audit::reader::ReadError;
use crate::audit::report::{Issue, On, Report, issue};
use crate::audit::verify::{self, Progress, REBUILD, VerifyError};
use crate::db::{Db, DbError, ENGINE_DB, Reader, Row};
use crate::grid::{Eval, Grid};
use crate::policy::{Policy, PolicyError};
use crate::project::Project;

/// Rounds of a ref whose lines are read again, the newest first: they decide,
/// and so many without a basis make an escalation at the most.
const ROUNDS: usize = 64;
/// Rows that are looked at before others get at the database.
const AT_ONCE: usize = 4096;
/// Refs that are named one by one.
const NAMED: usize = 20;

/// Everything that a grid asks for, machine clauses aside.
///
/// # Errors
/// `policy-component-failed`.
pub fn refs(policy: &Policy, grid: &Grid) -> Result<Vec<String>, PolicyError> {
    let mut refs = Vec::new();
    for arrow in &grid.arrows {
        refs.push(policy.attestation_ref(&arrow.id, "", grid.version)?);
        for clause in &arrow.clauses {
            if matches!(clause.eval, Eval::Attested) {
                refs.push(policy.attestation_ref(&arrow.id, &clause.id, grid.version)?);
            }
        }
    }
    Ok(refs)
}

/// Holds what an up-to-date index says of refs against the tree.
///
/// # Errors
/// `engine-db-corrupt` if it says what is not so; those of the component.
pub fn prove(sources: Sources<'_>, reader: &Reader<'_>, refs: &[String]) -> Result<(), LoadError> {
    rows_are_there(sources, reader)?;
    for attestation_ref in refs {
        let rows = reader.rounds_from(attestation_ref, 0)?;
        if !folded(&rows).is_kept(reader, attestation_ref)? {
            return Err(reader.contradiction(attestation_ref).into());
        }
        for row in rows.iter().rev().take(ROUNDS) {
            let says = tree_says(sources.policy, sources.disk, row);
            if !says.map_err(ReadError::Policy)? {
                return Err(reader.contradiction(&row.path).into());
            }
        }
    }
    Ok(())
}

/// Verifies a project: its tree and what repeats it
/// ([`audit::verify`](verify::verify)), and whether refs stand in the index
/// where its records bring them.
///
/// # Errors
/// If nothing can be said at all; what is wrong with the project is in the
/// report.
pub fn verify(
    project: &Project,
    policy: &Policy,
    checkpoint: Option<&Checkpoint>,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    let mut report = verify::verify(project, policy, checkpoint, progress)?;
    // An index that cannot be read is in the report already.
    let Ok(Some(db)) = Db::open_read_only(&project.path_of(ENGINE_DB)) else {
        return Ok(report);
    };
    let Ok(astray) = astray(&db) else {
        return Ok(report);
    };
    let mut told = Vec::new();
    for issue in report
        .issues
        .iter()
        .filter(|i| i.surfaces.contains(&On::Index))
    {
        told.push(policy.ref_and_round(&issue.attestation_id)?.attestation_ref);
    }
    // Of a row that is not the tree's it is told already, and once.
    let news = astray.into_iter().filter(|name| !told.contains(name));
    report.issues.extend(in_words(news.collect()));
    report.ok = report.issues.is_empty();
    Ok(report)
}

fn in_words(astray: Vec<String>) -> Vec<Issue> {
    let code = "attestation-aggregate-divergence";
    let divergence = |message: String| issue(code, On::Index, ENGINE_DB, message).advise(REBUILD);
    let more = astray.len().saturating_sub(NAMED);
    let mut issues: Vec<Issue> = astray
        .into_iter()
        .take(NAMED)
        .map(|name| Issue {
            attestation_id: name,
            ..divergence("where it stands is not what its records come to".to_owned())
        })
        .collect();
    if more > 0 {
        issues.push(Issue {
            count: more as u64,
            ..divergence(format!(
                "and {more} more refs stand elsewhere than their records say"
            ))
        });
    }
    issues
}

/// The refs that do not stand where their rows bring them. The database is
/// looked at for a moment at a time, so that who writes need not wait.
fn astray(db: &Db) -> Result<Vec<String>, DbError> {
    let mut astray = db.read(|reader| reader.baseless())?;
    let mut after = String::new();
    loop {
        let last = db.read(|reader| {
            let rows = reader.refs_after(&after, AT_ONCE)?;
            for rows in rows.chunk_by(|a, b| a.attestation_ref == b.attestation_ref) {
                let Some(Row {
                    attestation_ref, ..
                }) = rows.first()
                else {
                    continue;
                };
                if !folded(rows).is_kept(reader, attestation_ref)? {
                    astray.push(attestation_ref.clone());
                }
            }
            Ok::<_, DbError>(rows.last().map(|row| row.attestation_ref.clone()))
        })?;
        match last {
            Some(last) => after = last,
            None => return Ok(astray),
        }
    }
}

/// All rows of a ref, folded round by round.
fn folded(rows: &[Row]) -> Folding {
    let mut folding = Folding::default();
    rows.chunk_by(|a, b| a.round == b.round)
        .for_each(|round| folding.round(round));
    folding
}
