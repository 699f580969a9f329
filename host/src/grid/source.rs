//! Grid texts from outside the project: a file somebody names, or what is
//! piped in.
//!
//! Both are read up to the size of a grid and no further, and a file has to be
//! one: a pipe or device that never ends or never answers is refused instead of
//! waited for.

use std::io::Read;
use std::path::Path;

use super::{GridError, MAX_BYTES};
use crate::files::bounded::{self, ReadError};

/// The text of a file. Links are followed: whoever names it may.
///
/// # Errors
/// `grid-not-a-file`, `grid-too-large`, `grid-not-utf8`, `grid-read-failed`.
pub fn read_file(path: &Path) -> Result<String, GridError> {
    bounded::read_text(path, MAX_BYTES as u64).map_err(|error| unread(error, path))
}

/// The text of what comes through `stream`; `name` is how errors call it.
///
/// # Errors
/// `grid-too-large`, `grid-not-utf8`, `grid-read-failed`.
pub fn read_stream(name: &Path, stream: impl Read) -> Result<String, GridError> {
    let mut bytes = Vec::new();
    let read = stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unread(error.into(), name))?;
    if bytes.len() > MAX_BYTES {
        return Err(GridError::TooLarge {
            path: name.to_owned(),
        });
    }
    text(bytes, name)
}

/// Bytes as text, or the line where they are none.
pub(super) fn text(bytes: Vec<u8>, name: &Path) -> Result<String, GridError> {
    bounded::text(bytes).map_err(|error| unread(error, name))
}

/// Why a grid was not read, by the codes of grids.
pub(super) fn unread(error: ReadError, path: &Path) -> GridError {
    let path = path.to_owned();
    match error {
        ReadError::Symlink => GridError::SymlinkRefused { path },
        ReadError::NotOrdinary(_) => GridError::NotAFile { path },
        ReadError::TooLong(_) => GridError::TooLarge { path },
        ReadError::NotText(line) => GridError::NotUtf8 { path, line },
        ReadError::Io(source) => GridError::Read { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<String, GridError>) -> &'static str {
        result.unwrap_err().code()
    }

    #[test]
    fn only_a_file_of_a_size_that_can_be_meant_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("grid.yaml");
        assert_eq!(code(read_file(&file)), "grid-read-failed");
        std::fs::write(&file, "x".repeat(MAX_BYTES)).unwrap();
        assert_eq!(read_file(&file).unwrap().len(), MAX_BYTES);
        std::fs::write(&file, "x".repeat(MAX_BYTES + 1)).unwrap();
        assert_eq!(code(read_file(&file)), "grid-too-large");
        std::fs::write(&file, b"a\nb\xff").unwrap();
        assert!(matches!(
            read_file(&file),
            Err(GridError::NotUtf8 { line: 2, .. })
        ));
        assert_eq!(code(read_file(dir.path())), "grid-not-a-file");
        assert_eq!(
            code(read_stream(Path::new("-"), std::io::repeat(b'x'))),
            "grid-too-large"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [
            pipe.as_path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
        ] {
            assert_eq!(
                code(read_file(path)),
                "grid-not-a-file",
                "{}",
                path.display()
            );
        }
    }
}
