//! Pods that a node's kubelet refused: phase Failed, the check's name as the pod's reason, nothing ever ran.

use super::left_over;
use crate::api::Remedy;
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, target, text,
};
use crate::facts::{Container, Phase, PodFacts};

const SOURCE: &str = "kubernetes pkg/kubelet/kubelet.go rejectPod; pkg/kubelet/lifecycle/predicate.go";
const TOLD_APART: &str = "The pod is Failed with this reason and a message that begins with `Pod was rejected:`, and no container \
                          has a status. A pod that fails after it ran has one.";

/// A refusal that is told by the pod's reason alone.
pub(super) const fn by_reason(
    cause: &'static str,
    check: fn(&Case<'_>) -> Verdict,
    meaning: &'static str,
    action: &'static str,
) -> Rule {
    Rule {
        cause,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(check),
        remedies,
        explain: Explain { meaning, told_apart: TOLD_APART, action, source: SOURCE },
    }
}

/// What matches none of the rows.
pub(super) const UMBRELLA: Rule = Rule {
    specificity: Specificity::Umbrella,
    ..by_reason(
        "PodAdmissionRejected",
        any,
        "The node's kubelet refused the pod for a reason of its own.",
        "Read the message: it names the check that failed. Delete the pod so that it is placed anew.",
    )
};

pub(super) fn rejected(case: &Case<'_>, reason: &str) -> Verdict {
    rejected_as(case, &[reason])
}

/// The same check under several names: those of today's plugin and of the predicate of old.
pub(super) fn rejected_as(case: &Case<'_>, reasons: &[&str]) -> Verdict {
    let pod = case.pod;
    if !(pod.phase == Phase::Failed || is_blocked(pod)) || !reasons.contains(&pod.reason.as_str()) {
        return Verdict::No;
    }
    tell(case)
}

/// Before Kubernetes 1.25 the kubelet left a pod Pending that it could not run for what its node lacks (AppArmor).
fn is_blocked(pod: &PodFacts) -> bool {
    let is_blocked = |c: &Container| c.waiting().is_some_and(|(reason, _)| reason == "Blocked");
    pod.phase == Phase::Pending && pod.containers.iter().any(is_blocked)
}

/// `OutOf` of anything but the four amounts that every node has: a device or another extended resource.
pub(super) fn out_of_other(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let is_mine = pod.phase == Phase::Failed
        && pod
            .reason
            .strip_prefix("OutOf")
            .is_some_and(|what| !matches!(what, "" | "cpu" | "memory" | "pods" | "ephemeral-storage"));
    if is_mine { tell(case) } else { Verdict::No }
}

/// Refused for the node's own pressure: the reason is Evicted, though the pod never ran.
pub(super) fn node_pressure(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let is_mine =
        pod.phase == Phase::Failed && pod.reason == "Evicted" && text::has(&pod.message, &["the node had condition"]);
    if is_mine { tell(case) } else { Verdict::No }
}

fn any(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let is_other = !matches!(pod.reason.as_str(), "" | "NodeShutdown");
    let is_rejected = pod.phase == Phase::Failed && pod.message.starts_with(PREFIX) || is_blocked(pod);
    if is_other && is_rejected { tell(case) } else { Verdict::No }
}

const PREFIX: &str = "Pod was rejected: ";

fn tell(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let message = pod.message.strip_prefix(PREFIX).or(pod.message.strip_prefix("Pod The ").map(|_| &pod.message[4..]));
    let message = message.unwrap_or(&pod.message).trim();
    let node = case.its_node();
    let what = match message {
        "" => pod.reason.clone(),
        _ => shortage(case.language(), message).unwrap_or_else(|| message.to_owned()),
    };
    let finding =
        super::pod_end_evidence(case, Finding::of_pod(say!(case, "{node} refused the pod: {what}", node, what)))
            .with_all(case.events.iter().rev().find(|e| *e.reason == *pod.reason).map(evidence::event));
    super::judged(case, finding)
}

/// `Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000` in the units that people use, and
/// the same without `used` of what is more than the whole node.
pub(super) fn shortage(language: Language, message: &str) -> Option<String> {
    let rest = message.split_once("Node didn't have enough ")?.1;
    let mut parts = rest.split(", ").filter_map(|part| part.rsplit_once(": "));
    let (_, what) = parts.next()?;
    let amounts: Vec<i64> = parts.filter_map(|(_, n)| n.trim_end_matches('.').parse().ok()).collect();
    let show = |amount: i64| match what {
        "cpu" => crate::facts::format_cpu(amount),
        "memory" | "ephemeral-storage" => crate::facts::format_bytes(amount),
        _ => amount.to_string(),
    };
    let (requested, room) = match *amounts.as_slice() {
        [requested, used, capacity] => (
            requested,
            say!(
                language,
                "{used} of {capacity} is free there",
                used = show(capacity.saturating_sub(used)),
                capacity = show(capacity)
            ),
        ),
        [requested, capacity] => {
            (requested, say!(language, "the whole node has {capacity}", capacity = show(capacity)))
        }
        _ => return None,
    };
    Some(say!(
        language,
        "not enough {what}: it asks for {requested}, and {room}",
        what,
        requested = show(requested),
        room
    ))
}

/// What would otherwise be refused again.
fn what_to_change(case: &Case<'_>) -> Option<String> {
    let (target, node) =
        (target::of(case).display(), case.pod.node_name.as_deref().unwrap_or(phrase!(case, "the node")));
    Some(match if is_blocked(case.pod) { "AppArmor" } else { case.pod.reason.as_str() } {
        "SysctlForbidden" => say!(
            case,
            "Remove the sysctl from securityContext.sysctls in {target}, or let the kubelet of {node} allow it (allowedUnsafeSysctls).",
            target,
            node
        ),
        "AppArmor" => say!(
            case,
            "Load the profile on {node}, and have AppArmor enabled there; or set another appArmorProfile in {target}.",
            node,
            target
        ),
        "NodeAffinity" | "MatchNodeSelector" => {
            say!(
                case,
                "Give {node} the labels that {target} asks for, or let the scheduler choose the node (no spec.nodeName).",
                node,
                target
            )
        }
        "TaintToleration" => {
            say!(
                case,
                "Let {target} tolerate the taints of {node}, or let the scheduler choose the node (no spec.nodeName).",
                target,
                node
            )
        }
        "NodePorts" => {
            say!(
                case,
                "Another pod on {node} has its host port: choose another in {target}, or do without hostPort.",
                node,
                target
            )
        }
        "UnexpectedAdmissionError" => {
            say!(case, "See that the device plugin on {node} runs and that its devices are well and free.", node)
        }
        "TopologyAffinityError" | "SMTAlignmentError" => say!(
            case,
            "Ask in {target} for CPUs and devices that one NUMA node (whole cores) of {node} has, or relax its kubelet's policy.",
            target,
            node
        ),
        "PodOSNotSupported" | "PodOSSelectorNodeLabelDoesNotMatch" => {
            say!(
                case,
                "Let {target} select nodes of its own system: nodeSelector kubernetes.io/os as in spec.os.name.",
                target
            )
        }
        _ => return None,
    })
}

fn remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let pod = case.pod;
    let mut remedies: Vec<_> = what_to_change(case).map(remedy::fix).into_iter().collect();
    let own_node = pod.node_selector.get("kubernetes.io/hostname").is_some();
    if pod.reason.starts_with("OutOf") {
        let target = target::of(case);
        remedies.push(remedy::fix(say!(
            case,
            "Lower the request in {target}, or let the scheduler choose the node (no spec.nodeName{selector}).",
            target = target.display(),
            selector = if own_node { phrase!(case, ", no hostname selector") } else { "" }
        )));
    }
    remedies.extend(left_over::rest(case));
    remedies.push(left_over::records(case));
    if let Some(node) = &pod.node_name {
        remedies.push(remedy::command(
            remedy::fix(say!(case, "See what {node} offers and what it is taken by.", node)),
            format!("kubectl describe node {node}"),
        ));
    }
    remedies
}
