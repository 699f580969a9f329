//! The flat file, as verification sees it.

use std::sync::atomic::Ordering;

use sha2::{Digest, Sha256};

use super::found::{Extra, Said, Tree};
use super::keys::{Key, Keys, half};
use super::merge::Merge;
use super::{Issue, Look, On, VerifyError, issue};
use crate::audit::FLAT_FILE;
use crate::audit::flat::is_remark;
use crate::audit::reader::cursor;
use crate::db::Head;
use crate::files::disk::{DiskFile, Kind, read_full};
use crate::policy::{Limits, Surface};
use crate::text::count;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;
/// Lines that are no line of the tree are judged so many bytes at a time.
const BATCH: usize = 1 << 20;
/// The longest line there is, in bytes; the policy's.
const LINE_MAX: u64 = 1 << 20;

/// What the flat file holds.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) keys: Keys,
    /// Whether it is there and could be read to its end.
    pub(super) readable: bool,
    /// Where its last whole line ends.
    bytes: u64,
}

/// A line by its place.
struct Place {
    number: u64,
    offset: u64,
    length: u64,
    digest: [u8; 32],
}

impl Look<'_> {
    pub(super) fn read_flat(&self) -> Result<Flat, VerifyError> {
        let mut flat = Flat::default();
        if self.input.tree_alone {
            return Ok(flat);
        }
        let found = |code: &str, message: &dyn ToString, what_to_do: &str| {
            let issue = issue(code, On::Flat, FLAT_FILE, message.to_string());
            self.merge.lock().tell(issue.advise(what_to_do));
        };
        let again = "move it away; the next session writes it anew from the tree";
        let meta = match self.input.disk.meta(FLAT_FILE) {
            Ok(Some(meta)) => meta,
            // Told with the tree, which says whether anything is missing.
            Ok(None) => return Ok(flat),
            Err(e) => {
                found("attestation-audit-unreadable", &e, again);
                return Ok(flat);
            }
        };
        match meta.kind {
            Kind::File => {}
            Kind::Symlink => {
                let message = "a symbolic link; it was not followed";
                found("attestation-symlink-refused", &message, again);
                return Ok(flat);
            }
            Kind::Dir | Kind::Other => {
                found("attestation-foreign-file", &"not an ordinary file", again);
                return Ok(flat);
            }
        }
        let mut keys: Vec<Key> = Vec::new();
        let read = self.input.disk.open_read(FLAT_FILE).and_then(|mut file| {
            each_line(file.as_mut(), meta.bytes, &mut |place| {
                keys.push(half(&place.digest));
                flat.bytes = place.offset + place.length;
                self.done.fetch_add(place.length, Ordering::Relaxed);
            })
        });
        match read {
            Ok(partial) => {
                if partial > 0 {
                    let message = format!("a partial last line of {partial} bytes");
                    let advice = "the next session cuts it off";
                    let code = "attestation-line-partial";
                    self.merge.lock().tell(Issue {
                        line: keys.len() as u64 + 1,
                        ..issue(code, On::Flat, FLAT_FILE, message).advise(advice)
                    });
                }
                flat.readable = true;
                flat.keys = Keys::new(keys);
            }
            Err(e) => found("attestation-audit-unreadable", &e, again),
        }
        Ok(flat)
    }

    /// Judges the lines that are no line of the tree.
    pub(super) fn judge_rest_of_flat(&self, flat: &Flat, tree: Tree) -> Result<(), VerifyError> {
        let mut rest = Rest::default();
        if flat.readable && !flat.keys.is_empty() {
            let read = self.input.disk.open_read(FLAT_FILE).and_then(|mut file| {
                let mut lines = self.input.disk.open_read(FLAT_FILE)?;
                let mut batch = Batch::default();
                let mut failed = None;
                each_line(file.as_mut(), flat.bytes, &mut |place| {
                    if failed.is_none() && flat.keys.take(half(&place.digest)) {
                        let done = self.extra(lines.as_mut(), place, &mut batch, &mut rest);
                        failed = done.err();
                    }
                })?;
                Ok(match failed {
                    Some(error) => Err(error),
                    None => self.judge(&mut batch, &mut rest),
                })
            });
            match read {
                Ok(done) => done?,
                Err(e) => {
                    let code = "attestation-audit-unreadable";
                    self.merge.lock().tell(issue(code, On::Flat, FLAT_FILE, e));
                }
            }
        }
        let mut merge = self.merge.lock();
        merge.flat.records = tree.flat_records.saturating_add(rest.records);
        if tree.absent {
            self.tell_no_tree(&mut merge, &tree, &rest);
        }
        Ok(())
    }

    /// A line that no line of the tree is like.
    fn extra(
        &self,
        lines: &mut dyn DiskFile,
        place: Place,
        batch: &mut Batch,
        rest: &mut Rest,
    ) -> Result<(), VerifyError> {
        if place.length > LINE_MAX {
            rest.lines = rest.lines.saturating_add(1);
            let extra = Extra {
                line: place.number,
                code: "attestation-line-malformed".to_owned(),
                detail: format!("a line of {}", count_bytes(place.length)),
                accepted: self
                    .losses
                    .has_digest(FLAT_FILE, place.number, &place.digest),
                ..Extra::default()
            };
            self.merge.lock().extra(extra);
            return Ok(());
        }
        let from = batch.bytes.len();
        let length = usize::try_from(place.length).unwrap_or(0);
        batch.bytes.resize(from + length, 0);
        let room = batch.bytes.get_mut(from..).unwrap_or_default();
        let read = read_full(lines, place.offset, room).unwrap_or(0);
        // It changed underneath: the next look says how.
        if read != length || is_remark(room) {
            batch.bytes.truncate(from);
            return Ok(());
        }
        batch.places.push(place);
        match batch.bytes.len() >= BATCH {
            true => self.judge(batch, rest),
            false => Ok(()),
        }
    }

    fn judge(&self, batch: &mut Batch, rest: &mut Rest) -> Result<(), VerifyError> {
        let mut places = std::mem::take(&mut batch.places).into_iter();
        let bytes = std::mem::take(&mut batch.bytes);
        let mut from = cursor(Surface::Flat, &Head::default());
        from.at_end = true;
        // Lines of many grids: they are held against the tree's.
        let limits = Limits {
            max_residue_bytes: u32::MAX,
        };
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            let checked = self.input.policy.check_lines(left, &from, limits)?;
            for line in checked.lines {
                let Some(place) = places.next() else { break };
                rest.lines = rest.lines.saturating_add(1);
                rest.records = rest.records.saturating_add(u64::from(line.is_record()));
                rest.chained = rest.chained.saturating_add(u64::from(line.chained));
                let mut merge = self.merge.lock();
                if line.problems.is_empty() && line.path.is_empty() {
                    for warning in &line.warnings {
                        let found = issue(&warning.code, On::Flat, FLAT_FILE, &warning.detail);
                        merge.warn(Issue {
                            line: place.number,
                            attestation_id: id_of(&line.rec()),
                            ..found
                        });
                    }
                    continue;
                }
                rest.of_a_tree = rest.of_a_tree.saturating_add(1);
                if line.problems.is_empty()
                    && self
                        .input
                        .elsewhere
                        .has_line(self.input.disk, &line.path, line.bytes)
                {
                    continue;
                }
                let (code, detail) = match line.problems.first() {
                    Some(problem) => (problem.code.clone(), problem.detail.clone()),
                    None => (String::new(), String::new()),
                };
                merge.extra(Extra {
                    line: place.number,
                    id: id_of(&line.rec()),
                    path: line.path.to_string(),
                    chain: line.chain().into_owned(),
                    said: line.rec().as_ref().map(Said::of),
                    accepted: self
                        .losses
                        .has_digest(FLAT_FILE, place.number, &place.digest),
                    code,
                    detail,
                });
            }
            let consumed = usize::try_from(checked.consumed).unwrap_or(usize::MAX);
            if consumed == 0 {
                break;
            }
            left = left.get(consumed..).unwrap_or_default();
            from = checked.cursor;
            from.at_end = true;
        }
        Ok(())
    }

    /// Is the tree lost, or was there never one?
    fn tell_no_tree(&self, merge: &mut Merge, tree: &Tree, rest: &Rest) {
        let known = tree.index_records.max(rest.chained);
        if known > 0 || tree.heads > 0 {
            let known = count(usize::try_from(known).unwrap_or(usize::MAX), "record");
            let message = format!("the audit tree is missing, though {known} of it are known");
            merge.lose_tree(&message);
        } else if rest.of_a_tree > 0 {
            merge.forget_extras();
            let message = "records from before the tree; the next session moves them into one";
            merge.warn(issue(
                "attestation-not-migrated",
                On::Flat,
                FLAT_FILE,
                message,
            ));
        }
    }
}

