//! A project as it is now, to be read: no lock is taken and nothing written.
//!
//! Everything shown anywhere is asked of a [`View`]. It answers from the index
//! as far as the index has seen the tree unchanged, and from the tree itself,
//! through the component, for the rest; where there is no index it makes one
//! that nobody else sees. What cannot be read is kept as damage, and the
//! arrows it may concern are `unreadable`.

mod arrows;
mod counts;
mod current;
mod error;

use std::sync::Arc;

use parking_lot::Mutex;
use std::time::{Duration, Instant};

pub use counts::{Counts, FindingCounts, PassCounts};
pub use error::ViewError;

use crate::audit::accepted_losses::{ACCEPTED_LOSSES, AcceptedLosses};
use crate::audit::load::{LoadError, Loaded, Notice};
use crate::bus::Event;
use crate::db::{Db, DbError, ENGINE_DB, Filter, Finding, Pass, Place, Reader, Request, Row};
use crate::files::disk::{CapDisk, Disk};
use crate::grid::{Arrow, Grid, GridError};
use crate::policy::{Attestation, Policy, PolicyError};
use crate::project::{Presence, Project};
use crate::subject::Present;
use crate::work::pass::Living;
use crate::work::{memory, pending};

/// The arrow with this id, or a word on which may have been meant.
///
/// # Errors
/// `arrow-unknown`.
pub fn find_arrow<'a>(grid: &'a Grid, id: &str) -> Result<&'a Arrow, ViewError> {
    grid.arrow(id).ok_or_else(|| ViewError::ArrowUnknown {
        id: id.to_owned(),
        nearest: crate::text::nearest(id, grid.arrows.iter().map(|arrow| arrow.id.as_str())),
    })
}

/// The ref that is meant: itself, or the one of `ARROW/CLAUSE`.
///
/// # Errors
/// `policy-component-failed`.
pub fn resolve_ref(grid: &Grid, policy: &Policy, reference: &str) -> Result<String, PolicyError> {
    for arrow in &grid.arrows {
        let clause = reference
            .strip_prefix(arrow.id.as_str())
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(clause) = clause
            && arrow.clauses.iter().any(|c| c.id == clause)
        {
            return policy.attestation_ref(&arrow.id, clause, grid.version);
        }
    }
    Ok(reference.to_owned())
}

/// The grid in force, for who does not hold the project's lock: one who does
/// may be bringing the next version into force, and between its file and the
/// pointer to it no version is.
///
/// # Errors
/// As [`Grid::read_active`].
pub fn grid_in_force(project: &Project) -> Result<Grid, GridError> {
    const PAUSE: Duration = Duration::from_millis(2);
    /// Looks beside which nobody was seen to write.
    const QUIET: u32 = 3;
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut quiet = 0;
    loop {
        match Grid::read_active(project.ghyll()) {
            Err(GridError::PointerStale { .. } | GridError::PointerMissing { .. })
                if quiet < QUIET && Instant::now() < deadline =>
            {
                if project.locked_by().is_none() {
                    quiet += 1;
                }
                std::thread::sleep(PAUSE);
            }
            read => return read,
        }
    }
}

/// Records that are told of before others get at the database.
const AT_ONCE: usize = 500;

/// What a reader relies on besides tree and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Index and remembered digests, as far as they are up to date.
    Memory,
    /// Nothing.
    Nothing,
}

/// A project as it is now.
pub struct View {
    project: Project,
    grid: Grid,
    policy: Arc<Policy>,
    disk: CapDisk,
    db: Db,
    /// Why the project's own database is not read; then another is.
    db_fault: Option<DbError>,
    db_missing: bool,
    /// Whether it is not read because the tree has changed where it stopped.
    passed_over: bool,
    loaded: Loaded,
    events: Vec<Event>,
    losses: usize,
    present: Present,
    /// The state of the database that temporary tables were laid over.
    laid: Mutex<Option<i64>>,
}

impl Living for Project {
    fn is_alive(&self, session_id: &str) -> bool {
        // Who cannot be asked for is left alone.
        Presence::is_alive(self, session_id).unwrap_or(true)
    }
}

impl View {
    /// Looks at a project.
    ///
    /// # Errors
    /// If nothing can be said of it at all; what is wrong with its records is
    /// [`Self::damage`].
    pub fn open(project: Project, policy: Arc<Policy>) -> Result<Self, ViewError> {
        Self::open_trusting(project, policy, Trust::Memory)
    }

