//! The index brought up to the tree.

use std::collections::{BTreeSet, HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::{LimitsOf, LoadError, Loaded, Notice, Sources, fail, meta, problem_of};
use crate::audit::accepted_losses::hex;
use crate::audit::proof::{ProofError, index_proves};
use crate::audit::reader::{Line, ReadError, cursor, read_lines, row};
use crate::audit::{Found, TREE_DIR, walk};
use crate::db::{Head, Reader, Row, Tx};
use crate::files::append::parents;
use crate::files::disk::{Disk, Kind, Meta, Prefix};
use crate::policy::{Limits, Refusal, Surface};

/// Files that are made durable each by itself; of more, all at once.
const FEW: usize = 8;

/// A record by the first half of its SHA-256.
type Key = [u8; 16];

/// Indexes what the index does not have.
pub(super) fn index_tree(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<(), LoadError> {
    let mut known: HashMap<String, Head> = tx.heads()?.into_iter().collect();
    loaded.from_nothing = known.is_empty() && tx.row_count()? == 0;
    let mut pass = Pass {
        sources,
        tx,
        loaded,
        records: 0,
        next_file: tx.new_file_id()?,
        to_sync: Vec::new(),
    };
    let late = pass.loaded.from_nothing && tx.drop_indexes()?;
    pass.left_out(&mut known)?;
    walk_if_there(sources, &mut |path, found| {
        let full = || format!("{TREE_DIR}/{path}");
        match found {
            Found::Symlink => pass.loaded.damage(LoadError::Symlink { path: full() }),
            Found::Unreadable(source) => pass.loaded.damage(fail(&full())(source)),
            Found::Foreign => {
                // In nobody's way, but where the index knows a file, that file
                // is gone.
                pass.loaded.notices.push(Notice::Foreign { path: full() });
                return Ok(());
            }
            Found::Lines(meta) => {
                let head = known.remove(&path);
                let unchanged = head
                    .as_ref()
                    .is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns);
                if !unchanged {
                    pass.file(&path, head, meta)?;
                }
                return Ok(());
            }
        }
        // What could not be looked at may hold what the index knows.
        known.retain(|file, _| !file.starts_with(&format!("{path}/")) && *file != path);
        Ok::<_, LoadError>(())
    })?;
    let mut gone: Vec<_> = known.into_iter().filter(|(_, h)| h.bytes > 0).collect();
    gone.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, head) in gone {
        if !pass.follow(&path, &head)? {
            pass.loaded.damage(LoadError::TailMissing {
                path,
                found: 0,
                seen: head.bytes,
            });
        }
    }
    if late {
        tx.make_indexes()?;
    }
    let (records, to_sync) = (pass.records, pass.to_sync);
    make_durable(sources.disk, &to_sync)?;
    if records > 0 {
        loaded.notices.push(Notice::Indexed { records });
    }
    Ok(())
}

/// Walks the tree; where it is not there, which git may have left out whole,
/// nothing is told.
fn walk_if_there(
    sources: Sources<'_>,
    each: &mut dyn FnMut(String, Found) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    match meta(sources.disk, TREE_DIR)? {
        Some(_) => walk(sources.policy, sources.disk, TREE_DIR, each),
        None => Ok(()),
    }
}

/// Whether no file differs from what the index saw.
pub(super) fn is_current(sources: Sources<'_>, reader: &Reader<'_>) -> Result<bool, LoadError> {
    let mut known: HashMap<String, Head> = reader.heads()?.into_iter().collect();
    let mut current = true;
    walk(
        sources.policy,
        sources.disk,
        TREE_DIR,
        &mut |path, found| {
            match found {
                Found::Lines(meta) => {
                    let head = known.remove(&path);
                    current &=
                        head.is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns);
                }
                Found::Foreign => {}
                Found::Symlink | Found::Unreadable(_) => current = false,
            }
            Ok::<_, LoadError>(())
        },
    )?;
    let left_out = || sources.elsewhere.left_out(sources.policy, sources.disk);
    Ok(current && known.values().all(|head| head.bytes == 0) && left_out().is_empty())
}

