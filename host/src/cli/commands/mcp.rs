//! `ghyll mcp`: the server for agents, on standard input and output.

use std::sync::Arc;

use ghyll::policy::Policy;

use crate::cli::{Common, Failure};

/// Serves until the client has gone. Nothing else is written to standard
/// output: it is the client's.
pub fn run(common: &Common) -> Result<u8, Failure> {
    let project = common.project()?;
    let policy = Arc::new(Policy::load()?);
    ghyll::mcp::serve(project.root(), policy)
        .map_err(|error| Failure::new(error.code(), &error))?;
    Ok(0)
}
