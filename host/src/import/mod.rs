//! A project of the earlier Go design, taken over.
//!
//! That design declared its arrows in another shape, kept some of its records
//! in a flat file alone, and left out what this one asks for. Taking it over
//! means: what says the same thing here is written; what would have to be
//! guessed stands in the new grid as a comment, for its author to decide; a
//! record is taken byte for byte where it verifies here, and is listed with its
//! code where it does not. Nothing is ever written to the old project.
//!
//! A [`Plan`] is made first, so that everything is known before the first file
//! is. [`old`] reads the old grid, [`evidence`] what records and database say
//! that the grid leaves out, [`layout`] writes the new one, [`records`] judges
//! the lines.

mod evidence;
mod layout;
mod old;
mod records;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;

use crate::audit::{FLAT_FILE, TREE_DIR};
use crate::files::disk::{CapDisk, Disk};
use crate::files::replace::replace;
use crate::grid::{Grid, GridError};
use crate::policy::{Policy, PolicyError};
use crate::project::{GHYLL_DIR, Project};

pub use records::Counts;

/// Where the tree is built up before it is put in place.
const BUILDING: &str = "attestations.importing";

/// Why a project cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The directory holds no project of the earlier design.
    #[error("{}: {why}", path.display())]
    NotEarlier {
        /// What was looked at.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A file of the old project could not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A grid of the old project could not be read, or the author's for it is
    /// not valid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Not one arrow of the grid in force can be written without guessing.
    #[error("not one arrow of grid version v{version} says all that a grid has to say here")]
    Undecided {
        /// The version.
        version: u64,
    },
    /// The policy component.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A file of the new project could not be written.
    #[error("{path}: {source}")]
    Write {
        /// Below `.ghyll`.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The new project has records already.
    #[error("{path}: is there already, perhaps from an import that was interrupted; move it away")]
    TargetInUse {
        /// Below `.ghyll`.
        path: String,
    },
    /// A file of the old project changed while it was being read.
    #[error("{path}: changed while it was read; nothing of it was put in place")]
    Changed {
        /// Below the old `.ghyll`.
        path: String,
    },
}

impl ImportError {
    /// The public code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::NotEarlier { .. } => "import-not-earlier-design",
            Self::Unreadable { .. } => "import-unreadable",
            Self::Grid(error) => error.code(),
            Self::Undecided { .. } => "import-undecided",
            Self::Policy(error) => error.code(),
            Self::Write { .. } => "import-write-failed",
            Self::TargetInUse { .. } => "import-target-in-use",
            Self::Changed { .. } => "import-source-changed",
        }
    }
}

/// Something of the old project that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The file, below the old `.ghyll`.
    pub path: String,
    /// The line, from 1; 0 where it is about the whole file.
    pub line: u64,
    /// What it is: an arrow, `arrow/clause`, a key, a record's id, a table.
    pub what: String,
    /// The public code of the reason.
    pub code: String,
    /// The reason, in words.
    pub message: String,
}

/// One version of the new grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// The number, which is that of the old version: records name it.
    pub version: u64,
    /// How many arrows it declares; 0 where it is only a draft.
    pub arrows: usize,
    /// Its text.
    #[serde(skip)]
    pub text: String,
}

/// What taking over a project would do.
pub struct Plan {
    source: CapDisk,
    /// The versions that can be written, ascending; the last is to be in force.
    pub versions: Vec<Version>,
    /// The grid in force as far as it can be written, comments and all.
    pub draft: String,
    /// The version in force.
    pub active: u64,
    /// What the new grid has in comments or not at all.
    pub undecided: Vec<Left>,
    /// Records, and other things kept for the old project's sessions, that are
    /// not taken.
    pub left: Vec<Left>,
    records: records::Records,
}

