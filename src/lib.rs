//! Shindan finds out why Kubernetes workloads fail, and reports it in `PodDiagnosis` objects and Events.
//!
//! The crate `shindan-core` contains the rules and the state machine. This crate contains the I/O: the operator, the
//! command line and the web page. ARCHITECTURE.md has the map and the invariants.

pub mod app;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod http;
pub mod metrics;
pub mod notify;
pub mod telemetry;
