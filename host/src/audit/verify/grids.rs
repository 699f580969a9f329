//! The grids that records name: each read once, when the first record names it,
//! and held against what the records say of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cap_std::fs::Dir;
use parking_lot::Mutex;

use super::sink::Sink;
use super::{Issue, On, issue};
use crate::audit::checkpoint::Checkpoint;
use crate::grid::{Grid, GridError, differences};
use crate::policy::{Attestation, Limits};

/// Grids kept; whoever has more has them read each time.
const REMEMBERED: usize = 256;
/// Faults of grids that are told apart.
const FAULTS: usize = 1000;

type Read = Arc<Result<Grid, GridError>>;

pub(super) struct Grids<'a> {
    ghyll: &'a Dir,
    known: Mutex<HashMap<u64, Read>>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// By version and what is different: how many records, and the first.
    changed: BTreeMap<(u64, String), Seen>,
    /// By version: how many records name it, and why it is not there.
    missing: BTreeMap<u64, Missing>,
}

struct Missing {
    records: u64,
    why: String,
    /// Whether it is there, for all one knows, and only could not be read.
    unread: bool,
}

struct Seen {
    records: u64,
    /// Where the first of them stands, by file and line, and its id.
    first: (String, u64, String),
}

impl<'a> Grids<'a> {
    pub(super) fn new(ghyll: &'a Dir) -> Self {
        Self {
            ghyll,
            known: Mutex::default(),
            found: Mutex::default(),
        }
    }

    /// The version a file of the tree belongs to; 0 if its path names none.
    pub(super) fn version_of(path: &str) -> u64 {
        let version = path.split('/').next().and_then(|v| v.strip_prefix('v'));
        version.and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    pub(super) fn get(&self, version: u64) -> Read {
        let mut known = self.known.lock();
        if let Some(read) = known.get(&version) {
            return Arc::clone(read);
        }
        let read = Arc::new(Grid::read_version(self.ghyll, version));
        if known.len() < REMEMBERED {
            known.insert(version, Arc::clone(&read));
        }
        read
    }

    /// The limits records of a version are judged by.
    pub(super) fn limits(grid: &Read) -> Limits {
        match grid.as_ref() {
            Ok(grid) => grid.limits(),
            Err(_) => Limits {
                max_residue_bytes: u32::MAX,
            },
        }
    }

    /// Holds a record against the grid version it names.
    pub(super) fn hold(&self, grid: &Read, rec: &Attestation, file: &str, line: u64) {
        let version = rec.grid_version;
        match grid.as_ref() {
            Ok(grid) => {
                for difference in differences(grid, rec) {
                    self.changed(version, &difference.to_string(), rec, file, line);
                }
            }
            Err(e) => {
                let missing = &mut self.found.lock().missing;
                let full = missing.len() >= FAULTS;
                match missing.get_mut(&version) {
                    Some(missing) => missing.records = missing.records.saturating_add(1),
                    None if !full => {
                        let unread = matches!(e, GridError::Read { .. });
                        let why = e.to_string();
                        let records = 1;
                        missing.insert(
                            version,
                            Missing {
                                records,
                                why,
                                unread,
                            },
                        );
                    }
                    None => {}
                }
            }
        }
    }

    fn changed(&self, version: u64, what: &str, rec: &Attestation, file: &str, line: u64) {
        let what = format!("{}: {what}", about(rec));
        let first = (file.to_owned(), line, rec.attestation_id.clone());
        let changed = &mut self.found.lock().changed;
        let full = changed.len() >= FAULTS;
        match changed.get_mut(&(version, what.clone())) {
            Some(seen) => {
                seen.records = seen.records.saturating_add(1);
                if first < seen.first {
                    seen.first = first;
                }
            }
            None if full => {}
            None => {
                changed.insert((version, what), Seen { records: 1, first });
            }
        }
    }

    /// What was found, and where the grids differ from what a checkpoint saw.
    pub(super) fn tell(
        self,
        checkpoint: Option<&Checkpoint>,
        issues: &mut Sink,
        warnings: &mut Sink,
    ) {
        let mut changed = Vec::new();
        let found = self.found.into_inner();
        for (version, missing) in found.missing {
            let name = Grid::file_name(version);
            let records = crate::text::count(as_len(missing.records), "record");
            let why = missing.why;
            let message = format!("{why}; {records} of this version could not be held against it");
            if missing.unread {
                issues.push(
                    issue("grid-read-failed", On::Grid, &name, message)
                        .advise("see that it can be read, and verify again"),
                );
                continue;
            }
            warnings.push(
                issue("grid-version-missing", On::Grid, &name, message)
                    .advise(format!("restore it: git checkout -- .ghyll/{name}")),
            );
        }
        for ((version, what), seen) in found.changed {
            let name = Grid::file_name(version);
            let (file, line, id) = seen.first;
            let message = match seen.records {
                1 => format!("{what} ({file}:{line})"),
                n => format!("{what} ({file}:{line} and {} more)", n.saturating_sub(1)),
            };
            changed.push(Issue {
                attestation_id: id,
                count: seen.records,
                ..issue("grid-changed-in-place", On::Grid, &name, message).advise(advice(&name))
            });
        }
        for (name, digest) in checkpoint.into_iter().flat_map(|c| &c.grids) {
            held(self.ghyll, name, digest, &mut changed);
        }
        changed.into_iter().for_each(|issue| issues.push(issue));
    }
}

fn held(ghyll: &Dir, name: &str, digest: &str, issues: &mut Vec<Issue>) {
    let version = name
        .strip_prefix("grid.v")
        .and_then(|rest| rest.strip_suffix(".yaml")?.parse().ok());
    let now = version.map(|version| Grid::digest_of(ghyll, version));
    match now {
        Some(Ok(now)) if now == *digest => {}
        Some(Ok(_)) => {
            let told = issues
                .iter_mut()
                .find(|issue| issue.code == "grid-changed-in-place" && issue.path == name);
            match told {
                Some(issue) => issue.also(On::Checkpoint),
                None => {
                    let message = "not the file that the checkpoint saw";
                    issues.push(
                        issue("grid-changed-in-place", On::Checkpoint, name, message)
                            .advise(advice(name)),
                    );
                }
            }
        }
        Some(Err(e)) => {
            let message = format!("{e}; the checkpoint saw it");
            issues.push(
                issue("grid-version-missing", On::Checkpoint, name, message)
                    .advise(format!("restore it: git checkout -- .ghyll/{name}")),
            );
        }
        None => {
            let message = "the checkpoint has it, though it is no grid's name";
            issues.push(issue("checkpoint-malformed", On::Checkpoint, name, message));
        }
    }
}

fn advice(name: &str) -> String {
    format!(
        "put it back (git checkout -- .ghyll/{name}) and bring the change into force with `ghyll grid next FILE`"
    )
}

/// What a record is about, in words.
fn about(rec: &Attestation) -> String {
    match rec.clause_id.as_str() {
        "" => rec.arrow_id.clone(),
        clause => format!("{}/{clause}", rec.arrow_id),
    }
}

fn as_len(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
