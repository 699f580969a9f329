//! Grid files and the pointer to the one in force.
//!
//! All access goes through the opened `.ghyll` directory and follows no
//! symbolic link, so that nothing outside it can pose as a grid.
//!
//! A version is written in full under another name, made durable, and only
//! then given its own; the pointer follows the same way. So a crash leaves
//! either the old state, or the new version with the old pointer, which
//! reading refuses as stale and writing the same text again completes.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::{Dir, File, OpenOptions};

use super::{Grid, GridError, MAX_BYTES};

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
        let name = file_name(version);
        let Some(bytes) = read_file(ghyll, &name, MAX_BYTES)? else {
            let path = name.into();
            return Err(GridError::VersionMissing { path, version });
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().iter().take(valid);
            GridError::NotUtf8 {
                path: name.clone().into(),
                line: 1 + before.filter(|byte| **byte == b'\n').count(),
            }
        })?;
        Grid::parse(&text, version, Path::new(&name))
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
        let line = found.strip_suffix('\n').unwrap_or(&found);
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
                sync_directory(ghyll)?;
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
                if version != next {
                    return Err(GridError::VersionOutOfOrder { version, next });
                }
                replace(ghyll, &name, text.as_bytes())?;
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
        replace(ghyll, POINTER, format!("v{version}\n").as_bytes())
    }
}

/// Whether a pointer to `version` may stand.
fn check_pointer(ghyll: &Dir, version: u64) -> Result<(), GridError> {
    let name = file_name(version);
    if metadata(ghyll, &name)?.is_none() {
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

/// A version in the one way it is written: from 1, no sign, no leading zero.
fn canonical_version(digits: &str) -> Option<u64> {
    let version: u64 = digits.parse().ok()?;
    (version > 0 && version.to_string() == digits).then_some(version)
}

/// The newest version there is a file of.
fn newest_version(ghyll: &Dir) -> Result<Option<u64>, GridError> {
    let failed = |source| GridError::Read {
        path: ".".into(),
        source,
    };
    let mut newest = None;
    for entry in ghyll.entries().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let version = name
            .to_str()
            .and_then(|name| name.strip_prefix("grid.v")?.strip_suffix(".yaml"))
            .and_then(canonical_version);
        newest = newest.max(version);
    }
    Ok(newest)
}

/// What stands under `name`, if anything.
fn metadata(ghyll: &Dir, name: &str) -> Result<Option<cap_std::fs::Metadata>, GridError> {
    match ghyll.symlink_metadata(name) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => {
            let path = name.into();
            Err(GridError::Read { path, source })
        }
    }
}

/// The bytes of a regular file of at most `max` bytes; `None` if absent.
fn read_file(ghyll: &Dir, name: &str, max: usize) -> Result<Option<Vec<u8>>, GridError> {
    let path = || PathBuf::from(name);
    let Some(metadata) = metadata(ghyll, name)? else {
        return Ok(None);
    };
    // Looked at before opening, because opening a pipe would wait for a writer.
    if metadata.is_symlink() {
        return Err(GridError::SymlinkRefused { path: path() });
    }
    if !metadata.is_file() {
        return Err(GridError::NotAFile { path: path() });
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    ghyll
        .open_with(name, &options)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|source| GridError::Read {
            path: path(),
            source,
        })?;
    if bytes.len() > max {
        return Err(GridError::TooLarge { path: path() });
    }
    Ok(Some(bytes))
}

/// Puts `bytes` under `name`, durably and all at once.
fn replace(ghyll: &Dir, name: &str, bytes: &[u8]) -> Result<(), GridError> {
    let failed = |source| GridError::Write {
        path: name.into(),
        source,
    };
    let (temp, mut file) = create_temp(ghyll, name).map_err(failed)?;
    let renamed = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| ghyll.rename(&temp, ghyll, name));
    if let Err(source) = renamed {
        // The first failure is the one to tell; a leftover is only litter.
        let _ = ghyll.remove_file(&temp);
        return Err(failed(source));
    }
    sync_directory(ghyll)
}

/// A new file next to `name`, under a name no other writer has. A leftover of
/// a crash with the same name is passed over, not overwritten.
fn create_temp(ghyll: &Dir, name: &str) -> io::Result<(String, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options.follow(FollowSymlinks::No);
    loop {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temp = format!(".{name}.{}-{count}.tmp", process::id());
        match ghyll.open_with(&temp, &options) {
            Ok(file) => return Ok((temp, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes the names in the directory durable.
fn sync_directory(ghyll: &Dir) -> Result<(), GridError> {
    // The handle itself may have been opened without the right to be synced.
    let mut options = OpenOptions::new();
    options.read(true).maybe_dir(true);
    ghyll
        .open_with(".", &options)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| GridError::Write {
            path: ".".into(),
            source,
        })
}

#[cfg(test)]
mod tests;
