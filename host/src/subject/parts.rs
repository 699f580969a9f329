//! A large manifest in parts that subjects share.
//!
//! A part is a run of the manifest's lines and goes by their SHA-256, like any
//! manifest; read one after the other, parts give the whole. Where one ends and
//! the next begins depends on the paths alone, mostly on where a directory
//! begins, so a file that changed changes one part, and a file more or less
//! moves no boundary but those next to it. A list of parts that is itself long
//! is split in the same way, so one change costs a part and a list or two.
//!
//! ```text
//! ghyll-subject-parts 1
//! <64 hex digits>  src/policy/
//! <64 hex digits>  src/
//! ```
//!
//! The directory is the deepest that holds all files of the part (`./` for the
//! project's root), there for the reader's eye; what counts is the digest.

use std::ops::Range;

use sha2::Digest as _;

use super::manifest::{Entry, Manifest, Sha256, read_line, write_line};

/// A manifest up to this size is kept as it is, in bytes.
pub(super) const WHOLE_MAX: usize = 64 << 10;
/// The first line of a list of parts.
pub(super) const MAGIC: &[u8] = b"ghyll-subject-parts 1\n";

/// A list of parts up to this size is not split further, in bytes.
const LIST_MAX: usize = 16 << 10;
/// No boundary before so many bytes, and one after so many whatever the paths.
const MIN: usize = 4 << 10;
const MAX: usize = 32 << 10;

/// A run of a manifest's lines.
struct Part {
    name: Sha256,
    entries: Range<usize>,
}

/// Gives each file that keeps this manifest: the parts before what lists them,
/// the subject itself last.
pub(super) fn each_file<E>(
    manifest: &Manifest,
    mut each: impl FnMut(Sha256, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let entries = manifest.entries();
    if let Some(whole) = small(entries) {
        return each(Sha256::of(&whole), &whole);
    }
    let mut parts = split_lines(entries, &mut each)?;
    let mut text = list(entries, &parts);
    while text.len() > LIST_MAX && parts.len() > 2 {
        parts = split_list(entries, &parts, &mut each)?;
        text = list(entries, &parts);
    }
    each(manifest.subject(), &text)
}

/// The bytes of a manifest that is small enough to be kept whole.
fn small(entries: &[Entry]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for entry in entries {
        entry.write(&mut text);
        if text.len() > WHOLE_MAX {
            return None;
        }
    }
    Some(text)
}

fn split_lines<E>(
    entries: &[Entry],
    each: &mut impl FnMut(Sha256, &[u8]) -> Result<(), E>,
) -> Result<Vec<Part>, E> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut text, mut line) = (Vec::new(), Vec::new());
    let mut before = None;
    for (at, entry) in entries.iter().enumerate() {
        line.clear();
        entry.write(&mut line);
        let boundary = text.len() + line.len() > MAX
            || (text.len() >= MIN && begins_part(before.unwrap_or_default(), &entry.path));
        if boundary && !text.is_empty() {
            let name = Sha256::of(&text);
            each(name, &text)?;
            let entries = start..at;
            parts.push(Part { name, entries });
            text.clear();
            start = at;
        }
        text.extend(&line);
        before = Some(entry.path.as_str());
    }
    let name = Sha256::of(&text);
    each(name, &text)?;
    let entries = start..entries.len();
    parts.push(Part { name, entries });
    Ok(parts)
}

/// Whether a part may begin with `path`: at one of a few directories, else at
/// one of many files.
fn begins_part(before: &str, path: &str) -> bool {
    let dir = directory(path);
    (directory(before) != dir && one_in(4, dir)) || one_in(64, path)
}

fn split_list<E>(
    entries: &[Entry],
    parts: &[Part],
    each: &mut impl FnMut(Sha256, &[u8]) -> Result<(), E>,
) -> Result<Vec<Part>, E> {
    let (mut lists, mut run, mut size) = (Vec::new(), Vec::new(), 0);
    for part in parts {
        let line = label(entries, &part.entries).len() + 67;
        let first = entries
            .get(part.entries.start)
            .map(|entry| entry.path.as_str());
        let boundary = size + line > MAX || (size >= MIN && one_in(32, first.unwrap_or_default()));
        // Of two at least, or there would be no end to lists of lists.
        if boundary && run.len() > 1 {
            lists.push(close_list(entries, &mut run, each)?);
            size = 0;
        }
        run.push(Part {
            name: part.name,
            entries: part.entries.clone(),
        });
        size += line;
    }
    if run.len() == 1 {
        lists.append(&mut run);
    } else {
        lists.push(close_list(entries, &mut run, each)?);
    }
    Ok(lists)
}

fn close_list<E>(
    entries: &[Entry],
    run: &mut Vec<Part>,
    each: &mut impl FnMut(Sha256, &[u8]) -> Result<(), E>,
) -> Result<Part, E> {
    let start = run.first().map_or(0, |part| part.entries.start);
    let end = run.last().map_or(0, |part| part.entries.end);
    let name = name_of(entries.get(start..end).unwrap_or_default());
    each(name, &list(entries, run))?;
    run.clear();
    let entries = start..end;
    Ok(Part { name, entries })
}

/// The SHA-256 of the lines of some files.
pub(super) fn name_of(entries: &[Entry]) -> Sha256 {
    let mut hash = sha2::Sha256::new();
    let mut line = Vec::new();
    for entry in entries {
        line.clear();
        entry.write(&mut line);
        hash.update(&line);
    }
    Sha256(hash.finalize().into())
}

fn list(entries: &[Entry], parts: &[Part]) -> Vec<u8> {
    let mut text = MAGIC.to_vec();
    for part in parts {
        write_line(&mut text, &part.name, label(entries, &part.entries));
    }
    text
}

/// The names and directories in a list of parts, the first line taken off.
pub(super) fn read_list(mut text: &[u8]) -> Result<Vec<(Sha256, String)>, &'static str> {
    let mut names = Vec::new();
    while !text.is_empty() {
        let end = text.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or("a line of it has no line end")?;
        let line = text.get(..end).unwrap_or_default();
        names.push(read_line(line).map_err(|_| "a line of it is not as it should be")?);
        text = text.get(end + 1..).unwrap_or_default();
    }
    if names.is_empty() {
        return Err("it lists no parts");
    }
    Ok(names)
}

/// The deepest directory that holds all these files, which are in order.
pub(super) fn label<'a>(entries: &'a [Entry], run: &Range<usize>) -> &'a str {
    let path = |at: Option<usize>| at.and_then(|at| entries.get(at)).map(|e| e.path.as_str());
    let first = path(Some(run.start)).unwrap_or_default();
    let last = path(run.end.checked_sub(1)).unwrap_or_default();
    let alike = first
        .bytes()
        .zip(last.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let same = first.as_bytes().get(..alike).unwrap_or_default();
    match same.iter().rposition(|byte| *byte == b'/') {
        Some(at) => first.get(..=at).unwrap_or("./"),
        None => "./",
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Whether a text is one of those, one in `many`, that nothing distinguishes.
fn one_in(many: u8, text: &str) -> bool {
    Sha256::of(text.as_bytes())
        .0
        .first()
        .is_some_and(|byte| byte % many == 0)
}
