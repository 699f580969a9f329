//! A session: what an operator, a script or an agent does to one project.
//!
//! Every surface that changes something drives a session. The project's lock
//! is held only while something is written, and whoever takes it first brings
//! everything derived up to the tree; between two such moments others act too,
//! so nothing that was read before is believed after. All of it is `&self`: a
//! prompt may use the session it was called from.

mod attest;
mod beside;
mod covered;
mod dispatch;
mod error;
mod init;
mod machine;
mod question;
mod said;
mod start;
mod submission;

use std::sync::Arc;

use parking_lot::Mutex;

pub use attest::Attested;
pub use dispatch::{Dispatched, Joined, Options};
pub use error::SessionError;
pub use said::{EVIDENCE_MAX, parse_evidence};
pub use submission::{Submission, Via};

use start::{Hold, Watched};

use crate::audit::load::Notice;
use crate::audit::{AttestationStore, FlatFile};
use crate::bus::{Bus, Event};
use crate::clock::Clock;
use crate::db::{Db, DbError, Pass, PassStatus, Reader, Request, Row};
use crate::files::disk::Disk;
use crate::grid::{Grid, GridLimits};
use crate::policy::{Limits, Policy};
use crate::project::{Presence, Project};
use crate::view::{View, find_arrow, grid_in_force};
use crate::work::status::{self, ArrowView};
use crate::work::{pass, pending, standing};

/// One participant at work on one project.
pub struct Session {
    id: String,
    presence: Mutex<Presence>,
    project: Project,
    grid: Mutex<Arc<Grid>>,
    policy: Arc<Policy>,
    clock: Arc<dyn Clock>,
    db: Arc<Db>,
    disk: Arc<dyn Disk>,
    bus: Arc<Bus>,
    store: AttestationStore,
    flat: Arc<FlatFile>,
    watched: Mutex<Watched>,
    grids: GridLimits,
    op_id: Mutex<Option<String>>,
    notices: Vec<Notice>,
}

impl Session {
    /// Takes up the grid that has come into force since, if one has.
    ///
    /// # Errors
    /// `grid-…`; then the one before is kept.
    pub fn take_up_grid(&self) -> Result<(), SessionError> {
        let known = self.grid().version;
        if Grid::active_version(self.project.ghyll()).is_ok_and(|version| version == known) {
            return Ok(());
        }
        let grid = grid_in_force(&self.project)?;
        *self.grid.lock() = Arc::new(grid);
        Ok(())
    }

    /// Ends an open pass that somebody opened by mistake; what it asks is
    /// withdrawn.
    ///
    /// # Errors
    /// `pass-unknown`, `pass-not-open`.
    pub fn abort_pass(&self, pass_id: &str, reason: &str) -> Result<Pass, SessionError> {
        let hold = self.hold("ending a pass")?;
        let now = self.now();
        let mut events = Vec::new();
        let pass = self.db.transaction(|tx| {
            let Some(pass) = tx.pass(pass_id)? else {
                return Err(SessionError::PassUnknown(pass_id.to_owned()));
            };
            if pass.status != PassStatus::Open {
                return Err(SessionError::PassNotOpen {
                    pass_id: pass_id.to_owned(),
                    status: pass.status.as_str(),
                });
            }
            let aborted = PassStatus::Aborted;
            pass::end(tx, pass_id, aborted, reason, &now, &mut events)?;
            Ok(pass)
        })?;
        drop(hold);
        self.publish_all(events);
        Ok(pass)
    }

    /// Who answers from now on; `None` for nobody.
    ///
    /// # Errors
    /// The policy's codes; then nothing changes.
    pub fn set_op_id(&self, op_id: Option<&str>) -> Result<(), SessionError> {
        if let Some(op_id) = op_id {
            self.policy.validate_op_id(op_id)?;
        }
        *self.op_id.lock() = op_id.map(str::to_owned);
        Ok(())
    }

    /// Who answers now.
    pub fn op_id(&self) -> Option<String> {
        self.op_id.lock().clone()
    }

    /// The project as it is now, to be read.
    ///
    /// # Errors
    /// As [`View::open`].
    pub fn view(&self) -> Result<View, SessionError> {
        let project = Project::open(self.project.root())?;
        Ok(View::open(project, Arc::clone(&self.policy))?)
    }

    /// Where an arrow stands after the last thing the session did.
    ///
    /// # Errors
    /// `arrow-unknown`, `engine-db-…`.
    pub fn stands(&self, arrow_id: &str) -> Result<ArrowView, SessionError> {
        let grid = self.grid();
        let arrow = find_arrow(&grid, arrow_id)?;
        let present = self.present();
        present.look_at(arrow);
        let stands =
            |reader: &Reader<'_>| status::arrow(reader, &self.policy, &present, &grid, arrow);
        Ok(self.db.read(stands)?)
    }

    /// Where an arrow stands now.
    ///
    /// # Errors
    /// `arrow-unknown`, `engine-db-…`.
    pub fn arrow_view(&self, arrow_id: &str) -> Result<ArrowView, SessionError> {
        Ok(self.view()?.arrow(arrow_id)?.1)
    }

    /// What operators are asked now, oldest first.
    ///
    /// # Errors
    /// `engine-db-…`.
    pub fn pending(&self) -> Result<Vec<Request>, SessionError> {
        Ok(self.db.read(pending::all)?)
    }

    /// Asks the session's own database, which is as new as the last thing the
    /// session did.
    ///
    /// # Errors
    /// Those of `f`, and `engine-db-…`.
    pub fn read<T, E: From<DbError>>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.db.read(f)
    }

    /// The session's id, a UUIDv7.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The time by the session's clock, RFC 3339.
    pub fn time(&self) -> String {
        self.now()
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The grid in force when the session last acted.
    pub fn grid(&self) -> Arc<Grid> {
        Arc::clone(&self.grid.lock())
    }

    /// The limits of the grid in force.
    pub fn limits(&self) -> Limits {
        self.grid().limits()
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The bus.
    pub fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }

    /// What the start of the session put right.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn now(&self) -> String {
        crate::clock::rfc3339(self.clock.now())
    }

    fn publish_all(&self, events: Vec<Event>) {
        for event in &events {
            self.bus.publish(event);
        }
    }

    /// The record that counts on a ref now.
    fn authoritative(&self, attestation_ref: &str) -> Result<Option<Row>, DbError> {
        self.db
            .read(|reader| standing::newest(reader, attestation_ref))
    }
}
