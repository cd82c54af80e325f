//! The operator, from its image and with its own permissions, in a real cluster (tests/cluster; `make e2e`).
//!
//! Tests run in parallel, each in its own namespace; then those that disturb the node or the operator run one by one. No
//! test sleeps: `eventually` polls until a deadline. Tests that are too slow for CI need the feature `e2e-long`, for
//! `make test-long`.

#![allow(clippy::disallowed_types, reason = "tests write what the operator reads")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "times are reported, not asserted")]

#[path = "support/agent.rs"]
mod agent;
#[path = "e2e/annotations.rs"]
mod annotations;
#[path = "e2e/custom.rs"]
mod custom;
#[path = "e2e/docs.rs"]
mod docs;
#[path = "e2e/field_reports.rs"]
mod field_reports;
#[path = "e2e/fixes.rs"]
mod fixes;
#[path = "e2e/healthy.rs"]
mod healthy;
#[path = "e2e/identity.rs"]
mod identity;
#[path = "e2e/manifests.rs"]
mod manifests;
#[path = "e2e/mcp.rs"]
mod mcp;
#[cfg(feature = "e2e-long")]
#[path = "e2e/network_policy.rs"]
mod network_policy;
#[path = "e2e/nodes.rs"]
mod nodes;
#[path = "e2e/operator.rs"]
mod operator;
#[path = "e2e/optional.rs"]
mod optional;
#[path = "e2e/page.rs"]
mod page;
#[path = "support/pages.rs"]
mod pages;
#[path = "e2e/recovery.rs"]
mod recovery;
#[path = "e2e/rights.rs"]
mod rights;
#[path = "e2e/rules.rs"]
mod rules;
#[path = "e2e/support.rs"]
mod support;
#[path = "support/wait.rs"]
mod wait;
#[path = "e2e/workloads.rs"]
mod workloads;
