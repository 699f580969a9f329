//! A project in numbers.

use serde::Serialize;

use super::View;
use crate::db::DbError;
use crate::work::pending;

/// What there is, in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Counts {
    /// `present`, `empty` or `missing`: the engine database.
    pub state: &'static str,
    /// The version in force.
    pub grid_version: u64,
    /// Its arrows.
    pub arrows: usize,
    /// Records in the tree.
    pub attestations: u64,
    /// What waits for an operator.
    pub pending: u64,
    /// Traversals.
    pub passes: PassCounts,
    /// Defects.
    pub findings: FindingCounts,
    /// The process that writes just now.
    pub locked_by: Option<u32>,
    /// Losses that were accepted.
    pub accepted_losses: usize,
}

/// How many passes stand where.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PassCounts {
    /// Something in them waits.
    pub open: u64,
    /// Nothing waits any more.
    pub closed: u64,
    /// Given up.
    pub aborted: u64,
}

/// How many findings stand where.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FindingCounts {
    /// Not resolved and not accepted.
    pub open: u64,
}

impl View {
    /// What there is, in numbers.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn counts(&self) -> Result<Counts, DbError> {
        self.read(|reader| {
            let [open, closed, aborted] = reader.pass_counts()?;
            let attestations = reader.row_count()?;
            let state = if self.db_missing {
                "missing"
            } else if attestations == 0 && open + closed + aborted == 0 {
                "empty"
            } else {
                "present"
            };
            Ok(Counts {
                state,
                grid_version: self.grid.version,
                arrows: self.grid.arrows.len(),
                attestations,
                pending: u64::try_from(pending::all(reader)?.len()).unwrap_or(u64::MAX),
                passes: PassCounts {
                    open,
                    closed,
                    aborted,
                },
                findings: FindingCounts {
                    open: reader.open_finding_count()?,
                },
                locked_by: self.project.locked_by().map(|holder| holder.pid),
                accepted_losses: self.losses,
            })
        })
    }
}
