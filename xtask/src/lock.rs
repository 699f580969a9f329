//! The lock: what the committed component is, and from what it was built.
//!
//! TOML, so that a reviewer sees in a diff what a rebuild was for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::sources::Sources;
use crate::toolchain::Compiler;
use crate::{COMPONENT, Error, read_toml};

/// The contents of the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// SHA-256 of the component.
    pub sha256: String,
    /// Size of the component.
    pub bytes: usize,
    /// What compiled it.
    pub compiler: Compiler,
    /// What it was compiled from.
    pub sources: Sources,
}

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, lacks something, or was edited by hand so that
    /// its parts and their hash differ.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let table = read_toml(path)?;
        let lacks = |key: &str| Error::malformed(path, format!("no `{key}`"));
        let text = |table: &Table, key: &str| {
            table
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| lacks(key))
        };
        let part = |key: &str| -> Result<BTreeMap<String, String>, Error> {
            table
                .get(key)
                .and_then(Value::as_table)
                .ok_or_else(|| lacks(key))?
                .iter()
                .map(|(name, value)| {
                    let value = value.as_str().ok_or_else(|| lacks(name))?;
                    Ok((name.clone(), value.to_owned()))
                })
                .collect()
        };
        let compiler = table
            .get("compiler")
            .and_then(Value::as_table)
            .ok_or_else(|| lacks("compiler"))?;
        let lock = Self {
            sha256: text(&table, "sha256")?,
            bytes: table
                .get("bytes")
                .and_then(Value::as_integer)
                .and_then(|bytes| usize::try_from(bytes).ok())
                .ok_or_else(|| lacks("bytes"))?,
            compiler: Compiler {
                rustc: text(compiler, "rustc")?,
                library: text(compiler, "library")?,
                linker: text(compiler, "linker")?,
            },
            sources: Sources {
                files: part("files")?,
                crates: part("crates")?,
                settings: part("settings")?,
            },
        };
        if lock.sources.sha256() != text(&table, "sources")? {
            return Err(Error::malformed(
                path,
                "`sources` is not the hash of its parts",
            ));
        }
        Ok(lock)
    }

    /// Writes the lock file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        fs::write(path, self.to_string()).map_err(Error::io(path))
    }
}

impl std::fmt::Display for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted = |text: &str| Value::String(text.into());
        writeln!(f, "# Written by `cargo xtask component`. Do not edit.")?;
        writeln!(f, "component = {}", quoted(COMPONENT))?;
        writeln!(f, "sha256 = {}", quoted(&self.sha256))?;
        writeln!(f, "bytes = {}", self.bytes)?;
        writeln!(
            f,
            "# Over all lines of the tables `files`, `crates` and `settings`."
        )?;
        writeln!(f, "sources = {}", quoted(&self.sources.sha256()))?;
        writeln!(f, "\n[compiler]")?;
        writeln!(f, "rustc = {}", quoted(&self.compiler.rustc))?;
        writeln!(f, "library = {}", quoted(&self.compiler.library))?;
        writeln!(f, "linker = {}", quoted(&self.compiler.linker))?;
        for (name, part) in self.sources.parts() {
            writeln!(f, "\n[{name}]")?;
            for (key, value) in part {
                writeln!(f, "{} = {}", quoted(key), quoted(value))?;
            }
        }
        Ok(())
    }
}
