//! `shindan mcp`: an agent that uses the SDK, against a mock API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "support/agent.rs"]
mod agent;
#[path = "mcp/answers.rs"]
mod answers;
#[path = "mcp/bounds.rs"]
mod bounds;
#[path = "mcp/cluster.rs"]
mod cluster;
#[path = "mcp/errors.rs"]
mod errors;
#[path = "mcp/protocol.rs"]
mod protocol;
#[path = "mcp/untrusted.rs"]
mod untrusted;
