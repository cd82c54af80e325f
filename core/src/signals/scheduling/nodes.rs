//! Computes from the nodes and the pod why each node is unsuitable: which checks fail, by how much, and what is the
//! smallest change that would let the pod run.
//!
//! It covers only what Node objects show: no host ports, no affinity to other pods, no volumes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::labels::{Unmet, unmet};
use super::resource::Resource;
use super::words::Check;
use crate::facts::{CORDON_TAINT, NodeState, PodFacts, Resources, Taint};

/// Taints of control plane nodes, which keep workloads off them.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// Prefixes of taints that the node controllers set for a node's state (`node.kubernetes.io/not-ready`). Such a node
/// needs a repair, not a toleration.
const STATE_TAINTS: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// A resource that is scarce on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shortfall {
    pub resource: Resource,
    pub asked: i64,
    pub free: i64,
    pub allocatable: i64,
}

impl Shortfall {
    pub(super) fn missing(&self) -> i64 {
        self.asked.saturating_sub(self.free.max(0))
    }

    /// Whether the node would be large enough if it were empty.
    pub(super) fn fits_empty(&self) -> bool {
        self.asked <= self.allocatable
    }
}

/// The result of checking one node for one pod.
#[derive(Debug, Clone)]
pub(crate) struct NodeView<'a> {
    pub state: &'a NodeState,
    pub shortfalls: Vec<Shortfall>,
    /// Taints that the pod does not tolerate, without that of a cordon.
    pub taints: Vec<&'a Taint>,
    pub cordoned: bool,
    /// The unmet requirements of the best alternative.
    pub unmet: Vec<Unmet>,
    /// Whether the node reports all resources that the pod requests, and all of its pods are known.
    pub shows_room: bool,
}

impl<'a> NodeView<'a> {
    fn new(pod: &PodFacts, asks: &Resources, state: &'a NodeState) -> Self {
        let facts = &state.facts;
        let tolerated = |taint: &Taint| pod.tolerations.iter().any(|t| taint.tolerated_by(t));
        let cordon =
            Taint { key: CORDON_TAINT.to_owned(), value: String::new(), effect: "NoSchedule".to_owned(), added: None };
        Self {
            state,
            shortfalls: shortfalls(asks, state),
            taints: facts
                .taints
                .iter()
                .filter(|t| t.repels() && !tolerated(t) && !(facts.unschedulable && t.key == CORDON_TAINT))
                .collect(),
            cordoned: facts.unschedulable && !tolerated(&cordon),
            unmet: unmet(pod, state),
            shows_room: state.all_pods_known && shows_room(asks, &facts.allocatable),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.state.facts.name
    }

    pub(super) fn short_of(&self, check: Check) -> Option<&Shortfall> {
        self.shortfalls.iter().find(|s| s.resource.check() == check)
    }

    /// Whether the node fails the check. `None` if the Node object does not show it.
    pub(super) fn fails(&self, check: Check) -> Option<bool> {
        match check {
            Check::Taint => Some(!self.taints.is_empty()),
            Check::Cordoned => Some(self.cordoned),
            Check::Selector => Some(!self.unmet.is_empty()),
            check if check.is_capacity() => Some(self.short_of(check).is_some()),
            _ => None,
        }
    }

    /// The number of distinct obstacles. Capacity counts once, however many resources are scarce.
    pub(super) fn obstacles(&self) -> usize {
        [!self.shortfalls.is_empty(), !self.taints.is_empty(), self.cordoned, !self.unmet.is_empty()]
            .into_iter()
            .filter(|in_the_way| *in_the_way)
            .count()
    }

    /// Whether the node offers each device that the pod requests, allocated or not.
    fn has_devices(&self) -> bool {
        !self.shortfalls.iter().any(|s| matches!(s.resource, Resource::Extended(_)) && s.allocatable <= 0)
    }

    fn is_control_plane(&self) -> bool {
        self.taints.iter().any(|t| CONTROL_PLANE.contains(&t.key.as_str()))
    }

    /// Whether the node would take the pod if it were empty.
    fn is_only_full(&self) -> bool {
        self.obstacles() == 1 && !self.shortfalls.is_empty() && self.shortfalls.iter().all(Shortfall::fits_empty)
    }

    /// Whether a taint that was set on purpose keeps the pod away.
    fn is_reserved(&self) -> bool {
        self.taints.iter().any(|t| !is_state_taint(&t.key))
    }
}

/// Whether a taint, in its text form, is that of a cordon.
pub(super) fn is_of_cordon(taint: &str) -> bool {
    taint.starts_with(CORDON_TAINT)
}

/// Whether a controller, not a user, set the taint for the node's state.
pub(super) fn is_state_taint(key: &str) -> bool {
    STATE_TAINTS.iter().any(|prefix| key.starts_with(prefix)) || state_by_name(key).is_some()
}

/// The state of a node that an agent or an autoscaler marks with a taint of its own, such as
/// `node.cilium.io/agent-not-ready` or `karpenter.sh/disrupted`. These are known by the name after the prefix.
fn state_by_name(key: &str) -> Option<&'static str> {
    match key.rsplit('/').next()? {
        "agent-not-ready" | "not-ready" => Some("AgentNotReady"),
        "unregistered" => Some("NotRegistered"),
        "disrupted" | "disruption" | "ToBeDeletedByClusterAutoscaler" => Some("BeingRemoved"),
        _ => None,
    }
}

