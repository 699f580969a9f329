//! Writing JSON, in the one way it is written here.
//!
//! The length is known before anything is written: a string of control
//! characters grows sixfold, and growing a buffer by doubling would need twice
//! that again.

use alloc::string::String;

use super::escape::{escape_adds, first_escaped, push_escaped};

/// How many bytes [`push_string`] writes.
pub(crate) fn string_len(text: &str) -> usize {
    let mut length = text.len() + 2;
    let mut rest = text.as_bytes();
    while let Some(at) = first_escaped(rest) {
        let Some((escaped, behind)) = rest.get(at..).and_then(<[u8]>::split_first) else {
            break;
        };
        length += escape_adds(*escaped);
        rest = behind;
    }
    length
}

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = text;
    while let Some(at) = first_escaped(plain.as_bytes()) {
        // What is escaped is one ASCII byte, so both cuts are at characters.
        let (before, rest) = plain.split_at(at);
        let (escaped, after) = rest.split_at(1);
        out.push_str(before);
        for byte in escaped.bytes() {
            push_escaped(out, byte);
        }
        plain = after;
    }
    out.push_str(plain);
    out.push('"');
}

/// Appends `items` as an array of strings.
pub(crate) fn push_list(out: &mut String, items: &[String]) {
    out.push('[');
    let mut first = true;
    for item in items {
        if !core::mem::take(&mut first) {
            out.push(',');
        }
        push_string(out, item);
    }
    out.push(']');
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
