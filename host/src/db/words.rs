//! What the producer said of clauses before they were asked for.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::{DbError, Evidence, Tx};

/// What was said of one clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The clause's arrow.
    pub arrow_id: String,
    /// The clause.
    pub clause_id: String,
    /// What was said of it.
    pub evidence: Evidence,
}

/// All that was said, in no particular order.
pub(super) fn select() -> String {
    "SELECT arrow_id, clause_id, evidence_json FROM producer_words".to_owned()
}

pub(super) fn word(row: &Row<'_>) -> rusqlite::Result<Word> {
    let evidence: String = row.get(2)?;
    Ok(Word {
        arrow_id: row.get(0)?,
        clause_id: row.get(1)?,
        evidence: serde_json::from_str(&evidence).map_err(|e| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(2, kind, Box::new(e))
        })?,
    })
}

impl Tx<'_> {
    /// Keeps what was said of a clause, in place of what was said before.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn keep_word(&self, word: &Word) -> Result<(), DbError> {
        let evidence = serde_json::to_string(&word.evidence).unwrap_or_else(|_| "{}".into());
        self.execute(
            "INSERT OR REPLACE INTO producer_words (arrow_id, clause_id, evidence_json) \
             VALUES (?1, ?2, ?3)",
            params![word.arrow_id, word.clause_id, evidence],
        )
        .map(drop)
    }

    /// Takes what was said of an arrow's clauses, which is then kept no more.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn take_words(&self, arrow_id: &str) -> Result<BTreeMap<String, Evidence>, DbError> {
        let sql = format!("{} WHERE arrow_id = ?1", select());
        let words = self.all(&sql, [arrow_id], word)?;
        self.execute("DELETE FROM producer_words WHERE arrow_id = ?1", [arrow_id])?;
        let by_clause = words
            .into_iter()
            .map(|word| (word.clause_id, word.evidence));
        Ok(by_clause.collect())
    }
}
