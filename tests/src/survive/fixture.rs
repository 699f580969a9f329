//! A project in a temporary directory, and ways to look at it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ghyll::audit::verify::Report;
use ghyll::bus::Bus;
use ghyll::clock::SystemClock;
use ghyll::db::Recorded;
use ghyll::files::disk::Disk;
use ghyll::grid::Grid;
use ghyll::modal::Attended;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Session, SessionError, Submission, Via};
use ghyll::work::proved::verify;
use ghyll::work::{Verdict, pending};

use super::Dice;

/// The sample project's grid.
const GRID: &str = include_str!("../../../scripts/sample/.ghyll/grid.v1.yaml");
/// The sample project's arrow.
pub const ARROW: &str = "A-checkout";
/// What its clauses are asked as.
pub const REFS: [&str; 3] = [
    "att-A-checkout-C1-v1",
    "att-A-checkout-C2-v1",
    "att-A-checkout-C3-v1",
];

/// Makes the sample project in `dir`.
pub fn make(dir: &Path) {
    let project = Project::create(dir).unwrap();
    Grid::write(project.ghyll(), 1, GRID).unwrap();
}

/// Opens a session on the project in `dir`.
///
/// # Errors
/// What the session refuses.
pub fn open(dir: &Path, policy: &Arc<Policy>) -> Result<Attended, SessionError> {
    let project = Project::open(dir)?;
    let (policy, clock) = (Arc::clone(policy), Arc::new(SystemClock));
    Attended::open(project, policy, clock, Arc::new(Bus::default()))
}

/// As [`open`], with the files of the store reached through `disk`.
///
/// # Errors
/// What the session refuses.
pub fn open_on(
    dir: &Path,
    policy: &Arc<Policy>,
    disk: Arc<dyn Disk>,
) -> Result<Attended, SessionError> {
    let project = Project::open(dir)?;
    let (policy, clock) = (Arc::clone(policy), Arc::new(SystemClock));
    Attended::open_on(project, policy, clock, Arc::new(Bus::default()), disk)
}

/// Records a random verdict on a random clause, with evidence that no verdict
/// before it had: the same said again is no new record.
///
/// # Errors
/// What the session refuses.
pub fn attest(session: &Session, dice: &mut Dice) -> Result<Arc<Recorded>, SessionError> {
    let attestation_ref = REFS[dice.below(3) as usize];
    let number = dice.below(u64::MAX);
    let note = format!(
        "{number}: {}",
        "é wide ".repeat(1 + dice.below(40) as usize)
    );
    let place = vec![format!("src/cart.rs:{number}")];
    let standing = session.read(|reader| reader.standing(attestation_ref))?;
    let rounds_max = session.grid().settings.insufficient_basis_rounds_max;
    let due = pending::escalation_due(standing.as_ref(), rounds_max);
    let (verdict, inspected, residue) = match dice.below(4) {
        0 if due => (Verdict::RouteUpstream, Vec::new(), note),
        _ if due => (Verdict::AcceptedRisk, Vec::new(), note),
        0 => (Verdict::Fail, place, String::new()),
        1 => (Verdict::InsufficientBasis, Vec::new(), note),
        _ => (Verdict::Pass, place, String::new()),
    };
    let submission = Submission {
        verdict,
        inspected,
        residue,
        via: Via::Command,
        ..Submission::default()
    };
    let attested = session.attest(attestation_ref, &submission, "alice@example.com")?;
    Ok(attested.recorded)
}

/// Verifies the project in `dir`.
pub fn look(dir: &Path, policy: &Policy) -> Report {
    let project = Project::open(dir).unwrap();
    verify(&project, policy, None, &mut |_, _| {}).unwrap()
}

/// Panics with everything that was found, if anything was.
pub fn assert_clean(dir: &Path, policy: &Policy) -> Report {
    let report = look(dir, policy);
    assert!(report.ok, "{:#?}", report.issues);
    report
}

/// The files of the tree with their bytes, by path.
pub fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(&dir.join(".ghyll/attestations"))
}

/// All files below `dir` with their bytes, by path.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// How often each whole line stands in the tree.
pub fn tree_lines(dir: &Path) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for bytes in tree(dir).values() {
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            if line.ends_with(b"\n") {
                let text = String::from_utf8_lossy(line).into_owned();
                *lines.entry(text).or_default() += 1;
            }
        }
    }
    lines
}

/// A directory for a campaign: in memory where there is one, for the calls
/// are the same and only the waiting is less.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir()
        && let Ok(dir) = tempfile::tempdir_in(memory)
    {
        return dir;
    }
    tempfile::tempdir().unwrap()
}

/// Copies a project, times of change included.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            let file = fs::File::options().append(true).open(&to).unwrap();
            file.set_modified(meta.modified().unwrap()).unwrap();
        }
    }
}