/// Whether git took every file of a tree that is not there; then the index
/// follows.
pub(super) fn moved_whole(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    loaded: &mut Loaded,
) -> Result<bool, LoadError> {
    let heads = tx.heads()?;
    let mut moved = Vec::new();
    for (path, head) in heads.iter().filter(|(_, head)| head.bytes > 0) {
        if !index_proves(tx, sources.policy, head)? {
            return Ok(false);
        }
        match sources.elsewhere.moved(sources, path, head)? {
            Some(records) => moved.push((path, records)),
            None => return Ok(false),
        }
    }
    if moved.is_empty() {
        return Ok(false);
    }
    for (_, head) in &heads {
        forget(tx, loaded, head)?;
    }
    for (path, records) in moved {
        note_moved(tx, loaded, path, records)?;
    }
    Ok(true)
}

fn forget(tx: &Tx<'_>, loaded: &mut Loaded, head: &Head) -> Result<(), LoadError> {
    for attestation_ref in tx.forget_file(head.file_id)? {
        loaded.touch(&attestation_ref, 0);
    }
    Ok(())
}

fn note_moved(tx: &Tx<'_>, loaded: &mut Loaded, path: &str, records: u64) -> Result<(), LoadError> {
    tx.set_note(&moved_note(path), MOVED)?;
    loaded.moved(records);
    Ok(())
}

/// What that note says at first; then the pass that is used instead.
pub(crate) const MOVED: &str = "moved";

/// The note that git moved a file once: somebody who appends to it has to look
/// whether there is more of it elsewhere.
pub(crate) fn moved_note(path: &str) -> String {
    format!("moved:{path}")
}

/// Whether a line is one of those that git puts between the sides of a merge
/// it cannot finish.
fn is_conflict_mark(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    [b'<', b'|', b'=', b'>'].iter().any(|mark| {
        line.len() >= 7
            && line.iter().take(7).all(|byte| byte == mark)
            && line.get(7).is_none_or(|next| *next == b' ')
    })
}

/// One pass over the tree.
struct Pass<'a, 'b> {
    sources: Sources<'a>,
    tx: &'a Tx<'a>,
    loaded: &'b mut Loaded,
    records: u64,
    next_file: i64,
    /// Files that have to be made durable, with the directories above them.
    to_sync: Vec<String>,
}

/// Makes files durable that this process did not write: what is acknowledged
/// from here on has to be as durable as if it had. A few are worth a call each.
fn make_durable(disk: &dyn Disk, files: &[String]) -> Result<(), LoadError> {
    if files.len() > FEW {
        return disk.sync_all().map_err(fail(TREE_DIR));
    }
    let mut dirs = BTreeSet::new();
    for path in files {
        let mut file = disk.open_append(path).map_err(fail(path))?;
        file.sync().map_err(fail(path))?;
        dirs.extend(parents(path));
        dirs.insert("");
    }
    for dir in dirs.into_iter().rev() {
        disk.sync_dir(dir).map_err(fail(dir))?;
    }
    Ok(())
}

/// One file being read.
struct File<'a> {
    path: &'a str,
    full: String,
    id: i64,
    limits: Limits,
    /// How far the index had it, and from where it is read now.
    seen: Head,
    from: Head,
    /// Whether it is not what the index saw: then nothing of it is touched.
    differs: bool,
}

