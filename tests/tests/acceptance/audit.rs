//! The audit trail read from its bytes alone, with nothing of ghyll's: what an
//! auditor could write from the contract in an afternoon.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ghyll::bus::Event;
use ghyll::db::{DbError, Row};
use ghyll::session::Session;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::scene::Scene;

/// A line of the tree.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its file, below the tree's root.
    pub path: String,
    /// Its bytes, without the line end.
    pub text: String,
    /// What it says.
    pub json: Value,
}

/// All lines of the tree, file by file.
pub fn tree(scene: &Scene) -> Vec<Line> {
    let mut lines = Vec::new();
    for (path, bytes) in files(scene) {
        let text = String::from_utf8(bytes).expect("a tree file is UTF-8");
        for line in text.lines() {
            let json = serde_json::from_str(line).expect("a line is JSON");
            lines.push(Line {
                path: path.clone(),
                text: line.to_owned(),
                json,
            });
        }
    }
    lines
}

/// The record with this id.
pub fn record(scene: &Scene, id: &str) -> Line {
    let all = tree(scene);
    let ids: Vec<_> = all
        .iter()
        .map(|line| line.json["attestation_id"].to_string())
        .collect();
    let found = all
        .into_iter()
        .find(|line| line.json["attestation_id"] == id);
    found.unwrap_or_else(|| panic!("no record {id:?} in the tree, only {ids:?}"))
}

/// All files of the tree by path.
pub fn files(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    files_below(&scene.ghyll("attestations"))
}

/// All files below a tree's root.
pub fn files_below(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = BTreeMap::new();
    collect(root, root, &mut files);
    files.into_iter().collect()
}

fn collect(root: &Path, dir: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let below = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .expect("a path in Unicode");
            files.insert(
                below.to_owned(),
                fs::read(&path).expect("a file of the tree"),
            );
        }
    }
}

/// Lines of the flat file.
pub fn flat(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.ghyll("attestations.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The record with this id, as the session's index has it.
pub fn indexed_row(session: &Session, id: &str) -> Row {
    let mut found = None;
    session
        .read(|reader| {
            reader.each_unordered(|row| {
                if row.rec.attestation_id == id {
                    found = Some(row);
                }
                Ok::<_, DbError>(())
            })
        })
        .expect("the index");
    found.unwrap_or_else(|| panic!("the index has no record {id:?}"))
}

/// What has to hold after every scenario, whatever it was about.
pub fn check(scene: &Scene) -> Result<(), String> {
    chains(scene)?;
    let mut tree: Vec<String> = tree(scene).into_iter().map(|line| line.text).collect();
    let mut flat = flat(scene);
    tree.sort();
    flat.sort();
    if tree != flat {
        return Err(format!("tree and flat file differ:\n{tree:#?}\n{flat:#?}"));
    }
    indexed(scene, &tree)?;
    escalations(scene)
}

/// Each file's lines hang together, each with the one before it.
fn chains(scene: &Scene) -> Result<(), String> {
    for (path, bytes) in files(scene) {
        let text = String::from_utf8(bytes).map_err(|e| format!("{path}: {e}"))?;
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(format!("{path}: its last line has no end"));
        }
        let mut chain = "0".repeat(64);
        for (number, line) in text.lines().enumerate() {
            let at = line
                .rfind(",\"chain\":\"")
                .ok_or(format!("{path}: a line without chain"))?;
            let body = format!("{}}}", &line[..at]);
            let digest = Sha256::new()
                .chain_update(&chain)
                .chain_update(&body)
                .finalize();
            chain = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            if !line.ends_with(&format!(",\"chain\":\"{chain}\"}}")) {
                return Err(format!("{path}:{}: the chain is broken", number + 1));
            }
        }
    }
    Ok(())
}

/// The index knows each record of the tree, and no other.
fn indexed(scene: &Scene, tree: &[String]) -> Result<(), String> {
    let Some(session) = scene.running() else {
        return Ok(());
    };
    let field = |line: &str, name: &str| {
        let json: Value = serde_json::from_str(line).expect("a line is JSON");
        json[name].as_str().expect("a text").to_owned()
    };
    let mut wanted: Vec<_> = tree
        .iter()
        .map(|line| (field(line, "attestation_id"), field(line, "chain")))
        .collect();
    let mut known = Vec::new();
    session
        .read(|reader| {
            reader.each_unordered(|row| {
                known.push((row.rec.attestation_id, row.chain));
                Ok::<_, DbError>(())
            })
        })
        .map_err(|e| e.to_string())?;
    wanted.sort();
    known.sort();
    if known != wanted {
        return Err(format!(
            "the index knows {known:#?}, the tree has {wanted:#?}"
        ));
    }
    Ok(())
}

/// One resolved for each presented, and in that order; only a session that died
/// over the question never came to say so.
fn escalations(scene: &Scene) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for heard in scene.events() {
        match heard.event {
            Event::EscalationPresented(request) => open.push(request.attestation_ref),
            Event::EscalationResolved { request, .. } => {
                let at = open.iter().position(|r| *r == request.attestation_ref);
                open.remove(at.ok_or("an escalation was resolved that nobody was shown")?);
            }
            _ => {}
        }
    }
    if open.is_empty() || scene.died {
        return Ok(());
    }
    Err(format!("escalations presented, never resolved: {open:?}"))
}
