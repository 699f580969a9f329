//! A session with somebody to ask.
//!
//! The session knows no prompt: it says on the bus what it asks for. Here that
//! is queued and, turn by turn, put to whoever sits there; and only what was
//! said after all that was due had been asked becomes a [`Turn`], the one
//! thing a model takes.

use std::ops::Deref;
use std::sync::Arc;

use super::{DrainError, ModalDriver, OperatorModalPrompt};
use crate::bus::Bus;
use crate::clock::Clock;
use crate::files::disk::Disk;
use crate::policy::Policy;
use crate::project::Project;
use crate::session::{Session, SessionError};
use crate::view::grid_in_force;

/// A session and the queue of what it asks.
pub struct Attended {
    session: Session,
    driver: Arc<ModalDriver>,
}

impl Deref for Attended {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

/// What an operator said, after all that was due had been asked: answered, or
/// put off by who was asked. Only a session gives one, and a model takes
/// nothing else, so nothing reaches it while a question is open.
#[must_use = "nothing was said to a model yet"]
pub struct Turn<'s> {
    session: &'s Session,
    text: String,
}

impl Turn<'_> {
    /// The session it was said in.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// What was said.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Attended {
    /// Starts a session whose questions are queued, those of dead sessions
    /// first.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open(
        project: Project,
        policy: Arc<Policy>,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
    ) -> Result<Self, SessionError> {
        // Before the session, for its start asks again what was pending.
        let driver = Self::driver(&project, &bus)?;
        let session = Session::open(project, policy, clock, bus)?;
        Ok(Self { session, driver })
    }

    /// As [`Self::open`], with the files of the store reached through `disk`.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_on(
        project: Project,
        policy: Arc<Policy>,
        clock: Arc<dyn Clock>,
        bus: Arc<Bus>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, SessionError> {
        let driver = Self::driver(&project, &bus)?;
        let session = Session::open_on(project, policy, clock, bus, disk)?;
        Ok(Self { session, driver })
    }

    fn driver(project: &Project, bus: &Arc<Bus>) -> Result<Arc<ModalDriver>, SessionError> {
        let settings = grid_in_force(project)?.settings;
        Ok(ModalDriver::attach(bus, settings.modal_pending_max_len))
    }

    /// Answers what is pending through `prompt`; see [`ModalDriver::drain_pending`].
    ///
    /// # Errors
    /// `modal-…`; every request not yet answered stays queued.
    pub fn drain_pending(&self, prompt: &mut dyn OperatorModalPrompt) -> Result<(), DrainError> {
        self.driver.drain_pending(&self.session, prompt)
    }

    /// Puts to the operator what is pending, and only then lets `text` be said
    /// to a model; see [`crate::model::Chat`].
    ///
    /// # Errors
    /// As [`Self::drain_pending`]; then there is no turn.
    pub fn turn(
        &self,
        text: &str,
        prompt: &mut dyn OperatorModalPrompt,
    ) -> Result<Turn<'_>, DrainError> {
        self.drain_pending(prompt)?;
        Ok(Turn {
            session: &self.session,
            text: text.to_owned(),
        })
    }
}