/// What was found in what is no line of the tree.
#[derive(Default)]
struct Rest {
    lines: u64,
    records: u64,
    chained: u64,
    /// Lines that have a place in a tree, or are no records at all.
    of_a_tree: u64,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

fn id_of(rec: &Option<crate::policy::Attestation>) -> String {
    rec.as_ref()
        .map(|rec| rec.attestation_id.clone())
        .unwrap_or_default()
}

fn count_bytes(bytes: u64) -> String {
    count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte")
}

/// Tells `each` of every whole line of the first `bytes` bytes. Returns how
/// many bytes stand behind the last.
fn each_line(
    file: &mut dyn DiskFile,
    bytes: u64,
    each: &mut dyn FnMut(Place),
) -> std::io::Result<u64> {
    let mut buffer = vec![0; CHUNK.min(usize::try_from(bytes).unwrap_or(CHUNK)).max(1)];
    let (mut offset, mut start, mut number) = (0_u64, 0_u64, 0_u64);
    let mut hash = Sha256::new();
    while offset < bytes {
        let most = usize::try_from(bytes - offset)
            .unwrap_or(CHUNK)
            .min(buffer.len());
        let room = buffer.get_mut(..most).unwrap_or_default();
        let read = read_full(file, offset, room)?;
        if read == 0 {
            break;
        }
        let mut rest = room.get(..read).unwrap_or_default();
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(at + 1);
            rest = behind;
            hash.update(line);
            number += 1;
            let end = offset + (read - rest.len()) as u64;
            each(Place {
                number,
                offset: start,
                length: end - start,
                digest: std::mem::take(&mut hash).finalize().into(),
            });
            start = end;
        }
        hash.update(rest);
        offset += read as u64;
    }
    Ok(offset - start)
}
