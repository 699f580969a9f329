//! ghyll

pub mod grid;
