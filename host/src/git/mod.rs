//! The repository a project lives in, as far as it can be believed.
//!
//! Git moves whole files: a switch of branch takes some away and shortens
//! others, and nothing is lost by it. To tell that from somebody who cut a
//! file, git is asked for objects alone (what HEAD has under a name, what any
//! commit had), never what it thinks of the files on disk: its index can be
//! told to look away. Bytes are compared here.
//!
//! Git is run with an empty environment, in a repository that is found by
//! walking up from the project, and with nothing that its configuration could
//! make it run or fetch. It gets so long; without an answer nothing is known.

mod dirs;
mod process;
mod work_tree;

pub(crate) use dirs::{GitDirs, Unreadable, read_small};
pub(crate) use process::command;
pub use work_tree::WorkTree;
