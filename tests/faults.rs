//! The operator against a real API server with faults and external edits (tests/faults/README.md).
//!
//! A test whose fault affects the whole API server has its own; the others share one, each with its own namespace and
//! operator. After each fault the same invariants must hold: `invariants.rs`. Needs no root.

#![allow(clippy::disallowed_types, reason = "tests write what the operator reads")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "a failure prints where the logs are")]

#[path = "faults/annotations.rs"]
mod annotations;
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
#[path = "faults/external_edits.rs"]
mod external_edits;
#[path = "faults/folder.rs"]
mod folder;
#[path = "faults/invariants.rs"]
mod invariants;
#[path = "faults/kills.rs"]
mod kills;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/operator.rs"]
mod operator;
#[path = "faults/outage.rs"]
mod outage;
#[path = "faults/plugin.rs"]
mod plugin;
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
#[cfg(feature = "faults-long")]
#[path = "faults/versions.rs"]
mod versions;
#[path = "support/wait.rs"]
mod wait;
