//! Judging the lines of a file, chunk by chunk.
//!
//! An auditor must be able to trust a verdict on a file of any size made in a
//! small, fixed amount of memory, so the work comes in chunks, and where a file
//! is cut into chunks must not matter. One bad line must not hide what is true
//! of the others, so each line is judged against the chain its predecessor
//! *states*, and all that is wrong with it is told.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{PolicyError, codes};
use crate::line::{self, GENESIS, MAX_LINE_BYTES};
use crate::parse::Parsed;
use crate::paths::encode_attestation_path;
use crate::records::{self, Attestation, Limits};

/// How much of a chunk one call looks at, in bytes.
pub const MAX_CHUNK_BYTES: usize = 4 << 20;

/// How many lines one call judges. A chunk of records has fewer; this keeps the
/// findings on a chunk of nothing but line ends small.
pub const MAX_CHUNK_LINES: usize = 8192;

/// Which file the lines come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Surface {
    /// A file of the audit tree, by its path below the root: records must
    /// belong there and each line must chain to the one before it.
    Tree(String),
    /// The flat aggregate: lines of many files, in order of writing; each
    /// chains to its predecessor in its own file, so links are not checked, and
    /// pass-less legacy lines are at home.
    Flat,
}

/// Where a file stands: all that is needed to go on checking it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Which file it is.
    pub surface: Surface,
    /// Bytes checked so far.
    pub bytes: u64,
    /// Lines checked so far.
    pub lines: u64,
    /// The last line's chain value; empty means the start of a file.
    pub chain: String,
    /// Of `bytes`, how many belong to a line that is already longer than a line
    /// may be and whose end has not been seen; else 0.
    pub skipped: u64,
    /// Whether the chunk ends where the file ends.
    pub at_end: bool,
}

impl Cursor {
    /// The start of a file.
    #[must_use]
    pub fn start(surface: Surface) -> Self {
        Self {
            surface,
            bytes: 0,
            lines: 0,
            chain: String::new(),
            skipped: 0,
            at_end: false,
        }
    }
}

/// One line, judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckedLine {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Where in the file it starts, in bytes.
    pub offset: u64,
    /// Its length in bytes, `\n` included.
    pub length: u64,
    /// The fields, when the line is a record at all. A numeric or (on a line
    /// without chain) shorter timestamp is given with nine digits.
    pub rec: Option<Attestation>,
    /// The ref the record answers: its id without the round. Empty without a
    /// record.
    pub attestation_ref: String,
    /// The round of its id, from 1; 0 without a record.
    pub round: u32,
    /// The chain value behind this line (what the next one links to); for a
    /// line that carries none, as if it did.
    pub chain: String,
    /// Whether the line itself carries a chain.
    pub chained: bool,
    /// The path the record belongs to; empty when it belongs to none.
    pub path: String,
    /// Everything wrong with the line, first the first. Empty is healthy.
    pub problems: Vec<PolicyError>,
    /// What is worth telling but no fault: `attestation-chain-absent`.
    pub warnings: Vec<PolicyError>,
}

/// A chunk, judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Checked {
    /// The lines, in order.
    pub lines: Vec<CheckedLine>,
    /// How many bytes of the chunk are dealt with. The rest goes in front of
    /// the next chunk.
    pub consumed: u64,
    /// Where the file stands now.
    pub cursor: Cursor,
}

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
    let at_end = cursor.at_end && window.len() == chunk.len();
    let mut cursor = cursor.clone();
    let mut rest = window;
    let mut lines = Vec::new();
    while lines.len() < MAX_CHUNK_LINES {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            rest = unfinished(rest, at_end, &mut cursor, &mut lines);
            break;
        };
        let (text, with_end) = rest.split_at(end);
        let (_, behind) = with_end.split_at(1);
        rest = behind;
        let added = bytes(end + 1);
        let length = added.saturating_add(cursor.skipped);
        let place = Place::of_next_line(&cursor, length);
        let checked = if length > bytes(MAX_LINE_BYTES) {
            place.without_record(cursor.chain.clone(), vec![too_long()])
        } else {
            judge(text, place, &cursor, limits)
        };
        cursor.bytes = cursor.bytes.saturating_add(added);
        cursor.lines = cursor.lines.saturating_add(1);
        cursor.skipped = 0;
        cursor.chain.clone_from(&checked.chain);
        lines.push(checked);
    }
    Checked {
        consumed: bytes(window.len() - rest.len()),
        lines,
        cursor,
    }
}

