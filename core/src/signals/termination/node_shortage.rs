//! Detects that the whole node was out of memory at a termination. The container is then a victim, not the cause.

use super::end;
use crate::api::{Confidence, Evidence};
use crate::case::{Case, evidence};
use crate::facts::{Condition, Container, NodeState, SystemOom, Terminated, after};

/// Seconds by which a victim's termination may follow the kill, including clock skew.
const END_FOLLOWS: i64 = 10;
const CLOCKS_DIFFER: i64 = 5;
/// Seconds by which the kubelet may report memory pressure late.
const CONDITION_LATE: i64 = 60;

/// A memory shortage of the node at the time of a termination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortage<'a> {
    node: &'a NodeState,
    sign: Sign<'a>,
    /// How certain it is that the shortage terminated the run.
    pub(super) confidence: Confidence,
}

#[derive(Debug, Clone, Copy)]
enum Sign<'a> {
    SystemOom(&'a SystemOom),
    Pressure(&'a Condition),
}

impl Shortage<'_> {
    pub(super) fn kind(&self) -> &'static str {
        match self.sign {
            Sign::SystemOom(_) => "systemOOM",
            Sign::Pressure(_) => "memoryPressure",
        }
    }

    pub(super) fn evidence(&self) -> Evidence {
        let name = &self.node.facts.name;
        match self.sign {
            Sign::SystemOom(oom) => {
                evidence::field_at(format!("node/{name}/event/SystemOOM"), &oom.message, Some(oom.at))
            }
            Sign::Pressure(condition) => evidence::node_condition(name, condition),
        }
    }
}

pub(super) fn of<'a>(case: &Case<'a>, container: &Container, run: &Terminated) -> Option<Shortage<'a>> {
    let reports_memory = run.reason == end::OOM_KILLED;
    let is_silent = run.exit_code == 137 && matches!(run.reason.as_str(), "Error" | "");
    // If only a child process was killed and the container completed anyway, it is not reported.
    let is_victim = (reports_memory && run.exit_code != 0) || is_silent;
    let (node, finished) = case.node.zip(run.finished_at).filter(|_| is_victim)?;
    let has_limit = container.limits.memory.is_some();
    let is_near = |oom: &&SystemOom| (after(finished, -END_FOLLOWS)..=after(finished, CLOCKS_DIFFER)).contains(&oom.at);
    if let Some(oom) = node.system_ooms.iter().rev().find(is_near) {
        let confidence = match (has_limit, reports_memory) {
            (false, true) => Confidence::Certain,
            (false, false) => Confidence::Likely,
            // The container's own limit may have been reached at the same time.
            (true, _) => Confidence::Possible,
        };
        return Some(Shortage { node, sign: Sign::SystemOom(oom), confidence });
    }
    let pressure = node.facts.condition("MemoryPressure").filter(|c| c.status == "True" && !has_limit)?;
    let was_there = pressure.last_transition.is_some_and(|since| since <= after(finished, CONDITION_LATE));
    let confidence = if reports_memory { Confidence::Likely } else { Confidence::Possible };
    was_there.then_some(Shortage { node, sign: Sign::Pressure(pressure), confidence })
}
