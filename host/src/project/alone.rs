//! Where a file system has no locks, one session has the project to itself.
//!
//! It makes `.ghyll/sessions/alone`, which must not be there, when it first
//! writes, and takes it away when it ends. No lock falls with a process that is
//! killed, and a pid says nothing of another machine that shares the folder: so
//! who finds the file does not judge whether its maker lives. It says who that
//! is, and a person decides.

use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, Metadata};
use parking_lot::Mutex;

use super::lock::{open_own, read_holder, same, sign};
use super::presence::{make_dir, sessions};
use super::{Holder, Project, ProjectError, SESSIONS_DIR};
use crate::files::{PathContext, Way};
use crate::runtime::signals;

/// The file's name among those of the sessions.
pub(super) const ALONE: &str = "alone";
const BELOW: &str = "sessions/alone";
const PAUSE: Duration = Duration::from_millis(1);

/// What a project and its clones know of having it to themselves.
#[derive(Debug, Default)]
pub(super) struct Alone(Mutex<Option<Held>>);

#[derive(Debug)]
struct Held {
    file: File,
    ghyll: Dir,
    /// The sessions of this process.
    sessions: Vec<String>,
    /// Whether one of its threads writes.
    writing: bool,
}

/// This thread writes, and no other of the process.
#[derive(Debug)]
pub(super) struct Writing(Arc<Alone>);

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(held) = &mut *self.0.0.lock() {
            held.writing = false;
        }
    }
}

impl Alone {
    /// Takes the project, if this process does not have it, and waits until no
    /// other thread writes.
    ///
    /// # Errors
    /// `session-locked` when the deadline is over, and what keeps the file from
    /// being made.
    pub(super) fn write(
        self: &Arc<Self>,
        project: &Project,
        what: &str,
        deadline: Instant,
    ) -> Result<Writing, ProjectError> {
        loop {
            let mut state = self.0.lock();
            if state.is_none() {
                *state = Held::take(project)?;
                if state.is_some() {
                    let alone = Arc::downgrade(self);
                    signals::before_exit(move || {
                        Weak::upgrade(&alone).iter().for_each(|a| a.end())
                    });
                }
            }
            match &mut *state {
                Some(held) if !held.writing => {
                    held.still_ours(project)?;
                    held.writing = true;
                    return Ok(Writing(Arc::clone(self)));
                }
                Some(_) if Instant::now() >= deadline => {
                    return Err(ProjectError::Locked(Some(Holder::of_this(what))));
                }
                None if Instant::now() >= deadline => return Err(taken(project)),
                _ => {}
            }
            drop(state);
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether this process has the project to itself.
    pub(super) fn is_held(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Whether the project is still its.
    ///
    /// # Errors
    /// `session-lock-lost`.
    pub(super) fn still_ours(&self, project: &Project) -> Result<(), ProjectError> {
        self.0
            .lock()
            .as_ref()
            .map_or(Ok(()), |held| held.still_ours(project))
    }

    /// A session of this process begins; false where it has not the project.
    pub(super) fn begin(&self, session: &str) -> bool {
        let mut state = self.0.lock();
        let held = state.as_mut();
        held.map(|held| held.sessions.push(session.to_owned()))
            .is_some()
    }

    /// A session of this process is over.
    pub(super) fn over(&self, session: &str) {
        if let Some(held) = &mut *self.0.lock() {
            held.sessions.retain(|id| id != session);
        }
    }

    /// Whether a session lives: one of this process if it has the project, else
    /// whoever does may be it.
    pub(super) fn lives(&self, project: &Project, session: &str) -> bool {
        match &*self.0.lock() {
            Some(held) => session == ALONE || held.sessions.iter().any(|id| id == session),
            None => sessions(project).is_ok_and(|dir| dir.symlink_metadata(ALONE).is_ok()),
        }
    }

    fn end(&self) {
        if let Some(held) = self.0.lock().take() {
            held.end();
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.end();
    }
}

impl Held {
    /// `None` if another has it.
    fn take(project: &Project) -> Result<Option<Self>, ProjectError> {
        make_dir(project)?;
        let file = match open_own(project, BELOW, Way::CreateNew) {
            Ok(file) => file,
            Err(ProjectError::Io(e)) if e.source.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        sign(&file, "");
        Ok(Some(Self {
            file,
            ghyll: project.ghyll.try_clone().context(project.path_of(BELOW))?,
            sessions: Vec::new(),
            writing: false,
        }))
    }

    fn still_ours(&self, project: &Project) -> Result<(), ProjectError> {
        let path = project.path_of(BELOW);
        let own = Metadata::from_file(&self.file).context(&path)?;
        same(&path, self.ghyll.symlink_metadata(BELOW), &own)
    }

    fn end(self) {
        let own = Metadata::from_file(&self.file);
        let named = self.ghyll.symlink_metadata(BELOW);
        if own.is_ok_and(|own| same(BELOW.as_ref(), named, &own).is_ok()) {
            let _ = self.ghyll.remove_file(BELOW);
        }
    }
}

/// Who has the project, as it says itself.
pub(super) fn holder(project: &Project) -> Option<Holder> {
    let file = open_own(project, BELOW, Way::Read).ok()?;
    Some(read_holder(file).unwrap_or_default())
}

fn taken(project: &Project) -> ProjectError {
    ProjectError::TakenAlone {
        path: project.path_of(SESSIONS_DIR).join(ALONE),
        holder: holder(project).unwrap_or_default(),
    }
}
