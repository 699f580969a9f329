//! The limits a record is judged by: those of the grid version it names.
//!
//! A record is made neither wrong by a grid that came after it nor right by
//! one that allowed more. Old grids are read when a record names them, not at
//! every start, and each once.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;

use super::{Grid, GridError};
use crate::policy::Limits;

/// More than any project has; whoever names more has them read each time.
const REMEMBERED: usize = 10_000;

/// The limits of each version of a project's grid.
#[derive(Debug)]
pub struct GridLimits {
    ghyll: Dir,
    known: Mutex<HashMap<u64, Limits>>,
}

impl GridLimits {
    /// Those of the grids in this `.ghyll` directory; none is read yet.
    ///
    /// # Errors
    /// If the capability cannot be duplicated.
    pub fn new(ghyll: &Dir) -> io::Result<Self> {
        Ok(Self {
            ghyll: ghyll.try_clone()?,
            known: Mutex::default(),
        })
    }

    /// The limits of one version. What could be read is remembered, for a
    /// version never changes; what could not is tried again, for a missing one
    /// may come with the next pull.
    ///
    /// # Errors
    /// Those of [`Grid::read_version`]: a fault of that grid, never of a record
    /// that names it. The length of such a record's note is not judged.
    pub fn of(&self, version: u64) -> Result<Limits, Arc<GridError>> {
        if let Some(limits) = self.known().get(&version) {
            return Ok(*limits);
        }
        let limits = Grid::read_version(&self.ghyll, version)?.limits();
        let mut known = self.known();
        if known.len() < REMEMBERED {
            known.insert(version, limits);
        }
        Ok(limits)
    }

    /// The limits by which records of a version are read: where its grid cannot
    /// be read the length of a note is not judged.
    pub fn for_reading(&self, version: u64) -> Limits {
        self.of(version).unwrap_or(Limits {
            max_residue_bytes: u32::MAX,
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Limits>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grid {
    /// The limits records of this version are judged by.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            max_residue_bytes: self.settings.residue_note_max_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn each_version_has_its_own_and_a_bad_one_has_its_fault() {
        let temp = tempfile::tempdir().unwrap();
        let ghyll = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let text = |max: u32| {
            format!(
                "residue-note-max-bytes: {max}\narrows: [{{id: A, source-role: a, target-role: b, \
                 stratum: s, context: c, clauses: [{{id: C, concept: c, eval: attested}}]}}]\n"
            )
        };
        ghyll.write("grid.v1.yaml", text(100)).unwrap();
        ghyll.write("grid.v2.yaml", "arrows: [").unwrap();
        ghyll.write("grid.v10001.yaml", text(7)).unwrap();
        let limits = GridLimits::new(&ghyll).unwrap();
        let of = |version| limits.of(version).map(|limits| limits.max_residue_bytes);
        assert_eq!(of(1).unwrap(), 100);
        assert_eq!(of(10_001).unwrap(), 7);
        assert_eq!(of(2).unwrap_err().code(), "grid-yaml-syntax");
        for version in [0, 3, 1 << 53, u64::MAX] {
            assert_eq!(of(version).unwrap_err().code(), "grid-version-missing");
        }
        // Read once; what was missing is looked for again.
        ghyll.remove_file("grid.v1.yaml").unwrap();
        ghyll.write("grid.v3.yaml", text(9)).unwrap();
        assert_eq!((of(1).unwrap(), of(3).unwrap()), (100, 9));
    }
}
