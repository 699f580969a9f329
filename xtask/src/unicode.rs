//! What the guest knows of characters, made from the Unicode Character
//! Database as well-kept crates ship it.
//!
//! Those crates' own tables are several times larger than what the component
//! may be, so the guest has the same data packed: ranges as Rust, mappings as
//! bytes (the format is told in `guest/src/unicode/table.rs`). A test makes
//! them again and compares.

use std::collections::BTreeMap;

use regex_syntax::hir::{Class, HirKind};
use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};
use unicode_security::confusable_detection::skeleton;

use crate::Error;

/// Where the files go, from the root of the workspace.
pub const FOLDER: &str = "guest/src/unicode";

/// Entries a lookup reads through at most.
const BLOCK: usize = 32;

/// What no text shows though it is there: controls, format characters, line
/// and paragraph separators, and what is set aside to be ignored. Variation
/// selectors stay: they belong to the character before them.
const UNSHOWN: &str = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}&&\p{Cn}]]";

/// What an id may not contain, for it cannot be seen: besides the above all
/// that is ignorable by default, every blank but the plain one, and letters
/// and symbols that are drawn as nothing: the braille pattern without dots,
/// the Khitan filler, the null notehead, the two blanks of Egyptian.
const UNSEEN: &str = r"[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}[\p{White_Space}--\x20]\x{2800}\x{16FE4}\x{1D159}\x{13441}\x{13442}]";

/// What is dropped before two ids are compared by their looks.
const IGNORABLE: &str = r"\p{Default_Ignorable_Code_Point}";

/// A mapping from a character to some.
type Map = BTreeMap<u32, Vec<u32>>;

/// The files by name.
///
/// # Errors
///
/// When a class is not known to the crate that ships it.
pub fn files() -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let mut decompositions = Map::new();
    let mut compositions = Map::new();
    let mut classes = Map::new();
    let mut confusables = Map::new();
    for c in ('\0'..=char::MAX).filter(|c| !('\u{ac00}'..='\u{d7a3}').contains(c)) {
        let mut parts = Vec::new();
        decompose_canonical(c, |part| parts.push(part));
        if parts != [c] {
            decompositions.insert(u32::from(c), numbers(&parts));
            if let Some((first, second)) = pair(c, &parts) {
                let known: &mut Vec<u32> = compositions.entry(u32::from(first)).or_default();
                known.extend([u32::from(second), u32::from(c)]);
            }
        } else {
            let looks: Vec<char> = skeleton(&c.to_string()).collect();
            if looks != [c] && !looks.is_empty() {
                confusables.insert(u32::from(c), numbers(&looks));
            }
        }
        let class = canonical_combining_class(c);
        if class != 0 {
            classes.insert(u32::from(c), vec![u32::from(class)]);
        }
    }
    Ok(vec![
        ("ranges.rs", ranges()?.into_bytes()),
        ("decompositions.bin", packed(&decompositions)),
        ("compositions.bin", packed(&compositions)),
        ("classes.bin", packed(&classes)),
        ("confusables.bin", packed(&confusables)),
    ])
}

fn numbers(chars: &[char]) -> Vec<u32> {
    chars.iter().copied().map(u32::from).collect()
}

/// The two characters that compose to `c`, whose full decomposition is `parts`.
fn pair(c: char, parts: &[char]) -> Option<(char, char)> {
    let (last, before) = parts.split_last()?;
    let mut before = before.iter().copied();
    let first = before.next()?;
    let first = before.try_fold(first, compose)?;
    (compose(first, *last) == Some(c)).then_some((first, *last))
}

fn varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn packed(map: &Map) -> Vec<u8> {
    let entries: Vec<_> = map.iter().collect();
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for block in entries.chunks(BLOCK) {
        let mut before = *block[0].0;
        index.extend_from_slice(&before.to_le_bytes()[..3]);
        index.extend_from_slice(&(data.len() as u16).to_le_bytes());
        for (key, values) in block {
            let count = values.len() as u32;
            varint(&mut data, (**key - before) << 3 | count.min(7));
            if count >= 7 {
                varint(&mut data, count - 7);
            }
            for value in *values {
                varint(&mut data, *value);
            }
            before = **key;
        }
    }
    let blocks = entries.len().div_ceil(BLOCK) as u16;
    [&blocks.to_le_bytes()[..], &index, &data].concat()
}

fn ranges() -> Result<String, Error> {
    let mut text = String::from(
        "// Written by `cargo xtask unicode`. Do not edit.\n\n\
         /// Ranges of code points, both ends included, in order.\n\
         pub(crate) type Ranges = &'static [(u32, u32)];\n",
    );
    for (name, about, class) in [
        ("UNSHOWN", "What no text may show.", UNSHOWN),
        ("UNSEEN", "What no id may contain.", UNSEEN),
        ("IGNORABLE", "What a reader does not see.", IGNORABLE),
    ] {
        let failed = |detail: String| Error::Component(format!("{name}: {detail}"));
        let parsed = regex_syntax::Parser::new()
            .parse(class)
            .map_err(|cause| failed(cause.to_string()))?;
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            return Err(failed("no class".into()));
        };
        text.push_str(&format!(
            "\n/// {about}\n#[rustfmt::skip]\npub(crate) static {name}: Ranges = &[\n"
        ));
        for row in class.ranges().chunks(4) {
            let row: Vec<String> = row
                .iter()
                .map(|range| {
                    format!(
                        "(0x{:x}, 0x{:x}),",
                        u32::from(range.start()),
                        u32::from(range.end())
                    )
                })
                .collect();
            text.push_str(&format!("    {}\n", row.join(" ")));
        }
        text.push_str("];\n");
    }
    Ok(text)
}
