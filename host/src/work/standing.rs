//! How the records of a ref are folded into where it stands.
//!
//! In order of rounds; of several verdicts on one round, given where nobody
//! could see the others, the most severe counts, of equal ones the later. A
//! record behind the newest round is folded on to what is there; anything else
//! (a colleague's earlier round, a file that git took away) folds the ref anew.

use std::collections::{HashMap, HashSet};

use super::verdict::{Verdict, evidence};
use crate::db::{DbError, Finding, FindingStatus, Reader, Row, Severity, Standing, Tx};

/// What the records of one ref have come to so far.
#[derive(Default)]
struct Fold {
    standing: Standing,
    /// Open findings, oldest first.
    open: Vec<Finding>,
}

/// What one round does to the findings on its clause.
enum Change {
    Raised(Box<Finding>),
    Disposed(i64, FindingStatus, String),
}

/// The record that counts among those of one round: the most severe, of equals
/// the later, of those the one with the greater chain, so that it is the same
/// in every clone.
pub fn authoritative(round: &[Row]) -> Option<&Row> {
    round.iter().max_by(|a, b| {
        let key = |row: &Row| {
            (
                Verdict::of_record(&row.rec.verdict),
                row.rec.timestamp.clone(),
            )
        };
        key(a).cmp(&key(b)).then_with(|| a.chain.cmp(&b.chain))
    })
}

/// The record that counts on a ref.
///
/// # Errors
/// `engine-db-…`.
pub fn newest(reader: &Reader<'_>, attestation_ref: &str) -> Result<Option<Row>, DbError> {
    let Some(standing) = reader.standing(attestation_ref)? else {
        return Ok(None);
    };
    let round = reader.round(attestation_ref, standing.round)?;
    Ok(authoritative(&round).cloned())
}

/// Folds a ref whose records changed: on from where it stood if all that is
/// new are later rounds, else from its first.
///
/// # Errors
/// `engine-db-…`.
pub fn fold(tx: &Tx<'_>, attestation_ref: &str, oldest_new_round: u32) -> Result<(), DbError> {
    let before = tx.standing(attestation_ref)?;
    let goes_on = before
        .as_ref()
        .filter(|standing| oldest_new_round > standing.round);
    if let Some(standing) = goes_on {
        let mut open = tx.findings_of_ref(attestation_ref)?;
        open.retain(|finding| finding.status == FindingStatus::Open);
        let from = standing.round.saturating_add(1);
        let fold = Fold {
            standing: standing.clone(),
            open,
        };
        let rows = tx.rounds_from(attestation_ref, from)?;
        return fold.through(tx, rows, &HashMap::new(), false);
    }
    // A finding that is raised again keeps its number.
    let numbers = tx
        .findings_of_ref(attestation_ref)?
        .into_iter()
        .map(|finding| (finding.raised_by, finding.finding_id))
        .collect();
    tx.forget_findings(attestation_ref)?;
    tx.forget_standing(attestation_ref)?;
    let rows = tx.rounds_from(attestation_ref, 0)?;
    Fold::default().through(tx, rows, &numbers, true)
}

/// Folds every ref of a new index.
///
/// # Errors
/// `engine-db-…`.
pub fn fold_all(tx: &Tx<'_>) -> Result<(), DbError> {
    let mut fold = Fold::default();
    let mut round: Vec<Row> = Vec::new();
    tx.each_by_ref(|row| {
        let same_ref = fold.standing.attestation_ref == row.attestation_ref
            || round
                .first()
                .is_some_and(|first| first.attestation_ref == row.attestation_ref);
        let same_round = same_ref && round.first().is_some_and(|first| first.round == row.round);
        if !same_round {
            fold.round(tx, &round, &HashMap::new(), false)?;
            round.clear();
        }
        if !same_ref {
            std::mem::take(&mut fold).keep(tx)?;
        }
        round.push(row);
        Ok::<_, DbError>(())
    })?;
    fold.round(tx, &round, &HashMap::new(), false)?;
    fold.keep(tx)
}

