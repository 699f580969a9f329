//! The server for agents: the Model Context Protocol on two byte streams.
//!
//! An agent can see where the work stands, say what it did, ask for verdicts
//! and learn of them. It cannot give one: there is no tool for it, no argument
//! of any tool is an answer, and the client is never asked anything.
//!
//! Nothing is kept open between two calls. Each looks at the project anew or
//! opens a session of its own, so that a grid that came into force meanwhile
//! is seen, and the project's lock is never held while the client is waited
//! for. What the client sends is bounded before it is understood
//! ([`transport`]); what takes time happens on threads of which there are few
//! ([`server`]).

mod fault;
mod place;
mod resources;
mod server;
mod tools;
mod transport;

use std::path::Path;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::policy::Policy;
use crate::runtime;

pub use transport::LINE_MAX;

/// Why the server ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// There are no threads or file handles for it.
    #[error("the server cannot be started: {0}")]
    Runtime(#[from] std::io::Error),
    /// The client did not begin as the protocol has it.
    #[error("the client did not begin as the protocol has it: {0}")]
    Handshake(String),
    /// The server itself failed.
    #[error("the server failed: {0}")]
    Failed(String),
}

impl McpError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Runtime(_) => "io-failed",
            Self::Handshake(_) => "mcp-handshake-failed",
            Self::Failed(_) => "mcp-failed",
        }
    }
}

/// Serves the client on standard input and output until it has gone.
///
/// # Errors
/// [`McpError`].
pub fn serve(root: &Path, policy: Arc<Policy>) -> Result<(), McpError> {
    let root = root.to_owned();
    runtime::block_on(async move {
        let (read, write) = rmcp::transport::stdio_pipes();
        serve_on(&root, policy, read, write).await
    })?
}

/// Serves the client on the other end of two streams until it has gone; to be
/// called on [`runtime::handle`].
///
/// # Errors
/// [`McpError`].
pub async fn serve_on(
    root: &Path,
    policy: Arc<Policy>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let (transport, gone) = transport::Bounded::start(read, write);
    let server = server::Server::new(root, policy, gone);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // It left before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            let said = crate::text::excerpt(&error.to_string());
            return Err(McpError::Handshake(said));
        }
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(McpError::Failed(error.to_string())),
        Ok(_) => Ok(()),
    }
}
