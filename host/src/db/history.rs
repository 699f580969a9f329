//! The history: records as they are listed, page by page, and the newest.

use rusqlite::ToSql;

use super::attestations::{Row, SELECT, row};
use super::{DbError, Reader};

/// Which records are asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those on this arrow.
    pub arrow_id: Option<String>,
    /// Only this person's.
    pub op_id: Option<String>,
    /// Only those that say this.
    pub verdict: Option<String>,
    /// Only those at or after this time, RFC 3339.
    pub since: Option<String>,
}

/// Where a record stands in the history.
#[derive(Debug, Clone)]
pub struct Place {
    listed_at: String,
    attestation_ref: String,
    round: u32,
    file_id: i64,
    line: u64,
}

/// The order of the history; two never stand at one place.
const ORDER: &str = "listed_at, attestation_ref, round, file_id, line";

impl Reader<'_> {
    /// The next records asked for, newest last; of one ref in order of rounds,
    /// whatever the clocks said. At most `most` of those behind the place
    /// `after`, with the place that the next are behind, if there may be more.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn page(
        &self,
        filter: &Filter,
        after: Option<&Place>,
        most: usize,
    ) -> Result<(Vec<Row>, Option<Place>), DbError> {
        // Only what is asked for stands in the statement, so that an index
        // can serve it.
        let mut terms = Vec::new();
        let mut values: Vec<&dyn ToSql> = Vec::new();
        for (term, value) in [
            ("arrow_id =", &filter.arrow_id),
            ("op_id =", &filter.op_id),
            ("verdict =", &filter.verdict),
            ("timestamp >=", &filter.since),
        ] {
            if let Some(value) = value {
                values.push(value);
                terms.push(format!("{term} ?{}", values.len()));
            }
        }
        if let Some(place) = after {
            let from = values.len();
            let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|n| from + n);
            terms.push(format!("({ORDER}) > (?{a}, ?{b}, ?{c}, ?{d}, ?{e})"));
            values.push(&place.listed_at);
            values.push(&place.attestation_ref);
            values.push(&place.round);
            values.push(&place.file_id);
            values.push(&place.line);
        }
        let mut sql = format!("SELECT {SELECT}, listed_at, file_id FROM attestations");
        if !terms.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(&terms.join(" AND "));
        }
        sql.push_str(&format!(" ORDER BY {ORDER} LIMIT {most}"));
        let mut last = None;
        let rows = self.all(&sql, values.as_slice(), |sql_row| {
            let row = row(sql_row)?;
            last = Some(Place {
                listed_at: sql_row.get(26)?,
                attestation_ref: row.attestation_ref.clone(),
                round: row.round,
                file_id: sql_row.get(27)?,
                line: row.line,
            });
            Ok(row)
        })?;
        let last = last.filter(|_| rows.len() >= most);
        Ok((rows, last))
    }

    /// Records ref by ref and in order of rounds: all of the refs behind
    /// `after`, and of these no more than come to about `most`.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn refs_after(&self, after: &str, most: usize) -> Result<Vec<Row>, DbError> {
        let sql = format!(
            "SELECT {SELECT} FROM attestations WHERE attestation_ref > ?1 \
             ORDER BY attestation_ref, round LIMIT {most}"
        );
        let mut rows = self.all(&sql, [after], row)?;
        if rows.len() < most {
            return Ok(rows);
        }
        // The last ref may go on.
        let last = rows.last().map(|row| row.attestation_ref.clone());
        let last = last.unwrap_or_default();
        rows.retain(|row| row.attestation_ref != last);
        match rows.is_empty() {
            true => self.rounds_from(&last, 0),
            false => Ok(rows),
        }
    }

    /// The number of the record indexed last; 0 if there is none.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_record(&self) -> Result<i64, DbError> {
        let sql = "SELECT max(rowid) FROM attestations";
        let newest: Option<Option<i64>> = self.first(sql, [], |row| row.get(0))?;
        Ok(newest.flatten().unwrap_or(0))
    }

    /// The records indexed last, the last first, at most `most`.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_rows(&self, most: usize) -> Result<Vec<Row>, DbError> {
        let sql = format!("SELECT {SELECT} FROM attestations ORDER BY rowid DESC LIMIT ?1");
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.all(&sql, [most], row)
    }

    /// Records indexed after the one of this number.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn recorded_after(&self, number: i64) -> Result<Vec<Row>, DbError> {
        let sql = format!("SELECT {SELECT} FROM attestations WHERE rowid > ?1 ORDER BY rowid");
        self.all(&sql, [number], row)
    }

    /// Records listed after a time.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn recorded_since(&self, time: &str) -> Result<Vec<Row>, DbError> {
        let sql =
            format!("SELECT {SELECT} FROM attestations WHERE listed_at > ?1 ORDER BY listed_at");
        self.all(&sql, [time], row)
    }

    /// The time of the newest record; `None` if there is none.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn newest_time(&self) -> Result<Option<String>, DbError> {
        let sql = "SELECT listed_at FROM attestations ORDER BY listed_at DESC LIMIT 1";
        self.first(sql, [], |row| row.get(0))
    }
}
