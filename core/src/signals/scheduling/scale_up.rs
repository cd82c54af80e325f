//! What an autoscaler does for a pod that no node fits: it adds a node, or reports why it adds none.
//!
//! The cluster autoscaler reports it by the Events TriggeredScaleUp and NotTriggerScaleUp of the pod, Karpenter by Nominated
//! and by FailedScheduling, the reason of the scheduler's own Event.

use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::EventFacts;
use crate::language::{phrase, translate};
use crate::message::{self, Message};

/// Characters of the reason that are shown.
const SHOWN: usize = 130;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaler {
    ClusterAutoscaler,
    Karpenter,
}

impl Scaler {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::ClusterAutoscaler => "clusterAutoscaler",
            Self::Karpenter => "karpenter",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// A node is on its way.
    Adding,
    /// A limit of the autoscaler forbids another node.
    AtLimit,
    /// The cloud provider creates none.
    Failing,
    /// No node that it could add fits the pod.
    Refused,
}

impl Progress {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Adding => "adding",
            Self::AtLimit => "atLimit",
            Self::Failing => "failing",
            Self::Refused => "refused",
        }
    }
}

/// The newest report of an autoscaler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScaleUp<'a> {
    pub(super) scaler: Scaler,
    pub(super) state: Progress,
    /// The NodePool, the NodeClaim or the node group; empty if it names none.
    pub(super) group: String,
    /// Why no node is added, or which one is.
    pub(super) text: String,
    event: &'a EventFacts,
}

/// Whether an autoscaler emitted the Event, not a scheduler.
pub(super) fn is_of_autoscaler(event: &EventFacts) -> bool {
    scaler(event).is_some()
}

fn scaler(event: &EventFacts) -> Option<Scaler> {
    match (&*event.reporter, &*event.reason) {
        ("karpenter", _) | (_, "Nominated") => Some(Scaler::Karpenter),
        (_, "TriggeredScaleUp" | "NotTriggerScaleUp") => Some(Scaler::ClusterAutoscaler),
        (reporter, _) if reporter.contains("autoscaler") => Some(Scaler::ClusterAutoscaler),
        // EKS Auto Mode runs Karpenter under another name.
        (_, "FailedScheduling") if event.message.starts_with(UNSCHEDULED) => Some(Scaler::Karpenter),
        _ => None,
    }
}

/// The words before Karpenter's reasons.
const UNSCHEDULED: &str = "Failed to schedule pod, ";

/// Whether a node is on its way.
pub(super) fn is_under_way(case: &Case<'_>) -> bool {
    read(case).is_some_and(|found| found.state == Progress::Adding)
}

/// The newest report on this pod, or the failure that followed it.
pub(super) fn read<'a>(case: &Case<'a>) -> Option<ScaleUp<'a>> {
    let is_present = |event: &&EventFacts| {
        event.last.is_none_or(|at| case.pod.created.is_none_or(|created| at >= created)) && is_report(event)
    };
    let of_pod = case.events.iter().rev().find(is_present).and_then(of_pod);
    let failure = case.surroundings.scale_up_failures.last();
    match (of_pod, failure) {
        (Some(found), Some(failure)) if !found.may_fail() || failure.last < started(found.event) => Some(found),
        (_, Some(failure)) => Some(of_failure(failure)),
        (found, None) => found,
    }
}

/// When the autoscaler began to add the node.
fn started(event: &EventFacts) -> Option<crate::facts::Timestamp> {
    event.first.or(event.last)
}

fn is_report(event: &EventFacts) -> bool {
    is_of_autoscaler(event)
        && matches!(&*event.reason, "TriggeredScaleUp" | "NotTriggerScaleUp" | "Nominated" | "FailedScheduling")
}

fn of_pod(event: &EventFacts) -> Option<ScaleUp<'_>> {
    let scaler = scaler(event)?;
    let message = event.message.trim();
    let (state, group, text) = match (&*event.reason, scaler) {
        ("Nominated", _) => {
            let target = message.rsplit(": ").next().unwrap_or(message);
            let target = target.split(',').next().unwrap_or(target).trim();
            (Progress::Adding, target.rsplit('/').next().unwrap_or(target).to_owned(), target.to_owned())
        }
        ("TriggeredScaleUp", _) => {
            let groups = message.split_once(": ").map_or(message, |(_, groups)| groups);
            let groups = groups.trim_matches(['[', ']', '{', '}']);
            (Progress::Adding, groups.split(' ').next().unwrap_or(groups).to_owned(), groups.replace("} {", ", "))
        }
        (_, Scaler::Karpenter) => of_karpenter(message.strip_prefix(UNSCHEDULED).unwrap_or(message)),
        (_, Scaler::ClusterAutoscaler) => {
            let (state, text) = of_cluster_autoscaler(message);
            (state, String::new(), text)
        }
    };
    Some(ScaleUp { scaler, state, group, text: message::fit(&text, SHOWN), event })
}

