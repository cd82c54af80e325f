//! Conditions of a node beside Ready: those of the kubelet and the cloud, and those that node-problem-detector and its
//! likes set.

use super::finding::NodeFinding;
use crate::api::{Confidence, Severity};
use crate::diagnosis::language::phrase;
use crate::diagnosis::rule::Explain;
use crate::diagnosis::{Category, Known, Language, evidence, remedy, text};
use crate::facts::{Condition, NodeState};

/// A condition that says that something is wrong while it is True.
struct Sign {
    /// Types of conditions; one that ends in `*` is a beginning, one that begins with it an end.
    types: &'static [&'static str],
    severity: Severity,
    /// `{node}` is replaced.
    says: &'static str,
    /// What to do, and the command; `{node}` is replaced in both.
    remedy: (&'static str, &'static str),
    known: Known,
}

const fn known(
    cause: &'static str,
    meaning: &'static str,
    told_apart: &'static str,
    action: &'static str,
    source: &'static str,
) -> Known {
    Known { cause, category: Category::Node, explain: Explain { meaning, told_apart, action, source } }
}

const PODS_THERE: &str = "kubectl get pods -A -o wide --field-selector spec.nodeName={node}";
const DESCRIBE: &str = "kubectl describe node {node}";

const SIGNS: &[Sign] = &[
    Sign {
        types: &["NetworkUnavailable"],
        severity: Severity::Critical,
        says: "node {node} has no pod network: its routes are not set up",
        remedy: (
            "Look at the cloud's route controller, or at the network plugin that sets this condition on {node}.",
            DESCRIBE,
        ),
        known: known(
            "NodeNetworkUnavailable",
            "The node's routes are not set up, so its pods are not reached from other nodes; no new pod is put there.",
            "The condition NetworkUnavailable is True. A CNI plugin that is not ready on the node makes it NotReady and is \
             NodeNetworkPluginNotReady.",
            "Look at the cloud controller manager (quota of routes, rights), or at the network plugin that keeps this condition.",
            "cloud-provider pkg/route controller: reason `NoRouteCreated`; network plugins set it as well",
        ),
    },
    Sign {
        types: &[
            "ReadonlyFilesystem",
            "FilesystemCorruptionProblem",
            "FilesystemIsReadOnly",
            "XfsShutdown",
            "Ext4Error",
        ],
        severity: Severity::Critical,
        says: "node {node} has a damaged or read-only file system",
        remedy: (
            "Drain {node}, then repair or replace its disk.",
            "kubectl drain {node} --ignore-daemonsets --delete-emptydir-data",
        ),
        known: known(
            "NodeFilesystemDamaged",
            "A file system of the node was mounted read-only after an error, or is damaged.",
            "node-problem-detector (or the cloud's agent) sets the condition from the kernel's log. A container's own read-only \
             root is ReadOnlyFilesystem of its pod.",
            "Drain the node; check the disk and the kernel's log; replace the machine if it comes back.",
            "node-problem-detector config/readonly-monitor.json, and the agents of AKS and GKE",
        ),
    },
    Sign {
        types: &["KernelDeadlock", "CPUSoftLockup*"],
        severity: Severity::Critical,
        says: "node {node} has a kernel deadlock",
        remedy: (
            "Drain {node} and reboot it; update the kernel if it comes back.",
            "kubectl drain {node} --ignore-daemonsets --delete-emptydir-data",
        ),
        known: known(
            "NodeKernelDeadlock",
            "The kernel of the node reports tasks that hang.",
            "node-problem-detector sets the condition from the kernel's log. A runtime that hangs without it is \
             NodePlegUnhealthy.",
            "Drain and reboot the node; read the kernel's log; update the kernel.",
            "node-problem-detector config/kernel-monitor.json",
        ),
    },
    Sign {
        types: &[
            "Frequent*",
            "KubeletUnhealthy",
            "ContainerRuntimeUnhealthy",
            "KubeletProblem",
            "ContainerRuntimeProblem",
        ],
        severity: Severity::Warning,
        says: "on node {node} the kubelet, the runtime or a device restarts again and again",
        remedy: (
            "Read the log of what restarts on {node}.",
            "journalctl -u kubelet -u containerd -u docker --since -1h",
        ),
        known: known(
            "NodeServicesRestarting",
            "The kubelet, the container runtime or a network device of the node restarts again and again, or fails its own health check.",
            "node-problem-detector counts restarts and sets the condition; the node may be Ready in between. Where it is not, \
             the cause is that of its Ready condition.",
            "Read the log of the service that the condition names.",
            "node-problem-detector config/systemd-monitor-counter.json, config/health-checker-*.json",
        ),
    },
    Sign {
        types: &["DiskPressure"],
        severity: Severity::Warning,
        says: "node {node} is short of disk: it evicts pods and takes no new ones",
        remedy: (
            "Free disk on {node} (unused images, logs, what pods write), or give it a larger one.",
            "crictl rmi --prune",
        ),
        known: known(
            "NodeDiskPressure",
            "The disk for pods or for images on the node is nearly full: the kubelet removes images, evicts pods, and the \
             scheduler puts no new pod there.",
            "The condition DiskPressure is True (nodefs under 10 % free, images under 15 %, or few inodes by default).",
            "Find what fills the disk; remove it, move those pods, or enlarge the disk; give pods ephemeral-storage limits.",
            "kubelet pkg/kubelet/nodestatus/setters.go: `KubeletHasDiskPressure`",
        ),
    },
    Sign {
        types: &["MemoryPressure"],
        severity: Severity::Warning,
        says: "node {node} is short of memory: it evicts pods, those above their requests first",
        remedy: ("See which pods use more memory there than they request.", "kubectl top pods -A --sort-by=memory"),
        known: known(
            "NodeMemoryPressure",
            "The memory of the node is nearly used up: the kubelet evicts pods, those above their requests first, and the \
             scheduler puts no pod without a memory request there.",
            "The condition MemoryPressure is True (under 100 Mi available by default).",
            "Set requests to what pods really use, and limits; move the largest; add memory or nodes.",
            "kubelet pkg/kubelet/nodestatus/setters.go: `KubeletHasInsufficientMemory`",
        ),
    },
    Sign {
        types: &["PIDPressure"],
        severity: Severity::Warning,
        says: "node {node} is short of process ids: it evicts pods and takes no new ones",
        remedy: (
            "Find the pod there that starts more and more processes, and limit it (podPidsLimit of the kubelet).",
            PODS_THERE,
        ),
        known: known(
            "NodePIDPressure",
            "The process ids of the node are nearly used up: the kubelet evicts pods, and the scheduler puts no new pod there.",
            "The condition PIDPressure is True.",
            "Find the pod that leaks processes or threads; set podPidsLimit in the kubelet's configuration.",
            "kubelet pkg/kubelet/nodestatus/setters.go: `KubeletHasInsufficientPID`",
        ),
    },
    Sign {
        types: &["*Problem", "*Deadlock", "*Unhealthy", "Corrupt*", "*Corruption", "*Hung", "*Failure", "*Failed"],
        severity: Severity::Warning,
        says: "node {node} reports a problem",
        remedy: ("See what the condition says.", DESCRIBE),
        known: known(
            "NodeProblem",
            "A condition that an agent on the node has set says that something is wrong there.",
            "Its type is none of Kubernetes' own and ends in Problem, Failure and the like. Conditions of other names are not judged.",
            "Read what the condition says; whoever set it has documented it.",
            "node-problem-detector's custom plugins; the agents of cloud providers",
        ),
    },
];

