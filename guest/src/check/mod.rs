//! Judging the lines of a file, chunk by chunk.
//!
//! An auditor must be able to trust a verdict on a file of any size made in a
//! small, fixed amount of memory, so the work comes in chunks, and where a file
//! is cut into chunks must not matter. One bad line must not hide what is true
//! of the others, so each line is judged against the chain its predecessor
//! *states*, and all that is wrong with it is told.
//!
//! A healthy line costs one look at its bytes and one hash of them. What is said
//! of it is where its values stand, for whoever asks has the bytes; what it
//! shares with the line before it is not judged again.

mod findings;
mod judge;
mod links;
mod place;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{PolicyError, codes};
use crate::line::MAX_LINE_BYTES;
use crate::records::Limits;
use crate::scan::find;
use judge::Judge;
use place::Position;

pub use crate::canonical::Span;
pub use findings::{Checked, CheckedLine, Content, Cursor, Spans, Surface, Values};

/// How much of a chunk one call looks at, in bytes.
pub const MAX_CHUNK_BYTES: usize = 4 << 20;

/// How many lines one call judges. A chunk of records has fewer; this keeps the
/// findings on a chunk of nothing but line ends small.
pub const MAX_CHUNK_LINES: usize = 8192;

/// Judges the whole lines of a chunk, at most [`MAX_CHUNK_BYTES`] and
/// [`MAX_CHUNK_LINES`] of it a call. A chunk cut anywhere, even inside a
/// character, comes to the same judgement.
///
/// The host's loop: fill a buffer from the file, call, drop what was
/// `consumed`, go on from the new cursor; set `at_end` in the calls whose chunk
/// reaches the end of the file, and stop once such a call (there must be one,
/// if only with an empty chunk) has consumed all of it. A call that consumes
/// nothing of a chunk not at the end needs more bytes, never more than
/// [`MAX_LINE_BYTES`] together.
///
/// A line longer than that is `attestation-line-malformed`; it is consumed in
/// pieces as they come ([`Cursor::skipped`]) and reported when its end is seen,
/// with the chain as it was before it. Bytes behind the last `\n` of the file
/// are reported as a line with `attestation-line-partial`; they are consumed,
/// but the new cursor stands in front of them.
///
/// Codes beyond those of [`validate`](crate::validate):
/// `attestation-line-malformed`, `attestation-line-partial`,
/// `attestation-chain-broken`, `attestation-path-mismatch`.
///
/// ```
/// use ghyll_policy::{Cursor, Limits, Surface, check_lines};
///
/// let cursor = Cursor::start(Surface::Flat);
/// let checked = check_lines(b"{\"kind\":1}\n{\"ki", &cursor, &Limits::default());
/// assert_eq!(checked.consumed, 11);
/// assert_eq!(checked.lines[0].problems[0].code, "attestation-line-malformed");
/// ```
#[must_use]
pub fn check_lines(chunk: &[u8], cursor: &Cursor, limits: &Limits) -> Checked {
    let window = chunk.get(..MAX_CHUNK_BYTES).unwrap_or(chunk);
    let mut judge = Judge::new(&cursor.surface, limits, &cursor.chain);
    let mut at = Position {
        bytes: cursor.bytes,
        lines: cursor.lines,
        skipped: cursor.skipped,
        at_end: cursor.at_end && window.len() == chunk.len(),
    };
    let mut rest = window;
    // Most lines are longer.
    let mut lines = Vec::with_capacity(window.len() / 512);
    while lines.len() < MAX_CHUNK_LINES {
        let Some(end) = find(rest, b'\n') else {
            rest = unfinished(rest, &mut at, judge.chain(), &mut lines);
            break;
        };
        let (text, with_end) = rest.split_at(end);
        let (_, behind) = with_end.split_at(1);
        rest = behind;
        let added = bytes(end + 1);
        let length = added.saturating_add(at.skipped);
        let place = at.next_line(lines.len(), length);
        let stands = bytes(window.len() - end - 1 - rest.len());
        let found = at.skipped == 0 && place.offset.checked_sub(cursor.bytes) == Some(stands);
        let mut checked = if length > bytes(MAX_LINE_BYTES) {
            place.without_record(judge.chain().into(), vec![too_long()])
        } else {
            judge.line(text, place)
        };
        // A cursor at the end of its numbers tells no place to look.
        if !found && let Some(values) = checked.content.values(text) {
            checked.content = Content::Other(Box::new(values));
        }
        lines.push(checked);
        at.bytes = at.bytes.saturating_add(added);
        at.lines = at.lines.saturating_add(1);
        at.skipped = 0;
    }
    let chain = String::from(judge.chain());
    let paths = judge.finish(&mut lines);
    Checked {
        lines,
        paths,
        consumed: bytes(window.len() - rest.len()),
        cursor: Cursor {
            surface: cursor.surface.clone(),
            bytes: at.bytes,
            lines: at.lines,
            chain,
            skipped: at.skipped,
            at_end: cursor.at_end,
        },
    }
}

/// Deals with the bytes of a line whose end is not in the chunk; returns those
/// left for the next one.
fn unfinished<'a>(
    text: &'a [u8],
    at: &mut Position,
    chain: &str,
    lines: &mut Vec<CheckedLine>,
) -> &'a [u8] {
    let length = bytes(text.len()).saturating_add(at.skipped);
    // Its `\n`, wherever it is, comes on top.
    let overlong = length >= bytes(MAX_LINE_BYTES);
    if at.at_end {
        if length > 0 {
            let place = at.next_line(lines.len(), length);
            let mut problems = vec![PolicyError::new(
                codes::ATTESTATION_LINE_PARTIAL,
                format!("the file ends {length} bytes into a line"),
            )];
            if overlong {
                problems.push(too_long());
            }
            at.bytes = place.offset;
            at.skipped = 0;
            lines.push(place.without_record(chain.into(), problems));
        }
        &[]
    } else if overlong {
        at.bytes = at.bytes.saturating_add(bytes(text.len()));
        at.skipped = length;
        &[]
    } else {
        text
    }
}

fn too_long() -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_LINE_MALFORMED,
        format!("longer than {MAX_LINE_BYTES} bytes"),
    )
}

fn bytes(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
