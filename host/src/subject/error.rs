//! Why it cannot be said what a verdict is about.
//!
//! Nothing here ever turns into a shorter list of files: what cannot be read,
//! named or counted is a refusal that names it, never a pass on the rest.

use std::io;
use std::path::Path;

use super::manifest::Sha256;
use crate::git::Unreadable;

/// Why files cannot be listed, digested, kept or found again.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// What stands in a list of globs is none.
    #[error("{why}")]
    GlobInvalid {
        /// The glob as it was given.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
    /// The globs match no file.
    #[error("no file matches {}{}", in_words(globs), match directory { Some(dir) => format!("; {dir} is a directory, its files are `{dir}/**`"), None => String::new() })]
    Empty {
        /// All globs of the list, exclusions too.
        globs: Vec<String>,
        /// A glob that names a directory, if one does.
        directory: Option<String>,
    },
    /// More files than are ever listed.
    #[error("more than {max} files match {}", in_words(globs))]
    TooMany {
        /// All globs of the list.
        globs: Vec<String>,
        /// The most there may be.
        max: usize,
    },
    /// Directories inside each other without end.
    #[error("{path}: more than {max} directories deep")]
    TooDeep {
        /// The directory, from the project's root.
        path: String,
        /// The most there may be.
        max: usize,
    },
    /// A covered file, or a directory that may hold some, cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file, from the project's root.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A covered file's name is not UTF-8.
    #[error("{path}: the name is not UTF-8")]
    NameInvalid {
        /// The file, with what is not UTF-8 written as escapes.
        path: String,
    },
    /// What is covered is neither a file nor a symbolic link.
    #[error("{path}: {what}, not a file")]
    NotAFile {
        /// What it is, from the project's root.
        path: String,
        /// In words.
        what: &'static str,
    },
    /// A covered file changed each time it was read.
    #[error("{path}: changed while it was read, {tries} times in a row")]
    Changing {
        /// The file, from the project's root.
        path: String,
        /// How often it was read.
        tries: u32,
    },
    /// What git tracks or ignores cannot be found out.
    #[error("{path}: {why}")]
    Git {
        /// The file of git's that is the matter.
        path: String,
        /// Why.
        why: String,
    },
    /// A kept subject, or a part of one, is not there.
    #[error("{path}: not there{}", part_of(digest, subject))]
    Missing {
        /// Where it belongs.
        path: String,
        /// What is not there.
        digest: Sha256,
        /// What was asked for.
        subject: Sha256,
    },
    /// A kept subject, or a part of one, is not what its name says.
    #[error("{path}: {why}{}", part_of(digest, subject))]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
        /// What it should be.
        digest: Sha256,
        /// What was asked for.
        subject: Sha256,
    },
    /// A subject cannot be kept.
    #[error("{path}: {source}")]
    Write {
        /// The file or directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The first digits of more than one subject, or of none.
    #[error("{digits}: {why}")]
    Ambiguous {
        /// What was asked for.
        digits: String,
        /// Why that names no one subject.
        why: &'static str,
    },
}

impl SubjectError {
    /// The public code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::GlobInvalid { .. } => "subject-glob-invalid",
            Self::Empty { .. } => "subject-empty",
            Self::TooMany { .. } => "subject-too-many-files",
            Self::TooDeep { .. } => "subject-too-deep",
            Self::Unreadable { .. } => "subject-unreadable",
            Self::NameInvalid { .. } => "subject-name-invalid",
            Self::NotAFile { .. } => "subject-not-a-file",
            Self::Changing { .. } => "subject-changing",
            Self::Git { .. } => "subject-git-unreadable",
            Self::Missing { .. } => "subject-missing",
            Self::Corrupt { .. } => "subject-corrupt",
            Self::Write { .. } => "subject-write-failed",
            Self::Ambiguous { .. } => "subject-unknown",
        }
    }

    pub(super) fn unreadable(path: &[u8], source: impl Into<io::Error>) -> Self {
        let path = match path {
            b"" => ".".to_owned(),
            path => shown(path),
        };
        let source = source.into();
        Self::Unreadable { path, source }
    }

    /// The same about a file that goes by another path.
    pub(super) fn at(mut self, other: &str) -> Self {
        if let Self::Unreadable { path, .. }
        | Self::NotAFile { path, .. }
        | Self::Changing { path, .. } = &mut self
        {
            other.clone_into(path);
        }
        self
    }

    pub(super) fn repository(Unreadable { path, source }: Unreadable) -> Self {
        Self::git(&path, source)
    }

    pub(super) fn git(path: &Path, why: impl ToString) -> Self {
        Self::Git {
            path: path.display().to_string(),
            why: why.to_string(),
        }
    }
}

/// A path that may be no text, as text.
pub(super) fn shown(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(path) => path.to_owned(),
        Err(_) => path.escape_ascii().to_string(),
    }
}

fn in_words(globs: &[String]) -> String {
    let quoted: Vec<String> = globs.iter().map(|glob| format!("`{glob}`")).collect();
    quoted.join(", ")
}

fn part_of(digest: &Sha256, subject: &Sha256) -> String {
    if digest == subject {
        String::new()
    } else {
        format!("; a part of subject {subject}")
    }
}
