//! Builds the policy component, and knows whether the committed one is current;
//! makes the tables of characters it is built with.
//!
//! The component is committed as built, so that building ghyll needs no wasm
//! toolchain. That is only honest if everybody can tell that it was built from
//! the sources beside it: [`lock`] records from what, [`stale`] compares on any
//! machine, and a rebuild compares bytes where the same compiler is at hand.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod component;
pub mod deny;
pub mod dist;
pub mod docs;
pub mod lock;
pub mod package;
pub mod sources;
pub mod toolchain;
pub mod unicode;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use lock::Lock;
use sources::Sources;

/// The committed component, from the root of the workspace.
pub const COMPONENT: &str = "guest/ghyll-policy.wasm";

/// Its lock file.
pub const LOCK: &str = "guest/ghyll-policy.lock";

/// The most bytes the component may have: it is loaded at every start.
pub const MAX_COMPONENT_BYTES: usize = 256 * 1024;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// In which way.
        detail: String,
    },
    /// No compiler here can build for wasm.
    #[error("{0}")]
    NoToolchain(String),
    /// A program failed, or could not be started.
    #[error("{program}: {detail}")]
    Program {
        /// Its path.
        program: String,
        /// How it ended.
        detail: String,
    },
    /// The module could not be made a component, or the component is not as
    /// promised.
    #[error("component: {0}")]
    Component(String),
}

impl Error {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.into(),
            source,
        }
    }

    fn malformed(path: &Path, detail: impl ToString) -> Self {
        Self::Malformed {
            path: path.into(),
            detail: detail.to_string(),
        }
    }
}

/// The root of the workspace this program belongs to.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).into()
}

/// The cargo that runs this program, or whichever is found.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Reads a file.
/// What a program says, if it ends well.
fn said(command: &mut Command) -> Result<Vec<u8>, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |detail: String| Error::Program {
        program: program.clone(),
        detail,
    };
    let output = command
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let last = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(format!("{}: {last}", output.status)))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io(path))
}

/// Reads a TOML file.
fn read_toml(path: &Path) -> Result<toml::Table, Error> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    text.parse().map_err(|cause| Error::malformed(path, cause))
}

/// Why the committed component is not what its lock and the sources say; empty
/// when it is current. Needs no compiler.
///
/// # Errors
///
/// A file that cannot be read, or is not what it should be.
pub fn stale(root: &Path) -> Result<Vec<String>, Error> {
    let lock = Lock::read(&root.join(LOCK))?;
    let component = read(&root.join(COMPONENT))?;
    let mut reasons = lock.sources.changes_to(&Sources::read(root)?);
    if lock.sha256 != sources::sha256(&component) || lock.bytes != component.len() {
        reasons.push(format!("{COMPONENT} is not the one the lock names"));
    }
    Ok(reasons)
}
