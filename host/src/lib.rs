//! ghyll makes a named human answer for work that AI agents deliver.
//!
//! The library knows nothing of terminals. One direction: a surface (the CLI,
//! the REPL, a script) drives a session; the session asks and acts through
//! the store; the store judges by the policy component and writes the audit
//! tree; what happened comes back on the bus. `ARCHITECTURE.md` shows the way
//! of one verdict.

#![deny(missing_docs)]
#![deny(unsafe_code)] // forbidden but for the one `Component::deserialize`

pub mod bus;
pub mod checkpoint;
pub mod clock;
pub mod engine;
pub mod grid;
pub mod losses;
pub mod modal;
pub mod nearest;
pub mod policy;
pub mod project;
pub mod rebuild;
pub mod script;
pub mod session;
pub mod status;
pub mod store;
pub mod verdicts;
pub mod verify;
