//! Evaluation runs: what became of a clause, by command or by verdict.

use rusqlite::{Row, params};

use super::{EngineError, Tx};

/// One evaluation of one clause.
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
    /// `machine` or `attested`.
    pub eval: &'static str,
    /// `pass` or `fail` for a command, the verdict for an operator.
    pub outcome: String,
    /// What the command said, or the places the operator named.
    pub detail: String,
    /// The record acted upon; empty for a command.
    pub attestation_id: String,
    /// RFC 3339.
    pub at: String,
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let eval: String = row.get(4)?;
    Ok(Run {
        pass_id: row.get(0)?,
        arrow_id: row.get(1)?,
        clause_id: row.get(2)?,
        grid_version: row.get(3)?,
        eval: if eval == "machine" {
            "machine"
        } else {
            "attested"
        },
        outcome: row.get(5)?,
        detail: row.get(6)?,
        attestation_id: row.get(7)?,
        at: row.get(8)?,
    })
}

impl Tx<'_> {
    /// Adds a run. Says whether it is new: a verdict is acted upon once.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn add_run(&self, run: &Run) -> Result<bool, EngineError> {
        let added = self.execute(
            "INSERT INTO evaluation_runs (pass_id, arrow_id, clause_id, grid_version, eval, \
             outcome, detail, attestation_id, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT DO NOTHING",
            params![
                run.pass_id,
                run.arrow_id,
                run.clause_id,
                run.grid_version,
                run.eval,
                run.outcome,
                run.detail,
                run.attestation_id,
                run.at,
            ],
        )?;
        Ok(added > 0)
    }

    /// The last command run for a clause under a grid.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn last_machine_run(
        &self,
        arrow_id: &str,
        clause_id: &str,
        grid_version: u64,
    ) -> Result<Option<Run>, EngineError> {
        self.first(
            "SELECT pass_id, arrow_id, clause_id, grid_version, eval, outcome, detail, \
             attestation_id, at FROM evaluation_runs \
             WHERE arrow_id = ?1 AND clause_id = ?2 AND grid_version = ?3 AND eval = 'machine' \
             ORDER BY run_id DESC LIMIT 1",
            params![arrow_id, clause_id, grid_version],
            run,
        )
    }
}
