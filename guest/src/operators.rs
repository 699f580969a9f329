//! Names that people go by: who may answer, and what the ids of a grid may be.
//!
//! An id stands in every record and is shown to people, so it must read as what
//! it is: nothing invisible, nothing that reorders the text around it, one
//! spelling for what looks one way. An op-id besides must not look like a path,
//! though it is never part of one.

use alloc::format;
use alloc::string::String;

use crate::error::{PolicyError, codes};
use crate::unicode::{is_nfc, is_unseen};

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
            ' ' => "whitespace",
            _ if is_unseen(c) => unseen(c),
            _ => continue,
        };
        return invalid(told(kind, c));
    }
    if op_id.as_bytes().array_windows().any(|two| two == b"..") {
        return invalid("contains `..`".into());
    }
    if op_id.starts_with(['.', '-']) {
        return invalid("starts with `.` or `-`".into());
    }
    if op_id.ends_with('.') {
        return invalid("ends with `.`".into());
    }
    if !is_nfc(op_id) {
        return invalid(NOT_NFC.into());
    }
    Ok(())
}

const NOT_NFC: &str = "not in normalization form C: what looks one way has one spelling";

/// What kind of unseen character `c` is.
fn unseen(c: char) -> &'static str {
    if c.is_control() {
        "control character"
    } else if c.is_whitespace() {
        "whitespace"
    } else {
        "character that cannot be seen,"
    }
}

fn told(kind: &str, c: char) -> String {
    format!("{kind} U+{:04X}", u32::from(c))
}

/// Whether `id` can be an id in a grid (arrow, clause, role, context, stratum)
/// as far as its characters go: all of them can be seen, and it is in
/// normalization form C. A plain blank can be seen between others.
///
/// Whether an id may be empty is the grid's own rule; here it may.
///
/// # Errors
///
/// `grid-id-invalid-characters`.
///
/// ```
/// use ghyll_policy::check_grid_id;
///
/// assert!(check_grid_id("A-checkout").is_ok());
/// assert!(check_grid_id("A-checkout\u{200b}").is_err());
/// ```
pub fn check_grid_id(id: &str) -> Result<(), PolicyError> {
    let invalid = |detail| Err(PolicyError::new(codes::GRID_ID_INVALID_CHARACTERS, detail));
    if let Some(c) = id.chars().find(|c| is_unseen(*c)) {
        return invalid(told(unseen(c), c));
    }
    if id.starts_with(' ') || id.ends_with(' ') {
        return invalid("a blank at an end cannot be seen".into());
    }
    if !is_nfc(id) {
        return invalid(NOT_NFC.into());
    }
    Ok(())
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
            '\u{34f}',
            '\u{115f}',
            '\u{17b4}',
            '\u{2800}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{e0100}',
            '\u{16fe4}',
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
    fn what_looks_one_way_has_one_spelling() {
        assert_eq!(validate_op_id("zoë"), Ok(()));
        assert_eq!(code("zoe\u{308}"), "op-id-invalid-characters");
        assert_eq!(code("\u{212b}ke"), "op-id-invalid-characters");
        assert_eq!(check_grid_id("Ärger"), Ok(()));
        assert!(check_grid_id("A\u{308}rger").is_err());
    }

    #[test]
    fn ids_of_a_grid_can_be_seen() {
        for id in ["", "A-checkout", "two words", "a/b", "..", "山", ".a"] {
            assert_eq!(check_grid_id(id), Ok(()), "{id}");
        }
        for id in [
            " ",
            " a",
            "a ",
            "a\u{a0}b",
            "a\tb",
            "a\u{fff9}",
            "\u{3164}",
            "a\u{fe0f}",
        ] {
            let code = check_grid_id(id).unwrap_err().code;
            assert_eq!(code, "grid-id-invalid-characters", "{id:?}");
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
