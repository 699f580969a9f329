//! How a session begins, and how whoever takes the project's lock brings
//! everything derived up to the tree.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Session, SessionError};
use crate::audit::accepted_losses::{ACCEPTED_LOSSES, AcceptedLosses};
use crate::audit::load::{self, Elsewhere, LimitsOf, Loaded, Notice, Sources};
use crate::audit::{AttestationStore, FlatFile, Recorded, TREE_DIR, Watch};
use crate::bus::{Bus, Event};
use crate::clock::Clock;
use crate::db::{Db, DbError, ENGINE_DB};
use crate::files::disk::{CapDisk, Disk};
use crate::grid::{Grid, GridLimits};
use crate::policy::Policy;
use crate::project::{Presence, Project, ProjectError, SessionLock};
use crate::work::{Verdict, current, pending, proved, standing};

/// Who tells what happens to the tree.
#[derive(Default)]
pub(super) struct Watched {
    /// Whether it was looked at before: watching is for who looks again.
    before: bool,
    /// `None` where all of it has to be looked at.
    watch: Option<Watch>,
}

impl Watched {
    /// What may have changed since the last look; nothing if that is not known.
    /// What is returned watches from now on, once the look has come to an end.
    fn look(&mut self, tree: &Path) -> (Option<Watch>, Option<BTreeSet<String>>) {
        if let Some(mut watch) = self.watch.take()
            && let Some(files) = watch.changed()
        {
            return (Some(watch), Some(files));
        }
        let again = std::mem::replace(&mut self.before, true);
        (again.then(|| Watch::over(tree)).flatten(), None)
    }
}

/// The project's lock, and everything derived as new as the tree.
pub(super) struct Hold {
    pub(super) lock: SessionLock,
    /// After the lock, for whoever hears of it may act.
    _found: Found,
}

/// What was found on the way to the lock, told when it is let go of.
pub(super) struct Found {
    events: Vec<Event>,
    bus: Arc<Bus>,
}

impl Drop for Found {
    fn drop(&mut self) {
        crate::seam::step();
        for event in &self.events {
            self.bus.publish(event);
        }
    }
}

impl Session {
    /// Starts a session: the grid and the tree are read, what dead sessions
    /// left is recovered, and what was pending is queued again.
    ///
    /// # Errors
    /// `session-locked`, `grid-…`, `engine-db-…`, and what [`load`] refuses.
    pub fn open(
        project: Project,
        policy: Arc<Policy>,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
    ) -> Result<Self, SessionError> {
        let disk = CapDisk::new(project.ghyll()).map_err(|source| SessionError::Io {
            path: project.path_of(""),
            source,
        })?;
        Self::open_on(project, policy, clock, bus, Arc::new(disk))
    }

    /// As [`Self::open`], with the files of the store reached through `disk`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(
        project: Project,
        policy: Arc<Policy>,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, SessionError> {
        let lock = project.lock("starting a session")?;
        let grid = Grid::read_active(project.ghyll())?;
        let grids = GridLimits::new(project.ghyll()).map_err(|source| SessionError::Io {
            path: project.path_of(""),
            source,
        })?;
        let path = project.path_of(ENGINE_DB);
        let made = !path.exists();
        let db = Arc::new(Db::open(&path)?);
        // Not from the session's clock: a replay has to write the same ids.
        let id = uuid::Uuid::now_v7().to_string();
        let presence = Presence::register(&project, &id)?;
        Presence::sweep(&project, &lock)?;
        let flat = Arc::new(FlatFile::new(Arc::clone(&disk)));
        let store = AttestationStore::new(
            Arc::clone(&policy),
            Arc::clone(&db),
            Arc::clone(&bus),
            Arc::clone(&disk),
            vec![Box::new(Arc::clone(&flat))],
        );
        let mut session = Self {
            id,
            presence: Mutex::new(presence),
            project,
            grid: Mutex::new(Arc::new(grid)),
            policy,
            clock,
            db,
            disk,
            bus,
            store,
            flat,
            watched: Mutex::default(),
            grids,
            op_id: Mutex::new(None),
            notices: Vec::new(),
        };
        let started = session.bring_up();
        match started.and_then(|done| session.prove().map(|()| done)) {
            Ok((mut notices, events)) => {
                drop(lock);
                if session.project.is_alone() {
                    notices.insert(0, Notice::NoLocks);
                }
                for notice in &notices {
                    tracing::warn!("{notice}");
                }
                session.notices = notices;
                session.publish_all(events);
                Ok(session)
            }
            Err(error) => {
                // A start that is refused leaves nothing that could be taken
                // for an index; nobody else has it yet, for the lock is held.
                if made {
                    drop(session);
                    let _ = std::fs::remove_file(path);
                }
                Err(error)
            }
        }
    }

