//! The flat file, as verification sees it.

use std::collections::HashMap;

use super::{Attempt, Issue, Key, On, VerifyError, issue, key, unreadable};
use crate::engine::Head;
use crate::losses::sha256;
use crate::policy::Surface;
use crate::store::FLAT_FILE;
use crate::store::disk::Kind;
use crate::store::reader::{Line, ReadError, cursor, read_lines};

/// What the flat file holds.
#[derive(Default)]
pub(super) struct Flat {
    /// How often each line stands in it, lines that have no place in the tree
    /// left out.
    pub(super) lines: HashMap<Key, u32>,
    /// Lines that carry a chain: they were written to a tree.
    pub(super) chained: u64,
    /// Whether it could be read to its end.
    pub(super) readable: bool,
}

impl Attempt<'_, '_> {
    pub(super) fn read_flat(&mut self) -> Result<Flat, VerifyError> {
        let mut flat = Flat::default();
        match self.input.disk.meta(FLAT_FILE) {
            Err(e) => self.issue("attestation-audit-unreadable", On::Flat, FLAT_FILE, e),
            Ok(None) => flat.readable = true,
            Ok(Some(meta)) => match meta.kind {
                Kind::File => {
                    self.total += meta.bytes;
                    let mut issues = Vec::new();
                    let mut warnings = Vec::new();
                    let mut records = 0;
                    flat.readable = self.each_flat_line(&mut |attempt, line| {
                        let checked = &line.checked;
                        records += u64::from(checked.rec.is_some());
                        flat.chained += u64::from(checked.chained);
                        let legacy = checked.problems.is_empty() && checked.path.is_empty();
                        for problem in &checked.problems {
                            let found = of_line(&line, &problem.code, &problem.detail);
                            if attempt.losses.covers(FLAT_FILE, found.line, line.bytes) {
                                warnings.push(found);
                            } else {
                                issues.push(found);
                            }
                        }
                        if legacy {
                            for warning in &checked.warnings {
                                warnings.push(of_line(&line, &warning.code, &warning.detail));
                            }
                        } else if !line.is_partial() {
                            *flat.lines.entry(key(line.bytes)).or_default() += 1;
                        }
                        attempt.advance(checked.length);
                    })?;
                    self.report.flat.records = records;
                    self.report.issues.append(&mut issues);
                    self.report.warnings.append(&mut warnings);
                }
                Kind::Symlink => self.issue(
                    "attestation-symlink-refused",
                    On::Flat,
                    FLAT_FILE,
                    "a symbolic link; it was not followed",
                ),
                Kind::Dir | Kind::Other => self.issue(
                    "attestation-foreign-file",
                    On::Flat,
                    FLAT_FILE,
                    "not an ordinary file",
                ),
            },
        }
        Ok(flat)
    }

    /// Names the lines of the flat file that the tree does not have: those
    /// that are `left` when every line of the tree is taken away.
    pub(super) fn name_flat_extras(
        &mut self,
        mut left: HashMap<Key, u32>,
    ) -> Result<(), VerifyError> {
        let mut issues = Vec::new();
        let mut warnings = Vec::new();
        self.each_flat_line(&mut |attempt, line| {
            let legacy = line.checked.problems.is_empty() && line.checked.path.is_empty();
            if legacy || line.is_partial() {
                return;
            }
            let Some(count) = left.get_mut(&key(line.bytes)).filter(|count| **count > 0) else {
                return;
            };
            *count -= 1;
            let code = "attestation-aggregate-divergence";
            let found = of_line(&line, code, "the tree does not have this line");
            if attempt.losses.covers(FLAT_FILE, found.line, line.bytes) {
                warnings.push(found);
            } else {
                issues.push(found);
            }
        })?;
        self.report.issues.append(&mut issues);
        self.report.warnings.append(&mut warnings);
        Ok(())
    }

    /// Tells `each` of every line. Returns whether all could be read; what
    /// could not is an issue.
    fn each_flat_line(
        &mut self,
        each: &mut dyn FnMut(&mut Self, Line<'_>),
    ) -> Result<bool, VerifyError> {
        let input = self.input;
        let read = input
            .disk
            .open_read(FLAT_FILE)
            .map_err(ReadError::Io)
            .and_then(|mut file| {
                let start = cursor(Surface::Flat, &Head::default());
                read_lines(
                    input.policy,
                    input.limits,
                    file.as_mut(),
                    start,
                    &mut |line| {
                        each(self, line);
                        Ok::<_, ReadError>(())
                    },
                )
            });
        match read {
            Ok(_) => Ok(true),
            Err(error) => {
                let error = unreadable(error)?;
                self.issue("attestation-audit-unreadable", On::Flat, FLAT_FILE, error);
                Ok(false)
            }
        }
    }
}

fn of_line(line: &Line<'_>, code: &str, message: &str) -> Issue {
    let id = line.checked.rec.as_ref().map(|r| r.attestation_id.clone());
    Issue {
        line: line.checked.number,
        attestation_id: id.unwrap_or_default(),
        sha256: sha256(line.bytes),
        ..issue(code, On::Flat, FLAT_FILE, message)
    }
}
