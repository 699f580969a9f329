//! Reading a hint of any JSON object.
//!
//! Keys nobody knows are let be, for an older or newer host may have put them
//! there; those that are known have one meaning, once.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::hint::{Hint, MAX_HINT_LOCATIONS};
use super::keys::{Given, Key};
use crate::error::clip;

/// Reads any JSON object as a hint.
pub(super) fn read_any(text: &str) -> Result<(Hint, Given), String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    (&mut reader)
        .deserialize_map(HintVisitor)
        .and_then(|read| reader.end().map(|()| read))
        .map_err(|cause| clip(cause.to_string()))
}

struct HintVisitor;

impl<'de> Visitor<'de> for HintVisitor {
    type Value = (Hint, Given);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut hint = Hint::default();
        let mut given = Given::default();
        while let Some(text) = map.next_key_seed(KeyReader)? {
            let Some(key) = Key::parse(&text) else {
                // Ignored values are skipped without recursion.
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if given.add(key) {
                return Err(A::Error::custom(format_args!("{text} twice")));
            }
            let text = match key {
                Key::ArrowId => &mut hint.arrow_id,
                Key::ClauseId => &mut hint.clause_id,
                Key::Concept => &mut hint.concept,
                Key::AttestationRef => &mut hint.attestation_ref,
                Key::Subject => &mut hint.subject,
                Key::Basis => &mut hint.basis,
                Key::Residue => &mut hint.residue,
                Key::Locations => {
                    hint.locations = map.next_value_seed(LocationsReader)?;
                    continue;
                }
            };
            *text = map.next_value()?;
        }
        Ok((hint, given))
    }
}

/// Reads a key as bytes: one that is no text (half of a surrogate pair) is none
/// that is known.
struct KeyReader;

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for KeyReader {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(core::str::from_utf8(bytes).unwrap_or_default().into())
    }
}

/// Reads an array of strings, no more than there may be.
struct LocationsReader;

impl<'de> DeserializeSeed<'de> for LocationsReader {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for LocationsReader {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<String>, A::Error> {
        let mut locations = Vec::new();
        while let Some(location) = seq.next_element()? {
            if locations.len() == MAX_HINT_LOCATIONS {
                return Err(A::Error::custom(format_args!(
                    "more than {MAX_HINT_LOCATIONS} locations"
                )));
            }
            locations.push(location);
        }
        Ok(locations)
    }
}
