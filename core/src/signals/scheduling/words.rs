//! Parser of the scheduler's messages.
//!
//! `FitError.Error` (kubernetes pkg/scheduler/framework/types.go) prints `0/N nodes are available: `, then either one
//! message of a plugin that stopped before it checked nodes, or `k reason, k reason`, sorted; then the result of
//! preemption, which does not explain the failure and is removed before anything is counted.
//!
//! Before Kubernetes 1.8 it listed the names of its predicates, each with a count (`MatchNodeSelector (2)`), and before
//! 1.6 one line per node.

/// A scheduler check that a node fails. The order decides ties: what a user can change in the pod comes first, what was
/// set on purpose (a cordon, a taint, a selector) comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Check {
    Cpu,
    Memory,
    EphemeralStorage,
    Extended,
    Pods,
    HostPort,
    PvcNotFound,
    PvcUnbound,
    PvAffinity,
    VolumeZone,
    NoMatchingPv,
    StorageCapacity,
    PvcLost,
    BoundPvMissing,
    PvcDeleting,
    PvcInUse,
    DiskConflict,
    EphemeralPvc,
    VolumeCount,
    DraClaim,
    CsiDriver,
    NodeFeatures,
    Gang,
    PodAffinity,
    PodAntiAffinity,
    ExistingAntiAffinity,
    TopologySpread,
    Disjoint,
    Cordoned,
    Taint,
    Selector,
    NodeName,
    NoNodes,
    /// A reason that this version does not recognize, such as that of a plugin.
    Other,
}

impl Check {
    /// The name in cause files.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeralStorage",
            Self::Extended => "extendedResource",
            Self::Pods => "podCount",
            Self::HostPort => "hostPort",
            Self::PvcNotFound => "claimNotFound",
            Self::PvcUnbound => "claimUnbound",
            Self::PvAffinity => "volumeNodeAffinity",
            Self::VolumeZone => "volumeZone",
            Self::NoMatchingPv => "noMatchingVolume",
            Self::StorageCapacity => "storageCapacity",
            Self::PvcLost => "claimLost",
            Self::BoundPvMissing => "boundVolumeMissing",
            Self::PvcDeleting => "claimDeleting",
            Self::PvcInUse => "claimInUse",
            Self::DiskConflict => "diskConflict",
            Self::EphemeralPvc => "ephemeralClaim",
            Self::VolumeCount => "volumeCount",
            Self::DraClaim => "resourceClaim",
            Self::CsiDriver => "csiDriver",
            Self::NodeFeatures => "nodeFeatures",
            Self::Gang => "gang",
            Self::PodAffinity => "podAffinity",
            Self::PodAntiAffinity => "podAntiAffinity",
            Self::ExistingAntiAffinity => "existingAntiAffinity",
            Self::TopologySpread => "topologySpread",
            Self::Disjoint => "disjointNodes",
            Self::Cordoned => "cordon",
            Self::Taint => "taint",
            Self::Selector => "nodeSelector",
            Self::NodeName => "nodeName",
            Self::NoNodes => "noNodes",
            Self::Other => "other",
        }
    }

    /// The checks of a node's capacity.
    pub(super) const CAPACITY: [Self; 5] =
        [Self::Cpu, Self::Memory, Self::EphemeralStorage, Self::Extended, Self::Pods];

    /// Whether it is a check of a node's capacity.
    pub(super) const fn is_capacity(self) -> bool {
        matches!(self, Self::Cpu | Self::Memory | Self::EphemeralStorage | Self::Extended | Self::Pods)
    }

    /// Whether a claim of the pod, or the volume behind it, fails the check.
    pub(super) const fn is_about_a_claim(self) -> bool {
        matches!(
            self,
            Self::PvcNotFound
                | Self::PvcUnbound
                | Self::PvAffinity
                | Self::VolumeZone
                | Self::NoMatchingPv
                | Self::StorageCapacity
                | Self::PvcLost
                | Self::BoundPvMissing
                | Self::PvcDeleting
                | Self::PvcInUse
        )
    }

    /// Whether Node objects alone (without other pods, ports and volumes) show which nodes fail it.
    pub(super) const fn is_computed(self) -> bool {
        self.is_capacity() || matches!(self, Self::Cordoned | Self::Taint | Self::Selector)
    }
}

