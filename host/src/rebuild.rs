//! Making the index anew from the tree.
//!
//! For a project whose database is gone, damaged or of another version, and
//! for one whose tree lost something. What is lost is never passed over
//! silently: without `accept_loss` the first loss refuses, with it every loss
//! is written down before the project goes on without it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::clock::{Clock, rfc3339};
use crate::engine::{ENGINE_DB, EngineDb, EngineError};
use crate::grid::{Grid, GridError};
use crate::losses::{ACCEPTED_LOSSES, AcceptedLoss, AcceptedLosses};
use crate::policy::{Policy, PolicyError};
use crate::project::{Project, ProjectError};
use crate::session::read_limits;
use crate::store::disk::{CapDisk, Disk};
use crate::store::load::{self, LoadError, Notice, Sources};
use crate::store::{FlatFile, TREE_DIR};
use crate::verify::{Issue, On, Progress, VerifyError, look_once};

/// Why the index was not made anew.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Its database.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Looking for losses.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Reading the tree.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Something is lost, and nobody accepted it.
    #[error("{}", losses_in_words(.0))]
    Losses(Vec<Issue>),
    /// Something is wrong that cannot be accepted.
    #[error("{}: {}", .0.path, .0.message)]
    Refused(Issue),
    /// A file or directory.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl RebuildError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Project(e) => e.code(),
            Self::Grid(e) => e.code(),
            Self::Engine(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::Verify(e) => e.code(),
            Self::Load(e) => e.code(),
            Self::Losses(losses) => losses
                .first()
                .map_or("attestation-audit-corrupt", |loss| loss_code(&loss.code)),
            Self::Refused(issue) => &issue.code,
            Self::Io { .. } => "project-unreadable",
        }
    }
}

/// The code a loss is refused by: a bad line of whatever kind is corruption.
fn loss_code(code: &str) -> &str {
    match code {
        "attestation-audit-lost" | "attestation-tail-missing" | "attestation-chain-broken" => code,
        _ => "attestation-audit-corrupt",
    }
}

fn losses_in_words(losses: &[Issue]) -> String {
    /// More are counted.
    const SHOWN: usize = 20;
    let mut text = format!(
        "{} lost; `--accept-loss` goes on without and records that you said so",
        losses.len()
    );
    for loss in losses.iter().take(SHOWN) {
        let line = match loss.line {
            0 => String::new(),
            line => format!(":{line}"),
        };
        text.push_str(&format!(
            "\n{}{line}: {}: {}",
            loss.path, loss.code, loss.message
        ));
    }
    if losses.len() > SHOWN {
        text.push_str(&format!("\nand {} more", losses.len() - SHOWN));
    }
    text
}

/// What was done.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Records indexed.
    pub records: u64,
    /// Files of the tree.
    pub files: u64,
    /// Where the database that could not be used was set aside, below `.ghyll`.
    pub set_aside: Option<String>,
    /// Losses accepted now.
    pub accepted: Vec<AcceptedLoss>,
    /// What was put right on the way.
    pub notices: Vec<Notice>,
}

