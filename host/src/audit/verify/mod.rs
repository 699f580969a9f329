//! Verification: are tree, flat file and index what they were when written?
//!
//! Reads all three surfaces, changes nothing and never stops at the first
//! problem. What a line must be is the policy's to say, and it is asked once a
//! line: a line of the flat file is known by its hash, and judged only if the
//! tree has none like it; the rows of the index are held against each file of
//! the tree while that is read. The files are shared out to two threads. What
//! is kept meanwhile is 16 bytes a line of the flat file, and of what is wrong
//! the first of each file and how many there are, so that a project of any
//! size, in any state, is verified in little memory.
//!
//! Damage is told once a record, whatever the number of surfaces it shows on
//! ([`merge`]).
//!
//! A session may be writing meanwhile, or git. So what is found counts only if
//! nothing moved since the look began, or if it is found again.

mod damage;
mod file;
mod flat;
mod found;
mod grids;
mod index;
mod keys;
mod merge;
mod sink;
pub(crate) mod subjects;
mod tree;

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

pub(crate) use self::damage::REBUILD;
use self::grids::Grids;
use self::merge::Merge;
use self::subjects::Subjects;
use crate::audit::accepted_losses::{ACCEPTED_LOSSES, AcceptedLosses};
use crate::audit::checkpoint::{Checkpoint, CheckpointError, KEPT_CHECKPOINT};
use crate::audit::load::{Elsewhere, LoadError, Sources};
use crate::audit::reader::ReadError;
use crate::audit::report::issue;
pub use crate::audit::report::{Issue, On, Records, Report, TreeRecords};
use crate::audit::{FLAT_FILE, Found, TREE_DIR, walk};
use crate::db::{ENGINE_DB, Head};
use crate::files::disk::{CapDisk, Disk, Meta};
use crate::policy::{Policy, PolicyError};
use crate::project::Project;

/// Pauses before what was found is looked for again, in milliseconds.
const PAUSES_MS: [u64; 4] = [100, 200, 400, 900];
/// Issues told one by one of each file and surface; more are counted.
const MOST: usize = 20;

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

/// Verifies a project, and holds its tree against `checkpoint`; without one,
/// against the one it keeps itself, if it does.
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
    look_until_sure(project, policy, checkpoint, false, progress)
}

/// Verifies the tree alone, and says where its files end.
///
/// # Errors
/// As [`verify`].
pub fn verify_tree(
    project: &Project,
    policy: &Policy,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    look_until_sure(project, policy, None, true, progress)
}

fn look_until_sure(
    project: &Project,
    policy: &Policy,
    checkpoint: Option<&Checkpoint>,
    tree_alone: bool,
    progress: Progress<'_>,
) -> Result<Report, VerifyError> {
    let disk = CapDisk::new(project.ghyll()).map_err(|source| VerifyError::Io {
        path: project.path_of(""),
        source,
    })?;
    let input = Input {
        project,
        policy,
        disk: &disk,
        db: &project.path_of(ENGINE_DB),
        checkpoint,
        tree_alone,
        elsewhere: &Elsewhere::of(project.root()),
    };
    let mut stamp = Stamp::of(policy, &disk);
    let mut report = input.look(stamp.bytes, progress)?;
    for pause in PAUSES_MS {
        if report.issues.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(pause));
        let now = Stamp::of(policy, &disk);
        if now.of_all == stamp.of_all {
            // Nothing moved since the look began: it is as it was seen.
            break;
        }
        stamp = now;
        let before: HashSet<_> = report.issues.iter().map(Issue::key).collect();
        report = input.look(stamp.bytes, progress)?;
        report.issues.retain(|issue| before.contains(&issue.key()));
    }
    report.ok = report.issues.is_empty();
    Ok(report)
}

/// By what one tells whether somebody wrote.
struct Stamp {
    of_all: [u8; 32],
    /// Of tree and flat file together.
    bytes: u64,
}

impl Stamp {
    fn of(policy: &Policy, disk: &dyn Disk) -> Self {
        let mut hash = Sha256::new();
        let mut bytes = 0_u64;
        let mut add = |path: &str, meta: &Meta| {
            hash.update(path.as_bytes());
            for number in [
                meta.bytes,
                meta.mtime_ns.cast_unsigned(),
                meta.id.0,
                meta.id.1,
            ] {
                hash.update(number.to_be_bytes());
            }
        };
        for name in [FLAT_FILE, ENGINE_DB, ACCEPTED_LOSSES, KEPT_CHECKPOINT] {
            if let Ok(Some(meta)) = disk.meta(name) {
                add(name, &meta);
                if name == FLAT_FILE {
                    bytes = meta.bytes;
                }
            }
        }
        let walked: Result<(), std::convert::Infallible> =
            walk(policy, disk, TREE_DIR, &mut |path, found| {
                if let Found::Lines(meta) = found {
                    add(&path, &meta);
                    bytes = bytes.saturating_add(meta.bytes);
                }
                Ok(())
            });
        let Ok(()) = walked;
        Self {
            of_all: hash.finalize().into(),
            bytes,
        }
    }
}

