//! Digests remembered from one look to the next.
//!
//! As git does with its index, what was remembered about a file that had
//! changed shortly before is not relied on: a later change could bear the same
//! time. And whoever can set clocks and times can forge a stamp, so gates and
//! records never rely on memory at all.
//!
//! There may be as many as there are files, and a status asks for each of them
//! once, by path: so what was known is one text and one list, read along. It is
//! fetched while the files are being found, by a thread of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::thread::JoinHandle;

use super::beneath::Stamp;
use super::manifest::Sha256;

/// The coarsest grain of a file's times that is reckoned with: FAT's, and some
/// leeway for a file server's clock.
const GRAIN_NS: i64 = 2_000_000_000;

/// A digest and what it was a digest of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// The file as it was before and after it was read.
    pub stamp: Stamp,
    /// Of its bytes.
    pub sha256: Sha256,
    /// When it was looked at, nanoseconds since 1970 by the system's clock.
    pub seen_at_ns: i64,
}

impl Remembered {
    /// Whether it may be taken for a file with this stamp: the same one, which
    /// was well past its last change when it was seen.
    #[must_use]
    pub fn holds_for(&self, stamp: &Stamp) -> bool {
        self.stamp == *stamp && stamp.changed_ns() < self.seen_at_ns.saturating_sub(GRAIN_NS)
    }
}

/// What was known of files, by path from the project's root, in one order.
#[derive(Debug, Default)]
pub struct Known {
    paths: String,
    files: Vec<(Range<usize>, Remembered)>,
    /// Where in `files` the next question is likely to be about.
    next: usize,
}

impl Known {
    /// Takes up what is known of a file; in the order of the paths' bytes, one
    /// that comes out of order is passed over and its file read again.
    pub fn add(&mut self, path: &str, remembered: Remembered) {
        if self.path(self.files.len().wrapping_sub(1)) >= Some(path) {
            return;
        }
        let start = self.paths.len();
        self.paths.push_str(path);
        self.files.push((start..self.paths.len(), remembered));
    }

    fn get(&mut self, path: &str) -> Option<Remembered> {
        if self.path(self.next) != Some(path) {
            let before = |(at, _): &(Range<usize>, _)| self.paths.get(at.clone()) < Some(path);
            self.next = self.files.partition_point(before);
        }
        if self.path(self.next) != Some(path) {
            return None;
        }
        let (_, remembered) = self.files.get(self.next)?;
        self.next += 1;
        Some(*remembered)
    }

    fn path(&self, at: usize) -> Option<&str> {
        let (at, _) = self.files.get(at)?;
        self.paths.get(at.clone())
    }
}

type Fetch = Box<dyn FnOnce() -> Known + Send>;

/// What is remembered of files: what was known, and what was learnt since.
#[derive(Default)]
pub struct Memory {
    fetch: Option<Fetch>,
    fetching: Option<JoinHandle<Known>>,
    known: Known,
    learnt: BTreeMap<String, Remembered>,
}

impl Memory {
    /// One that fetches what is known, once and only if it is asked.
    pub fn of(fetch: impl FnOnce() -> Known + Send + 'static) -> Self {
        Self {
            fetch: Some(Box::new(fetch)),
            ..Self::default()
        }
    }

    /// Has what is known fetched, while the caller does something else.
    pub(super) fn prepare(&mut self) {
        if let Some(fetch) = self.fetch.take() {
            // Where there is no thread, nothing is known: files are read then.
            self.fetching = std::thread::Builder::new().spawn(fetch).ok();
        }
    }

    /// What is remembered of a path.
    pub fn get(&mut self, path: &str) -> Option<Remembered> {
        if !self.learnt.is_empty()
            && let Some(learnt) = self.learnt.get(path)
        {
            return Some(*learnt);
        }
        self.prepare();
        if let Some(fetching) = self.fetching.take() {
            self.known = fetching.join().unwrap_or_default();
        }
        self.known.get(path)
    }

    /// Remembers a digest.
    pub fn learn(&mut self, path: &str, digest: Remembered) {
        self.learnt.insert(path.to_owned(), digest);
    }

    /// What is remembered now and was not known before, by path.
    pub fn into_learnt(self) -> impl Iterator<Item = (String, Remembered)> {
        self.learnt.into_iter()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let learnt = self.learnt.len();
        f.debug_struct("Memory").field("learnt", &learnt).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(of: &str) -> Remembered {
        Remembered {
            stamp: Stamp {
                size: 1,
                mtime_ns: 2,
                ctime_ns: 3,
                inode: 4,
            },
            sha256: Sha256::of(of.as_bytes()),
            seen_at_ns: 5,
        }
    }

    #[test]
    fn what_is_known_is_found_in_whatever_order_it_is_asked_for() {
        let mut memory = Memory::of(|| {
            let mut known = Known::default();
            for path in ["a", "a/b", "b", "é"] {
                known.add(path, remembered(path));
            }
            known.add("b", remembered("out of order"));
            known
        });
        for path in ["b", "a", "a/b", "é", "é", "a", "b"] {
            assert_eq!(memory.get(path), Some(remembered(path)), "{path}");
        }
        for path in ["", "0", "a/", "a/c", "ê", "z"] {
            assert_eq!(memory.get(path), None, "{path}");
        }
        assert_eq!(memory.get("a"), Some(remembered("a")));
        assert_eq!(memory.into_learnt().count(), 0);
    }

    #[test]
    fn what_cannot_be_fetched_is_not_known() {
        let mut memory = Memory::of(|| std::panic::resume_unwind(Box::new("no database")));
        assert_eq!(memory.get("a"), None);
        memory.learn("a", remembered("a"));
        assert_eq!(memory.get("a"), Some(remembered("a")));
    }

    #[test]
    fn what_was_learnt_counts_and_is_all_that_has_to_be_kept() {
        let mut memory = Memory::of(|| {
            let mut known = Known::default();
            known.add("a", remembered("before"));
            known
        });
        memory.learn("c", remembered("new"));
        memory.learn("a", remembered("now"));
        assert_eq!(memory.get("a"), Some(remembered("now")));
        assert_eq!(memory.get("c"), Some(remembered("new")));
        let learnt: Vec<_> = memory.into_learnt().collect();
        let expected = [("a", "now"), ("c", "new")];
        assert_eq!(
            learnt,
            expected.map(|(path, of)| (path.to_owned(), remembered(of)))
        );
    }
}
