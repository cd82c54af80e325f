//! What a kubelet says of its node in Events, where no condition tells it.

use super::finding::NodeFinding;
use crate::api::{Confidence, Severity};
use crate::diagnosis::rule::Explain;
use crate::diagnosis::{Category, Known, Language, evidence, remedy, text};
use crate::facts::{NodeComplaint, NodeState, Timestamp, after, seconds_between};

/// A complaint counts for so many seconds: the kubelet repeats what goes on (garbage collection every 5 minutes, a start
/// that fails every few seconds).
const COUNTS_FOR: i64 = 900;

struct Sign {
    reasons: &'static [&'static str],
    /// What the message has to hold, in small letters; any where empty.
    words: &'static [&'static str],
    /// How often it is said before it counts.
    times: u32,
    severity: Severity,
    says: &'static str,
    remedy: (&'static str, &'static str),
    known: Known,
}

const SIGNS: &[Sign] = &[
    Sign {
        reasons: &["KubeletSetupFailed", "FailedNodeAllocatableEnforcement"],
        words: &[],
        times: 1,
        severity: Severity::Critical,
        says: "the kubelet of node {node} cannot start properly",
        remedy: ("Read the kubelet's log on {node}.", "journalctl -u kubelet --since -15min"),
        known: Known {
            cause: "NodeKubeletSetupFailed",
            category: Category::Node,
            explain: Explain {
                meaning: "The kubelet of the node fails while it starts, or cannot enforce what it reserves for the system.",
                told_apart: "It says so itself in an Event on the Node; a kubelet that says nothing is NodeStatusUnknown.",
                action: "Read the kubelet's log: cgroup driver, reserved resources that exceed the machine, a wrong flag.",
                source: "kubelet pkg/kubelet/kubelet.go, pkg/kubelet/cm: Events KubeletSetupFailed, \
                         FailedNodeAllocatableEnforcement",
            },
        },
    },
    Sign {
        reasons: &["FreeDiskSpaceFailed", "ImageGCFailed", "ContainerGCFailed"],
        // The first of them is said at each start of a kubelet, before it knows the disk.
        words: &["free", "insufficient", "failed to garbage collect", "no space", "deadline exceeded", "rpc error"],
        times: 2,
        severity: Severity::Warning,
        says: "node {node} cannot free disk by removing images and ended containers",
        remedy: (
            "Free disk on {node}: what fills it is not images that nobody uses (logs, volumes, images in use).",
            "df -h; du -xh --max-depth=2 /var | sort -h | tail",
        ),
        known: Known {
            cause: "NodeDiskGcFailing",
            category: Category::Node,
            explain: Explain {
                meaning: "The kubelet tries to free disk on the node and cannot; DiskPressure and evictions come next.",
                told_apart: "It is said in Events on the Node, more than once. Where DiskPressure is True already, that is the \
                             cause. `InvalidDiskCapacity` at a kubelet's start is noise.",
                action: "Find what fills the disk beside unused images; remove it, or enlarge the disk.",
                source: "kubelet pkg/kubelet/images/image_gc_manager.go: FreeDiskSpaceFailed, ImageGCFailed; pkg/kubelet: \
                         ContainerGCFailed",
            },
        },
    },
];

pub(super) fn known_causes() -> impl Iterator<Item = Known> {
    SIGNS.iter().map(|sign| sign.known)
}

/// Whether an Event of this reason on a Node is kept.
pub fn is_complaint(reason: &str) -> bool {
    SIGNS.iter().any(|sign| sign.reasons.contains(&reason))
}

/// What Events say is wrong, and when they stop to count.
pub(super) struct Told {
    pub(super) findings: Vec<NodeFinding>,
    pub(super) wake: Option<Timestamp>,
}

pub(super) fn of(language: Language, node: &NodeState, now: Timestamp) -> Told {
    let counts = |sign: &Sign| {
        let of_sign = node.complaints.iter().filter(|c| sign.reasons.contains(&&*c.reason));
        let said = of_sign.filter(|c| c.count >= sign.times && seconds_between(c.last, now) < COUNTS_FOR);
        said.filter(|c| says(sign, c)).max_by_key(|c| c.last)
    };
    let found: Vec<(&Sign, &NodeComplaint)> = SIGNS.iter().filter_map(|sign| Some((sign, counts(sign)?))).collect();
    let wake = found.iter().map(|(_, complaint)| after(complaint.last, COUNTS_FOR)).min();
    Told {
        findings: found.into_iter().map(|(sign, complaint)| finding(language, node, sign, complaint)).collect(),
        wake,
    }
}

fn says(sign: &Sign, complaint: &NodeComplaint) -> bool {
    let message = complaint.message.to_ascii_lowercase();
    sign.words.is_empty() || sign.words.iter().any(|words| message.contains(words))
}

fn finding(language: Language, node: &NodeState, sign: &Sign, complaint: &NodeComplaint) -> NodeFinding {
    let with_name = |text: &'static str| language.of(text).replace("{node}", &node.facts.name);
    let (todo, command) = sign.remedy;
    let source = format!("node/{} event/{}", node.facts.name, complaint.reason);
    let value = text::line(&complaint.message, text::EVIDENCE_MAX);
    NodeFinding {
        cause: sign.known.cause,
        severity: sign.severity,
        confidence: Confidence::Likely,
        since: Some(complaint.last),
        summary: text::line(
            &format!("{} ({})", with_name(sign.says), text::line(&complaint.message, 100)),
            text::SUMMARY_MAX,
        ),
        remedies: vec![remedy::command(remedy::fix(with_name(todo)), with_name(command))],
        evidence: vec![evidence::field_at(source, value, Some(complaint.last))],
        ready: None,
        quiet: false,
    }
}
