//! A file that only grows, by whole lines, durably or not at all.
//!
//! Tree files and the flat file are both of this kind. When a write fails, the
//! bytes that reached the file are cut off again before anything else may be
//! written; while that cannot be done the file refuses every further line, so
//! that the next one never lands behind half of another.

use std::io;

use super::disk::{Disk, DiskFile, Meta, read_full};

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
    /// Length of what is known to be good.
    len: u64,
    /// The last good bytes, to be found again after a failed fsync.
    tail: Vec<u8>,
    /// Whether the file holds exactly what is known to be good.
    sound: bool,
    /// Whether the way to the file is known to be durable.
    linked: bool,
}

/// How much of the good content is compared after a failed fsync.
const TAIL: u64 = 4096;

impl AppendFile {
    /// Opens (or makes) the file with all directories above it.
    ///
    /// # Errors
    /// Those of the disk; a file that does not have `expected` bytes is
    /// refused, for then somebody else wrote to it.
    pub fn open(disk: &dyn Disk, path: &str, expected: u64) -> io::Result<Self> {
        for dir in parents(path) {
            disk.create_dir(dir)?;
        }
        let mut file = disk.open_append(path)?;
        let len = file.meta()?.bytes;
        if len != expected {
            return Err(io::Error::other(format!(
                "has {len} bytes where {expected} were written: somebody else changed it"
            )));
        }
        let tail = read_tail(file.as_mut(), len)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            len,
            tail,
            sound: true,
            linked: len > 0,
        })
    }

    /// Appends `line` with one write and makes it durable, together with the
    /// directories that lead to it the first time.
    ///
    /// # Errors
    /// Those of the disk. The file then holds what it held before, or refuses
    /// further lines until it can be brought back to that.
    pub fn append(&mut self, disk: &dyn Disk, line: &[u8]) -> io::Result<Appended> {
        if !self.sound {
            self.restore(disk)?;
        }
        let found = self.file.meta()?.bytes;
        if found != self.len {
            return Err(io::Error::other(format!(
                "has {found} bytes where {} were written: somebody else changed it",
                self.len
            )));
        }
        match self.write_durably(disk, line) {
            Ok(meta) => {
                let offset = self.len;
                self.len += line.len() as u64;
                let from = line.len().saturating_sub(TAIL as usize);
                self.tail = line.get(from..).unwrap_or_default().to_vec();
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

    /// Whether the file may be written to as it stands.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    fn write_durably(&mut self, disk: &dyn Disk, line: &[u8]) -> io::Result<Meta> {
        let written = loop {
            match self.file.write(line) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written != line.len() {
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("only {written} of {} bytes could be written", line.len()),
            ));
        }
        self.file.sync()?;
        if !self.linked {
            sync_parents(disk, &self.path)?;
            self.linked = true;
        }
        let meta = self.file.meta()?;
        if meta.bytes != self.len + line.len() as u64 {
            return Err(io::Error::other(
                "somebody else wrote to it at the same time",
            ));
        }
        Ok(meta)
    }

    /// Brings the file back to what is known to be good, on a new handle: after
    /// a failed fsync neither the old handle nor its cached pages are trusted.
    fn restore(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let mut file = disk.open_append(&self.path)?;
        // Checked before cutting: lengthening a file would fill it with zeros.
        if file.meta()?.bytes < self.len
            || !read_tail(file.as_mut(), self.len)?.ends_with(&self.tail)
        {
            return Err(io::Error::other("no longer holds what was written to it"));
        }
        file.set_len(self.len)?;
        file.sync()?;
        self.file = file;
        self.sound = true;
        Ok(())
    }
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

fn parents(path: &str) -> Vec<&str> {
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