/// Makes the index anew. Passes, requests, runs and findings are kept where
/// the database can be read; losses are accepted in the name of `op_id`.
///
/// # Errors
/// `session-locked`, a loss nobody accepted by its code, `engine-db-newer`,
/// and what reading the tree refuses; then nothing was changed.
pub fn rebuild(
    project: &Project,
    policy: &Policy,
    clock: &dyn Clock,
    accept_loss: Option<&str>,
    progress: Progress<'_>,
) -> Result<Rebuilt, RebuildError> {
    let lock = project.lock()?;
    Grid::read_active(project.ghyll())?;
    let limits = read_limits(project.ghyll());
    let io = |below: &str| {
        let path = project.path_of(below);
        move |source| RebuildError::Io { path, source }
    };
    let disk: Arc<dyn Disk> = Arc::new(CapDisk::new(project.ghyll()).map_err(io(""))?);
    let usable = usable_db(project)?;

    // The lock is ours, so that what is found now is what is there.
    let report = look_once(project, policy, limits, None, progress)?;
    let unacceptable = [
        "attestation-symlink-refused",
        "attestation-audit-unreadable",
    ];
    if let Some(issue) = report
        .issues
        .iter()
        .find(|issue| issue.surface != On::Index && unacceptable.contains(&issue.code.as_str()))
    {
        return Err(RebuildError::Refused(issue.clone()));
    }
    let losses: Vec<Issue> = report
        .tree_issues()
        .filter(|issue| !is_harmless(&issue.code))
        .cloned()
        .collect();
    let mut rebuilt = Rebuilt::default();
    match accept_loss {
        None if !losses.is_empty() => return Err(RebuildError::Losses(losses)),
        None => {}
        Some(op_id) => {
            // With the lines that only the flat file has left: they stay there.
            let extra = |issue: &&Issue| {
                issue.surface == On::Flat
                    && !issue.sha256.is_empty()
                    && issue.code != "attestation-line-partial"
            };
            let extras = report.issues.iter().filter(extra).cloned();
            let at = rfc3339(clock.now());
            rebuilt.accepted = losses
                .into_iter()
                .chain(extras)
                .map(|issue| AcceptedLoss {
                    at: at.clone(),
                    op_id: op_id.to_owned(),
                    code: issue.code,
                    path: issue.path,
                    line: issue.line,
                    sha256: issue.sha256,
                    message: issue.message,
                })
                .collect();
            if !rebuilt.accepted.is_empty() {
                AcceptedLosses::accept(disk.as_ref(), &rebuilt.accepted)
                    .map_err(io(ACCEPTED_LOSSES))?;
            }
            if disk.meta(TREE_DIR).map_err(io(TREE_DIR))?.is_none() && !rebuilt.accepted.is_empty()
            {
                disk.create_dir(TREE_DIR).map_err(io(TREE_DIR))?;
                disk.sync_dir("").map_err(io(TREE_DIR))?;
            }
        }
    }
    if !usable {
        rebuilt.set_aside = set_aside(project, disk.as_ref())?;
    }
    let db = EngineDb::open(&project.path_of(ENGINE_DB))?;
    let accepted = AcceptedLosses::read(disk.as_ref()).map_err(io(ACCEPTED_LOSSES))?;
    let sources = Sources {
        policy,
        limits,
        disk: disk.as_ref(),
        db: &db,
        losses: &accepted,
    };
    rebuilt.notices = load::rebuild(sources, &FlatFile::new(Arc::clone(&disk)))?;
    rebuilt.records = db.read(|tx| tx.row_count())?;
    rebuilt.files = db.read(|tx| tx.heads())?.len() as u64;
    drop(lock);
    Ok(rebuilt)
}

/// What starting a session puts right or leaves alone by itself.
fn is_harmless(code: &str) -> bool {
    matches!(
        code,
        "attestation-line-partial"
            | "attestation-foreign-file"
            | "attestation-aggregate-divergence"
    )
}

/// Whether the database, if there is one, can be kept.
fn usable_db(project: &Project) -> Result<bool, RebuildError> {
    let path = project.path_of(ENGINE_DB);
    match EngineDb::open_read_only(&path) {
        Ok(None) => Ok(true),
        Ok(Some(db)) => Ok(db.is_whole()?),
        Err(EngineError::Older { .. } | EngineError::Corrupt { .. }) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Renames what cannot be used, with what belongs to it, to a name not taken.
fn set_aside(project: &Project, disk: &dyn Disk) -> Result<Option<String>, RebuildError> {
    let io = |source| RebuildError::Io {
        path: project.path_of(ENGINE_DB),
        source,
    };
    let mut number = 1;
    let aside = loop {
        let name = format!("{ENGINE_DB}.set-aside-{number}");
        if disk.meta(&name).map_err(io)?.is_none() {
            break name;
        }
        number += 1;
    };
    // The journal first: without it a crash here leaves a database that is
    // damaged still, with it under a new name none that is wrongly repaired.
    for suffix in ["-journal", "-wal", "-shm", ""] {
        let name = format!("{ENGINE_DB}{suffix}");
        if disk.meta(&name).map_err(io)?.is_some() {
            disk.rename(&name, &format!("{aside}{suffix}"))
                .map_err(io)?;
        }
    }
    disk.sync_dir("").map_err(io)?;
    Ok(Some(aside))
}
