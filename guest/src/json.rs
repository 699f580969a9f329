//! Writing JSON strings, canonically.
//!
//! The bytes of a line are hashed, so there must be exactly one way to write a
//! string: what JSON requires to be escaped is escaped, nothing further. The
//! length is known before anything is written: a string of control characters
//! grows sixfold, and growing a buffer by doubling would need twice that again.

use alloc::string::String;

/// The short escape of `byte`, if JSON has one.
const fn short_escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        0x08 => "\\b",
        0x09 => "\\t",
        0x0a => "\\n",
        0x0c => "\\f",
        0x0d => "\\r",
        _ => return None,
    })
}

/// How many bytes escaping adds to each byte. A table, as every byte of every
/// line is looked up in it.
static ESCAPE_ADDS: [u8; 256] = {
    let mut adds = [0; 256];
    let mut byte = 0u8;
    while byte < 0x20 {
        adds[byte as usize] = if short_escape(byte).is_some() { 1 } else { 5 };
        byte += 1;
    }
    adds[b'"' as usize] = 1;
    adds[b'\\' as usize] = 1;
    adds
};

/// How many bytes escaping adds to `byte`.
fn escape_adds(byte: u8) -> usize {
    ESCAPE_ADDS
        .get(usize::from(byte))
        .map_or(0, |adds| usize::from(*adds))
}

/// How many bytes [`push_string`] writes.
pub(crate) fn string_len(text: &str) -> usize {
    text.len() + 2 + text.bytes().map(escape_adds).sum::<usize>()
}

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = text;
    while let Some(at) = plain.bytes().position(|byte| escape_adds(byte) > 0) {
        // What is escaped is one ASCII byte, so both cuts are at characters.
        let (before, rest) = plain.split_at(at);
        let (escaped, after) = rest.split_at(1);
        out.push_str(before);
        for byte in escaped.bytes() {
            if let Some(short) = short_escape(byte) {
                out.push_str(short);
            } else {
                out.push_str("\\u00");
                push_hex(out, byte);
            }
        }
        plain = after;
    }
    out.push_str(plain);
    out.push('"');
}

/// Appends `byte` as two lower-case hex digits.
pub(crate) fn push_hex(out: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 0x0f] {
        out.push(char::from(if digit < 10 {
            b'0' + digit
        } else {
            b'a' - 10 + digit
        }));
    }
}

/// Appends `"key":`, and a comma before all but the first, to an object under
/// construction. `key` needs no escaping.
pub(crate) fn push_key(out: &mut String, key: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn escapes_as_serde_json_does_and_counts_right() {
        let mut every: String = (0u32..0x300).filter_map(char::from_u32).collect();
        every.push_str("\u{2028}\u{1f600}/</script>");
        for text in ["", "a", "\"\\\"", "tail\n", &every] {
            let mut out = String::new();
            push_string(&mut out, text);
            assert_eq!(out, serde_json::to_string(text).unwrap());
            assert_eq!(out.len(), string_len(text));
        }
        assert!(
            every.to_string().contains('\u{7f}'),
            "DEL is covered, and left as it is"
        );
    }
}
