//! The signal `scheduling`.

mod analysis;
mod evidence;
mod gap;
mod labels;
mod nodes;
mod others;
mod parts;
pub(super) mod report;
mod resource;
mod room;
mod root;
mod scale_up;
#[cfg(test)]
mod tests;
pub(super) mod words;

use std::cell::OnceCell;

use self::analysis::Analysis;
use self::gap::Gap;
use self::nodes::NodeView;
pub use self::nodes::Placement;
use self::parts::{depends_on_other_pods, host_ports, only_claim};
use self::report::Report;
use self::room::Room;
use self::words::{Check, Reason, names};
use super::{Matched, PodSignal, Source, claim, signal};
use crate::api::{Confidence, Evidence};
use crate::case::{Case, Finding, Verdict, target};
use crate::facts::{Taint, Timestamp, after};
use crate::message;
use crate::message::text;

/// The state of the scheduling of a pod.
#[derive(Debug)]
pub(crate) enum State<'a> {
    /// No node passes the scheduler's checks.
    Unschedulable { report: Report<'a>, analysis: Box<Analysis<'a>> },
    /// The scheduler has preempted pods of lower priority on a node.
    Preempting(Report<'a>),
    /// An operation of the scheduler itself failed.
    Error(Report<'a>),
    /// No scheduler has reported on the pod.
    Silent,
}

signal! {
    /// A pod that waits for a node: what the scheduler reports, and what the nodes and the pod show. The reason is the check to
    /// blame, such as `cpu` or `taint`: the one whose change would let the pod run with the least effort. Beside those,
    /// it is `preemption`, `schedulerError`, or `silence` where no scheduler has reported on the pod. The message is the scheduler's.
    /// Source: condition PodScheduled, Event FailedScheduling; kubernetes pkg/scheduler/framework FitError.
    pub(crate) struct Scheduling<'a> as "scheduling" {
        case: &'a Case<'a>,
        state: State<'a>,
        room: OnceCell<Option<Box<Room>>>,
        gap: OnceCell<Option<Box<Gap>>>,
        blamed: OnceCell<Option<(usize, &'a Taint)>>,
        scale_up: OnceCell<Option<scale_up::ScaleUp<'a>>>,
    }
    reason: |of| match &of.state {
        State::Unschedulable { analysis, .. } => analysis.check.as_str(),
        State::Preempting(_) => "preemption",
        State::Error(_) => "schedulerError",
        State::Silent => "silence",
    },
    message: of.report().map_or("", |report| report.message);

    /// Number of nodes that fail the check, and of all nodes, as the scheduler counts them: `2/3`. Empty if it gives no
    /// count. Source: the scheduler's message.
    "failedNodes": fn failed_nodes(&self) -> String {
        self.analysis().map_or_else(String::new, |a| a.share(a.count(a.check)))
    }

    /// Number of all nodes; not known if the scheduler gives no count. Source: `0/N nodes are available`.
    "nodeCount": fn node_count(&self) -> Option<u32> { self.analysis()?.total }

    /// The Node objects of the cluster are known.
    "nodesKnown": fn nodes_known(&self) -> bool { self.view().is_some() }

    /// The scheduler's text for the check, at most 125 characters. Source: the scheduler's message.
    "text": fn text(&self) -> String { self.analysis().map(Analysis::text).unwrap_or_default() }

    /// The scheduler's message, at most 150 characters. Source: condition PodScheduled.
    "error": fn error(&self) -> String { text::line(self.report().map_or("", |report| report.message), 150) }

    /// The resource that is short, as in `resources.requests`; empty if none is.
    "resource": fn resource(&self) -> String {
        let named = || self.analysis().and_then(|a| a.extended()).unwrap_or_default().to_owned();
        match self.check() {
            Some(Check::Cpu) => "cpu".to_owned(),
            Some(Check::Memory) => "memory".to_owned(),
            Some(Check::EphemeralStorage) => "ephemeral-storage".to_owned(),
            _ => self.of_room(|room| &room.resource).map_or_else(named, str::to_owned),
        }
    }

    /// How much of it the pod requests, as the scheduler counts it: CPUs, bytes with their unit, or a number of devices.
    /// Empty if the pod requests none. Source: resources.requests of all containers, spec.resources, spec.overhead.
    "requested": fn requested(&self) -> String {
        self.of_room(|room| &room.requested).map_or_else(|| self.requested_alone(), str::to_owned)
    }

    /// The same with the unit: `64 CPU`, `15Mi memory`, `2 nvidia.com/gpu`.
    "need": fn need(&self) -> &str { self.of_room(|room| &room.need).unwrap_or_default() }

    /// Node that comes closest to having enough of the resource; empty if the nodes do not show a shortage, or where the pod
    /// may only run on its own node. Source: Node status.allocatable less the requests of its pods.
    "closestNode": fn closest_node(&self) -> &str {
        self.of_room(|room| &room.node).filter(|_| self.required_node_name().is_none()).unwrap_or_default()
    }

    /// The same, where the pod may run on one node only, as the pods of a DaemonSet do.
    /// Source: node affinity on metadata.name.
    "ownNode": fn own_node(&self) -> &str {
        self.of_room(|room| &room.node).filter(|_| self.required_node_name().is_some()).unwrap_or_default()
    }

    /// The closest node, its own or another.
    "shortNode": fn short_node(&self) -> &str { self.of_room(|room| &room.node).unwrap_or_default() }

    /// How much of the resource the closest node has unreserved; empty if not all of its pods are known.
    "free": fn free(&self) -> &str { self.of_room(|room| &room.free).unwrap_or_default() }

    /// How much the closest node may have unreserved at most, where not all of its pods are known; else empty.
    "freeAtMost": fn free_at_most(&self) -> &str { self.of_room(|room| &room.free_at_most).unwrap_or_default() }

    /// How much the closest node has in all. Source: Node status.allocatable.
    "allocatable": fn allocatable(&self) -> &str { self.of_room(|room| &room.allocatable).unwrap_or_default() }

    /// How much the closest node lacks.
    "missing": fn missing(&self) -> &str { self.of_room(|room| &room.missing).unwrap_or_default() }

    /// How much of the closest node is reserved.
    "used": fn used(&self) -> &str { self.of_room(|room| &room.used).unwrap_or_default() }

    /// Other resources of which the closest node has too little.
    "alsoShortOf": fn also_short_of(&self) -> &str { self.of_room(|room| &room.also_short_of).unwrap_or_default() }

    /// Columns for kubectl: each node, and how much of the resource it has.
    "allocatableColumns": fn allocatable_columns(&self) -> String {
        format!("NODE:.metadata.name,HAS:.status.allocatable.{}", self.resource().replace('.', "\\."))
    }

    /// Whether other pods have reserved some of the resource on the closest node.
    "isReserved": fn is_reserved(&self) -> bool { self.room().is_some_and(|room| room.is_reserved) }

    /// The shortage: `ofSeveral` (several pods of the workload wait while others run), `full` (the requests of other pods are all that is
    /// in the way), `request` (a lower request may do), `notOffered` (no node has such a device), or `unknown` where the nodes do not
    /// show it.
    "shortage": fn shortage(&self) -> &'static str { self.room().map_or("unknown", |room| room.kind) }

    /// Node that the pod fits on and that only a cordon excludes. Source: Node spec.unschedulable.
    "roomyCordonedNode": fn roomy_cordoned_node(&self) -> &str { self.of_room(|room| &room.cordoned).unwrap_or_default() }

    /// Node that the pod fits on and that only taints exclude. Source: Node spec.taints.
    "roomyTaintedNode": fn roomy_tainted_node(&self) -> &str { self.of_room(|room| &room.tainted).unwrap_or_default() }

    /// The first taint of that node.
    "roomyTaint": fn roomy_taint(&self) -> &str { self.of_room(|room| &room.taint).unwrap_or_default() }

    /// Amount of the largest node, if it is less than the request. Source: Node status.allocatable.
    "largestAllocatable": fn largest_allocatable(&self) -> &str { self.of_room(|room| &room.largest).unwrap_or_default() }

    /// Some node has enough of the resource if no other pod runs there, and none with room is only closed.
    "fitsEmptyNode": fn fits_empty_node(&self) -> bool { self.room().is_some_and(|room| room.fits_when_empty) }

    /// The largest request that fits now, as a quantity; empty if none does or a node with room is only closed.
    "largestRequest": fn largest_request(&self) -> &str { self.of_room(|room| &room.largest_request).unwrap_or_default() }

    /// Node that would take the pod if no other pod ran there: it has enough of all resources.
    "emptyNode": fn empty_node(&self) -> &str { self.of_room(|room| &room.empty_node).unwrap_or_default() }

    /// Container whose lower request alone lets the pod fit. Source: resources.requests.
    "lowerContainer": fn lower_container(&self) -> &str { self.of_room(|room| &room.lower.container).unwrap_or_default() }

    /// The most that this container may request, as a quantity.
    "lowerTo": fn lower_to(&self) -> &str { self.of_room(|room| &room.lower.amount).unwrap_or_default() }

    /// The most that the pod as a whole may request of it, as a quantity; empty if it has no request of its own, or if its
    /// containers request more. Source: spec.resources.requests.
    "lowerPodTo": fn lower_pod_to(&self) -> &str { self.of_room(|room| &room.lower_pod).unwrap_or_default() }

    /// Another resource whose request has to be lower too.
    "alsoLower": fn also_lower(&self) -> &str { self.of_room(|room| &room.also_lower.resource).unwrap_or_default() }

    /// Container whose request of that other resource has to be lower.
    "alsoLowerContainer": fn also_lower_container(&self) -> &str {
        self.of_room(|room| &room.also_lower.container).unwrap_or_default()
    }

    /// The most that this container may request of the other resource.
    "alsoLowerTo": fn also_lower_to(&self) -> &str { self.of_room(|room| &room.also_lower.amount).unwrap_or_default() }

    /// Number of pods of the workload.
    "replicas": fn replicas(&self) -> u32 { self.case.surroundings.siblings.total }

    /// Number of those that are ready.
    "readyReplicas": fn ready_replicas(&self) -> u32 { self.case.surroundings.siblings.ready }

    /// Whether pods of an older template of the workload are ready: a rollout is in progress. Source: label pod-template-hash.
    "oldPodsReady": fn old_pods_ready(&self) -> bool { self.case.surroundings.siblings.other_template_ready > 0 }

    /// Whether old pods of the workload have one of the host ports, as far as older templates are known.
    /// Source: ReplicaSets of the Deployment.
    "oldPodsHavePort": fn old_pods_have_port(&self) -> bool {
        let Some(workload) = self.case.surroundings.known_workload() else { return false };
        let own = self.case.pod.owner.as_ref().map(|owner| &owner.name);
        let mut older = workload.replica_sets.iter().filter(|set| Some(&set.name) != own).filter_map(|set| set.template.as_ref());
        let requested = self.case.pod.containers.iter().flat_map(|c| &c.ports).filter_map(|port| port.host_port);
        let requested: Vec<String> = requested.map(|port| format!(" hostPort {port}")).collect();
        let has_one = |port: &String| requested.iter().any(|requested| port.ends_with(requested));
        older.any(|template| template.containers.iter().any(|c| c.ports.iter().any(has_one)))
    }

    /// Whether some replicas are ready and the workload can be scaled.
    "canScaleDown": fn can_scale_down(&self) -> bool {
        let ready = self.ready_replicas();
        ready > 0 && target::of(self.case).scale_command(ready).is_some()
    }

    /// Cordoned node that the pod fits on. Source: Node spec.unschedulable.
    "openNode": fn open_node(&self) -> &str { self.closed().next().unwrap_or_default() }

    /// A second such node.
    "secondOpenNode": fn second_open_node(&self) -> &str { self.closed().nth(1).unwrap_or_default() }

    /// Cordoned nodes that would take the pod; empty if ports, volumes or other pods may keep them from it as well.
    "openNodes": fn open_nodes(&self) -> String {
        let view = self.view().filter(|_| !depends_on_other_pods(self.case.pod));
        let open = view.into_iter().flat_map(|view| &view.nodes).filter(|n| n.cordoned && n.obstacles() == 1);
        names(open.map(NodeView::name))
    }

    /// The taint that keeps the pod away: `dedicated=db:NoSchedule`. Without an effect where only the message names it, empty
    /// where it names none. Source: Node spec.taints, else the scheduler's message.
    "taint": fn taint(&self) -> String {
        match self.decisive_taint() {
            Some((_, taint)) => taint.to_string(),
            None => self.reported_taint().and_then(|r| words::taint(r.text).or_else(|| words::taint_key(r.text).map(str::to_owned))).unwrap_or_default(),
        }
    }

    /// Key of a taint that a controller set for a node's state; empty if a person set the taint.
    /// Source: Node spec.taints: node.kubernetes.io/, node.cloudprovider.kubernetes.io/, and those of agents and autoscalers.
    "stateTaint": fn state_taint(&self) -> &str {
        let key = match self.decisive_taint() {
            Some((node, _)) => node.taints.iter().map(|taint| taint.key.as_str()).find(|key| nodes::is_state_taint(key)),
            None => self.reported_taint().and_then(|r| words::taint_key(r.text)).filter(|key| nodes::is_state_taint(key)),
        };
        key.unwrap_or_default()
    }

    /// The state for which the blamed taint was set: `NotReady`, `Unreachable`, `DiskPressure`, `AgentNotReady`,
    /// `BeingRemoved`, ...; empty for a taint that a person set.
    "nodeState": fn node_state(&self) -> &'static str {
        let key = match self.decisive_taint() {
            Some((_, taint)) => Some(taint.key.as_str()),
            None => self.reported_taint().and_then(|r| words::taint_key(r.text)),
        };
        key.filter(|key| nodes::is_state_taint(key)).map_or("", nodes::state_of)
    }

    /// The node with the blamed taint that has the least in the way of the pod.
    "taintedNode": fn tainted_node(&self) -> &str { self.decisive_taint().map_or("", |(node, _)| node.name()) }

    /// Key of the first taint of that node.
    "taintKey": fn taint_key(&self) -> &str {
        self.decisive_taint().and_then(|(node, _)| node.taints.first()).map_or("", |taint| &taint.key)
    }

    /// Whether that taint marks nodes of the control plane.
    "isControlPlaneTaint": fn is_control_plane_taint(&self) -> bool { nodes::is_control_plane_taint(self.taint_key()) }

    /// Nodes with the blamed taint.
    "taintedNodes": fn tainted_nodes(&self) -> String { self.tainted(true) }

    /// Nodes that only have other taints.
    "otherTaintedNodes": fn other_tainted_nodes(&self) -> String { self.tainted(false) }

    /// Number of nodes with the taint, and of all nodes: `1/3`. Source: the scheduler's message.
    "taintCount": fn taint_count(&self) -> String {
        self.analysis().map_or_else(String::new, |a| a.share(a.reported_taint().and_then(|r| r.nodes)))
    }

    /// Number of nodes that the scheduler turned down for other taints. Source: the scheduler's message.
    "otherTaintCount": fn other_taint_count(&self) -> u32 {
        let count = |a: &Analysis<'_>| Some(a.count(Check::Taint)?.saturating_sub(a.reported_taint()?.nodes?));
        self.analysis().and_then(count).unwrap_or(0)
    }

    /// The label requirement that no node meets: `enforced` (by the scheduler's configuration), `contradiction` (two nodes
    /// by name), `nodeName` or `hostName` (a node that does not exist), `label`, or `unknown` where the nodes do not show it.
    "selectorProblem": fn selector_problem(&self) -> &'static str {
        if self.analysis().is_some_and(Analysis::is_enforced) {
            return "enforced";
        }
        self.gap().map_or("unknown", |gap| gap.problem)
    }

    /// The correction: `spelling`, `value` (the label has another), `drop` the label, or `affinity`.
    "correction": fn correction(&self) -> &'static str { self.gap().map_or("", |gap| gap.correction) }

    /// The field that requires it: `nodeSelector` or `node affinity`. Source: spec.nodeSelector, spec.affinity.nodeAffinity.
    "selector": fn selector(&self) -> &'static str {
        if self.gap().is_none_or(|gap| gap.is_of_selector) { "nodeSelector" } else { "node affinity" }
    }

    /// Number of alternatives of the node affinity. Source: nodeSelectorTerms.
    "alternatives": fn alternatives(&self) -> i64 {
        i64::try_from(self.case.pod.node_affinity.len()).unwrap_or(i64::MAX)
    }

    /// All labels that the pod selects nodes by: `disktype=ssd, pool=db`; empty if it has no nodeSelector.
    "nodeSelector": fn node_selector(&self) -> String {
        let labels: Vec<_> = self.case.pod.node_selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
        labels.join(", ")
    }

    /// Number of requirements that the closest node does not meet.
    "unmetCount": fn unmet_count(&self) -> u32 { self.gap().map_or(0, |gap| gap.count) }

    /// The requirements that the closest node does not meet: two of them, and how many more.
    "unmet": fn unmet(&self) -> &str { self.gap().map_or("", |gap| &gap.all_requirements) }

    /// The decisive unmet requirement: that of a misspelt label, else the first.
    "wanted": fn requirement(&self) -> &str { self.gap().map_or("", |gap| &gap.requirement) }

    /// Its label key.
    "wantedKey": fn requirement_key(&self) -> &str { self.gap().map_or("", |gap| &gap.key) }

    /// Its values; names of nodes if it requires nodes by name.
    "wantedValues": fn requirement_values(&self) -> &str { self.gap().map_or("", |gap| &gap.values) }

    /// Whether it requires certain values (operator In, or the nodeSelector).
    "wantsValue": fn requires_value(&self) -> bool { self.gap().is_some_and(|gap| gap.requires_value) }

    /// Node whose labels come closest.
    "labelNode": fn label_node(&self) -> &str { self.gap().map_or("", |gap| &gap.node) }

    /// The label that would meet it, `disktype=ssd`; empty if the kubelet or the cloud provider sets that label.
    "labelToSet": fn label_to_set(&self) -> &str { self.gap().map_or("", |gap| &gap.label) }

    /// Value of the key on the closest node.
    "presentValue": fn present_value(&self) -> &str { self.gap().map_or("", |gap| &gap.has) }

    /// Labels of the closest node with another value.
    "presentLabels": fn present_labels(&self) -> Vec<String> { self.gap().map_or_else(Vec::new, |gap| gap.present.clone()) }

    /// Label keys that the closest node does not have.
    "absentLabels": fn absent_labels(&self) -> Vec<String> { self.gap().map_or_else(Vec::new, |gap| gap.absent.clone()) }

    /// Labels of the closest node that differ from the required ones by a letter or two.
    "similarLabels": fn similar_labels(&self) -> Vec<String> { self.gap().map_or_else(Vec::new, |gap| gap.similar.clone()) }

    /// Key of the first such label.
    "similarKey": fn similar_key(&self) -> &str { self.gap().map_or("", |gap| &gap.similar_key) }

    /// Value of the first such label.
    "similarValue": fn similar_value(&self) -> &str { self.gap().map_or("", |gap| &gap.similar_value) }

    /// The values that all nodes have under the key, where they differ.
    "valuesOfNodes": fn values_of_nodes(&self) -> &str { self.gap().map_or("", |gap| &gap.of_nodes) }

    /// Whether the pod is likely wrong, not the labels of the nodes: the label exists, or a cloud provider sets it.
    "isPodLikelyWrong": fn is_pod_likely_wrong(&self) -> bool { self.gap().is_some_and(|gap| gap.is_pod_likely_wrong) }

    /// Whether a DaemonSet created the pod. Source: metadata.ownerReferences.
    "ofDaemonSet": fn of_daemon_set(&self) -> bool {
        self.case.pod.owner.as_ref().is_some_and(|owner| &*owner.kind == "DaemonSet")
    }

    /// Host ports of the pod. Source: spec.containers[].ports[].hostPort.
    "hostPorts": fn host_ports(&self) -> String { host_ports(self.case.pod).join(", ") }

    /// A regular expression of the header and the host ports, for grep.
    "hostPortPattern": fn host_port_pattern(&self) -> String {
        std::iter::once("NODE".to_owned()).chain(host_ports(self.case.pod)).collect::<Vec<_>>().join("|")
    }

    /// The claims of the pod: two of them, and how many more. Source: spec.volumes[].persistentVolumeClaim, ephemeral.
    "claims": fn claims(&self) -> String { names(self.case.pod.claims()) }

    /// The first claim of the pod.
    "firstClaim": fn first_claim(&self) -> &str { self.case.pod.claims().next().unwrap_or_default() }

    /// The claim that the scheduler names; empty if it names none. Source: the scheduler's message.
    "namedClaim": fn named_claim(&self) -> &str { self.analysis().and_then(Analysis::claim).unwrap_or_default() }

    /// The PersistentVolume that no longer exists; empty if the scheduler names none.
    /// Source: the scheduler's message, `bound to non-existent persistentvolume`.
    "lostVolume": fn lost_volume(&self) -> String {
        let message = self.report().map_or("", |report| report.message);
        message::name(message::quoted_after(message, "non-existent persistentvolume ").unwrap_or_default(), 45)
    }

    /// The reasons for which the other nodes fail, in the scheduler's words, at most 80 characters; empty if there are none.
    /// Source: the scheduler's message.
    "otherReasons": fn other_reasons(&self) -> String { self.analysis().map(Analysis::other_reasons).unwrap_or_default() }

    /// Nodes of the control plane whose taint the pod does not tolerate, where other nodes are to blame.
    /// Source: Node spec.taints.
    "controlPlaneNodes": fn control_plane_nodes(&self) -> String {
        self.view().map_or_else(String::new, |view| names(view.control_plane.iter().copied()))
    }

    /// The claims without a volume, each with its StorageClass and its size; all claims where that is not known.
    "claimsWithClasses": fn claims_with_classes(&self) -> String { claim::with_classes(self.case) }

    /// The claim that asks for a volume by name. Source: PersistentVolumeClaim spec.volumeName.
    "claimOfVolume": fn claim_of_volume(&self) -> &str { claim::requested_volume(self.case).map_or("", |(claim, _)| claim) }

    /// The PersistentVolume that the claim names.
    "volumeByName": fn volume_by_name(&self) -> &str { claim::requested_volume(self.case).map_or("", |(_, volume)| volume) }

    /// The claim that causes the failure, if it is certain: the one in the message, the only one without a volume, or the only one.
    "claimToBlame": fn claim_to_blame(&self) -> &str {
        let case = self.case;
        let claim = match self.check() {
            Some(Check::PvcNotFound | Check::PvcLost | Check::PvcDeleting) => self.analysis().and_then(Analysis::claim),
            Some(Check::PvcUnbound | Check::NoMatchingPv) => claim::only_unbound(case),
            _ => None,
        };
        claim.or_else(|| only_claim(case.pod)).unwrap_or_default()
    }

    /// StorageClass of the only claim without a volume. Source: PersistentVolumeClaim spec.storageClassName.
    "storageClass": fn storage_class(&self) -> &str { claim::only_class(self.case).unwrap_or_default() }

    /// The claim that has the name of the ephemeral volume's claim and belongs to another object.
    /// Source: the scheduler's message, `was not created for pod`.
    "foreignClaim": fn foreign_claim(&self) -> String {
        let text = self.text();
        let claim = text.split_once(" was not created for pod").map(|(claim, _)| claim);
        claim.map_or_else(String::new, |claim| claim.rsplit('/').next().unwrap_or(claim).to_owned())
    }

    /// ResourceClaims of the pod, or their templates. Source: spec.resourceClaims.
    "resourceClaims": fn resource_claims(&self) -> Vec<String> { self.case.pod.resource_claims.clone() }

    /// Number of ResourceClaims of the pod.
    "resourceClaimCount": fn resource_claim_count(&self) -> i64 {
        i64::try_from(self.case.pod.resource_claims.len()).unwrap_or(i64::MAX)
    }

    /// Extended resources that the pod requests, with their amounts: `nvidia.com/gpu: 2`; empty if it requests none. A
    /// DeviceClass can offer them by DRA (Kubernetes 1.36 and later). Source: resources.requests.
    "extendedResources": fn extended_resources(&self) -> String {
        let requested = self.case.pod.effective_requests().extended;
        let of_devices = requested.iter().filter(|(name, _)| name.contains('/') && !name.starts_with("hugepages-"));
        let all: Vec<String> = of_devices.map(|(name, amount)| format!("{name}: {amount}")).collect();
        names(all.iter().map(String::as_str))
    }

    /// The PodGroup whose pods are only placed together; empty if the pod belongs to none.
    /// Source: spec.schedulingGroup.podGroupName, before Kubernetes 1.36 spec.workloadRef.podGroup.
    "podGroup": fn pod_group(&self) -> &str { self.case.pod.pod_group.as_deref().unwrap_or_default() }

    /// How many pods of the group must fit at once; not known where the scheduler does not report it. Source: `minCount (N)` in
    /// the scheduler's message.
    "minCount": fn min_count(&self) -> Option<u32> { Some(self.gang_counts()?.0) }

    /// How many pods of the group are placed or may be. Source: `N scheduled, N remaining` in the scheduler's message.
    "fitCount": fn fit_count(&self) -> Option<u32> { Some(self.gang_counts()?.1) }

    /// The CSI driver that nodes lack; empty if the scheduler names none.
    /// Source: `CSI driver is not installed on the node` in the scheduler's message.
    "csiDriver": fn csi_driver(&self) -> String {
        let driver = self.analysis().and_then(|a| a.text_of(Check::CsiDriver)?.split_once(" CSI driver"));
        driver.map_or_else(String::new, |(driver, _)| message::name(driver, 60))
    }

    /// Labels of the pods in the required pod affinity or anti-affinity; empty unless exactly one term selects some. At most 60
    /// characters. Source: spec.affinity.podAffinity, or podAntiAffinity where that is the check.
    "affinityLabels": fn affinity_labels(&self) -> String {
        self.affinity().map_or_else(String::new, |term| message::name(&term.selector, 60))
    }

    /// The same in full, as kubectl takes it.
    "affinitySelector": fn affinity_selector(&self) -> &str { self.affinity().map_or("", |term| &term.selector) }

    /// The topologyKey of that term.
    "affinityTopology": fn affinity_topology(&self) -> &str { self.affinity().map_or("", |term| &term.topology_key) }

    /// Topology keys of the spread constraints: two of them, and how many more.
    /// Source: spec.topologySpreadConstraints[].topologyKey with DoNotSchedule.
    "spreadKeys": fn spread_keys(&self) -> String { names(self.case.pod.spread_over.iter().map(String::as_str)) }

    /// All of them, as kubectl takes labels.
    "spreadKeysArgument": fn spread_keys_argument(&self) -> String { self.case.pod.spread_over.join(",") }

    /// Whether nodes lack the label of a topologyKey: `none`, `some` or `all` of those that fail the check.
    /// Source: `missing required label` in the scheduler's message.
    "lacksSpreadLabel": fn lacks_spread_label(&self) -> &'static str {
        let lacks = |r: &&Reason<'_>| r.check == Some(Check::TopologySpread) && r.text.contains("missing required label");
        let Some(analysis) = self.analysis() else { return "none" };
        match analysis.reasons.iter().find(lacks) {
            None => "none",
            Some(r) if r.nodes.is_some() && r.nodes == analysis.count(Check::TopologySpread) => "all",
            Some(_) => "some",
        }
    }

    /// Plugins that leave the pod no node in common. Source: `didn't satisfy plugin(s) [A B] simultaneously`.
    "plugins": fn plugins(&self) -> String {
        message::between(&self.text(), "plugin(s) [", "]").map_or_else(String::new, |p| p.replace(' ', ", "))
    }

    /// The node on which pods were preempted. Source: status.nominatedNodeName.
    "nominatedNode": fn nominated_node(&self) -> Option<&str> { self.case.pod.nominated_node.as_deref() }

    /// The scheduler that the pod names. Source: spec.schedulerName.
    "scheduler": fn scheduler(&self) -> &str {
        let name = &self.case.pod.scheduler_name;
        if name.is_empty() { "default-scheduler" } else { name }
    }

    /// Resource of which all nodes are full, so that no pod like it gets a node; for devices also where no node offers any.
    "exhaustedResource": fn exhausted_resource(&self) -> String {
        let check = self.check().filter(|check| check.is_capacity());
        check.zip(self.view()).and_then(|(check, view)| root::no_room(check, view)).unwrap_or_default()
    }

    /// Key of a taint that all nodes have, where the pod may use any node.
    "taintOfAllNodes": fn taint_of_all_nodes(&self) -> &str { self.view().and_then(root::one_taint).unwrap_or_default() }

    /// The label that not one node of the cluster has.
    "labelOfNoNode": fn label_of_no_node(&self) -> String {
        let view = self.view().filter(|_| self.selector_problem() != "enforced");
        view.and_then(|view| root::missing_label(self.case, view)).unwrap_or_default()
    }

    /// The node that is down, if only the taint of its outage excludes it.
    "nodeDown": fn node_down(&self) -> &str {
        self.view().and_then(|view| root::node_down(self.case, view)).unwrap_or_default()
    }

    /// What the scheduler of Fargate does not support or finds misconfigured, at most 150 characters.
    /// Source: Event FailedScheduling, `Pod not supported on Fargate`.
    "fargateError": fn fargate_error(&self) -> String {
        let message = self.report().map_or("", |report| report.message);
        message::fit(message.strip_prefix("Pod not supported on Fargate: ").unwrap_or(message), 150)
    }

    /// What an autoscaler does for the pod: `adding` a node, `atLimit` (a limit of its own forbids one), `failing` (the cloud
    /// provider creates none), or `refused` (none that it could add fits the pod); empty if none has reported on the pod.
    /// Source: Events TriggeredScaleUp and NotTriggerScaleUp of the cluster autoscaler, Nominated and FailedScheduling of Karpenter.
    "scaleUp": fn scale_up_state(&self) -> &'static str { self.scale_up().map_or("", |found| found.state.as_str()) }

    /// The autoscaler: `clusterAutoscaler` or `karpenter`; empty if none has reported on the pod. Source: Event source.component.
    "scaler": fn scaler(&self) -> &'static str { self.scale_up().map_or("", |found| found.scaler.as_str()) }

    /// The NodePool or node group that the autoscaler names first. Source: the same Events.
    "scaledGroup": fn scaled_group(&self) -> String { self.scale_up().map_or_else(String::new, |found| found.group.clone()) }

    /// Why the autoscaler adds no node, at most 130 characters. Source: the same Events.
    "scaleUpError": fn scale_up_error(&self) -> String { self.scale_up().map_or_else(String::new, |found| found.text.clone()) }
}

