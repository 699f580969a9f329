//! A value as one component of a path.

use alloc::string::String;

use crate::hex::push_hex;
use crate::sha256::{self, Message};

/// The longest path component common file systems allow, in bytes.
pub(super) const MAX_COMPONENT_BYTES: usize = 255;

/// Whether a value can have come out as this.
pub(super) fn is_segment(text: &str) -> bool {
    !needs_hash(text, 0) && !text.ends_with('.') && text.bytes().all(is_plain)
}

/// Whether this stands for a value that could not be shown.
pub(super) fn is_hash(text: &str) -> bool {
    text.strip_prefix("h-").is_some_and(|digits| {
        digits.len() == 32
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether `value` cannot stand in a path, even with characters replaced.
pub(super) fn needs_hash(value: &str, affixes: usize) -> bool {
    value.is_empty()
        || value == "."
        || value == ".."
        || value
            .bytes()
            .any(|byte| !byte.is_ascii() || byte.is_ascii_control())
        || is_device_name(value)
        // Replacing is one character for one, so lengths stay.
        || value.len() + affixes > MAX_COMPONENT_BYTES
}

/// Whether Windows takes the name for a device, whatever its extension.
fn is_device_name(value: &str) -> bool {
    let stem = value.split('.').next().unwrap_or_default();
    if ["con", "prn", "aux", "nul"]
        .iter()
        .any(|device| stem.eq_ignore_ascii_case(device))
    {
        return true;
    }
    match stem.as_bytes() {
        [port @ .., b'1'..=b'9'] => {
            port.eq_ignore_ascii_case(b"com") || port.eq_ignore_ascii_case(b"lpt")
        }
        _ => false,
    }
}

/// Whether a byte stands in a component as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// Appends `value` as a component, one character for one.
pub(super) fn push_segment(path: &mut String, value: &str) {
    if value.bytes().all(is_plain) {
        path.push_str(value);
    } else {
        path.extend(value.chars().map(|c| match u8::try_from(c) {
            Ok(byte) if is_plain(byte) => c,
            _ => '_',
        }));
    }
    // Windows drops a final dot silently.
    if value.ends_with('.') {
        path.pop();
        path.push('_');
    }
}

/// Appends what stands for a value that cannot be shown.
pub(super) fn push_hash(path: &mut String, value: &str) {
    path.push_str("h-");
    for byte in sha256::digest(&Message::of(value.as_bytes()))
        .into_iter()
        .take(16)
    {
        push_hex(path, byte);
    }
}
