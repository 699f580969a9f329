//! What the tests share.

pub mod clones;
#[cfg(unix)]
pub mod hands;
pub mod judge;
pub mod properties;
pub mod runtimes;
pub mod same;
pub mod scale;
pub mod survive;
pub mod vectors;
