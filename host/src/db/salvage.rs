//! What a database that is about to be replaced still says of the session's
//! own state, row by row: one that cannot be read takes no other with it.

use rusqlite::Row as SqlRow;

use super::{DbError, Finding, Pass, Reader, Request, Run, Tx, Word};
use super::{findings, passes, requests, runs, words};

/// The session's own state.
#[derive(Debug, Default)]
pub struct State {
    passes: Vec<Pass>,
    requests: Vec<Request>,
    runs: Vec<Run>,
    findings: Vec<Finding>,
    words: Vec<Word>,
    /// Rows that could not be read.
    pub unreadable: u64,
}

impl Reader<'_> {
    /// Everything of the session's own state that can be read.
    pub fn salvage(&self) -> State {
        let mut state = State::default();
        let lost = &mut state.unreadable;
        state.passes = self.readable(&passes::select(), passes::pass, lost);
        state.requests = self.readable(&requests::select(), requests::request, lost);
        state.runs = self.readable(&runs::select(), runs::run, lost);
        state.findings = self.readable(&findings::select_own(), findings::finding, lost);
        state.words = self.readable(&words::select(), words::word, lost);
        state
    }

    fn readable<T>(
        &self,
        sql: &str,
        read: impl Fn(&SqlRow<'_>) -> rusqlite::Result<T>,
        lost: &mut u64,
    ) -> Vec<T> {
        let mut found = Vec::new();
        let done = self.conn.prepare(sql).and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                match read(row) {
                    Ok(value) => found.push(value),
                    Err(_) => *lost = lost.saturating_add(1),
                }
            }
            Ok(())
        });
        if done.is_err() {
            *lost = lost.saturating_add(1);
        }
        found
    }
}

impl Tx<'_> {
    /// Puts salvaged state into a new database; what does not go together with
    /// the rest is left out. Returns how many rows were.
    ///
    /// # Errors
    /// `engine-db-…`, for anything but a row that does not fit.
    pub fn restore(&self, state: State) -> Result<u64, DbError> {
        let mut left_out = 0_u64;
        let mut keep = |done: Result<(), DbError>| match done {
            Err(e) if e.is_damage() => {
                left_out = left_out.saturating_add(1);
                Ok(())
            }
            done => done,
        };
        for pass in &state.passes {
            keep(self.open_pass(pass))?;
        }
        for mut request in state.requests {
            keep(self.add_request(&mut request))?;
        }
        for run in &state.runs {
            keep(self.add_run(run))?;
        }
        for mut finding in state.findings {
            keep(self.raise_finding(&mut finding, 0))?;
        }
        for word in &state.words {
            keep(self.keep_word(word))?;
        }
        Ok(left_out)
    }
}