/// The node state of such a taint.
pub(super) fn state_of(key: &str) -> &'static str {
    match key {
        "node.kubernetes.io/not-ready" => "NotReady",
        "node.kubernetes.io/unreachable" => "Unreachable",
        "node.kubernetes.io/memory-pressure" => "MemoryPressure",
        "node.kubernetes.io/disk-pressure" => "DiskPressure",
        "node.kubernetes.io/pid-pressure" => "PIDPressure",
        "node.kubernetes.io/network-unavailable" => "NetworkUnavailable",
        "node.kubernetes.io/out-of-service" => "OutOfService",
        "node.kubernetes.io/unschedulable" => "Unschedulable",
        "node.cloudprovider.kubernetes.io/uninitialized" => "Uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown" => "Shutdown",
        _ => state_by_name(key).unwrap_or("Unhealthy"),
    }
}

/// Whether a taint marks a control plane node.
pub(super) fn is_control_plane_taint(key: &str) -> bool {
    CONTROL_PLANE.contains(&key)
}

/// A pod compared with all nodes.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub pod: &'a PodFacts,
    /// The candidate nodes: those that the pod's selector matches and that have the requested devices, if there are
    /// any, without those that are reserved for other pods, unless no other node is left.
    pub nodes: Vec<NodeView<'a>>,
    /// Nodes that taints reserve for other pods, where the pod belongs on nodes that are full.
    reserved: Vec<NodeView<'a>>,
    /// Names of the control plane nodes that are no candidates.
    pub control_plane: Vec<&'a str>,
    /// The number of nodes in the cluster.
    pub total: usize,
    /// Whether the pod's selector matches all nodes.
    pub selects_all: bool,
    /// Taints that the pod does not tolerate, and cordoned nodes, in the whole cluster.
    pub taints: Vec<String>,
    pub cordoned: Vec<&'a str>,
}

