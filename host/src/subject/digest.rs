//! The digests of many files, on all cores, each of one state of its file.
//!
//! A file is looked at before and after it is read. If the two looks differ it
//! is read again, a few times, then refused: never a digest of half of each.
//! A clock's grain hides a second change right after a first, so a file that
//! changed within the last ticks is given time to age before it is read.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::readlinkat;
use rustix::io::Errno;
use sha2::Digest as _;

use super::beneath::{Beneath, Kind, Stamp, is_gone, look, open_file, split};
use super::error::SubjectError;
use super::manifest::{Entry, Sha256};
use super::memory::{Memory, Remembered};
use super::walk::{Found, threads};

/// The grain of the kernel's own clock, amply; what changed within it may
/// change again without a later time.
const TICK_NS: i64 = 20_000_000;
/// How often a file that changes is read.
const TRIES: u32 = 5;
const BUFFER: usize = 256 << 10;
/// Files from this size are begun first, so that no core is left alone with one.
const LARGE: u64 = 8 << 20;

/// What is relied on to know a file's bytes.
pub enum Reading<'a> {
    /// Nothing but the bytes: every file is read. For a gate and for a record.
    /// What was read is remembered, where there is a memory.
    EveryByte(Option<&'a mut Memory>),
    /// A file whose stamp is the one remembered is not read. For a status.
    Remembered(&'a mut Memory),
}

/// The digests of these files, which are sorted by path. One that is gone by
/// now is left out.
pub(super) fn digest(
    beneath: &Beneath,
    files: Vec<Found>,
    reading: Reading<'_>,
) -> Result<Vec<Entry>, SubjectError> {
    let (mut memory, relies) = match reading {
        Reading::EveryByte(memory) => (memory, false),
        Reading::Remembered(memory) => (Some(memory), true),
    };
    let mut known: Vec<Option<Sha256>> = vec![None; files.len()];
    if let (true, Some(memory)) = (relies, &mut memory) {
        for (file, known) in files.iter().zip(&mut known) {
            let remembered = memory.get(&file.path);
            *known = remembered
                .filter(|r| r.holds_for(&file.stamp))
                .map(|r| r.sha256);
        }
    }
    let unknown = |(at, _): &(usize, &Found)| known.get(*at) == Some(&None);
    let mut todo: Vec<(usize, &Found)> = files.iter().enumerate().filter(unknown).collect();
    todo.sort_by_key(|(at, file)| match file.stamp.size {
        size if size >= LARGE => (u64::MAX - size, *at),
        _ => (u64::MAX, *at),
    });
    let mut read = read_all(beneath, &todo)?;
    drop(todo);
    read.sort_unstable_by_key(|(at, _)| *at);
    for (at, digest) in &read {
        let (Some(digest), Some(file)) = (digest, files.get(*at)) else {
            continue;
        };
        if let Some(memory) = &mut memory {
            memory.learn(&file.path, *digest);
        }
        if let Some(known) = known.get_mut(*at) {
            *known = Some(digest.sha256);
        }
    }
    drop(read);
    let entry = |(file, known): (Found, Option<Sha256>)| {
        known.map(|sha256| Entry {
            path: file.path,
            sha256,
        })
    };
    Ok(files.into_iter().zip(known).filter_map(entry).collect())
}

/// Which file, and its digest if it was still there.
type Digested = (usize, Option<Remembered>);

fn read_all(beneath: &Beneath, todo: &[(usize, &Found)]) -> Result<Vec<Digested>, SubjectError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut reader = Reader::new(beneath);
        let mut read = Vec::new();
        while !failed.load(Ordering::Relaxed)
            && let Some((at, file)) = todo.get(next.fetch_add(1, Ordering::Relaxed))
        {
            match reader.read(file.path.as_bytes()) {
                Ok(digest) => read.push((*at, digest)),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(read)
    };
    if todo.len() < 2 {
        return work();
    }
    let parts: Vec<Result<Vec<Digested>, SubjectError>> = std::thread::scope(|scope| {
        // Where no thread can be had, this one reads alone.
        let helper = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..threads()).filter_map(helper).collect();
        let own = work();
        let lost = |_| SubjectError::unreadable(b"", io::Error::other("a thread was lost"));
        let joined = workers.into_iter().map(|worker| worker.join());
        std::iter::once(own)
            .chain(joined.map(|part| part.map_err(lost).flatten()))
            .collect()
    });
    let mut read = Vec::with_capacity(todo.len());
    for part in parts {
        read.extend(part?);
    }
    Ok(read)
}

