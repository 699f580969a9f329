//! Grid files and the pointer to the one in force.
//!
//! All access goes through the opened `.ghyll` directory and follows no
//! symbolic link, so that nothing outside it can pose as a grid.
//!
//! A version is written in full under another name, made durable, and only
//! then given its own; the pointer follows the same way. So a crash leaves
//! either the old state, or the new version with the old pointer, which
//! reading refuses as stale and writing the same text again completes.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use crate::files;
use crate::files::bounded::{ReadError, read_below};
use crate::files::disk::{CapDisk, Disk};

use super::source::{text, unread};
use super::{Grid, GridError, MAX_BYTES, MAX_VERSION};

const POINTER: &str = "grid.current";

/// Longer than any pointer: `v`, 20 digits, line end.
const POINTER_MAX_BYTES: usize = 64;

impl Grid {
    /// The grid in force in this `.ghyll` directory.
    ///
    /// # Errors
    /// Those of [`Grid::active_version`] and [`Grid::read_version`].
    pub fn read_active(ghyll: &Dir) -> Result<Grid, GridError> {
        Grid::read_version(ghyll, Grid::active_version(ghyll)?)
    }

    /// One version of the grid, in force or not.
    ///
    /// # Errors
    /// [`GridError::VersionMissing`], whatever makes the file unfit to be
    /// read, and [`GridError::Invalid`].
    pub fn read_version(ghyll: &Dir, version: u64) -> Result<Grid, GridError> {
        let text = Grid::read_text(ghyll, version)?;
        Grid::parse(&text, version, Path::new(&file_name(version)))
    }

    /// The text of one version, unjudged.
    ///
    /// # Errors
    /// [`GridError::VersionMissing`], and whatever makes the file unfit to be
    /// read.
    pub fn read_text(ghyll: &Dir, version: u64) -> Result<String, GridError> {
        text(read_bytes(ghyll, version)?, Path::new(&file_name(version)))
    }

    /// The [`digest`] of one version's file.
    ///
    /// # Errors
    /// As [`Grid::read_text`], but for what is no text.
    pub fn digest_of(ghyll: &Dir, version: u64) -> Result<String, GridError> {
        Ok(digest(&read_bytes(ghyll, version)?))
    }

    /// The name of a version's file below `.ghyll`.
    #[must_use]
    pub fn file_name(version: u64) -> String {
        file_name(version)
    }

    /// The versions there are files of, in ascending order, in force or not.
    ///
    /// # Errors
    /// [`GridError::Read`].
    pub fn versions(ghyll: &Dir) -> Result<Vec<u64>, GridError> {
        let failed = |source| GridError::Read {
            path: ".".into(),
            source,
        };
        let mut versions = Vec::new();
        for entry in ghyll.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let version = name
                .to_str()
                .and_then(|name| name.strip_prefix("grid.v")?.strip_suffix(".yaml"))
                .and_then(canonical_version);
            versions.extend(version);
        }
        versions.sort_unstable();
        Ok(versions)
    }

    /// The version the pointer names.
    ///
    /// # Errors
    /// [`GridError::PointerMissing`], [`GridError::PointerMalformed`],
    /// [`GridError::VersionMissing`] when it names a version that is not
    /// there, [`GridError::PointerStale`] when it names an older one than
    /// there is.
    pub fn active_version(ghyll: &Dir) -> Result<u64, GridError> {
        let path = || PathBuf::from(POINTER);
        let bytes = match read_file(ghyll, POINTER, POINTER_MAX_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(GridError::PointerMissing { path: path() }),
            Err(GridError::TooLarge { path }) => {
                let found = format!("more than {POINTER_MAX_BYTES} bytes");
                return Err(GridError::PointerMalformed { path, found });
            }
            Err(error) => return Err(error),
        };
        let found = String::from_utf8_lossy(&bytes);
        // Git and editors of other systems end a line their own way.
        let line = found
            .strip_suffix("\r\n")
            .or_else(|| found.strip_suffix('\n'))
            .unwrap_or(&found);
        let Some(version) = line.strip_prefix('v').and_then(canonical_version) else {
            return Err(GridError::PointerMalformed {
                path: path(),
                found: found.into_owned(),
            });
        };
        check_pointer(ghyll, version)?;
        Ok(version)
    }

    /// Writes `text` as version `version` and brings it into force.
    ///
    /// The version must be the next one. Writing the newest version again with
    /// the same text is a success: it completes a write that was interrupted.
    ///
    /// # Errors
    /// [`GridError::Invalid`] or [`GridError::TooLarge`] for the text,
    /// [`GridError::VersionExists`], [`GridError::VersionOutOfOrder`],
    /// [`GridError::Write`]; on each of them the pointer is what it was.
    pub fn write(ghyll: &Dir, version: u64, text: &str) -> Result<(), GridError> {
        let name = file_name(version);
        Grid::parse(text, version, Path::new(&name))?;
        let found = newest_version(ghyll)?;
        let newest = found.unwrap_or(0);
        match read_file(ghyll, &name, MAX_BYTES) {
            Ok(Some(bytes)) if found == Some(version) && bytes == text.as_bytes() => {
                // Its name may not have reached the disk before the crash.
                sync(ghyll)?;
            }
            Ok(Some(_)) | Err(GridError::TooLarge { .. }) => {
                return Err(GridError::VersionExists {
                    path: name.into(),
                    version,
                    newest,
                });
            }
            Ok(None) => {
                let next = newest.saturating_add(1);
                if version != next || version > MAX_VERSION {
                    return Err(GridError::VersionOutOfOrder { version, next });
                }
                create(ghyll, &name, text.as_bytes(), version)?;
            }
            Err(error) => return Err(error),
        }
        Grid::set_pointer(ghyll, version)
    }

    /// Makes the pointer name `version`, which must be the newest one.
    ///
    /// # Errors
    /// [`GridError::VersionMissing`], [`GridError::PointerStale`],
    /// [`GridError::Write`].
    pub fn set_pointer(ghyll: &Dir, version: u64) -> Result<(), GridError> {
        check_pointer(ghyll, version)?;
        replace(ghyll, POINTER, format!("v{version}\n").as_bytes()).map_err(|source| {
            let path = POINTER.into();
            GridError::Write { path, source }
        })
    }
}