/// One reason of a message, with the number of nodes that it filtered out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason<'a> {
    /// Absent for messages that this version does not recognize.
    pub check: Option<Check>,
    /// Absent if a plugin stopped before it checked nodes.
    pub nodes: Option<u32>,
    pub text: &'a str,
}

/// All reasons of a message.
pub(in crate::signals) fn reasons(message: &str) -> Vec<Reason<'_>> {
    if let Some(found) = predicates(message).or_else(|| node_by_node(message)) {
        return found;
    }
    if let Some(found) = whole_gang(message) {
        return vec![found];
    }
    let mut found: Vec<Reason<'_>> = Vec::new();
    let mut start = 0;
    let body = body(message);
    // A reason may contain a comma. Only one before a count (`, 2 node(s) ...`) separates reasons.
    for (at, _) in body.match_indices(", ") {
        let rest = &body[at + 2..];
        if counted(rest).is_some() {
            found.push(reason(&body[start..at]));
            start = at + 2;
        }
    }
    if start < body.len() {
        found.push(reason(&body[start..]));
    }
    found
}

/// A message about a gang, whose counts are pods and not nodes: `3/5 tasks in gang unschedulable: pod group is not ready,
/// 3 Pending, 5 minAvailable` of Volcano, or `pod group is unschedulable, minCount (3) cannot be satisfied: 1 scheduled,
/// 1 remaining, pod group preemption: ...` of kube-scheduler (1.37).
fn whole_gang(message: &str) -> Option<Reason<'_>> {
    let text = gang(message);
    let is_of_nodes = AVAILABLE.iter().any(|mark| text.contains(mark));
    (!is_of_nodes && check(text) == Some(Check::Gang)).then_some(Reason { check: Some(Check::Gang), nodes: None, text })
}

/// The reason of a gang, without the repeated `pod group is unschedulable` before it and the result of preemption after it.
fn gang(message: &str) -> &str {
    const IS_UNSCHEDULABLE: &str = "pod group is unschedulable";
    let mut text = message.trim();
    while let Some(rest) = text.strip_prefix(IS_UNSCHEDULABLE).and_then(|rest| rest.strip_prefix(", ")) {
        text = rest;
    }
    let end = match text.split_once(" remaining") {
        Some((before, _)) if before.starts_with("minCount (") => before.len() + " remaining".len(),
        _ => text.find(", pod group preemption:").unwrap_or(text.len()),
    };
    text[..end].trim_end_matches('.')
}

/// The numbers of `minCount (3) cannot be satisfied: 1 scheduled, 1 remaining`: the pods that must fit at once, and those
/// that are or may be placed.
pub(super) fn gang_counts(text: &str) -> Option<(u32, u32)> {
    let (least, rest) = text.split_once("minCount (")?.1.split_once(')')?;
    let (scheduled, rest) = rest.split_once(": ")?.1.split_once(" scheduled, ")?;
    let remaining = rest.split_once(" remaining")?.0;
    let fits = scheduled.parse::<u32>().ok()?.checked_add(remaining.parse().ok()?)?;
    Some((least.parse().ok()?, fits))
}

/// What precedes the reasons: the words of kube-scheduler, and of Volcano.
const AVAILABLE: [&str; 2] = ["nodes are available: ", "nodes are unavailable: "];

