//! What in a string is escaped, and how.
//!
//! There is one way: what JSON requires is escaped, nothing further, and the
//! shortest escape is taken.

use alloc::string::String;

use crate::hex::push_hex;
use crate::scan::{every, position, zeros};

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
#[inline(always)]
pub(super) fn escape_adds(byte: u8) -> usize {
    ESCAPE_ADDS
        .get(usize::from(byte))
        .map_or(0, |adds| usize::from(*adds))
}

/// Where the first byte is that is escaped.
#[inline(always)]
pub(super) fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let marks = |word: u64| {
        let low = word.wrapping_sub(every(0x20)) & !word & every(0x80);
        low | zeros(word ^ every(b'"')) | zeros(word ^ every(b'\\'))
    };
    position(bytes, marks, |byte| escape_adds(byte) > 0)
}

/// Appends what `byte` is escaped as.
pub(super) fn push_escaped(out: &mut String, byte: u8) {
    if let Some(short) = short_escape(byte) {
        out.push_str(short);
    } else {
        out.push_str("\\u00");
        push_hex(out, byte);
    }
}

/// The byte that the escape at the start of `bytes` stands for, and the
/// escape's length; `None` for one that is never written.
pub(super) fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match bytes.get(1)? {
        b'"' => b'"',
        b'\\' => b'\\',
        b'b' => 0x08,
        b't' => 0x09,
        b'n' => 0x0a,
        b'f' => 0x0c,
        b'r' => 0x0d,
        b'u' => {
            let [b'0', b'0', high @ b'0'..=b'1', low] = bytes.get(2..6)? else {
                return None;
            };
            let low = match low {
                b'0'..=b'9' => low - b'0',
                b'a'..=b'f' => low - b'a' + 10,
                _ => return None,
            };
            let byte = (high - b'0') << 4 | low;
            return short_escape(byte).is_none().then_some((byte, 6));
        }
        _ => return None,
    };
    Some((byte, 2))
}
