//! Reading a payload of any JSON, one value at a time.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::error::{PolicyError, clip, codes, quote};

/// What is made of a payload's two fields as they are read.
pub(super) trait Payload {
    /// Takes an inspected location, in order.
    fn location(&mut self, location: &str);
    /// Takes the residue note.
    fn residue(&mut self, residue: &str);
}

/// Reads one object of `inspected` (an array of strings) and `residue` (a
/// string), each at most once.
///
/// # Errors
///
/// `attestation-payload-malformed`.
pub(super) fn any(text: &str, payload: &mut dyn Payload) -> Result<(), PolicyError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    (&mut reader)
        .deserialize_map(PayloadVisitor(payload))
        .and_then(|()| reader.end())
        .map_err(|cause| {
            PolicyError::new(
                codes::ATTESTATION_PAYLOAD_MALFORMED,
                format!("unit-payload-json: {}", clip(cause.to_string())),
            )
        })
}

struct PayloadVisitor<'a>(&'a mut dyn Payload);

impl<'de> Visitor<'de> for PayloadVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of `inspected` and `residue`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut inspected, mut residue) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "inspected" if !inspected => {
                    inspected = true;
                    map.next_value_seed(Locations(self.0))?;
                }
                "residue" if !residue => {
                    residue = true;
                    self.0.residue(&map.next_value::<String>()?);
                }
                "inspected" | "residue" => {
                    return Err(A::Error::custom(format_args!("{} twice", quote(&key))));
                }
                _ => {
                    return Err(A::Error::custom(format_args!(
                        "unknown key {}",
                        quote(&key)
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Reads an array of strings into the payload, one at a time.
struct Locations<'a>(&'a mut dyn Payload);

impl<'de> DeserializeSeed<'de> for Locations<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Locations<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(location) = seq.next_element::<String>()? {
            self.0.location(&location);
        }
        Ok(())
    }
}
