//! The operator, from its image and with its own rights, in a real cluster (tests/cluster; `make e2e`).
//!
//! Tests run together, each in a namespace of its own; after them come those that disturb the node or the operator, each
//! alone. Nothing sleeps to wait for something: `eventually` asks until a deadline. What takes too long for CI is behind
//! the feature `e2e-long`, for `make test-long`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "times are reported, not asserted")]

#[path = "e2e/docs.rs"]
mod docs;
#[path = "e2e/field_reports.rs"]
mod field_reports;
#[path = "e2e/identity.rs"]
mod identity;
#[path = "e2e/nodes.rs"]
mod nodes;
#[path = "e2e/operator.rs"]
mod operator;
#[path = "support/pages.rs"]
mod pages;
#[path = "e2e/recovery.rs"]
mod recovery;
#[path = "e2e/rights.rs"]
mod rights;
#[path = "e2e/support.rs"]
mod support;
#[path = "support/wait.rs"]
mod wait;
#[path = "e2e/wellness.rs"]
mod wellness;
#[path = "e2e/workloads.rs"]
mod workloads;
