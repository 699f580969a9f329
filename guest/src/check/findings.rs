//! What is said of lines, and where a file stands.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::attestation::Attestation;
use crate::canonical::{self, Span};
use crate::error::PolicyError;
use crate::json;

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

/// Where the values of a line stand that is written as
/// [`encode_line`](crate::encode_line) writes it. Each is JSON: escapes and all,
/// without the quotation marks around it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Spans {
    /// The ref the record answers: its id without the round.
    pub attestation_ref: Span,
    /// The line's chain.
    pub chain: Span,
    /// The members before the chain, in the line's order.
    pub members: [Span; canonical::MEMBERS],
}

/// What a line says that is written otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Values {
    /// The fields. Absent ones are empty (`{}` where they are JSON texts). A
    /// numeric or (on a line without chain) shorter timestamp is given with
    /// nine digits.
    pub rec: Attestation,
    /// The ref the record answers: its id without the round.
    pub attestation_ref: String,
    /// The chain value behind this line (what the next one links to); for a
    /// line that carries none, as if it did.
    pub chain: String,
}

/// What a line holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// A record as it is written, healthy or not.
    Written(Spans),
    /// A record written otherwise: an older line, or a rewritten one.
    Other(Box<Values>),
    /// No record; the chain value behind it.
    NoRecord(String),
}

impl Content {
    /// What the line says, given its bytes (those of the chunk, from the line's
    /// offset); `None` for what is no record, or when the bytes are others.
    #[must_use]
    pub fn values(&self, line: &[u8]) -> Option<Values> {
        let spans = match self {
            Self::Written(spans) => spans,
            Self::Other(values) => return Some((**values).clone()),
            Self::NoRecord(_) => return None,
        };
        let mut members = spans.members.iter();
        let mut next = || text(line, *members.next()?);
        Some(Values {
            rec: Attestation {
                attestation_id: next()?,
                kind: next()?,
                arrow_id: next()?,
                clause_id: next()?,
                op_id: next()?,
                attested_by_role: next()?,
                source_role: next()?,
                target_role: next()?,
                adversary_role: next()?,
                verdict: next()?,
                reason: next()?,
                timestamp: next()?,
                grid_version: next()?.parse().ok()?,
                pass_id: next()?,
                context: next()?,
                stratum: next()?,
                unit: next()?,
                unit_payload_json: next()?,
                hint_json: next()?,
            },
            attestation_ref: text(line, spans.attestation_ref)?,
            chain: text(line, spans.chain)?,
        })
    }

    /// The chain value behind the line, given its bytes.
    #[must_use]
    pub fn chain<'a>(&'a self, line: &'a [u8]) -> &'a str {
        match self {
            Self::Written(spans) => slice(line, spans.chain).unwrap_or_default(),
            Self::Other(values) => &values.chain,
            Self::NoRecord(chain) => chain,
        }
    }
}

/// What stands at a span, unescaped.
#[inline(never)]
fn text(line: &[u8], span: Span) -> Option<String> {
    let mut text = String::new();
    json::push_unescaped(&mut text, slice(line, span)?);
    Some(text)
}

fn slice(line: &[u8], span: Span) -> Option<&str> {
    let start = usize::try_from(span.offset).ok()?;
    let bytes = line
        .get(start..)?
        .get(..usize::try_from(span.length).ok()?)?;
    core::str::from_utf8(bytes).ok()
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
    /// What it holds.
    pub content: Content,
    /// The round of the record's id, from 1; 0 without a record, and where the
    /// id's round is not written as it is counted.
    pub round: u32,
    /// Whether the line itself carries a chain.
    pub chained: bool,
    /// The path the record belongs to, by its index in [`Checked::paths`];
    /// `None` when it belongs to none.
    pub path: Option<u32>,
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
    /// The paths that records of theirs belong to.
    pub paths: Vec<String>,
    /// How many bytes of the chunk are dealt with. The rest goes in front of
    /// the next chunk.
    pub consumed: u64,
    /// Where the file stands now.
    pub cursor: Cursor,
}

impl Checked {
    /// The path that a line's record belongs to; empty when it belongs to none.
    #[must_use]
    pub fn path(&self, line: &CheckedLine) -> &str {
        let path = line.path.and_then(|path| usize::try_from(path).ok());
        path.and_then(|path| self.paths.get(path))
            .map_or("", String::as_str)
    }
}
