//! The operator against a real API server that breaks, or that people work on (tests/faults/README.md).
//!
//! Each test has an API server of its own where the fault touches all of it, else a namespace and an operator for it on
//! one that they share. After each fault the same must hold: `truth.rs`. Needs no root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "where the logs are is said at a failure")]

#[path = "faults/annotations.rs"]
mod annotations;
#[path = "faults/asked.rs"]
mod asked;
#[path = "faults/certificates.rs"]
mod certificates;
#[path = "faults/child.rs"]
mod child;
#[path = "faults/control_plane.rs"]
mod control_plane;
#[path = "faults/credentials.rs"]
mod credentials;
#[path = "faults/definitions.rs"]
mod definitions;
#[path = "faults/folder.rs"]
mod folder;
#[path = "faults/hands.rs"]
mod hands;
#[path = "faults/kills.rs"]
mod kills;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/operator.rs"]
mod operator;
#[path = "faults/outage.rs"]
mod outage;
#[path = "faults/pods.rs"]
mod pods;
#[path = "faults/proxy.rs"]
mod proxy;
#[path = "faults/replicas.rs"]
mod replicas;
#[path = "faults/rights.rs"]
mod rights;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/truth.rs"]
mod truth;
#[cfg(feature = "faults-long")]
#[path = "faults/versions.rs"]
mod versions;
#[path = "support/wait.rs"]
mod wait;
