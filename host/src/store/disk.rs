//! The file system below `.ghyll`, as narrow as the store needs it.
//!
//! One trait, so that every call of the record path can be made to fail in a
//! test, and one real implementation over a directory capability. It follows
//! no symbolic link at any level: a link is an error, never a way elsewhere.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A socket, device or other thing that has no place here.
    Other,
}

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
    /// Makes a directory; one that exists is fine.
    fn create_dir(&self, dir: &str) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Opens a file to read and append, making it if it is not there.
    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file that is there to read and append.
    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file to read.
    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file or directory.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
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

    /// Walks down one component at a time, so that no link is followed.
    fn dir(&self, path: &str) -> io::Result<Dir> {
        let mut dir = self.root.try_clone()?;
        for component in path.split('/').filter(|c| !c.is_empty()) {
            dir = dir.open_dir_nofollow(component)?;
        }
        Ok(dir)
    }

    fn parent<'a>(&self, path: &'a str) -> io::Result<(Dir, &'a str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.dir(parent)?, name))
    }

    fn open(&self, path: &str, options: &mut OpenOptions) -> io::Result<Box<dyn DiskFile>> {
        let (dir, name) = self.parent(path)?;
        // O_NONBLOCK is not needed: a FIFO in the place of a file is refused first.
        if let Ok(meta) = dir.symlink_metadata(name) {
            match kind(meta.file_type()) {
                Kind::File => {}
                Kind::Symlink => return Err(io::Error::other("a symbolic link, not followed")),
                Kind::Dir => return Err(io::ErrorKind::IsADirectory.into()),
                Kind::Other => return Err(io::Error::other("not an ordinary file")),
            }
        }
        Ok(Box::new(
            dir.open_with(name, options.follow(FollowSymlinks::No))?,
        ))
    }
}

impl Disk for CapDisk {
    fn meta(&self, path: &str) -> io::Result<Option<Meta>> {
        let found = self
            .parent(path)
            .and_then(|(dir, name)| dir.symlink_metadata(name));
        match found {
            Ok(meta) => Ok(Some(meta_of(&meta))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn list(&self, dir: &str) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in self.dir(dir)?.entries()? {
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

    fn create_dir(&self, dir: &str) -> io::Result<()> {
        let (parent, name) = self.parent(dir)?;
        match parent.create_dir(name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                parent.open_dir_nofollow(name).map(drop)
            }
            other => other,
        }
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        crate::project::sync(&self.dir(dir)?)
    }

    fn create_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        self.open(path, options.read(true).append(true).create(true))
    }

    fn open_append(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.open(path, OpenOptions::new().read(true).append(true))
    }

    fn open_read(&self, path: &str) -> io::Result<Box<dyn DiskFile>> {
        self.open(path, OpenOptions::new().read(true))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let ((from_dir, from), (to_dir, to)) = (self.parent(from)?, self.parent(to)?);
        from_dir.rename(from, &to_dir, to)
    }

    fn remove_dir_all(&self, dir: &str) -> io::Result<()> {
        let (parent, name) = self.parent(dir)?;
        match parent.remove_dir_all(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

impl DiskFile for File {
    fn meta(&self) -> io::Result<Meta> {
        Ok(meta_of(&self.metadata()?))
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        self.read(buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        File::set_len(self, bytes)
    }
}

fn kind(kind: FileType) -> Kind {
    if kind.is_symlink() {
        Kind::Symlink
    } else if kind.is_dir() {
        Kind::Dir
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

fn meta_of(meta: &Metadata) -> Meta {
    let mtime = meta
        .modified()
        .ok()
        .and_then(|t| t.into_std().duration_since(UNIX_EPOCH).ok());
    Meta {
        kind: kind(meta.file_type()),
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
