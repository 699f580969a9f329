//! The files a question is about, looked at when it is shown, when it is
//! answered, and when a pass asks.

use super::{Session, SessionError};
use crate::db::{DbError, Request, Row};
use crate::grid::{Arrow, Clause, Grid};
use crate::subject::changed::{self, Change};
use crate::subject::{Covers, Present, Reading, SubjectStore, Taken, take};
use crate::work::memory;

impl Session {
    /// A look at the covered files for a status: what is remembered of a file
    /// that looks the same is taken for what it holds.
    pub(super) fn present(&self) -> Present {
        Present::remembered(self.project.root(), memory::of(&self.project))
    }

    /// Remembers what a look learnt, for the next; under the project's lock.
    pub(super) fn remember(&self, present: Present) -> Result<(), DbError> {
        self.db
            .transaction(|tx| memory::keep(tx, present.into_memory()))
    }

    /// The covered files of a request, every byte of them read; `None` where
    /// nothing is covered.
    ///
    /// # Errors
    /// `subject-…`.
    pub(super) fn taken(&self, request: &Request) -> Result<Option<Taken>, SessionError> {
        let globs = self.covers_of(request)?;
        if globs.is_empty() {
            return Ok(None);
        }
        let covers = Covers::parse(&globs)?;
        let reading = Reading::EveryByte(None);
        Ok(Some(take(self.project.root(), &covers, reading)?))
    }

    /// What a request's covered files are as it is shown, and what changed in
    /// them since its last round.
    ///
    /// # Errors
    /// `subject-…`.
    pub(crate) fn shown(
        &self,
        request: &Request,
        last: Option<&Row>,
    ) -> Result<(String, Vec<Change>), SessionError> {
        let subject = self.subject_shown(request)?;
        let changed = self.changed_for(request, last, &subject)?;
        Ok((subject, changed))
    }

    fn changed_for(
        &self,
        request: &Request,
        last: Option<&Row>,
        now: &str,
    ) -> Result<Vec<Change>, SessionError> {
        let Some(row) = last else {
            return Ok(Vec::new());
        };
        let judged = self.policy.decode_hint(&row.rec.hint_json)?.subject;
        if judged.is_empty() || judged == now {
            return Ok(Vec::new());
        }
        Ok(self
            .taken(request)?
            .map_or_else(Vec::new, |now| self.changed_since(&judged, &now)))
    }

    /// What a request's covered files are as it is shown: the SHA-256 of their
    /// manifest, empty where nothing is covered.
    fn subject_shown(&self, request: &Request) -> Result<String, SessionError> {
        let globs = self.covers_of(request)?;
        if globs.is_empty() {
            return Ok(String::new());
        }
        let covers = Covers::parse(&globs)?;
        let mut memory = memory::of(&self.project);
        let reading = Reading::Remembered(&mut memory);
        Ok(take(self.project.root(), &covers, reading)?
            .subject
            .to_string())
    }

    /// What changed since a subject that was kept; nothing can be told of one
    /// that was not.
    pub(super) fn changed_since(&self, judged: &str, now: &Taken) -> Vec<Change> {
        let Ok(judged) = judged.parse() else {
            return Vec::new();
        };
        match SubjectStore::new(self.disk.as_ref()).read(&judged) {
            Ok(before) => {
                let mut changes = changed::between(&before, &now.manifest);
                changed::count_lines(self.project.root(), &mut changes);
                changes
            }
            Err(_) => Vec::new(),
        }
    }

    /// The globs of a request's clause, by the grid it was made under.
    fn covers_of(&self, request: &Request) -> Result<Vec<String>, SessionError> {
        let grid = self.grid();
        if request.grid_version == grid.version {
            return Ok(covers(&grid, request));
        }
        let grid = Grid::read_version(self.project.ghyll(), request.grid_version)?;
        Ok(covers(&grid, request))
    }
}

fn covers(grid: &Grid, request: &Request) -> Vec<String> {
    let of = |arrow: &Arrow, clause: &Clause| arrow.covers_of(clause).to_vec();
    grid.arrow(&request.arrow_id)
        .and_then(|arrow| {
            let clause = arrow.clauses.iter().find(|c| c.id == request.clause_id)?;
            Some(of(arrow, clause))
        })
        .unwrap_or_default()
}