/// What the records of one ref, told in order of rounds, come to; nothing is
/// kept.
#[derive(Default)]
pub struct Folding {
    fold: Fold,
    findings: Vec<Finding>,
}

impl Folding {
    /// The records of the next round.
    pub fn round(&mut self, round: &[Row]) {
        let Some(row) = authoritative(round) else {
            return;
        };
        for change in self.fold.step(row, round.len() > 1) {
            match change {
                Change::Raised(mut finding) => {
                    // By number they are found again, counted from 1.
                    let number = self.findings.len().saturating_add(1);
                    finding.finding_id = i64::try_from(number).unwrap_or(i64::MAX);
                    if finding.status == FindingStatus::Open {
                        self.fold.open.push((*finding).clone());
                    }
                    self.findings.push(*finding);
                }
                Change::Disposed(id, status, by) => {
                    let at = usize::try_from(id.saturating_sub(1)).ok();
                    if let Some(finding) = at.and_then(|at| self.findings.get_mut(at)) {
                        (finding.status, finding.disposed_by) = (status, by);
                    }
                }
            }
        }
        let open = self.fold.open.len();
        self.fold.standing.open_findings = u32::try_from(open).unwrap_or(u32::MAX);
    }

    /// Whether the database says this of the ref, and nothing else.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn is_kept(self, reader: &Reader<'_>, attestation_ref: &str) -> Result<bool, DbError> {
        let kept = reader.standing(attestation_ref)?;
        let standing = &self.fold.standing;
        let same = match kept {
            // Without a record a ref may have an id that is taken: that of a
            // line from before passes.
            Some(kept) if standing.attestation_ref.is_empty() => {
                let taken = Standing {
                    attestation_ref: kept.attestation_ref.clone(),
                    round: kept.round,
                    ..Standing::default()
                };
                kept == taken
            }
            Some(kept) => kept == *standing,
            None => standing.attestation_ref.is_empty(),
        };
        if !same {
            return Ok(false);
        }
        let kept = reader.findings_of_ref(attestation_ref)?;
        Ok(by_record(kept) == by_record(self.findings))
    }

    /// As [`Self::is_kept`], of a ref whose rounds were told from one on that
    /// passed: what was before it is settled, and stands for nothing.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn is_kept_since(
        self,
        reader: &Reader<'_>,
        attestation_ref: &str,
    ) -> Result<bool, DbError> {
        let told = self.fold.standing;
        let Some(kept) = reader.standing(attestation_ref)? else {
            return Ok(false);
        };
        let later = kept.listed_at >= told.listed_at;
        let as_often = kept.routed_upstream >= told.routed_upstream;
        let as_told = Standing {
            listed_at: told.listed_at.clone(),
            routed_upstream: told.routed_upstream,
            ..kept
        };
        if as_told != told || !later || !as_often {
            return Ok(false);
        }
        let raised: HashSet<&str> = self
            .findings
            .iter()
            .map(|finding| finding.raised_by.as_str())
            .collect();
        let (since, before): (Vec<_>, Vec<_>) = reader
            .findings_of_ref(attestation_ref)?
            .into_iter()
            .partition(|finding| raised.contains(finding.raised_by.as_str()));
        let settled = before.iter().all(|f| f.status != FindingStatus::Open);
        Ok(settled && by_record(since) == by_record(self.findings.clone()))
    }
}

/// Findings by what raised them: which number one has is nobody's business but
/// the database's.
fn by_record(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.iter_mut().for_each(|f| f.finding_id = 0);
    findings.sort_by(|a, b| a.raised_by.cmp(&b.raised_by));
    findings
}

