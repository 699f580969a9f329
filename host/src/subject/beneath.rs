//! The project's files, reached from its root without following any link.
//!
//! A path is walked from an open root directory, so a directory that is
//! replaced by a link meanwhile leads nowhere, let alone out of the project.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};

/// What is compared to tell whether a file is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of content, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of content or of the inode, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The inode.
    pub inode: u64,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: u64| {
            let nanos = i64::try_from(nanos).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
        };
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // other types elsewhere
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            ctime_ns: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            inode: stat.st_ino as u64,
        }
    }

    /// The later of its two times, nanoseconds since 1970.
    pub(super) fn changed_ns(&self) -> i64 {
        self.mtime_ns.max(self.ctime_ns)
    }
}

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    Directory,
    Other(&'static str),
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Directory,
            FileType::Fifo => Self::Other("a pipe"),
            FileType::Socket => Self::Other("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Self::Other("a device"),
            FileType::Unknown => Self::Other("of an unknown kind"),
        }
    }
}

/// An open root directory.
pub(super) struct Beneath {
    root: OwnedFd,
}

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

impl Beneath {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let root = openat(CWD, root, directory(), Mode::empty())?;
        Ok(Self { root })
    }

    /// The root that a capability already is.
    pub(super) fn of(dir: &cap_std::fs::Dir) -> io::Result<Self> {
        let root = openat(dir, ".", directory(), Mode::empty())?;
        Ok(Self { root })
    }

    /// A directory below the root, for reading; `""` is the root itself.
    pub(super) fn dir(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let flags = directory() | OFlags::NOFOLLOW;
        if path.is_empty() {
            return Ok(openat(&self.root, ".", flags, Mode::empty())?);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::{ResolveFlags, openat2};
            let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match openat2(&self.root, path, flags, Mode::empty(), within) {
                Ok(dir) => return Ok(dir),
                // An old kernel, a sandbox, a path too long for one call.
                Err(
                    rustix::io::Errno::NOSYS
                    | rustix::io::Errno::PERM
                    | rustix::io::Errno::AGAIN
                    | rustix::io::Errno::NAMETOOLONG,
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut dir: Option<OwnedFd> = None;
        for name in path.split(|byte| *byte == b'/') {
            let above = dir.as_ref().unwrap_or(&self.root);
            dir = Some(openat(
                above,
                OsStr::from_bytes(name),
                flags,
                Mode::empty(),
            )?);
        }
        dir.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// What stands under a name in a directory, a link not followed.
pub(super) fn look(dir: impl AsFd, name: &[u8]) -> io::Result<(Kind, Stamp)> {
    let stat = statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)?;
    let kind = Kind::of(FileType::from_raw_mode(stat.st_mode));
    Ok((kind, Stamp::of(&stat)))
}

/// Opens a file for reading, never waiting for the other end of a pipe.
pub(super) fn open_file(dir: impl AsFd, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let name = OsStr::from_bytes(name);
    Ok(openat(dir, name, flags | OFlags::NOCTTY, Mode::empty())?)
}

/// A path's directory and name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (
            path.get(..at).unwrap_or_default(),
            path.get(at + 1..).unwrap_or_default(),
        ),
        None => (b"", path),
    }
}

/// A path with one more name.
pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    if !dir.is_empty() {
        path.extend(dir);
        path.push(b'/');
    }
    path.extend(name);
    path
}

/// Whether nothing is there (any more), be it that a directory above is gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::NotFound
        || code == Some(rustix::io::Errno::NOTDIR.raw_os_error())
        || code == Some(rustix::io::Errno::LOOP.raw_os_error())
}
