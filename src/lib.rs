//! Shindan works out why Kubernetes workloads fail, and says so in `PodDiagnosis` objects and Events.
//!
//! Data flows one way: `cluster::watch` -> [`world`] -> [`outbox`] -> [`diagnosis`] -> [`plan`] -> `cluster::publish`.
//! ARCHITECTURE.md has the map and the invariants.

pub mod api;
pub mod app;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod diagnosis;
pub mod facts;
pub mod http;
pub mod metrics;
pub mod outbox;
pub mod plan;
pub mod telemetry;
pub mod world;
