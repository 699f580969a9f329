//! Reading a file of lines through the policy, in bounded memory.
//!
//! Everyone who reads records goes through here: chunks are handed to the
//! component, which says what each line is and where the file stands.

use std::io;

use super::disk::{DiskFile, read_full};
use crate::engine::{Head, Row};
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
    pub checked: CheckedLine,
    /// Its bytes, `\n` included where there is one; empty for a line that is
    /// too long to be held.
    pub bytes: &'a [u8],
}

impl Line<'_> {
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
    loop {
        let kept = buffer.len();
        buffer.resize(kept + CHUNK, 0);
        let room = buffer.get_mut(kept..).unwrap_or_default();
        let read = read_full(file, offset, room).map_err(io)?;
        buffer.truncate(kept + read);
        offset += read as u64;
        cursor.at_end = read < CHUNK;
        loop {
            let checked = policy
                .check_lines(&buffer, &cursor, limits)
                .map_err(|e| E::from(ReadError::Policy(e)))?;
            let origin = offset - buffer.len() as u64;
            for line in checked.lines {
                let bytes = line
                    .offset
                    .checked_sub(origin)
                    .and_then(|from| buffer.get(from as usize..(from + line.length) as usize))
                    .unwrap_or_default();
                each(Line {
                    checked: line,
                    bytes,
                })?;
            }
            let at_end = cursor.at_end;
            cursor = checked.cursor;
            cursor.at_end = at_end;
            let consumed = (checked.consumed as usize).min(buffer.len());
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
pub fn row(line: CheckedLine, path: &str) -> Option<Row> {
    Some(Row {
        rec: line.rec?,
        chain: if line.chained {
            line.chain
        } else {
            String::new()
        },
        attestation_ref: line.attestation_ref,
        round: line.round,
        path: path.to_owned(),
        line: line.number,
        offset: line.offset,
        length: line.length,
    })
}
