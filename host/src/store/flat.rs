//! The flat file, `.ghyll/attestations.jsonl`: every line of the tree again,
//! in order of writing, for people and tools that want one file.
//!
//! An observer: it is written after the tree, and its failure undoes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use super::append::AppendFile;
use super::disk::Disk;
use super::{Observer, Recorded};

/// The flat file below `.ghyll`.
pub const FLAT_FILE: &str = "attestations.jsonl";

/// Appends every recorded line.
pub struct FlatFile {
    disk: Arc<dyn Disk>,
    file: Mutex<Option<AppendFile>>,
}

impl FlatFile {
    /// The flat file below `.ghyll`, opened when it is first needed.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            file: Mutex::new(None),
        }
    }
}

impl FlatFile {
    /// Appends whole lines, durably or not at all.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn append(&self, line: &[u8]) -> std::io::Result<()> {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *slot {
            Some(file) => file,
            empty => {
                let bytes = self.disk.meta(FLAT_FILE)?.map_or(0, |meta| meta.bytes);
                empty.insert(AppendFile::open(self.disk.as_ref(), FLAT_FILE, bytes)?)
            }
        };
        let result = file.append(self.disk.as_ref(), line).map(drop);
        if result.is_err() && file.is_sound() {
            // Somebody else changed it: the next line goes behind what is there.
            *slot = None;
        }
        result
    }
}

impl Observer for FlatFile {
    fn surface(&self) -> &'static str {
        "flat"
    }

    fn recorded(&self, recorded: &Recorded) -> Result<(), String> {
        self.append(recorded.line.as_bytes())
            .map_err(|e| format!("{FLAT_FILE}: {e}"))
    }
}
