//! The old project's records, judged by the policy and carried over byte for
//! byte.
//!
//! The flat file and the tree may each hold lines that the other has not got,
//! so both are read, and a line that stands in both is one. Where a line
//! belongs is worked out anew: that design named its files a little otherwise.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::evidence::Evidence;
use super::{BUILDING, ImportError, Left, unreadable};
use crate::audit::reader::{Line, ReadError, cursor, read_lines};
use crate::audit::{FLAT_FILE, Found, TREE_DIR, walk};
use crate::db::Head;
use crate::files::append::AppendFile;
use crate::files::disk::{CapDisk, Disk, Kind, read_full};
use crate::grid::{Difference, Grid, differences};
use crate::policy::{Attestation, Limits, Policy, Surface};

/// How much is written at a time, about.
const BATCH: usize = 1 << 20;

/// How many records are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Into the tree.
    pub tree: usize,
    /// Into the flat file alone: those that name no pass.
    pub flat_only: usize,
}

/// A line that is taken.
struct Taken {
    /// The file it stands in, an index into [`Records::files`].
    file: usize,
    offset: u64,
    length: usize,
    hash: [u8; 32],
    /// Where it belongs below the tree's root; empty for one without a pass.
    path: String,
}

/// All lines that are taken, in the order they were read.
pub(super) struct Records {
    files: Vec<String>,
    taken: Vec<Taken>,
}

/// Takes in what the good records say of their arrows, and returns all ids that
/// have a line.
pub(super) fn gather(
    disk: &CapDisk,
    policy: &Policy,
    root: &Path,
    known: &mut Evidence,
) -> Result<HashSet<String>, ImportError> {
    let mut ids = HashSet::new();
    for file in files(policy, disk, root, &mut Vec::new())? {
        each(disk, policy, root, &file, &mut |line| {
            if let Some(rec) = line.checked.rec() {
                if line.checked.problems.is_empty() {
                    known.record(&rec);
                }
                ids.insert(rec.attestation_id);
            }
            Ok(())
        })?;
    }
    Ok(ids)
}

/// Decides of each line whether it is taken.
pub(super) fn judge(
    disk: &CapDisk,
    policy: &Policy,
    root: &Path,
    grids: &BTreeMap<u64, Grid>,
    left: &mut Vec<Left>,
) -> Result<Records, ImportError> {
    let files = files(policy, disk, root, left)?;
    let mut taken: Vec<Taken> = Vec::new();
    // What it is called, for those that turn out to be there twice.
    let mut named: Vec<(String, u64)> = Vec::new();
    let mut seen = HashSet::new();
    for (index, file) in files.iter().enumerate() {
        each(disk, policy, root, file, &mut |line| {
            if line.bytes.trim_ascii().is_empty() || line.bytes.trim_ascii_start().starts_with(b"#")
            {
                return Ok(());
            }
            let hash = Sha256::digest(line.bytes).into();
            if !seen.insert(hash) {
                return Ok(());
            }
            let checked = &line.checked;
            let id = checked.attestation_id().unwrap_or_default().into_owned();
            if let Some((code, message)) = fault(policy, &line, grids)? {
                left.push(Left {
                    path: file.clone(),
                    line: checked.number,
                    what: id,
                    code,
                    message,
                });
                return Ok(());
            }
            named.push((id, checked.number));
            taken.push(Taken {
                file: index,
                offset: checked.offset,
                length: line.bytes.len(),
                hash,
                path: checked.path.to_string(),
            });
            Ok(())
        })?;
    }
    // One id twice in one file: which of them counted there depended on their
    // times. Neither is taken, so that the clause is asked anew.
    let mut count: HashMap<(&str, &str), usize> = HashMap::new();
    for (one, (id, _)) in taken.iter().zip(&named) {
        *count.entry((&one.path, id)).or_default() += 1;
    }
    let twice: BTreeSet<usize> = taken
        .iter()
        .zip(&named)
        .enumerate()
        .filter(|(_, (one, (id, _)))| count.get(&(one.path.as_str(), id.as_str())) > Some(&1))
        .map(|(at, _)| at)
        .collect();
    for at in &twice {
        if let (Some(one), Some((id, line))) = (taken.get(*at), named.get(*at)) {
            left.push(Left {
                path: files.get(one.file).cloned().unwrap_or_default(),
                line: *line,
                what: id.clone(),
                code: "attestation-duplicate".to_owned(),
                message: "another line has the same id and pass, and says something else"
                    .to_owned(),
            });
        }
    }
    let mut at = 0;
    taken.retain(|_| {
        at += 1;
        !twice.contains(&(at - 1))
    });
    Ok(Records { files, taken })
}

