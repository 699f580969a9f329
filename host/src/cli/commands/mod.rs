//! One file a group of commands.

pub mod arrows;
pub mod attest;
pub mod attestations;
pub mod check;
pub mod component;
pub mod demo;
pub mod dispatch;
pub mod engine;
pub mod explain;
pub mod grid;
pub mod init;
pub mod lists;
pub mod man;
pub mod mcp;
pub mod replay;
pub mod run;
#[cfg(test)]
mod screens;
pub mod show;
pub mod status;
pub mod subject;

use ghyll::view::View;

use super::Failure;

/// The exit code of a command that only shows something, and showed all it
/// could: that not everything could be read is not kept quiet.
pub fn readable(view: &View) -> Result<u8, Failure> {
    let damage = view.damage();
    match damage.first() {
        None => Ok(0),
        Some(first) => {
            let mut failure = Failure::new(first.code(), first);
            if damage.len() > 1 {
                let more = damage.len() - 1;
                failure.message.push_str(&format!("; and {more} more"));
            }
            failure.message.push_str(
                "; `ghyll engine verify-attestations` names all, and arrows it may concern are \
                 unreadable",
            );
            Err(failure)
        }
    }
}
