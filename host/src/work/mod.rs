//! The life of a pass, pure over the database: what is asked, where refs,
//! clauses and arrows stand, what a verdict comes to, when a pass ends.
//!
//! Nothing here is kept beside the records but as a fold of them, so a status
//! cannot disagree with the tree.

pub mod current;
pub mod memory;
pub mod pass;
pub mod pending;
pub mod proved;
pub mod standing;
pub mod status;
pub mod verdict;

pub use verdict::Verdict;
