//! Making everything derived anew from the tree.
//!
//! For a project whose database is gone, damaged or of another version, and
//! for one whose tree lost something. The index is read from the tree alone,
//! into a database of its own that then takes the old one's place; of the old
//! one only the session's state is taken over, as far as it can be read. What
//! is lost is never passed over silently: without `accept_loss` the first loss
//! refuses, with it every loss is written down before the project goes on
//! without it.

mod aside;
mod error;

use std::path::PathBuf;
use std::sync::Arc;

use aside::{remove_beside, set_aside};
pub use error::RebuildError;

use super::accepted_losses::{ACCEPTED_LOSSES, AcceptedLoss, AcceptedLosses};
use super::load::{self, Elsewhere, LimitsOf, LoadError, Loaded, Notice, Sources};
use super::proof::index_proves;
use super::{FlatFile, TREE_DIR};
use crate::clock::{Clock, rfc3339};
use crate::db::{Db, DbError, ENGINE_DB, Reader, State};
use crate::files::disk::{CapDisk, Disk};
use crate::grid::Grid;
use crate::policy::Policy;
use crate::project::Project;

/// Where the new database is made before it is put in place.
const NEW_DB: &str = "engine.db.new";
/// Losses that are written down one by one; of more a project has to be
/// restored, not given up.
const LOSSES_MAX: usize = 200_000;

/// What was done.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Records indexed.
    pub records: u64,
    /// Files of the tree.
    pub files: u64,
    /// Where the database that could not be used was set aside, below `.ghyll`.
    pub set_aside: Option<String>,
    /// Losses accepted now.
    pub accepted: Vec<AcceptedLoss>,
    /// What was put right on the way.
    pub notices: Vec<Notice>,
}

