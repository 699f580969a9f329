//! A project brought up to its tree: the index, where refs stand, and which
//! passes that ends.
//!
//! A session does this to the project's own database before it acts; a reader
//! does the very same in temporary tables in front of it. So a reader cannot
//! say anything else than a session started now would.

use std::collections::BTreeSet;

use super::pass::{self, Living};
use super::{pending, standing};
use crate::audit::load::{self, LoadError, Loaded, Sources};
use crate::bus::Event;
use crate::db::{DbError, Reader, Traversal, Tx};

/// Brings everything derived up to the tree as it is; what is wrong with the
/// tree is in the answer.
///
/// # Errors
/// Those of the database and the component.
pub fn bring_up(
    sources: Sources<'_>,
    tx: &Tx<'_>,
    living: &dyn Living,
    now: &str,
    loaded: &mut Loaded,
) -> Result<Vec<Event>, LoadError> {
    load::index(sources, tx, loaded)?;
    if loaded.from_nothing {
        standing::fold_all(tx)?;
    } else {
        for (attestation_ref, oldest) in &loaded.touched {
            standing::fold(tx, attestation_ref, *oldest)?;
        }
    }
    Ok(pass::settle_all(tx, living, now)?)
}

/// Whether [`bring_up`] would change nothing.
///
/// # Errors
/// As [`bring_up`].
pub fn is_current(
    sources: Sources<'_>,
    reader: &Reader<'_>,
    living: &dyn Living,
) -> Result<bool, LoadError> {
    Ok(load::is_current(sources, reader)? && is_settled(reader, living)?)
}

/// As [`is_current`], for who knows that nothing happened to the tree but to
/// `files`, below its root, since the index was brought up to it.
///
/// # Errors
/// As [`bring_up`].
pub fn is_current_but_for(
    files: &BTreeSet<String>,
    sources: Sources<'_>,
    reader: &Reader<'_>,
    living: &dyn Living,
) -> Result<bool, LoadError> {
    for path in files {
        if !load::is_as_indexed(sources, reader, path)? {
            return Ok(false);
        }
    }
    Ok(is_settled(reader, living)?)
}

fn is_settled(reader: &Reader<'_>, living: &dyn Living) -> Result<bool, DbError> {
    for pass in reader.open_passes()? {
        let alive = living.is_alive(&pass.session_id);
        let waits = !pending::of_pass(reader, &pass.pass_id)?.is_empty();
        let stays = if waits {
            alive || !pass.recovered_at.is_empty()
        } else {
            (pass.traversal != Traversal::Asked && alive) || pending::rests(reader, &pass.pass_id)?
        };
        if !stays {
            return Ok(false);
        }
    }
    Ok(true)
}
