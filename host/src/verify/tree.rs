//! The tree, as verification sees it, and the other surfaces held against it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::flat::Flat;
use super::index::{Index, row_key};
use super::{Attempt, Issue, Key, On, VerifyError, full, issue, key, unreadable};
use crate::checkpoint::End;
use crate::engine::{ENGINE_DB, Head};
use crate::losses::sha256;
use crate::policy::Surface;
use crate::store::disk::{Kind, Meta};
use crate::store::reader::{Line, ReadError, cursor, read_lines, row};
use crate::store::{FLAT_FILE, Found, TREE_DIR, walk};

/// The other surfaces, from which each line of the tree is taken away.
struct Others {
    flat: Flat,
    index: Index,
    ids: HashSet<Key>,
}

/// What somebody saw of a file: the index, or whoever took a checkpoint.
struct Seen<'a> {
    by: On,
    lines: u64,
    chain: &'a str,
}

impl Attempt<'_, '_> {
    /// Reads the tree and says where the other surfaces differ from it.
    pub(super) fn hold_tree_against(
        &mut self,
        flat: Flat,
        index: Index,
    ) -> Result<(), VerifyError> {
        let input = self.input;
        let mut others = Others {
            flat,
            index,
            ids: HashSet::new(),
        };
        match input.disk.meta(TREE_DIR) {
            Err(e) => {
                self.issue("attestation-audit-unreadable", On::Tree, TREE_DIR, e);
                return Ok(());
            }
            Ok(Some(meta)) if meta.kind == Kind::Symlink => {
                self.symlink(TREE_DIR);
                return Ok(());
            }
            Ok(Some(meta)) if meta.kind != Kind::Dir => {
                self.issue(
                    "attestation-foreign-file",
                    On::Tree,
                    TREE_DIR,
                    "not a directory",
                );
                return Ok(());
            }
            Ok(Some(_)) => {}
            Ok(None) => return self.no_tree(others),
        }
        let mut files = Vec::new();
        walk(input.disk, TREE_DIR, &mut |path, found| {
            match found {
                Found::Lines(meta) => {
                    self.total += meta.bytes;
                    files.push((path, meta));
                }
                Found::Symlink => self.symlink(&full(&path)),
                Found::Foreign => self.issue(
                    "attestation-foreign-file",
                    On::Tree,
                    &full(&path),
                    "has no place here",
                ),
                Found::Unreadable(e) => {
                    self.issue("attestation-audit-unreadable", On::Tree, &full(&path), e);
                }
            }
            Ok::<_, VerifyError>(())
        })?;
        for (path, meta) in files {
            self.read_file(&path, meta, &mut others)?;
        }
        self.missing_files(&others.index.heads);
        if others.index.missing && self.report.tree.records > 0 {
            let message = format!(
                "missing: none of {} records is indexed; the next session makes it anew",
                self.report.tree.records
            );
            self.issue(
                "attestation-aggregate-divergence",
                On::Index,
                ENGINE_DB,
                message,
            );
        }
        self.name_extras(others)
    }

    /// Names what the other surfaces have and the tree does not.
    fn name_extras(&mut self, others: Others) -> Result<(), VerifyError> {
        if others.flat.readable && others.flat.lines.values().any(|count| *count > 0) {
            self.name_flat_extras(others.flat.lines)?;
        }
        if let Some(db) = others.index.db
            && others.index.rows.values().any(|count| *count > 0)
        {
            self.name_index_extras(&db, others.index.rows);
        }
        Ok(())
    }

    fn symlink(&mut self, path: &str) {
        self.issue(
            "attestation-symlink-refused",
            On::Tree,
            path,
            "a symbolic link; it was not followed",
        );
    }

    /// Is the tree lost, or was there never one?
    fn no_tree(&mut self, others: Others) -> Result<(), VerifyError> {
        self.missing_files(&BTreeMap::new());
        let known = self.report.index.records.max(others.flat.chained);
        if known > 0 || !others.index.heads.is_empty() {
            self.issue(
                "attestation-audit-lost",
                On::Tree,
                TREE_DIR,
                format!("the audit tree is missing, though {known} of its records are known"),
            );
            return self.name_extras(others);
        }
        if !others.flat.lines.is_empty() {
            let message = "records from before the tree; the next session moves them into one";
            self.warning("attestation-not-migrated", On::Flat, FLAT_FILE, message);
        }
        Ok(())
    }

    /// Files that somebody saw and nobody finds.
    fn missing_files(&mut self, heads: &BTreeMap<String, Head>) {
        let mut missing = Vec::new();
        let checkpoint = self.input.checkpoint.map(|c| &c.files);
        for (path, end) in checkpoint.into_iter().flatten() {
            missing.push((On::Checkpoint, path, end.lines));
        }
        for (path, head) in heads {
            missing.push((On::Tree, path, head.lines));
        }
        for (by, path, lines) in missing {
            if lines > 0 && !self.report.ends.contains_key(path) {
                let saw = saw(by);
                let message = format!("the file is missing; {saw} {lines} lines in it");
                self.issue("attestation-tail-missing", by, &full(path), message);
            }
        }
    }

