//! Serving agents: what a client of `ghyll mcp` is refused.

use super::pages;

pages! {
    MCP_ARGUMENTS_INVALID = "mcp-arguments-invalid": "The arguments of the call are not what the tool takes.",
        "Give what the tool's schema says, and nothing else: `tools/list` has it.";
    MCP_RESOURCE_UNKNOWN = "mcp-resource-unknown": "There is no such resource.",
        "`resources/list` has those there are.";
    MCP_HANDSHAKE_FAILED = "mcp-handshake-failed": "The client of `ghyll mcp` did not begin as the protocol has it.",
        "A client of the Model Context Protocol begins with `initialize`; have your agent start `ghyll mcp`, and see docs/agents.md.";
    MCP_FAILED = "mcp-failed": "The server for agents failed in itself.",
        "Start it again; nothing that was recorded is lost.";
}