/// Why a line is not taken, if it is not.
fn fault(
    policy: &Policy,
    line: &Line<'_>,
    grids: &BTreeMap<u64, Grid>,
) -> Result<Option<(String, String)>, ImportError> {
    if let Some(problem) = line.checked.problems.first() {
        return Ok(Some((problem.code.clone(), problem.detail.clone())));
    }
    let Some(rec) = line.checked.rec() else {
        let code = "attestation-line-malformed".to_owned();
        return Ok(Some((code, "no record".to_owned())));
    };
    let Some(grid) = grids.get(&rec.grid_version) else {
        return Ok(None);
    };
    let limits = Limits {
        max_residue_bytes: grid.settings.residue_note_max_bytes,
    };
    // Only a line longer than a note may be can have one that is too long.
    if line.bytes.len() > limits.max_residue_bytes as usize {
        let mut from = cursor(Surface::Flat, &Head::default());
        from.at_end = true;
        let judged = policy.check_lines(line.bytes, &from, limits)?;
        let problem = judged.lines.iter().find_map(|line| line.problems.first());
        if let Some(problem) = problem {
            return Ok(Some((problem.code.clone(), problem.detail.clone())));
        }
    }
    Ok(differing(grid, &rec).map(|difference| {
        let message = format!("{difference} (version {} as taken over)", rec.grid_version);
        ("grid-changed-in-place".to_owned(), message)
    }))
}

fn differing(grid: &Grid, rec: &Attestation) -> Option<Difference> {
    differences(grid, rec).into_iter().next()
}

/// The files that hold lines, the tree's first; what stands among them and is
/// none is listed.
fn files(
    policy: &Policy,
    disk: &CapDisk,
    root: &Path,
    left: &mut Vec<Left>,
) -> Result<Vec<String>, ImportError> {
    let kind = |path: &str| {
        let meta = disk.meta(path);
        let meta = meta.map_err(|source| unreadable(&root.join(path), source))?;
        Ok::<_, ImportError>(meta.map(|meta| meta.kind))
    };
    let mut files = Vec::new();
    let mut tell = |path: String, code: &str, message: &str| {
        left.push(Left {
            what: path.clone(),
            path,
            line: 0,
            code: code.to_owned(),
            message: message.to_owned(),
        });
    };
    match kind(TREE_DIR)? {
        None => {}
        Some(Kind::Dir) => walk(policy, disk, TREE_DIR, &mut |path, found| {
            let path = format!("{TREE_DIR}/{path}");
            match found {
                Found::Lines(_) => files.push(path),
                Found::Symlink => {
                    tell(
                        path,
                        "attestation-symlink-refused",
                        "a symbolic link; it was not followed",
                    );
                }
                Found::Foreign => {
                    tell(path, "attestation-foreign-file", "no record belongs here");
                }
                Found::Unreadable(source) => {
                    return Err(unreadable(&root.join(path), source));
                }
            }
            Ok(())
        })?,
        Some(_) => tell(
            TREE_DIR.to_owned(),
            "attestation-foreign-file",
            "no directory",
        ),
    }
    match kind(FLAT_FILE)? {
        None => {}
        Some(Kind::File) => files.push(FLAT_FILE.to_owned()),
        Some(Kind::Symlink) => tell(
            FLAT_FILE.to_owned(),
            "attestation-symlink-refused",
            "a symbolic link; it was not followed",
        ),
        Some(_) => tell(FLAT_FILE.to_owned(), "attestation-foreign-file", "no file"),
    }
    Ok(files)
}

