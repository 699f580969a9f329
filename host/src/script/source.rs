//! Reading scripts: all of one, and no more than a script is long.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest script, in bytes.
pub const SOURCE_MAX: u64 = 1 << 20;

/// The name that stands for standard input.
pub const STDIN: &str = "-";

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read, or is no text in UTF-8.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory, a device, a FIFO.
    #[error("{}: not an ordinary file; `-` reads a script from standard input", path.display())]
    NotAFile {
        /// What it is called.
        path: PathBuf,
    },
    /// It is longer than [`SOURCE_MAX`].
    #[error("{}: larger than {SOURCE_MAX} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

impl SourceError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "script-unreadable",
            Self::NotAFile { .. } => "script-not-a-file",
            Self::TooLarge { .. } => "script-too-large",
        }
    }
}

/// Reads the script at `path`, an ordinary file, or standard input for `-`.
///
/// # Errors
/// `script-unreadable`, `script-not-a-file`, `script-too-large`.
pub fn read(path: &Path) -> Result<String, SourceError> {
    if path == Path::new(STDIN) {
        return read_from(path, &mut io::stdin().lock());
    }
    let fail = |source| SourceError::Unreadable {
        path: path.to_owned(),
        source,
    };
    // Looked at first: opening a FIFO waits for whoever writes to it.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(SourceError::NotAFile {
            path: path.to_owned(),
        });
    }
    read_from(path, &mut std::fs::File::open(path).map_err(fail)?)
}

fn read_from(path: &Path, from: &mut dyn Read) -> Result<String, SourceError> {
    let fail = |source| SourceError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    from.take(SOURCE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > SOURCE_MAX {
        return Err(SourceError::TooLarge {
            path: path.to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|e| fail(io::Error::new(io::ErrorKind::InvalidData, e)))
}

/// A script less the byte order mark that some editors put in front.
pub(super) fn without_bom(source: &str) -> &str {
    source.strip_prefix('\u{feff}').unwrap_or(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_an_ordinary_file_of_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let code = |path: &Path| read(path).map_err(|e| e.code());
        let file = dir.path().join("s.rhai");
        assert_eq!(code(&file), Err("script-unreadable"));
        std::fs::write(&file, "expect(true, \"é\");").unwrap();
        assert_eq!(code(&file).as_deref(), Ok("expect(true, \"é\");"));
        std::fs::write(&file, b"\xff").unwrap();
        assert_eq!(code(&file), Err("script-unreadable"));
        assert_eq!(code(dir.path()), Err("script-not-a-file"));
        let most = usize::try_from(SOURCE_MAX).unwrap();
        std::fs::write(&file, " ".repeat(most)).unwrap();
        assert_eq!(code(&file).map(|s| s.len()), Ok(most));
        std::fs::write(&file, " ".repeat(most + 1)).unwrap();
        assert_eq!(code(&file), Err("script-too-large"));
        // Where reading stops is no place to look for a whole character.
        std::fs::write(&file, format!("x{}", "é".repeat(most))).unwrap();
        assert_eq!(code(&file), Err("script-too-large"));
        #[cfg(unix)]
        {
            assert_eq!(code(Path::new("/dev/zero")), Err("script-not-a-file"));
            let fifo = dir.path().join("fifo");
            let made = std::process::Command::new("mkfifo").arg(&fifo).status();
            assert!(made.unwrap().success());
            assert_eq!(code(&fifo), Err("script-not-a-file"));
        }
    }
}