impl Plan {
    /// Reads the project in `dir` (or the `.ghyll` that `dir` itself is) and
    /// works out what becomes of it. `decided` is the author's grid for the
    /// version in force, in place of what would be made of the old one.
    ///
    /// # Errors
    /// `import-not-earlier-design`, `import-unreadable`, those of a grid's
    /// files and of `decided`, `policy-component-failed`.
    pub fn make(
        dir: &Path,
        policy: &Policy,
        decided: Option<(&str, &Path)>,
    ) -> Result<Self, ImportError> {
        let (path, ghyll) = open(dir)?;
        let source = CapDisk::new(&ghyll).map_err(|source| unreadable(&path, source))?;
        let active = Grid::active_version(&ghyll)?;
        let mut olds = BTreeMap::new();
        let mut undecided = Vec::new();
        let mut left = Vec::new();
        for version in Grid::versions(&ghyll)? {
            match old::read(&ghyll, version) {
                Ok(old) => {
                    olds.insert(version, old);
                }
                // Only the one in force has to be readable.
                Err(old::Fault {
                    line,
                    code,
                    message,
                }) if version != active => left.push(Left {
                    path: Grid::file_name(version),
                    line,
                    what: format!("grid version v{version}"),
                    code,
                    message,
                }),
                Err(fault) => {
                    return Err(ImportError::NotEarlier {
                        path: path.join(Grid::file_name(version)),
                        why: format!("line {}: {}: {}", fault.line, fault.code, fault.message),
                    });
                }
            }
        }
        let mut known = evidence::Evidence::default();
        let ids = records::gather(&source, policy, &path, &mut known)?;
        evidence::from_database(&ghyll, &ids, &mut known, &mut left);

        let mut versions = Vec::new();
        let mut grids = BTreeMap::new();
        let mut draft = String::new();
        for (version, old) in &olds {
            let laid = match decided {
                Some((text, file)) if *version == active => {
                    let text = Grid::numbered(text, active, file)?;
                    let grid = Grid::parse(&text, active, file)?;
                    layout::Laid::decided(text, grid)
                }
                _ => layout::lay_out(old, &known),
            };
            if *version == active {
                draft.clone_from(&laid.text);
                undecided = laid.held;
            }
            if let Some(grid) = laid.grid {
                versions.push(Version {
                    version: *version,
                    arrows: grid.arrows.len(),
                    text: laid.text,
                });
                grids.insert(*version, grid);
            }
        }
        let records = records::judge(&source, policy, &path, &grids, &mut left)?;
        Ok(Self {
            source,
            versions,
            draft,
            active,
            undecided,
            left,
            records,
        })
    }

    /// Whether there is a grid that can come into force.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.versions
            .last()
            .is_some_and(|last| last.version == self.active)
    }

    /// How many records are taken, and how many of them only into the flat
    /// file.
    #[must_use]
    pub fn records(&self) -> Counts {
        self.records.counts()
    }

    /// Writes it into `project`, which has no grid yet and whose lock the
    /// caller holds. The pointer, which makes it a project, comes last.
    ///
    /// # Errors
    /// `import-undecided`, before anything is written; `import-target-in-use`,
    /// `import-source-changed`, `import-write-failed`, those of a grid's
    /// pointer.
    pub fn apply(&self, project: &Project) -> Result<(), ImportError> {
        if !self.is_decided() {
            let version = self.active;
            return Err(ImportError::Undecided { version });
        }
        let write = |path: &str| {
            let path = path.to_owned();
            move |source| ImportError::Write { path, source }
        };
        let disk = CapDisk::new(project.ghyll()).map_err(write("."))?;
        for path in [TREE_DIR, FLAT_FILE] {
            if disk.meta(path).map_err(write(path))?.is_some() {
                let path = path.to_owned();
                return Err(ImportError::TargetInUse { path });
            }
        }
        disk.remove_dir_all(BUILDING).map_err(write(BUILDING))?;
        self.records.write(&self.source, &disk)?;
        for version in &self.versions {
            let name = Grid::file_name(version.version);
            replace(&disk, &name, version.text.as_bytes()).map_err(write(&name))?;
        }
        if self.records.counts().tree > 0 {
            disk.rename(BUILDING, TREE_DIR).map_err(write(TREE_DIR))?;
            disk.sync_dir("").map_err(write(TREE_DIR))?;
        }
        Ok(Grid::set_pointer(project.ghyll(), self.active)?)
    }
}

/// The old `.ghyll`, and how to call it.
fn open(dir: &Path) -> Result<(PathBuf, Dir), ImportError> {
    let opened = Dir::open_ambient_dir(dir, ambient_authority());
    let outer = opened.map_err(|source| unreadable(dir, source))?;
    let (path, ghyll) = match outer.open_dir_nofollow(GHYLL_DIR) {
        Ok(inner) => (dir.join(GHYLL_DIR), inner),
        Err(_) if outer.symlink_metadata("grid.current").is_ok() => (dir.to_owned(), outer),
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(ImportError::NotEarlier {
                path: dir.to_owned(),
                why: format!("no {GHYLL_DIR} in it, and no grid.current"),
            });
        }
        Err(source) => return Err(unreadable(&dir.join(GHYLL_DIR), source)),
    };
    Ok((path, ghyll))
}

fn unreadable(path: &Path, source: io::Error) -> ImportError {
    ImportError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
