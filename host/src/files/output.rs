//! Files that a command is told to write: a report, a recording, a copy.
//!
//! The name is the user's, so it means what it means to a shell's `>`: a link
//! is written through, a device or a FIFO is written to and never replaced. An
//! ordinary file holds all that was to be written or what it held before.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many links may lead on, as where the system looks.
const LINKS: usize = 40;

/// Writes `bytes` as the whole content of the file at `path`, durably. A file
/// that is there keeps its permissions; a new one gets what the umask leaves.
///
/// # Errors
/// Those of the file system. An ordinary file is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match target(path)? {
        Target::Ordinary(file, meta) => replace(&file, meta.as_ref(), bytes),
        Target::InPlace => {
            // Appending, for where a stream was redirected to a file there is
            // something before.
            let mut file = OpenOptions::new().append(true).open(path)?;
            file.write_all(bytes)
        }
    }
}

enum Target {
    /// An ordinary file that is there, or one that is to be.
    Ordinary(PathBuf, Option<Metadata>),
    /// A device, a FIFO, an open file of a process: no name to put a file at.
    InPlace,
}

/// What `path` leads to.
fn target(path: &Path) -> io::Result<Target> {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        let meta = match std::fs::symlink_metadata(&at) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Target::Ordinary(at, None)),
            Err(e) => return Err(e),
        };
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if meta.is_file() {
            return Ok(Target::Ordinary(at, Some(meta)));
        }
        if !meta.is_symlink() || is_open_file(&at) {
            return Ok(Target::InPlace);
        }
        let leads_to = std::fs::read_link(&at)?;
        at = match at.parent() {
            Some(parent) => parent.join(leads_to),
            None => leads_to,
        };
    }
    Err(io::Error::other("too many links"))
}

/// Whether a link is one of those that stand for the open files of a process:
/// what they read is no name to put a file at.
fn is_open_file(link: &Path) -> bool {
    let directory = link.parent().and_then(|parent| parent.canonicalize().ok());
    directory.is_some_and(|directory| directory.starts_with("/proc"))
}

fn replace(path: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if old.is_none() {
        // A file like any other, not a secret: what the umask leaves.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        if old.permissions().readonly() {
            // As if it were opened to be written.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // The file is in its place; that its name is durable is a matter of the
    // directory, which not every system lets one open.
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn an_ordinary_file_is_replaced_and_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("report.xml");
        write(&file, b"one").unwrap();
        let new = std::fs::metadata(&file).unwrap();
        let plain = File::create(dir.path().join("plain")).unwrap();
        assert_eq!(new.mode(), plain.metadata().unwrap().mode());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        write(&file, b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        let after = std::fs::metadata(&file).unwrap();
        assert_eq!(after.mode() & 0o777, 0o640);
        assert_ne!(after.ino(), new.ino(), "written beside and renamed");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_is_written_through_wherever_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        let (outer, inner) = (dir.path().join("outer"), dir.path().join("inner"));
        symlink("inner", &outer).unwrap();
        symlink("real/report", &inner).unwrap();
        for text in ["made", "written again"] {
            write(&outer, text.as_bytes()).unwrap();
            assert_eq!(
                std::fs::read_to_string(dir.path().join("real/report")).unwrap(),
                text
            );
            assert!(outer.is_symlink() && inner.is_symlink());
        }
        symlink("loop", dir.path().join("loop")).unwrap();
        assert!(write(&dir.path().join("loop"), b"x").is_err());
    }

    #[test]
    fn a_device_and_a_fifo_are_written_to_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let null = dir.path().join("null");
        symlink("/dev/null", &null).unwrap();
        write(&null, b"gone").unwrap();
        assert!(null.is_symlink());
        let meta = std::fs::metadata("/dev/null").unwrap();
        assert!(meta.file_type().is_char_device());

        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let from = fifo.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(from).unwrap().read_to_string(&mut text).unwrap();
            text
        });
        write(&fifo, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        let meta = std::fs::symlink_metadata(&fifo).unwrap();
        assert!(meta.file_type().is_fifo());
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), b"x").is_err());
        assert!(write(&dir.path().join("no/such"), b"x").is_err());
        let file = dir.path().join("kept");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert!(write(&file, b"new").is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
