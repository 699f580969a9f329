//! What can be wrong with a grid, its files or its pointer.
//!
//! Mistakes in a grid's text are collected, not returned one by one: whoever
//! edits a grid wants to fix it once. Codes are public, wording is not.

use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use super::MAX_BYTES;

/// One mistake in a grid's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as it was named to the parser.
    #[serde(skip)]
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The public code.
    pub code: &'static str,
    /// What is wrong, in words, with anything from the file escaped.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = printable(&self.file.to_string_lossy());
        write!(f, "{file}:{}: {}: {}", self.line, self.code, self.message)
    }
}

/// Why a grid cannot be used or written. Paths are relative to `.ghyll`.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// The text is not a valid grid. Displays one problem a line, by line
    /// number.
    #[error("{}", one_per_line(.problems))]
    Invalid {
        /// Every problem found, at least one.
        problems: Vec<Problem>,
    },
    /// There is no `grid.current`.
    #[error("{path}: no grid is in force: the pointer is missing; restore it from git, or write the newest version's \"v<N>\" into it", path = path.display())]
    PointerMissing {
        /// The pointer.
        path: PathBuf,
    },
    /// `grid.current` is not one line `v<N>`.
    #[error("{path}: expected one line like \"v1\", found {found:?}; restore it from git, or write the newest version's \"v<N>\" into it", path = path.display())]
    PointerMalformed {
        /// The pointer.
        path: PathBuf,
        /// Its content, as far as it was read.
        found: String,
    },
    /// `grid.current` names a version although a newer one exists.
    #[error(
        "{path}: the pointer names v{pointed}, but v{newest} exists; write v{newest} again, \
         or a newer version, to bring it into force",
        path = path.display()
    )]
    PointerStale {
        /// The pointer.
        path: PathBuf,
        /// The version it names.
        pointed: u64,
        /// The newest version present.
        newest: u64,
    },
    /// The file of a version is not there.
    #[error("{path}: grid version v{version} does not exist", path = path.display())]
    VersionMissing {
        /// Where it should be.
        path: PathBuf,
        /// The version.
        version: u64,
    },
    /// A version was to be written again with another text, or over a newer
    /// one.
    #[error(
        "{path}: grid version v{version} exists and is never changed; \
         write v{next} instead",
        path = path.display(),
        next = .newest.saturating_add(1)
    )]
    VersionExists {
        /// The existing file.
        path: PathBuf,
        /// The version.
        version: u64,
        /// The newest version present.
        newest: u64,
    },
    /// A version other than the next one was to be written.
    #[error("grid version v{version} cannot be written: the next one is v{next}")]
    VersionOutOfOrder {
        /// The version refused.
        version: u64,
        /// The version that would be accepted.
        next: u64,
    },
    /// A text was to come into force that declares what the grid in force
    /// does.
    #[error("nothing changes: it declares what grid version v{version} does")]
    Unchanged {
        /// The version in force.
        version: u64,
    },
    /// The file is larger than [`MAX_BYTES`].
    #[error("{path}: larger than {MAX_BYTES} bytes", path = printable(&path.to_string_lossy()))]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("{path}:{line}: not UTF-8 text", path = printable(&path.to_string_lossy()))]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line of the first bad byte.
        line: usize,
    },
    /// A symbolic link stands where a file is expected.
    #[error("{path}: is a symbolic link, which is never followed", path = path.display())]
    SymlinkRefused {
        /// The link.
        path: PathBuf,
    },
    /// Something else than a file stands where a file is expected.
    #[error("{path}: is not a regular file", path = printable(&path.to_string_lossy()))]
    NotAFile {
        /// The offender.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("{path}: cannot be read: {source}", path = printable(&path.to_string_lossy()))]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Writing failed; what was there before still is.
    #[error("{path}: cannot be written: {source}", path = path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl GridError {
    /// The public code. Of several problems in a text, the first one's.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            GridError::Invalid { problems } => {
                problems.first().map_or("grid-invalid", |first| first.code)
            }
            GridError::PointerMissing { .. } => "grid-pointer-missing",
            GridError::PointerMalformed { .. } => "grid-pointer-malformed",
            GridError::PointerStale { .. } => "grid-pointer-stale",
            GridError::VersionMissing { .. } => "grid-version-missing",
            GridError::VersionExists { .. } => "grid-version-exists",
            GridError::VersionOutOfOrder { .. } => "grid-version-out-of-order",
            GridError::Unchanged { .. } => "grid-unchanged",
            GridError::TooLarge { .. } => "grid-too-large",
            GridError::NotUtf8 { .. } => "grid-not-utf8",
            GridError::SymlinkRefused { .. } => "grid-symlink-refused",
            GridError::NotAFile { .. } => "grid-not-a-file",
            GridError::Read { .. } => "grid-read-failed",
            GridError::Write { .. } => "grid-write-failed",
        }
    }
}

fn one_per_line(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}

/// `text` with what could steer or deceive a terminal escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// `text` quoted for a message, without what could steer a terminal, cut to a
/// length that can be read.
pub(super) fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}", format!("{}…", text.get(..end).unwrap_or_default())),
        None => format!("{text:?}"),
    }
}

/// Characters that show as nothing or reorder what is around them: two ids
/// that differ only in these look the same.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{061C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}
