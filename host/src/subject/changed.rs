//! What lies between two manifests, and by how many lines where that can be
//! told.
//!
//! A manifest has digests, no content. Content is taken from the worktree or
//! from git's HEAD, and only where its SHA-256 is the one in question, so a
//! count is never about other bytes; where neither has them there is none.
//! Git is asked for objects alone, with nothing that a repository's own
//! configuration could make it run or fetch, and only for so long.

use std::cmp::Ordering;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use similar::algorithms::Algorithm;
use similar::{DiffTag, capture_diff_slices_deadline, group_diff_ops};

use super::beneath::{Beneath, open_file, split};
use super::manifest::{Manifest, Sha256};

/// Of so many changes at most the lines are counted, of files up to so many
/// bytes, for so long.
const COUNTED_MAX: usize = 200;
const BYTES_MAX: u64 = 1 << 20;
const TIME_MAX: Duration = Duration::from_secs(2);
/// Lines shown around what is different.
const CONTEXT: usize = 3;

/// One path that is not the same in two manifests.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// From the project's root.
    pub path: String,
    /// Its digest before; `None` if it was not there.
    pub old: Option<Sha256>,
    /// Its digest after; `None` if it is not there.
    pub new: Option<Sha256>,
    /// Lines that came and went, where that can be told.
    pub lines: Option<Lines>,
}

/// How many lines came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Lines {
    /// Those that were not there before.
    pub added: usize,
    /// Those that are not there any more.
    pub removed: usize,
}

impl Change {
    /// `changed`, `added` or `removed`.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match (self.old, self.new) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// What became of it, its path as it stands, and by how many lines.
    #[must_use]
    pub fn in_words(&self) -> String {
        let lines = match self.lines {
            Some(lines) => format!("  +{} -{}", lines.added, lines.removed),
            None => String::new(),
        };
        format!("{}  {}{lines}", self.what(), self.path)
    }
}

/// What is not the same in `new` as in `old`, by path, lines not counted.
#[must_use]
pub fn between(old: &Manifest, new: &Manifest) -> Vec<Change> {
    let (mut old, mut new) = (
        old.entries().iter().peekable(),
        new.entries().iter().peekable(),
    );
    let mut changes = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let (was, is) = (before.map(|e| e.sha256), after.map(|e| e.sha256));
        if was != is
            && let Some(entry) = after.or(before)
        {
            changes.push(Change {
                path: entry.path.clone(),
                old: was,
                new: is,
                lines: None,
            });
        }
    }
}

/// Counts the lines of the first changes, as far as the worktree below `root`
/// or git's HEAD has the bytes in question. Never fails: what cannot be told
/// is left as it is.
pub fn count_lines(root: &Path, changes: &mut [Change]) {
    let Some(changes) = changes.get_mut(..changes.len().min(COUNTED_MAX)) else {
        return;
    };
    let deadline = Instant::now() + TIME_MAX;
    let sides = sides(root, changes, deadline);
    for (change, sides) in changes.iter_mut().zip(sides) {
        if let [Some(old), Some(new)] = sides {
            change.lines = count(&old, &new, deadline);
        }
    }
}

/// A line of what lies between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// Lines follow from here on: of the old text, of the new one, from 1.
    From(usize, usize),
    /// It is in both.
    Kept(String),
    /// It was not there before.
    Added(String),
    /// It is not there any more.
    Removed(String),
}

/// What lies between the sides of the first changes, in lines, as far as
/// [`count_lines`] could count them.
#[must_use]
pub fn differences(root: &Path, changes: &[Change]) -> Vec<Option<Vec<DiffLine>>> {
    let changes = changes
        .get(..changes.len().min(COUNTED_MAX))
        .unwrap_or_default();
    let deadline = Instant::now() + TIME_MAX;
    let sides = sides(root, changes, deadline).into_iter();
    sides
        .map(|sides| match sides {
            [Some(old), Some(new)] => difference(&old, &new, deadline),
            _ => None,
        })
        .collect()
}

/// What each side of some changes held, where its bytes can be had.
fn sides(root: &Path, changes: &[Change], deadline: Instant) -> Vec<[Option<Vec<u8>>; 2]> {
    let beneath = Beneath::open(root).ok();
    let mut sides: Vec<[Option<Vec<u8>>; 2]> = changes
        .iter()
        .map(|change| {
            let there = beneath.as_ref().and_then(|root| read(root, &change.path));
            let digest = there.as_deref().map(Sha256::of);
            let side = |wanted: Option<Sha256>| match wanted {
                None => Some(Vec::new()),
                wanted => there.clone().filter(|_| digest == wanted),
            };
            [side(change.old), side(change.new)]
        })
        .collect();
    let lacking = |(_, sides): &(usize, &[Option<Vec<u8>>; 2])| sides.contains(&None);
    let wanted: Vec<(usize, String)> = sides
        .iter()
        .enumerate()
        .filter(lacking)
        .filter_map(|(at, _)| Some((at, changes.get(at)?.path.clone())))
        .filter(|(_, path)| !path.contains('\n'))
        .collect();
    for (at, blob) in blobs(root, wanted, deadline) {
        let digest = Some(Sha256::of(&blob));
        if let (Some(change), Some([old, new])) = (changes.get(at), sides.get_mut(at)) {
            for (side, wanted) in [(old, change.old), (new, change.new)] {
                if side.is_none() && digest == wanted {
                    *side = Some(blob.clone());
                }
            }
        }
    }
    sides
}

