//! The index, as verification sees it.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use super::{Attempt, Issue, Key, On, first_half, issue};
use crate::engine::{ENGINE_DB, EngineDb, EngineError, Head, Row};

/// Rows read at a time: a session must not wait long for its database.
const PAGE: u32 = 2000;

/// What the index holds.
#[derive(Default)]
pub(super) struct Index {
    /// How often each row is there.
    pub(super) rows: HashMap<Key, u32>,
    /// How far each file was read.
    pub(super) heads: BTreeMap<String, Head>,
    /// The database; `None` if there is none or it cannot be read.
    pub(super) db: Option<EngineDb>,
    /// Whether there is no database at all.
    pub(super) missing: bool,
}

impl Attempt<'_, '_> {
    pub(super) fn read_index(&mut self) -> Index {
        let mut index = Index::default();
        let db = match EngineDb::open_read_only(self.input.db) {
            Ok(Some(db)) => db,
            Ok(None) => {
                index.missing = true;
                return index;
            }
            Err(e) => {
                self.issue(e.code(), On::Index, ENGINE_DB, e);
                return index;
            }
        };
        let read = db.read(|tx| {
            index.heads = tx.heads()?.into_iter().collect();
            each_row(&db, |row| {
                *index.rows.entry(row_key(&row)).or_default() += 1;
            })
        });
        match read {
            Ok(records) => {
                self.report.index.records = records;
                index.db = Some(db);
            }
            // Half an index proves nothing about the tree.
            Err(e) => {
                self.issue(e.code(), On::Index, ENGINE_DB, e);
                index = Index::default();
            }
        }
        index
    }

    /// Names the rows that are `left` when every record of the tree is taken
    /// away.
    pub(super) fn name_index_extras(&mut self, db: &EngineDb, mut left: HashMap<Key, u32>) {
        let read = each_row(db, |row| {
            let Some(count) = left.get_mut(&row_key(&row)).filter(|count| **count > 0) else {
                return;
            };
            *count -= 1;
            let message = format!(
                "indexed as {}, line {}, but the tree does not have it so",
                row.path, row.line
            );
            self.report.issues.push(Issue {
                attestation_id: row.rec.attestation_id,
                ..issue(
                    "attestation-aggregate-divergence",
                    On::Index,
                    ENGINE_DB,
                    message,
                )
            });
        });
        if let Err(e) = read {
            self.issue(e.code(), On::Index, ENGINE_DB, e);
        }
    }
}

/// Tells `each` of every row, and returns how many there are.
fn each_row(db: &EngineDb, mut each: impl FnMut(Row)) -> Result<u64, EngineError> {
    let mut after = String::new();
    let mut count = 0;
    loop {
        let page = db.read(|tx| tx.rows_after(&after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(count);
        };
        after.clone_from(&last.rec.attestation_id);
        count += page.len() as u64;
        page.into_iter().for_each(&mut each);
    }
}

/// A row, by a hash of everything in it.
pub(super) fn row_key(row: &Row) -> Key {
    let rec = &row.rec;
    let mut hash = Sha256::new();
    for text in [
        &rec.attestation_id,
        &rec.kind,
        &rec.arrow_id,
        &rec.clause_id,
        &rec.op_id,
        &rec.attested_by_role,
        &rec.source_role,
        &rec.target_role,
        &rec.adversary_role,
        &rec.verdict,
        &rec.reason,
        &rec.timestamp,
        &rec.pass_id,
        &rec.context,
        &rec.stratum,
        &rec.unit,
        &rec.unit_payload_json,
        &rec.hint_json,
        &row.chain,
        &row.attestation_ref,
        &row.path,
    ] {
        // With its length, so that no two rows read the same.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    for number in [
        rec.grid_version,
        u64::from(row.round),
        row.line,
        row.offset,
        row.length,
    ] {
        hash.update(number.to_be_bytes());
    }
    first_half(hash.finalize().into())
}
