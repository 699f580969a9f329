//! The covered files of a project, with their stamps: one look at each
//! directory that may hold some, on all cores.
//!
//! No link is followed, so no loop of directories is walked twice; depth and
//! number are bounded all the same. What is covered and no file is an error,
//! and so is a directory that cannot be read: what may be in it is unknown.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::Dir;

use super::beneath::{Beneath, Kind, Stamp, is_gone, join, look, open_file};
use super::covers::{Covers, Met};
use super::error::{SubjectError, shown};
use super::git::{GITIGNORE, Rules, read_gitignore};
use crate::project::GHYLL_DIR;

/// The most files a list of globs may match: a million and some.
pub const MAX_FILES: usize = 1 << 20;
/// The most directories inside each other.
const MAX_DEPTH: usize = 512;
/// More threads than that wait for the disk, not for each other.
const MAX_THREADS: usize = 16;

/// A covered file as it was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub path: String,
    pub stamp: Stamp,
}

/// What a walk found.
pub(super) struct Walked {
    /// By path.
    pub files: Vec<Found>,
    pub met: Met,
}

/// How many threads share a piece of work.
pub(super) fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(MAX_THREADS)
}

/// Finds the covered files below `root`, at most `max`.
pub(super) fn walk(
    root: &Path,
    beneath: &Beneath,
    covers: &Covers,
    max: usize,
) -> Result<Walked, SubjectError> {
    let rules = Rules::of_project(root)?;
    let walk = Walk {
        root,
        beneath,
        covers,
        max,
        count: AtomicUsize::new(0),
        queue: Queue::default(),
    };
    walk.queue.push(Job {
        dir: Vec::new(),
        depth: 0,
        rules,
        ignored: false,
    });
    let mut walked = Walked {
        files: Vec::new(),
        met: Met::none(covers),
    };
    let parts: Vec<Result<Walked, SubjectError>> = std::thread::scope(|scope| {
        // Where no thread can be had, this one looks alone.
        let look = || walk.work();
        let helper = |_| std::thread::Builder::new().spawn_scoped(scope, look).ok();
        let workers: Vec<_> = (1..threads()).filter_map(helper).collect();
        let own = walk.work();
        let lost = |_| SubjectError::unreadable(b"", std::io::Error::other("a thread was lost"));
        let joined = workers.into_iter().map(|worker| worker.join());
        std::iter::once(own)
            .chain(joined.map(|part| part.map_err(lost).flatten()))
            .collect()
    });
    for part in parts {
        let part = part?;
        walked.met.add(&part.met);
        if walked.files.is_empty() {
            walked.files = part.files;
        } else {
            walked.files.extend(part.files);
        }
    }
    // Each thread's are sorted, which this sort makes use of.
    walked.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walked)
}

/// A directory to be looked at.
struct Job {
    dir: Vec<u8>,
    depth: usize,
    /// Those of the directory above.
    rules: Option<Arc<Rules>>,
    /// By these rules.
    ignored: bool,
}

struct Walk<'a> {
    root: &'a Path,
    beneath: &'a Beneath,
    covers: &'a Covers,
    max: usize,
    count: AtomicUsize,
    queue: Queue,
}