impl Pass<'_, '_> {
    /// Indexes what a file has beyond its head.
    fn file(&mut self, path: &str, head: Option<Head>, meta: Meta) -> Result<(), LoadError> {
        let mut file = File {
            path,
            full: format!("{TREE_DIR}/{path}"),
            id: 0,
            limits: limits_of_path(self.sources.limits, path),
            seen: head.clone().unwrap_or_default(),
            from: Head::default(),
            differs: false,
        };
        // A file that only grew is read from where the index stopped, if its
        // last indexed line still stands there; anything else is read whole.
        let as_seen = if meta.bytes == file.seen.bytes {
            self.stands_whole(&file)?
        } else {
            meta.bytes > file.seen.bytes && self.last_line_stands(&file)?
        };
        if as_seen {
            file.from = file.seen.clone();
            file.id = file.seen.file_id;
        } else if let Some(head) = &head
            && !self.follow(path, head)?
        {
            file.differs = true;
            if meta.bytes < head.bytes {
                self.loaded.damage(LoadError::TailMissing {
                    path: path.to_owned(),
                    found: meta.bytes,
                    seen: head.bytes,
                });
            }
        }
        let known = self.loaded.damaged;
        if file.id == 0 {
            file.id = self.next_file;
            self.next_file = self.next_file.saturating_add(1);
        }
        match self.read(&file) {
            Ok(()) => {
                // Which line is bad says more than that the file is another.
                let as_before = !file.differs || head.is_none_or(|head| meta.bytes < head.bytes);
                if !as_before && self.loaded.damaged == known {
                    self.loaded.damage(LoadError::ChainBroken {
                        path: path.to_owned(),
                    });
                }
                Ok(())
            }
            Err(LoadError::Db(e)) => Err(LoadError::Db(e)),
            Err(LoadError::Read(ReadError::Policy(e))) => Err(ReadError::Policy(e).into()),
            Err(damage) => {
                self.loaded.damage(damage);
                Ok(())
            }
        }
    }

    /// Tells of the files that git's sparse checkout leaves out. What they say
    /// cannot be read, so nobody can say where their arrows stand; what the
    /// index saw of them is not gone as long as HEAD has all of it.
    fn left_out(&mut self, known: &mut HashMap<String, Head>) -> Result<(), LoadError> {
        let Sources {
            policy,
            disk,
            elsewhere,
            ..
        } = self.sources;
        for path in elsewhere.left_out(policy, disk) {
            let whole = match known.get(&path) {
                Some(head) => elsewhere.head_has(self.sources, &path, head)?,
                None => true,
            };
            if whole {
                known.remove(&path);
                self.loaded.damage(LoadError::NotCheckedOut { path });
            }
        }
        Ok(())
    }

    /// Takes a file that is not what the index saw out of the index; if the
    /// index really saw what it says. Returns whether git moved it, so that
    /// nothing is lost.
    fn follow(&mut self, path: &str, head: &Head) -> Result<bool, LoadError> {
        let Sources {
            policy, elsewhere, ..
        } = self.sources;
        if !index_proves(self.tx, policy, head)? {
            return Err(self.tx.contradiction(path).into());
        }
        forget(self.tx, self.loaded, head)?;
        let moved = elsewhere.moved(self.sources, path, head)?;
        if let Some(records) = moved {
            note_moved(self.tx, self.loaded, path, records)?;
        }
        Ok(moved.is_some())
    }

