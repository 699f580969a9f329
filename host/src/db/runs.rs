//! Evaluation runs: what commands came to.

use rusqlite::{Row, params};

use super::{DbError, Reader, Tx};

/// One run of one machine clause's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The pass it was in.
    pub pass_id: String,
    /// The arrow traversed.
    pub arrow_id: String,
    /// The clause decided.
    pub clause_id: String,
    /// The grid it was decided under.
    pub grid_version: u64,
    /// Whether the clause holds.
    pub passed: bool,
    /// How the command ended and the last of what it said.
    pub detail: String,
    /// When, RFC 3339.
    pub at: String,
}

/// All runs, oldest first.
pub(super) fn select() -> String {
    "SELECT pass_id, arrow_id, clause_id, grid_version, outcome, detail, at \
     FROM evaluation_runs ORDER BY run_id"
        .to_owned()
}

pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let outcome: String = row.get(4)?;
    Ok(Run {
        pass_id: row.get(0)?,
        arrow_id: row.get(1)?,
        clause_id: row.get(2)?,
        grid_version: row.get(3)?,
        passed: outcome == "pass",
        detail: row.get(5)?,
        at: row.get(6)?,
    })
}

impl Reader<'_> {
    /// The last command run for a clause under a grid.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn last_run(
        &self,
        arrow_id: &str,
        clause_id: &str,
        grid_version: u64,
    ) -> Result<Option<Run>, DbError> {
        self.first(
            "SELECT pass_id, arrow_id, clause_id, grid_version, outcome, detail, at \
             FROM evaluation_runs \
             WHERE arrow_id = ?1 AND clause_id = ?2 AND grid_version = ?3 \
             ORDER BY run_id DESC LIMIT 1",
            params![arrow_id, clause_id, grid_version],
            run,
        )
    }
}

impl Tx<'_> {
    /// Adds a run.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn add_run(&self, run: &Run) -> Result<(), DbError> {
        let id = self.next_id("evaluation_runs", "run_id")?;
        self.execute(
            "INSERT INTO evaluation_runs (run_id, pass_id, arrow_id, clause_id, grid_version, \
             outcome, detail, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id,
                run.pass_id,
                run.arrow_id,
                run.clause_id,
                run.grid_version,
                if run.passed { "pass" } else { "fail" },
                run.detail,
                run.at,
            ],
        )
        .map(drop)
    }
}
