//! Whether each line's chain follows from the line before it.
//!
//! A link is judged by what the two lines state, so none has to wait for
//! another: all of a chunk are hashed together at its end.

use alloc::vec::Vec;

use super::findings::CheckedLine;
use crate::error::{PolicyError, codes};
use crate::line;
use crate::sha256::{self, Message};

/// The links of a chunk.
#[derive(Default)]
pub(super) struct Links<'a> {
    /// What is to be hashed.
    messages: Vec<Message<'a>>,
    /// For each, the chain that should come out, and which of the chunk's lines
    /// states it.
    stated: Vec<(&'a str, usize)>,
}

/// The fault of a line that does not follow.
pub(super) fn broken() -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_CHAIN_BROKEN,
        "the line's chain does not follow from the line before it and its own bytes",
    )
}

impl<'a> Links<'a> {
    /// The chunk's line at `line` states `chain` for what it holds, `object`
    /// (but for its final brace), behind `prev`.
    pub(super) fn add(&mut self, line: usize, prev: &str, object: &'a [u8], chain: &'a str) {
        self.messages.push(Message::behind(prev, object, true));
        self.stated.push((chain, line));
    }

    /// Tells each line that does not follow, before all else that is wrong.
    pub(super) fn tell(self, lines: &mut [CheckedLine]) {
        let digests = sha256::digests(&self.messages);
        for (digest, (chain, line)) in digests.iter().zip(self.stated) {
            if !line::is_written(digest, chain)
                && let Some(line) = lines.get_mut(line)
            {
                line.problems.insert(0, broken());
            }
        }
    }
}