/// Parses `No nodes are available that match all of the predicates: Insufficient cpu (3), MatchNodeSelector (2).`
fn predicates(message: &str) -> Option<Vec<Reason<'_>>> {
    const BEFORE: [&str; 3] = [
        "that match all of the predicates: ",
        "that match all of the following predicates:: ",
        "fit failure summary on nodes : ",
    ];
    let list = BEFORE.iter().find_map(|mark| Some(message.split_once(mark)?.1))?;
    let one = |part| {
        let (text, count) = str::rsplit_once(part, " (").unwrap_or((part, ""));
        Reason { check: check(text), nodes: count.parse().ok(), text }
    };
    Some(list.trim().trim_end_matches(['.', ')']).split("), ").map(one).collect())
}

/// Parses `fit failure on node (n1): Node didn't have enough resource: CPU, requested: 1000, used: 420, capacity:
/// 1000`, line by line.
fn node_by_node(message: &str) -> Option<Vec<Reason<'_>>> {
    let mut found: Vec<Reason<'_>> = Vec::new();
    for line in message.lines() {
        let Some((_, text)) = line.split_once("fit failure on node (").and_then(|(_, rest)| rest.split_once("): "))
        else {
            continue;
        };
        let check = check(text.trim());
        match found.iter_mut().find(|r| r.check == check) {
            Some(same) => same.nodes = same.nodes.map(|n| n.saturating_add(1)),
            None => found.push(Reason { check, nodes: Some(1), text: text.trim() }),
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The part between `nodes are available: ` (or `unavailable`) and the result of preemption.
fn body(message: &str) -> &str {
    let message = message.trim().trim_start_matches('[');
    // Kubernetes 1.8 adds this prefix if a predicate could not be evaluated.
    let message = message.strip_prefix("SchedulerPredicates failed due to ").unwrap_or(message);
    let message = message.split_once(", which is unexpected").map_or(message, |(words, _)| words);
    let rest = AVAILABLE.iter().find_map(|mark| message.split_once(mark)).map_or(message, |(_, rest)| rest);
    let mut end = rest.len();
    for marker in ["preemption:", "no new claims to deallocate", ". "] {
        if let Some(at) = rest.find(marker) {
            end = end.min(at);
        }
    }
    rest[..end].trim_end_matches([' ', '.', ','])
}

/// The number of all nodes: the N of `0/N nodes are available`.
pub(super) fn total(message: &str) -> Option<u32> {
    let (total, rest) = message.trim().strip_prefix("0/")?.split_once(' ')?;
    // `0/2 placements are available` counts places for a whole group.
    rest.starts_with("node").then(|| total.parse().ok())?
}

fn counted(text: &str) -> Option<(u32, &str)> {
    let (count, rest) = text.split_once(' ')?;
    Some((count.parse().ok()?, rest))
}

fn reason(text: &str) -> Reason<'_> {
    let text = text.trim();
    let (nodes, text) = counted(text).map_or((None, text), |(count, rest)| (Some(count), rest));
    Reason { check: check(text), nodes, text }
}

fn check(text: &str) -> Option<Check> {
    if let Some(resource) = text.strip_prefix("Insufficient ") {
        return Some(match resource {
            "cpu" | "CPU" => Check::Cpu,
            "memory" | "Memory" => Check::Memory,
            "ephemeral-storage" => Check::EphemeralStorage,
            "pods" => Check::Pods,
            _ => Check::Extended,
        });
    }
    if let Some((_, check)) = PREDICATES.iter().find(|(name, _)| *name == text) {
        return Some(*check);
    }
    if node_state_taint(text).is_some() {
        return Some(Check::Taint);
    }
    if is_some_affinity(text) {
        return None;
    }
    if text.starts_with("persistentvolumeclaim ") && text.ends_with(" not found") {
        return Some(Check::PvcNotFound);
    }
    // Part of a reason, and its check. Older wordings follow the current ones.
    if text.ends_with("PodGroup") {
        return Some(Check::Gang);
    }
    const WORDS: [(&str, Check); 63] = [
        ("Too many pods", Check::Pods),
        ("pod number exceeded", Check::Pods),
        ("untolerated taint", Check::Taint),
        ("that the pod didn't tolerate", Check::Taint),
        ("didn't match Pod's node affinity/selector", Check::Selector),
        ("didn't match node selector", Check::Selector),
        ("didn't match Pod's node affinity", Check::Selector),
        ("didn't match scheduler-enforced node affinity", Check::Selector),
        ("didn't match the requested node name", Check::NodeName),
        ("didn't match the requested hostname", Check::NodeName),
        ("pod affinity terms conflict", Check::Selector),
        // Several plugins each narrowed the nodes down to different ones; a single plugin is the node affinity.
        ("simultaneously", Check::Disjoint),
        ("didn't satisfy plugin", Check::Selector),
        ("node is filtered out by the prefilter result", Check::Selector),
        ("were unschedulable", Check::Cordoned),
        ("didn't have free ports", Check::HostPort),
        ("existing pods anti-affinity rules", Check::ExistingAntiAffinity),
        ("anti-affinity rules", Check::PodAntiAffinity),
        ("didn't match pod affinity rules", Check::PodAffinity),
        ("topology spread constraints", Check::TopologySpread),
        ("unbound immediate PersistentVolumeClaims", Check::PvcUnbound),
        ("has unbound PersistentVolumeClaims", Check::PvcUnbound),
        ("PersistentVolumeClaim is not bound", Check::PvcUnbound),
        ("didn't match PersistentVolume's node affinity", Check::PvAffinity),
        ("had volume node affinity conflict", Check::PvAffinity),
        ("no available volume zone", Check::VolumeZone),
        ("didn't find available persistent volumes to bind", Check::NoMatchingPv),
        ("did not have enough free storage", Check::StorageCapacity),
        ("bound to non-existent pv(s)", Check::BoundPvMissing),
        ("bound to non-existent p", Check::PvcLost),
        ("is being deleted", Check::PvcDeleting),
        ("ReadWriteOncePod access mode", Check::PvcInUse),
        ("had no available disk", Check::DiskConflict),
        ("waiting for ephemeral volume controller", Check::EphemeralPvc),
        ("was not created for pod", Check::EphemeralPvc),
        ("exceed max volume count", Check::VolumeCount),
        ("CSI driver is not installed on the node", Check::CsiDriver),
        ("feature on the node", Check::NodeFeatures),
        ("Pod's required features", Check::NodeFeatures),
        ("declared features check failed", Check::NodeFeatures),
        ("cannot allocate all claims", Check::DraClaim),
        ("resourceclaim", Check::DraClaim),
        ("resource claim", Check::DraClaim),
        ("device class", Check::DraClaim),
        ("invalid resource pools", Check::DraClaim),
        ("node-allocatable DRA", Check::DraClaim),
        ("pods from a gang", Check::Gang),
        ("waiting for minCount", Check::Gang),
        ("minCount (", Check::Gang),
        ("pod group", Check::Gang),
        ("pods's workload", Check::Gang),
        ("placements are available", Check::Gang),
        ("no feasible placements", Check::Gang),
        ("tasks in gang", Check::Gang),
        ("minAvailable", Check::Gang),
        ("sibling pods", Check::Gang),
        ("odGroup ", Check::Gang),
        ("resource gap: ", Check::Gang),
        ("no nodes available to schedule pods", Check::NoNodes),
        ("cannot use node: had unschedulable", Check::Cordoned),
        ("enough resource: CPU,", Check::Cpu),
        ("enough resource: Memory,", Check::Memory),
        ("enough resource: PodCount,", Check::Pods),
    ];
    WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, check)| *check)
}

