//! The index over the audit tree: one row a record, one head a file.
//!
//! Derived: everything here was read from the tree and can be again.

use rusqlite::{Row as SqlRow, params};

use super::{EngineError, Tx};
use crate::policy::Attestation;

/// How far a file of the tree was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// The chain behind its last line; empty for a file without any.
    pub chain: String,
    /// Where its last line starts.
    pub last_offset: u64,
    /// Its time of last change, nanoseconds since 1970.
    pub mtime_ns: i64,
}

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

const COLUMNS: &str = "attestation_id, kind, arrow_id, clause_id, op_id, attested_by_role, \
    source_role, target_role, adversary_role, verdict, reason, timestamp, grid_version, pass_id, \
    context, stratum, unit, unit_payload_json, hint_json, chain, attestation_ref, round, path, \
    line, offset, length";

fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
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
        path: row.get(22)?,
        line: row.get(23)?,
        offset: row.get(24)?,
        length: row.get(25)?,
    })
}

impl Tx<'_> {
    /// Adds a record, its verdict not yet acted upon.
    ///
    /// # Errors
    /// `engine-db-…`, also when the id is there already.
    pub fn insert_row(&self, row: &Row) -> Result<(), EngineError> {
        let rec = &row.rec;
        let sql = format!(
            "INSERT INTO attestations ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
             ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)"
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
                row.path,
                row.line,
                row.offset,
                row.length,
            ],
        )?;
        if !rec.clause_id.is_empty() {
            self.execute("INSERT INTO unacted VALUES (?1)", [&rec.attestation_id])?;
        }
        Ok(())
    }

    /// The records whose verdict has not yet taken effect, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn unacted(&self) -> Result<Vec<Row>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM attestations WHERE attestation_id IN \
             (SELECT attestation_id FROM unacted) ORDER BY timestamp, attestation_ref, round"
        );
        self.all(&sql, [], row)
    }

    /// Notes that a record's verdict took effect. Says whether it is news.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_acted(&self, attestation_id: &str) -> Result<bool, EngineError> {
        self.execute(
            "DELETE FROM unacted WHERE attestation_id = ?1",
            [attestation_id],
        )
        .map(|deleted| deleted > 0)
    }

    /// Notes the same of every record that has a run; after a rebuild.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_acted_by_runs(&self) -> Result<(), EngineError> {
        self.execute(
            "DELETE FROM unacted WHERE attestation_id IN \
             (SELECT attestation_id FROM evaluation_runs)",
            [],
        )
        .map(drop)
    }

    /// The record with this id.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn row(&self, attestation_id: &str) -> Result<Option<Row>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM attestations WHERE attestation_id = ?1");
        self.first(&sql, [attestation_id], row)
    }

    /// All answers to a ref, in order of authority, the authoritative last.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn rows_of_ref(&self, attestation_ref: &str) -> Result<Vec<Row>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM attestations WHERE attestation_ref = ?1 \
             ORDER BY round, timestamp"
        );
        self.all(&sql, [attestation_ref], row)
    }

    /// The authoritative answer to a ref.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_of_ref(&self, attestation_ref: &str) -> Result<Option<Row>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM attestations WHERE attestation_ref = ?1 \
             ORDER BY round DESC, timestamp DESC LIMIT 1"
        );
        self.first(&sql, [attestation_ref], row)
    }

    /// All records, or those of one arrow, newest last.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_row<E: From<EngineError>>(
        &self,
        arrow_id: Option<&str>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT {COLUMNS} FROM attestations WHERE ?1 IS NULL OR arrow_id = ?1 \
             ORDER BY timestamp, attestation_ref, round"
        );
        let mut statement = self.sql(self.conn.prepare_cached(&sql))?;
        let mut rows = self.sql(statement.query([arrow_id]))?;
        while let Some(sql_row) = self.sql(rows.next())? {
            each(self.sql(row(sql_row))?)?;
        }
        Ok(())
    }

    /// Up to `limit` records behind the id `after`, in order of id.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn rows_after(&self, after: &str, limit: u32) -> Result<Vec<Row>, EngineError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM attestations WHERE attestation_id > ?1 \
             ORDER BY attestation_id LIMIT ?2"
        );
        self.all(&sql, params![after, limit], row)
    }

    /// How many records there are.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn row_count(&self) -> Result<u64, EngineError> {
        self.count("SELECT count(*) FROM attestations", [])
    }

    /// How many verdicts on a clause of a pass say `insufficient-basis` with
    /// none after them that says otherwise.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn insufficient_basis_rounds(
        &self,
        pass_id: &str,
        arrow_id: &str,
        clause_id: &str,
    ) -> Result<u32, EngineError> {
        self.first(
            "SELECT count(*) FROM attestations AS a \
             WHERE pass_id = ?1 AND arrow_id = ?2 AND clause_id = ?3 AND round > \
               (SELECT coalesce(max(round), 0) FROM attestations AS b \
                WHERE b.pass_id = ?1 AND b.arrow_id = ?2 AND b.clause_id = ?3 \
                AND b.verdict <> 'insufficient-basis')",
            [pass_id, arrow_id, clause_id],
            |row| row.get(0),
        )
        .map(Option::unwrap_or_default)
    }

    /// How many verdicts on a ref say `route-upstream`.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn routed_upstream(&self, attestation_ref: &str) -> Result<u32, EngineError> {
        self.first(
            "SELECT count(*) FROM attestations WHERE attestation_ref = ?1 \
             AND verdict = 'route-upstream'",
            [attestation_ref],
            |row| row.get(0),
        )
        .map(Option::unwrap_or_default)
    }

    /// How far a file was read.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn head(&self, path: &str) -> Result<Option<Head>, EngineError> {
        self.first(
            "SELECT bytes, lines, chain, last_offset, mtime_ns FROM file_heads WHERE path = ?1",
            [path],
            |row| head(row, 0),
        )
    }

    /// All heads, by path.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn heads(&self) -> Result<Vec<(String, Head)>, EngineError> {
        self.all(
            "SELECT path, bytes, lines, chain, last_offset, mtime_ns FROM file_heads \
             ORDER BY path",
            [],
            |row| Ok((row.get(0)?, head(row, 1)?)),
        )
    }

    /// Sets how far a file was read.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn set_head(&self, path: &str, head: &Head) -> Result<(), EngineError> {
        self.execute(
            "INSERT OR REPLACE INTO file_heads \
             (path, bytes, lines, chain, last_offset, mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                path,
                head.bytes,
                head.lines,
                head.chain,
                head.last_offset,
                head.mtime_ns
            ],
        )
        .map(drop)
    }

    /// The bytes of all files of the tree together, as indexed.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn indexed_bytes(&self) -> Result<u64, EngineError> {
        self.count("SELECT coalesce(sum(bytes), 0) FROM file_heads", [])
    }

    /// Forgets the index, to be read again from the tree.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn clear_index(&self) -> Result<(), EngineError> {
        self.execute("DELETE FROM attestations", [])?;
        self.execute("DELETE FROM unacted", [])?;
        self.execute("DELETE FROM file_heads", [])?;
        self.execute("DELETE FROM notes", []).map(drop)
    }
}

fn head(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Head> {
    Ok(Head {
        bytes: row.get(at)?,
        lines: row.get(at + 1)?,
        chain: row.get(at + 2)?,
        last_offset: row.get(at + 3)?,
        mtime_ns: row.get(at + 4)?,
    })
}