    fn read(&mut self, file: &File<'_>) -> Result<(), LoadError> {
        let Sources {
            policy,
            disk,
            losses,
            repair,
            ..
        } = self.sources;
        let (full, tx) = (file.full.as_str(), self.tx);
        let mut open = disk.open_read(full).map_err(fail(full))?;
        let mut last_offset = file.from.last_offset;
        let (mut partial, mut conflict) = (0, false);
        let mut ids: HashMap<Key, Key> = HashMap::new();
        let mut lines: HashSet<Key> = HashSet::new();
        let mut copy = Copy {
            only: file.from.lines == 0 && file.seen.lines == 0,
            of: None,
            damage: (self.loaded.damage.len(), self.loaded.damaged),
        };
        let start = cursor(Surface::Tree(file.path.to_owned()), &file.from);
        let end = read_lines(policy, file.limits, open.as_mut(), start, &mut |line| {
            if line.is_partial() {
                partial = line.checked.length;
                return Ok(());
            }
            let number = line.checked.number;
            let digest = line.digest();
            last_offset = line.checked.offset;
            copy.see(&line);
            let again = !lines.insert(half(&digest));
            let problem = match problem_of(full, &line) {
                None => None,
                // There twice, byte for byte, is there once.
                Some(_) if again && line.checked.is_record() => return Ok(()),
                Some(_) if losses.has_digest(full, number, &digest) => {
                    self.accepted(full, number);
                    return Ok(());
                }
                problem => problem,
            };
            if conflict {
                // Both sides stand here, and one of them will not stay.
                return Ok(());
            }
            if let Some(problem) = problem {
                conflict = is_conflict_mark(line.bytes);
                if conflict {
                    self.loaded.spare(full);
                    self.loaded.damage(LoadError::Conflict {
                        path: full.to_owned(),
                        line: number,
                    });
                } else {
                    self.loaded.damage(problem);
                }
                return Ok(());
            }
            let Some(row) = row(&line.checked, file.path) else {
                return Ok(());
            };
            match self.twin(file, &row, &mut ids)? {
                Twin::None => {
                    tx.insert_row(&row, file.id)?;
                    self.loaded.touch(&row.attestation_ref, row.round);
                    self.records = self.records.saturating_add(1);
                    self.loaded.news(row);
                }
                Twin::Same => {}
                Twin::Other if losses.has_digest(full, number, &digest) => {
                    self.accepted(full, number)
                }
                Twin::Other => self.loaded.damage(LoadError::Corrupt {
                    path: full.to_owned(),
                    line: number,
                    sha256: hex(&digest),
                    code: "attestation-duplicate".to_owned(),
                    detail: format!(
                        "{} stands in this file already, with other content",
                        row.rec.attestation_id
                    ),
                }),
            }
            Ok::<_, LoadError>(())
        })
        .map_err(|e| e.in_file(full))?;
        let mut mtime_ns = open.meta().map_err(fail(full))?.mtime_ns;
        drop(open);
        if copy.is_of_a_file(self.sources)? {
            self.loaded.damage.truncate(copy.damage.0);
            self.loaded.damaged = copy.damage.1;
            self.loaded.notices.push(Notice::Foreign {
                path: full.to_owned(),
            });
            return Ok(());
        }
        if repair && !file.differs {
            if partial > 0 {
                let mut open = disk.open_append(full).map_err(fail(full))?;
                open.set_len(end.bytes).map_err(fail(full))?;
                mtime_ns = open.meta().map_err(fail(full))?.mtime_ns;
            }
            self.unsynced(full);
        }
        if partial > 0 {
            self.loaded.notices.push(Notice::PartialTail {
                path: full.to_owned(),
                bytes: partial,
            });
        }
        tx.set_head(
            file.path,
            &Head {
                file_id: file.id,
                bytes: end.bytes,
                lines: end.lines,
                chain: end.chain,
                last_offset,
                mtime_ns,
            },
        )?;
        Ok(())
    }

    fn unsynced(&mut self, full: &str) {
        // Of more than a few none is made durable by itself.
        if self.to_sync.len() <= FEW {
            self.to_sync.push(full.to_owned());
        }
    }

    fn accepted(&mut self, full: &str, line: u64) {
        self.loaded.notices.push(Notice::Accepted {
            path: full.to_owned(),
            line,
        });
    }

    /// Whether the file has a record with the same id already.
    fn twin(
        &self,
        file: &File<'_>,
        row: &Row,
        ids: &mut HashMap<Key, Key>,
    ) -> Result<Twin, LoadError> {
        let content = |row: &Row| key(format!("{:?}", row.rec).as_bytes());
        let id = key(row.rec.attestation_id.as_bytes());
        let this = content(row);
        if let Some(other) = ids.insert(id, this) {
            return Ok(if other == this {
                Twin::Same
            } else {
                Twin::Other
            });
        }
        if file.from.lines == 0 {
            return Ok(Twin::None);
        }
        let round = self.tx.round(&row.attestation_ref, row.round)?;
        let other = round.iter().find(|other| other.path == file.path);
        Ok(match other {
            None => Twin::None,
            Some(other) if other.rec == row.rec => Twin::Same,
            Some(_) => Twin::Other,
        })
    }

