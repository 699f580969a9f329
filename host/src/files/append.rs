//! A file that only grows, by whole lines, durably or not at all.
//!
//! Tree files and the flat file are both of this kind. When a write fails, the
//! bytes that reached the file are cut off again before anything else may be
//! written; while that cannot be done the file refuses every further line, so
//! that the next one never lands behind half of another. A file that somebody
//! else changed, replaced or removed takes nothing either: a line in it would
//! not be where its reader looks.

use std::io;

use super::disk::{Disk, DiskFile, Kind, Meta, read_full};

/// Where a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of its first byte.
    pub offset: u64,
    /// The file afterwards.
    pub meta: Meta,
}

/// An open append-only file.
pub struct AppendFile {
    path: String,
    file: Box<dyn DiskFile>,
    /// Which file was opened under the path.
    id: (u64, u64),
    /// Length of what is known to be good.
    len: u64,
    /// The last good bytes, to be found again after a failed fsync.
    tail: Vec<u8>,
    /// The most that may stand behind what is good: a write that failed.
    pending: u64,
    /// Whether the file holds exactly what is known to be good.
    sound: bool,
    /// Whether the file's own name is known to be durable.
    linked: bool,
}

/// How much of the good content is compared after a failed fsync.
const TAIL: u64 = 4096;

impl AppendFile {
    /// Opens the file, which must have `expected` bytes of whole lines. Only
    /// when that is none is it made, with all directories above it.
    ///
    /// # Errors
    /// Those of the disk; a file of another length is refused, for then
    /// somebody else wrote to it.
    pub fn open(disk: &dyn Disk, path: &str, expected: u64) -> io::Result<Self> {
        let mut file = if expected == 0 {
            make(disk, path)?
        } else {
            disk.open_append(path)?
        };
        let meta = file.meta()?;
        if meta.bytes != expected {
            return Err(changed(meta.bytes, expected));
        }
        let tail = read_tail(file.as_mut(), expected)?;
        if tail.last().is_some_and(|last| *last != b'\n') {
            return Err(io::Error::other("ends in a partial line"));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            id: meta.id,
            len: expected,
            tail,
            pending: 0,
            sound: true,
            linked: expected > 0,
        })
    }

    /// Appends `lines`, whole ones, with one write and makes them durable,
    /// together with the file's own name the first time.
    ///
    /// # Errors
    /// Those of the disk. The file then holds what it held before, or refuses
    /// further lines until it can be brought back to that.
    pub fn append(&mut self, disk: &dyn Disk, lines: &[u8]) -> io::Result<Appended> {
        if !self.sound {
            self.restore(disk)?;
        }
        self.check_place(disk, self.len)?;
        self.pending = lines.len() as u64;
        match self.write_durably(disk, lines) {
            Ok(meta) => {
                let offset = self.len;
                self.len += self.pending;
                self.pending = 0;
                let from = lines.len().saturating_sub(TAIL as usize);
                self.tail = lines.get(from..).unwrap_or_default().to_vec();
                Ok(Appended { offset, meta })
            }
            Err(error) => {
                self.sound = false;
                // If this fails too, the next append tries again before it writes.
                let _ = self.restore(disk);
                Err(error)
            }
        }
    }

    /// Cuts off what a failed append left behind. A file that somebody else
    /// changed since is not this one's to mend, and left as it is.
    ///
    /// # Errors
    /// Those of the disk; then what was refused still stands in the file.
    pub fn mend(&mut self, disk: &dyn Disk) -> io::Result<()> {
        if self.sound || self.is_changed(disk)? {
            return Ok(());
        }
        self.restore(disk)
    }

    /// Whether the file no longer holds what was written to it, and at most
    /// what was refused after that.
    fn is_changed(&self, disk: &dyn Disk) -> io::Result<bool> {
        let meta = match disk.meta(&self.path)? {
            Some(meta) if meta.kind == Kind::File => meta,
            _ => return Ok(true),
        };
        if meta.bytes < self.len || meta.bytes > self.len + self.pending {
            return Ok(true);
        }
        let mut file = disk.open_read(&self.path)?;
        Ok(!read_tail(file.as_mut(), self.len)?.ends_with(&self.tail))
    }

    /// Length of what is known to be good, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is in it yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the file holds exactly what is known to be good.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Whether the path still leads to this file, as it was written.
    pub fn is_in_place(&self, disk: &dyn Disk) -> bool {
        self.check_place(disk, self.len).is_ok()
    }

    /// Whether the open file is still the one its path leads to, `len` long.
    fn check_place(&self, disk: &dyn Disk, len: u64) -> io::Result<Meta> {
        match disk.meta(&self.path)? {
            None => Err(io::Error::other("somebody else removed it")),
            Some(meta) if meta.id != self.id => Err(io::Error::other("somebody else replaced it")),
            Some(meta) if meta.bytes != len => Err(changed(meta.bytes, len)),
            Some(meta) => Ok(meta),
        }
    }

    fn write_durably(&mut self, disk: &dyn Disk, lines: &[u8]) -> io::Result<Meta> {
        let written = loop {
            match self.file.write(lines) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written != lines.len() {
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("only {written} of {} bytes could be written", lines.len()),
            ));
        }
        self.file.sync()?;
        if !self.linked {
            disk.sync_dir(above(&self.path))?;
            self.linked = true;
        }
        // A line is on record only where a reader will find it.
        self.check_place(disk, self.len + self.pending)
    }

    /// Brings the file back to what is known to be good, on a new handle: after
    /// a failed fsync neither the old handle nor its cached pages are trusted.
    fn restore(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let mut file = if self.len == 0 {
            // Nothing good was in it: if it is gone, a new one is as good.
            self.linked = false;
            make(disk, &self.path)?
        } else {
            disk.open_append(&self.path)?
        };
        let meta = file.meta()?;
        // Checked before cutting: lengthening a file would fill it with zeros,
        // and what is not ours is not cut off.
        if meta.bytes < self.len || !read_tail(file.as_mut(), self.len)?.ends_with(&self.tail) {
            return Err(io::Error::other("no longer holds what was written to it"));
        }
        if meta.bytes > self.len + self.pending {
            return Err(changed(meta.bytes, self.len));
        }
        file.set_len(self.len)?;
        file.sync()?;
        self.file = file;
        self.id = meta.id;
        self.pending = 0;
        self.sound = true;
        Ok(())
    }
}

