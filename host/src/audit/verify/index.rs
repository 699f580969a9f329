//! The index, as verification sees it: held against one file of the tree at a
//! time, while that is read.

use std::collections::HashMap;

use super::found::{FileFound, Lack, Lost, Said};
use super::keys::{Key, rec_key};
use super::{Look, MOST, On, full, issue};
use crate::audit::reader::cursor;
use crate::db::{Db, DbError, ENGINE_DB, Head, Row};
use crate::files::disk::read_full;
use crate::policy::{Limits, Surface};

/// Lines of a file that are held against the index at once.
pub(super) const AT_ONCE: usize = 1000;

/// The index.
#[derive(Default)]
pub(super) struct Index {
    /// The database; `None` if there is none or it cannot be read.
    pub(super) db: Option<Db>,
    pub(super) records: u64,
    /// Files that it has lines of.
    pub(super) heads: u64,
    /// Whether there is no database at all.
    pub(super) absent: bool,
}

/// What the index and a file of the tree do not have in common, so far.
#[derive(Default)]
pub(super) struct Left {
    /// Rows that are not the line at their place, by what they say.
    rows: Vec<(Key, u64)>,
    /// Lines without a row that says the same of them, with offset and length.
    lines: Vec<(Key, u64, u64, u64)>,
    /// Up to which line rows were looked at.
    upto: u64,
    /// Rows that are as the tree has it.
    pub(super) same: u64,
    failed: bool,
}

impl Look<'_> {
    pub(super) fn open_index(&self) -> Index {
        let mut index = Index::default();
        if self.input.tree_alone {
            return index;
        }
        let opened = Db::open_read_only(self.input.db).and_then(|db| {
            let Some(db) = db else { return Ok(None) };
            let counts =
                db.read(|reader| Ok::<_, DbError>((reader.row_count()?, reader.head_count()?)))?;
            Ok(Some((db, counts)))
        });
        match opened {
            Ok(Some((db, (records, heads)))) => {
                (index.records, index.heads) = (records, heads);
                index.db = Some(db);
            }
            Ok(None) => index.absent = true,
            Err(e) => self.index_fault(&e),
        }
        index
    }

    pub(super) fn index_fault(&self, e: &DbError) {
        let advice = match e {
            e if e.is_damage() => "ghyll engine rebuild-index makes it anew from the tree",
            _ => "",
        };
        let found = issue(e.code(), On::Index, ENGINE_DB, e).advise(advice);
        self.merge.lock().tell_once(found);
    }

    /// Holds lines of a file, in order, against the rows up to line `upto`.
    pub(super) fn hold_rows(
        &self,
        db: &Db,
        head: &Head,
        lines: &mut Vec<Row>,
        upto: u64,
        left: &mut Left,
    ) {
        // What was written since the head was read is no matter of this look.
        let upto = upto.min(head.lines);
        if upto <= left.upto || left.failed {
            lines.clear();
            return;
        }
        let mut tree = lines.drain(..).peekable();
        let done =
            db.read(|reader| {
                reader.each_of_lines(head.file_id, left.upto, upto, |number, stored| {
                    while let Some(line) = tree.next_if(|line| line.line < number) {
                        left.lines
                            .push((rec_key(&line.rec), line.line, line.offset, line.length));
                    }
                    match tree.next_if(|line| line.line == number) {
                        Some(line) if stored.is(&line)? => left.same += 1,
                        line => {
                            left.rows.push((rec_key(&stored.row()?.rec), number));
                            left.lines.extend(line.map(|line| {
                                (rec_key(&line.rec), line.line, line.offset, line.length)
                            }));
                        }
                    }
                    Ok(())
                })
            });
        for line in tree.filter(|line| line.line <= upto) {
            left.lines
                .push((rec_key(&line.rec), line.line, line.offset, line.length));
        }
        left.upto = upto;
        if let Err(e) = done {
            left.failed = true;
            self.index_fault(&e);
        }
    }

    /// What became of the rows and lines that are not in their places: those
    /// that say the same elsewhere in the file are no matter of their own.
    pub(super) fn name_left(
        &self,
        db: &Db,
        path: &str,
        head: &Head,
        left: Left,
        found: &mut FileFound,
    ) {
        found.rows_seen = left.same.saturating_add(left.rows.len() as u64);
        if left.failed {
            found.rows_seen = head.lines;
            return;
        }
        let mut lines: HashMap<Key, Vec<usize>> = HashMap::new();
        for (at, (key, ..)) in left.lines.iter().enumerate().rev() {
            lines.entry(*key).or_default().push(at);
        }
        let mut paired = vec![false; left.lines.len()];
        let mut lost = Vec::new();
        for (key, number) in left.rows {
            match lines.get_mut(&key).and_then(Vec::pop) {
                Some(at) => {
                    found.rows_elsewhere += 1;
                    if let Some(paired) = paired.get_mut(at) {
                        *paired = true;
                    }
                }
                None => lost.push(number),
            }
        }
        found.lost_more = lost.len().saturating_sub(MOST) as u64;
        for number in lost.into_iter().take(MOST) {
            match db.read(|reader| reader.row_at(head.file_id, number)) {
                Ok(Some(row)) => found.lost.push(Lost {
                    line: number,
                    said: Said::of(&row.rec),
                    chain: row.chain,
                    id: row.rec.attestation_id,
                }),
                Ok(None) => {}
                Err(e) => self.index_fault(&e),
            }
        }
        let strange = left
            .lines
            .into_iter()
            .zip(paired)
            .filter(|(_, paired)| !paired);
        for ((_, line, offset, length), _) in strange {
            found.lack(Lack {
                line,
                index: true,
                ..self.lack_at(path, line, offset, length)
            });
        }
    }

    /// A line of the tree, read again to be named.
    fn lack_at(&self, path: &str, line: u64, offset: u64, length: u64) -> Lack {
        let mut lack = Lack {
            line,
            ..Lack::default()
        };
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let read = self
            .input
            .disk
            .open_read(&full(path))
            .and_then(|mut file| read_full(file.as_mut(), offset, &mut bytes));
        if read.is_err() {
            return lack;
        }
        let mut start = cursor(Surface::Flat, &Head::default());
        start.at_end = true;
        let limits = Limits {
            max_residue_bytes: u32::MAX,
        };
        let checked = self.input.policy.check_lines(&bytes, &start, limits);
        let rec = checked.ok().and_then(|c| c.lines.into_iter().next()?.rec());
        if let Some(rec) = rec {
            lack.said = Some(Said::of(&rec));
            lack.id = rec.attestation_id;
        }
        lack
    }
}
