//! Reading one line back into a record, however it is written.
//!
//! What is not as `encode-line` writes it comes here: older lines, rewritten
//! ones, and what is no record at all.
//!
//! Written by hand rather than derived: a line with a key twice, or with a key
//! nobody knows, could read differently to two readers, and so is no record. A
//! value of the wrong type is refused at its first byte, so nesting costs
//! nothing.

use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::attestation::Attestation;
use crate::error::{clip, quote};
use crate::records::Leniency;
use crate::timestamp;

/// A key of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    AttestationId,
    Kind,
    ArrowId,
    ClauseId,
    OpId,
    AttestedByRole,
    SourceRole,
    TargetRole,
    AdversaryRole,
    Verdict,
    Reason,
    Timestamp,
    GridVersion,
    PassId,
    Context,
    Stratum,
    Unit,
    UnitPayloadJson,
    HintJson,
    Chain,
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "attestation_id" => Self::AttestationId,
            "kind" => Self::Kind,
            "arrow_id" => Self::ArrowId,
            "clause_id" => Self::ClauseId,
            "op_id" => Self::OpId,
            "attested_by_role" => Self::AttestedByRole,
            "source_role" => Self::SourceRole,
            "target_role" => Self::TargetRole,
            "adversary_role" => Self::AdversaryRole,
            "verdict" => Self::Verdict,
            "reason" => Self::Reason,
            "timestamp" => Self::Timestamp,
            "grid_version" => Self::GridVersion,
            "pass_id" => Self::PassId,
            "context" => Self::Context,
            "stratum" => Self::Stratum,
            "unit" => Self::Unit,
            "unit_payload_json" => Self::UnitPayloadJson,
            "hint_json" => Self::HintJson,
            "chain" => Self::Chain,
            _ => return None,
        })
    }
}

/// A set of keys.
#[derive(Debug, Clone, Copy, Default)]
struct Keys(u32);

impl Keys {
    fn has(self, key: Key) -> bool {
        self.0 & (1 << key as u32) != 0
    }

    /// Adds a key; whether it was new.
    fn add(&mut self, key: Key) -> bool {
        let new = !self.has(key);
        self.0 |= 1 << key as u32;
        new
    }
}

/// A line that is a record.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// The fields. Absent ones are empty, or `{}` where they are JSON texts.
    pub(crate) rec: Attestation,
    /// The timestamp's text where it was a number, which reads the same
    /// wherever it is written; `rec` has it as RFC 3339.
    pub(crate) number: Option<String>,
    /// The chain the line carries, whatever it says.
    pub(crate) chain: Option<String>,
    /// Which keys the line has.
    seen: Keys,
}

impl Parsed {
    /// Reads a line without its `\n`. The error says why it is no record.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        if line.is_empty() {
            return Err("empty line".into());
        }
        if line.ends_with(b"\r") {
            return Err("carriage return at the end of the line".into());
        }
        let text = core::str::from_utf8(line).map_err(|cause| cause.to_string())?;
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut parsed = reader
            .deserialize_map(LineVisitor)
            .and_then(|parsed| reader.end().map(|()| parsed))
            .map_err(|cause| clip(cause.to_string()))?;
        for (key, text) in [
            (Key::UnitPayloadJson, &mut parsed.rec.unit_payload_json),
            (Key::HintJson, &mut parsed.rec.hint_json),
        ] {
            if !parsed.seen.has(key) {
                *text = "{}".into();
            }
        }
        if parsed.chain.is_none()
            && let Some(filled) = timestamp::canonical(&parsed.rec.timestamp)
        {
            parsed.rec.timestamp = filled;
        }
        Ok(parsed)
    }

    /// What this line is forgiven for its age.
    pub(crate) fn leniency(&self, pass_less_at_home: bool) -> Leniency {
        Leniency {
            unit_absent: !self.seen.has(Key::Unit),
            version_absent: !self.seen.has(Key::GridVersion),
            pass_less: pass_less_at_home && self.is_pass_less(),
        }
    }

    /// Whether the line dates from before passes.
    fn is_pass_less(&self) -> bool {
        self.chain.is_none() && self.rec.pass_id.is_empty()
    }

    /// Where a key's text goes; `None` for the two that are not just text.
    fn text(&mut self, key: Key) -> Option<&mut String> {
        let rec = &mut self.rec;
        Some(match key {
            Key::AttestationId => &mut rec.attestation_id,
            Key::Kind => &mut rec.kind,
            Key::ArrowId => &mut rec.arrow_id,
            Key::ClauseId => &mut rec.clause_id,
            Key::OpId => &mut rec.op_id,
            Key::AttestedByRole => &mut rec.attested_by_role,
            Key::SourceRole => &mut rec.source_role,
            Key::TargetRole => &mut rec.target_role,
            Key::AdversaryRole => &mut rec.adversary_role,
            Key::Verdict => &mut rec.verdict,
            Key::Reason => &mut rec.reason,
            Key::PassId => &mut rec.pass_id,
            Key::Context => &mut rec.context,
            Key::Stratum => &mut rec.stratum,
            Key::Unit => &mut rec.unit,
            Key::UnitPayloadJson => &mut rec.unit_payload_json,
            Key::HintJson => &mut rec.hint_json,
            Key::Chain => self.chain.get_or_insert_default(),
            Key::Timestamp | Key::GridVersion => return None,
        })
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let mut parsed = Parsed::default();
        while let Some(key) = map.next_key_seed(KeyReader)? {
            if !parsed.seen.add(key) {
                return Err(A::Error::custom(format_args!("key {key:?} twice")));
            }
            match key {
                Key::Timestamp => {
                    (parsed.rec.timestamp, parsed.number) = map.next_value_seed(Timestamp)?;
                }
                Key::GridVersion => parsed.rec.grid_version = map.next_value()?,
                key => {
                    let value = map.next_value()?;
                    if let Some(text) = parsed.text(key) {
                        *text = value;
                    }
                }
            }
        }
        Ok(parsed)
    }
}

/// Reads a key.
struct KeyReader;

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyReader {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key of a record")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Key, E> {
        Key::parse(text).ok_or_else(|| E::custom(format_args!("unknown key {}", quote(text))))
    }
}

/// A timestamp as text, and, where it stands as a number, that number's text.
struct Timestamp;

impl<'de> DeserializeSeed<'de> for Timestamp {
    type Value = (String, Option<String>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Timestamp {
    type Value = (String, Option<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a timestamp, as text or as an integer of Unix nanoseconds")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok((text.into(), None))
    }

    fn visit_u64<E: Error>(self, nanos: u64) -> Result<Self::Value, E> {
        Ok((timestamp::from_unix_nanos(nanos), Some(nanos.to_string())))
    }

    fn visit_i64<E: Error>(self, nanos: i64) -> Result<Self::Value, E> {
        Ok((
            timestamp::from_signed_unix_nanos(nanos),
            Some(nanos.to_string()),
        ))
    }
}
