//! Verification: are tree, flat file and index what they were when written?
//!
//! Reads all three surfaces, changes nothing and never stops at the first
//! problem. What a line must be is the policy's to say; here surfaces are held
//! against each other, as multisets of hashes, so that a project of any size
//! is verified in memory of a few dozen bytes a record.
//!
//! A session may be writing meanwhile. A line goes to the tree, then to the
//! index, then to the flat file; read in the opposite order, a surface can only
//! seem to lack what was just being written. So what is found while a session
//! is at work counts only if it is found again.

mod flat;
mod index;
mod tree;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::checkpoint::{Checkpoint, End};
use crate::engine::ENGINE_DB;
use crate::losses::{ACCEPTED_LOSSES, AcceptedLosses};
use crate::policy::{Limits, Policy, PolicyError};
use crate::project::Project;
use crate::store::FLAT_FILE;
use crate::store::TREE_DIR;
use crate::store::disk::{CapDisk, Disk};
use crate::store::reader::ReadError;

/// Pauses before what was found during a session is looked for again.
const PAUSES_MS: [u64; 3] = [100, 300, 900];

/// Which of the surfaces something was found on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// The audit tree.
    Tree,
    /// The flat file.
    Flat,
    /// The index in the engine database.
    Index,
    /// The checkpoint verified against.
    Checkpoint,
}

/// Something found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The public code.
    pub code: String,
    /// Where it shows.
    pub surface: On,
    /// The file, below `.ghyll`.
    pub path: String,
    /// The line, from 1; 0 where no line applies.
    pub line: u64,
    /// The record concerned, if one can be named.
    pub attestation_id: String,
    /// In words.
    pub message: String,
    /// SHA-256 of the line's bytes, hex; empty where no line applies.
    #[serde(skip)]
    pub sha256: String,
}

impl Issue {
    fn key(&self) -> (String, On, String, u64, String) {
        let (code, path, id) = (&self.code, &self.path, &self.attestation_id);
        (
            code.clone(),
            self.surface,
            path.clone(),
            self.line,
            id.clone(),
        )
    }
}

/// What a surface holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    /// Records on it.
    pub records: u64,
}

/// What the tree holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TreeRecords {
    /// Files of records.
    pub files: u64,
    /// Records in them.
    pub records: u64,
}

/// What verification came to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Whether there are no issues.
    pub ok: bool,
    /// The tree.
    pub tree: TreeRecords,
    /// The flat file.
    pub flat: Records,
    /// The index.
    pub index: Records,
    /// What is wrong.
    pub issues: Vec<Issue>,
    /// What is worth knowing and no fault.
    pub warnings: Vec<Issue>,
    /// Where the files of the tree end, by path below its root.
    #[serde(skip)]
    pub ends: BTreeMap<String, End>,
}

impl Report {
    /// The issues with the tree itself.
    pub fn tree_issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|issue| issue.surface == On::Tree)
    }
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The component does not work on this machine.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// `.ghyll` cannot be used at all.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be used.
        path: std::path::PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl VerifyError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Policy(e) => e.code(),
            Self::Io { .. } => "project-unreadable",
        }
    }
}

/// Told how many bytes were read, of about how many.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Verifies a project, also against `checkpoint` if one is given.
///
/// # Errors
/// If nothing can be said at all; what is wrong with the project is in the
/// report.
pub fn verify(
    project: &Project,
    policy: &Policy,
    limits: Limits,
    checkpoint: Option<&Checkpoint>,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    let look = |progress: Progress<'_>| attempt(project, policy, limits, checkpoint, progress);
    let mut busy = project.locked_by().is_some();
    let mut report = look(progress)?;
    for pause in PAUSES_MS {
        busy |= project.locked_by().is_some();
        if report.issues.is_empty() || !busy {
            break;
        }
        std::thread::sleep(Duration::from_millis(pause));
        let before: HashSet<_> = report.issues.iter().map(Issue::key).collect();
        report = look(progress)?;
        report.issues.retain(|issue| before.contains(&issue.key()));
    }
    report.ok = report.issues.is_empty();
    Ok(report)
}

/// As [`verify`], by one who holds the session lock: nobody else writes.
///
/// # Errors
/// As [`verify`].
pub fn look_once(
    project: &Project,
    policy: &Policy,
    limits: Limits,
    checkpoint: Option<&Checkpoint>,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    let mut report = attempt(project, policy, limits, checkpoint, progress)?;
    report.ok = report.issues.is_empty();
    Ok(report)
}

