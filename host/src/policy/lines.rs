//! Judged lines, with the bytes they are about.
//!
//! The component says where the values of a line stand; they are looked up here
//! when somebody asks, for most lines nobody does.

use std::borrow::Cow;
use std::sync::Arc;

use super::bindings::exports::ghyll::policy::records as wit;
use super::{Attestation, Cursor, Refusal};

/// A chunk, judged.
#[derive(Debug, Clone)]
pub struct Checked<'a> {
    /// The lines, in order.
    pub lines: Vec<CheckedLine<'a>>,
    /// How many bytes of the chunk are dealt with; the rest goes in front of
    /// the next chunk.
    pub consumed: u64,
    /// Where the file stands now.
    pub cursor: Cursor,
}

impl<'a> Checked<'a> {
    /// What the component says of `chunk`, which stands at `from`.
    pub(super) fn new(checked: wit::Checked, chunk: &'a [u8], from: &Cursor) -> Self {
        let paths: Vec<Arc<str>> = checked.paths.into_iter().map(Arc::from).collect();
        let nowhere: Arc<str> = Arc::from("");
        let path = |at: u32| paths.get(at as usize).cloned();
        let lines = checked.lines.into_iter().map(|line| CheckedLine {
            number: line.number,
            offset: line.offset,
            length: line.length,
            bytes: bytes_of(chunk, line.offset, line.length, from.bytes).unwrap_or_default(),
            content: line.content,
            round: line.round,
            chained: line.chained,
            path: line
                .path
                .and_then(path)
                .unwrap_or_else(|| Arc::clone(&nowhere)),
            problems: line.problems,
            warnings: line.warnings,
        });
        Self {
            lines: lines.collect(),
            consumed: checked.consumed,
            cursor: checked.cursor,
        }
    }
}

fn bytes_of(chunk: &[u8], offset: u64, length: u64, origin: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset.checked_sub(origin)?).ok()?;
    chunk.get(start..)?.get(..usize::try_from(length).ok()?)
}

/// One line, judged.
#[derive(Debug, Clone)]
pub struct CheckedLine<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Where in the file it starts, in bytes.
    pub offset: u64,
    /// Its length in bytes, `\n` included.
    pub length: u64,
    /// Its bytes, `\n` included where there is one; empty for a line too long
    /// to be held.
    pub bytes: &'a [u8],
    /// The round of the record's id, from 1; 0 without a record, and where the
    /// id's round is not written as it is counted.
    pub round: u32,
    /// Whether the line itself carries a chain.
    pub chained: bool,
    /// The path the record belongs to; empty when it belongs to none.
    pub path: Arc<str>,
    /// Everything wrong with the line, first the first. Empty is healthy.
    pub problems: Vec<Refusal>,
    /// What is worth telling but no fault: `attestation-chain-absent`.
    pub warnings: Vec<Refusal>,
    content: wit::Content,
}

impl<'a> CheckedLine<'a> {
    /// Whether the line is a record, healthy or not.
    pub fn is_record(&self) -> bool {
        !matches!(self.content, wit::Content::NoRecord(_))
    }

    /// The record, if the line is one. A numeric timestamp, or an older line's
    /// shorter one, is given with nine digits.
    pub fn rec(&self) -> Option<Attestation> {
        let spans = match &self.content {
            wit::Content::Written(spans) => spans,
            wit::Content::Other(values) => return Some(values.rec.clone()),
            wit::Content::NoRecord(_) => return None,
        };
        let text = |span| Some(self.text(span)?.into_owned());
        Some(Attestation {
            attestation_id: text(spans.attestation_id)?,
            kind: text(spans.kind)?,
            arrow_id: text(spans.arrow_id)?,
            clause_id: text(spans.clause_id)?,
            op_id: text(spans.op_id)?,
            attested_by_role: text(spans.attested_by_role)?,
            source_role: text(spans.source_role)?,
            target_role: text(spans.target_role)?,
            adversary_role: text(spans.adversary_role)?,
            verdict: text(spans.verdict)?,
            reason: text(spans.reason)?,
            timestamp: text(spans.timestamp)?,
            grid_version: self.text(spans.grid_version)?.parse().ok()?,
            pass_id: text(spans.pass_id)?,
            context: text(spans.context)?,
            stratum: text(spans.stratum)?,
            unit: text(spans.unit)?,
            unit_payload_json: text(spans.unit_payload_json)?,
            hint_json: text(spans.hint_json)?,
        })
    }

    /// The record's id; `None` without a record.
    pub fn attestation_id(&self) -> Option<Cow<'_, str>> {
        self.value(|spans| spans.attestation_id, |rec| &rec.attestation_id)
    }

    /// The record's arrow; `None` without a record.
    pub fn arrow_id(&self) -> Option<Cow<'_, str>> {
        self.value(|spans| spans.arrow_id, |rec| &rec.arrow_id)
    }

    /// The grid version the record names; `None` without a record.
    pub fn grid_version(&self) -> Option<u64> {
        match &self.content {
            wit::Content::Written(spans) => self.text(spans.grid_version)?.parse().ok(),
            wit::Content::Other(values) => Some(values.rec.grid_version),
            wit::Content::NoRecord(_) => None,
        }
    }

    /// The JSON text of the hint on record; `None` without a record.
    pub fn hint_json(&self) -> Option<Cow<'_, str>> {
        self.value(|spans| spans.hint_json, |rec| &rec.hint_json)
    }

    /// The ref the record answers: its id without the round. Empty without a
    /// record.
    pub fn attestation_ref(&self) -> Cow<'_, str> {
        match &self.content {
            wit::Content::Written(spans) => self.text(spans.attestation_ref).unwrap_or_default(),
            wit::Content::Other(values) => Cow::Borrowed(&values.attestation_ref),
            wit::Content::NoRecord(_) => Cow::Borrowed(""),
        }
    }

    /// The chain value behind this line, which the next one links to: the one it
    /// states, true or not; for a line that states none, as if it did.
    pub fn chain(&self) -> Cow<'_, str> {
        match &self.content {
            wit::Content::Written(spans) => self.text(spans.chain).unwrap_or_default(),
            wit::Content::Other(values) => Cow::Borrowed(&values.chain),
            wit::Content::NoRecord(chain) => Cow::Borrowed(chain),
        }
    }

    fn value(
        &self,
        span: impl Fn(&wit::Spans) -> wit::Span,
        field: impl Fn(&Attestation) -> &String,
    ) -> Option<Cow<'_, str>> {
        match &self.content {
            wit::Content::Written(spans) => self.text(span(spans)),
            wit::Content::Other(values) => Some(Cow::Borrowed(field(&values.rec))),
            wit::Content::NoRecord(_) => None,
        }
    }

    /// What stands at a span, unescaped.
    fn text(&self, span: wit::Span) -> Option<Cow<'a, str>> {
        let (start, length) = (span.offset as usize, span.length as usize);
        let bytes = self.bytes.get(start..)?.get(..length)?;
        if !bytes.contains(&b'\\') {
            return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        }
        // A ref ends inside its id, so the closing mark need not stand there.
        let quoted = [b"\"", bytes, b"\""].concat();
        serde_json::from_slice(&quoted).ok().map(Cow::Owned)
    }
}