impl<'a> Scheduling<'a> {
    fn gang_counts(&self) -> Option<(u32, u32)> {
        words::gang_counts(self.analysis()?.text_of(Check::Gang)?)
    }

    /// What an autoscaler does for a pod that no node fits.
    fn scale_up(&self) -> Option<&scale_up::ScaleUp<'a>> {
        let read = || matches!(self.state, State::Unschedulable { .. }).then(|| scale_up::read(self.case))?;
        self.scale_up.get_or_init(read).as_ref()
    }
}

pub(crate) const SOURCE: Source = Source {
    definition: &Scheduling::DEFINITION,
    read: |case| read(case).map(|found| Box::new(found) as Box<dyn PodSignal<'_>>).into_iter().collect(),
};

fn read<'a>(case: &'a Case<'a>) -> Option<Scheduling<'a>> {
    let of = |state| Scheduling {
        case,
        state,
        room: OnceCell::new(),
        gap: OnceCell::new(),
        blamed: OnceCell::new(),
        scale_up: OnceCell::new(),
    };
    if let Some(report) = Report::of(case, report::UNSCHEDULABLE) {
        // Once a node is being cleared for the pod, the earlier reasons no longer apply.
        if case.pod.nominated_node.is_some() {
            return claim::explained(case).is_none().then(|| of(State::Preempting(report)));
        }
        let analysis = Box::new(Analysis::new(case, report.message)?);
        let is_explained = analysis.check == Check::PvcUnbound && claim::explained(case).is_some();
        return (!is_explained).then(|| of(State::Unschedulable { report, analysis }));
    }
    if let Some(report) = Report::of(case, report::SCHEDULER_ERROR) {
        return claim::explained(case).is_none().then(|| of(State::Error(report)));
    }
    // A scheduler that has chosen a node and waits for a volume there reports only the name of the node.
    let is_silent = report::waits(case) && report::is_silent(case) && case.pod.nominated_node.is_none();
    let is_explained = || case.pod.resource_claims.is_empty() && claim::explained(case).is_some();
    (is_silent && !is_explained()).then(|| of(State::Silent))
}

/// Seconds that the scheduler may take to consider a node again after it was uncordoned or untainted.
const OPENED: i64 = 10;

impl<'a> PodSignal<'a> for Scheduling<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        let usual = match &self.state {
            State::Silent => return report::silence(case, cause.name),
            State::Error(_) => case.thresholds.unschedulable,
            State::Unschedulable { .. } | State::Preempting(_) => report::grace_period(case),
        };
        let since = self.report().map_or(case.now, |report| report.since(case));
        let due = after(since, case.thresholds.of(cause.name, usual));
        if case.now < due {
            return Err(due);
        }
        if self.is_being_opened() { Err(after(case.now, OPENED)) } else { Ok(()) }
    }

    fn evidence(&self, _cause: &Matched) -> Vec<Evidence> {
        let case = self.case;
        let report = self.report().map(Report::evidence);
        match &self.state {
            State::Unschedulable { analysis, .. } => {
                let claims = (analysis.check == Check::PvcUnbound).then(|| claim::newest_events(case));
                let asked = evidence::asked(case, analysis).into_iter().chain(claims.into_iter().flatten());
                let scale_up = self.scale_up().map(scale_up::ScaleUp::evidence);
                report.into_iter().chain(asked).chain(scale_up).chain(evidence::nodes(analysis)).collect()
            }
            State::Preempting(_) => evidence::preemption(case).into_iter().chain(report).collect(),
            State::Error(_) => report.into_iter().collect(),
            State::Silent => evidence::silence(case),
        }
    }

    fn complete(&self, _cause: &Matched, mut finding: Finding) -> Verdict {
        let Some(analysis) = self.analysis() else { return Verdict::Yes(Box::new(finding)) };
        if !analysis.certain {
            finding = finding.confidence(Confidence::Likely);
        }
        // The node has an Event of its own.
        if analysis.check == Check::Taint && !self.node_down().is_empty() {
            finding = finding.quiet();
        }
        for (cause, text) in others::reasons(self.case, analysis).into_iter().chain(others::shortages(self, analysis)) {
            finding = finding.consequence(cause, None, text);
        }
        if let Some(found) = self.scale_up() {
            finding.summary = finding.summary.with_clause(&found.clause(self.case));
        }
        Verdict::Yes(Box::new(finding))
    }
}
