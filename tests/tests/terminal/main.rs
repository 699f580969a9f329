//! The real binary under a real pseudo-terminal: what an operator types and
//! sees, window changes, pastes, Ctrl-C and all.

#![cfg(unix)]

mod leaving;
mod paging;
mod pane;
mod recorded;
mod seeing;
mod typing;
