//! Bytes as lower-case hex digits.

use alloc::string::String;

/// Whether `bytes` are a SHA-256 as it is written here: 64 lower-case hex
/// digits.
pub(crate) fn is_digest(bytes: &[u8]) -> bool {
    bytes.len() == 64
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A SHA-256 in hex.
pub(crate) fn hex(digest: &[u8; 32]) -> [u8; 64] {
    let mut out = [0; 64];
    let (pairs, _) = out.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(digest) {
        *pair = [digit(byte >> 4), digit(byte & 0x0f)];
    }
    out
}

/// A hex digit, lower case.
const fn digit(value: u8) -> u8 {
    if value < 10 {
        b'0' + value
    } else {
        b'a' - 10 + value
    }
}

/// Appends `byte` as two lower-case hex digits.
pub(crate) fn push_hex(out: &mut String, byte: u8) {
    out.push(char::from(digit(byte >> 4)));
    out.push(char::from(digit(byte & 0x0f)));
}
