//! The file system below `.ghyll`, as narrow as the store needs it.
//!
//! One trait, so that every call of the record path can be made to fail in a
//! test, and one real implementation over a directory capability. It follows
//! no symbolic link at any level: a link is an error, never a way elsewhere.
//! No directory is kept open between two calls, so none that was removed or
//! replaced underneath is ever written to; see [`super::resolve`] for why that
//! is not slow.

use std::fs::File;
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, Metadata};

pub use super::kind::Kind;
use super::kind::{kind, kind_of};
use super::resolve::{self, Way, open_below};
use crate::seam;

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of last change of content, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Which file it is, whatever its name: device and inode.
    pub id: (u64, u64),
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; a name that is no Unicode is replaced by a readable one.
    pub name: String,
    /// What it is; a name that is no Unicode makes it `Other`.
    pub kind: Kind,
}

/// A tree of files. Paths are relative, with `/`.
pub trait Disk: Send + Sync {
    /// What is at `path`, a link not followed; `None` if nothing is.
    fn meta(&self, path: &str) -> io::Result<Option<Meta>>;
    /// The entries of a directory, by name.
    fn list(&self, dir: &str) -> io::Result<Vec<Entry>>;
    /// As [`Self::list`], with what [`Self::meta`] says of each entry, at the
    /// cost of one look instead of a way from the root. An entry that is gone
    /// before it was looked at is left out.
    fn list_meta(&self, dir: &str) -> io::Result<Vec<(Entry, io::Result<Meta>)>>;
    /// Whether nothing is in a directory.
    fn is_empty(&self, dir: &str) -> io::Result<bool>;
    /// Makes a directory; one that exists is fine.
    fn create_dir(&self, dir: &str) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Makes everything durable that was written so far, by anybody: one call
    /// for bulk work, in the place of one for each file and directory.
    fn sync_all(&self) -> io::Result<()>;
    /// Makes a file that is not there yet, with mode and group of the file
    /// `like` where that is there, and never open to more people than it.
    fn create_new(&self, path: &str, like: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file to read and append, making it if it is not there.
    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file that is there to read and append.
    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file to read.
    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file or directory.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file or link; one that is not there is fine.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Removes a directory and all in it; one that is not there is fine.
    fn remove_dir_all(&self, dir: &str) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send {
    /// What is known of it now.
    fn meta(&self) -> io::Result<Meta>;
    /// One read at an offset; 0 at the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// One write at the end; may take less than all.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Makes content and length durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to a length.
    fn set_len(&mut self, bytes: u64) -> io::Result<()>;
}

/// The real one.
#[derive(Debug)]
pub struct CapDisk {
    root: Dir,
}

impl CapDisk {
    /// Everything below `root`.
    ///
    /// # Errors
    /// If the capability cannot be duplicated.
    pub fn new(root: &Dir) -> io::Result<Self> {
        Ok(Self {
            root: root.try_clone()?,
        })
    }

    fn open(&self, path: &str, way: Way) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(open_below(&self.root, path, way)?))
    }

