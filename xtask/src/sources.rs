//! What the component is built from, by hash.
//!
//! Three things decide its bytes, besides the compiler: the files of the guest
//! and the contract, the exact versions of the crates it is built with (macros
//! included), and how the build is configured. Each is recorded by name, so that
//! a stale component can be told with what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::{Error, component, read, read_toml};

/// The component's sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// `wit/**`, `guest/src/**` and `guest/Cargo.toml`: path from the root, with
    /// `/`, to SHA-256.
    pub files: BTreeMap<String, String>,
    /// `name version` to checksum: the guest's dependencies (not those of its
    /// tests) and theirs, as `Cargo.lock` has them.
    pub crates: BTreeMap<String, String>,
    /// What of the workspace's `Cargo.toml` concerns the guest, and the options
    /// its build is called with.
    pub settings: BTreeMap<String, String>,
}

impl Sources {
    /// Reads the sources of the workspace at `root`.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is not what it should be.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let guest = root.join("guest/Cargo.toml");
        let direct = dependencies(&read_toml(&guest)?);
        let mut files = BTreeMap::new();
        for path in [guest, root.join("guest/src"), root.join("wit")] {
            hash_files(root, &path, &mut files)?;
        }
        Ok(Self {
            files,
            crates: locked_crates(&root.join("Cargo.lock"), &direct)?,
            settings: settings(&read_toml(&root.join("Cargo.toml"))?, &direct),
        })
    }

    /// One hash for all of them.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut text = String::new();
        for (name, map) in self.parts() {
            for (key, value) in map {
                text.push_str(&format!("{name}\t{key}\t{value}\n"));
            }
        }
        sha256(text.as_bytes())
    }

    /// In words, how `now` differs.
    #[must_use]
    pub fn changes_to(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for ((part, then), (_, now)) in self.parts().into_iter().zip(now.parts()) {
            let keys: BTreeSet<_> = then.keys().chain(now.keys()).collect();
            for key in keys {
                let how = match (then.get(key), now.get(key)) {
                    (None, _) => "is new",
                    (_, None) => "is gone",
                    (then, now) if then != now => "changed",
                    _ => continue,
                };
                changes.push(format!("{part}: {key} {how}"));
            }
        }
        changes
    }

    /// The parts by the names they have in the lock.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &BTreeMap<String, String>); 3] {
        [
            ("files", &self.files),
            ("crates", &self.crates),
            ("settings", &self.settings),
        ]
    }
}

/// SHA-256 in hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn hash_files(root: &Path, path: &Path, files: &mut BTreeMap<String, String>) -> Result<(), Error> {
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(Error::io(path))? {
            hash_files(root, &entry.map_err(Error::io(path))?.path(), files)?;
        }
    } else {
        let name: Vec<_> = path
            .strip_prefix(root)
            .unwrap_or(path)
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        files.insert(name.join("/"), sha256(&read(path)?));
    }
    Ok(())
}

/// The names under `dependencies`, for all targets, of a crate's manifest.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(targets)
        .filter_map(|table| table.get("dependencies")?.as_table())
        .flat_map(Table::keys)
        .cloned()
        .collect()
}

/// The crates `Cargo.lock` gives for `direct` and what they depend on.
fn locked_crates(
    path: &Path,
    direct: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>, Error> {
    let lock = read_toml(path)?;
    let packages: Vec<&Table> = lock
        .get("package")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_table)
        .collect();
    let text = |package: &Table, key: &str| {
        package
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let guest = packages
        .iter()
        .find(|package| text(package, "name") == "ghyll-policy")
        .ok_or_else(|| Error::malformed(path, "no package `ghyll-policy`"))?;
    // The guest's own entry also has what its tests need; names decide.
    let name_of = |wanted: &str| wanted.split(' ').next().unwrap_or_default().to_owned();
    let mut open: Vec<String> = needs(guest)
        .filter(|wanted| direct.contains(&name_of(wanted)))
        .collect();
    let mut crates = BTreeMap::new();
    while let Some(wanted) = open.pop() {
        // `name`, or `name version` where there are several.
        let (name, version) = wanted
            .split_once(' ')
            .map_or((wanted.as_str(), None), |(name, rest)| {
                (name, rest.split(' ').next())
            });
        let package = packages
            .iter()
            .find(|package| {
                text(package, "name") == name
                    && version.is_none_or(|version| text(package, "version") == version)
            })
            .ok_or_else(|| Error::malformed(path, format!("no package `{wanted}`")))?;
        let key = format!("{name} {}", text(package, "version"));
        if crates.insert(key, text(package, "checksum")).is_none() {
            open.extend(needs(package));
        }
    }
    Ok(crates)
}

/// What a package of `Cargo.lock` depends on.
fn needs(package: &Table) -> impl Iterator<Item = String> {
    package
        .get("dependencies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
}

fn settings(workspace: &Table, direct: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut settings = component::RECIPE
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect::<BTreeMap<_, _>>();
    settings.insert(
        "rustc.target-feature".into(),
        component::TARGET_FEATURES.into(),
    );
    let mut add = |table: &str, key: &str| {
        let value = workspace
            .get("workspace")
            .and_then(|w| w.get(table)?.get(key));
        if let Some(value) = value {
            settings.insert(format!("workspace.{table}.{key}"), value.to_string());
        }
    };
    add("package", "edition");
    add("package", "version");
    for name in direct {
        add("dependencies", name);
    }
    settings
}