/// Opens the file, making it and the directories above it where needed, in
/// such an order that one fsync of its own directory makes a new file findable.
///
/// A record is on record when its file will be found after a crash of the
/// machine, so every name on the way has to be durable. To fsync them all for
/// each new file costs more than the record itself. Instead this holds:
/// **a directory in which something is has a durable name.** For
/// 1. a directory made here is made durable in its parent before anything is
///    put into it;
/// 2. one that a process made and was killed before it could do so is empty,
///    and the name of an empty one is made durable before it is used. Only the
///    deepest one that is there can be such: those above it hold something;
/// 3. what comes in other ways (git, a copy) is made durable by whoever indexes
///    it, which is done before anything is written.
///
/// The file's own name is made durable after its first line, see
/// [`AppendFile::append`].
fn make(disk: &dyn Disk, path: &str) -> io::Result<Box<dyn DiskFile>> {
    let mut deepest = None;
    let mut made = false;
    for dir in parents(path) {
        let there = if made { None } else { disk.meta(dir)? };
        match there.map(|meta| meta.kind) {
            Some(Kind::Dir) => deepest = Some(dir),
            Some(Kind::Symlink) => return Err(io::Error::other("a symbolic link on the way")),
            Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
            None => {
                if !made {
                    settle(disk, deepest)?;
                }
                made = true;
                disk.create_dir(dir)?;
                disk.sync_dir(above(dir))?;
            }
        }
    }
    if !made {
        settle(disk, deepest)?;
    }
    disk.create_append(path)
}

/// Makes the name of a directory durable if it may not be so.
fn settle(disk: &dyn Disk, dir: Option<&str>) -> io::Result<()> {
    match dir {
        Some(dir) if disk.is_empty(dir)? => disk.sync_dir(above(dir)),
        _ => Ok(()),
    }
}

/// The directory that holds `path`.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

fn changed(found: u64, expected: u64) -> io::Error {
    io::Error::other(format!(
        "has {found} bytes where {expected} were written: somebody else changed it"
    ))
}

/// Makes every directory entry on the way to `path` durable, deepest first.
///
/// # Errors
/// Those of the disk.
pub fn sync_parents(disk: &dyn Disk, path: &str) -> io::Result<()> {
    for dir in parents(path).into_iter().rev() {
        disk.sync_dir(dir)?;
    }
    disk.sync_dir("")
}

/// The directories above a path, outermost first.
pub fn parents(path: &str) -> Vec<&str> {
    path.match_indices('/')
        .filter_map(|(at, _)| path.get(..at))
        .collect()
}

fn read_tail(file: &mut dyn DiskFile, len: u64) -> io::Result<Vec<u8>> {
    let from = len.saturating_sub(TAIL);
    let mut tail = vec![0; (len - from) as usize];
    let read = read_full(file, from, &mut tail)?;
    tail.truncate(read);
    Ok(tail)
}
