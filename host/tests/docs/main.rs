//! What the documents say, held against what is there: links lead somewhere,
//! commands print what is shown, scripts run, promises name tests that exist,
//! and nothing there is goes without a word.
//!
//! What a document shows of a run is written by the same code that compares it:
//! `GHYLL_WRITE_DOCS=1 cargo test -p ghyll --test docs`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod document;
mod links;
mod promises;
mod reference;
mod scripts;
#[cfg(unix)]
mod shell;
