//! Where a repository keeps its files.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest of the small files of a repository, in bytes.
const SMALL: u64 = 1 << 20;

/// A file of a repository that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(crate) struct Unreadable {
    /// Which.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) source: io::Error,
}

/// Where a work tree's repository keeps its own files and the shared ones.
pub(crate) struct GitDirs {
    /// What each work tree has of its own: HEAD, the index.
    pub(crate) own: PathBuf,
    /// What work trees share: objects, refs, the configuration.
    pub(crate) common: PathBuf,
}

impl GitDirs {
    /// Of the work tree whose root `dir` is, if it is one.
    ///
    /// # Errors
    /// If that cannot be told.
    pub(crate) fn of(dir: &Path) -> Result<Option<Self>, Unreadable> {
        let dot = dir.join(".git");
        let meta = match dot.metadata() {
            Ok(meta) => meta,
            Err(e) if is_gone(&e) => return Ok(None),
            Err(source) => return Err(Unreadable { path: dot, source }),
        };
        let own = if meta.is_dir() {
            dot
        } else {
            let text = read_line(&dot)?;
            match text
                .as_deref()
                .and_then(|text| text.strip_prefix("gitdir: "))
            {
                Some(path) => dir.join(path),
                None => return Ok(None),
            }
        };
        // What git itself wants of a directory before it takes it for one.
        if own.join("HEAD").symlink_metadata().is_err() {
            return Ok(None);
        }
        let common = match read_line(&own.join("commondir"))? {
            Some(path) => own.join(path),
            None => own.clone(),
        };
        Ok(Some(Self { own, common }))
    }
}

fn read_line(path: &Path) -> Result<Option<String>, Unreadable> {
    let bytes = read_small(path, SMALL).map_err(|source| Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// A whole regular file of at most `max` bytes; `None` if there is none.
///
/// # Errors
/// Those of reading; a larger file.
pub(crate) fn read_small(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(e) if is_gone(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    if !meta.is_file() {
        return Ok(None); // opening a pipe would wait for its other end
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(max + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("larger than {max} bytes")));
    }
    Ok(Some(bytes))
}

/// Whether nothing is there, be it that a directory above is gone.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