impl Fold {
    /// Folds rows that are in order of rounds, and keeps what comes of it.
    fn through(
        mut self,
        tx: &Tx<'_>,
        rows: Vec<Row>,
        numbers: &HashMap<String, i64>,
        listed_before: bool,
    ) -> Result<(), DbError> {
        for round in rows.chunk_by(|a, b| a.round == b.round) {
            self.round(tx, round, numbers, listed_before)?;
        }
        self.keep(tx)
    }

    fn round(
        &mut self,
        tx: &Tx<'_>,
        round: &[Row],
        numbers: &HashMap<String, i64>,
        listed_before: bool,
    ) -> Result<(), DbError> {
        let Some(row) = authoritative(round) else {
            return Ok(());
        };
        let reserved = numbers.values().copied().max().unwrap_or(0);
        for change in self.step(row, round.len() > 1) {
            match change {
                Change::Raised(mut finding) => {
                    finding.finding_id = numbers.get(&finding.raised_by).copied().unwrap_or(0);
                    let open = finding.status == FindingStatus::Open;
                    tx.raise_finding(&mut finding, reserved)?;
                    if open {
                        self.open.push(*finding);
                    }
                }
                Change::Disposed(id, status, by) => tx.dispose_finding(id, status, &by)?,
            }
        }
        let count = self.open.len();
        self.standing.open_findings = u32::try_from(count).unwrap_or(u32::MAX);
        let at = &self.standing.listed_at;
        if listed_before || round.iter().any(|row| row.rec.timestamp != *at) {
            tx.set_listed_at(&row.attestation_ref, row.round, at)?;
        }
        Ok(())
    }

    /// What the authoritative record of the next round does.
    fn step(&mut self, row: &Row, concurrent: bool) -> Vec<Change> {
        let rec = &row.rec;
        let verdict = Verdict::of_record(&rec.verdict);
        let standing = &mut self.standing;
        standing.basis_streak = match verdict {
            Some(Verdict::InsufficientBasis)
                if standing.pass_id == rec.pass_id || standing.basis_streak == 0 =>
            {
                standing.basis_streak.saturating_add(1)
            }
            Some(Verdict::InsufficientBasis) => 1,
            _ => 0,
        };
        standing.attestation_ref.clone_from(&row.attestation_ref);
        standing.round = row.round;
        standing.verdict.clone_from(&rec.verdict);
        standing.pass_id.clone_from(&rec.pass_id);
        standing.concurrent = concurrent;
        if standing.listed_at < rec.timestamp {
            standing.listed_at.clone_from(&rec.timestamp);
        }
        if verdict == Some(Verdict::RouteUpstream) {
            standing.routed_upstream = standing.routed_upstream.saturating_add(1);
        }
        if rec.clause_id.is_empty() {
            return Vec::new();
        }
        let disposed = |finding: Finding, status| {
            Change::Disposed(finding.finding_id, status, rec.attestation_id.clone())
        };
        match verdict {
            Some(Verdict::Pass) => self
                .open
                .drain(..)
                .map(|finding| disposed(finding, FindingStatus::Resolved))
                .collect(),
            Some(Verdict::Fail) => vec![Change::Raised(Box::new(raised(row, "fail-verdict")))],
            Some(Verdict::AcceptedRisk) if self.open.is_empty() => {
                vec![Change::Raised(Box::new(Finding {
                    severity: Severity::Medium,
                    status: FindingStatus::AcceptedRisk,
                    disposed_by: rec.attestation_id.clone(),
                    ..raised(row, "insufficient-basis")
                }))]
            }
            Some(Verdict::AcceptedRisk) => {
                vec![disposed(self.open.remove(0), FindingStatus::AcceptedRisk)]
            }
            _ => Vec::new(),
        }
    }

    fn keep(self, tx: &Tx<'_>) -> Result<(), DbError> {
        if self.standing.attestation_ref.is_empty() {
            return Ok(());
        }
        tx.set_standing(&self.standing)
    }
}

