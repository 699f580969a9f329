//! Judging one line: what it says, and all that is wrong with it.
//!
//! What a line shares with the one before it is not judged again.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::findings::{CheckedLine, Content, Spans, Surface, Values};
use super::links::{self, Links};
use super::place::Place;
use crate::attestation::Fields;
use crate::canonical::{self, Canonical, Span};
use crate::error::{PolicyError, codes};
use crate::ids::ref_and_round;
use crate::line::{self, GENESIS};
use crate::parse::Parsed;
use crate::paths;
use crate::records::{self, Known, Leniency, Limits};

// Members of a line, by their places.
const OP_ID: usize = 4;
const ATTESTED_BY_ROLE: usize = 5;
const ADVERSARY_ROLE: usize = 8;
const GRID_VERSION: usize = 12;
const STRATUM: usize = 15;

/// What came of the line before, where it was as written.
struct Before<'a> {
    line: Canonical<'a>,
    path: Option<u32>,
    known: Known,
}

/// Judges line after line of one chunk.
pub(super) struct Judge<'a> {
    surface: &'a Surface,
    limits: &'a Limits,
    /// The chain behind the line before.
    chain: Cow<'a, str>,
    paths: Vec<String>,
    before: Option<Before<'a>>,
    links: Links<'a>,
    /// For what is escaped.
    buffer: String,
}

impl<'a> Judge<'a> {
    /// A judge of lines that begin behind `chain`.
    pub(super) fn new(surface: &'a Surface, limits: &'a Limits, chain: &'a str) -> Self {
        Self {
            surface,
            limits,
            chain: Cow::Borrowed(chain),
            paths: Vec::new(),
            before: None,
            links: Links::default(),
            buffer: String::new(),
        }
    }

    /// The chain behind the line before.
    pub(super) fn chain(&self) -> &str {
        &self.chain
    }

    /// Says what only the whole chunk shows of its lines; returns the paths that
    /// their records belong to.
    pub(super) fn finish(self, lines: &mut [CheckedLine]) -> Vec<String> {
        self.links.tell(lines);
        self.paths
    }

    /// Judges one line, given without its `\n`.
    pub(super) fn line(&mut self, text: &'a [u8], place: Place) -> CheckedLine {
        match canonical::read(text) {
            Some(line) => self.written(line, place),
            None => {
                self.before = None;
                let checked = self.other(text, place);
                self.chain = Cow::Owned(checked.content.chain(text).into());
                checked
            }
        }
    }

    fn prev(&self) -> &str {
        match &*self.chain {
            "" => GENESIS,
            chain => chain,
        }
    }

    /// Whether the chain at the end of a line does not follow.
    fn breaks(&self, object: &[u8], chain: &str) -> Option<PolicyError> {
        let holds = match self.surface {
            Surface::Tree(_) => line::is_link(self.prev(), object, chain),
            Surface::Flat => true,
        };
        (!holds).then(links::broken)
    }

    /// The path's index among those told of.
    fn path_index(&mut self, rec: &Fields<'_>) -> Option<u32> {
        // Why a record belongs nowhere is among its faults.
        let path = paths::encode(rec).ok()?.path;
        if self.paths.last() != Some(&path) {
            self.paths.push(path);
        }
        u32::try_from(self.paths.len().checked_sub(1)?).ok()
    }

    /// Whether a record of that path is out of place here.
    fn misplaced(&self, index: Option<u32>) -> Option<PolicyError> {
        let path = self.paths.get(usize::try_from(index?).ok()?)?;
        match self.surface {
            Surface::Tree(here) if here != path => Some(PolicyError::new(
                codes::ATTESTATION_PATH_MISMATCH,
                format!("the record belongs into {path}"),
            )),
            _ => None,
        }
    }

