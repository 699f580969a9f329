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

use crate::store::append::AppendFile;
use crate::store::disk::{Disk, Kind, read_full};

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
        match disk.meta(ACCEPTED_LOSSES)? {
            None => return Ok(losses),
            Some(meta) if meta.kind != Kind::File => {
                return Err(io::Error::other("not an ordinary file"));
            }
            Some(meta) if meta.bytes > MAX_BYTES => {
                return Err(io::Error::other(format!("longer than {MAX_BYTES} bytes")));
            }
            Some(meta) => {
                let mut bytes = vec![0; meta.bytes as usize];
                let mut file = disk.open_read(ACCEPTED_LOSSES)?;
                let read = read_full(file.as_mut(), 0, &mut bytes)?;
                bytes.truncate(read);
                for (at, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
                    // A partial last line was never in force: what it was
                    // written for comes after it.
                    match serde_json::from_slice::<AcceptedLoss>(line) {
                        Ok(loss) if line.ends_with(b"\n") => losses.add(loss),
                        _ => losses.malformed.push(at as u64 + 1),
                    }
                }
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

    /// Whether exactly this line, with these bytes, was accepted as lost.
    pub fn covers(&self, path: &str, line: u64, bytes: &[u8]) -> bool {
        !self.lines.is_empty() && self.lines.contains(&(path.to_owned(), line, sha256(bytes)))
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
    let end = crate::store::load::last_newline(file.as_mut(), bytes)?;
    if end < bytes {
        file.set_len(end)?;
        file.sync()?;
    }
    Ok(end)
}

/// SHA-256 of `bytes`, hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(digest.len() * 2);
    for byte in digest {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
