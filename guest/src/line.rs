//! A record as the bytes of its line, and the chain that holds lines together.
//!
//! A line's chain is the SHA-256 of the chain before it and the line's own
//! object, so whoever edits, inserts, reorders or removes a line inside a file
//! would have to rewrite every line behind it.

use alloc::format;
use alloc::string::{String, ToString};

use crate::attestation::Attestation;
use crate::error::{PolicyError, codes, quote};
use crate::hex;
use crate::json;
use crate::records::timestamp_invalid;
use crate::sha256::{self, Digest, Message};
use crate::timestamp;

/// The longest line in bytes, `\n` included.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// The chain before a file's first line.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a line has behind its object's other members: `,"chain":"`, 64 digits,
/// `"}`.
pub(crate) const CHAIN_OPENS: &str = ",\"chain\":\"";
pub(crate) const CHAIN_CLOSES: &str = "\"}";
const CHAIN_MEMBER_BYTES: usize = CHAIN_OPENS.len() + GENESIS.len() + CHAIN_CLOSES.len();

/// A record as the bytes of its line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EncodedLine {
    /// The line with its final `\n`.
    pub line: String,
    /// The line's chain value, the next line's `prev_chain`.
    pub chain: String,
}

/// The record's line. `prev_chain` is the chain of the line before it, or empty
/// (or [`GENESIS`]) at the start of a file.
///
/// Of the record only the timestamp is judged here; ask
/// [`validate`](crate::validate) first.
///
/// # Errors
///
/// `attestation-timestamp-invalid`, `attestation-chain-invalid` (`prev_chain`
/// is no chain), `attestation-line-too-long` (over [`MAX_LINE_BYTES`]).
///
/// ```
/// use ghyll_policy::{Attestation, encode_line};
///
/// let record = Attestation {
///     timestamp: "2026-05-25T10:11:12.123456789Z".into(),
///     ..Default::default()
/// };
/// let first = encode_line(&record, "")?;
/// let second = encode_line(&record, &first.chain)?;
/// assert!(first.line.ends_with(&format!(",\"chain\":\"{}\"}}\n", first.chain)));
/// assert_ne!(first.chain, second.chain);
/// # Ok::<(), ghyll_policy::PolicyError>(())
/// ```
pub fn encode_line(rec: &Attestation, prev_chain: &str) -> Result<EncodedLine, PolicyError> {
    if !timestamp::is_canonical(&rec.timestamp) {
        return Err(timestamp_invalid(&rec.timestamp));
    }
    let prev = match prev_chain {
        "" => GENESIS,
        chain if is_chain(chain.as_bytes()) => chain,
        other => {
            return Err(PolicyError::new(
                codes::ATTESTATION_CHAIN_INVALID,
                format!("{} is not 64 lower-case hex digits", quote(other)),
            ));
        }
    };
    let bytes = object_len(rec, None) - 1 + CHAIN_MEMBER_BYTES + 1;
    if bytes > MAX_LINE_BYTES {
        return Err(PolicyError::new(
            codes::ATTESTATION_LINE_TOO_LONG,
            format!("the line would be {bytes} bytes, at most {MAX_LINE_BYTES}"),
        ));
    }
    let mut line = String::with_capacity(bytes);
    push_object(&mut line, rec, None);
    let chain = link(prev, line.as_bytes());
    // The chain becomes the last member of the object it is the hash of.
    line.pop();
    line.push_str(CHAIN_OPENS);
    line.push_str(&chain);
    line.push_str(CHAIN_CLOSES);
    line.push('\n');
    Ok(EncodedLine { line, chain })
}

/// Whether `bytes` are a chain value: 64 lower-case hex digits.
pub(crate) fn is_chain(bytes: &[u8]) -> bool {
    hex::is_digest(bytes)
}

/// The chain value of `object` behind `prev`.
pub(crate) fn link(prev: &str, object: &[u8]) -> String {
    let digits = hex::hex(&sha256::digest(&Message::behind(prev, object, false)));
    digits.iter().copied().map(char::from).collect()
}

/// Whether `chain` is the chain value of `object`, given without its final
/// brace, behind `prev`.
pub(crate) fn is_link(prev: &str, object: &[u8], chain: &str) -> bool {
    is_written(&sha256::digest(&Message::behind(prev, object, true)), chain)
}

/// Whether `chain` is how a hash is written.
pub(crate) fn is_written(digest: &Digest, chain: &str) -> bool {
    hex::hex(digest) == chain.as_bytes()
}

/// Splits a line (without its `\n`) that reads as if it ended in a chain member
/// into what is before that member, and the chain.
pub(crate) fn split_chain(line: &[u8]) -> Option<(&[u8], &str)> {
    let cut = line.len().checked_sub(CHAIN_MEMBER_BYTES)?;
    let (object, member) = line.split_at_checked(cut)?;
    let chain = member
        .strip_prefix(CHAIN_OPENS.as_bytes())?
        .strip_suffix(CHAIN_CLOSES.as_bytes())?;
    let chain = is_chain(chain).then_some(chain)?;
    Some((object, core::str::from_utf8(chain).ok()?))
}

/// Whether `line` (without its `\n`) is exactly what this record with this
/// chain is written as. `number` is the timestamp, where it stands as a number.
pub(crate) fn is_canonical(
    line: &[u8],
    rec: &Attestation,
    number: Option<&str>,
    chain: &str,
) -> bool {
    let Some((object, stated)) = split_chain(line) else {
        return false;
    };
    // A length that differs saves the writing, and bounds it by the line's.
    if stated != chain || object_len(rec, number) != object.len() + 1 {
        return false;
    }
    let mut canonical = String::with_capacity(object.len() + 1);
    push_object(&mut canonical, rec, number);
    canonical.as_bytes().strip_suffix(b"}") == Some(object)
}