    /// A line as it is written: only the record on it can be at fault.
    fn written(&mut self, line: Canonical<'a>, place: Place) -> CheckedLine {
        let index = place.index;
        let mut checked = place.with(Content::Written(Spans::default()));
        checked.chained = true;
        if let Surface::Tree(_) = self.surface {
            let prev = match &*self.chain {
                "" => GENESIS,
                chain => chain,
            };
            self.links.add(index, prev, line.object, line.chain);
        }
        let mut known = Known::default();
        let mut path = None;
        if let Some(before) = &self.before {
            let agrees = |first, last| before.line.agrees(&line, first, last);
            let roles = agrees(ATTESTED_BY_ROLE, ADVERSARY_ROLE);
            known.op_id = before.known.op_id && agrees(OP_ID, OP_ID);
            known.roles = before.known.roles && roles;
            // The path is made of the roles and what is from the grid's version
            // to the stratum.
            if roles && agrees(GRID_VERSION, STRATUM) {
                path = Some(before.path);
            }
        }
        let mut buffer = core::mem::take(&mut self.buffer);
        let fields = line.fields(&mut buffer);
        let faults = records::faults(&fields, self.limits, Leniency::default(), known);
        checked.path = path.unwrap_or_else(|| self.path_index(&fields));
        let (attestation_ref, round) = ref_and_round(fields.attestation_id);
        checked.round = round;
        let behind_ref = fields.attestation_id.len() - attestation_ref.len();
        self.buffer = buffer;
        known = match faults.is_empty() {
            true => Known {
                op_id: true,
                roles: true,
            },
            false => known,
        };
        checked.problems.extend(faults);
        checked.problems.extend(self.misplaced(checked.path));
        let [id, ..] = line.spans;
        checked.content = Content::Written(Spans {
            attestation_ref: Span {
                offset: id.offset,
                // A round is digits, which are never escaped.
                length: id
                    .length
                    .saturating_sub(u32::try_from(behind_ref).unwrap_or(0)),
            },
            chain: line.chain_span,
            members: line.spans,
        });
        self.before = Some(Before {
            line,
            path: checked.path,
            known,
        });
        self.chain = Cow::Borrowed(line.chain);
        checked
    }

    /// A line written otherwise, or no record at all.
    fn other(&mut self, text: &[u8], place: Place) -> CheckedLine {
        let parsed = Parsed::read(text);
        let ends_in = line::split_chain(text);
        // What the line says its chain is, wherever it says so.
        let stated = ends_in.map(|(_, chain)| chain).or_else(|| {
            let chain = parsed.as_ref().ok()?.chain.as_deref()?;
            line::is_chain(chain.as_bytes()).then_some(chain)
        });
        let chain = stated.map_or_else(|| line::link(self.prev(), text), String::from);
        let mut problems = Vec::new();
        if let Some(why) = malformed(text, &parsed) {
            problems.push(PolicyError::new(codes::ATTESTATION_LINE_MALFORMED, why));
        }
        problems.extend(ends_in.and_then(|(object, stated)| self.breaks(object, stated)));
        let Ok(parsed) = parsed else {
            let mut checked = place.without_record(chain, problems);
            checked.chained = ends_in.is_some();
            return checked;
        };
        self.record(parsed, place.without_record(chain, problems))
    }

