//! Reading a line that is as `encode-line` writes it, copying nothing.
//!
//! Nearly every line is. Each part of it is compared with what must stand
//! there, so whatever is read here reads the same to any reader of JSON, and
//! writing the record again would give these bytes; nothing else needs to be
//! shown. Any other line is `None` here, for whatever reason, and is read by
//! `parse`.

use alloc::string::String;

use crate::attestation::Fields;
use crate::json;
use crate::line;
use crate::scan::same;

/// The members of a line but for the chain.
pub(crate) const MEMBERS: usize = 19;

/// A value's bytes, from the start of the line: inside its quotation marks, or
/// a number's digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where they start.
    pub offset: u32,
    /// How many there are.
    pub length: u32,
}

/// A line as it is written.
#[derive(Clone, Copy)]
pub(crate) struct Canonical<'a> {
    /// Its members' values in contract order, escaped as they stand there.
    pub(crate) raw: [&'a str; MEMBERS],
    /// The same, by where they stand.
    pub(crate) spans: [Span; MEMBERS],
    /// Which of them have escapes, by bits.
    escaped: u32,
    pub(crate) grid_version: u64,
    /// What the chain is over, without its final brace.
    pub(crate) object: &'a [u8],
    pub(crate) chain: &'a str,
    pub(crate) chain_span: Span,
}

/// Goes over a line from left to right.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: Canonical<'a>,
}

impl<'a> Reader<'a> {
    #[inline(always)]
    fn rest(&self) -> Option<&'a [u8]> {
        self.text.as_bytes().get(self.at..)
    }

    /// Goes over what must stand here. Compared in words: the compiler knows
    /// every `N`, and all are over eight.
    #[inline(always)]
    fn expect<const N: usize>(&mut self, wanted: &[u8; N]) -> Option<()> {
        let here = self.rest()?.first_chunk::<N>()?;
        let words = |bytes: &[u8; N]| bytes.as_chunks::<8>().0.len();
        let mut same = true;
        for (one, other) in here
            .as_chunks::<8>()
            .0
            .iter()
            .zip(wanted.as_chunks::<8>().0)
        {
            same &= u64::from_ne_bytes(*one) == u64::from_ne_bytes(*other);
        }
        if words(wanted) * 8 < N {
            same &= here.last_chunk::<8>()? == wanted.last_chunk::<8>()?;
        }
        self.at += N;
        same.then_some(())
    }

    /// Takes a value of `length` bytes.
    #[inline(always)]
    fn take(&mut self, member: usize, length: usize) -> Option<&'a str> {
        let value = self.text.get(self.at..self.at + length)?;
        *self.line.raw.get_mut(member)? = value;
        *self.line.spans.get_mut(member)? = Span {
            offset: u32::try_from(self.at).ok()?,
            length: u32::try_from(length).ok()?,
        };
        self.at += length;
        Some(value)
    }

    /// Takes a string up to its closing quotation mark. Called for each of
    /// eighteen, which together would be a tenth of the component.
    #[inline(never)]
    fn string(&mut self, member: usize) -> Option<()> {
        let (length, escaped) = json::string_end(self.rest()?)?;
        self.take(member, length)?;
        self.line.escaped |= u32::from(escaped) << member;
        Some(())
    }

    /// Takes a number as it is written: no sign, no leading zero.
    fn number(&mut self, member: usize) -> Option<u64> {
        let rest = self.rest()?;
        let length = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let digits = self.take(member, length)?;
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        digits.parse().ok()
    }
}

/// Reads a line (without its `\n`).
pub(crate) fn read(text: &[u8]) -> Option<Canonical<'_>> {
    let (object, chain) = line::split_chain(text)?;
    let chain_at = object.len() + line::CHAIN_OPENS.len();
    let mut reader = Reader {
        text: core::str::from_utf8(object).ok()?,
        at: 0,
        line: Canonical {
            raw: [""; MEMBERS],
            spans: [Span::default(); MEMBERS],
            escaped: 0,
            grid_version: 0,
            object,
            chain,
            chain_span: Span {
                offset: u32::try_from(chain_at).ok()?,
                length: u32::try_from(chain.len()).ok()?,
            },
        },
    };
    macro_rules! strings {
        ($($member:literal $opening:literal)*) => {
            $(
                reader.expect($opening)?;
                reader.string($member)?;
            )*
        };
    }
    strings! {
        0 b"{\"attestation_id\":\""
        1 b"\",\"kind\":\""
        2 b"\",\"arrow_id\":\""
        3 b"\",\"clause_id\":\""
        4 b"\",\"op_id\":\""
        5 b"\",\"attested_by_role\":\""
        6 b"\",\"source_role\":\""
        7 b"\",\"target_role\":\""
        8 b"\",\"adversary_role\":\""
        9 b"\",\"verdict\":\""
        10 b"\",\"reason\":\""
        11 b"\",\"timestamp\":\""
    }
    reader.expect(b"\",\"grid_version\":")?;
    reader.line.grid_version = reader.number(12)?;
    strings! {
        13 b",\"pass_id\":\""
        14 b"\",\"context\":\""
        15 b"\",\"stratum\":\""
        16 b"\",\"unit\":\""
        17 b"\",\"unit_payload_json\":\""
        18 b"\",\"hint_json\":\""
    }
    (reader.rest()? == b"\"").then_some(reader.line)
}

impl<'a> Canonical<'a> {
    /// Whether both have the same text for the members from `first` to `last`.
    pub(crate) fn agrees(&self, other: &Self, first: usize, last: usize) -> bool {
        match (self.between(first, last), other.between(first, last)) {
            (Some(one), Some(other)) => same(one, other),
            _ => false,
        }
    }

    /// From one value to another: all that is between them is the same in any
    /// line, and no value can contain it.
    fn between(&self, first: usize, last: usize) -> Option<&'a [u8]> {
        let (first, last) = (self.spans.get(first)?, self.spans.get(last)?);
        let start = usize::try_from(first.offset).ok()?;
        let end = usize::try_from(last.offset.checked_add(last.length)?).ok()?;
        self.object.get(start..end)
    }

    /// The record, with what is escaped written out in `buffer`.
    pub(crate) fn fields<'b>(&self, buffer: &'b mut String) -> Fields<'b>
    where
        'a: 'b,
    {
        buffer.clear();
        let mut places = [(0, 0); MEMBERS];
        let mut bits = self.escaped;
        while bits != 0 {
            let member = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let (Some(place), Some(raw)) = (places.get_mut(member), self.raw.get(member)) else {
                continue;
            };
            let start = buffer.len();
            json::push_unescaped(buffer, raw);
            *place = (start, buffer.len());
        }
        let buffer: &'b str = buffer;
        let mut members = self
            .raw
            .iter()
            .zip(places)
            .enumerate()
            .map(|(at, (raw, place))| {
                if self.escaped & 1 << at == 0 {
                    *raw
                } else {
                    buffer.get(place.0..place.1).unwrap_or_default()
                }
            });
        let mut next = || members.next().unwrap_or_default();
        let mut fields = Fields {
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
            timestamp: next(),
            grid_version: self.grid_version,
            ..Fields::default()
        };
        let _digits = next();
        fields.pass_id = next();
        fields.context = next();
        fields.stratum = next();
        fields.unit = next();
        fields.unit_payload_json = next();
        fields.hint_json = next();
        fields
    }
}
