//! Whether the whole node was out of memory when a run ended: the container is then a victim, and not the one that used too
//! much.

use super::end;
use crate::api::{Confidence, Evidence};
use crate::diagnosis::{Case, evidence};
use crate::facts::{Condition, Container, NodeState, SystemOom, Terminated, after};

/// Seconds that the end of the victim's container may come after the kill, and that clocks may differ by.
const END_FOLLOWS: i64 = 10;
const CLOCKS_DIFFER: i64 = 5;
/// Seconds by which the kubelet may report late that its node is short of memory.
const CONDITION_LATE: i64 = 60;

/// A shortage of the node's memory when a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortage<'a> {
    node: &'a NodeState,
    sign: Sign<'a>,
    /// How certain it is that it ended the run.
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
    // Where only a child was killed and the container completed all the same, it is no victim worth a report.
    let is_victim = (reports_memory && run.exit_code != 0) || is_silent;
    let (node, finished) = case.node.zip(run.finished_at).filter(|_| is_victim)?;
    let has_limit = container.limits.memory.is_some();
    let is_near = |oom: &&SystemOom| (after(finished, -END_FOLLOWS)..=after(finished, CLOCKS_DIFFER)).contains(&oom.at);
    if let Some(oom) = node.system_ooms.iter().rev().find(is_near) {
        let confidence = match (has_limit, reports_memory) {
            (false, true) => Confidence::Certain,
            (false, false) => Confidence::Likely,
            // Its own limit may have been reached in the same moment.
            (true, _) => Confidence::Possible,
        };
        return Some(Shortage { node, sign: Sign::SystemOom(oom), confidence });
    }
    let pressure = node.facts.condition("MemoryPressure").filter(|c| c.status == "True" && !has_limit)?;
    let was_there = pressure.last_transition.is_some_and(|since| since <= after(finished, CONDITION_LATE));
    let confidence = if reports_memory { Confidence::Likely } else { Confidence::Possible };
    was_there.then_some(Shortage { node, sign: Sign::Pressure(pressure), confidence })
}
