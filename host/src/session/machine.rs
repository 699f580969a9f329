//! Machine clauses: commands run, what they came to kept.

use super::dispatch::is_open;
use super::{Session, SessionError};
use crate::db::{Finding, FindingStatus, Pass, Run, Severity, Tx};
use crate::grid::{Arrow, Clause, Eval};
use crate::runtime::cancel::Cancel;
use crate::runtime::command::{self, Finished};

impl Session {
    /// Decides machine clauses, while nobody is kept out.
    pub(super) fn run_commands(
        &self,
        arrow: &Arrow,
        pass: &Pass,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        for clause in &arrow.clauses {
            if let Eval::Machine { run, timeout } = &clause.eval {
                let finished =
                    command::run(run, self.project.root(), *timeout, cancel).map_err(|source| {
                        SessionError::Machine {
                            arrow: arrow.id.clone(),
                            clause: clause.id.clone(),
                            source,
                        }
                    })?;
                let hold = self.hold("keeping what a command came to")?;
                self.db
                    .transaction(|tx| self.decide(tx, &pass.pass_id, clause, &finished))?;
                drop(hold);
            }
        }
        Ok(())
    }

    /// Keeps what a command came to, and the defect it found; nothing if the
    /// pass has ended meanwhile.
    fn decide(
        &self,
        tx: &Tx<'_>,
        pass_id: &str,
        clause: &Clause,
        finished: &Finished,
    ) -> Result<(), SessionError> {
        let Some(pass) = tx.pass(pass_id)?.filter(is_open) else {
            return Ok(());
        };
        let now = self.now();
        tx.add_run(&Run {
            pass_id: pass.pass_id.clone(),
            arrow_id: pass.arrow_id.clone(),
            clause_id: clause.id.clone(),
            grid_version: pass.grid_version,
            passed: finished.passed(),
            detail: finished.detail(),
            at: now.clone(),
        })?;
        let open = tx.open_findings(&pass.arrow_id, &clause.id, pass.grid_version)?;
        if finished.passed() {
            for finding in open {
                let resolved = FindingStatus::Resolved;
                tx.dispose_finding(finding.finding_id, resolved, &pass.pass_id)?;
            }
        } else if open.is_empty() {
            tx.raise_finding(
                &mut Finding {
                    finding_id: 0,
                    attestation_ref: String::new(),
                    arrow_id: pass.arrow_id.clone(),
                    clause_id: clause.id.clone(),
                    grid_version: pass.grid_version,
                    pass_id: pass.pass_id.clone(),
                    kind: "machine-fail".to_owned(),
                    severity: Severity::High,
                    status: FindingStatus::Open,
                    detail: finished.detail(),
                    raised_at: now,
                    raised_by: String::new(),
                    disposed_by: String::new(),
                },
                0,
            )?;
        }
        Ok(())
    }
}