fn raised(row: &Row, kind: &str) -> Finding {
    Finding {
        finding_id: 0,
        attestation_ref: row.attestation_ref.clone(),
        arrow_id: row.rec.arrow_id.clone(),
        clause_id: row.rec.clause_id.clone(),
        grid_version: row.rec.grid_version,
        pass_id: row.rec.pass_id.clone(),
        kind: kind.to_owned(),
        severity: Severity::High,
        status: FindingStatus::Open,
        detail: evidence(row),
        raised_at: row.rec.timestamp.clone(),
        raised_by: row.rec.attestation_id.clone(),
        disposed_by: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::policy::Attestation;
    use crate::view::empty_record;

    const REF: &str = "att-A-C-v1";

    /// A record of a round; each in a pass of its own.
    fn record(round: u32, verdict: &str, pass: &str, time: &str) -> Row {
        let id = match round {
            1 => REF.to_owned(),
            round => format!("{REF}.r{round}"),
        };
        Row {
            rec: Attestation {
                attestation_id: id,
                kind: "depth-type".to_owned(),
                arrow_id: "A".to_owned(),
                clause_id: "C".to_owned(),
                op_id: "al".to_owned(),
                attested_by_role: "operator".to_owned(),
                verdict: verdict.to_owned(),
                timestamp: time.to_owned(),
                grid_version: 1,
                pass_id: pass.to_owned(),
                hint_json: "{}".to_owned(),
                unit_payload_json: "{}".to_owned(),
                ..empty_record()
            },
            chain: format!("{pass}-{round}"),
            attestation_ref: REF.to_owned(),
            round,
            path: format!("{pass}.jsonl"),
            line: u64::from(round),
            offset: 0,
            length: 1,
        }
    }

    #[test]
    fn of_one_round_the_severest_counts_then_the_later_in_any_order() {
        let order = [
            ("pass", "1"),
            ("pass", "2"),
            ("accepted-risk", "1"),
            ("insufficient-basis", "1"),
            ("fail", "1"),
            ("fail", "2"),
            ("route-upstream", "1"),
        ];
        let rows: Vec<Row> = order
            .iter()
            .enumerate()
            .map(|(at, (verdict, time))| record(1, verdict, &format!("p{at}"), time))
            .collect();
        for (at, lesser) in rows.iter().enumerate() {
            for greater in &rows[at + 1..] {
                for pair in [[lesser, greater], [greater, lesser]] {
                    let pair = pair.map(Row::clone);
                    assert_eq!(authoritative(&pair), Some(greater));
                }
            }
        }
    }

    /// A colleague's earlier round raises a finding where there was none; those
    /// that were raised after it keep their numbers.
    #[test]
    fn a_finding_raised_late_takes_no_number_that_another_keeps() {
        let db = Db::private().unwrap();
        db.transaction(|tx| {
            let file = tx.new_file_id()?;
            for (file_id, path) in [(file, "p.jsonl"), (file + 1, "q.jsonl")] {
                let head = crate::db::Head {
                    file_id,
                    ..Default::default()
                };
                tx.set_head(path, &head)?;
            }
            tx.insert_row(&record(1, "pass", "p", "1"), file)?;
            tx.insert_row(&record(2, "fail", "p", "2"), file)?;
            fold(tx, REF, 1)?;
            let before = tx.findings_of_ref(REF)?;
            assert_eq!(before.len(), 1);
            tx.insert_row(&record(1, "fail", "q", "1"), file + 1)?;
            fold(tx, REF, 1)?;
            let after = tx.findings_of_ref(REF)?;
            assert_eq!(after.len(), 2);
            assert!(after.contains(&before[0]));
            let standing = tx.standing(REF)?.unwrap();
            assert_eq!((standing.round, standing.open_findings), (2, 2));
            assert!(!standing.concurrent, "the next round settled it");
            Ok::<_, DbError>(())
        })
        .unwrap();
    }
}
