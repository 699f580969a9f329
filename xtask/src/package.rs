//! The crates that are published, as packages.
//!
//! The host embeds the component, its contract and the sample project, which in
//! the repository stand beside it, where other hosts and people look for them.
//! A package may hold only what is inside its own folder, so they are put there
//! for as long as it is made, and its build script looks there first.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{COMPONENT, Error, cargo};

/// Where the host's build script looks.
const PACKAGED: &str = "host/packaged";
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Runs `cargo package` with `options` for the crates that are published.
///
/// # Errors
///
/// What is there already under the name, a file that cannot be copied, and
/// whatever cargo says.
pub fn run(root: &Path, options: &[&str]) -> Result<(), Error> {
    let staged = stage(root)?;
    let status = Command::new(cargo())
        .args([
            "package",
            "--allow-dirty",
            "-p",
            "ghyll-policy",
            "-p",
            "ghyll",
        ])
        .args(options)
        .current_dir(root)
        .status();
    drop(staged);
    let failed = |detail: String| Error::Program {
        program: "cargo package".to_owned(),
        detail,
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// What was put there, to be taken away again whatever happens.
struct Staged<'a> {
    root: &'a Path,
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // Nothing more can be done about what cannot be removed; the next run
        // says that it is there.
        let _ = fs::remove_dir_all(self.root.join(PACKAGED));
        for name in LICENCES {
            let _ = fs::remove_file(self.root.join("host").join(name));
        }
    }
}

fn stage(root: &Path) -> Result<Staged<'_>, Error> {
    let packaged = root.join(PACKAGED);
    fs::create_dir(&packaged).map_err(Error::io(&packaged))?;
    let staged = Staged { root };
    copy(&root.join(COMPONENT), &packaged.join("ghyll-policy.wasm"))?;
    copy_all(&root.join("wit"), &packaged.join("wit"))?;
    copy_all(&root.join("scripts/sample"), &packaged.join("sample"))?;
    for name in LICENCES {
        copy(&root.join(name), &root.join("host").join(name))?;
    }
    Ok(staged)
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map_err(Error::io(from))?;
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(from).map_err(Error::io(from))? {
        let entry = entry.map_err(Error::io(from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to)?;
        } else {
            copy(&from, &to)?;
        }
    }
    Ok(())
}
