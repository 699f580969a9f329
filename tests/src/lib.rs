//! What the tests share.

pub mod survive;