/// The scheduler's predicates before Kubernetes 1.8.
const PREDICATES: [(&str, Check); 12] = [
    ("MatchNodeSelector", Check::Selector),
    ("HostName", Check::NodeName),
    ("PodFitsHostPorts", Check::HostPort),
    ("PodToleratesNodeTaints", Check::Taint),
    ("NodeUnschedulable", Check::Cordoned),
    ("NoVolumeZoneConflict", Check::VolumeZone),
    ("NoVolumeNodeConflict", Check::PvAffinity),
    ("VolumeNodeAffinityConflict", Check::PvAffinity),
    ("VolumeBindingNoMatch", Check::NoMatchingPv),
    ("MaxVolumeCount", Check::VolumeCount),
    ("NoDiskConflict", Check::DiskConflict),
    ("CheckNodeLabelPresence", Check::Selector),
];

/// The current taint of a node condition. Before nodes were tainted for their conditions, the scheduler checked these
/// itself.
fn node_state_taint(text: &str) -> Option<&'static str> {
    const STATES: [(&str, &str, &str); 7] = [
        ("NodeNotReady", "were not ready", "node.kubernetes.io/not-ready"),
        ("NodeUnknownCondition", "had unknown conditions", "node.kubernetes.io/unreachable"),
        ("NodeOutOfDisk", "were out of disk space", "node.kubernetes.io/disk-pressure"),
        ("NodeUnderDiskPressure", "had disk pressure", "node.kubernetes.io/disk-pressure"),
        ("NodeUnderMemoryPressure", "had memory pressure", "node.kubernetes.io/memory-pressure"),
        ("NodeUnderPIDPressure", "had pid pressure", "node.kubernetes.io/pid-pressure"),
        ("NodeNetworkUnavailable", "had unavailable network", "node.kubernetes.io/network-unavailable"),
    ];
    STATES.iter().find(|(name, words, _)| text == *name || text.contains(words)).map(|(_, _, key)| *key)
}

