//! What the tests share.

pub mod judge;
pub mod runtimes;
pub mod survive;
pub mod vectors;
