//! Reading one line back into a record.
//!
//! Written by hand rather than derived: a line with a key twice, or with a key
//! nobody knows, could read differently to two readers, and so is no record. A
//! value of the wrong type is refused at its first byte, so nesting costs
//! nothing.

use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::error::quote;
use crate::records::{Attestation, Leniency, clip};
use crate::timestamp;

/// The keys of a line. The order is only that of the bits in [`Parsed::seen`].
const KEYS: [&str; 20] = [
    "attestation_id",
    "kind",
    "arrow_id",
    "clause_id",
    "op_id",
    "attested_by_role",
    "source_role",
    "target_role",
    "adversary_role",
    "verdict",
    "reason",
    "timestamp",
    "grid_version",
    "pass_id",
    "context",
    "stratum",
    "unit",
    "unit_payload_json",
    "hint_json",
    "chain",
];

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
    /// Which of [`KEYS`] the line has.
    seen: u32,
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
            ("unit_payload_json", &mut parsed.rec.unit_payload_json),
            ("hint_json", &mut parsed.rec.hint_json),
        ] {
            if !has(parsed.seen, key) {
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
            unit_absent: !has(self.seen, "unit"),
            pass_less: pass_less_at_home && self.is_pass_less(),
        }
    }

    /// Whether the line dates from before passes.
    fn is_pass_less(&self) -> bool {
        self.chain.is_none() && self.rec.pass_id.is_empty()
    }

    fn text(&mut self, key: &str) -> Option<&mut String> {
        let rec = &mut self.rec;
        Some(match key {
            "attestation_id" => &mut rec.attestation_id,
            "kind" => &mut rec.kind,
            "arrow_id" => &mut rec.arrow_id,
            "clause_id" => &mut rec.clause_id,
            "op_id" => &mut rec.op_id,
            "attested_by_role" => &mut rec.attested_by_role,
            "source_role" => &mut rec.source_role,
            "target_role" => &mut rec.target_role,
            "adversary_role" => &mut rec.adversary_role,
            "verdict" => &mut rec.verdict,
            "reason" => &mut rec.reason,
            "pass_id" => &mut rec.pass_id,
            "context" => &mut rec.context,
            "stratum" => &mut rec.stratum,
            "unit" => &mut rec.unit,
            "unit_payload_json" => &mut rec.unit_payload_json,
            "hint_json" => &mut rec.hint_json,
            "chain" => self.chain.get_or_insert_default(),
            _ => return None,
        })
    }
}

fn bit(key: &str) -> u32 {
    KEYS.iter()
        .position(|known| *known == key)
        .map_or(0, |at| 1 << at)
}

fn has(seen: u32, key: &str) -> bool {
    seen & bit(key) != 0
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let mut parsed = Parsed::default();
        while let Some(key) = map.next_key_seed(Key)? {
            if has(parsed.seen, key) {
                return Err(A::Error::custom(format_args!("key `{key}` twice")));
            }
            parsed.seen |= bit(key);
            match key {
                "timestamp" => {
                    let stamp = map.next_value_seed(Timestamp)?;
                    (parsed.rec.timestamp, parsed.number) = stamp;
                }
                "grid_version" => parsed.rec.grid_version = map.next_value()?,
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

/// A key as one of [`KEYS`].
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key of a record")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        KEYS.into_iter()
            .find(|known| *known == text)
            .ok_or_else(|| E::custom(format_args!("unknown key {}", quote(text))))
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
