//! The tree, as verification sees it: every file read once, and the index and
//! the flat file held against it meanwhile.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;

use parking_lot::{Condvar, Mutex};

use super::damage::REBUILD;
use super::file::Totals;
use super::flat::Flat;
use super::found::{FileFound, Otherwise, Tree};
use super::index::{Index, Left};
use super::{Input, Issue, Look, On, VerifyError, full, issue};
use crate::audit::checkpoint::End;
use crate::audit::{FLAT_FILE, Found, TREE_DIR, walk};
use crate::db::{DbError, ENGINE_DB};
use crate::files::disk::Kind;
use crate::text::count;

/// Threads that read files.
const THREADS: usize = 2;
/// Files that wait for one.
const WAITING: usize = 16;

/// What is left to be read, for the threads that read.
#[derive(Default)]
struct Queue {
    state: Mutex<(VecDeque<String>, bool)>,
    news: Condvar,
}

impl Queue {
    /// Gives a file away; or back, if enough are waiting or nobody takes them.
    fn give(&self, file: String, helpers: usize) -> Option<String> {
        let mut state = self.state.lock();
        if helpers == 0 || state.0.len() >= WAITING {
            return Some(file);
        }
        state.0.push_back(file);
        self.news.notify_one();
        None
    }

    fn close(&self) {
        self.state.lock().1 = true;
        self.news.notify_all();
    }

    /// The next file; waits for it if `wait`.
    fn take(&self, wait: bool) -> Option<String> {
        let mut state = self.state.lock();
        loop {
            if let Some(file) = state.0.pop_front() {
                return Some(file);
            }
            if state.1 || !wait {
                return None;
            }
            self.news.wait(&mut state);
        }
    }
}