    /// Looks at a project as a gate does: the tree and the covered files are
    /// read whole, and nothing that is only derived from them is relied on.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_trusting_nothing(project: Project, policy: Arc<Policy>) -> Result<Self, ViewError> {
        Self::open_trusting(project, policy, Trust::Nothing)
    }

    fn open_trusting(
        project: Project,
        policy: Arc<Policy>,
        trust: Trust,
    ) -> Result<Self, ViewError> {
        let present = match trust {
            Trust::Memory => Present::remembered(project.root(), memory::of(&project)),
            Trust::Nothing => Present::every_byte(project.root()),
        };
        let io = |below: &str| {
            let path = project.path_of(below);
            move |source| ViewError::Io { path, source }
        };
        let grid = grid_in_force(&project)?;
        let disk = CapDisk::new(project.ghyll()).map_err(io(""))?;
        let losses = AcceptedLosses::read(&disk).map_err(io(ACCEPTED_LOSSES))?;
        let (mut db_fault, mut db_missing) = (None, false);
        let own = match trust {
            Trust::Memory => Db::open_read_only(&project.path_of(ENGINE_DB)),
            Trust::Nothing => Ok(None),
        };
        let db = match own {
            Ok(Some(db)) => db,
            Ok(None) => {
                db_missing = true;
                Db::private()?
            }
            Err(e @ (DbError::Locked { .. } | DbError::Symlink { .. })) => return Err(e.into()),
            Err(e) => {
                db_fault = Some(e);
                Db::private()?
            }
        };
        let mut view = Self {
            db,
            grid,
            disk,
            policy,
            project,
            db_fault,
            db_missing,
            passed_over: false,
            loaded: Loaded::default(),
            events: Vec::new(),
            losses: losses.all.len(),
            present,
            laid: Mutex::default(),
        };
        view.bring_up(&losses)?;
        Ok(view)
    }

    /// Whether the project's own database is read, not one made for this.
    fn db_is_own(&self) -> bool {
        !self.db_missing && !self.passed_over && self.db_fault.is_none()
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The grid in force.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The files below `.ghyll`.
    pub fn disk(&self) -> &dyn Disk {
        &self.disk
    }

    /// What is wrong with the tree, the first first; at most a hundred.
    pub fn damage(&self) -> &[LoadError] {
        &self.loaded.damage
    }

    /// Why the project's own database is not read.
    pub fn db_fault(&self) -> Option<&DbError> {
        self.db_fault.as_ref()
    }

    /// What a session's start would put right.
    pub fn notices(&self) -> &[Notice] {
        &self.loaded.notices
    }

    /// What a session's start would tell.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Asks the database.
    ///
    /// # Errors
    /// Those of `f`, and `engine-db-…`.
    pub fn read<T, E: From<DbError>>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let done = self.db.read(|reader| match self.has_moved(reader)? {
            true => Ok(Err(f)),
            false => f(reader).map(Ok),
        })?;
        match done {
            Ok(value) => Ok(value),
            Err(f) => self.read_anew(f),
        }
    }

    /// What operators are asked, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending(&self) -> Result<Vec<Request>, DbError> {
        self.read(pending::all)
    }

    /// Whether only an escalation's verdicts are taken on what is asked.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn escalation_due(&self, request: &Request) -> Result<bool, DbError> {
        let standing = self.read(|reader| reader.standing(&request.attestation_ref))?;
        let rounds_max = self.grid.settings.insufficient_basis_rounds_max;
        Ok(pending::escalation_due(standing.as_ref(), rounds_max))
    }

    /// All traversals of arrows, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn passes(&self) -> Result<Vec<Pass>, DbError> {
        self.read(|reader| reader.passes())
    }

    /// All defects, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn findings(&self) -> Result<Vec<Finding>, DbError> {
        self.read(|reader| reader.findings())
    }

    /// Tells `each` of the records asked for, newest last. It may take its time:
    /// the database is held only between a few hundred records and the next.
    ///
    /// # Errors
    /// Those of `each`, and `engine-db-…`.
    pub fn each_record<E: From<DbError>>(
        &self,
        filter: &Filter,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after: Option<Place> = None;
        loop {
            let (rows, last) = self.read(|reader| reader.page(filter, after.as_ref(), AT_ONCE))?;
            rows.into_iter().try_for_each(&mut each)?;
            after = match last {
                None => return Ok(()),
                last => last,
            };
        }
    }
}

/// A record of nothing, to be filled.
pub fn empty_record() -> Attestation {
    Attestation {
        attestation_id: String::new(),
        kind: String::new(),
        arrow_id: String::new(),
        clause_id: String::new(),
        op_id: String::new(),
        attested_by_role: String::new(),
        source_role: String::new(),
        target_role: String::new(),
        adversary_role: String::new(),
        verdict: String::new(),
        reason: String::new(),
        timestamp: String::new(),
        grid_version: 0,
        pass_id: String::new(),
        context: String::new(),
        stratum: String::new(),
        unit: String::new(),
        unit_payload_json: String::new(),
        hint_json: String::new(),
    }
}
