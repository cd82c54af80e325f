//! The signal `nodeLifecycle`.

use super::node_condition::short;
use super::signal;
use crate::facts::{Announcement, Condition, MACHINE_CONFIG, NodeComplaint, NodeState, Remaining, Taint, Timestamp};

/// Reason of the Event with which Karpenter announces that it removes a node.
const DISRUPTION: &str = "DisruptionTerminating";

signal! {
    /// A node that leaves service on purpose: it is cordoned, drained, updated or removed, or the cloud provider is about to stop its
    /// machine. None of these is a failure. Also a node that a controller has not taken into service yet. One occurrence for each
    /// taint and Event that announces it; where none does, one for the cordon. An Event counts for 15 minutes.
    /// Source: Node spec.unschedulable, spec.taints, metadata.annotations; Events regarding the Node.
    pub(crate) struct NodeLifecycle<'a> as "nodeLifecycle" {
        node: &'a NodeState,
        taint: Option<&'a Taint>,
        event: Option<&'a NodeComplaint>,
    }
    reason: |of| of.event.map_or("", |event| &event.reason), message: of.event.map_or("", |event| &event.message);

    /// What it announces: `interruption` (the cloud provider is about to stop the machine), `removal` (an autoscaler removes the
    /// node), `notInitialized` (no pod may start there yet); empty for an Event and for a cordon.
    /// Source: key of a taint in spec.taints.
    "announces": fn announces(&self) -> &'static str {
        match self.taint.and_then(Taint::announcement) {
            Some(Announcement::Interruption) => "interruption",
            Some(Announcement::Removal) => "removal",
            Some(Announcement::NotInitialized) => "notInitialized",
            None => "",
        }
    }

    /// Key of the taint, such as `karpenter.sh/disrupted`. Source: spec.taints.
    "taint": fn taint_key(&self) -> &str { self.taint.map_or("", |taint| &taint.key) }

    /// The message of the Event, at most 120 characters. Source: Event message.
    "message": fn message(&self) -> String { self.event.map(|event| short(&event.message)).unwrap_or_default() }

    /// Why an autoscaler removes the node, such as `Underutilized` or `Drifted`; empty if it gives no reason.
    /// Source: Karpenter pkg/controllers/disruption/events, `Disrupting Node: Underutilized`.
    "removalReason": fn removal_reason(&self) -> String {
        let complaints = &self.node.complaints;
        let event = complaints.iter().filter(|event| &*event.reason == DISRUPTION).max_by_key(|event| event.last);
        let why = event.and_then(|event| event.message.split_once(": ")).map(|(_, why)| short(why));
        why.unwrap_or_default()
    }

    /// Whether the node is cordoned. Source: spec.unschedulable.
    "isCordoned": fn is_cordoned(&self) -> bool { self.node.facts.unschedulable }

    /// Whether OpenShift's machine-config-daemon applies a new configuration to the node.
    /// Source: Node metadata.annotations[machineconfiguration.openshift.io/state], `Working`.
    "isUpdating": fn is_updating(&self) -> bool { is_updating(self.node) }

    /// The client that cordoned the node, such as `kubectl`; empty if it is not known: `kubectl get` omits it by default.
    /// Source: manager of spec.unschedulable in metadata.managedFields.
    "cordonedBy": fn cordoned_by(&self) -> &str { self.node.facts.cordon.as_ref().map_or("", |cordon| &cordon.by) }

    /// Since when, such as `2026-11-21 09:12 UTC`; empty if it is not known. Source: time of the taint, of the Event, or of
    /// spec.unschedulable in metadata.managedFields.
    "since": fn since_text(&self) -> String {
        self.since().map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string()).unwrap_or_default()
    }

    /// Number of unfinished pods that a drain evicts: those that are not of a DaemonSet or of a manifest on the node.
    /// Source: pods with this spec.nodeName.
    "pods": fn pods(&self) -> Option<i64> {
        self.node.remaining.as_deref().filter(|_| self.node.all_pods_known).map(|of| of.pods.into())
    }

    /// Of these, the pods that are being deleted, as during a drain. Source: metadata.deletionTimestamp of these pods.
    "endingPods": fn ending_pods(&self) -> i64 { self.remaining(|of| of.ending.into()) }

    /// Namespace and name of a PodDisruptionBudget that allows no eviction of a pod on the node; empty if there is none, or if
    /// the operator reads none (`--network`). Source: status.disruptionsAllowed of PodDisruptionBudgets.
    "budget": fn budget(&self) -> String { self.remaining(|of| of.budget.clone()) }

    /// Namespace and name of this pod. Source: metadata of the pod.
    "blockedPod": fn blocked_pod(&self) -> String { self.remaining(|of| of.blocked.clone()) }
}

impl<'a> NodeLifecycle<'a> {
    /// All occurrences on a node. `counts`: whether an Event announces something, and is recent.
    pub(crate) fn all(node: &'a NodeState, counts: impl Fn(&NodeComplaint) -> bool) -> Vec<Self> {
        let taints = node.facts.taints.iter().filter(|taint| taint.announcement().is_some());
        let of_taints = taints.map(|taint| Self { node, taint: Some(taint), event: None });
        let events = node.complaints.iter().filter(|event| counts(event));
        let of_events = events.map(|event| Self { node, taint: None, event: Some(event) });
        let mut all: Vec<_> = of_taints.chain(of_events).collect();
        if all.is_empty() && (node.facts.unschedulable || is_updating(node)) {
            all.push(Self { node, taint: None, event: None });
        }
        all
    }

    /// Since when it holds.
    pub(crate) fn since(&self) -> Option<Timestamp> {
        let created = || self.node.facts.created.filter(|_| self.announces() == "notInitialized");
        match (self.taint, self.event) {
            (Some(taint), _) => taint.since().or_else(created),
            (None, Some(event)) => Some(event.last),
            (None, None) => self.node.facts.cordoned_at(),
        }
    }

    fn remaining<T: Default>(&self, read: impl Fn(&Remaining) -> T) -> T {
        self.node.remaining.as_deref().map(read).unwrap_or_default()
    }
}

fn is_updating(node: &NodeState) -> bool {
    let is_working = |condition: &Condition| condition.status == "Working";
    node.facts.condition(MACHINE_CONFIG).is_some_and(is_working)
}