/// Deals with the bytes of a line whose end is not in the chunk; returns those
/// left for the next one.
fn unfinished<'a>(
    text: &'a [u8],
    at_end: bool,
    cursor: &mut Cursor,
    lines: &mut Vec<CheckedLine>,
) -> &'a [u8] {
    let length = bytes(text.len()).saturating_add(cursor.skipped);
    // Its `\n`, wherever it is, comes on top.
    let overlong = length >= bytes(MAX_LINE_BYTES);
    if at_end {
        if length > 0 {
            let place = Place::of_next_line(cursor, length);
            let mut problems = vec![PolicyError::new(
                codes::ATTESTATION_LINE_PARTIAL,
                format!("the file ends {length} bytes into a line"),
            )];
            if overlong {
                problems.push(too_long());
            }
            cursor.bytes = place.offset;
            cursor.skipped = 0;
            lines.push(place.without_record(cursor.chain.clone(), problems));
        }
        &[]
    } else if overlong {
        cursor.bytes = cursor.bytes.saturating_add(bytes(text.len()));
        cursor.skipped = length;
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

/// Where a line stands in its file.
struct Place {
    number: u64,
    offset: u64,
    length: u64,
}

impl Place {
    fn of_next_line(cursor: &Cursor, length: u64) -> Self {
        Self {
            number: cursor.lines.saturating_add(1),
            offset: cursor.bytes.saturating_sub(cursor.skipped),
            length,
        }
    }

    /// A line there that is no record.
    fn without_record(self, chain: String, problems: Vec<PolicyError>) -> CheckedLine {
        CheckedLine {
            number: self.number,
            offset: self.offset,
            length: self.length,
            rec: None,
            attestation_ref: String::new(),
            round: 0,
            chain,
            chained: false,
            path: String::new(),
            problems,
            warnings: Vec::new(),
        }
    }
}

/// Judges one line, given without its `\n`.
fn judge(text: &[u8], place: Place, cursor: &Cursor, limits: &Limits) -> CheckedLine {
    let prev = match cursor.chain.as_str() {
        "" => GENESIS,
        chain => chain,
    };
    let parsed = Parsed::read(text);
    let mut checked = place.without_record(String::new(), Vec::new());
    let ends_in = line::split_chain(text);
    // What the line says its chain is, wherever it says so.
    let stated = ends_in.map(|(_, chain)| chain).or_else(|| {
        let chain = parsed.as_ref().ok()?.chain.as_deref()?;
        line::is_chain(chain.as_bytes()).then_some(chain)
    });
    checked.chain = stated.map_or_else(|| line::link(prev, &[text]), String::from);
    checked.chained = match &parsed {
        Ok(parsed) => parsed.chain.is_some(),
        Err(_) => ends_in.is_some(),
    };
    if let Some(why) = malformed(text, &parsed) {
        checked
            .problems
            .push(PolicyError::new(codes::ATTESTATION_LINE_MALFORMED, why));
    }
    if let (Surface::Tree(_), Some((object, stated))) = (&cursor.surface, ends_in)
        && line::link(prev, &[object, b"}"]) != stated
    {
        checked.problems.push(PolicyError::new(
            codes::ATTESTATION_CHAIN_BROKEN,
            "the line's chain does not follow from the line before it and its own bytes",
        ));
    }
    if let Ok(parsed) = parsed {
        record(parsed, &cursor.surface, limits, &mut checked);
    }
    checked
}

/// Why a line is no record, or a chained one not in the one way to write it.
fn malformed(text: &[u8], parsed: &Result<Parsed, String>) -> Option<String> {
    match parsed {
        Err(why) => Some(why.clone()),
        Ok(parsed) => {
            let chain = parsed.chain.as_deref()?;
            let canonical = line::is_canonical(text, &parsed.rec, parsed.number.as_deref(), chain);
            (!canonical).then(|| "a line with a chain, but not as its record is written".into())
        }
    }
}

/// Judges the record on a line.
fn record(parsed: Parsed, surface: &Surface, limits: &Limits, checked: &mut CheckedLine) {
    if parsed.chain.is_none() {
        checked.warnings.push(PolicyError::new(
            codes::ATTESTATION_CHAIN_ABSENT,
            "the line carries no chain",
        ));
    }
    let leniency = parsed.leniency(*surface == Surface::Flat);
    checked
        .problems
        .extend(records::faults(&parsed.rec, limits, leniency));
    // Why a record belongs nowhere is among its faults already.
    if let Ok(encoded) = encode_attestation_path(&parsed.rec) {
        checked.path = encoded.path;
    }
    if let Surface::Tree(path) = surface
        && !checked.path.is_empty()
        && checked.path != *path
    {
        checked.problems.push(PolicyError::new(
            codes::ATTESTATION_PATH_MISMATCH,
            format!("the record belongs into {}", checked.path),
        ));
    }
    let (attestation_ref, round) = line::ref_and_round(&parsed.rec.attestation_id);
    checked.attestation_ref = attestation_ref.into();
    checked.round = round;
    checked.rec = Some(parsed.rec);
}