/// Reasons of the cluster autoscaler that lie in itself, not in the pod: they come first.
const LIMITS: [&str; 3] = ["max node group size reached", "max total nodes in cluster reached", "limit reached"];
const TROUBLE: [&str; 2] = ["in backoff after failed scale-up", "not ready for scale-up"];

/// Parses `pod didn't trigger scale-up: 2 node(s) had untolerated taint {a: b}, 1 max node group size reached`.
fn of_cluster_autoscaler(message: &str) -> (Progress, String) {
    let reasons = message.split_once("): ").or_else(|| message.split_once(": ")).map_or("", |(_, reasons)| reasons);
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    // A reason may contain a comma.
    for (at, _) in reasons.match_indices(", ") {
        if reasons[at + 2..].starts_with(|c: char| c.is_ascii_digit()) {
            parts.push(&reasons[start..at]);
            start = at + 2;
        }
    }
    parts.push(&reasons[start..]);
    let state = |part: &str| {
        let has = |words: &[&str]| words.iter().any(|words| part.contains(words));
        if has(&LIMITS) {
            Progress::AtLimit
        } else if has(&TROUBLE) {
            Progress::Failing
        } else {
            Progress::Refused
        }
    };
    parts.sort_by_key(|part| state(part) == Progress::Refused);
    (parts.first().map_or(Progress::Refused, |part| state(part)), parts.join(", "))
}

/// Parses the reasons of Karpenter, one for each NodePool, separated by semicolons:
/// `incompatible with nodepool "default", daemonset overhead={...}, no instance type has enough resources, requirements=...`.
fn of_karpenter(reasons: &str) -> (Progress, String, String) {
    let mut all: Vec<(u8, &str, Vec<&str>)> = Vec::new();
    for reason in reasons.split("; ") {
        let (pool, leaf) = of_node_pool(reason);
        match all.iter_mut().find(|(_, known, _)| *known == leaf) {
            Some((_, _, pools)) => pools.extend(pool),
            None => all.push((intended(leaf), leaf, pool.into_iter().collect())),
        }
    }
    all.sort_by_key(|(rank, _, _)| *rank);
    let is_limit = |leaf: &str| leaf.contains("exceed limits") || leaf.contains("limits have been exhausted");
    let state = match all.first() {
        Some((_, leaf, _)) if is_limit(leaf) => Progress::AtLimit,
        _ => Progress::Refused,
    };
    let group = all.iter().find_map(|(_, _, pools)| pools.first()).copied().unwrap_or_default().to_owned();
    let mut text = String::new();
    for (_, leaf, pools) in &all {
        let pools = match pools.as_slice() {
            [] => String::new(),
            [pool] => format!("NodePool {pool}: "),
            several => format!("NodePools {}: ", several.join(", ")),
        };
        let one = format!("{pools}{leaf}");
        if text.is_empty() {
            text = message::fit(&one, SHOWN);
        } else if text.chars().count() + one.chars().count() + 2 <= SHOWN {
            text.push_str("; ");
            text.push_str(&one);
        }
    }
    (state, group, text)
}

/// How likely a NodePool is meant to be closed for the pod: most taints and labels are set on purpose.
fn intended(leaf: &str) -> u8 {
    if leaf.starts_with("did not tolerate") { 2 } else { u8::from(leaf.starts_with("incompatible requirements")) }
}

/// The NodePool of one reason, and the reason without the pool, the requirements and the amounts.
fn of_node_pool(reason: &str) -> (Option<&str>, &str) {
    let after = |mark: &str| reason.split_once(mark).map(|(_, rest)| rest);
    let pool = message::between(reason, "limits for nodepool: \"", "\"")
        .or_else(|| message::between(reason, "nodepool \"", "\""))
        .or_else(|| after("NodePool=").and_then(|rest| rest.split([',', ')', ' ']).next()))
        .map(|pool| pool.trim_matches('"'))
        .filter(|pool| !pool.is_empty());
    let mut leaf = reason.trim();
    if let Some(rest) = leaf.strip_prefix("incompatible with nodepool") {
        leaf = rest.split_once(", ").map_or(rest, |(_, rest)| rest);
    }
    if leaf.starts_with("daemonset overhead=") {
        leaf = leaf.split_once("}, ").map_or(leaf, |(_, rest)| rest);
    }
    // Values that an error carries: `node limits have been exhausted for nodepool (NodePool=default)`.
    if let Some((before, _)) = leaf.rsplit_once(" (").filter(|(_, values)| values.contains("NodePool=")) {
        leaf = before;
    }
    leaf = leaf.split_once(" for nodepool: \"").map_or(leaf, |(before, _)| before);
    // Before Karpenter 1.0: `no instance type satisfied resources {...} and requirements ... (no instance type ...)`.
    if let Some((_, inside)) = leaf.rsplit_once(" (no instance type") {
        return (pool, leaf[leaf.len() - inside.len() - "no instance type".len()..].trim_end_matches(')'));
    }
    for mark in [", requirements=", ", resources=", " (counts = "] {
        leaf = leaf.split_once(mark).map_or(leaf, |(before, _)| before);
    }
    (pool, leaf.trim_start_matches("incompatible requirements, ").trim_end_matches('.'))
}

