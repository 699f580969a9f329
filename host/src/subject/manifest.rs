//! The list of what was judged: one line a file, as GNU `sha256sum` writes it.
//!
//! So everybody can check one without ghyll: `sha256sum -c` in the project's
//! directory (where only a file named `-` at the root is beyond it, that being
//! its word for standard input). There is one way to write a set of files: sorted by the path's
//! bytes, digests in lower case, a path escaped only where it must be. What is
//! written otherwise is not read, so that equal sets have equal subjects.

use std::fmt::{self, Write as _};
use std::io;
use std::str::FromStr;

use sha2::Digest as _;

/// A SHA-256, shown as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl Sha256 {
    fn hex(&self) -> [u8; 64] {
        let digit = |half: u8| HEX.get(usize::from(half)).copied().unwrap_or_default();
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            if let [high, low] = pair {
                (*high, *low) = (digit(byte >> 4), digit(byte & 15));
            }
        }
        hex
    }
}

const HEX: [u8; 16] = *b"0123456789abcdef";

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hex()
            .iter()
            .try_for_each(|digit| f.write_char(char::from(*digit)))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not 64 lower-case hex digits")]
pub struct NotSha256;

impl FromStr for Sha256 {
    type Err = NotSha256;

    fn from_str(hex: &str) -> Result<Self, NotSha256> {
        read_hex(hex.as_bytes()).map(Self).ok_or(NotSha256)
    }
}

impl serde::Serialize for Sha256 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What each byte is worth as a hex digit; above 15 it is none.
const DIGITS: [u8; 256] = {
    let mut worth = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16 {
        worth[HEX[digit as usize] as usize] = digit;
        digit += 1;
    }
    worth
};

fn read_hex(hex: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    let worth = |digit: &u8| DIGITS.get(usize::from(*digit)).copied().unwrap_or(u8::MAX);
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        let (high, low) = (worth(high), worth(low));
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(bytes)
}

/// One file as it was.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// From the project's root, with `/`.
    pub path: String,
    /// Of its bytes; of a symbolic link, of its target's text.
    pub sha256: Sha256,
}

impl Entry {
    /// Adds its line, line end included, to `text`.
    pub(super) fn write(&self, text: &mut Vec<u8>) {
        write_line(text, &self.sha256, &self.path);
    }
}

/// Adds `<digest>  <path>` and a line end to `text`.
pub(super) fn write_line(text: &mut Vec<u8>, sha256: &Sha256, path: &str) {
    let escaped = needs_escape(path);
    if escaped {
        text.push(b'\\');
    }
    text.extend(sha256.hex());
    text.extend(b"  ");
    if escaped {
        for byte in path.bytes() {
            match byte {
                b'\\' => text.extend(b"\\\\"),
                b'\n' => text.extend(b"\\n"),
                b'\r' => text.extend(b"\\r"),
                byte => text.push(byte),
            }
        }
    } else {
        text.extend(path.as_bytes());
    }
    text.push(b'\n');
}

fn needs_escape(path: &str) -> bool {
    path.bytes().any(|b| matches!(b, b'\\' | b'\n' | b'\r'))
}

/// Reads what [`write_line`] wrote, the line end taken off.
pub(super) fn read_line(line: &[u8]) -> Result<(Sha256, String), &'static str> {
    let (escaped, line) = match line.strip_prefix(b"\\") {
        Some(line) => (true, line),
        None => (false, line),
    };
    let digits = line.get(..64).and_then(read_hex);
    let digest = digits.ok_or("does not begin with 64 lower-case hex digits")?;
    let path = line.get(64..).and_then(|rest| rest.strip_prefix(b"  "));
    let path = path.ok_or("has no two blanks between digest and path")?;
    let path = std::str::from_utf8(path).map_err(|_| "has a path that is not UTF-8")?;
    let path = match escaped {
        true => unescape(path).ok_or("has a path that is not escaped as it should be")?,
        false => path.to_owned(),
    };
    if needs_escape(&path) != escaped {
        return Err("has a path that is not escaped as it should be");
    }
    Ok((Sha256(digest), path))
}

fn unescape(path: &str) -> Option<String> {
    let mut text = String::with_capacity(path.len());
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

/// Whether a path stays in the project and is written in one way.
fn is_inside(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Some files as they were, sorted by the bytes of their paths, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    entries: Vec<Entry>,
}

/// Why bytes are no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {why}")]
pub struct Malformed {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Manifest {
    /// The manifest of these files, in whatever order they come; of several
    /// with one path the first stays.
    #[must_use]
    pub fn new(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|a, b| a.path < b.path) {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            entries.dedup_by(|b, a| a.path == b.path);
        }
        Self { entries }
    }

    /// Reads a manifest's bytes.
    ///
    /// # Errors
    /// The first line that is not written as a manifest's lines are, or whose
    /// path leaves the project or is out of order.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut manifest = Self::default();
        manifest.extend(bytes)?;
        Ok(manifest)
    }

    /// Adds more lines, which must come after those there are.
    pub(super) fn extend(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            let malformed = |why| Malformed {
                line: self.entries.len() + 1,
                why,
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (line, rest) = end
                .and_then(|end| Some((bytes.get(..end)?, bytes.get(end + 1..)?)))
                .ok_or_else(|| malformed("has no line end"))?;
            let (sha256, path) = read_line(line).map_err(malformed)?;
            if !is_inside(&path) {
                return Err(malformed("has a path that is none below the project"));
            }
            if self.entries.last().is_some_and(|last| last.path >= path) {
                return Err(malformed("is out of order"));
            }
            self.entries.push(Entry { path, sha256 });
            bytes = rest;
        }
        Ok(())
    }

    /// The files, by path.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The SHA-256 of the manifest's bytes: what a record names.
    #[must_use]
    pub fn subject(&self) -> Sha256 {
        let mut hash = sha2::Sha256::new();
        self.each_line(|line| hash.update(line));
        Sha256(hash.finalize().into())
    }

    /// Writes the manifest's bytes, a buffer at a time.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        const BUFFER: usize = 64 << 10;
        let mut text = Vec::with_capacity(BUFFER + 1024);
        for entry in &self.entries {
            entry.write(&mut text);
            if text.len() >= BUFFER {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)
    }

    fn each_line(&self, mut each: impl FnMut(&[u8])) {
        let mut line = Vec::new();
        for entry in &self.entries {
            line.clear();
            entry.write(&mut line);
            each(&line);
        }
    }
}