/// Whether the reason is about pod affinity or anti-affinity, without stating which of the two.
pub(super) fn is_some_affinity(text: &str) -> bool {
    text == "MatchInterPodAffinity" || text.contains("didn't match pod affinity/anti-affinity")
}

/// The key of the taint in a message of Kubernetes 1.34 or older (`{dedicated: gpu}`), or the one that it implies.
pub(super) fn taint_key(text: &str) -> Option<&str> {
    if let Some(key) = node_state_taint(text) {
        return Some(key);
    }
    let inside = text.split_once('{')?.1.split_once('}')?.0;
    Some(inside.split_once(':').map_or(inside, |(key, _)| key).trim())
}

/// The same taint with its value: `dedicated=gpu`.
pub(super) fn taint(text: &str) -> Option<String> {
    let inside = text.split_once('{')?.1.split_once('}')?.0;
    let (key, value) = inside.split_once(':').unwrap_or((inside, ""));
    Some(if value.trim().is_empty() { key.trim().to_owned() } else { format!("{}={}", key.trim(), value.trim()) })
}

/// The name between the first pair of double quotes.
pub(in crate::signals) fn quoted(text: &str) -> Option<&str> {
    Some(text.split_once('"')?.1.split_once('"')?.0)
}

/// At most two names, and the number of others: `n1, n2 (+3)`.
pub(in crate::signals) fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<_> = all.collect();
    match all.as_slice() {
        [one, two, rest @ ..] if !rest.is_empty() => format!("{one}, {two} (+{})", rest.len()),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(message: &str) -> Vec<(Option<Check>, Option<u32>)> {
        reasons(message).into_iter().map(|r| (r.check, r.nodes)).collect()
    }

    #[test]
    fn preemption_result_is_not_counted() {
        let message = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes \
                       are available: 1 Preemption is not helpful for scheduling.";
        assert_eq!(checks(message), [(Some(Check::Cpu), Some(1))]);
        let message = "0/3 nodes are available: 1 Insufficient memory, 2 node(s) had untolerated taint(s). preemption: \
                       0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not \
                       helpful for scheduling.";
        assert_eq!(checks(message), [(Some(Check::Memory), Some(1)), (Some(Check::Taint), Some(2))]);
        let message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: not eligible due to \
                       preemptionPolicy=Never.";
        assert_eq!(checks(message), [(Some(Check::Extended), Some(2))]);
    }

    #[test]
    fn comma_within_a_reason_does_not_separate() {
        let message = "0/4 nodes are available: 1 node(s) had taint {dedicated: db, x}, that the pod didn't tolerate, \
                       3 Insufficient cpu.";
        assert_eq!(checks(message), [(Some(Check::Taint), Some(1)), (Some(Check::Cpu), Some(3))]);
    }

    #[test]
    fn plugin_that_stopped_early_has_no_count() {
        let message = "0/1 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/1 nodes are \
                       available: 1 Preemption is not helpful for scheduling.";
        assert_eq!(checks(message), [(Some(Check::PvcNotFound), None)]);
        assert_eq!(quoted(reasons(message)[0].text), Some("data"));
        assert_eq!(checks("no nodes available to schedule pods"), [(Some(Check::NoNodes), None)]);
    }

    #[test]
    fn counts_of_old_predicates_follow_their_names() {
        let summary = "Insufficient cpu (3), MatchNodeSelector (2), PodToleratesNodeTaints (1)";
        let expected = [(Some(Check::Cpu), Some(3)), (Some(Check::Selector), Some(2)), (Some(Check::Taint), Some(1))];
        for message in [
            format!("No nodes are available that match all of the predicates: {summary}."),
            format!("No nodes are available that match all of the following predicates:: {summary}."),
            format!("pod (web) failed to fit in any node\nfit failure summary on nodes : {summary}"),
        ] {
            assert_eq!(checks(&message), expected, "{message}");
        }
        let message = "pod (web) failed to fit in any node\nfit failure on node (n1): Node didn't have enough resource: \
                       CPU, requested: 1000, used: 420, capacity: 1000\nfit failure on node (n2): Node didn't have \
                       enough resource: CPU, requested: 1000, used: 990, capacity: 1000\n";
        assert_eq!(checks(message), [(Some(Check::Cpu), Some(2))]);
    }

    #[test]
    fn gang_schedulers_count_pods() {
        let text = "3/5 tasks in gang unschedulable: pod group is not ready, 3 Pending, 5 minAvailable";
        assert_eq!(reasons(text), [Reason { check: Some(Check::Gang), nodes: None, text }]);
        let message = "0/3 nodes are unavailable: 2 node(s) pod number exceeded, 1 Insufficient cpu.";
        assert_eq!(checks(message), [(Some(Check::Pods), Some(2)), (Some(Check::Cpu), Some(1))]);
        assert_eq!(checks("0/3 nodes are available: PodGroup not found."), [(Some(Check::Gang), None)]);
    }

    #[test]
    fn group_of_pods_is_read_without_its_preemption() {
        let gang = |message| match reasons(message).as_slice() {
            [Reason { check: Some(Check::Gang), nodes: None, text }] => (*text).to_owned(),
            other => panic!("{other:?}"),
        };
        let message = "pod group is unschedulable, pod group is unschedulable, minCount (3) cannot be satisfied: 1 scheduled, \
                       1 remaining, pod group preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
        let text = gang(message);
        assert_eq!(text, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining");
        assert_eq!((gang_counts(&text), total(message)), (Some((3, 2)), None));
        let message = "0/2 placements are available, first placement status: pod group is unschedulable";
        assert_eq!((gang(message).as_str(), total(message)), (message, None));
        assert_eq!(gang_counts(message), None);
    }

    #[test]
    fn unknown_messages_have_no_check() {
        assert_eq!(checks("0/1 nodes are available: 1 node(s) were out of luck."), [(None, Some(1))]);
        assert!(reasons("").is_empty());
    }

    #[test]
    fn older_scheduler_reports_the_taint() {
        assert_eq!(
            taint_key("node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"),
            Some("node-role.kubernetes.io/control-plane")
        );
        assert_eq!(taint_key("node(s) had untolerated taint(s)"), None);
    }
}