    /// Whether a file as long as the index saw it holds what it held then.
    fn stands_whole(&self, file: &File<'_>) -> Result<bool, LoadError> {
        let full = file.full.as_str();
        let Ok(mut open) = self.sources.disk.open_read(full) else {
            // Reading it says what is wrong.
            return Ok(true);
        };
        let losses = self.sources.losses;
        let mut sound = true;
        let start = cursor(Surface::Tree(file.path.to_owned()), &Head::default());
        let policy = self.sources.policy;
        let end = read_lines(policy, file.limits, open.as_mut(), start, &mut |line| {
            sound &= line.checked.problems.is_empty()
                || losses.has_digest(full, line.checked.number, &line.digest());
            Ok::<_, LoadError>(())
        });
        match end {
            Ok(end) => Ok(sound && end.lines == file.seen.lines && end.chain == file.seen.chain),
            Err(LoadError::Read(ReadError::Io(_))) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Whether the last line the index saw of a file is still there, by its
    /// chain.
    fn last_line_stands(&self, file: &File<'_>) -> Result<bool, LoadError> {
        let seen = &file.seen;
        if seen.lines == 0 {
            return Ok(true);
        }
        let full = file.full.as_str();
        let Ok(open) = self.sources.disk.open_read(full) else {
            // Reading it says what is wrong.
            return Ok(true);
        };
        let mut prefix = Prefix::new(open, seen.bytes);
        let before = Head {
            bytes: seen.last_offset,
            lines: seen.lines.saturating_sub(1),
            ..Head::default()
        };
        let mut stands = false;
        let start = cursor(Surface::Tree(file.path.to_owned()), &before);
        let policy = self.sources.policy;
        read_lines(policy, file.limits, &mut prefix, start, &mut |line| {
            let line = line.checked;
            stands = line.chained && line.number == seen.lines && line.chain() == seen.chain;
            Ok::<_, LoadError>(())
        })
        .map_err(|e| e.in_file(full))?;
        Ok(stands)
    }
}

impl From<ProofError> for LoadError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Db(e) => Self::Db(e),
            ProofError::Policy(e) => Self::Read(ReadError::Policy(e)),
        }
    }
}

/// Whether a file is a copy of another, made by a sync tool or by hand: nobody
/// saw it, and all it has belongs to a file that is there.
struct Copy {
    only: bool,
    of: Option<String>,
    /// How much damage was known before.
    damage: (usize, usize),
}

impl Copy {
    fn see(&mut self, line: &Line<'_>) {
        let astray = |p: &Refusal| p.code == "attestation-path-mismatch";
        if line.checked.is_record() {
            self.only &= line.checked.problems.iter().any(astray);
            self.of = Some(line.checked.path.to_string());
        }
    }

    fn is_of_a_file(&self, sources: Sources<'_>) -> Result<bool, LoadError> {
        let Some(path) = self
            .of
            .as_ref()
            .filter(|path| self.only && !path.is_empty())
        else {
            return Ok(false);
        };
        let found = meta(sources.disk, &format!("{TREE_DIR}/{path}"))?;
        Ok(found.is_some_and(|meta| meta.kind == Kind::File))
    }
}

/// Another record of the same file with the same id.
enum Twin {
    None,
    /// The same record: a line that stands there twice is one.
    Same,
    /// One that says something else.
    Other,
}

fn key(bytes: &[u8]) -> Key {
    half(&Sha256::digest(bytes).into())
}

fn half(digest: &[u8; 32]) -> Key {
    let mut key = Key::default();
    key.iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = *from);
    key
}

/// The limits of the grid version a file of the tree belongs to.
pub(super) fn limits_of_path(limits: &LimitsOf<'_>, path: &str) -> Limits {
    let version = path
        .split('/')
        .next()
        .and_then(|v| v.strip_prefix('v'))
        .and_then(|v| v.parse().ok());
    limits(version.unwrap_or(0))
}
