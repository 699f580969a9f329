//! The project a server is for, looked at anew for each call.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::fault::Fault;
use crate::audit::TREE_DIR;
use crate::bus::Bus;
use crate::clock::SystemClock;
use crate::db::ENGINE_DB;
use crate::files::disk::{CapDisk, Disk, Kind, Meta};
use crate::grid::Grid;
use crate::policy::Policy;
use crate::project::Project;
use crate::session::Session;
use crate::view::View;

/// How long one look at the files does for everybody who waits.
const LOOK: Duration = Duration::from_millis(250);

/// A project, and what this server asked in it.
pub(super) struct Place {
    root: PathBuf,
    policy: Arc<Policy>,
    /// The refs this server asked for, with the round it asked for, until it
    /// has told what came of them.
    pub(super) asked: Mutex<BTreeMap<String, u32>>,
    looked: Mutex<Option<(Instant, u64)>>,
}

impl Place {
    pub(super) fn new(root: &Path, policy: Arc<Policy>) -> Self {
        Self {
            root: root.to_owned(),
            policy,
            asked: Mutex::default(),
            looked: Mutex::default(),
        }
    }

    /// The project as it is now.
    pub(super) fn view(&self) -> Result<View, Fault> {
        let project = Project::open(&self.root)?;
        Ok(View::open(project, Arc::clone(&self.policy))?)
    }

    /// A session of its own, for what changes something.
    pub(super) fn session(&self) -> Result<Session, Fault> {
        let project = Project::open(&self.root)?;
        let policy = Arc::clone(&self.policy);
        let clock = Arc::new(SystemClock);
        Ok(Session::open(
            project,
            policy,
            clock,
            Arc::new(Bus::default()),
        )?)
    }

    /// The grid in force, as it is written.
    pub(super) fn grid_text(&self) -> Result<(u64, String), Fault> {
        let project = Project::open(&self.root)?;
        let version = Grid::active_version(project.ghyll())?;
        Ok((version, Grid::read_text(project.ghyll(), version)?))
    }

    /// A number that is another one when files changed that a [`View`] would
    /// read: the tree, the index, the pointer to the grid. Cheap, for it only
    /// looks at names, sizes and times.
    pub(super) fn fingerprint(&self) -> Result<u64, Fault> {
        let mut looked = self.looked.lock();
        if let Some((when, found)) = *looked
            && when.elapsed() < LOOK
        {
            return Ok(found);
        }
        let project = Project::open(&self.root)?;
        let io = |error: std::io::Error| Fault::new("project-unreadable", error);
        let disk = CapDisk::new(project.ghyll()).map_err(io)?;
        let mut hasher = DefaultHasher::new();
        for file in ["grid.current", ENGINE_DB, &format!("{ENGINE_DB}-wal")] {
            feel(&mut hasher, file, disk.meta(file).map_err(io)?.as_ref());
        }
        let mut left = vec![TREE_DIR.to_owned()];
        while let Some(dir) = left.pop() {
            let entries = match disk.list_meta(&dir) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                other => other.map_err(io)?,
            };
            for (entry, meta) in entries {
                let path = format!("{dir}/{}", entry.name);
                if entry.kind == Kind::Dir {
                    left.push(path);
                } else {
                    feel(&mut hasher, &path, meta.ok().as_ref());
                }
            }
        }
        let found = hasher.finish();
        *looked = Some((Instant::now(), found));
        Ok(found)
    }
}

fn feel(hasher: &mut DefaultHasher, path: &str, meta: Option<&Meta>) {
    let known = meta.map(|meta| (meta.bytes, meta.mtime_ns, meta.id));
    (path, known).hash(hasher);
}