enum Stop {
    Read(ReadError),
    Import(ImportError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Tells of every line of a file, wherever the record belongs.
fn each(
    disk: &CapDisk,
    policy: &Policy,
    root: &Path,
    path: &str,
    tell: &mut dyn FnMut(Line<'_>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let failed = |source| unreadable(&root.join(path), source);
    let mut file = disk.open_read(path).map_err(failed)?;
    // Notes are held against the limit of their grid where it is known.
    let limits = Limits {
        max_residue_bytes: u32::MAX,
    };
    let start = cursor(Surface::Flat, &Head::default());
    let read = read_lines(policy, limits, file.as_mut(), start, &mut |line| {
        if line.checked.chained {
            return Err(Stop::Import(ImportError::NotEarlier {
                path: root.join(path),
                why: format!(
                    "line {} is chained, so it is a record of this design: clone the project",
                    line.checked.number
                ),
            }));
        }
        tell(line).map_err(Stop::Import)
    });
    match read {
        Ok(_) => Ok(()),
        Err(Stop::Import(error)) => Err(error),
        Err(Stop::Read(ReadError::Io(source))) => Err(unreadable(&root.join(path), source)),
        Err(Stop::Read(ReadError::Policy(error))) => Err(error.into()),
    }
}

impl Records {
    pub(super) fn counts(&self) -> Counts {
        let flat_only = self.taken.iter().filter(|one| one.path.is_empty()).count();
        Counts {
            tree: self.taken.len() - flat_only,
            flat_only,
        }
    }

    /// Writes the lines, those of the tree below [`BUILDING`].
    pub(super) fn write(&self, from: &CapDisk, to: &CapDisk) -> Result<(), ImportError> {
        let mut by_path: BTreeMap<&str, Vec<&Taken>> = BTreeMap::new();
        for one in self.taken.iter().filter(|one| !one.path.is_empty()) {
            by_path.entry(&one.path).or_default().push(one);
        }
        for (path, lines) in by_path {
            self.append(from, to, &format!("{BUILDING}/{path}"), &lines)?;
        }
        let (legacy, rest): (Vec<_>, Vec<_>) =
            self.taken.iter().partition(|one| one.path.is_empty());
        let all: Vec<&Taken> = legacy.into_iter().chain(rest).collect();
        if all.is_empty() {
            return Ok(());
        }
        self.append(from, to, FLAT_FILE, &all)
    }

    fn append(
        &self,
        from: &CapDisk,
        to: &CapDisk,
        path: &str,
        lines: &[&Taken],
    ) -> Result<(), ImportError> {
        let failed = |source| ImportError::Write {
            path: path.to_owned(),
            source,
        };
        let mut file = AppendFile::open(to, path, 0).map_err(failed)?;
        let mut batch = Vec::new();
        for (at, one) in lines.iter().enumerate() {
            batch.extend(self.line(from, one)?);
            if batch.len() >= BATCH || at + 1 == lines.len() {
                file.append(to, &batch).map_err(failed)?;
                batch.clear();
            }
        }
        Ok(())
    }

    /// The bytes of a line, as they were when it was judged.
    fn line(&self, from: &CapDisk, one: &Taken) -> Result<Vec<u8>, ImportError> {
        let path = self.files.get(one.file).cloned().unwrap_or_default();
        let mut bytes = vec![0; one.length];
        let read = from
            .open_read(&path)
            .and_then(|mut file| read_full(file.as_mut(), one.offset, &mut bytes));
        match read {
            Ok(read)
                if read == one.length && <[u8; 32]>::from(Sha256::digest(&bytes)) == one.hash =>
            {
                Ok(bytes)
            }
            Ok(_) => Err(ImportError::Changed { path }),
            Err(source) => Err(unreadable(Path::new(&path), source)),
        }
    }
}
