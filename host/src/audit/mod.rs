//! The record: the audit tree, what repeats it, and what is held against it.

pub mod accepted_losses;
pub mod checkpoint;
mod flat;
pub mod load;
pub mod proof;
pub mod reader;
pub mod rebuild;
pub mod report;
mod store;
mod tree;
pub mod verify;
mod watch;

pub use crate::db::Recorded;
pub use flat::{FLAT_FILE, FlatFile};
pub use store::{AttestationStore, Draft, Observed, Observer, PATH_TOO_LONG, StoreError, Written};
pub use tree::{AuditTree, Found, TREE_DIR, walk};
pub use watch::Watch;
