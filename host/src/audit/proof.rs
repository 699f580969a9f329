//! What the index can prove of a file that no longer is what it saw.
//!
//! The index is derived and may itself be damaged. Before the tree is accused
//! of having lost something, the index has to show that it really had it: the
//! last record it knows of the file must link to the one before it, by the
//! policy's own hash, and end in the chain it remembers.

use crate::db::{DbError, Head, Reader};
use crate::policy::{Policy, PolicyError};

/// Why no proof could be tried.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The component.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// Whether the index really saw the file up to `head`.
///
/// # Errors
/// Those of the database and the component.
pub fn index_proves(reader: &Reader<'_>, policy: &Policy, head: &Head) -> Result<bool, ProofError> {
    let row = |line: u64| {
        Ok::<_, DbError>(match line {
            0 => None,
            line => reader.row_at(head.file_id, line)?,
        })
    };
    let Some(last) = row(head.lines)? else {
        return Ok(false);
    };
    // What it saw of a file was a record that belongs there.
    let belongs = match policy.encode_path(&last.rec) {
        Ok(place) => place.path == last.path,
        Err(PolicyError::Refused(_)) => false,
        Err(e) => return Err(e.into()),
    };
    if !belongs || last.chain.is_empty() {
        // A line from before chains: its record stands for it.
        return Ok(belongs);
    }
    let before = match head.lines {
        1 => String::new(),
        lines => match row(lines - 1)? {
            Some(before) if !before.chain.is_empty() => before.chain,
            // What stood before it is not in the index, so the link cannot be
            // followed; the record and its chain are all there is.
            _ => return Ok(last.chain == head.chain),
        },
    };
    match policy.encode_line(&last.rec, &before) {
        Ok(line) => Ok(line.chain == last.chain && last.chain == head.chain),
        Err(PolicyError::Refused(_)) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