/// Whether a pointer to `version` may stand.
fn check_pointer(ghyll: &Dir, version: u64) -> Result<(), GridError> {
    let name = file_name(version);
    let found = disk(ghyll).and_then(|disk| disk.meta(&name));
    let found = found.map_err(|source| GridError::Read {
        path: name.clone().into(),
        source,
    })?;
    if found.is_none() {
        let path = name.into();
        return Err(GridError::VersionMissing { path, version });
    }
    match newest_version(ghyll)? {
        Some(newest) if newest > version => Err(GridError::PointerStale {
            path: POINTER.into(),
            pointed: version,
            newest,
        }),
        _ => Ok(()),
    }
}

fn file_name(version: u64) -> String {
    format!("grid.v{version}.yaml")
}

/// SHA-256 of a grid file's bytes, in lower-case hex, as a checkpoint keeps it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The bytes of one version's file.
fn read_bytes(ghyll: &Dir, version: u64) -> Result<Vec<u8>, GridError> {
    let name = file_name(version);
    // A file by the name of no version is none.
    let bytes = match version {
        1..=MAX_VERSION => read_file(ghyll, &name, MAX_BYTES)?,
        _ => None,
    };
    bytes.ok_or_else(|| GridError::VersionMissing {
        path: name.into(),
        version,
    })
}

/// A version in the one way it is written: from 1, no sign, no leading zero.
fn canonical_version(digits: &str) -> Option<u64> {
    let version: u64 = digits.parse().ok()?;
    ((1..=MAX_VERSION).contains(&version) && version.to_string() == digits).then_some(version)
}

/// The newest version there is a file of.
pub(super) fn newest_version(ghyll: &Dir) -> Result<Option<u64>, GridError> {
    Ok(Grid::versions(ghyll)?.pop())
}

/// The bytes of a regular file of at most `max` bytes; `None` if absent.
fn read_file(ghyll: &Dir, name: &str, max: usize) -> Result<Option<Vec<u8>>, GridError> {
    disk(ghyll)
        .map_err(ReadError::from)
        .and_then(|disk| read_below(&disk, name, max as u64))
        .map_err(|error| unread(error, Path::new(name)))
}

/// Puts `bytes` under a name that nothing has, durably and all at once.
fn create(ghyll: &Dir, name: &str, bytes: &[u8], version: u64) -> Result<(), GridError> {
    let failed = |source| GridError::Write {
        path: name.into(),
        source,
    };
    // Named as temporary files are, so that one a crash leaves is swept.
    let temp = format!(".{name}.{:016x}.tmp", version);
    replace(ghyll, &temp, bytes).map_err(failed)?;
    // Unlike a rename, a link never takes the place of a file that has come
    // there meanwhile. Where a file system has no links, nothing else may
    // write, for the project is locked.
    let placed = match ghyll.hard_link(&temp, ghyll, name) {
        Ok(()) => ghyll.remove_file(&temp).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(GridError::VersionExists {
                path: name.into(),
                version,
                newest: version,
            })
        }
        Err(_) => ghyll.rename(&temp, ghyll, name).map_err(failed),
    };
    if placed.is_err() {
        let _ = ghyll.remove_file(&temp);
        return placed;
    }
    sync(ghyll)
}

/// Puts `bytes` under `name`, durably and all at once, in place of what is
/// there.
pub(super) fn replace(ghyll: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    files::replace::replace(&disk(ghyll)?, name, bytes)
}

/// Makes the names in `.ghyll` durable.
fn sync(ghyll: &Dir) -> Result<(), GridError> {
    disk(ghyll)
        .and_then(|disk| disk.sync_dir(""))
        .map_err(|source| GridError::Write {
            path: ".".into(),
            source,
        })
}

fn disk(ghyll: &Dir) -> io::Result<CapDisk> {
    CapDisk::new(ghyll)
}

#[cfg(test)]
mod tests;
