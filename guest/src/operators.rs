//! Who may answer.
//!
//! An op-id stands in every record and is shown to people, so it must read as
//! what it is: nothing invisible, nothing that reorders the text around it,
//! nothing that looks like a path. It is never part of one.

use alloc::format;

use crate::error::{PolicyError, codes};

/// The longest op-id, in bytes.
pub const MAX_OP_ID_BYTES: usize = 256;

/// Whether `op_id` can name an operator.
///
/// Characters that mean something in JSON are legal.
///
/// # Errors
///
/// `op-id-required`, `op-id-too-long`, `op-id-invalid-characters`, looked for
/// in this order.
///
/// ```
/// use ghyll_policy::validate_op_id;
///
/// assert!(validate_op_id("alice@example.com").is_ok());
/// assert_eq!(validate_op_id(" ").unwrap_err().code, "op-id-required");
/// assert_eq!(validate_op_id("../alice").unwrap_err().code, "op-id-invalid-characters");
/// ```
pub fn validate_op_id(op_id: &str) -> Result<(), PolicyError> {
    if op_id.trim().is_empty() {
        return Err(PolicyError::new(
            codes::OP_ID_REQUIRED,
            "an operator must be named",
        ));
    }
    if op_id.len() > MAX_OP_ID_BYTES {
        return Err(PolicyError::new(
            codes::OP_ID_TOO_LONG,
            format!("{} bytes, at most {MAX_OP_ID_BYTES}", op_id.len()),
        ));
    }
    let invalid = |detail| Err(PolicyError::new(codes::OP_ID_INVALID_CHARACTERS, detail));
    for c in op_id.chars() {
        let kind = match c {
            '/' | '\\' => "path separator",
            _ if c.is_control() => "control character",
            _ if c.is_whitespace() => "whitespace",
            _ if is_format_character(c) => "invisible format character",
            _ => continue,
        };
        return invalid(format!("{kind} U+{:04X}", u32::from(c)));
    }
    if op_id.contains("..") {
        return invalid("contains `..`".into());
    }
    if op_id.starts_with(['.', '-']) {
        return invalid("starts with `.` or `-`".into());
    }
    if op_id.ends_with('.') {
        return invalid("ends with `.`".into());
    }
    Ok(())
}

/// Whether Unicode (16 and 17 agree) gives `c` the general category Cf: bidi
/// overrides, zero-width characters, byte order marks, tags.
///
/// The ranges are written out because a table crate is many times larger.
pub(crate) fn is_format_character(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0001}'
        | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn code(op_id: &str) -> &'static str {
        validate_op_id(op_id).unwrap_err().code
    }

    #[test]
    fn ordinary_names_are_fine() {
        for op_id in [
            "alice",
            "alice@example.com",
            "Zoë.Müller",
            "李雷",
            "a-b_c.d",
            "{\"op\":[1]}",
            "a'b\"c,d:e",
        ] {
            assert_eq!(validate_op_id(op_id), Ok(()), "{op_id}");
        }
    }

    #[test]
    fn blank_comes_before_length_and_length_before_characters() {
        assert_eq!(code(""), "op-id-required");
        assert_eq!(code(" \t\u{3000}"), "op-id-required");
        assert_eq!(code(&" ".repeat(300)), "op-id-required");
        assert_eq!(code(&"/".repeat(257)), "op-id-too-long");
        assert_eq!(code(&"é".repeat(129)), "op-id-too-long");
        assert_eq!(validate_op_id(&"é".repeat(128)), Ok(()));
    }

    #[test]
    fn every_forbidden_character_is_found_anywhere() {
        for c in [
            '\0',
            '\n',
            '\u{7f}',
            '\u{85}',
            ' ',
            '\u{a0}',
            '\u{2028}',
            '\u{3000}',
            '/',
            '\\',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{1343f}',
        ] {
            for op_id in [
                String::from_iter(['a', c, 'b']),
                String::from_iter([c, 'b']),
                String::from_iter(['a', c]),
            ] {
                assert_eq!(code(&op_id), "op-id-invalid-characters", "{op_id:?}");
            }
        }
    }

    #[test]
    fn neither_paths_nor_options() {
        for op_id in ["a..b", ".a", "-a", "a.", ".", ".."] {
            assert_eq!(code(op_id), "op-id-invalid-characters", "{op_id}");
        }
        assert_eq!(validate_op_id("a-"), Ok(()));
    }
}