/// How the index is folded into what it says of refs; the caller's, who knows
/// what verdicts do.
pub type Fold<'a> = &'a dyn Fn(&crate::db::Tx<'_>) -> Result<(), DbError>;

/// Makes everything derived anew. Losses are accepted in the name of
/// `accept_loss`.
///
/// # Errors
/// `session-locked`, a loss nobody accepted by its code, `engine-db-newer`,
/// and what reading the tree refuses; then nothing was changed.
pub fn rebuild(
    project: &Project,
    policy: &Policy,
    limits: &LimitsOf<'_>,
    clock: &dyn Clock,
    accept_loss: Option<&str>,
    fold: Fold<'_>,
) -> Result<Rebuilt, RebuildError> {
    let lock = project.lock("rebuilding the index")?;
    Grid::read_active(project.ghyll())?;
    let io = |below: &str| {
        let path = project.path_of(below);
        move |source| RebuildError::Io { path, source }
    };
    let disk: Arc<dyn Disk> = Arc::new(CapDisk::new(project.ghyll()).map_err(io(""))?);
    let losses = AcceptedLosses::read(disk.as_ref()).map_err(io(ACCEPTED_LOSSES))?;
    let old = old_db(project)?;

    let new_path = project.path_of(NEW_DB);
    if disk.meta(NEW_DB).map_err(io(NEW_DB))?.is_some() {
        std::fs::remove_file(&new_path).map_err(io(NEW_DB))?;
    }
    let new = Db::create_unsettled(&new_path)?;
    let guard = RemoveOnDrop(Some(new_path.clone()));
    let elsewhere = Elsewhere::of(project.root());
    let sources = Sources {
        elsewhere: &elsewhere,
        policy,
        limits,
        disk: disk.as_ref(),
        losses: &losses,
        repair: true,
    };
    let mut loaded = Loaded {
        keep: if accept_loss.is_some() { LOSSES_MAX } else { 0 },
        ..Loaded::default()
    };
    new.transaction(|tx| {
        load::index(sources, tx, &mut loaded)?;
        fold(tx)?;
        Ok::<_, LoadError>(())
    })?;
    if let OldDb::Readable(old) = &old {
        old.read(|reader| missing(reader, &new, sources, &mut loaded))?;
    }
    let state = match &old {
        OldDb::Readable(db) => db.read(|reader| Ok::<_, DbError>(reader.salvage()))?,
        OldDb::None | OldDb::Damaged => State::default(),
    };
    let whole =
        matches!(&old, OldDb::None) || matches!(&old, OldDb::Readable(_)) && state.unreadable == 0;
    let left_out = new.transaction(|tx| tx.restore(state))?;

    let mut rebuilt = Rebuilt::default();
    accept(&mut rebuilt, sources, &new, loaded, accept_loss, clock, &io)?;
    rebuilt.records = new.read(|reader| reader.row_count())?;
    rebuilt.files = new.read(|reader| Ok::<_, DbError>(reader.heads()?.len() as u64))?;
    new.settle()?;
    drop(old);
    std::fs::File::open(&new_path)
        .and_then(|file| file.sync_all())
        .map_err(io(NEW_DB))?;
    if !whole || left_out > 0 {
        rebuilt.set_aside = set_aside(project, disk.as_ref())?;
    } else {
        remove_beside(project, disk.as_ref())?;
    }
    disk.rename(NEW_DB, ENGINE_DB).map_err(io(ENGINE_DB))?;
    disk.sync_dir("").map_err(io(""))?;
    guard.keep();
    let db = Db::open(&project.path_of(ENGINE_DB))?;
    let flat = FlatFile::new(Arc::clone(&disk));
    load::catch_up(sources, &db, &flat, &mut rebuilt.notices)?;
    drop(lock);
    Ok(rebuilt)
}

/// Removes a half-made database.
struct RemoveOnDrop(Option<PathBuf>);

impl RemoveOnDrop {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Refuses what is lost, or writes down that somebody accepts it.
fn accept<F: FnOnce(std::io::Error) -> RebuildError>(
    rebuilt: &mut Rebuilt,
    sources: Sources<'_>,
    new: &Db,
    loaded: Loaded,
    accept_loss: Option<&str>,
    clock: &dyn Clock,
    io: &dyn Fn(&str) -> F,
) -> Result<(), RebuildError> {
    let Loaded {
        notices,
        mut damage,
        damaged,
        ..
    } = loaded;
    rebuilt.notices = notices;
    let refused = damage
        .iter()
        // Of a merge that is not finished one side would be given up, and what
        // is not checked out is there.
        .position(|d| {
            matches!(
                d,
                LoadError::Symlink { .. }
                    | LoadError::Io { .. }
                    | LoadError::Conflict { .. }
                    | LoadError::NotCheckedOut { .. }
            )
        });
    if let Some(at) = refused {
        return Err(RebuildError::Refused(Box::new(damage.swap_remove(at))));
    }
    let Some(op_id) = accept_loss else {
        return match damage.is_empty() {
            true => Ok(()),
            false => Err(RebuildError::Losses(damage, damaged)),
        };
    };
    let at = rfc3339(clock.now());
    let loss = |code: &str, path: String, line: u64, sha256: &str, message: String| AcceptedLoss {
        at: at.clone(),
        op_id: op_id.to_owned(),
        code: code.to_owned(),
        path,
        line,
        sha256: sha256.to_owned(),
        message,
    };
    for damage in &damage {
        let path = damage.path().unwrap_or_default();
        rebuilt.accepted.push(match damage {
            LoadError::Corrupt {
                line,
                code,
                detail,
                sha256,
                ..
            } => loss(code, path, *line, sha256, detail.clone()),
            other => loss(other.code(), path, 0, "", other.to_string()),
        });
    }
    // With the lines that only the flat file has left: they stay there.
    let mut count = damaged;
    load::each_flat_extra(sources, new, &mut |line, sha256| {
        count = count.saturating_add(1);
        if count <= LOSSES_MAX {
            rebuilt.accepted.push(loss(
                "attestation-aggregate-divergence",
                super::FLAT_FILE.to_owned(),
                line,
                sha256,
                "the tree does not have this line".to_owned(),
            ));
        }
    })?;
    if count > LOSSES_MAX {
        return Err(RebuildError::TooMany(count));
    }
    rebuilt.accepted.retain(|loss| {
        loss.sha256.is_empty() || !sources.losses.has(&loss.path, loss.line, &loss.sha256)
    });
    let disk = sources.disk;
    if rebuilt.accepted.is_empty() {
        return Ok(());
    }
    AcceptedLosses::accept(disk, &rebuilt.accepted).map_err(|e| io(ACCEPTED_LOSSES)(e))?;
    if disk.meta(TREE_DIR).map_err(|e| io(TREE_DIR)(e))?.is_none() {
        disk.create_dir(TREE_DIR).map_err(|e| io(TREE_DIR)(e))?;
        disk.sync_dir("").map_err(|e| io(TREE_DIR)(e))?;
    }
    Ok(())
}

/// What the old index can prove to have been in the tree and is not any more.
fn missing(
    old: &Reader<'_>,
    new: &Db,
    sources: Sources<'_>,
    loaded: &mut Loaded,
) -> Result<(), RebuildError> {
    let mut gone = Vec::new();
    let mut known = 0_u64;
    // An index that cannot even be read to its end proves nothing.
    let Ok(heads) = old.heads() else {
        return Ok(());
    };
    for (path, head) in heads {
        if head.lines == 0 {
            continue;
        }
        let (now, then) = new.read(|reader| {
            let now = reader.head(&path)?;
            let then = match &now {
                Some(now) => reader.row_at(now.file_id, head.lines)?,
                None => None,
            };
            Ok::<_, DbError>((now, then))
        })?;
        let stands = match (&now, &then) {
            (Some(now), _) if now.bytes < head.bytes => false,
            (Some(_), Some(row)) => row.chain.is_empty() || row.chain == head.chain,
            // An accepted loss stands there, or a damaged line: told already.
            (Some(_), None) => true,
            (None, _) => false,
        };
        if stands || !matches!(index_proves(old, sources.policy, &head), Ok(true)) {
            continue;
        }
        let told = loaded.damage.iter().any(
            |damage| matches!(damage, LoadError::NotCheckedOut { path: left_out } if *left_out == path),
        );
        if told || sources.elsewhere.moved(sources, &path, &head)?.is_some() {
            continue;
        }
        known = known.saturating_add(head.lines);
        gone.push(match now {
            Some(now) if now.bytes >= head.bytes => LoadError::ChainBroken { path },
            now => LoadError::TailMissing {
                path,
                found: now.map_or(0, |now| now.bytes),
                seen: head.bytes,
            },
        });
    }
    let no_tree = new.read(|reader| Ok::<_, DbError>(reader.heads()?.is_empty()))?;
    if no_tree && known > 0 && gone.len() > 1 {
        gone = vec![LoadError::Lost { known }];
    }
    for damage in gone {
        loaded.damage(damage);
    }
    Ok(())
}

/// The database that is replaced.
enum OldDb {
    None,
    Readable(Db),
    Damaged,
}

fn old_db(project: &Project) -> Result<OldDb, RebuildError> {
    match Db::open_read_only(&project.path_of(ENGINE_DB)) {
        Ok(None) => Ok(OldDb::None),
        Ok(Some(db)) => Ok(if db.is_whole()? {
            OldDb::Readable(db)
        } else {
            OldDb::Damaged
        }),
        Err(e) if e.is_damage() => Ok(OldDb::Damaged),
        Err(e) => Err(e.into()),
    }
}