/// A member's value, as it is written.
enum Value<'a> {
    Text(&'a str),
    Number(&'a str),
}

/// The members of a line but for the chain, in contract order.
fn members<'a>(
    rec: &'a Attestation,
    number: Option<&'a str>,
    grid_version: &'a str,
) -> [(&'static str, Value<'a>); 19] {
    use Value::{Number, Text};
    [
        ("attestation_id", Text(&rec.attestation_id)),
        ("kind", Text(&rec.kind)),
        ("arrow_id", Text(&rec.arrow_id)),
        ("clause_id", Text(&rec.clause_id)),
        ("op_id", Text(&rec.op_id)),
        ("attested_by_role", Text(&rec.attested_by_role)),
        ("source_role", Text(&rec.source_role)),
        ("target_role", Text(&rec.target_role)),
        ("adversary_role", Text(&rec.adversary_role)),
        ("verdict", Text(&rec.verdict)),
        ("reason", Text(&rec.reason)),
        ("timestamp", number.map_or(Text(&rec.timestamp), Number)),
        ("grid_version", Number(grid_version)),
        ("pass_id", Text(&rec.pass_id)),
        ("context", Text(&rec.context)),
        ("stratum", Text(&rec.stratum)),
        ("unit", Text(&rec.unit)),
        ("unit_payload_json", Text(&rec.unit_payload_json)),
        ("hint_json", Text(&rec.hint_json)),
    ]
}

/// How many bytes [`push_object`] writes.
fn object_len(rec: &Attestation, number: Option<&str>) -> usize {
    let grid_version = rec.grid_version.to_string();
    members(rec, number, &grid_version)
        .iter()
        .map(|(key, value)| {
            // Two quotes and a colon, and a comma or the opening brace.
            key.len()
                + 4
                + match value {
                    Value::Text(text) => json::string_len(text),
                    Value::Number(number) => number.len(),
                }
        })
        .sum::<usize>()
        + 1
}

/// Appends the record's object, without a chain.
fn push_object(out: &mut String, rec: &Attestation, number: Option<&str>) {
    let grid_version = rec.grid_version.to_string();
    out.push('{');
    for (key, value) in members(rec, number, &grid_version) {
        json::push_key(out, key);
        match value {
            Value::Text(text) => json::push_string(out, text),
            Value::Number(number) => out.push_str(number),
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    fn record() -> Attestation {
        Attestation {
            attestation_id: "att-A-C1-v1".into(),
            kind: "depth-type".into(),
            reason: "tab\tquote\" é \u{1}\u{7f}".into(),
            timestamp: "2026-05-25T10:11:12.123456789Z".into(),
            grid_version: 7,
            unit_payload_json: r#"{"inspected":["a"]}"#.into(),
            hint_json: "{}".into(),
            ..Attestation::default()
        }
    }

    #[test]
    fn the_line_is_as_the_contract_spells_it() {
        let object = concat!(
            r#"{"attestation_id":"att-A-C1-v1","kind":"depth-type","arrow_id":"","clause_id":"","#,
            r#""op_id":"","attested_by_role":"","source_role":"","target_role":"","#,
            r#""adversary_role":"","verdict":"","#,
            r#""reason":"tab\tquote\" é \u0001"#,
            "\u{7f}",
            r#"","timestamp":"2026-05-25T10:11:12.123456789Z","grid_version":7,"pass_id":"","#,
            r#""context":"","stratum":"","unit":"","#,
            r#""unit_payload_json":"{\"inspected\":[\"a\"]}","hint_json":"{}"}"#
        );
        let zeros = "0".repeat(64);
        let mut expected = String::new();
        for byte in Sha256::digest(format!("{zeros}{object}")) {
            expected.push_str(&format!("{byte:02x}"));
        }
        for prev in ["", &zeros] {
            let encoded = encode_line(&record(), prev).unwrap();
            assert_eq!(encoded.chain, expected);
            let (open, _) = object.split_at(object.len() - 1);
            assert_eq!(encoded.line, format!("{open},\"chain\":\"{expected}\"}}\n"));
        }
    }

    #[test]
    fn the_chain_depends_on_what_was_before() {
        let first = encode_line(&record(), "").unwrap();
        let second = encode_line(&record(), &first.chain).unwrap();
        assert_ne!(first.chain, second.chain);
        let (object, chain) = split_chain(second.line.trim_end().as_bytes()).unwrap();
        assert!(is_link(&first.chain, object, chain));
    }

    #[test]
    fn faults() {
        let code = |rec: &Attestation, prev: &str| encode_line(rec, prev).unwrap_err().code;
        for prev in ["0", &"A".repeat(64), &"g".repeat(64), &"0".repeat(65), "é"] {
            assert_eq!(code(&record(), prev), "attestation-chain-invalid");
        }
        let mut rec = record();
        rec.timestamp = "2026-05-25T10:11:12Z".into();
        assert_eq!(code(&rec, ""), "attestation-timestamp-invalid");
    }

    #[test]
    fn a_line_is_at_most_a_mebibyte() {
        let mut rec = record();
        let short = encode_line(&rec, "").unwrap().line.len();
        // Every `\u{1}` is six bytes in the line.
        let room = MAX_LINE_BYTES - short;
        rec.context = format!("{}{}", "\u{1}".repeat(room / 6), "x".repeat(room % 6));
        let line = encode_line(&rec, "").unwrap().line;
        assert_eq!(line.len(), MAX_LINE_BYTES);
        assert_eq!(line.capacity(), MAX_LINE_BYTES);
        rec.context.push('x');
        assert_eq!(
            encode_line(&rec, "").unwrap_err().code,
            "attestation-line-too-long"
        );
    }
}
