//! A session: one operator's (or script's) hold on one project.
//!
//! Every surface drives a session, and nothing else; the session takes the
//! lock, brings index and state up to the tree, and then dispatches, records
//! and answers. All of it is `&self`: a prompt may use the session it was
//! called from.

mod attest;
mod dispatch;
mod machine;
mod preview;
mod recovery;
mod turn;

use std::sync::{Arc, Mutex, PoisonError};

pub use attest::Submission;
pub use dispatch::Dispatched;
pub use preview::{Preview, preview};

use crate::bus::Bus;
use crate::clock::Clock;
use crate::engine::{ENGINE_DB, EngineDb, EngineError, Request};
use crate::grid::{Grid, GridError};
use crate::losses::{ACCEPTED_LOSSES, AcceptedLosses};
use crate::modal::{DrainError, ModalDriver, OperatorModalPrompt};
use crate::policy::{Limits, Policy, PolicyError};
use crate::project::{Project, ProjectError, SessionLock};
use crate::status::{self, ArrowView, StatusError};
use crate::store::disk::{CapDisk, Disk};
use crate::store::load::{self, LoadError, Notice, Sources};
use crate::store::{AttestationStore, FlatFile, StoreError};
use crate::verdicts::Effects;

/// More versions of a grid than any project has.
const GRID_VERSIONS_MAX: u64 = 10_000;

/// Why a session could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Its database.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its tree.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The grid has no such arrow.
    #[error("the grid has no arrow {id:?}{}", match nearest { Some(n) => format!("; did you mean {n:?}?"), None => String::new() })]
    ArrowUnknown {
        /// What was asked for.
        id: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// Another arrow's pass is open on the same role and context.
    #[error("{role} is busy in {context}: a pass of {arrow} is open ({pass_id})")]
    RoleContextBusy {
        /// The role.
        role: String,
        /// The context.
        context: String,
        /// Whose pass it is.
        arrow: String,
        /// Which.
        pass_id: String,
    },
    /// No pass ever asked for this ref.
    #[error("no pass asks or asked for {0:?}")]
    NoPassForRef(String),
    /// A command could not be run.
    #[error("{command}: {source}")]
    Machine {
        /// The program.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// The caller's time was over before the arrow was decided.
    #[error("{arrow}: its commands were not done in the time that was left")]
    Deadline {
        /// The arrow.
        arrow: String,
    },
    /// The directory capability.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be used.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl SessionError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Project(e) => e.code(),
            Self::Grid(e) => e.code(),
            Self::Engine(e) => e.code(),
            Self::Load(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::ArrowUnknown { .. } => "arrow-unknown",
            Self::RoleContextBusy { .. } => "role-context-busy",
            Self::NoPassForRef(_) => "attestation-no-pass-for-ref",
            Self::Machine { .. } => "machine-clause-unrunnable",
            Self::Deadline { .. } => "dispatch-deadline-exceeded",
            Self::Io { .. } => "project-unreadable",
        }
    }
}

impl From<StatusError> for SessionError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Engine(e) => Self::Engine(e),
            StatusError::Policy(e) => Self::Policy(e),
        }
    }
}

/// One hold on one project.
pub struct Session {
    project: Project,
    grid: Grid,
    policy: Arc<Policy>,
    clock: Arc<dyn Clock>,
    db: Arc<EngineDb>,
    disk: Arc<dyn Disk>,
    bus: Arc<Bus>,
    store: AttestationStore,
    driver: Arc<ModalDriver>,
    op_id: Mutex<Option<String>>,
    notices: Vec<Notice>,
    // Last, so that it is let go of when everything else is closed.
    _lock: SessionLock,
}

/// The limits a grid sets for the policy.
pub fn limits(grid: &Grid) -> Limits {
    Limits {
        max_residue_bytes: grid.settings.residue_note_max_bytes,
    }
}

/// The limits records are read by: the widest that any version of the grid
/// ever set, for a record is not made wrong by a grid that came after it.
pub fn read_limits(ghyll: &cap_std::fs::Dir) -> Limits {
    let newest = Grid::active_version(ghyll).unwrap_or(1);
    let widest = (1..=newest.min(GRID_VERSIONS_MAX))
        .filter_map(|version| Grid::read_version(ghyll, version).ok())
        .map(|grid| limits(&grid).max_residue_bytes)
        .max();
    Limits {
        max_residue_bytes: widest.unwrap_or_default(),
    }
}

