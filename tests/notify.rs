//! Notifications against local receivers: in the process with a paused clock, and over HTTP on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "modules of a test")]

#[path = "notify/http.rs"]
mod http;
#[path = "notify/incidents.rs"]
mod incidents;
#[path = "notify/leader.rs"]
mod leader;
#[path = "notify/receivers.rs"]
mod receivers;
#[path = "notify/trouble.rs"]
mod trouble;
