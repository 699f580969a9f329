//! From a path below a directory to an open file, with no link followed.
//!
//! Nothing is remembered between two calls: a directory that was renamed,
//! removed or replaced meanwhile is noticed, because the whole path is resolved
//! anew each time. On Linux the kernel does that in one call (`openat2` with
//! `RESOLVE_NO_SYMLINKS`), which costs less than to check that a directory
//! kept open is still the one with the name. Elsewhere, and where a sandbox
//! forbids that call, one component at a time is opened.
//!
//! Nothing here waits: a pipe in the place of a file is opened without
//! blocking and refused.

use std::fs::File;
use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::kind::{Kind, kind_of};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To read.
    Read,
    /// To read and append; it has to be there.
    Append,
    /// To read and append; it is made if it is not there.
    Create,
    /// To read and write anywhere; it is made if it is not there.
    Write,
    /// To read and write a file that must not be there yet. Only its owner may
    /// read it until somebody says otherwise.
    CreatePrivate,
    /// The same, as everybody may read it whom umask and directory allow.
    CreateNew,
}

/// Opens an ordinary file below `root`. No link is followed at any level, and
/// nothing that is not an ordinary file is ever waited for.
///
/// # Errors
/// Those of the file system; a link, a directory and a special file are errors.
pub fn open_below(root: &Dir, path: &str, way: Way) -> io::Result<File> {
    let file = open(root, path, way)?;
    match kind_of(&Metadata::from_file(&file)?) {
        Kind::File => Ok(file),
        Kind::Dir => Err(io::ErrorKind::IsADirectory.into()),
        Kind::Symlink => Err(link()),
        Kind::Other => Err(special()),
    }
}

/// A directory below `root`, to reach what is in it.
pub(crate) fn dir(root: &Dir, path: &str) -> io::Result<Dir> {
    #[cfg(target_os = "linux")]
    if let Some(found) = linux::dir(root, path, false) {
        return found;
    }
    walk(root, path)
}

/// A directory below `root`, to list it or make it durable.
pub(super) fn readable_dir(root: &Dir, path: &str) -> io::Result<Dir> {
    #[cfg(target_os = "linux")]
    if let Some(found) = linux::dir(root, path, true) {
        return found;
    }
    walk(root, path)
}

/// The directory that holds `path`, and its name there.
pub(super) fn parent<'a>(root: &Dir, path: &'a str) -> io::Result<(Dir, &'a str)> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    Ok((dir(root, parent)?, name))
}

/// What is at `path`, a link not followed.
pub(super) fn metadata(root: &Dir, path: &str) -> io::Result<Metadata> {
    match path.contains('/') {
        false => root.symlink_metadata(path),
        true => {
            let (dir, name) = parent(root, path)?;
            dir.symlink_metadata(name)
        }
    }
}

/// What kind of thing is at `path`, a link not followed; `None` if nothing is.
pub(crate) fn below_kind(root: &Dir, path: &str) -> io::Result<Option<Kind>> {
    match metadata(root, path) {
        Ok(meta) => Ok(Some(kind_of(&meta))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn open(root: &Dir, path: &str, way: Way) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Some(found) = linux::file(root, path, way) {
        return found;
    }
    let (dir, name) = parent(root, path)?;
    if let Ok(meta) = dir.symlink_metadata(name) {
        match kind_of(&meta) {
            Kind::File => {}
            Kind::Symlink => return Err(link()),
            Kind::Dir => return Err(io::ErrorKind::IsADirectory.into()),
            Kind::Other => return Err(special()),
        }
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    match way {
        Way::Read => &mut options,
        Way::Append => options.append(true),
        Way::Create => options.append(true).create(true),
        Way::Write => options.write(true).create(true),
        Way::CreatePrivate | Way::CreateNew => options.write(true).create_new(true),
    };
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsSyncExt;
        use cap_std::fs::OpenOptionsExt;
        options.nonblock(true);
        if way == Way::CreatePrivate {
            options.mode(0o600);
        }
    }
    Ok(dir.open_with(name, &options)?.into_std())
}

fn walk(root: &Dir, path: &str) -> io::Result<Dir> {
    let mut dir = root.try_clone()?;
    for component in path.split('/').filter(|c| !c.is_empty()) {
        dir = dir.open_dir_nofollow(component)?;
    }
    Ok(dir)
}

fn link() -> io::Error {
    io::Error::other("a symbolic link, not followed")
}

fn special() -> io::Error {
    io::Error::other("not an ordinary file")
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;

    use cap_std::fs::Dir;
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::{Way, link, special};

    pub(super) fn dir(root: &Dir, path: &str, readable: bool) -> Option<io::Result<Dir>> {
        let access = if readable {
            OFlags::RDONLY
        } else {
            OFlags::PATH
        };
        let path = if path.is_empty() { "." } else { path };
        let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let found = at(root, path, flags, Mode::empty())?;
        Some(found.map(|fd| Dir::from_std_file(File::from(fd))))
    }

    pub(super) fn file(root: &Dir, path: &str, way: Way) -> Option<io::Result<File>> {
        let everybody = Mode::from_raw_mode(0o666);
        let (flags, mode) = match way {
            Way::Read => (OFlags::RDONLY, Mode::empty()),
            Way::Append => (OFlags::RDWR | OFlags::APPEND, Mode::empty()),
            Way::Create => (OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, everybody),
            Way::Write => (OFlags::RDWR | OFlags::CREATE, everybody),
            Way::CreateNew => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, everybody),
            Way::CreatePrivate => (
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
                Mode::from_raw_mode(0o600),
            ),
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        Some(at(root, path, flags, mode)?.map(File::from))
    }

    /// `None` where the kernel does not have the call, or a sandbox forbids it.
    fn at(root: &Dir, path: &str, flags: OFlags, mode: Mode) -> Option<io::Result<OwnedFd>> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            return match openat2(root, path, flags | OFlags::CLOEXEC, mode, resolve) {
                Err(Errno::INTR) => continue,
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => None,
                Err(Errno::LOOP) => Some(Err(link())),
                // A socket, or a device without a driver.
                Err(Errno::NXIO) => Some(Err(special())),
                other => Some(other.map_err(io::Error::from)),
            };
        }
    }
}