/// What is verified, and by what.
struct Input<'a> {
    project: &'a Project,
    policy: &'a Policy,
    disk: &'a dyn Disk,
    db: &'a Path,
    checkpoint: Option<&'a Checkpoint>,
    tree_alone: bool,
    elsewhere: &'a Elsewhere,
}

/// One look at everything.
struct Look<'a> {
    input: &'a Input<'a>,
    losses: AcceptedLosses,
    grids: Grids<'a>,
    /// What records name as their subjects; none is looked at for the tree alone.
    subjects: Option<Subjects<'a>>,
    checkpoint: Option<&'a Checkpoint>,
    done: AtomicU64,
    merge: Mutex<Merge>,
}

impl Input<'_> {
    fn look(&self, total: u64, progress: Progress<'_>) -> Result<Report, VerifyError> {
        let mut merge = Merge::default();
        let kept = self.kept_checkpoint(&mut merge);
        let look = Look {
            input: self,
            losses: read_losses(self.disk, &mut merge),
            grids: Grids::new(self.project.ghyll()),
            subjects: (!self.tree_alone).then(|| Subjects::new(self.disk)),
            checkpoint: self.checkpoint.or(kept.as_ref()),
            done: AtomicU64::new(0),
            merge: Mutex::new(merge),
        };
        let flat = look.read_flat()?;
        progress(look.done.load(Ordering::Relaxed), total);
        let index = look.open_index();
        let tree = look.read_tree(&flat, &index, &mut |done| progress(done, total))?;
        if !self.tree_alone {
            look.judge_rest_of_flat(&flat, tree)?;
        }
        let held = look.checkpoint.is_some();
        let mut merge = look.merge.into_inner();
        let checkpoint = look.checkpoint;
        look.grids
            .tell(checkpoint, &mut merge.told.issues, &mut merge.told.warnings);
        if let Some(subjects) = look.subjects {
            let (issues, warnings) = subjects.tell();
            issues
                .into_iter()
                .for_each(|issue| merge.told.issues.push(issue));
            warnings
                .into_iter()
                .for_each(|warning| merge.told.warnings.push(warning));
        }
        let mut report = merge.report(self.policy)?;
        report.held_against_checkpoint = held;
        Ok(report)
    }

    fn kept_checkpoint(&self, merge: &mut Merge) -> Option<Checkpoint> {
        if self.checkpoint.is_some() || self.tree_alone {
            return None;
        }
        match Checkpoint::kept(self.disk) {
            Ok(kept) => kept,
            Err(e) => {
                let issue = issue(e.code(), On::Checkpoint, KEPT_CHECKPOINT, &e);
                merge.told.issues.push(issue.advise(match e {
                    CheckpointError::Version(_) => String::new(),
                    _ => format!(
                        "restore it (git checkout -- .ghyll/{KEPT_CHECKPOINT}), or take a new one of a tree you trust: ghyll engine checkpoint --write"
                    ),
                }));
                None
            }
        }
    }
}

/// What was accepted is told every time.
fn read_losses(disk: &dyn Disk, merge: &mut Merge) -> AcceptedLosses {
    let losses = match AcceptedLosses::read(disk) {
        Ok(losses) => losses,
        Err(e) => {
            let code = "attestation-audit-unreadable";
            merge
                .told
                .issues
                .push(issue(code, On::Tree, ACCEPTED_LOSSES, e));
            return AcceptedLosses::default();
        }
    };
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
        let message = format!("accepted as lost{by} at {}: {}", loss.at, loss.message);
        merge.warn(Issue {
            line: loss.line,
            ..issue(&loss.code, surface, path, message)
        });
    }
    for line in &losses.malformed {
        merge.tell(Issue {
            line: *line,
            ..issue(
                "attestation-line-malformed",
                On::Tree,
                ACCEPTED_LOSSES,
                "no accepted loss; it is not in force",
            )
            .advise("restore the file from git; what is not in force is asked for again by `ghyll engine rebuild-index`")
        });
    }
    losses
}

impl Look<'_> {
    /// Whether git took away what the index saw of a file, and has it: the next
    /// session follows, and nothing is wrong.
    fn moved(&self, path: &str, seen: &Head) -> Result<bool, VerifyError> {
        let moved = |sources: Sources<'_>| self.input.elsewhere.moved(sources, path, seen);
        self.of_git(|sources| moved(sources).map(|moved| moved.is_some()))
    }

    /// Whether HEAD has everything that the index saw of a file.
    fn head_has(&self, path: &str, seen: &Head) -> Result<bool, VerifyError> {
        self.of_git(|sources| self.input.elsewhere.head_has(sources, path, seen))
    }

    fn of_git(
        &self,
        ask: impl FnOnce(Sources<'_>) -> Result<bool, LoadError>,
    ) -> Result<bool, VerifyError> {
        let limits = |version| Grids::limits(&self.grids.get(version));
        let sources = Sources {
            policy: self.input.policy,
            limits: &limits,
            disk: self.input.disk,
            losses: &self.losses,
            elsewhere: self.input.elsewhere,
            repair: false,
        };
        match ask(sources) {
            Ok(so) => Ok(so),
            Err(LoadError::Read(ReadError::Policy(e))) => Err(e.into()),
            // What cannot be read is told where it is read.
            Err(_) => Ok(false),
        }
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
