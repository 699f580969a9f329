//! One file of the tree, brought into the index from where it stopped.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::tree::{FEW, Pass};
use super::{LimitsOf, LoadError, Notice, Sources, fail, meta, problem_of};
use crate::audit::TREE_DIR;
use crate::audit::accepted_losses::hex;
use crate::audit::flat::is_conflict_mark;
use crate::audit::reader::{Line, ReadError, cursor, read_lines, row};
use crate::db::{Head, Row};
use crate::files::disk::{Kind, Meta, Prefix};
use crate::policy::{Limits, Refusal, Surface};

/// A record by the first half of its SHA-256.
type Key = [u8; 16];

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
    pub(super) fn file(
        &mut self,
        path: &str,
        head: Option<Head>,
        meta: Meta,
    ) -> Result<(), LoadError> {
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
