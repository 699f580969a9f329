//! A view brought up to the tree, at one moment and at every later one.
//!
//! Where the index is behind the tree, what it lacks is laid over it in
//! temporary tables. These belong to the state the database was in: once
//! somebody else has changed it, they are laid anew before anything is asked.

use super::{View, ViewError};
use crate::audit::accepted_losses::AcceptedLosses;
use crate::audit::load::{Elsewhere, LimitsOf, LoadError, Loaded, Sources};
use crate::audit::reader::ReadError;
use crate::bus::Event;
use crate::clock::{Clock, SystemClock, rfc3339};
use crate::db::{Db, DbError, Reader, Tx};
use crate::grid::GridLimits;
use crate::work::{current, proved};

impl View {
    /// Brings what is read up to the tree as it is.
    pub(super) fn bring_up(&mut self, losses: &AcceptedLosses) -> Result<(), ViewError> {
        let done = match self.attempt(losses) {
            // Git, or a session, may have moved something in between.
            Err(LoadError::Db(DbError::Contradiction { .. })) => self.attempt(losses),
            done => done,
        };
        (self.loaded, self.events) = match done {
            Err(LoadError::Db(e)) if e.is_damage() && self.db_fault.is_none() => {
                self.db = Db::private()?;
                self.db_fault = Some(e);
                return self.bring_up(losses);
            }
            // The tree was changed behind the index's back: it is read whole.
            Err(LoadError::Corrupt { .. }) if self.db_is_own() => {
                self.db = Db::private()?;
                self.passed_over = true;
                return self.bring_up(losses);
            }
            done => done?,
        };
        Ok(())
    }

    /// Holds the database against the tree, and brings what is asked of it up to
    /// that if it is behind.
    fn attempt(&self, losses: &AcceptedLosses) -> Result<(Loaded, Vec<Event>), LoadError> {
        self.with_sources(losses, |sources| {
            let current = self.db.read(|reader| {
                let current = current::is_current(sources, reader, &self.project)?;
                if current {
                    self.prove(sources, reader)?;
                }
                Ok::<_, LoadError>(current)
            })?;
            match current {
                true => Ok((Loaded::default(), Vec::new())),
                false => self.db.transaction(|tx| self.lay(sources, tx)),
            }
        })
    }

    /// Lays what the tree has besides over the database as it is in `tx`.
    fn lay(&self, sources: Sources<'_>, tx: &Tx<'_>) -> Result<(Loaded, Vec<Event>), LoadError> {
        let mut loaded = Loaded::default();
        let now = rfc3339(SystemClock.now());
        let events = current::bring_up(sources, tx, &self.project, &now, &mut loaded)?;
        // What is damaged has no row that could be held against it.
        if loaded.damage.is_empty() {
            self.prove(sources, tx)?;
        }
        *self.laid.lock() = Some(tx.data_version()?);
        Ok((loaded, events))
    }

    fn prove(&self, sources: Sources<'_>, reader: &Reader<'_>) -> Result<(), LoadError> {
        if !self.db_is_own() {
            return Ok(());
        }
        let refs = proved::refs(&self.policy, &self.grid).map_err(ReadError::Policy)?;
        proved::prove(sources, reader, &refs)
    }

    fn with_sources<T, E: From<DbError>>(
        &self,
        losses: &AcceptedLosses,
        f: impl FnOnce(Sources<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let grids = GridLimits::new(self.project.ghyll()).map_err(|source| DbError::Io {
            path: self.project.path_of(""),
            source,
        })?;
        let limits: &LimitsOf<'_> = &|version| grids.for_reading(version);
        let elsewhere = Elsewhere::of(self.project.root());
        f(Sources {
            elsewhere: &elsewhere,
            policy: &self.policy,
            limits,
            disk: &self.disk,
            losses,
            repair: false,
        })
    }

    /// Whether what was laid over the database belongs to an earlier state of it.
    pub(super) fn has_moved(&self, reader: &Reader<'_>) -> Result<bool, DbError> {
        match *self.laid.lock() {
            Some(seen) => Ok(reader.data_version()? != seen),
            None => Ok(false),
        }
    }

    /// Asks the database with what belongs to it laid over it anew.
    pub(super) fn read_anew<T, E: From<DbError>>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let fail = |source| DbError::Io {
            path: self.project.path_of(""),
            source,
        };
        let losses = AcceptedLosses::read(&self.disk).map_err(fail)?;
        self.db.lift()?;
        self.with_sources(&losses, |sources| {
            self.db.transaction(|tx| {
                self.lay(sources, tx).map_err(|error| match error {
                    LoadError::Db(error) => error,
                    other => fail(std::io::Error::other(other)),
                })?;
                f(tx)
            })
        })
    }
}
