//! Replays watch sequences through the whole pipeline without a network: world, outbox, diagnosis, plan, and an API server
//! in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(unreachable_pub, reason = "modules of a test")]

#[path = "replay/annotations.rs"]
mod annotations;
#[path = "replay/bare_pods.rs"]
mod bare_pods;
#[path = "replay/caps.rs"]
mod caps;
#[path = "replay/claims.rs"]
mod claims;
#[path = "replay/hostile.rs"]
mod hostile;
#[path = "replay/kept.rs"]
mod kept;
#[path = "replay/leadership.rs"]
mod leadership;
#[path = "replay/lifetime.rs"]
mod lifetime;
#[path = "replay/logs.rs"]
mod logs;
#[path = "replay/nodes.rs"]
mod nodes;
#[path = "replay/notifications.rs"]
mod notifications;
#[path = "replay/operator.rs"]
mod operator;
#[path = "replay/past_failures.rs"]
mod past_failures;
#[path = "replay/quiet.rs"]
mod quiet;
#[path = "replay/restart.rs"]
mod restart;
#[path = "replay/rules.rs"]
mod rules;
#[path = "replay/selection.rs"]
mod selection;
#[path = "replay/workloads.rs"]
mod workloads;
#[path = "replay/writing.rs"]
mod writing;