impl Look<'_> {
    /// Reads the tree.
    pub(super) fn read_tree(
        &self,
        flat: &Flat,
        index: &Index,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Tree, VerifyError> {
        let mut tree = Tree {
            index_records: index.records,
            heads: index.heads,
            ..Tree::default()
        };
        self.merge.lock().index.records = index.records;
        let disk = self.input.disk;
        let (some, left_out) = self.left_out(index)?;
        let found = match disk.meta(TREE_DIR) {
            Ok(None) if some => None,
            Ok(None) => {
                tree.absent = true;
                let missing = |path: &str, lines| self.missing(path, On::Checkpoint, lines);
                if index.heads == 0 {
                    self.checkpoint
                        .iter()
                        .flat_map(|c| &c.files)
                        .for_each(|(path, end)| missing(path, end.lines));
                }
                return Ok(tree);
            }
            Ok(Some(meta)) if meta.kind == Kind::Dir => None,
            Ok(Some(meta)) if meta.kind == Kind::Symlink => Some(symlink(TREE_DIR)),
            Ok(Some(_)) => {
                let found = issue(
                    "attestation-foreign-file",
                    On::Tree,
                    TREE_DIR,
                    "not a directory",
                );
                Some(found.advise(format!(
                    "move it away and restore the tree: git checkout -- .ghyll/{TREE_DIR}"
                )))
            }
            Err(e) => Some(issue("attestation-audit-unreadable", On::Tree, TREE_DIR, e)),
        };
        if let Some(found) = found {
            self.merge.lock().tell(found);
            return Ok(tree);
        }
        let totals = Totals::default();
        if !matches!(disk.meta(TREE_DIR), Ok(None)) {
            self.read_files(flat, index, &totals, progress)?;
        }
        tree.flat_records = totals.flat_records.load(Ordering::Relaxed);
        self.missing_files(index, &totals, &left_out)?;
        self.tell_absent(flat, index);
        Ok(tree)
    }

    fn read_files(
        &self,
        flat: &Flat,
        index: &Index,
        totals: &Totals,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), VerifyError> {
        let queue = Queue::default();
        let failed: Mutex<Option<VerifyError>> = Mutex::default();
        let read = |path: String| {
            if failed.lock().is_some() {
                return;
            }
            match self.read_file(&path, flat, index, totals) {
                Ok(found) => {
                    let keep_end = self.input.tree_alone;
                    self.merge.lock().file(path, found, keep_end);
                }
                Err(e) => *failed.lock() = Some(e),
            }
        };
        let help = || {
            while let Some(file) = queue.take(true) {
                read(file);
            }
        };
        std::thread::scope(|scope| {
            let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
            // Where no thread can be had, this one reads alone.
            let helpers = (1..THREADS.min(cores))
                .filter(|_| {
                    std::thread::Builder::new()
                        .spawn_scoped(scope, help)
                        .is_ok()
                })
                .count();
            let walked: Result<(), std::convert::Infallible> = walk(
                self.input.policy,
                self.input.disk,
                TREE_DIR,
                &mut |path, found| {
                    match found {
                        Found::Lines(_) => {
                            if let Some(file) = queue.give(path, helpers) {
                                read(file);
                                progress(self.done.load(Ordering::Relaxed));
                            }
                        }
                        Found::Symlink => self.merge.lock().tell(symlink(&full(&path))),
                        Found::Foreign => {
                            let message = "has no place here; it is left alone";
                            let found =
                                issue("attestation-foreign-file", On::Tree, &full(&path), message);
                            self.merge.lock().warn(found);
                        }
                        Found::Unreadable(e) => {
                            let code = "attestation-audit-unreadable";
                            self.merge
                                .lock()
                                .tell(issue(code, On::Tree, &full(&path), e));
                        }
                    }
                    Ok(())
                },
            );
            let Ok(()) = walked;
            queue.close();
            while let Some(file) = queue.take(false) {
                read(file);
                progress(self.done.load(Ordering::Relaxed));
            }
        });
        progress(self.done.load(Ordering::Relaxed));
        match failed.into_inner() {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }

    /// Files that the index or the checkpoint saw and nobody finds. They are
    /// looked for only if fewer were found than are known.
    fn missing_files(
        &self,
        index: &Index,
        totals: &Totals,
        left_out: &BTreeSet<String>,
    ) -> Result<(), VerifyError> {
        for path in left_out {
            let found = FileFound {
                missing: true,
                left_out: true,
                ..FileFound::default()
            };
            self.merge.lock().file(path.clone(), found, false);
        }
        if let Some(db) = &index.db
            && index.heads > totals.heads.load(Ordering::Relaxed)
        {
            let mut missing = Vec::new();
            let read = db.read(|reader| {
                reader.each_head(|path, head| {
                    let gone =
                        head.lines > 0 && matches!(self.input.disk.meta(&full(&path)), Ok(None));
                    if gone && missing.len() < super::MOST * super::MOST {
                        missing.push((path, head));
                    }
                    Ok::<_, DbError>(())
                })
            });
            for (path, head) in missing {
                if left_out.contains(&path) || self.moved(&path, &head)? {
                    totals.rows.fetch_add(head.lines, Ordering::Relaxed);
                    continue;
                }
                let mut left = Left::default();
                self.hold_rows(db, &head, &mut Vec::new(), u64::MAX, &mut left);
                let mut found = FileFound {
                    missing: true,
                    otherwise: vec![Otherwise {
                        by: On::Tree,
                        fewer: Some(head.lines),
                    }],
                    ..FileFound::default()
                };
                self.name_left(db, &path, &head, left, &mut found);
                totals.rows.fetch_add(found.rows_seen, Ordering::Relaxed);
                if self.seen(&path).is_some() {
                    found.otherwise.push(Otherwise {
                        by: On::Checkpoint,
                        fewer: Some(head.lines),
                    });
                }
                self.merge.lock().file(path, found, false);
            }
            if let Err(e) = read {
                self.index_fault(&e);
            }
        }
        let placed = totals.rows.load(Ordering::Relaxed);
        if index.records > placed {
            let rows = usize::try_from(index.records - placed).unwrap_or(usize::MAX);
            let message = format!("{} of no line of the tree", count(rows, "row"));
            let found = issue(
                "attestation-aggregate-divergence",
                On::Index,
                ENGINE_DB,
                message,
            );
            self.merge.lock().tell(found.advise(REBUILD));
        }
        let Some(checkpoint) = self.checkpoint else {
            return Ok(());
        };
        if checkpoint.files.len() as u64 > totals.checkpointed.load(Ordering::Relaxed) {
            for (path, end) in &checkpoint.files {
                let known = index.db.as_ref().is_some_and(|db| {
                    db.read(|reader| reader.head(path))
                        .is_ok_and(|head| head.is_some_and(|h| h.lines > 0))
                });
                let gone = matches!(self.input.disk.meta(&full(path)), Ok(None));
                if !known && gone && !left_out.contains(path) {
                    self.missing(path, On::Checkpoint, end.lines);
                }
            }
        }
        Ok(())
    }

    /// Whether git's sparse checkout leaves files out; and those of them of
    /// which HEAD has all that the index saw.
    fn left_out(&self, index: &Index) -> Result<(bool, BTreeSet<String>), VerifyError> {
        let Input {
            elsewhere,
            policy,
            disk,
            ..
        } = self.input;
        let (mut some, mut left_out) = (false, BTreeSet::new());
        for path in elsewhere.left_out(policy, *disk) {
            some = true;
            let head = index
                .db
                .as_ref()
                .map(|db| db.read(|reader| reader.head(&path)));
            let whole = match head {
                Some(Ok(Some(head))) => self.head_has(&path, &head)?,
                // An index that cannot be read is told of where it is read.
                _ => true,
            };
            if whole {
                left_out.insert(path);
            }
        }
        Ok((some, left_out))
    }

    fn missing(&self, path: &str, by: On, lines: u64) {
        let found = FileFound {
            missing: true,
            otherwise: vec![Otherwise {
                by,
                fewer: Some(lines),
            }],
            ..FileFound::default()
        };
        self.merge.lock().file(path.to_owned(), found, false);
    }

    /// A clone has neither, and is none the worse for it.
    fn tell_absent(&self, flat: &Flat, index: &Index) {
        let mut merge = self.merge.lock();
        if merge.tree.records == 0 || self.input.tree_alone {
            return;
        }
        let records = usize::try_from(merge.tree.records).unwrap_or(usize::MAX);
        let mut absent = |on, path: &str| {
            let message = format!(
                "not there; the next session makes it from the tree's {}",
                count(records, "record")
            );
            merge.warn(issue("attestation-surface-absent", on, path, message));
        };
        if index.absent {
            absent(On::Index, ENGINE_DB);
        }
        if !flat.readable && matches!(self.input.disk.meta(FLAT_FILE), Ok(None)) {
            absent(On::Flat, FLAT_FILE);
        }
    }

    pub(super) fn seen(&self, path: &str) -> Option<&End> {
        self.checkpoint
            .and_then(|checkpoint| checkpoint.files.get(path))
    }
}

fn symlink(path: &str) -> Issue {
    let message = "a symbolic link; it was not followed";
    let found = issue("attestation-symlink-refused", On::Tree, path, message);
    found.advise("put the file or directory itself in its place")
}
