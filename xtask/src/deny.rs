//! Licences, sources and wildcards of everything that is linked, as `deny.toml`
//! allows them.
//!
//! The file is cargo-deny's, and who has cargo-deny can run it. Building that
//! takes longer than all of CI may, so this reads as much of the file as ghyll
//! uses, and refuses what it does not know. Advisories are not among it: they
//! need a database from the network.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use toml::Table;

use crate::{Error, cargo};

/// The file, from the repository's root.
pub const FILE: &str = "deny.toml";
/// The registry that crates come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What may be linked.
#[derive(Debug, Default)]
pub struct Rules {
    targets: Vec<String>,
    allow: BTreeSet<String>,
    /// A licence more, for one crate.
    exceptions: BTreeSet<(String, String)>,
}

/// What was looked at, and found.
#[derive(Debug, Default)]
pub struct Found {
    /// Crates that are not ours.
    pub crates: usize,
    /// What may not be.
    pub refused: Vec<String>,
    /// Rules that nothing needs any more.
    pub idle: Vec<String>,
}

fn wrong(detail: impl Into<String>) -> Error {
    Error::Program {
        program: FILE.to_owned(),
        detail: detail.into(),
    }
}

impl Rules {
    /// Reads them.
    ///
    /// # Errors
    /// A rule that is not known here, or set to what is not checked here.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let table: Table = text
            .parse()
            .map_err(|e: toml::de::Error| wrong(e.to_string()))?;
        let mut rules = Self::default();
        for (section, value) in &table {
            let keys = value.as_table().ok_or_else(|| wrong(section))?;
            for (key, value) in keys {
                rules.take(section, key, value)?;
            }
        }
        Ok(rules)
    }

    fn take(&mut self, section: &str, key: &str, value: &toml::Value) -> Result<(), Error> {
        let unknown = || wrong(format!("[{section}] {key} = {value} is not checked here"));
        let texts = |value: &toml::Value| -> Option<Vec<String>> {
            let texts = value.as_array()?.iter();
            texts.map(|text| text.as_str().map(str::to_owned)).collect()
        };
        match (section, key) {
            ("graph", "targets") => self.targets = texts(value).ok_or_else(unknown)?,
            ("licenses", "allow") => {
                self.allow = texts(value).ok_or_else(unknown)?.into_iter().collect();
            }
            ("licenses", "exceptions") => {
                for exception in value.as_array().ok_or_else(unknown)? {
                    let name = exception.get("crate").and_then(toml::Value::as_str);
                    let allow = exception.get("allow").and_then(texts);
                    let (Some(name), Some(allow)) = (name, allow) else {
                        return Err(unknown());
                    };
                    let all = allow.into_iter().map(|licence| (name.to_owned(), licence));
                    self.exceptions.extend(all);
                }
            }
            ("bans", "multiple-versions") if value.as_str() == Some("allow") => {}
            ("bans", "wildcards") if value.as_str() == Some("deny") => {}
            ("bans", "allow-wildcard-paths") if value.as_bool() == Some(true) => {}
            ("sources", "unknown-registry" | "unknown-git") if value.as_str() == Some("deny") => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Holds everything that the workspace links against them.
    ///
    /// # Errors
    /// What cargo says.
    pub fn check(&self, root: &Path) -> Result<Found, Error> {
        let mut packages = Vec::new();
        for target in &self.targets {
            for package in metadata(root, target)? {
                if !packages.contains(&package) {
                    packages.push(package);
                }
            }
        }
        let mut found = Found::default();
        let mut needed = BTreeSet::new();
        for package in &packages {
            self.judge(package, &mut found, &mut needed);
        }
        let idle = self.allow.iter().filter(|l| !needed.contains(*l));
        found.idle = idle.cloned().collect();
        let idle = self.exceptions.iter();
        let idle = idle.filter(|(name, l)| !needed.contains(&format!("{l} of {name}")));
        found
            .idle
            .extend(idle.map(|(name, l)| format!("{l} of {name}")));
        Ok(found)
    }

    fn judge(&self, package: &Json, found: &mut Found, needed: &mut BTreeSet<String>) {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["req"] == "*" && dependency["path"].is_null() {
                let on = dependency["name"].as_str().unwrap_or_default();
                let what = format!("{name} {version}: any version of {on} would do");
                found.refused.push(what);
            }
        }
        let source = &package["source"];
        if source.is_null() {
            // Ours: a path.
            return;
        }
        found.crates += 1;
        if source != REGISTRY {
            found
                .refused
                .push(format!("{name} {version}: from {source}"));
        }
        let mut used = BTreeSet::new();
        let mut allowed = |licence: &str| {
            let exception = (name.to_owned(), licence.to_owned());
            if self.allow.contains(licence) {
                used.insert(licence.to_owned());
                return true;
            }
            let excepted = self.exceptions.contains(&exception);
            if excepted {
                used.insert(format!("{licence} of {name}"));
            }
            excepted
        };
        match expression(text("license"), &mut allowed) {
            Some(true) => needed.append(&mut used),
            Some(false) => {
                let what = format!("{name} {version}: {} is not allowed", text("license"));
                found.refused.push(what);
            }
            None => {
                let what = format!(
                    "{name} {version}: no licence expression: {:?}",
                    text("license")
                );
                found.refused.push(what);
            }
        }
    }
}

