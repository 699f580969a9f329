//! `ghyll component`: the judgement this binary carries, for other hosts.

use std::path::Path;

use ghyll::policy::{COMPONENT, PACKAGE, WIT};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::cli::{Failure, Output};

pub fn run(out: &Output, output: Option<&Path>) -> Result<u8, Failure> {
    let sha256: String = Sha256::digest(COMPONENT)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    if let Some(file) = output {
        ghyll::files::output::write(file, COMPONENT).map_err(|e| {
            Failure::new("component-write-failed", format!("{}: {e}", file.display()))
        })?;
        out.note(format!("{} bytes, sha256 {sha256}", COMPONENT.len()));
    } else if out.json() {
        out.value(&json!({
            "package": PACKAGE, "sha256": sha256, "bytes": COMPONENT.len(), "wit": WIT,
        }))?;
    } else {
        out.lines(&format!(
            "{PACKAGE}\nsha256 {sha256}\n{} bytes\n\n{WIT}",
            COMPONENT.len()
        ))?;
    }
    Ok(0)
}
