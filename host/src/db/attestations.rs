//! The index over the audit tree: one row a record.
//!
//! Derived: everything here was read from the tree and can be again.

use std::collections::HashSet;

use rusqlite::{Row as SqlRow, params};

use super::{DbError, Reader, Tx};
use crate::policy::Attestation;

/// A record with where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The record.
    pub rec: Attestation,
    /// The chain its line carries; empty if it carries none.
    pub chain: String,
    /// The ref it answers.
    pub attestation_ref: String,
    /// Which answer it is, from 1.
    pub round: u32,
    /// Its file, below the tree's root.
    pub path: String,
    /// Its line in the file, from 1.
    pub line: u64,
    /// Where the line starts, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub length: u64,
}

/// A record that is durable in the tree.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The record and where it stands.
    pub row: Row,
    /// Its line, `\n` included.
    pub line: String,
}

/// A row where it stands in the database, nothing of it copied yet.
pub struct Stored<'a> {
    sql: &'a SqlRow<'a>,
    path: &'a std::path::Path,
}

impl Stored<'_> {
    /// Whether it says exactly this.
    ///
    /// # Errors
    /// `engine-db-corrupt`, for a value that is none.
    pub fn is(&self, row: &Row) -> Result<bool, DbError> {
        let rec = &row.rec;
        let texts = [
            (0, &rec.attestation_id),
            (1, &rec.kind),
            (2, &rec.arrow_id),
            (3, &rec.clause_id),
            (4, &rec.op_id),
            (5, &rec.attested_by_role),
            (6, &rec.source_role),
            (7, &rec.target_role),
            (8, &rec.adversary_role),
            (9, &rec.verdict),
            (10, &rec.reason),
            (11, &rec.timestamp),
            (13, &rec.pass_id),
            (14, &rec.context),
            (15, &rec.stratum),
            (16, &rec.unit),
            (17, &rec.unit_payload_json),
            (18, &rec.hint_json),
            (19, &row.chain),
            (20, &row.attestation_ref),
        ];
        let numbers = [
            (12, rec.grid_version),
            (21, u64::from(row.round)),
            (22, row.line),
            (23, row.offset),
            (24, row.length),
        ];
        let same = || -> rusqlite::Result<bool> {
            for (at, number) in numbers {
                if self.sql.get_ref(at)?.as_i64()?.cast_unsigned() != number {
                    return Ok(false);
                }
            }
            for (at, text) in texts {
                if self.sql.get_ref(at)?.as_str()? != text {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        same().map_err(|e| DbError::from_sqlite(self.path, e))
    }

    /// All of it, copied.
    ///
    /// # Errors
    /// `engine-db-corrupt`, for a value that is none.
    pub fn row(&self) -> Result<Row, DbError> {
        row(self.sql).map_err(|e| DbError::from_sqlite(self.path, e))
    }
}

const COLUMNS: &str = "attestation_id, kind, arrow_id, clause_id, op_id, attested_by_role, \
    source_role, target_role, adversary_role, verdict, reason, timestamp, grid_version, pass_id, \
    context, stratum, unit, unit_payload_json, hint_json, chain, attestation_ref, round, \
    line, offset, length";
/// The same, and where the record's file is.
pub(super) const SELECT: &str = "attestation_id, kind, arrow_id, clause_id, op_id, attested_by_role, \
    source_role, target_role, adversary_role, verdict, reason, timestamp, grid_version, pass_id, \
    context, stratum, unit, unit_payload_json, hint_json, chain, attestation_ref, round, \
    line, offset, length, \
    (SELECT path FROM file_heads AS f WHERE f.file_id = attestations.file_id)";

pub(super) fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        rec: Attestation {
            attestation_id: row.get(0)?,
            kind: row.get(1)?,
            arrow_id: row.get(2)?,
            clause_id: row.get(3)?,
            op_id: row.get(4)?,
            attested_by_role: row.get(5)?,
            source_role: row.get(6)?,
            target_role: row.get(7)?,
            adversary_role: row.get(8)?,
            verdict: row.get(9)?,
            reason: row.get(10)?,
            timestamp: row.get(11)?,
            grid_version: row.get(12)?,
            pass_id: row.get(13)?,
            context: row.get(14)?,
            stratum: row.get(15)?,
            unit: row.get(16)?,
            unit_payload_json: row.get(17)?,
            hint_json: row.get(18)?,
        },
        chain: row.get(19)?,
        attestation_ref: row.get(20)?,
        round: row.get(21)?,
        line: row.get(22)?,
        offset: row.get(23)?,
        length: row.get(24)?,
        path: row.get(25)?,
    })
}

