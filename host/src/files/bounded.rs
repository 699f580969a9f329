//! Reading whole files that anybody may have made: none is ever waited for,
//! none is read without end, and none is cut without a word.
//!
//! What is no ordinary file is refused before it is opened, for opening a pipe
//! waits and opening a device may do anything; and again once it is open, for
//! it may have been exchanged meanwhile.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::disk::{Disk, Kind, read_full};

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A link where none is followed.
    #[error("a symbolic link; it was not followed")]
    Symlink,
    /// A directory, a pipe, a device, a socket.
    #[error("{0}, not an ordinary file")]
    NotOrdinary(&'static str),
    /// More bytes than may be read.
    #[error("longer than {0} bytes")]
    TooLong(u64),
    /// Not text, in this line, counted from 1.
    #[error("not UTF-8 text in line {0}")]
    NotText(usize),
    /// The file system's own reason.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ReadError {
    /// The public code, for those who have none of their own for the file.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Symlink => "attestation-symlink-refused",
            Self::NotOrdinary(_) => "file-not-ordinary",
            Self::TooLong(_) => "file-too-long",
            Self::NotText(_) => "file-not-text",
            Self::Io(_) => "file-unreadable",
        }
    }

    /// Whether there is no such file.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(e) if e.kind() == io::ErrorKind::NotFound)
    }
}

/// The bytes of a file that somebody named, of at most `max` bytes. A link that
/// leads to it is followed: it is theirs.
///
/// # Errors
/// [`ReadError`], but for `Symlink`.
pub fn read_bounded(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut file = open_ordinary(path)?;
    let expected = file.metadata()?.len();
    if expected > max {
        return Err(ReadError::TooLong(max));
    }
    let mut bytes = Vec::new();
    reserve(&mut bytes, expected)?;
    let limit = max.saturating_add(1);
    Read::by_ref(&mut file)
        .take(limit)
        .read_to_end(&mut bytes)?;
    // It may have grown, or be of a kind that has no size.
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLong(max));
    }
    Ok(bytes)
}

/// As [`read_bounded`], of text.
///
/// # Errors
/// [`ReadError`], but for `Symlink`.
pub fn read_text(path: &Path, max: u64) -> Result<String, ReadError> {
    text(read_bounded(path, max)?)
}

/// The text of what has no length, such as standard input, of at most `max`
/// bytes. It is waited for: somebody is to write it.
///
/// # Errors
/// [`ReadError`], but for `Symlink` and `NotOrdinary`.
pub fn read_bounded_from(from: &mut dyn Read, max: u64) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    from.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLong(max));
    }
    text(bytes)
}

/// The bytes of a file below `.ghyll` of at most `max` bytes; `None` if there
/// is none.
///
/// # Errors
/// [`ReadError`], but for `NotText`.
pub fn read_below(disk: &dyn Disk, path: &str, max: u64) -> Result<Option<Vec<u8>>, ReadError> {
    match disk.meta(path)?.map(|meta| meta.kind) {
        None => return Ok(None),
        Some(Kind::Symlink) => return Err(ReadError::Symlink),
        Some(Kind::Dir) => return Err(ReadError::NotOrdinary("a directory")),
        Some(Kind::Other) => return Err(ReadError::NotOrdinary("a pipe, socket or device")),
        Some(Kind::File) => {}
    }
    let mut file = match disk.open_read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let expected = file.meta()?.bytes;
    if expected > max {
        return Err(ReadError::TooLong(max));
    }
    let mut bytes = Vec::new();
    reserve(&mut bytes, expected)?;
    // What is appended from here on is for the next look: a file that only
    // grows is read as it was when it was opened.
    bytes.resize(usize::try_from(expected).unwrap_or(0), 0);
    let read = read_full(file.as_mut(), 0, &mut bytes)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Opens a file that somebody named to read it piece by piece.
///
/// # Errors
/// [`ReadError::NotOrdinary`], [`ReadError::Io`].
pub fn open_ordinary(path: &Path) -> Result<File, ReadError> {
    refuse_special(&std::fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// `bytes` as text.
///
/// # Errors
/// [`ReadError::NotText`].
pub fn text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        ReadError::NotText(1 + before.filter(|byte| **byte == b'\n').count())
    })
}

fn refuse_special(meta: &std::fs::Metadata) -> Result<(), ReadError> {
    if meta.is_file() {
        Ok(())
    } else if meta.is_dir() {
        Err(ReadError::NotOrdinary("a directory"))
    } else {
        Err(ReadError::NotOrdinary("a pipe, socket or device"))
    }
}

/// Room that is not there is an error, not the end of the process.
fn reserve(bytes: &mut Vec<u8>, expected: u64) -> io::Result<()> {
    let expected = usize::try_from(expected).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes
        .try_reserve_exact(expected)
        .map_err(|_| io::ErrorKind::OutOfMemory.into())
}