impl<'a> View<'a> {
    /// `None` if no node is known.
    pub(super) fn new(pod: &'a PodFacts, nodes: &'a BTreeMap<Arc<str>, Box<NodeState>>) -> Option<Self> {
        if nodes.is_empty() {
            return None;
        }
        let asks = pod.effective_requests();
        let mut all: Vec<_> = nodes.values().map(|state| NodeView::new(pod, &asks, state)).collect();
        let total = all.len();
        let taints: BTreeSet<String> = all.iter().flat_map(|n| &n.taints).map(ToString::to_string).collect();
        let cordoned = all.iter().filter(|n| n.cordoned).map(NodeView::name).collect();
        let mut reserved = Vec::new();
        let selects_all = all.iter().all(|n| n.unmet.is_empty());
        if all.iter().any(|n| n.unmet.is_empty()) {
            all.retain(|n| n.unmet.is_empty());
        }
        // A smaller request does not help on a node without such a device.
        if all.iter().any(NodeView::has_devices) {
            all.retain(NodeView::has_devices);
        }
        let mut control_plane = Vec::new();
        if all.iter().any(|n| !n.is_control_plane()) {
            control_plane = all.extract_if(.., |n| n.is_control_plane()).map(|n| n.name()).collect();
        }
        // A taint that was set on purpose reserves its nodes for other pods: another team, devices. The pod belongs on the
        // others if they are only full.
        if all.iter().any(|n| !n.is_reserved() && n.is_only_full()) {
            reserved = all.extract_if(.., |n| n.is_reserved()).collect();
        }
        Some(Self {
            pod,
            nodes: all,
            reserved,
            control_plane,
            total,
            selects_all,
            taints: taints.into_iter().collect(),
            cordoned,
        })
    }

    /// The taint that is most likely to be removed: one for a node's state, as such a node accepts the pod once it has
    /// recovered; else that of the node with the fewest obstacles.
    pub(super) fn decisive_taint(&self) -> Option<(&NodeView<'a>, &'a Taint)> {
        let by_state = |n: &NodeView<'_>| n.taints.iter().all(|t| is_state_taint(&t.key));
        let tainted = self.nodes.iter().filter(|n| !n.taints.is_empty());
        let node = tainted.min_by_key(|n| (n.obstacles(), !by_state(n), n.name()))?;
        let taint = node.taints.iter().find(|t| !is_state_taint(&t.key)).or(node.taints.first())?;
        Some((node, taint))
    }

    /// The number of candidate nodes that fail this check.
    pub(super) fn failing(&self, check: Check) -> usize {
        self.nodes.iter().filter(|n| n.fails(check) == Some(true)).count()
    }

    /// The check whose removal would let the pod run with the smallest change: the one that most of the otherwise
    /// suitable nodes fail. `None` if the nodes explain none of the checks.
    pub(super) fn choose(&self, checks: &[Check]) -> Option<(Check, bool)> {
        let fewest = self.nodes.iter().map(NodeView::obstacles).min()?;
        let voters: Vec<_> = self.nodes.iter().filter(|n| n.obstacles() == fewest).collect();
        if fewest == 0 {
            // The nodes look suitable, so the obstacle is one that Node objects do not show.
            return checks.iter().copied().filter(|k| !k.is_computed()).min().map(|check| (check, false));
        }
        let votes = |check: Check| voters.iter().filter(|n| n.fails(check) == Some(true)).count();
        // A node counts as full for its scarcest resource. This decides between resources with equal votes.
        let worst = |check: Check| {
            voters
                .iter()
                .filter_map(|n| n.short_of(check))
                .map(|s| s.asked.saturating_mul(100) / s.allocatable.max(1))
                .max()
                .unwrap_or(0)
        };
        let best = checks
            .iter()
            .copied()
            .filter(|check| votes(*check) > 0)
            .max_by(|a, b| (votes(*a), worst(*a)).cmp(&(votes(*b), worst(*b))).then_with(|| b.cmp(a)))?;
        Some((best, votes(best) == voters.len()))
    }

    /// The nodes closest to having enough, closest first: smallest shortage, and no other obstacle.
    pub(super) fn nearest(&self, check: Check) -> Vec<(&NodeView<'a>, &Shortfall)> {
        let mut short: Vec<_> = self.nodes.iter().filter_map(|n| n.short_of(check).map(|s| (n, s))).collect();
        short.sort_by(|(a, x), (b, y)| {
            let key = |n: &NodeView<'_>, s: &Shortfall| (n.obstacles(), n.shortfalls.len(), s.missing());
            key(a, x).cmp(&key(b, y)).then_with(|| a.name().cmp(b.name()))
        });
        short
    }

    /// The largest request for this resource that fits on some node now, as far as known.
    pub(super) fn largest_that_fits(&self, check: Check) -> Option<i64> {
        let nearest = self.nearest(check);
        nearest.first().filter(|(n, _)| n.state.all_pods_known).map(|(_, short)| short.free).filter(|free| *free > 0)
    }

