//! Reading a file of lines through the policy, in bounded memory.
//!
//! Everyone who reads records goes through here: chunks are handed to the
//! component, which says what each line is and where the file stands.

use std::io;

use sha2::{Digest, Sha256};

use crate::db::{Head, Row};
use crate::files::disk::{DiskFile, read_full};
use crate::policy::{CheckedLine, Cursor, Limits, Policy, PolicyError, Surface};

/// How much is read, and judged in one call, at a time.
const CHUNK: usize = 1 << 20;

/// Why a file could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The component.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// A line with its bytes.
#[derive(Debug)]
pub struct Line<'a> {
    /// What the policy says of it.
    pub checked: CheckedLine<'a>,
    /// Its bytes, `\n` included where there is one; empty for a line that is
    /// too long to be held.
    pub bytes: &'a [u8],
    /// The SHA-256 of a line too long to be held.
    long: Option<[u8; 32]>,
}

impl Line<'_> {
    /// The SHA-256 of its bytes.
    pub fn digest(&self) -> [u8; 32] {
        self.long
            .unwrap_or_else(|| Sha256::digest(self.bytes).into())
    }

    /// Whether it is the unfinished last line of its file.
    pub fn is_partial(&self) -> bool {
        self.checked
            .problems
            .iter()
            .any(|p| p.code == "attestation-line-partial")
    }
}

/// Where reading starts: behind what `head` covers.
pub fn cursor(surface: Surface, head: &Head) -> Cursor {
    Cursor {
        surface,
        bytes: head.bytes,
        lines: head.lines,
        chain: head.chain.clone(),
        skipped: 0,
        at_end: false,
    }
}

/// Tells `each` of every line behind `from`, and returns where the whole lines
/// end.
///
/// # Errors
/// Those of the file, the component and `each`.
pub fn read_lines<E: From<ReadError>>(
    policy: &Policy,
    limits: Limits,
    file: &mut dyn DiskFile,
    from: Cursor,
    each: &mut dyn FnMut(Line<'_>) -> Result<(), E>,
) -> Result<Cursor, E> {
    let io = |e: io::Error| E::from(ReadError::Io(e));
    let mut cursor = from;
    let mut offset = cursor.bytes;
    let mut buffer = Vec::new();
    let mut long = Sha256::new();
    // One byte more than there is, to see the end with the first read.
    let rest = file.meta().map_err(io)?.bytes.saturating_sub(offset);
    let mut chunk = usize::try_from(rest).map_or(CHUNK, |rest| CHUNK.min(rest.saturating_add(1)));
    loop {
        let kept = buffer.len();
        buffer.resize(kept + chunk, 0);
        let room = buffer.get_mut(kept..).unwrap_or_default();
        let read = read_full(file, offset, room).map_err(io)?;
        buffer.truncate(kept + read);
        offset += read as u64;
        cursor.at_end = read < chunk;
        chunk = CHUNK;
        loop {
            let checked = policy
                .check_lines(&buffer, &cursor, limits)
                .map_err(|e| E::from(ReadError::Policy(e)))?;
            let origin = offset - buffer.len() as u64;
            for line in checked.lines {
                // One that began before what is held: the rest of it ends here.
                let digest = (line.offset < origin).then(|| {
                    let end = (line.offset + line.length).saturating_sub(origin) as usize;
                    long.update(buffer.get(..end).unwrap_or_default());
                    std::mem::take(&mut long).finalize().into()
                });
                each(Line {
                    bytes: line.bytes,
                    checked: line,
                    long: digest,
                })?;
            }
            let at_end = cursor.at_end;
            cursor = checked.cursor;
            cursor.at_end = at_end;
            let consumed = (checked.consumed as usize).min(buffer.len());
            let skipped = usize::try_from(cursor.skipped).unwrap_or(usize::MAX);
            let piece = consumed.saturating_sub(skipped)..consumed;
            long.update(buffer.get(piece).unwrap_or_default());
            buffer.drain(..consumed);
            if consumed == 0 || buffer.is_empty() {
                break;
            }
        }
        if cursor.at_end {
            return Ok(cursor);
        }
    }
}

/// The index row of a line that is a record; `None` if it is none.
pub fn row(line: &CheckedLine<'_>, path: &str) -> Option<Row> {
    Some(Row {
        rec: line.rec()?,
        chain: if line.chained {
            line.chain().into_owned()
        } else {
            String::new()
        },
        attestation_ref: line.attestation_ref().into_owned(),
        round: line.round,
        path: path.to_owned(),
        line: line.number,
        offset: line.offset,
        length: line.length,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::disk::{CapDisk, Disk};

    #[test]
    fn a_line_of_any_length_is_known_by_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let root =
            cap_std::fs::Dir::open_ambient_dir(dir.path(), cap_std::ambient_authority()).unwrap();
        let policy = Policy::load().unwrap();
        let mut lines: Vec<Vec<u8>> = vec![b"{}\n".to_vec()];
        for length in [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 3, 3 * CHUNK + 7] {
            let mut line: Vec<u8> = (0..length).map(|at| b'a' + (at % 23) as u8).collect();
            line.push(b'\n');
            lines.extend([line, b"{ }\n".to_vec()]);
        }
        fs::write(dir.path().join("f"), lines.concat()).unwrap();
        let mut file = CapDisk::new(&root).unwrap().open_read("f").unwrap();
        let limits = Limits {
            max_residue_bytes: 0,
        };
        let mut digests = Vec::new();
        let start = cursor(Surface::Flat, &Head::default());
        read_lines(&policy, limits, file.as_mut(), start, &mut |line| {
            digests.push(line.digest());
            Ok::<_, ReadError>(())
        })
        .unwrap();
        let expected: Vec<[u8; 32]> = lines.iter().map(|l| Sha256::digest(l).into()).collect();
        assert_eq!(digests, expected);
    }
}