impl Walk<'_> {
    fn work(&self) -> Result<Walked, SubjectError> {
        let mut walked = Walked {
            files: Vec::new(),
            met: Met::none(self.covers),
        };
        // However this ends, the others must not wait for it.
        while let Some(job) = self.queue.next() {
            let looked = self.look_into(&job, &mut walked);
            self.queue.done(looked.is_err());
            looked?;
        }
        walked.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(walked)
    }

    fn look_into(&self, job: &Job, walked: &mut Walked) -> Result<(), SubjectError> {
        let path = job.dir.as_slice();
        let unreadable = |e: std::io::Error| SubjectError::unreadable(path, e);
        let dir = match self.beneath.dir(path) {
            Ok(dir) => dir,
            // Removed or replaced since it was listed.
            Err(e) if is_gone(&e) && !path.is_empty() => return Ok(()),
            Err(e) => return Err(unreadable(e)),
        };
        // One text with all names, for there may be many.
        let (mut names, mut listed) = (Vec::new(), Vec::new());
        let (mut gitignore, mut repository) = (false, false);
        let mut entries = Dir::new(dir).map_err(|e| unreadable(e.into()))?;
        for entry in &mut entries {
            let entry = entry.map_err(|e| unreadable(e.into()))?;
            let name = entry.file_name().to_bytes();
            match name {
                b"." | b".." => continue,
                b".git" => {
                    repository = true;
                    continue;
                }
                name if path.is_empty() && name == GHYLL_DIR.as_bytes() => continue,
                name => gitignore |= name == GITIGNORE.as_bytes(),
            }
            let start = names.len();
            names.extend(name);
            listed.push((start..names.len(), Kind::of(entry.file_type())));
        }
        let dir = entries.fd().map_err(|e| unreadable(e.into()))?;
        let own = || match open_file(dir, GITIGNORE.as_bytes()) {
            Ok(file) => {
                let file = std::fs::File::from(file);
                let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
                let read = is_file.then(|| read_gitignore(file)).transpose();
                read.map_err(|e| SubjectError::unreadable(&join(path, GITIGNORE.as_bytes()), e))
            }
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(SubjectError::unreadable(
                &join(path, GITIGNORE.as_bytes()),
                e,
            )),
        };
        // The rules at the root were read with those above it.
        let rules = if path.is_empty() {
            job.rules.clone()
        } else {
            let within = match repository {
                true => {
                    let own = if gitignore { own()? } else { None };
                    Rules::of_repository_at(self.root, path, own)?
                }
                false => None,
            };
            match (within, &job.rules) {
                (Some(rules), _) => Some(Arc::new(rules)),
                (None, Some(above)) => {
                    let own = if gitignore && !job.ignored {
                        own()?
                    } else {
                        None
                    };
                    Some(above.enter(path, own, job.ignored))
                }
                (None, None) => None,
            }
        };
        for (name, mut kind) in listed {
            let name = names.get(name).unwrap_or_default();
            let path = join(path, name);
            let mut seen = None;
            if let Kind::Other("of an unknown kind") = kind {
                // A file system that does not tell when listing.
                let found = match look(dir, name) {
                    Ok(found) => found,
                    Err(e) if is_gone(&e) => continue,
                    Err(e) => return Err(SubjectError::unreadable(&path, e)),
                };
                kind = found.0;
                seen = Some(found);
            }
            if kind == Kind::Directory {
                self.descend(path, job.depth, rules.as_ref())?;
                continue;
            }
            if !self.covers.covers(&path, &mut walked.met) {
                continue;
            }
            if let Some(rules) = &rules
                && rules.leaves_file(&path)?
            {
                continue;
            }
            let (kind, stamp) = match seen.map_or_else(|| look(dir, name), Ok) {
                Ok(found) => found,
                Err(e) if is_gone(&e) => continue,
                Err(e) => return Err(SubjectError::unreadable(&path, e)),
            };
            match kind {
                Kind::File | Kind::Link => {}
                Kind::Directory => {
                    // Since it was listed.
                    self.descend(path, job.depth, rules.as_ref())?;
                    continue;
                }
                Kind::Other(what) => {
                    let path = shown(&path);
                    return Err(SubjectError::NotAFile { path, what });
                }
            }
            let path = String::from_utf8(path).map_err(|e| SubjectError::NameInvalid {
                path: shown(e.as_bytes()),
            })?;
            if self.count.fetch_add(1, Ordering::Relaxed) >= self.max {
                return Err(SubjectError::TooMany {
                    globs: self.covers.globs().to_vec(),
                    max: self.max,
                });
            }
            walked.files.push(Found { path, stamp });
        }
        Ok(())
    }

    fn descend(
        &self,
        dir: Vec<u8>,
        depth: usize,
        rules: Option<&Arc<Rules>>,
    ) -> Result<(), SubjectError> {
        if !self.covers.may_be_below(&dir) {
            return Ok(());
        }
        let ignored = match rules {
            None => false,
            Some(rules) => match rules.enters(&dir)? {
                None => return Ok(()),
                Some(ignored) => ignored,
            },
        };
        if depth == MAX_DEPTH {
            return Err(SubjectError::TooDeep {
                path: shown(&dir),
                max: MAX_DEPTH,
            });
        }
        self.queue.push(Job {
            dir,
            depth: depth + 1,
            rules: rules.cloned(),
            ignored,
        });
        Ok(())
    }
}

/// Directories waiting to be looked at, and how many are being looked at.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    busy: usize,
    failed: bool,
}

impl Queue {
    fn push(&self, job: Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.jobs.push(job);
        drop(state);
        self.changed.notify_one();
    }

    /// The next one; `None` when there will be no more.
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.failed {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, failed: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.busy -= 1;
        state.failed |= failed;
        let over = state.failed || (state.busy == 0 && state.jobs.is_empty());
        drop(state);
        if over {
            self.changed.notify_all();
        }
    }
}