/// The lines of a text; `None` if it is none.
fn lines_of(text: &[u8]) -> Option<Vec<&[u8]>> {
    let lines = || text.split_inclusive(|byte| *byte == b'\n').collect();
    (!text.contains(&0)).then(lines)
}

fn count(old: &[u8], new: &[u8], deadline: Instant) -> Option<Lines> {
    let (old, new) = (lines_of(old)?, lines_of(new)?);
    if Instant::now() >= deadline {
        return None;
    }
    let mut lines = Lines {
        added: 0,
        removed: 0,
    };
    for op in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline)) {
        lines.removed += op.old_range().len() * usize::from(op.tag() != DiffTag::Equal);
        lines.added += op.new_range().len() * usize::from(op.tag() != DiffTag::Equal);
    }
    Some(lines)
}

fn difference(old: &[u8], new: &[u8], deadline: Instant) -> Option<Vec<DiffLine>> {
    let (old, new) = (lines_of(old)?, lines_of(new)?);
    if Instant::now() >= deadline {
        return None;
    }
    let text = |lines: &[&[u8]], range: Range<usize>| -> Vec<String> {
        let lines = lines.get(range).unwrap_or_default().iter();
        lines
            .map(|line| String::from_utf8_lossy(line).trim_end().to_owned())
            .collect()
    };
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    let mut shown = Vec::new();
    for hunk in group_diff_ops(ops, CONTEXT) {
        if let Some(first) = hunk.first() {
            let (old, new) = (first.old_range().start, first.new_range().start);
            shown.push(DiffLine::From(old + 1, new + 1));
        }
        for op in hunk {
            if op.tag() == DiffTag::Equal {
                shown.extend(text(&new, op.new_range()).into_iter().map(DiffLine::Kept));
                continue;
            }
            let removed = text(&old, op.old_range()).into_iter();
            shown.extend(removed.map(DiffLine::Removed));
            let added = text(&new, op.new_range()).into_iter();
            shown.extend(added.map(DiffLine::Added));
        }
    }
    Some(shown)
}

/// An ordinary file of the worktree, if it is small.
fn read(root: &Beneath, path: &str) -> Option<Vec<u8>> {
    let (dir, name) = split(path.as_bytes());
    let file = std::fs::File::from(open_file(&root.dir(dir).ok()?, name).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= BYTES_MAX).then_some(bytes)
}

/// What git's HEAD has at these paths, as far as it has and says so in time.
fn blobs(root: &Path, wanted: Vec<(usize, String)>, deadline: Instant) -> Vec<(usize, Vec<u8>)> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let Ok(mut child) = git(root).spawn() else {
        return Vec::new(); // there is no git
    };
    let (send, receive) = mpsc::channel();
    let asking = ask(&mut child, wanted, send);
    let mut found = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receive.recv_timeout(left) {
            Ok(blob) => found.push(blob),
            Err(_) => break,
        }
    }
    // It has said all, or has had its time; either way nothing is owed to it.
    let _ = child.kill();
    let _ = child.wait();
    if let Some(asking) = asking {
        let _ = asking.join();
    }
    found
}

fn git(root: &Path) -> Command {
    let mut git = crate::git::command(root);
    git.args(["cat-file", "--batch"]).stdin(Stdio::piped());
    git
}

fn ask(
    child: &mut Child,
    wanted: Vec<(usize, String)>,
    found: mpsc::Sender<(usize, Vec<u8>)>,
) -> Option<std::thread::JoinHandle<()>> {
    let mut asked = child.stdin.take()?;
    let mut answers = BufReader::new(child.stdout.take()?);
    let talk = move || -> io::Result<()> {
        for (at, path) in wanted {
            asked.write_all(format!("HEAD:./{path}\n").as_bytes())?;
            asked.flush()?;
            let mut head = Vec::new();
            if (&mut answers).take(64 << 10).read_until(b'\n', &mut head)? == 0 {
                break;
            }
            let head = String::from_utf8_lossy(&head);
            let mut words = head.trim_end().rsplitn(3, ' ');
            let size = words.next().and_then(|size| size.parse::<u64>().ok());
            let (Some(size), Some("blob")) = (size, words.next()) else {
                if head.trim_end().ends_with(" missing") {
                    continue;
                }
                break; // a directory's content, or something not understood
            };
            let mut blob = Vec::new();
            let mut content = (&mut answers).take(size + 1);
            if size > BYTES_MAX {
                io::copy(&mut content, &mut io::sink())?;
                continue;
            }
            content.read_to_end(&mut blob)?;
            blob.pop();
            if blob.len() as u64 != size || found.send((at, blob)).is_err() {
                break;
            }
        }
        Ok(())
    };
    Some(std::thread::spawn(move || {
        // What was not said is not known; there is nothing to report.
        let _ = talk();
    }))
}
