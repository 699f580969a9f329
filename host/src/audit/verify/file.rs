//! One file of the tree: every line judged once, and what the index, the
//! checkpoint and the flat file have of it held against it meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::flat::Flat;
use super::found::{Bad, FileFound, Lack, Otherwise, Said};
use super::grids::Grids;
use super::index::{AT_ONCE, Index, Left};
use super::keys::{Key, half, key};
use super::{Issue, Look, On, VerifyError, full, issue, unreadable};
use crate::audit::checkpoint::End;
use crate::audit::flat::is_conflict_mark;
use crate::audit::reader::{Line, ReadError, cursor, read_lines, row};
use crate::db::{Head, Row};
use crate::files::disk::Kind;
use crate::grid::{Grid, GridError};
use crate::policy::{Refusal, Surface};

/// Counts over all files.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) flat_records: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) heads: AtomicU64,
    pub(super) checkpointed: AtomicU64,
}

/// One file as it is read.
struct Reading<'a> {
    path: &'a str,
    full: String,
    head: Option<Head>,
    seen: Option<&'a End>,
    grid: Arc<Result<Grid, GridError>>,
    /// The lines of records, by id.
    ids: HashMap<Key, Key>,
    rows: Vec<Row>,
    left: Left,
    found: FileFound,
    /// Records that stand where they do not belong, if all so far do, and where
    /// the last of them does.
    copied: u64,
    elsewhere: Option<String>,
    /// The chain where the index, and where the checkpoint, stopped.
    chain_at_head: Option<String>,
    chain_at_seen: Option<String>,
}