/// A failure to create a node, reported of the autoscaler's own object.
fn of_failure(event: &EventFacts) -> ScaleUp<'_> {
    let message = event.message.trim();
    let (scaler, group, error) = if &*event.regarding.kind == "NodeClaim" {
        let error = message.split_once(" event: ").map_or(message, |(_, error)| error);
        (Scaler::Karpenter, event.regarding.name.to_string(), error.trim_start_matches("creating instance, "))
    } else {
        let group = message.split_once(" group ").and_then(|(_, rest)| rest.split([' ', ':', ',']).next());
        let error = ["source errors: ", ": "].iter().find_map(|mark| message.split_once(mark));
        let error = error.filter(|_| group.is_some()).map_or(message, |(_, error)| error);
        (Scaler::ClusterAutoscaler, group.unwrap_or_default().to_owned(), error)
    };
    let is_limit = error.starts_with("Max total nodes");
    let text = Message::parse(error).summary(SHOWN, &[]);
    let state = if is_limit { Progress::AtLimit } else { Progress::Failing };
    ScaleUp { scaler, state, group, text, event }
}

impl ScaleUp<'_> {
    /// Whether a failure to create the node explains the report: it is on its way, or a failed attempt is waited out.
    fn may_fail(&self) -> bool {
        matches!(self.state, Progress::Adding | Progress::Failing)
    }

    /// The clause that it adds to the summary of the pod.
    pub(super) fn clause(&self, case: &Case<'_>) -> String {
        let (text, group) = (self.text.as_str(), self.group.as_str());
        match (self.scaler, self.state) {
            (Scaler::ClusterAutoscaler, Progress::Adding) => {
                translate!(
                    case,
                    "the cluster autoscaler adds a node ({text})",
                    "cluster autoscaler がノードを追加中 ({text})",
                    text
                )
            }
            (Scaler::Karpenter, Progress::Adding) => {
                translate!(case, "Karpenter adds {text} for it", "Karpenter が {text} を追加中", text)
            }
            (Scaler::ClusterAutoscaler, Progress::Failing) if !group.is_empty() => {
                translate!(
                    case,
                    "the cluster autoscaler cannot add a node to {group}: {text}",
                    "cluster autoscaler が {group} にノードを追加できない: {text}",
                    group,
                    text
                )
            }
            (Scaler::Karpenter, Progress::Failing) if !group.is_empty() => {
                translate!(
                    case,
                    "Karpenter cannot create the node of NodeClaim {group}: {text}",
                    "Karpenter が NodeClaim {group} のノードを作成できない: {text}",
                    group,
                    text
                )
            }
            (Scaler::ClusterAutoscaler, _) if text.is_empty() => phrase!(
                case,
                "the cluster autoscaler adds no node, without a reason",
                "cluster autoscaler はノードを追加せず、理由を示していない"
            )
            .to_owned(),
            (Scaler::ClusterAutoscaler, _) => translate!(
                case,
                "the cluster autoscaler adds no node: {text}",
                "cluster autoscaler はノードを追加しない: {text}",
                text
            ),
            (Scaler::Karpenter, _) => {
                translate!(case, "Karpenter adds no node: {text}", "Karpenter はノードを追加しない: {text}", text)
            }
        }
    }

    pub(super) fn evidence(&self) -> Evidence {
        evidence::event(self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_the_autoscaler_itself_come_first() {
        let message = "pod didn't trigger scale-up (it wouldn't fit if a new node is added): 2 node(s) had untolerated \
                       taint {a: b, c}, 1 max node group size reached";
        let (state, text) = of_cluster_autoscaler(message);
        assert_eq!(state, Progress::AtLimit);
        assert_eq!(text, "1 max node group size reached, 2 node(s) had untolerated taint {a: b, c}");
        assert_eq!(of_cluster_autoscaler("pod didn't trigger scale-up: "), (Progress::Refused, String::new()));
    }

    #[test]
    fn reasons_of_karpenter_are_read_for_each_node_pool() {
        let reasons = r#"incompatible with nodepool "gpu", daemonset overhead={"cpu":"180m","pods":"5"}, did not tolerate taint (taint=gpu=true:NoSchedule); incompatible with nodepool "a", daemonset overhead={"cpu":"1"}, no instance type satisfied resources {"cpu":"100"} and requirements karpenter.sh/nodepool In [a] (no instance type has enough resources)"#;
        let (state, group, text) = of_karpenter(reasons);
        assert_eq!((state, group.as_str()), (Progress::Refused, "a"));
        assert_eq!(
            text,
            "NodePool a: no instance type has enough resources; NodePool gpu: did not tolerate taint (taint=gpu=true:NoSchedule)"
        );
        let limits = "all available instance types exceed limits for nodepool (NodePool=default)";
        let (state, group, text) = of_karpenter(limits);
        assert_eq!((state, group.as_str()), (Progress::AtLimit, "default"));
        assert_eq!(text, "NodePool default: all available instance types exceed limits for nodepool");
    }
}
