//! Losses an operator accepted: what `engine rebuild-index --accept-loss` went
//! on without, in `.ghyll/accepted-losses.jsonl`.
//!
//! Accepting a loss is itself an act somebody answers for, so it is written
//! down, durably and before it takes effect, in a file that only grows. Later
//! starts pass over exactly what is named there, and every verification shows
//! it again; it is never forgotten.

use std::collections::HashSet;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::append::AppendFile;
use crate::files::bounded::{ReadError, read_below};
use crate::files::disk::{Disk, last_newline};

/// The file below `.ghyll`.
pub const ACCEPTED_LOSSES: &str = "accepted-losses.jsonl";
/// The most that is read of it; a line a loss, and losses are rare.
const MAX_BYTES: u64 = 64 << 20;

/// One loss, accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedLoss {
    /// When, RFC 3339.
    pub at: String,
    /// By whom; empty if nobody was named.
    pub op_id: String,
    /// What was wrong, by its public code.
    pub code: String,
    /// Where, below `.ghyll`.
    pub path: String,
    /// In which line; 0 where no line applies.
    pub line: u64,
    /// SHA-256 of that line's bytes, hex; empty where no line applies.
    pub sha256: String,
    /// In words.
    pub message: String,
}

/// All losses accepted in a project.
#[derive(Debug, Default)]
pub struct AcceptedLosses {
    /// In order of acceptance.
    pub all: Vec<AcceptedLoss>,
    /// Lines of the file that are no accepted loss.
    pub malformed: Vec<u64>,
    lines: HashSet<(String, u64, String)>,
}

impl AcceptedLosses {
    /// Reads what was accepted; nothing if there is no file.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(disk: &dyn Disk) -> io::Result<Self> {
        let mut losses = Self::default();
        let bytes = read_below(disk, ACCEPTED_LOSSES, MAX_BYTES).map_err(|e| match e {
            ReadError::Io(e) => e,
            other => io::Error::other(other),
        })?;
        let bytes = bytes.unwrap_or_default();
        for (at, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
            // A partial last line was never in force: what it was
            // written for comes after it.
            match serde_json::from_slice::<AcceptedLoss>(line) {
                Ok(loss) if line.ends_with(b"\n") => losses.add(loss),
                _ => losses.malformed.push(at as u64 + 1),
            }
        }
        Ok(losses)
    }

    fn add(&mut self, loss: AcceptedLoss) {
        if !loss.sha256.is_empty() {
            let key = (loss.path.clone(), loss.line, loss.sha256.clone());
            self.lines.insert(key);
        }
        self.all.push(loss);
    }

    /// Whether exactly this line, by the SHA-256 of its bytes, was accepted as
    /// lost.
    pub fn has(&self, path: &str, line: u64, sha256: &str) -> bool {
        self.lines
            .contains(&(path.to_owned(), line, sha256.to_owned()))
    }

    /// As [`Self::has`], by the digest itself.
    pub fn has_digest(&self, path: &str, line: u64, digest: &[u8; 32]) -> bool {
        !self.lines.is_empty() && self.has(path, line, &hex(digest))
    }

    /// Adds losses to the file, durably.
    ///
    /// # Errors
    /// Those of the disk; then none of them is in force.
    pub fn accept(disk: &dyn Disk, losses: &[AcceptedLoss]) -> io::Result<()> {
        let mut lines = Vec::new();
        for loss in losses {
            serde_json::to_writer(&mut lines, loss).map_err(io::Error::other)?;
            lines.push(b'\n');
        }
        let mut bytes = disk.meta(ACCEPTED_LOSSES)?.map_or(0, |meta| meta.bytes);
        if bytes > 0 {
            bytes = cut_partial(disk, bytes)?;
        }
        AppendFile::open(disk, ACCEPTED_LOSSES, bytes)?.append(disk, &lines)?;
        Ok(())
    }
}

/// Cuts off a last line that a crash left unfinished.
fn cut_partial(disk: &dyn Disk, bytes: u64) -> io::Result<u64> {
    let mut file = disk.open_append(ACCEPTED_LOSSES)?;
    let end = last_newline(file.as_mut(), bytes)?;
    if end < bytes {
        file.set_len(end)?;
        file.sync()?;
    }
    Ok(end)
}

/// SHA-256 of `bytes`, hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes).into())
}

/// A digest as text.
pub fn hex(digest: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0'));
    digest
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