    /// Takes the project's lock and brings everything derived up to the tree.
    pub(super) fn hold(&self, what: &str) -> Result<Hold, SessionError> {
        let lock = self.project.lock(what)?;
        self.store.mend(&lock)?;
        let version = Grid::active_version(self.project.ghyll())?;
        if version != self.grid().version {
            *self.grid.lock() = Arc::new(Grid::read_version(self.project.ghyll(), version)?);
        }
        self.stay_known()?;
        let (notices, events) = self.bring_up()?;
        for notice in &notices {
            if matches!(notice, Notice::Moved { .. }) {
                tracing::warn!("{notice}");
            }
        }
        let found = Found {
            events,
            bus: Arc::clone(&self.bus),
        };
        lock.still_ours()?;
        Ok(Hold {
            lock,
            _found: found,
        })
    }

    /// Registers anew if others can no longer see that this process lives,
    /// because its file was taken away; under the project's lock.
    pub(super) fn stay_known(&self) -> Result<(), SessionError> {
        let mut presence = self.presence.lock();
        match presence.still_ours() {
            Ok(()) => return Ok(()),
            Err(ProjectError::LockLost { .. }) => {}
            Err(e) => return Err(e.into()),
        }
        let id = uuid::Uuid::now_v7().to_string();
        let anew = Presence::register(&self.project, &id)?;
        self.db
            .transaction(|tx| tx.rename_session(presence.id(), &id))?;
        *presence = anew;
        Ok(())
    }

    /// By which id others see that this process lives.
    pub(super) fn lives_as(&self) -> String {
        self.presence.lock().id().to_owned()
    }

    /// Holds what the database says of the grid's refs against the tree, before
    /// anybody acts upon it.
    pub(super) fn prove(&self) -> Result<(), SessionError> {
        let refs = proved::refs(&self.policy, &self.grid())?;
        let limits: &LimitsOf<'_> = &|version| self.grids.for_reading(version);
        let sources = Sources {
            elsewhere: &Elsewhere::of(self.project.root()),
            policy: &self.policy,
            limits,
            disk: self.disk.as_ref(),
            losses: &self.losses()?,
            repair: false,
        };
        let proved = self.db.read(|reader| proved::prove(sources, reader, &refs));
        Ok(proved?)
    }

    /// What was given up, as it is on record now.
    pub(super) fn losses(&self) -> Result<AcceptedLosses, SessionError> {
        AcceptedLosses::read(self.disk.as_ref()).map_err(|source| SessionError::Io {
            path: self.project.path_of(ACCEPTED_LOSSES),
            source,
        })
    }

    pub(super) fn bring_up(&self) -> Result<(Vec<Notice>, Vec<Event>), SessionError> {
        let limits: &LimitsOf<'_> = &|version| self.grids.for_reading(version);
        let elsewhere = Elsewhere::of(self.project.root());
        let losses = self.losses()?;
        let sources = Sources {
            elsewhere: &elsewhere,
            policy: &self.policy,
            limits,
            disk: self.disk.as_ref(),
            losses: &losses,
            repair: true,
        };
        let living = &self.project;
        let mut loaded = Loaded::default();
        let mut watched = self.watched.lock();
        let (watch, changed) = watched.look(&self.project.path_of(TREE_DIR));
        let current = self.db.read(|reader| match &changed {
            Some(files) => current::is_current_but_for(files, sources, reader, living),
            None => current::is_current(sources, reader, living),
        })?;
        let mut events = Vec::new();
        if !current {
            let now = self.now();
            events = self.db.transaction(|tx| {
                let events = current::bring_up(sources, tx, living, &now, &mut loaded)?;
                match loaded.damage.is_empty() {
                    true => Ok(events),
                    false => Err(SessionError::Load(loaded.damage.swap_remove(0))),
                }
            })?;
        }
        load::catch_up(sources, &self.db, &self.flat, &mut loaded.notices)?;
        watched.watch = watch;
        drop(watched);
        let events = self.with_what_follows(events)?;
        Ok((loaded.notices, events))
    }

    /// Adds what a verdict that was found in the tree would have been followed
    /// by, had whoever gave it come to tell.
    fn with_what_follows(&self, events: Vec<Event>) -> Result<Vec<Event>, DbError> {
        let rounds_max = self.grid().settings.insufficient_basis_rounds_max;
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            let Event::RecoveryAttestationReplay { request, .. } = &event else {
                told.push(event);
                continue;
            };
            let attestation_ref = &request.attestation_ref;
            let follows = self.db.read(|reader| {
                let standing = reader.standing(attestation_ref)?;
                let row = standing::newest(reader, attestation_ref)?;
                Ok::<_, DbError>(match row {
                    Some(row) if row.rec.verdict == Verdict::Fail.as_str() => {
                        let line = String::new();
                        Some(Event::ClauseFailVerdict(Arc::new(Recorded { row, line })))
                    }
                    _ if pending::escalation_due(standing.as_ref(), rounds_max) => {
                        Some(Event::InsufficientBasisRoundsExceeded {
                            rounds: standing.as_ref().map_or(0, |s| s.basis_streak),
                            request: request.clone().at(standing.as_ref()),
                        })
                    }
                    _ => None,
                })
            })?;
            told.push(event);
            told.extend(follows);
        }
        Ok(told)
    }
}

impl crate::audit::Observer for Arc<FlatFile> {
    fn surface(&self) -> &'static str {
        self.as_ref().surface()
    }

    fn recorded(&self, recorded: &Recorded) -> Result<(), String> {
        self.as_ref().recorded(recorded)
    }
}
