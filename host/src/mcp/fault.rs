//! What a tool refuses: ghyll's code, what is wrong, and what to do about it,
//! as the command line says it.

use rmcp::model::CallToolResult;
use serde::Serialize;

use crate::audit::load::LoadError;
use crate::codes::{self, from_coded};
use crate::db::DbError;
use crate::grid::GridError;
use crate::policy::PolicyError;
use crate::project::ProjectError;
use crate::session::SessionError;
use crate::view::ViewError;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    /// The public code.
    pub(super) code: String,
    /// What is wrong.
    pub(super) message: String,
    /// What to do about it; empty if there is nothing.
    pub(super) hint: String,
}

impl Fault {
    pub(super) fn new(code: &str, message: impl ToString) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_string(),
            hint: codes::page(code).map_or("", |page| page.hint).to_owned(),
        }
    }

    /// Arguments that no tool takes.
    pub(super) fn arguments(message: impl ToString) -> Self {
        Self::new("mcp-arguments-invalid", message)
    }

    /// The client called the request off.
    pub(super) fn called_off() -> Self {
        Self::new("dispatch-cancelled", "the client called it off")
    }

    pub(super) fn result(&self) -> CallToolResult {
        CallToolResult::structured_error(serde_json::to_value(self).unwrap_or_default())
    }
}

from_coded!(Fault:
    DbError,
    GridError,
    LoadError,
    PolicyError,
    ProjectError,
    SessionError,
    ViewError
);