impl Look<'_> {
    /// Reads one file of the tree to its end.
    pub(super) fn read_file(
        &self,
        path: &str,
        flat: &Flat,
        index: &Index,
        totals: &Totals,
    ) -> Result<FileFound, VerifyError> {
        let head = match index
            .db
            .as_ref()
            .map(|db| db.read(|reader| reader.head(path)))
        {
            Some(Ok(head)) => head,
            Some(Err(e)) => {
                self.index_fault(&e);
                None
            }
            None => None,
        };
        let mut reading = Reading {
            path,
            full: full(path),
            seen: self.seen(path),
            grid: self.grids.get(Grids::version_of(path)),
            head,
            ids: HashMap::new(),
            rows: Vec::new(),
            left: Left::default(),
            found: FileFound::default(),
            copied: 0,
            elsewhere: None,
            chain_at_head: None,
            chain_at_seen: None,
        };
        let lines_of = |head: &Option<Head>| head.as_ref().is_some_and(|head| head.lines > 0);
        totals
            .heads
            .fetch_add(u64::from(lines_of(&reading.head)), Ordering::Relaxed);
        totals
            .checkpointed
            .fetch_add(u64::from(reading.seen.is_some()), Ordering::Relaxed);
        let start = cursor(Surface::Tree(path.to_owned()), &Head::default());
        let limits = Grids::limits(&reading.grid);
        let read = self
            .input
            .disk
            .open_read(&reading.full)
            .map_err(ReadError::Io)
            .and_then(|mut file| {
                read_lines(
                    self.input.policy,
                    limits,
                    file.as_mut(),
                    start,
                    &mut |line| {
                        self.read_line(&mut reading, line, flat, index);
                        Ok::<_, ReadError>(())
                    },
                )
            });
        let end = match read {
            Ok(end) => end,
            Err(error) => {
                let error = unreadable(error)?;
                let code = "attestation-audit-unreadable";
                let found = issue(code, On::Tree, &reading.full, error);
                // It is there; what it holds is not known.
                let known = reading.head.map_or(0, |head| head.lines);
                totals.rows.fetch_add(known, Ordering::Relaxed);
                return Ok(FileFound {
                    issues: vec![found],
                    ..FileFound::default()
                });
            }
        };
        reading.found.lines = end.lines;
        if self.is_copy(&reading) {
            let message = "a copy of another file; it is left alone";
            return Ok(FileFound {
                warnings: vec![issue(
                    "attestation-foreign-file",
                    On::Tree,
                    &reading.full,
                    message,
                )],
                foreign: true,
                ..FileFound::default()
            });
        }
        if let (Some(db), Some(head)) = (&index.db, reading.head.clone()) {
            let mut left = std::mem::take(&mut reading.left);
            self.hold_rows(db, &head, &mut reading.rows, u64::MAX, &mut left);
            self.name_left(db, path, &head, left, &mut reading.found);
            let stood = (head.lines, head.chain.as_str());
            let now = (end.lines, reading.chain_at_head.as_deref());
            match otherwise(On::Tree, stood, now) {
                Some(_) if self.moved(path, &head)? => {
                    reading.found.forget_index(head.lines);
                }
                otherwise => reading.found.otherwise.extend(otherwise),
            }
            totals
                .rows
                .fetch_add(reading.found.rows_seen, Ordering::Relaxed);
        }
        if let Some(seen) = reading.seen {
            let stood = (seen.lines, seen.chain.as_str());
            let now = (end.lines, reading.chain_at_seen.as_deref());
            reading
                .found
                .otherwise
                .extend(otherwise(On::Checkpoint, stood, now));
        }
        let flat_records = reading.found.flat_records;
        totals
            .flat_records
            .fetch_add(flat_records, Ordering::Relaxed);
        reading.found.end = End {
            lines: end.lines,
            chain: end.chain,
        };
        Ok(reading.found)
    }

    /// Whether nobody saw it and all it has belongs to another file that is there.
    fn is_copy(&self, reading: &Reading<'_>) -> bool {
        reading.head.is_none()
            && reading.seen.is_none()
            && reading.copied == reading.found.records
            && reading.elsewhere.as_ref().is_some_and(|path| {
                matches!(self.input.disk.meta(&full(path)), Ok(Some(meta)) if meta.kind == Kind::File)
            })
    }

    fn read_line(&self, reading: &mut Reading<'_>, line: Line<'_>, flat: &Flat, index: &Index) {
        let digest = line.digest();
        let partial = line.is_partial();
        let checked = line.checked;
        let number = checked.number;
        self.done.fetch_add(checked.length, Ordering::Relaxed);
        let rec = checked.rec();
        let id = rec.as_ref().map(|rec| rec.attestation_id.clone());
        for warning in &checked.warnings {
            let found = issue(&warning.code, On::Tree, &reading.full, &warning.detail);
            reading.found.warning(Issue {
                line: number,
                attestation_id: id.clone().unwrap_or_default(),
                ..found
            });
        }
        let this = half(&digest);
        let twin = id
            .as_ref()
            .filter(|_| !partial)
            .and_then(|id| reading.ids.insert(key(id.as_bytes()), this));
        // That it stands in the wrong place says more than that it does not
        // link to what is there.
        let there = |path: &str| matches!(self.input.disk.meta(&full(path)), Ok(Some(_)));
        let astray = |p: &&Refusal| p.code == "attestation-path-mismatch" && there(&checked.path);
        let problems = &checked.problems;
        let mut problem = problems
            .iter()
            .find(astray)
            .or(problems.first())
            .map(|problem| (problem.code.clone(), problem.detail.clone()));
        if problem.is_none() && twin.is_some_and(|twin| twin != this) {
            let detail = "another line of this file has the same id and says something else";
            problem = Some(("attestation-duplicate".to_owned(), detail.to_owned()));
        } else if let Some((_, detail)) = &mut problem
            && twin == Some(this)
        {
            *detail = "this line stands in the file already; take it out again".to_owned();
        }
        if let Some((code, detail)) = problem {
            if is_conflict_mark(line.bytes) {
                reading.found.conflict.get_or_insert(number);
            }
            if rec.is_some()
                && code == "attestation-path-mismatch"
                && reading.found.records == reading.copied
            {
                reading.copied += 1;
                reading.elsewhere = Some(checked.path.to_string());
            }
            let accepted = self.losses.has_digest(&reading.full, number, &digest);
            // It may stand in the flat file as it is, and then nothing is new.
            let belongs = (code == "attestation-path-mismatch" && !checked.path.is_empty())
                .then(|| checked.path.to_string());
            let in_flat = !partial && belongs.is_none() && flat.readable && flat.keys.take(this);
            reading.found.flat_records += u64::from(in_flat && rec.is_some());
            reading.found.records += u64::from(rec.is_some() && !partial);
            let only_link = checked.problems.len() == 1 && code == "attestation-chain-broken";
            self.at_line(reading, number, &checked.chain());
            let said = rec.as_ref().map(Said::of);
            reading.found.bad(Bad {
                line: number,
                id: id.unwrap_or_default(),
                code,
                detail,
                said,
                unlinked: rec.filter(|_| only_link).map(Box::new),
                chain: checked.chain().into_owned(),
                belongs,
                accepted,
            });
            return;
        }
        self.at_line(reading, number, &checked.chain());
        let beyond = reading.head.as_ref().map_or(0, |head| head.lines) < number;
        let Some(row) = row(&checked, reading.path) else {
            return;
        };
        reading.found.records += 1;
        self.grids
            .hold(&reading.grid, &row.rec, &reading.full, number);
        if let Some(subjects) = &self.subjects {
            subjects.hold(&row.rec, &reading.full, number);
        }
        let in_flat = flat.readable && flat.keys.take(this);
        reading.found.flat_records += u64::from(in_flat);
        if index.db.is_some() && beyond {
            reading.found.news += 1;
            return;
        }
        if flat.readable && !in_flat && twin.is_none() {
            reading.found.lack(Lack {
                line: number,
                id: row.rec.attestation_id.clone(),
                said: Some(Said::of(&row.rec)),
                flat: true,
                index: false,
            });
        }
        if let (Some(db), Some(head)) = (&index.db, &reading.head)
            && twin.is_none()
        {
            reading.rows.push(row);
            if reading.rows.len() >= AT_ONCE {
                self.hold_rows(db, head, &mut reading.rows, number, &mut reading.left);
            }
        }
    }

    fn at_line(&self, reading: &mut Reading<'_>, number: u64, chain: &str) {
        if reading
            .head
            .as_ref()
            .is_some_and(|head| head.lines == number)
        {
            reading.chain_at_head = Some(chain.to_owned());
        }
        if reading.seen.is_some_and(|seen| seen.lines == number) {
            reading.chain_at_seen = Some(chain.to_owned());
        }
    }
}

/// How a file differs from what somebody saw of it, each as lines and chain.
fn otherwise(by: On, stood: (u64, &str), now: (u64, Option<&str>)) -> Option<Otherwise> {
    let fewer = (now.0 < stood.0).then_some(stood.0);
    let other = stood.0 > 0 && now.1.is_some_and(|chain| chain != stood.1);
    (fewer.is_some() || other).then_some(Otherwise { by, fewer })
}
