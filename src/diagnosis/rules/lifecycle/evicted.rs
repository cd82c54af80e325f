//! Pods that the kubelet evicted, told apart by its message.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::{left_over, rule};
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Case, Explain, Finding, Rule, Specificity, Verdict, evidence, remedy, roots, target, text};
use crate::facts::{Phase, VolumeSource, format_bytes};

const SOURCE: &str = "kubernetes pkg/kubelet/eviction/helpers.go evictionMessage; eviction_manager.go";

/// What the message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    EmptyDirLimit,
    PodEphemeralLimit,
    ContainerEphemeralLimit,
    NodePressure,
    /// Refused by a node under pressure, before anything ran: the admission rows own it.
    Admission,
    Other,
}

fn kind(message: &str) -> Kind {
    let says = |words: &str| text::has(message, &[words]);
    if says("usage of emptydir volume") {
        Kind::EmptyDirLimit
    } else if says("pod ephemeral local storage usage exceeds") {
        Kind::PodEphemeralLimit
    } else if says("exceeded its local ephemeral storage limit") {
        Kind::ContainerEphemeralLimit
    } else if says("the node was low on resource") || says("the node was low on compute resources") {
        Kind::NodePressure
    } else if says("the node had condition") {
        Kind::Admission
    } else {
        Kind::Other
    }
}

pub(super) const EMPTY_DIR_LIMIT: Rule = rule(
    "EvictedEmptyDirLimit",
    Specificity::Specific,
    |case| evicted(case, Kind::EmptyDirLimit),
    empty_dir_remedies,
    Explain {
        meaning: "The pod was evicted because one of its emptyDir volumes grew over its own sizeLimit.",
        told_apart: "The message names the volume and its limit. The node is not short of anything, and there is no \
                     DisruptionTarget condition.",
        action: "Raise the sizeLimit, write less there (logs, caches), or use a PersistentVolumeClaim.",
        source: SOURCE,
    },
);

pub(super) const POD_EPHEMERAL_LIMIT: Rule = rule(
    "EvictedPodEphemeralLimit",
    Specificity::Specific,
    |case| evicted(case, Kind::PodEphemeralLimit),
    ephemeral_remedies,
    Explain {
        meaning: "The pod was evicted because its containers and volumes together used more local storage than their limits \
                  allow.",
        told_apart: "The message speaks of the total limit of containers. It is the pod's own limit, not the node's disk.",
        action: "Raise limits.ephemeral-storage, or write less to the container's file system, logs and emptyDirs.",
        source: SOURCE,
    },
);

pub(super) const CONTAINER_EPHEMERAL_LIMIT: Rule = rule(
    "EvictedContainerEphemeralLimit",
    Specificity::Specific,
    |case| evicted(case, Kind::ContainerEphemeralLimit),
    ephemeral_remedies,
    Explain {
        meaning: "The pod was evicted because one container used more local storage than its limit allows.",
        told_apart: "The message names the container and its limit. It is its own limit, not the node's disk.",
        action: "Raise its limits.ephemeral-storage, or write less to its file system and logs.",
        source: SOURCE,
    },
);

pub(super) const NODE_PRESSURE: Rule = rule(
    "EvictedNodePressure",
    Specificity::Specific,
    |case| evicted(case, Kind::NodePressure).rooted(roots::node(case)),
    pressure_remedies,
    Explain {
        meaning: "The node ran short of memory, disk, inodes or process ids, and the kubelet evicted this pod to save itself.",
        told_apart: "The message says `The node was low on resource` and names the resource. An eviction for the pod's own limit \
                     names that limit instead; a drain deletes the pod and leaves no such message.",
        action: "Set requests near what the pod really uses, so that the scheduler leaves room. Find what fills the node.",
        source: SOURCE,
    },
);

pub(super) const EVICTED: Rule = rule(
    "Evicted",
    Specificity::Umbrella,
    |case| evicted(case, Kind::Other),
    pressure_remedies,
    Explain {
        meaning: "The pod was evicted: by the kubelet for a reason that is none of the known kinds, or from outside by a \
                  disruption that is none of them.",
        told_apart: "The pod's reason is Evicted, or its condition DisruptionTarget is True. Where the message names a limit or a resource, the cause is one of the \
                     Evicted... kinds.",
        action: "Read the pod's message and the node's conditions.",
        source: SOURCE,
    },
);

static CONTAINER: LazyLock<Option<Regex>> =
    // The second wording is that of Kubernetes before 1.25, the third began with a small letter before 1.15.
    LazyLock::new(|| {
        let used = r"was using (\S+), (?:request is|which exceeds its request of) ([^,\s]+?)(?:,|\.?\s|\.?$)";
        Regex::new(&format!(r"[Cc]ontainer (\S+) (?:{used}|exceeded its local)")).ok()
    });
static RESOURCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)low on resource: \[?([a-z0-9./-]*[a-z0-9])").ok());
static QUOTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"volume "([^"]*)" exceeds the limit "([^"]*)""#).ok());

fn evicted(case: &Case<'_>, wanted: Kind) -> Verdict {
    let pod = case.pod;
    if wanted == Kind::Other
        && let Some(by) = super::disrupted::was_disrupted(case)
    {
        if let Err(not_yet) = super::disrupted::is_not_replaced(case, by.last_transition) {
            return not_yet;
        }
        let why = if by.message.is_empty() { &by.reason } else { &by.message };
        let finding = Finding::of_pod(say!(case, "was ended from outside, not by a fault of its own: {why}", why));
        return super::judged(case, finding.with(evidence::condition(by)));
    }
    if pod.phase != Phase::Failed || pod.reason != "Evicted" || kind(&pod.message) != wanted {
        return Verdict::No;
    }
    let message = &pod.message;
    let group = |regex: &'static LazyLock<Option<Regex>>, n: usize| -> Option<&str> {
        regex.as_ref()?.captures(message)?.get(n).map(|m| m.as_str())
    };
    // Several containers may be named; then none of them alone is to blame.
    let named = CONTAINER.as_ref().map_or(0, |regex| regex.captures_iter(message).count());
    let container = group(&CONTAINER, 1).filter(|_| named == 1).and_then(|name| pod.container(name));
    let node = case.its_node();
    let summary = match wanted {
        Kind::EmptyDirLimit => match (group(&QUOTED, 1), group(&QUOTED, 2)) {
            (Some(volume), Some(limit)) => {
                say!(case, "evicted: emptyDir volume {volume} grew over its sizeLimit of {limit}", volume, limit)
            }
            _ => phrase!(case, "evicted: an emptyDir volume grew over its sizeLimit").to_owned(),
        },
        Kind::PodEphemeralLimit => {
            phrase!(case, "evicted: the pod's local storage grew over the sum of its containers' limits").to_owned()
        }
        Kind::ContainerEphemeralLimit => {
            let limit = container.and_then(|c| c.limits.ephemeral_storage).map(format_bytes);
            let limit = limit.map_or_else(String::new, |limit| say!(case, " of {limit}", limit));
            let name = container.map_or(phrase!(case, "a container"), |c| &c.name);
            say!(case, "evicted: {name} used more than its ephemeral-storage limit{limit}", name, limit)
        }
        Kind::NodePressure => {
            let resource = match group(&RESOURCE, 1).unwrap_or(phrase!(case, "a resource")) {
                "MemoryPressure" => "memory",
                "DiskPressure" => "disk",
                "PIDPressure" => phrase!(case, "process ids"),
                other => other,
            };
            match (container, group(&CONTAINER, 2), group(&CONTAINER, 3)) {
                (Some(c), Some(used), Some(request)) => {
                    say!(
                        case,
                        "evicted: {node} ran low on {resource}; {name} was using {used} with a request of {request}",
                        node,
                        resource,
                        name = c.name,
                        used,
                        request
                    )
                }
                _ => say!(case, "evicted: {node} ran low on {resource}", node, resource),
            }
        }
        Kind::Admission | Kind::Other if message.trim().is_empty() => {
            say!(case, "evicted from {node}, and its message does not say why", node)
        }
        Kind::Admission | Kind::Other => say!(case, "evicted from {node}: {message}", node, message),
    };
    let finding = match container {
        Some(container) => Finding::of_container(container, summary),
        None => Finding::of_pod(summary),
    };
    let finding =
        super::pod_end_evidence(case, finding).with_all(case.events_with("Evicted").next_back().map(evidence::event));
    super::judged(case, finding)
}

fn empty_dir_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let name = QUOTED.as_ref().and_then(|regex| regex.captures(&case.pod.message)).and_then(|found| found.get(1));
    let volume = name.and_then(|name| case.pod.volumes.iter().find(|v| v.name == name.as_str()));
    let target = target::of(case);
    let mut remedies = Vec::new();
    if let Some(volume) = volume
        && let VolumeSource::EmptyDir { size_limit: Some(limit), .. } = volume.source
    {
        let raised = format_bytes(limit.saturating_mul(2));
        remedies.push(target.with_pod_patch(
            remedy::fix(say!(
                case,
                "Raise the sizeLimit of volume {volume} (now {limit}).",
                volume = volume.name,
                limit = format_bytes(limit)
            )),
            &format!("volumes:\n- name: {}\n  emptyDir:\n    sizeLimit: {raised}\n", volume.name),
        ));
    }
    remedies.push(remedy::fix(phrase!(
        case,
        "Write less there (rotate logs, bound caches), or use a PersistentVolumeClaim."
    )));
    remedies.push(left_over::records(case));
    remedies
}

fn ephemeral_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    let container = super::blamed(case, finding).or_else(|| case.pod.containers.first());
    let mut remedies = Vec::new();
    if let Some(container) = container
        && let Some(limit) = container.limits.ephemeral_storage
    {
        let raised = format_bytes(limit.saturating_mul(2));
        remedies.push(target.with_container_patch(
            remedy::fix(say!(
                case,
                "Raise limits.ephemeral-storage of {container} (now {limit}).",
                container = container.name,
                limit = format_bytes(limit)
            )),
            Some(container),
            &format!("resources:\n  limits:\n    ephemeral-storage: {raised}\n"),
        ));
    }
    remedies.push(remedy::fix(phrase!(
        case,
        "Write less to the container's file system and log, or put the data on a volume."
    )));
    remedies.push(left_over::records(case));
    remedies
}

fn pressure_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    if case.pod.reason.is_empty() {
        return vec![left_over::records(case)];
    }
    let mut remedies = vec![remedy::fix(phrase!(
        case,
        "Set requests near what the containers really use, so that nodes are not overcommitted and this pod is not the first to go."
    ))];
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::command(
            remedy::fix(say!(case, "Find what fills {node}, and free it or give the node more.", node)),
            format!("kubectl describe node {node}"),
        ));
    }
    remedies.push(left_over::records(case));
    remedies
}
