//! The flat file, `.ghyll/attestations.jsonl`: every line of the tree again,
//! in order of writing, for people and tools that want one file.
//!
//! An observer: it is written after the tree, and its failure undoes nothing.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Observer, Recorded};
use crate::files::append::AppendFile;
use crate::files::disk::Disk;
use crate::files::replace::replace;

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
    /// Puts whole lines in the place of all that is there.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn replace(&self, lines: &[u8]) -> std::io::Result<()> {
        let mut slot = self.file.lock();
        *slot = None;
        replace(self.disk.as_ref(), FLAT_FILE, lines)
    }

    /// Appends whole lines, durably or not at all.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn append(&self, line: &[u8]) -> std::io::Result<()> {
        let mut slot = self.file.lock();
        let bytes = self.disk.meta(FLAT_FILE)?.map_or(0, |meta| meta.bytes);
        if slot
            .as_ref()
            .is_some_and(|file| file.is_sound() && file.len() != bytes)
        {
            // Another process wrote to it.
            *slot = None;
        }
        let file = match &mut *slot {
            Some(file) => file,
            empty => empty.insert(AppendFile::open(self.disk.as_ref(), FLAT_FILE, bytes)?),
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

/// Blank lines and remarks, which projects from before the tree may have.
pub(super) fn is_remark(line: &[u8]) -> bool {
    line.trim_ascii().is_empty() || line.trim_ascii_start().starts_with(b"#")
}

/// Whether a line is one of those that git puts around what it could not merge.
pub(super) fn is_conflict_mark(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    [b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"]
        .iter()
        .any(|mark| {
            line.strip_prefix(*mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
        })
}

/// What to say of it.
pub(super) const CONFLICT: &str = "a mark that git left around what it could not merge";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_remarks_are_told_from_lines() {
        for mark in [
            "<<<<<<< HEAD\n",
            "=======\n",
            "||||||| base\r\n",
            ">>>>>>> theirs",
        ] {
            assert!(is_conflict_mark(mark.as_bytes()), "{mark}");
        }
        for line in ["", "\n", "{}\n", "========\n", "<<<<<<\n", " =======\n"] {
            assert!(!is_conflict_mark(line.as_bytes()), "{line}");
        }
        assert!(is_remark(b" \n") && is_remark(b"  # before\n") && !is_remark(b"{} #\n"));
    }
}
