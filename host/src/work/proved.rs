//! What the index says of refs, held against the tree before it is believed.
//!
//! The index is derived, and whoever may write `engine.db` may write anything
//! into it. So a row that decides counts only if its line stands in the tree,
//! and where a ref stands only if that is what its rows come to: those since it
//! last passed, for a pass settles whatever was before. It costs a line or a few
//! for each ref that is asked for, however many rounds it had; everything is
//! held against everything by [`verify`].

use super::Verdict;
use super::standing::{self, Folding};
use crate::audit::checkpoint::Checkpoint;
use crate::audit::load::{LoadError, Sources, first_damage, rows_are_there, tree_denies};
use crate::audit::reader::ReadError;
use crate::audit::report::{Issue, On, Report, issue};
use crate::audit::verify::{self, Progress, REBUILD, VerifyError};
use crate::db::{Db, DbError, ENGINE_DB, Reader, Row};
use crate::grid::{Eval, Grid};
use crate::policy::{Policy, PolicyError};
use crate::project::Project;

/// Rounds of a ref whose lines are read again, the newest first: so many without
/// a basis make an escalation at the most.
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
/// `engine-db-corrupt` if it says what is not so, `attestation-audit-corrupt` if
/// that is because the tree was changed; those of the component.
pub fn prove(sources: Sources<'_>, reader: &Reader<'_>, refs: &[String]) -> Result<(), LoadError> {
    rows_are_there(sources, reader)?;
    let mut decide = Vec::new();
    for attestation_ref in refs {
        let (rows, from_first) = deciding(reader, attestation_ref)?;
        let folding = folded(&rows);
        let stands = match from_first {
            true => folding.is_kept(reader, attestation_ref)?,
            false => folding.is_kept_since(reader, attestation_ref)?,
        };
        if !stands {
            return Err(reader.contradiction(attestation_ref).into());
        }
        decide.extend(rows.into_iter().rev().take(ROUNDS));
    }
    let mut rows: Vec<&Row> = decide.iter().collect();
    rows.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    let denied = tree_denies(sources.policy, sources.disk, &rows).map_err(ReadError::Policy)?;
    let Some(row) = denied else {
        return Ok(());
    };
    // A line changed behind the index's back is the tree's damage, not its.
    Err(match first_damage(sources, &row.path) {
        Ok(Some(damage)) => damage,
        Ok(None) | Err(_) => reader.contradiction(&row.path).into(),
    })
}

/// The rows of a ref since it last passed, that pass first, in order of rounds;
/// and whether these are all it has.
fn deciding(reader: &Reader<'_>, attestation_ref: &str) -> Result<(Vec<Row>, bool), DbError> {
    let mut most = 4;
    loop {
        let mut rows = reader.newest_rounds(attestation_ref, most)?;
        if rows.len() < most {
            return Ok((rows, true));
        }
        // Of the oldest round there may be more than was read.
        let oldest = rows.first().map_or(0, |row| row.round);
        let pass = rows
            .chunk_by(|a, b| a.round == b.round)
            .rev()
            .filter_map(standing::authoritative)
            .find(|row| row.rec.verdict == Verdict::Pass.as_str())
            .map(|row| row.round);
        if let Some(pass) = pass.filter(|round| *round > oldest) {
            rows.retain(|row| row.round >= pass);
            return Ok((rows, false));
        }
        most = most.saturating_mul(4);
    }
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
