//! The path of a request: follows it from the object that receives it to the pods, and finds the first broken hop.
//! Autoscalers and disruption budgets are judged here too.
//!
//! An object counts as missing only where all objects of its kind were listed, and a controller's report only if it is
//! about the newest generation: a controller that writes no status reports nothing.

mod autoscaler;
mod backend;
mod budget;
mod claim;
mod gateway;
mod http_route;
mod ingress;
mod judge;
mod service;
mod target_port;
#[cfg(test)]
mod tests;

pub use self::autoscaler::{Scaled, problem as autoscaler_problem};
pub use self::budget::{Evicted, problem as budget_problem};
pub use self::claim::problem as claim_problem;
pub use self::gateway::walk as walk_gateway;
pub use self::http_route::walk as walk_route;
pub use self::ingress::walk as walk_ingress;
pub use self::judge::{
    autoscaler as judge_autoscaler, budget as judge_budget, claim as judge_claim, route as judge_route,
};
pub use self::service::walk as walk_service;

use crate::facts::Condition;

/// Seconds that a new object, or a new report about it, may take to settle: objects of one manifest are created within
/// a moment.
const SETTLES: i64 = 20;
/// Seconds that an object may exist before those that something else has to make for it.
const INCOMPLETE: i64 = 300;
/// Seconds that pods without a diagnosis may take to become ready.
const STARTS: i64 = 600;

/// The condition of this type if it is `False`.
fn is_false<'c>(conditions: &'c [Condition], kind: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.kind == kind && condition.status == "False")
}