pub(super) fn known_causes() -> impl Iterator<Item = Known> {
    SIGNS.iter().map(|sign| sign.known)
}

/// What the conditions of a node beside Ready say, the worst first.
pub(super) fn of(language: Language, node: &NodeState) -> Vec<NodeFinding> {
    let wrong = |sign: &Sign| {
        // Of a condition that two signs know the first speaks.
        let mine = |c: &&Condition| {
            let first = SIGNS.iter().find(|s| s.types.iter().any(|pattern| matches(pattern, &c.kind)));
            c.status == "True" && first.is_some_and(|first| first.known.cause == sign.known.cause)
        };
        node.facts.conditions.iter().find(mine).map(|condition| finding(language, node, sign, condition))
    };
    let mut found: Vec<NodeFinding> = SIGNS.iter().filter_map(wrong).collect();
    found.sort_by_key(|finding| finding.severity);
    found
}

fn finding(language: Language, node: &NodeState, sign: &Sign, condition: &Condition) -> NodeFinding {
    let name = &node.facts.name;
    let with_name = |text: &'static str| language.of(text).replace("{node}", name);
    let own = ["DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"].contains(&&*condition.kind);
    let words = text::line(if condition.message.is_empty() { &condition.reason } else { &condition.message }, 100);
    let summary = match (own, words.is_empty()) {
        (true, _) => with_name(sign.says),
        (false, true) => format!("{} ({})", with_name(sign.says), condition.kind),
        (false, false) => format!("{} ({}: {words})", with_name(sign.says), condition.kind),
    };
    let (todo, command) = sign.remedy;
    let mut remedies = vec![remedy::command(remedy::fix(with_name(todo)), with_name(command))];
    if command != DESCRIBE {
        remedies.push(remedy::command(
            remedy::fix(phrase!(language, "See what the node says of it.")),
            with_name(DESCRIBE),
        ));
    }
    NodeFinding {
        cause: sign.known.cause,
        severity: sign.severity,
        confidence: Confidence::Certain,
        since: condition.last_transition,
        summary: text::line(&summary, text::SUMMARY_MAX),
        remedies,
        evidence: vec![evidence::node_condition(name, condition)],
        ready: None,
        quiet: false,
    }
}

fn matches(pattern: &str, kind: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(beginning), _) => kind.starts_with(beginning),
        (None, Some(end)) => kind.ends_with(end) && kind.len() > end.len(),
        (None, None) => kind == pattern,
    }
}