fn attempt(
    project: &Project,
    policy: &Policy,
    limits: Limits,
    checkpoint: Option<&Checkpoint>,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    let disk = CapDisk::new(project.ghyll()).map_err(|source| VerifyError::Io {
        path: project.path_of(""),
        source,
    })?;
    let input = Input {
        policy,
        limits,
        disk: &disk,
        db: &project.path_of(ENGINE_DB),
        checkpoint,
    };
    input.attempt(progress)
}

/// What is verified, and by what.
struct Input<'a> {
    policy: &'a Policy,
    limits: Limits,
    disk: &'a dyn Disk,
    db: &'a Path,
    checkpoint: Option<&'a Checkpoint>,
}

/// A line, by the first half of its SHA-256.
type Key = [u8; 16];

fn key(bytes: &[u8]) -> Key {
    first_half(Sha256::digest(bytes).into())
}

fn first_half(digest: [u8; 32]) -> Key {
    let mut key = [0; 16];
    key.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    key
}

/// One look at everything.
struct Attempt<'a, 'b> {
    input: &'a Input<'a>,
    report: Report,
    losses: AcceptedLosses,
    progress: Progress<'b>,
    done: u64,
    total: u64,
}

impl Input<'_> {
    fn attempt(&self, progress: Progress<'_>) -> Result<Report, VerifyError> {
        let mut attempt = Attempt {
            input: self,
            report: Report::default(),
            losses: AcceptedLosses::default(),
            progress,
            done: 0,
            total: 0,
        };
        attempt.read_losses();
        // In the opposite order of writing, see above.
        let flat = attempt.read_flat()?;
        let index = attempt.read_index();
        attempt.hold_tree_against(flat, index)?;
        let mut report = attempt.report;
        for list in [&mut report.issues, &mut report.warnings] {
            list.sort_by(|a, b| {
                (a.surface, &a.path, a.line, &a.attestation_id).cmp(&(
                    b.surface,
                    &b.path,
                    b.line,
                    &b.attestation_id,
                ))
            });
        }
        Ok(report)
    }
}

impl Attempt<'_, '_> {
    fn issue(&mut self, code: &str, surface: On, path: &str, message: impl ToString) {
        let issue = issue(code, surface, path, message);
        self.report.issues.push(issue);
    }

    fn warning(&mut self, code: &str, surface: On, path: &str, message: impl ToString) {
        let issue = issue(code, surface, path, message);
        self.report.warnings.push(issue);
    }

    /// What was accepted is told every time.
    fn read_losses(&mut self) {
        match AcceptedLosses::read(self.input.disk) {
            Ok(losses) => {
                for loss in &losses.all {
                    let by = match loss.op_id.as_str() {
                        "" => String::new(),
                        op_id => format!(" by {op_id}"),
                    };
                    let path = loss.path.as_str();
                    let surface = if path == FLAT_FILE {
                        On::Flat
                    } else {
                        On::Tree
                    };
                    self.report.warnings.push(Issue {
                        line: loss.line,
                        ..issue(
                            &loss.code,
                            surface,
                            path,
                            format!("accepted as lost{by} at {}: {}", loss.at, loss.message),
                        )
                    });
                }
                for line in &losses.malformed {
                    self.report.issues.push(Issue {
                        line: *line,
                        ..issue(
                            "attestation-line-malformed",
                            On::Tree,
                            ACCEPTED_LOSSES,
                            "no accepted loss; it is not in force",
                        )
                    });
                }
                self.losses = losses;
            }
            Err(e) => self.issue("attestation-audit-unreadable", On::Tree, ACCEPTED_LOSSES, e),
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        (self.progress)(self.done, self.total);
    }
}

fn issue(code: &str, surface: On, path: &str, message: impl ToString) -> Issue {
    Issue {
        code: code.to_owned(),
        surface,
        path: path.to_owned(),
        line: 0,
        attestation_id: String::new(),
        message: message.to_string(),
        sha256: String::new(),
    }
}

/// Below `.ghyll`, from below the tree's root.
fn full(path: &str) -> String {
    format!("{TREE_DIR}/{path}")
}

/// A file that ended early for the reader; the component's failures are not
/// about the file.
fn unreadable(error: ReadError) -> Result<io::Error, VerifyError> {
    match error {
        ReadError::Io(e) => Ok(e),
        ReadError::Policy(e) => Err(VerifyError::Policy(e)),
    }
}

#[cfg(test)]
mod tests;