impl Session {
    /// Starts a session: lock, grid, tree, recovery, and what was pending is
    /// queued again.
    ///
    /// # Errors
    /// `session-locked`, `grid-…`, `engine-db-…`, and what [`load::load`]
    /// refuses.
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
        let lock = project.lock()?;
        let grid = Grid::read_active(project.ghyll())?;
        let db = Arc::new(EngineDb::open(&project.path_of(ENGINE_DB))?);
        let limits = limits(&grid);
        let flat = FlatFile::new(Arc::clone(&disk));
        let losses = AcceptedLosses::read(disk.as_ref()).map_err(|source| SessionError::Io {
            path: project.path_of(ACCEPTED_LOSSES),
            source,
        })?;
        let sources = Sources {
            policy: &policy,
            limits: read_limits(project.ghyll()),
            disk: disk.as_ref(),
            db: &db,
            losses: &losses,
        };
        let notices = load::load(sources, &flat)?;
        for notice in &notices {
            tracing::warn!("{notice}");
        }
        let store = AttestationStore::new(
            Arc::clone(&policy),
            limits,
            Arc::clone(&db),
            Arc::clone(&bus),
            Arc::clone(&disk),
            vec![Box::new(flat)],
        );
        let driver = ModalDriver::attach(&bus, grid.settings.modal_pending_max_len);
        let session = Self {
            project,
            grid,
            policy,
            clock,
            db,
            disk,
            bus,
            store,
            driver,
            op_id: Mutex::new(None),
            notices,
            _lock: lock,
        };
        session.recover()?;
        Ok(session)
    }

    /// Answers what is pending through `prompt`; see [`ModalDriver::drain_pending`].
    ///
    /// # Errors
    /// `modal-…`; every request not yet answered stays queued.
    pub fn drain_pending(&self, prompt: &mut dyn OperatorModalPrompt) -> Result<(), DrainError> {
        self.driver.drain_pending(self, prompt)
    }

    /// Who answers from now on; `None` for nobody.
    ///
    /// # Errors
    /// The policy's codes; then nothing changes.
    pub fn set_op_id(&self, op_id: Option<&str>) -> Result<(), SessionError> {
        if let Some(op_id) = op_id {
            self.policy.validate_op_id(op_id)?;
        }
        *self.op_id.lock().unwrap_or_else(PoisonError::into_inner) = op_id.map(str::to_owned);
        Ok(())
    }

    /// Who answers now.
    pub fn op_id(&self) -> Option<String> {
        self.op_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Where an arrow stands.
    ///
    /// # Errors
    /// `arrow-unknown`, `engine-db-…`.
    pub fn arrow_view(&self, arrow_id: &str) -> Result<ArrowView, SessionError> {
        let arrow = find_arrow(&self.grid, arrow_id)?;
        Ok(self
            .db
            .read(|tx| status::arrow(tx, &self.policy, &self.grid, arrow))?)
    }

    /// What operators are asked now, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending(&self) -> Result<Vec<Request>, SessionError> {
        Ok(self.db.read(|tx| tx.pending())?)
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The grid the session started with.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The database, to read from.
    pub fn db(&self) -> &EngineDb {
        &self.db
    }

    /// The files below `.ghyll`.
    pub fn disk(&self) -> &dyn Disk {
        self.disk.as_ref()
    }

    /// The bus.
    pub fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }

    /// The store; [`Self::submit`] and [`Self::attest`] are how verdicts get
    /// there with all that follows from them.
    pub fn store(&self) -> &AttestationStore {
        &self.store
    }

    /// What the start of the session put right.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn now(&self) -> String {
        crate::clock::rfc3339(self.clock.now())
    }

    /// Publishes what came of a transaction, after it.
    fn publish(&self, effects: Effects) {
        if let Some(request) = &effects.asked_again {
            self.driver.defer(request);
        }
        for event in &effects.events {
            self.bus.publish(event);
        }
    }
}

/// The arrow with this id, or a word on which may have been meant.
///
/// # Errors
/// `arrow-unknown`.
pub fn find_arrow<'a>(grid: &'a Grid, id: &str) -> Result<&'a crate::grid::Arrow, SessionError> {
    grid.arrow(id).ok_or_else(|| SessionError::ArrowUnknown {
        id: id.to_owned(),
        nearest: crate::nearest::nearest(id, grid.arrows.iter().map(|arrow| arrow.id.as_str())),
    })
}
