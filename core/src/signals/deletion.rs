//! The signal `deletion`.

use super::termination::end;
use super::{Matched, PodSignal, Source, node_ready, post_start, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, EventFacts, Phase, State, Timestamp, after};
use crate::message::Message;

/// Grace period in seconds for a pod of a snapshot whose containers have terminated: its kubelet may still release it.
const RELEASED_WITHIN: i64 = 30;
/// Finalizer of pods of Jobs, with which the Job controller counts them.
const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Reasons of the Events of a kubelet that cannot stop a pod.
const UNKILLED: [&str; 2] = ["FailedKillPod", "ExceededGracePeriod"];

signal! {
    /// A pod with a deletion time that still exists. Source: metadata.deletionTimestamp.
    pub(crate) struct Deletion<'a> as "deletion" { case: &'a Case<'a>, deleted_at: Timestamp, held_by: &'static str }
    reason: |of| of.event().map_or("", |event| &event.reason), message: of.event().map_or("", |event| &event.message);

    /// What keeps the pod: `finalizer` where nothing runs any more, `node` where its node is not ready or gone, else
    /// `kubelet`. Source: metadata.finalizers, containerStatuses[].state; condition Ready of the Node.
    "heldBy": fn held_by(&self) -> &'static str { self.held_by }

    /// The finalizers of the pod. Source: metadata.finalizers.
    "finalizers": fn finalizers(&self) -> Vec<String> { self.case.pod.finalizers.clone() }

    /// The controller of Kubernetes that removes all of them; empty if one of them belongs to another.
    /// Source: metadata.finalizers.
    "finalizerOwner": fn finalizer_owner(&self) -> &'static str {
        let mut owners = self.case.pod.finalizers.iter().map(|name| match name.as_str() {
            JOB_TRACKING => "Job controller",
            "foregroundDeletion" | "orphan" => "garbage collector",
            _ => "",
        });
        let first = owners.next().unwrap_or_default();
        if owners.all(|other| other == first) { first } else { "" }
    }

    /// Whether the Node of the pod is known. Source: Node.
    "nodeIsKnown": fn node_is_known(&self) -> bool { self.case.node.is_some() }

    /// Whether the Node of the pod no longer exists, while others are known. Source: spec.nodeName; Node.
    "nodeIsGone": fn node_is_gone(&self) -> bool { is_node_gone(self.case) }

    /// Reason of the last Event about a pod that cannot be ended: FailedKillPod, ExceededGracePeriod or FailedPreStopHook;
    /// empty if there is none. Source: Events.
    "event": fn event_reason(&self) -> &str { self.event().map_or("", |event| &event.reason) }

    /// Its message, at most 130 characters. Source: Events.
    "eventMessage": fn event_message(&self) -> String {
        self.event().map(|event| Message::parse(&event.message).summary(130, &[])).unwrap_or_default()
    }

    /// The container whose postStart hook seems not to end, so that the kubelet does not get to stop the pod; empty if
    /// there is none. Source: containerStatuses[].state.waiting; spec.containers[].lifecycle.postStart.
    "hookContainer": fn hook_container(&self) -> &str {
        let containers = self.case.pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral);
        containers.into_iter().find(|c| post_start::is_holding(self.case, c)).map_or("", |c| &c.name)
    }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Deletion::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for Deletion<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let (case, pod) = (self.case, self.case.pod);
        let is_chosen = case.thresholds.chosen(cause.name).is_some();
        let due = after(self.deleted_at, case.thresholds.of(cause.name, self.grace(cause)));
        let is_known_lost = pod.reason == "NodeLost" && !is_chosen;
        if case.now < due && !is_known_lost { Err(due) } else { Ok(()) }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (case, pod) = (self.case, self.case.pod);
        let node = pod.node_name.as_deref().unwrap_or_default();
        let mut all = Vec::new();
        match self.held_by {
            "finalizer" => all.push(evidence::field("metadata.finalizers", pod.finalizers.join(", "))),
            "node" if self.node_is_gone() => all.push(evidence::field("spec.nodeName", node)),
            "node" => {
                let ready = case.node.and_then(|n| n.facts.condition("Ready"));
                all.extend(ready.map(|c| evidence::node_condition(node, c)));
                all.extend((pod.reason == "NodeLost").then(|| evidence::field("status.reason", &pod.reason)));
            }
            _ => all.extend(self.event().map(evidence::event)),
        }
        all.push(evidence::field("metadata.deletionTimestamp", self.deleted_at.to_string()));
        all.extend(end::disruption(case).map(evidence::condition));
        all
    }

    /// Suppresses the pod's own Event if the Event of its down node covers it.
    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        let case = self.case;
        let is_covered = self.held_by == "node"
            && case.node.is_some_and(|node| node_ready::is_down(node, case.catalogue, case.thresholds, case.now));
        Verdict::Yes(Box::new(if is_covered { finding.quiet() } else { finding }))
    }
}

impl<'a> Deletion<'a> {
    /// Seconds past the deletion time before the pod counts as stuck: the threshold of the cause, as the kubelet still
    /// has to unmount volumes and to send a status. A snapshot cannot show progress after the deletion, so there a node
    /// that is down, or the kubelet's own Event, is enough.
    fn grace(&self, cause: &Matched) -> i64 {
        let (case, pod) = (self.case, self.case.pod);
        let is_stuck = || self.held_by == "node" || case.events.iter().any(|event| UNKILLED.contains(&&*event.reason));
        let is_others = || self.held_by == "finalizer" && pod.finalizers.iter().any(|name| name != JOB_TRACKING);
        if !case.thresholds.patient && is_stuck() {
            0
        } else if !case.thresholds.patient && is_others() {
            // Only the owner of the finalizer has work left. The Job controller soon removes its own finalizer.
            if pod.released { 0 } else { RELEASED_WITHIN }
        } else {
            cause.threshold
        }
    }

    fn event(&self) -> Option<&'a EventFacts> {
        let is_about = |e: &&EventFacts| UNKILLED.contains(&&*e.reason) || &*e.reason == "FailedPreStopHook";
        self.case.events.iter().rev().find(is_about)
    }
}

fn is_node_gone(case: &Case<'_>) -> bool {
    case.pod.node_name.is_some() && case.node.is_none() && !case.nodes.is_empty()
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    let deletion = pod.deletion?;
    let is_reported = |c: &&Container| c.kind != ContainerType::Ephemeral && c.reported;
    let all_ended = || pod.containers.iter().filter(is_reported).all(|c| matches!(c.state, State::Terminated(_)));
    let is_ready = case.node.map(|node| node.facts.is_ready());
    // The Node may not be known, although the pod's status shows that its kubelet has stopped reporting.
    let is_lost = is_ready.is_none() && (pod.reason == "NodeLost" || pod.phase == Phase::Unknown);
    let held_by = if !pod.finalizers.is_empty() && (all_ended() || pod.node_name.is_none() || pod.is_over()) {
        "finalizer"
    } else if is_ready == Some(false) || is_node_gone(case) || is_lost {
        "node"
    } else {
        "kubelet"
    };
    Some(Box::new(Deletion { case, deleted_at: deletion, held_by }))
}
