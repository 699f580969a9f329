//! What of the documents is made: pages of codes, what commands print, and the
//! recorded session. The tests that compare them write them.

use std::path::Path;
use std::process::Command;

use crate::{Error, cargo};

/// The tests, as `cargo test` is told them, from what others show to what
/// shows it.
const TESTS: [&[&str]; 3] = [
    &["-p", "ghyll", "--lib", "codes"],
    &["-p", "ghyll", "--test", "docs"],
    &["-p", "ghyll-tests", "--test", "terminal", "recorded"],
];

/// Writes all of it anew.
///
/// # Errors
///
/// If cargo cannot be started, or a test fails that would not be mended by
/// writing.
pub fn run(root: &Path) -> Result<(), Error> {
    for test in TESTS {
        let failed = |detail: String| Error::Program {
            program: format!("cargo test {}", test.join(" ")),
            detail,
        };
        let status = Command::new(cargo())
            .args(["test", "--quiet"])
            .args(test)
            .env("GHYLL_WRITE_DOCS", "1")
            .current_dir(root)
            .status()
            .map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            return Err(failed(status.to_string()));
        }
    }
    Ok(())
}