/// Reads one file after the other; the last one's directory is kept open, for
/// the next is mostly in it.
pub(super) struct Reader<'a> {
    beneath: &'a Beneath,
    dir: Option<(Vec<u8>, OwnedFd)>,
    buffer: Vec<u8>,
    /// Called after each piece read, to let a test interfere.
    #[cfg(test)]
    pub(super) meanwhile: Option<Box<dyn FnMut() + 'a>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(beneath: &'a Beneath) -> Self {
        Self {
            beneath,
            dir: None,
            buffer: vec![0; BUFFER],
            #[cfg(test)]
            meanwhile: None,
        }
    }

    /// The digest of what stands at a path; `None` if nothing does any more.
    pub(super) fn read(&mut self, path: &[u8]) -> Result<Option<Remembered>, SubjectError> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                // Whoever writes it gets a chance to come to an end.
                std::thread::sleep(Duration::from_millis(10 << attempt));
            }
            match self.attempt(path) {
                Ok(Attempt::Read(digest)) => return Ok(Some(digest)),
                Ok(Attempt::Changed) => {}
                Ok(Attempt::NotAFile(what)) => {
                    let path = super::error::shown(path);
                    return Err(SubjectError::NotAFile { path, what });
                }
                Err(e) if is_gone(&e) => return Ok(None),
                Err(e) => return Err(SubjectError::unreadable(path, e)),
            }
        }
        Err(SubjectError::Changing {
            path: super::error::shown(path),
            tries: TRIES,
        })
    }

    fn attempt(&mut self, path: &[u8]) -> io::Result<Attempt> {
        let (parent, name) = split(path);
        let dir = match self.dir.take() {
            Some((open, dir)) if open == parent => dir,
            _ => self.beneath.dir(parent)?,
        };
        let result = self.attempt_in(&dir, name);
        // Opened anew after a change: the directory may be another by now.
        if let Ok(Attempt::Read(_)) = result {
            self.dir = Some((parent.to_vec(), dir));
        }
        result
    }

    fn attempt_in(&mut self, dir: &OwnedFd, name: &[u8]) -> io::Result<Attempt> {
        let (kind, before) = look(dir, name)?;
        let age = age_ns(&before);
        if (0..TICK_NS).contains(&age) {
            let left = TICK_NS.saturating_sub(age).unsigned_abs();
            std::thread::sleep(Duration::from_nanos(left));
            if look(dir, name)? != (kind, before) {
                return Ok(Attempt::Changed);
            }
        }
        let seen_at_ns = now_ns();
        let sha256 = match kind {
            Kind::File => match self.hash(dir, name, &before) {
                // No time to come can be waited for; twice the same will do.
                Ok(Some(sha256)) if age < 0 => match self.hash(dir, name, &before) {
                    Ok(again) if again == Some(sha256) => sha256,
                    Err(e) if !is_gone(&e) => return Err(e),
                    _ => return Ok(Attempt::Changed),
                },
                Ok(Some(sha256)) => sha256,
                Ok(None) => return Ok(Attempt::Changed),
                // It was there a moment ago; the next look tells what is now.
                Err(e) if is_gone(&e) => return Ok(Attempt::Changed),
                Err(e) => return Err(e),
            },
            Kind::Link => match readlinkat(dir, OsStr::from_bytes(name), Vec::new()) {
                Ok(target) => Sha256::of(target.to_bytes()),
                Err(Errno::NOENT | Errno::INVAL) => return Ok(Attempt::Changed),
                Err(e) => return Err(e.into()),
            },
            Kind::Directory => return Ok(Attempt::Changed),
            Kind::Other(what) => return Ok(Attempt::NotAFile(what)),
        };
        if look(dir, name)? != (kind, before) {
            return Ok(Attempt::Changed);
        }
        Ok(Attempt::Read(Remembered {
            stamp: before,
            sha256,
            seen_at_ns,
        }))
    }

    /// `None` when what was opened or read is not what was looked at.
    fn hash(&mut self, dir: &OwnedFd, name: &[u8], before: &Stamp) -> io::Result<Option<Sha256>> {
        let mut file = std::fs::File::from(open_file(dir, name)?);
        let is_same = |file: &std::fs::File| -> io::Result<bool> {
            Ok(Stamp::of(&rustix::fs::fstat(file)?) == *before)
        };
        if !is_same(&file)? {
            return Ok(None);
        }
        let (mut hash, mut size) = (sha2::Sha256::new(), 0);
        loop {
            let read = match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            hash.update(self.buffer.get(..read).unwrap_or_default());
            size += read as u64;
            #[cfg(test)]
            if let Some(meanwhile) = &mut self.meanwhile {
                meanwhile();
            }
            if size > before.size {
                return Ok(None); // it grows, perhaps for ever
            }
        }
        let whole = size == before.size && is_same(&file)?;
        Ok(whole.then(|| Sha256(hash.finalize().into())))
    }
}

enum Attempt {
    Read(Remembered),
    Changed,
    NotAFile(&'static str),
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.ok()
        .and_then(|now| i64::try_from(now.as_nanos()).ok())
        .unwrap_or(0)
}

/// How old the last change of a file is by its inode's time, which nobody can
/// set; less than nothing where a clock was put back or a server's is ahead.
fn age_ns(stamp: &Stamp) -> i64 {
    now_ns().saturating_sub(stamp.ctime_ns)
}
