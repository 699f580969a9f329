//! The covered files as they are now, each list of globs looked at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Covers, Memory, Reading, SubjectError, Taken, take};
use crate::grid::Arrow;

/// What a look came to; kept, for several clauses cover the same.
pub type Look = Arc<Result<Taken, SubjectError>>;

/// A project's covered files at one moment.
pub struct Present {
    root: PathBuf,
    /// Whether no memory is relied on.
    every_byte: bool,
    memory: Mutex<Memory>,
    looks: Mutex<HashMap<Vec<String>, Look>>,
}

impl Present {
    /// For a status: a file whose stamp is remembered is not read.
    pub fn remembered(root: &Path, memory: Memory) -> Self {
        Self::new(root, false, memory)
    }

    /// For a gate and for a record: every byte is read.
    pub fn every_byte(root: &Path) -> Self {
        Self::new(root, true, Memory::default())
    }

    fn new(root: &Path, every_byte: bool, memory: Memory) -> Self {
        Self {
            root: root.to_owned(),
            every_byte,
            memory: Mutex::new(memory),
            looks: Mutex::default(),
        }
    }

    /// The files that `globs` match, or why they cannot be listed; `None`
    /// where nothing is covered.
    pub fn of(&self, globs: &[String]) -> Option<Look> {
        if globs.is_empty() {
            return None;
        }
        if let Some(look) = self.looks.lock().get(globs) {
            return Some(Arc::clone(look));
        }
        let look = Arc::new(self.look(globs));
        self.looks.lock().insert(globs.to_vec(), Arc::clone(&look));
        Some(look)
    }

    /// Looks at all that an arrow's clauses cover. It may take a while, so it is
    /// done before anybody is kept out.
    pub fn look_at(&self, arrow: &Arrow) {
        for clause in &arrow.clauses {
            self.of(arrow.covers_of(clause));
        }
    }

    fn look(&self, globs: &[String]) -> Result<Taken, SubjectError> {
        let covers = Covers::parse(globs)?;
        let mut memory = self.memory.lock();
        let reading = if self.every_byte {
            Reading::EveryByte(Some(&mut memory))
        } else {
            Reading::Remembered(&mut memory)
        };
        take(&self.root, &covers, reading)
    }

    /// What was learnt of files, to be remembered.
    pub fn into_memory(self) -> Memory {
        self.memory.into_inner()
    }
}
