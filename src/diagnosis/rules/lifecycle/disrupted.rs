//! Pods that something else than the kubelet ended, told apart by their condition DisruptionTarget, and for how long
//! the replacement of what was ended on purpose is no failure.

use super::left_over;
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::rules::signature;
use crate::diagnosis::signals::termination::end;
use crate::diagnosis::{Case, Explain, Finding, Rule, Specificity, Verdict, evidence, remedy, roots};
use crate::facts::{Phase, Timestamp};

/// A controller gets so many seconds to have what it wants again, before the end of one of its pods is told.
const REPLACED_WITHIN: i64 = 300;

const TOLD_APART: &str = "The pod is Failed without a reason, its condition DisruptionTarget is True with this reason, and nobody \
                          deletes it. A pod that is being deleted, or was replaced, is no failure. With the condition True in a \
                          pod that runs on, the deletion never came, and it means nothing.";

pub(super) const BY_SCHEDULER: Rule = super::rule(
    "PreemptedByScheduler",
    Specificity::Specific,
    |case| {
        disrupted(case, "PreemptionByScheduler", phrase!(case, "was ended to make room for a pod of higher priority"))
    },
    preemption_remedies,
    Explain {
        meaning: "The scheduler ended the pod so that one of higher priority finds room.",
        told_apart: TOLD_APART,
        action: "Add nodes, or give the pod a priority that fits its weight. A PodDisruptionBudget only asks the scheduler to \
                 choose others.",
        source: "kubernetes pkg/scheduler/framework/preemption",
    },
);

pub(super) const BY_TAINT: Rule = super::rule(
    "TaintEviction",
    Specificity::Specific,
    |case| {
        disrupted(case, "DeletionByTaintManager", phrase!(case, "was ended because its node has a NoExecute taint"))
            .rooted(roots::node(case))
    },
    node_remedies,
    Explain {
        meaning: "The pod's node got a NoExecute taint that the pod does not tolerate, or not for so long.",
        told_apart: TOLD_APART,
        action: "Look at the node: its taints say whether it was not ready, unreachable, or taken out by hand.",
        source: "kubernetes pkg/controller/tainteviction",
    },
);

pub(super) const BY_DEVICE_TAINT: Rule = super::rule(
    "DeviceTaintEviction",
    Specificity::Specific,
    |case| {
        disrupted(
            case,
            "DeletionByDeviceTaintManager",
            phrase!(case, "was ended because a device that it uses has a NoExecute taint"),
        )
    },
    |case, _| {
        vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "See which device of its ResourceClaim was tainted, and why: its driver does so when it is not well."
                )),
                "kubectl get resourceslices,devicetaintrules",
            ),
            left_over::records(case),
        ]
    },
    Explain {
        meaning: "A device that was allocated to the pod got a NoExecute taint that the pod's claim does not tolerate.",
        told_apart: TOLD_APART,
        action: "Look at the device's driver on the node and at the DeviceTaintRules; the claim gets another device with a new pod.",
        source: "kubernetes pkg/controller/devicetainteviction",
    },
);

pub(super) const BY_API: Rule = super::rule(
    "ApiEviction",
    Specificity::Specific,
    |case| {
        disrupted(
            case,
            "EvictionByEvictionAPI",
            phrase!(case, "was evicted through the API, as a drain or an autoscaler does"),
        )
    },
    |case, _| vec![left_over::records(case)],
    Explain {
        meaning: "Somebody evicted the pod: a drain, a cluster autoscaler, a descheduler. Nothing is wrong with the pod itself.",
        told_apart: TOLD_APART,
        action: "Nothing, where a controller makes a new pod. A bare pod is gone for good: apply it anew.",
        source: "kubernetes pkg/registry/core/pod/storage/eviction.go",
    },
);

pub(super) const BY_GARBAGE_COLLECTOR: Rule = super::rule(
    "PodGcOrphan",
    Specificity::Umbrella,
    |case| {
        disrupted(case, "DeletionByPodGC", phrase!(case, "was ended because its node no longer exists"))
            .rooted(roots::node(case))
    },
    |case, _| vec![left_over::records(case)],
    Explain {
        meaning: "The pod's node was removed from the cluster, so the garbage collector wrote the pod off.",
        told_apart: TOLD_APART,
        action: "Nothing, where a controller makes a new pod. A bare pod is gone for good: apply it anew.",
        source: "kubernetes pkg/controller/podgc",
    },
);

/// Whether the pod was ended from outside, and nobody deletes what is left of it: on its way out it is where it should be,
/// unless nothing will take its place.
pub(super) fn was_disrupted<'a>(case: &Case<'a>) -> Option<&'a crate::facts::Condition> {
    let pod = case.pod;
    let is_left = pod.phase == Phase::Failed && pod.reason.is_empty() && pod.deletion.is_none();
    end::disruption(case).filter(|by| is_left || is_lost_for_good(case, by))
}

/// A bare pod that others pushed out is not made again: there is no later moment to tell of it. (Who evicts one means it.)
fn is_lost_for_good(case: &Case<'_>, by: &crate::facts::Condition) -> bool {
    const PUSHED_OUT: [&str; 2] = ["PreemptionByScheduler", "DeletionByTaintManager"];
    case.pod.owner.is_none() && case.pod.deletion.is_some() && PUSHED_OUT.contains(&by.reason.as_str())
}

fn disrupted(case: &Case<'_>, reason: &str, words: &str) -> Verdict {
    let Some(by) = was_disrupted(case).filter(|by| by.reason == reason) else { return Verdict::No };
    if let Err(not_yet) = is_not_replaced(case, by.last_transition) {
        return not_yet;
    }
    let on = case.pod.node_name.as_deref().map_or_else(String::new, |node| format!(" ({node})"));
    super::judged(case, Finding::of_pod(format!("{words}{on}")).with(evidence::condition(by)))
}

/// Whether what was ended on purpose at `since` has gone without a replacement for long. A bare pod gets none, and a dump
/// tells now or never.
pub(super) fn is_not_replaced(case: &Case<'_>, since: Option<Timestamp>) -> Result<(), Verdict> {
    let patience = if case.pod.owner.is_some() { REPLACED_WITHIN } else { 0 };
    signature::has_lasted(case, case.held_since(since), patience, 1).map_err(Verdict::NotBefore)
}

fn preemption_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "Add nodes, or raise the pod's priority (now {priority}) with a priorityClassName that fits its weight.",
            priority = case.pod.priority
        )),
        left_over::records(case),
    ]
}

fn node_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let node = case.pod.node_name.as_deref().unwrap_or_default();
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "See why {node} has the taint: it was not ready, unreachable, or taken out by hand.",
                node
            )),
            format!("kubectl describe node {node}"),
        ),
        left_over::records(case),
    ]
}