/// The packages that are linked for a target, ours included.
fn metadata(root: &Path, target: &str) -> Result<Vec<Json>, Error> {
    let failed = |detail: String| Error::Program {
        program: "cargo metadata".to_owned(),
        detail,
    };
    let output = Command::new(cargo())
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", target])
        .current_dir(root)
        .output()
        .map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let mut said: Json =
        serde_json::from_slice(&output.stdout).map_err(|e| failed(e.to_string()))?;
    let nodes = said["resolve"]["nodes"].as_array().into_iter().flatten();
    let linked: BTreeSet<String> = nodes
        .filter_map(|node| node["id"].as_str().map(str::to_owned))
        .collect();
    let Json::Array(packages) = said["packages"].take() else {
        return Err(failed("it names no packages".to_owned()));
    };
    let is_linked = |package: &Json| package["id"].as_str().is_some_and(|id| linked.contains(id));
    Ok(packages.into_iter().filter(is_linked).collect())
}

/// Whether an SPDX expression can be met with licences that are `allowed`;
/// `None` if it is none.
pub fn expression(text: &str, allowed: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    // Crates of before SPDX have a slash for OR.
    let text = text
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut words = words.as_slice();
    let met = any(&mut words, allowed)?;
    words.is_empty().then_some(met)
}

fn any(words: &mut &[&str], allowed: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    let mut met = all(words, allowed)?;
    while let Some(rest) = words.strip_prefix(&["OR"]) {
        *words = rest;
        met |= all(words, allowed)?;
    }
    Some(met)
}

fn all(words: &mut &[&str], allowed: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    let mut met = one(words, allowed)?;
    while let Some(rest) = words.strip_prefix(&["AND"]) {
        *words = rest;
        met &= one(words, allowed)?;
    }
    Some(met)
}

fn one(words: &mut &[&str], allowed: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let met = any(words, allowed)?;
            *words = words.strip_prefix(&[")"])?;
            Some(met)
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            Some(allowed(&format!("{licence} WITH {exception}")))
        }
        [licence, rest @ ..] if !["AND", "OR", "WITH", ")"].contains(licence) => {
            *words = rest;
            // A plus is "or any later version", which holds the named one too.
            Some(allowed(licence.trim_end_matches('+')))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(text: &str) -> Option<bool> {
        expression(text, &mut |licence| {
            ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&licence)
        })
    }

    #[test]
    fn an_expression_is_met_as_spdx_has_it() {
        for (text, expected) in [
            ("MIT", Some(true)),
            ("MIT+", Some(true)),
            ("GPL-3.0-only", Some(false)),
            ("MIT OR GPL-3.0-only", Some(true)),
            ("MIT/GPL-3.0-only", Some(true)),
            ("MIT AND GPL-3.0-only", Some(false)),
            ("GPL-3.0-only OR MIT AND Zlib", Some(true)),
            ("(GPL-3.0-only OR MIT) AND Zlib", Some(true)),
            ("(GPL-3.0-only OR MIT) AND BSD-2-Clause", Some(false)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("Apache-2.0", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("MIT Zlib", None),
            ("(MIT", None),
            ("MIT)", None),
        ] {
            assert_eq!(met(text), expected, "{text}");
        }
    }

    #[test]
    fn a_rule_that_is_not_checked_here_is_refused() {
        for text in [
            "[advisories]\nyanked = \"deny\"",
            "[bans]\nmultiple-versions = \"deny\"",
            "[sources]\nunknown-git = \"allow\"",
            "[licenses]\nallow = \"MIT\"",
        ] {
            assert!(Rules::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_may_not_be_linked_is_named() {
        let rules = Rules::parse(
            "[licenses]\nallow = [\"MIT\", \"ISC\"]\nexceptions = [{ crate = \"odd\", allow = [\"MPL-2.0\"] }]",
        );
        let rules = rules.unwrap();
        let (mut found, mut needed) = (Found::default(), BTreeSet::new());
        for (name, licence, source) in [
            ("good", "MIT OR GPL-2.0", REGISTRY),
            ("odd", "MPL-2.0", REGISTRY),
            ("even", "MPL-2.0", REGISTRY),
            ("elsewhere", "MIT", "git+https://example.com/x"),
        ] {
            let package = serde_json::json!({
                "name": name, "version": "1.0.0", "license": licence, "source": source,
                "dependencies": [],
            });
            rules.judge(&package, &mut found, &mut needed);
        }
        assert_eq!(found.crates, 4);
        assert_eq!(found.refused.len(), 2, "{:?}", found.refused);
        assert!(found.refused[0].starts_with("even 1.0.0: MPL-2.0"));
        assert!(found.refused[1].starts_with("elsewhere 1.0.0: from"));
        let needed: Vec<_> = needed.into_iter().collect();
        assert_eq!(needed, ["MIT", "MPL-2.0 of odd"]);
    }
}