    fn entries(&self, dir: &Dir) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            entries.push(match entry.file_name().into_string() {
                Ok(name) => Entry {
                    name,
                    kind: kind(entry.file_type()?),
                },
                Err(name) => Entry {
                    name: name.to_string_lossy().into_owned(),
                    kind: Kind::Other,
                },
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

impl Disk for CapDisk {
    fn meta(&self, path: &str) -> io::Result<Option<Meta>> {
        seam::step();
        match resolve::metadata(&self.root, path) {
            Ok(meta) => Ok(Some(meta_of(&meta))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn list(&self, dir: &str) -> io::Result<Vec<Entry>> {
        seam::step();
        self.entries(&resolve::readable_dir(&self.root, dir)?)
    }

    fn list_meta(&self, dir: &str) -> io::Result<Vec<(Entry, io::Result<Meta>)>> {
        seam::step();
        let dir = resolve::readable_dir(&self.root, dir)?;
        let entries = self.entries(&dir)?;
        let looked = entries.into_iter().filter_map(|entry| {
            match dir.symlink_metadata(&entry.name) {
                // What it was when it was listed counts for nothing any more.
                Ok(meta) => {
                    let kind = if entry.kind == Kind::Other {
                        Kind::Other
                    } else {
                        kind_of(&meta)
                    };
                    Some((Entry { kind, ..entry }, Ok(meta_of(&meta))))
                }
                // A name that is no Unicode is not found by what stands for it.
                Err(e) if e.kind() == io::ErrorKind::NotFound && entry.kind != Kind::Other => None,
                Err(e) => Some((entry, Err(e))),
            }
        });
        Ok(looked.collect())
    }

    fn is_empty(&self, dir: &str) -> io::Result<bool> {
        seam::step();
        let dir = resolve::readable_dir(&self.root, dir)?;
        Ok(dir.entries()?.next().transpose()?.is_none())
    }

    fn create_dir(&self, dir: &str) -> io::Result<()> {
        seam::step();
        let (parent, name) = resolve::parent(&self.root, dir)?;
        match parent.create_dir(name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                parent.open_dir_nofollow(name).map(drop)
            }
            other => other,
        }
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        seam::step();
        sync_dir(&resolve::readable_dir(&self.root, dir)?)
    }

    #[cfg(target_os = "linux")]
    fn sync_all(&self) -> io::Result<()> {
        seam::step();
        let root = resolve::readable_dir(&self.root, "")?.into_std_file();
        Ok(rustix::fs::syncfs(root)?)
    }

    /// Other systems have no such call that waits: each file is made durable.
    #[cfg(not(target_os = "linux"))]
    fn sync_all(&self) -> io::Result<()> {
        seam::step();
        sync_below(self, "")
    }

    fn create_new(&self, path: &str, like: &str) -> io::Result<Box<dyn DiskFile>> {
        seam::step();
        let model = match resolve::metadata(&self.root, like) {
            Ok(meta) if meta.is_file() => Some(meta),
            Ok(_) => None,
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let Some(model) = model else {
            return self.open(path, Way::CreateNew);
        };
        let file = open_below(&self.root, path, Way::CreatePrivate)?;
        permit_like(&file, &model)?;
        Ok(Box::new(file))
    }

    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        seam::step();
        self.open(path, Way::Create)
    }

    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        seam::step();
        self.open(path, Way::Append)
    }

    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        seam::step();
        self.open(path, Way::Read)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        seam::step();
        let (from_dir, from) = resolve::parent(&self.root, from)?;
        let (to_dir, to) = resolve::parent(&self.root, to)?;
        from_dir.rename(from, &to_dir, to)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        seam::step();
        let (parent, name) = resolve::parent(&self.root, path)?;
        match parent.remove_file(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn remove_dir_all(&self, dir: &str) -> io::Result<()> {
        seam::step();
        let (parent, name) = resolve::parent(&self.root, dir)?;
        match parent.remove_dir_all(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

impl DiskFile for File {
    fn meta(&self) -> io::Result<Meta> {
        seam::step();
        Ok(meta_of(&Metadata::from_file(self)?))
    }

    #[cfg(unix)]
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        seam::step();
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        seam::step();
        use std::io::{Read, Seek, SeekFrom};
        self.seek(SeekFrom::Start(offset))?;
        self.read(buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        seam::step();
        Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        seam::step();
        self.sync_all()
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        seam::step();
        File::set_len(self, bytes)
    }
}

/// Makes the names in a directory durable.
///
/// # Errors
/// Those of the disk.
pub(crate) fn sync_dir(dir: &Dir) -> io::Result<()> {
    // Opened anew, for the handle may be one that only leads somewhere.
    dir.open(".")?.sync_all()
}

#[cfg(not(target_os = "linux"))]
fn sync_below(disk: &CapDisk, dir: &str) -> io::Result<()> {
    for entry in disk.list(dir)? {
        let path = match dir {
            "" => entry.name,
            dir => format!("{dir}/{}", entry.name),
        };
        match entry.kind {
            Kind::Dir => sync_below(disk, &path)?,
            // Windows makes durable only what may be written.
            Kind::File => disk.open_append(&path)?.sync()?,
            Kind::Symlink | Kind::Other => {}
        }
    }
    disk.sync_dir(dir)
}

/// Gives a file that only its owner may use the mode and group of another.
#[cfg(unix)]
fn permit_like(file: &File, model: &Metadata) -> io::Result<()> {
    use rustix::fs::{Gid, Mode, fchmod, fchown};
    use std::os::unix::fs::MetadataExt as _;
    let (group, mode) = (
        cap_std::fs::MetadataExt::gid(model),
        cap_std::fs::MetadataExt::mode(model),
    );
    let mut mode = Mode::from_raw_mode(mode as _) & Mode::from_raw_mode(0o777);
    let given =
        file.metadata()?.gid() == group || fchown(file, None, Some(Gid::from_raw(group))).is_ok();
    if !given {
        // Somebody not in that group may not give it away; then the bits meant
        // for it must not open the file to another group.
        mode &= !Mode::RWXG;
    }
    Ok(fchmod(file, mode)?)
}

/// Permissions come from the directory there.
#[cfg(not(unix))]
fn permit_like(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Where the last whole line among the first `bytes` bytes ends.
///
/// # Errors
/// Those of the file.
pub fn last_newline(file: &mut dyn DiskFile, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    let mut buffer = [0; 4096];
    while end > 0 {
        let from = end.saturating_sub(buffer.len() as u64);
        let piece = buffer.get_mut(..(end - from) as usize).unwrap_or_default();
        let read = read_full(file, from, piece)?;
        if let Some(at) = piece.iter().take(read).rposition(|b| *b == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

pub(crate) fn meta_of(meta: &Metadata) -> Meta {
    let mtime = meta
        .modified()
        .ok()
        .and_then(|t| t.into_std().duration_since(UNIX_EPOCH).ok());
    Meta {
        kind: kind_of(meta),
        bytes: meta.len(),
        mtime_ns: mtime
            .and_then(|t| i64::try_from(t.as_nanos()).ok())
            .unwrap_or(0),
        id: (meta.dev(), meta.ino()),
    }
}

/// Reads `buffer` full, or as much as there is.
///
/// # Errors
/// Those of the file.
pub fn read_full(file: &mut dyn DiskFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + filled as u64, rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// The first bytes of a file, as if it ended there.
pub struct Prefix {
    file: Box<dyn DiskFile>,
    bytes: u64,
}

impl Prefix {
    /// The first `bytes` bytes of `file`.
    pub fn new(file: Box<dyn DiskFile>, bytes: u64) -> Self {
        Self { file, bytes }
    }
}

/// Bytes that are held, to be read as a file is.
pub struct Bytes(pub Vec<u8>);

impl DiskFile for Bytes {
    fn meta(&self) -> io::Result<Meta> {
        Ok(Meta {
            kind: Kind::File,
            bytes: self.0.len() as u64,
            mtime_ns: 0,
            id: (0, 0),
        })
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut rest = self.0.get(from..).unwrap_or_default();
        io::Read::read(&mut rest, buffer)
    }

    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

impl DiskFile for Prefix {
    fn meta(&self) -> io::Result<Meta> {
        let meta = self.file.meta()?;
        Ok(Meta {
            bytes: meta.bytes.min(self.bytes),
            ..meta
        })
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        self.file
            .read_at(offset, buffer.get_mut(..room).unwrap_or_default())
    }

    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn set_len(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