    /// Judges the record on a line written otherwise.
    fn record(&mut self, parsed: Parsed, mut checked: CheckedLine) -> CheckedLine {
        checked.chained = parsed.chain.is_some();
        if !checked.chained {
            checked.warnings.push(PolicyError::new(
                codes::ATTESTATION_CHAIN_ABSENT,
                "the line carries no chain",
            ));
        }
        let leniency = parsed.leniency(*self.surface == Surface::Flat);
        let fields = Fields::from(&parsed.rec);
        let faults = records::faults(&fields, self.limits, leniency, Known::default());
        checked.problems.extend(faults);
        checked.path = self.path_index(&fields);
        checked.problems.extend(self.misplaced(checked.path));
        let (attestation_ref, round) = ref_and_round(&parsed.rec.attestation_id);
        checked.round = round;
        let chain = core::mem::replace(&mut checked.content, Content::NoRecord(String::new()));
        checked.content = Content::Other(Box::new(Values {
            attestation_ref: attestation_ref.into(),
            chain: chain.chain(&[]).into(),
            rec: parsed.rec,
        }));
        checked
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attestation::Attestation;
    use crate::check::{Cursor, check_lines};
    use crate::line::encode_line;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    /// A line of a good record, its texts often troublesome.
    fn written() -> impl Strategy<Value = String> {
        let text = || {
            prop_oneof![
                4 => select(&["", "A", "analyst", "init", "{}", "{\"residue\":\"x\"}", "x.r02", "é\u{7f}"][..])
                    .prop_map(String::from),
                1 => "[\"\\\\{}:,/\n\t\u{1}\u{7f}\u{2028}é.a]{0,12}",
            ]
        };
        (prop::collection::vec(text(), 17), any::<u64>()).prop_map(|(texts, grid_version)| {
            let mut texts = texts.into_iter();
            let mut next = || texts.next().unwrap_or_default();
            let rec = Attestation {
                attestation_id: next(),
                kind: next(),
                arrow_id: next(),
                clause_id: next(),
                op_id: next(),
                attested_by_role: next(),
                source_role: next(),
                target_role: next(),
                adversary_role: next(),
                verdict: next(),
                reason: next(),
                timestamp: "2026-05-25T10:11:12.123456789Z".into(),
                grid_version,
                pass_id: next(),
                context: next(),
                stratum: next(),
                unit: next(),
                unit_payload_json: next(),
                hint_json: next(),
            };
            encode_line(&rec, "").unwrap().line.trim_end().to_string()
        })
    }

    /// Bytes that mean something in a line, and some that do not.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            select(
                &[
                    "\"",
                    "\\",
                    "\\u0041",
                    "\\u001f",
                    "\\u001F",
                    "\\n",
                    "\\/",
                    " ",
                    "0",
                    "00",
                    "1e3",
                    "-1",
                    "{",
                    "}",
                    ",",
                    "\"kind\":",
                    "null",
                    "\u{e9}",
                    "\\ud800",
                    "\"chain\":\"\""
                ][..]
            )
            .prop_map(|text| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..4),
        ]
    }

    /// Judges the line both ways, if it can be read the fast way.
    fn both_ways(line: &[u8]) -> Result<bool, TestCaseError> {
        let limits = Limits::default();
        for surface in [
            Surface::Flat,
            Surface::Tree("v1/A/stratum-A/A__A/A.jsonl".into()),
        ] {
            let judge = || Judge::new(&surface, &limits, "");
            let place = || Place {
                index: 0,
                number: 1,
                offset: 0,
                length: 0,
            };
            let mut slow = judge();
            let other = slow.other(line, place());
            let Some(read) = canonical::read(line) else {
                // What is missed is slow, never wrong; but nothing is missed.
                let text = core::str::from_utf8(line).unwrap_or_default();
                let written = other.chained
                    && text.contains("\"timestamp\":\"")
                    && other
                        .problems
                        .iter()
                        .all(|p| p.code != codes::ATTESTATION_LINE_MALFORMED);
                prop_assert!(!written, "{text}");
                return Ok(false);
            };
            let mut fast = judge();
            let mut written = fast.written(read, place());
            prop_assert_eq!(fast.chain(), other.content.chain(line));
            let paths = fast.finish(core::slice::from_mut(&mut written));
            prop_assert_eq!(paths, slow.paths);
            let values = written.content.values(line);
            prop_assert!(values.is_some());
            written.content = Content::Other(Box::new(values.unwrap_or_default()));
            prop_assert_eq!(written, other);
        }
        Ok(true)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_written_line_is_read_fast_and_alike(line in written()) {
            prop_assert!(both_ways(line.as_bytes())?);
        }

        #[test]
        fn a_changed_line_is_read_alike(
            line in written(),
            changes in prop::collection::vec((any::<Index>(), any::<Index>(), piece()), 1..3),
        ) {
            let mut line = line.into_bytes();
            for (at, length, piece) in changes {
                let at = at.index(line.len() + 1);
                let end = at + length.index(3.min(line.len() - at) + 1);
                line.splice(at..end, piece);
            }
            both_ways(&line)?;
        }

        #[test]
        fn what_a_line_shares_with_the_one_before_is_judged_alike(
            lines in prop::collection::vec((written(), 0..4usize), 1..5),
        ) {
            let text: String = lines.iter().flat_map(|(line, times)| vec![line.clone() + "\n"; *times]).collect();
            let limits = Limits::default();
            let whole = check_lines(text.as_bytes(), &Cursor::start(Surface::Flat), &limits);
            for (line, alone) in whole.lines.iter().zip(text.split_inclusive('\n')) {
                let once = check_lines(alone.as_bytes(), &Cursor::start(Surface::Flat), &limits);
                prop_assert_eq!(&once.lines[0].problems, &line.problems);
                prop_assert_eq!(once.path(&once.lines[0]), whole.path(line));
            }
        }
    }
}
