//! The index brought up to the tree.

use std::collections::HashMap;

use super::{LoadError, Notice, Sources, fail, refuse_problems};
use crate::engine::{Head, Row, Tx};
use crate::policy::Surface;
use crate::store::append::sync_parents;
use crate::store::disk::{Meta, Prefix};
use crate::store::reader::{cursor, read_lines, row};
use crate::store::tree::{Found, TREE_DIR, walk};

/// Indexes what the index does not have.
pub(super) fn index_tree(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    notices: &mut Vec<Notice>,
) -> Result<(), LoadError> {
    let mut known: HashMap<String, Head> = tx.heads()?.into_iter().collect();
    let mut records = 0;
    walk(sources.disk, TREE_DIR, &mut |path, found| match found {
        Found::Symlink => Err(LoadError::Symlink {
            path: format!("{TREE_DIR}/{path}"),
        }),
        Found::Unreadable(source) => Err(fail(&format!("{TREE_DIR}/{path}"))(source)),
        Found::Foreign => {
            notices.push(Notice::Foreign {
                path: format!("{TREE_DIR}/{path}"),
            });
            Ok(())
        }
        Found::Lines(meta) => {
            let head = known.remove(&path);
            let unchanged = head
                .as_ref()
                .is_some_and(|h| h.bytes == meta.bytes && h.mtime_ns == meta.mtime_ns);
            if !unchanged {
                records += index_file(sources, tx, &path, head, meta, notices)?;
            }
            Ok(())
        }
    })?;
    let missing = known.into_iter().filter(|(_, head)| head.bytes > 0);
    if let Some((path, head)) = missing.min_by(|a, b| a.0.cmp(&b.0)) {
        return Err(LoadError::TailMissing {
            path,
            found: 0,
            seen: head.bytes,
        });
    }
    if records > 0 {
        notices.push(Notice::Indexed { records });
    }
    Ok(())
}

/// Indexes what a file has beyond its head. Returns how many records.
fn index_file(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    path: &str,
    head: Option<Head>,
    meta: Meta,
    notices: &mut Vec<Notice>,
) -> Result<u64, LoadError> {
    let seen = head.clone().unwrap_or_default();
    if meta.bytes < seen.bytes {
        return Err(LoadError::TailMissing {
            path: path.to_owned(),
            found: meta.bytes,
            seen: seen.bytes,
        });
    }
    // A file that only grew is read from where the index stopped, if its last
    // indexed line still stands there; anything else is read whole.
    let grew = meta.bytes > seen.bytes && last_line_stands(sources, path, &seen)?;
    let from = if grew { seen.clone() } else { Head::default() };

    let full = format!("{TREE_DIR}/{path}");
    let mut file = sources.disk.open_read(&full).map_err(fail(&full))?;
    let mut last_offset = from.last_offset;
    let mut records = 0;
    let mut at_head = grew || seen.lines == 0;
    let mut partial = 0;
    let start = cursor(Surface::Tree(path.to_owned()), &from);
    let (policy, limits) = (sources.policy, sources.limits);
    let end = read_lines(policy, limits, file.as_mut(), start, &mut |line| {
        if line.is_partial() {
            partial = line.checked.length;
            return Ok(());
        }
        let number = line.checked.number;
        let covered = || sources.losses.covers(&full, number, line.bytes);
        let accepted = !line.checked.problems.is_empty() && covered();
        if !accepted {
            refuse_problems(&full, &line)?;
        }
        last_offset = line.checked.offset;
        if number == seen.lines {
            at_head = line.checked.chain == seen.chain;
        }
        if number <= seen.lines {
            return Ok(());
        }
        if accepted {
            notices.push(Notice::Accepted {
                path: full.clone(),
                line: number,
            });
            return Ok(());
        }
        let bytes = line.bytes;
        if let Some(row) = row(line.checked, path) {
            match duplicate(tx, &full, &row)? {
                None => {
                    tx.insert_row(&row)?;
                    records += 1;
                }
                Some(_) if sources.losses.covers(&full, number, bytes) => {
                    notices.push(Notice::Accepted {
                        path: full.clone(),
                        line: number,
                    });
                }
                Some(error) => return Err(error),
            }
        }
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(&full))?;
    if !at_head {
        return Err(LoadError::ChainBroken {
            path: path.to_owned(),
        });
    }
    let mut file = sources.disk.open_append(&full).map_err(fail(&full))?;
    if partial > 0 {
        file.set_len(end.bytes).map_err(fail(&full))?;
        notices.push(Notice::PartialTail {
            path: full.clone(),
            bytes: partial,
        });
    }
    // What is acknowledged from here on has to be as durable as if this
    // session had written it.
    file.sync().map_err(fail(&full))?;
    sync_parents(sources.disk, &full).map_err(fail(&full))?;
    let meta = file.meta().map_err(fail(&full))?;
    tx.set_head(
        path,
        &Head {
            bytes: end.bytes,
            lines: end.lines,
            chain: end.chain,
            last_offset,
            mtime_ns: meta.mtime_ns,
        },
    )?;
    Ok(records)
}

/// Whether the last line the index saw of a file is still there, by its chain.
fn last_line_stands(sources: Sources<'_>, path: &str, seen: &Head) -> Result<bool, LoadError> {
    if seen.lines == 0 {
        return Ok(true);
    }
    let full = format!("{TREE_DIR}/{path}");
    let file = sources.disk.open_read(&full).map_err(fail(&full))?;
    let mut file = Prefix::new(file, seen.bytes);
    let before = Head {
        bytes: seen.last_offset,
        lines: seen.lines - 1,
        ..Head::default()
    };
    let mut stands = false;
    let start = cursor(Surface::Tree(path.to_owned()), &before);
    let (policy, limits) = (sources.policy, sources.limits);
    read_lines(policy, limits, &mut file, start, &mut |line| {
        let line = line.checked;
        stands = line.chained && line.number == seen.lines && line.chain == seen.chain;
        Ok::<_, LoadError>(())
    })
    .map_err(|e| e.in_file(&full))?;
    Ok(stands)
}

/// What is wrong with adding the row, if its id is taken.
fn duplicate(tx: &Tx<'_>, full: &str, row: &Row) -> Result<Option<LoadError>, LoadError> {
    let id = &row.rec.attestation_id;
    Ok(tx.row(id)?.map(|other| LoadError::Corrupt {
        path: full.to_owned(),
        line: row.line,
        code: "attestation-duplicate".to_owned(),
        detail: format!("{id} stands in {}:{} already", other.path, other.line),
    }))
}
