//! The operator's requests against a mock API server with faults.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::needless_pass_by_value, reason = "replies are written where they are used")]

#[path = "apiserver/lease.rs"]
mod lease;
#[path = "apiserver/publishing.rs"]
mod publishing;
#[path = "apiserver/readiness.rs"]
mod readiness;
#[path = "apiserver/reading.rs"]
mod reading;
#[path = "apiserver/selection.rs"]
mod selection;
#[path = "apiserver/server.rs"]
mod server;
#[path = "apiserver/watching.rs"]
mod watching;