    /// A node with enough capacity that is unavailable for another reason: the quickest one to change first.
    pub(super) fn with_room(&self) -> Option<&NodeView<'a>> {
        let all = self.nodes.iter().chain(&self.reserved);
        let roomy = all.filter(|n| n.shows_room && n.shortfalls.is_empty() && n.obstacles() == 1);
        roomy.min_by_key(|n| (!n.cordoned, n.taints.iter().any(|t| is_state_taint(&t.key))))
    }

    /// A node on which the pod would fit if nothing else ran there.
    pub(super) fn fits_empty(&self) -> Option<&NodeView<'a>> {
        let is_large = |n: &&NodeView<'_>| n.shows_room && n.shortfalls.iter().all(Shortfall::fits_empty);
        let fits = self.nodes.iter().filter(|n| n.unmet.is_empty()).filter(is_large);
        fits.min_by_key(|n| !n.taints.is_empty())
    }

    /// Whether one of the nodes that do not meet the pod's selector or affinity has one of these names.
    pub(super) fn has_any(&self, names: &[String]) -> bool {
        self.nodes.iter().any(|n| names.iter().any(|name| name == n.name()))
    }

    /// All values of this label on the nodes.
    pub(super) fn values_of(&self, key: &str) -> Vec<&str> {
        let values = self.nodes.iter().filter_map(|n| n.state.facts.labels.get(key));
        values.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The nodes closest to the pod's selector and affinity: fewest missing labels, misspelt ones first.
    pub(super) fn nearest_by_labels(&self) -> Vec<&NodeView<'a>> {
        let mut nodes: Vec<_> = self.nodes.iter().filter(|n| !n.unmet.is_empty()).collect();
        nodes.sort_by_key(|n| {
            let misspelt = n.unmet.iter().any(|u| u.resembles.is_some());
            let other_value = n.unmet.iter().any(|u| u.has.is_some());
            (n.unmet.len(), !misspelt, !other_value, n.obstacles(), n.name())
        });
        nodes
    }
}

/// Whether the node reports the requested amounts. A Node whose kubelet has never reported has none.
fn shows_room(asks: &Resources, has: &Resources) -> bool {
    let amounts = [Resource::Cpu, Resource::Memory, Resource::EphemeralStorage];
    *has != Resources::default() && amounts.iter().all(|r| r.of(asks).unwrap_or(0) <= 0 || r.of(has).is_some())
}

fn shortfalls(asks: &Resources, node: &NodeState) -> Vec<Shortfall> {
    let free = node.free();
    let mut checks = vec![Resource::Cpu, Resource::Memory, Resource::EphemeralStorage, Resource::Pods];
    checks.extend(asks.extended.keys().map(|name| Resource::Extended(name.clone())));
    let short = |resource: Resource| {
        let asked = resource.of(asks).filter(|asked| *asked > 0)?;
        let allocatable = match (resource.of(&node.facts.allocatable), &resource) {
            (Some(amount), _) => amount,
            // A device that is not listed does not exist. For other resources a dump may just lack the amount.
            (None, Resource::Extended(_)) => 0,
            (None, _) => return None,
        };
        let free = resource.of(&free).unwrap_or(0);
        (asked > free).then_some(Shortfall { resource, asked, free, allocatable })
    };
    checks.into_iter().filter_map(short).collect()
}

/// Which nodes would take a pod, as far as Node objects show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Nodes that meet its selector, that it tolerates, and that have room for its requests.
    pub fitting: Vec<String>,
    /// Number of nodes.
    pub total: usize,
}

impl Placement {
    pub(crate) fn of(pod: &PodFacts, nodes: &BTreeMap<Arc<str>, Box<NodeState>>) -> Self {
        let asks = pod.effective_requests();
        let views = nodes.values().map(|state| NodeView::new(pod, &asks, state));
        let fitting = views.filter(|view| view.obstacles() == 0).map(|view| view.name().to_owned()).collect();
        Self { fitting, total: nodes.len() }
    }
}
