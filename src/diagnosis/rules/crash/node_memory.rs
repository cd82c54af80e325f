//! Kills because the whole node ran out of memory: the container is a victim, not the one that took too much.

use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::exit_code::{self, log_remedy, memory_limit};
use crate::diagnosis::signals::termination::{blamed, end_evidence};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, restarts, roots,
};
use crate::facts::{Condition, Container, NodeState, SystemOom, Terminated, after, format_bytes};

/// Seconds that the end of the victim's container may come after the kill, and that clocks may differ by.
const END_FOLLOWS: i64 = 10;
const CLOCKS_DIFFER: i64 = 5;
/// Seconds by which the kubelet may be late to say that its node is short of memory.
const CONDITION_LATE: i64 = 60;

pub(super) const RULE: Rule = Rule {
    cause: "OOMKilledByNode",
    category: Category::Crash,
    recovery: Recovery::Restarting,
    specificity: Specificity::Specific,
    scope: Scope::Container(check),
    remedies,
    explain: Explain {
        meaning: "The node as a whole ran out of memory, and the kernel chose a process of this container to free some.",
        told_apart: "The kubelet's SystemOOM Event on the Node, seconds from the end of the run; or MemoryPressure of the Node \
                     at that time where the container has no limit of its own. A container killed at its own limit, with no \
                     such Event, is OOMKilled.",
        action: "Find what takes the node's memory (pods without limits, or with limits far above their requests), and give \
                 this container a memory request as large as its need: who uses more than asked for is killed first.",
        source: "kubernetes pkg/kubelet/oom/oom_watcher_linux.go (SystemOOM); kernel out-of-memory killer, oom_score_adj",
    },
};

/// What says that the node had no memory left when a run ended.
#[derive(Debug, Clone, Copy)]
enum Shortage<'a> {
    SystemOom(&'a SystemOom),
    Pressure(&'a Condition),
}

/// Whether the node's shortage ended this run, for the rules that would name another reason.
pub(super) fn is_to_blame(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    shortage(case, container, run).is_some()
}

fn shortage<'a>(
    case: &Case<'a>,
    container: &Container,
    run: &Terminated,
) -> Option<(&'a NodeState, Shortage<'a>, Confidence)> {
    let says_memory = run.reason == end::OOM_KILLED;
    let is_silent = run.exit_code == 137 && matches!(run.reason.as_str(), "Error" | "");
    // Where only a child was killed and the container did its work all the same, there is little to tell.
    let is_victim = (says_memory && run.exit_code != 0) || is_silent;
    let (node, finished) = case.node.zip(run.finished_at).filter(|_| is_victim)?;
    let has_limit = container.limits.memory.is_some();
    let oom = node
        .system_ooms
        .iter()
        .rev()
        .find(|oom| (after(finished, -END_FOLLOWS)..=after(finished, CLOCKS_DIFFER)).contains(&oom.at));
    if let Some(oom) = oom {
        let confidence = match (has_limit, says_memory) {
            (false, true) => Confidence::Certain,
            (false, false) => Confidence::Likely,
            // Its own limit may have been reached in the same moment.
            (true, _) => Confidence::Possible,
        };
        return Some((node, Shortage::SystemOom(oom), confidence));
    }
    let pressure = node.facts.condition("MemoryPressure").filter(|c| c.status == "True" && !has_limit)?;
    let was_there = pressure.last_transition.is_some_and(|since| since <= after(finished, CONDITION_LATE));
    let confidence = if says_memory { Confidence::Likely } else { Confidence::Possible };
    was_there.then_some((node, Shortage::Pressure(pressure), confidence))
}

fn check(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match end::settled_crash(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let Some((node, shortage, confidence)) = shortage(case, container, run) else { return Verdict::No };
    let (who, name, when) = (who(container), &node.facts.name, exit_code::when(case, container));
    let shown = match shortage {
        Shortage::SystemOom(_) => say!(case, "node {name} itself ran out of memory at that moment", name),
        Shortage::Pressure(_) => say!(case, "node {name} is short of memory", name),
    };
    let because = if confidence == Confidence::Possible { phrase!(case, ", perhaps because") } else { ":" };
    let own = match container.limits.memory {
        Some(limit) => say!(case, "its own limit is {limit}", limit = format_bytes(limit)),
        None => phrase!(case, "it has no limit of its own").to_owned(),
    };
    let killed = if run.reason == end::OOM_KILLED {
        phrase!(case, "is killed for memory")
    } else {
        phrase!(case, "gets SIGKILL (137)")
    };
    let summary = say!(
        case,
        "{who} {killed}{when}{because} {shown}; {own}{tail}",
        who,
        killed,
        when,
        because,
        shown,
        own,
        tail = restarts::tail(case, container)
    );
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary).confidence(confidence))
        .with(match shortage {
            Shortage::SystemOom(oom) => {
                evidence::field_at(format!("node/{name}/event/SystemOOM"), &oom.message, Some(oom.at))
            }
            Shortage::Pressure(condition) => evidence::node_condition(name, condition),
        });
    let limit = memory_limit(container);
    let doubtful = container.limits.memory.is_some();
    finding = finding.with(if doubtful { evidence::contradicting(limit) } else { limit });
    if run.reason != end::OOM_KILLED {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.reason", container.last_end_path()),
            "Error, not OOMKilled: the runtime saw no out-of-memory kill",
        )));
    }
    // Where its own limit may as well be the reason, the node is not blamed.
    let root = roots::node(case).filter(|_| confidence != Confidence::Possible);
    end::judged(case, finding.rooted(root))
}

fn remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let node = case.its_node();
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "See what takes the memory of {node}: pods without limits, or with limits far above their requests.",
                node
            )),
            format!("kubectl describe node {node}"),
        ),
        remedy::fix(say!(
            case,
            "Set the memory request of {container} to what it needs, and the limit to the same: then it is placed where memory is, and others are killed before it.",
            container = container.name
        )),
        log_remedy(case, container),
    ]
}