    fn read_file(
        &mut self,
        path: &str,
        meta: Meta,
        others: &mut Others,
    ) -> Result<(), VerifyError> {
        let input = self.input;
        self.report.tree.files += 1;
        let head = others.index.heads.get(path).cloned();
        let checkpoint = input.checkpoint.and_then(|c| c.files.get(path));
        let mut seen = Vec::new();
        if let Some(head) = &head {
            seen.push(Seen {
                by: On::Tree,
                lines: head.lines,
                chain: &head.chain,
            });
        }
        if let Some(end) = checkpoint {
            seen.push(Seen {
                by: On::Checkpoint,
                lines: end.lines,
                chain: &end.chain,
            });
        }
        let full = full(path);
        let start = cursor(Surface::Tree(path.to_owned()), &Head::default());
        let read = input
            .disk
            .open_read(&full)
            .map_err(ReadError::Io)
            .and_then(|mut file| {
                read_lines(
                    input.policy,
                    input.limits,
                    file.as_mut(),
                    start,
                    &mut |line| {
                        self.read_line(path, &full, line, &seen, others);
                        Ok::<_, ReadError>(())
                    },
                )
            });
        let end = match read {
            Ok(end) => end,
            Err(error) => {
                let error = unreadable(error)?;
                self.issue("attestation-audit-unreadable", On::Tree, &full, error);
                // It is there; what it holds is not known.
                self.report.ends.insert(path.to_owned(), End::default());
                return Ok(());
            }
        };
        if meta.bytes == 0 && end.lines == 0 {
            (self.progress)(self.done, self.total);
        }
        for seen in seen.iter().filter(|seen| end.lines < seen.lines) {
            let saw = saw(seen.by);
            let message = format!("has {} lines; {saw} {}", end.lines, seen.lines);
            self.issue("attestation-tail-missing", seen.by, &full, message);
        }
        let end = End {
            lines: end.lines,
            chain: end.chain,
        };
        self.report.ends.insert(path.to_owned(), end);
        Ok(())
    }

    fn read_line(
        &mut self,
        path: &str,
        full: &str,
        line: Line<'_>,
        seen: &[Seen<'_>],
        others: &mut Others,
    ) {
        let checked = &line.checked;
        self.advance(checked.length);
        let id = checked.rec.as_ref().map(|rec| rec.attestation_id.clone());
        let id = id.unwrap_or_default();
        let found = |code: &str, surface: On, message: &str| Issue {
            line: checked.number,
            attestation_id: id.clone(),
            sha256: sha256(line.bytes),
            ..issue(code, surface, full, message)
        };
        let mut problems: Vec<Issue> = checked
            .problems
            .iter()
            .map(|problem| found(&problem.code, On::Tree, &problem.detail))
            .collect();
        for warning in &checked.warnings {
            let warning = found(&warning.code, On::Tree, &warning.detail);
            self.report.warnings.push(warning);
        }
        if line.is_partial() {
            self.report.issues.append(&mut problems);
            return;
        }
        self.report.tree.records += u64::from(checked.rec.is_some());
        if checked.rec.is_some() && !others.ids.insert(key(id.as_bytes())) {
            let message = "another record of the tree has the same id";
            problems.push(found("attestation-duplicate", On::Tree, message));
        }
        let whole = problems.is_empty();
        if !whole && self.losses.covers(full, checked.number, line.bytes) {
            self.report.warnings.append(&mut problems);
        } else {
            self.report.issues.append(&mut problems);
        }
        for seen in seen.iter().filter(|seen| seen.lines == checked.number) {
            if seen.chain != checked.chain {
                let message = format!("up to here not what {} then", saw(seen.by));
                let issue = found("attestation-chain-broken", seen.by, &message);
                self.report.issues.push(issue);
            }
        }
        let number = checked.number;
        let mut lacks = Vec::new();
        if others.flat.readable && !take(&mut others.flat.lines, key(line.bytes)) {
            lacks.push((On::Flat, FLAT_FILE));
        }
        if others.index.db.is_some()
            && let Some(row) = row(line.checked, path)
            && !take(&mut others.index.rows, row_key(&row))
        {
            lacks.push((On::Index, ENGINE_DB));
        }
        // A line that is faulty in itself is expected nowhere else.
        for (surface, file) in lacks.into_iter().filter(|_| whole) {
            self.report.issues.push(Issue {
                attestation_id: id.clone(),
                ..issue(
                    "attestation-aggregate-divergence",
                    surface,
                    file,
                    format!("does not have line {number} of {full}"),
                )
            });
        }
    }
}

fn take(left: &mut HashMap<Key, u32>, key: Key) -> bool {
    match left.get_mut(&key) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

fn saw(by: On) -> &'static str {
    match by {
        On::Checkpoint => "the checkpoint saw",
        _ => "the index saw",
    }
}
