//! What the tests share.

pub mod judge;
pub mod runtimes;
pub mod vectors;
