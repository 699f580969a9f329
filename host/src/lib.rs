//! ghyll makes a named human answer for work that AI agents deliver.
//!
//! The library knows nothing of terminals. One direction: a surface (the CLI,
//! the REPL, a script) drives a session; the session asks and acts through
//! the store; the store judges by the policy component and writes the audit
//! tree; what happened comes back on the bus. `ARCHITECTURE.md` shows the way
//! of one verdict.

#![deny(missing_docs)]
// A surface prints, the library never.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]
#![deny(unsafe_code)] // forbidden but for the one `Component::deserialize`

pub mod audit;
pub mod bus;
pub mod check;
pub mod clock;
pub mod codes;
pub mod db;
pub mod export;
pub mod files;
pub mod git;
pub mod git_files;
pub mod grid;
pub mod import;
pub mod locations;
pub mod mcp;
pub mod modal;
pub mod model;
pub mod policy;
pub mod project;
pub mod runtime;
pub mod script;
#[doc(hidden)]
pub mod seam;
pub mod session;
pub mod shape;
pub mod subject;
pub mod text;
pub mod view;
pub mod work;
