//! Putting a file in the place of another, durably and all at once.
//!
//! The new content is written under another name in the same directory, made
//! durable, and only then given the name: whoever reads sees the old file or
//! the new one, before and after a crash, never a part. The new file has mode
//! and group of the one it replaces, and is at no time open to more people; a
//! file that replaces none has what umask and directory give.
//!
//! A crash in between leaves the temporary file. Its name says so
//! (`.<name>.<16 hex digits>.tmp`, for `.gitignore`: `.*.tmp`), no reader
//! takes it for anything, and [`sweep`] removes it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::disk::{Disk, DiskFile, Kind};

/// What `.gitignore` needs to say of temporary files.
pub const TEMPORARY_PATTERN: &str = ".*.tmp";
/// Names tried until one is free.
const ATTEMPTS: u32 = 16;

/// Puts `bytes` under `path`.
///
/// # Errors
/// Those of the disk; then the old content stands, or, when only the last step
/// failed (the name made durable), the new one may.
pub fn replace(disk: &dyn Disk, path: &str, bytes: &[u8]) -> io::Result<()> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (temporary, mut file) = create_temporary(disk, dir, name, path)?;
    let done = write_all(file.as_mut(), bytes)
        .and_then(|()| file.sync())
        .and_then(|()| disk.rename(&temporary, path));
    drop(file);
    if let Err(error) = done {
        // The first failure is the one to tell; what is left is swept later.
        let _ = disk.remove_file(&temporary);
        return Err(error);
    }
    disk.sync_dir(dir)
}

/// Whether a name is that of a temporary file a crash may have left.
pub fn is_temporary(name: &str) -> bool {
    let inner = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"))
        .and_then(|name| name.rsplit_once('.'));
    inner.is_some_and(|(name, unique)| {
        !name.is_empty()
            && unique.len() == 16
            && unique
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Removes temporary files that crashes left in a directory, and says how many.
/// To be called by who holds the project's lock: nobody else replaces a file
/// then, so none of them is in use.
///
/// # Errors
/// Those of the disk.
pub fn sweep(disk: &dyn Disk, dir: &str) -> io::Result<u64> {
    let mut removed = 0;
    for entry in disk.list(dir)? {
        if entry.kind == Kind::File && is_temporary(&entry.name) {
            disk.remove_file(&join(dir, &entry.name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A new file beside `name`, under a name that no other writer has.
fn create_temporary(
    disk: &dyn Disk,
    dir: &str,
    name: &str,
    like: &str,
) -> io::Result<(String, Box<dyn DiskFile>)> {
    let mut attempts = 0;
    loop {
        let path = join(dir, &format!(".{name}.{}.tmp", unique()));
        match disk.create_new(&path, like) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {
                attempts += 1;
            }
            Err(e) => return Err(e),
        }
    }
}

/// Unlike what any other process makes, also one of another machine or process
/// table, without asking for randomness.
fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let digest = Sha256::digest(format!("{} {count} {now}", std::process::id()));
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn write_all(file: &mut dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn join(dir: &str, name: &str) -> String {
    match dir {
        "" => name.to_owned(),
        dir => format!("{dir}/{name}"),
    }
}