impl Reader<'_> {
    /// The records of one round of a ref: one, or several that were given
    /// where nobody could see the others.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn round(&self, attestation_ref: &str, round: u32) -> Result<Vec<Row>, DbError> {
        let sql =
            format!("SELECT {SELECT} FROM attestations WHERE attestation_ref = ?1 AND round = ?2");
        self.all(&sql, params![attestation_ref, round], row)
    }

    /// The rounds that were answered more than once, where nobody could see
    /// the others.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn concurrent_rounds(&self) -> Result<HashSet<(String, u32)>, DbError> {
        let sql = "SELECT attestation_ref, round FROM attestations \
             GROUP BY attestation_ref, round HAVING count(*) > 1";
        let rounds = self.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rounds.into_iter().collect())
    }

    /// Answers to a ref from round `from` on, in order of rounds.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn rounds_from(&self, attestation_ref: &str, from: u32) -> Result<Vec<Row>, DbError> {
        let sql = format!(
            "SELECT {SELECT} FROM attestations WHERE attestation_ref = ?1 AND round >= ?2 \
             ORDER BY round, timestamp"
        );
        self.all(&sql, params![attestation_ref, from], row)
    }

    /// The newest answers to a ref, at most `most` of them, in order of rounds.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_rounds(&self, attestation_ref: &str, most: usize) -> Result<Vec<Row>, DbError> {
        let sql = format!(
            "SELECT {SELECT} FROM attestations WHERE attestation_ref = ?1 \
             ORDER BY round DESC, timestamp DESC LIMIT ?2"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = self.all(&sql, params![attestation_ref, most], row)?;
        rows.reverse();
        Ok(rows)
    }

    /// Tells `each` of every record, ref by ref and in order of rounds.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_by_ref<E: From<DbError>>(
        &self,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {SELECT} FROM attestations ORDER BY attestation_ref, round");
        self.each(&sql, [], |sql_row| each(self.sql(row(sql_row))?))
    }

    /// The record at a line of a file.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn row_at(&self, file_id: i64, line: u64) -> Result<Option<Row>, DbError> {
        let sql = format!("SELECT {SELECT} FROM attestations WHERE file_id = ?1 AND line = ?2");
        self.first(&sql, params![file_id, line], row)
    }

    /// Tells `each` of the records of a file behind line `after` and up to line
    /// `upto`, in order, each with its line.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_of_lines<E: From<DbError>>(
        &self,
        file_id: i64,
        after: u64,
        upto: u64,
        mut each: impl FnMut(u64, Stored<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT {SELECT} FROM attestations WHERE file_id = ?1 AND line > ?2 AND line <= ?3 \
             ORDER BY line"
        );
        self.each(&sql, params![file_id, after, upto], |sql_row| {
            let line = self.sql(sql_row.get(22))?;
            let path = self.path;
            each(line, Stored { sql: sql_row, path })
        })
    }

    /// Tells `each` of every record in no particular order.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_unordered<E: From<DbError>>(
        &self,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {SELECT} FROM attestations");
        self.each(&sql, [], |sql_row| each(self.sql(row(sql_row))?))
    }

    /// Whether any record is about an arrow.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn knows_arrow(&self, arrow_id: &str) -> Result<bool, DbError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM attestations WHERE arrow_id = ?1)";
        Ok(self
            .first(sql, [arrow_id], |row| row.get(0))?
            .unwrap_or(false))
    }

    /// Whether any record is by this person.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn knows_person(&self, op_id: &str) -> Result<bool, DbError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM attestations WHERE op_id = ?1)";
        Ok(self.first(sql, [op_id], |row| row.get(0))?.unwrap_or(false))
    }

    /// Who answered for anything, in order of their names.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn people(&self) -> Result<Vec<String>, DbError> {
        let sql = "SELECT DISTINCT op_id FROM attestations ORDER BY op_id";
        self.all(sql, [], |row| row.get(0))
    }

    /// How many records there are.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn row_count(&self) -> Result<u64, DbError> {
        self.count("SELECT count(*) FROM attestations", [])
    }

    /// How many records of a file there are.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn row_count_of(&self, file_id: i64) -> Result<u64, DbError> {
        let sql = "SELECT count(*) FROM attestations WHERE file_id = ?1";
        self.count(sql, [file_id])
    }

    /// The records of all whole arrows, attested on the spot.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn on_the_spot(&self) -> Result<Vec<Row>, DbError> {
        let sql = format!("SELECT {SELECT} FROM attestations WHERE kind = 'on-the-spot'");
        self.all(&sql, [], row)
    }
}

impl Tx<'_> {
    /// Adds a record of the file numbered `file_id`; its place in the history
    /// is its time until its ref is folded.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn insert_row(&self, row: &Row, file_id: i64) -> Result<(), DbError> {
        let rec = &row.rec;
        let sql = format!(
            "INSERT INTO attestations ({COLUMNS}, listed_at, file_id) VALUES (?1, ?2, ?3, ?4, \
             ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, \
             ?22, ?23, ?24, ?25, ?12, ?26)"
        );
        self.execute(
            &sql,
            params![
                rec.attestation_id,
                rec.kind,
                rec.arrow_id,
                rec.clause_id,
                rec.op_id,
                rec.attested_by_role,
                rec.source_role,
                rec.target_role,
                rec.adversary_role,
                rec.verdict,
                rec.reason,
                rec.timestamp,
                rec.grid_version,
                rec.pass_id,
                rec.context,
                rec.stratum,
                rec.unit,
                rec.unit_payload_json,
                rec.hint_json,
                row.chain,
                row.attestation_ref,
                row.round,
                row.line,
                row.offset,
                row.length,
                file_id,
            ],
        )
        .map(drop)
    }

    /// Gives the records of a round their place in the history.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_listed_at(
        &self,
        attestation_ref: &str,
        round: u32,
        at: &str,
    ) -> Result<(), DbError> {
        self.execute(
            "UPDATE attestations SET listed_at = ?3 WHERE attestation_ref = ?1 AND round = ?2",
            params![attestation_ref, round, at],
        )
        .map(drop)
    }
}
