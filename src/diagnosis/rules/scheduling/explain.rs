//! Why each node does not take a pod, computed from the node and the pod: which checks fail, by how much, and what is
//! the smallest change that would let the pod run.
//!
//! Pure arithmetic over facts. It says nothing of what nodes alone do not tell: host ports, other pods' affinities,
//! volumes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::words::Kind;
use crate::api::ContainerType;
use crate::diagnosis::Language;
use crate::diagnosis::language::say;
use crate::facts::{
    Container, Expression, Labels, NodeState, Operator, PodFacts, Resources, SelectorTerm, Taint, format_bytes,
    format_cpu,
};

/// Taints of nodes that run the control plane: work is kept away from them on purpose.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// The taint that a cordon brings with it.
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";
/// Taints that tell of a node's state (`node.kubernetes.io/not-ready`): to repair, not to tolerate.
const STATE_TAINTS: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// One kind of amount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    Extended(Arc<str>),
}

impl Resource {
    pub(super) fn of(&self, amounts: &Resources) -> Option<i64> {
        match self {
            Self::Cpu => amounts.cpu,
            Self::Memory => amounts.memory,
            Self::EphemeralStorage => amounts.ephemeral_storage,
            Self::Pods => amounts.pods,
            Self::Extended(name) => amounts.extended.get(name).copied(),
        }
    }

    fn set(&self, amounts: &mut Resources, amount: i64) {
        match self {
            Self::Cpu => amounts.cpu = Some(amount),
            Self::Memory => amounts.memory = Some(amount),
            Self::EphemeralStorage => amounts.ephemeral_storage = Some(amount),
            Self::Pods => amounts.pods = Some(amount),
            Self::Extended(name) => {
                amounts.extended.insert(name.clone(), amount);
            }
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Cpu => Kind::Cpu,
            Self::Memory => Kind::Memory,
            Self::EphemeralStorage => Kind::EphemeralStorage,
            Self::Pods => Kind::Pods,
            Self::Extended(_) => Kind::Extended,
        }
    }

    /// As in `resources.requests`.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Extended(name) => name,
        }
    }

    /// An amount alone, for people: `1.9`, `15Mi`.
    pub(super) fn amount(&self, amount: i64) -> String {
        match self {
            Self::Cpu => decimal_cpu(amount),
            Self::Memory | Self::EphemeralStorage => format_bytes(amount),
            Self::Extended(name) if name.starts_with("hugepages-") => format_bytes(amount),
            Self::Pods | Self::Extended(_) => amount.to_string(),
        }
    }

    /// An amount with its unit: `64 CPUs`, `15Mi of memory`.
    pub(super) fn amount_of(&self, language: Language, amount: i64) -> String {
        let number = self.amount(amount);
        match self {
            Self::Cpu if amount > 0 && amount <= 1000 => say!(language, "{number} CPU", number),
            Self::Cpu => say!(language, "{number} CPUs", number),
            Self::Memory => say!(language, "{number} of memory", number),
            Self::EphemeralStorage => say!(language, "{number} of ephemeral storage", number),
            Self::Pods => say!(language, "{number} pods", number),
            Self::Extended(name) => format!("{number} {name}"),
        }
    }

    /// An amount as it is written in a manifest, rounded down to what a person would write.
    pub(super) fn quantity(&self, amount: i64) -> String {
        match self {
            Self::Cpu => format_cpu(self.round_down(amount)),
            Self::Memory | Self::EphemeralStorage => binary_quantity(self.round_down(amount)),
            Self::Pods | Self::Extended(_) => amount.to_string(),
        }
    }

    /// To 10m of CPU and to 1Mi of bytes, unless that leaves nothing.
    fn round_down(&self, amount: i64) -> i64 {
        let step = match self {
            Self::Cpu => 10,
            Self::Memory | Self::EphemeralStorage => 1 << 20,
            Self::Pods | Self::Extended(_) => 1,
        };
        if amount >= step { amount - amount % step } else { amount }
    }
}

fn decimal_cpu(milli: i64) -> String {
    let sign = if milli < 0 { "-" } else { "" };
    let milli = milli.unsigned_abs();
    let text = format!("{sign}{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes without loss, in the largest binary unit that divides them.
fn binary_quantity(bytes: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size && bytes % size == 0);
    unit.map_or_else(|| bytes.to_string(), |(name, size)| format!("{}{name}", bytes / size))
}

/// A resource of which a node has too little left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shortfall {
    pub resource: Resource,
    pub asked: i64,
    pub free: i64,
    pub allocatable: i64,
}

impl Shortfall {
    pub(super) fn missing(&self) -> i64 {
        self.asked.saturating_sub(self.free.max(0))
    }

    /// Whether the node would do if it were empty.
    pub(super) fn fits_empty(&self) -> bool {
        self.asked <= self.allocatable
    }
}

/// A requirement on a node's labels that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unmet {
    /// `spec.nodeSelector[disktype]` or the affinity.
    pub path: String,
    pub key: String,
    pub operator: Operator,
    pub values: Vec<String>,
    /// What the node has under this key.
    pub has: Option<String>,
    /// A label of the node that is spelt almost like the one asked for: key and value.
    pub resembles: Option<(String, String)>,
}

impl Unmet {
    /// `disktype=ssd`, `zone in (a, b)`, `not gpu`.
    pub(super) fn wanted(&self) -> String {
        let list = self.values.join(", ");
        match self.operator {
            Operator::In if self.values.len() == 1 => format!("{}={list}", self.key),
            Operator::In => format!("{} in ({list})", self.key),
            Operator::NotIn => format!("{} not in ({list})", self.key),
            Operator::Exists => self.key.clone(),
            Operator::DoesNotExist => format!("not {}", self.key),
            Operator::Gt => format!("{} > {list}", self.key),
            Operator::Lt => format!("{} < {list}", self.key),
            Operator::Other => format!("{} ? {list}", self.key),
        }
    }

    /// A label that would meet it, where it is for people to set: what a node says of itself stays as it is.
    pub(super) fn label(&self) -> Option<String> {
        let meant = self.resembles.as_ref().map_or(&self.key, |(key, _)| key);
        if TOLD_BY_NODES.contains(&meant.as_str()) || (self.has.is_some() && meant.contains(TOLD_BY_CLOUDS)) {
            return None;
        }
        match self.operator {
            Operator::In => self.values.first().map(|value| format!("{}={value}", self.key)),
            Operator::Exists => Some(format!("{}=", self.key)),
            _ => None,
        }
    }

    /// Whether it is about what a cloud says of its nodes: a wrong word there misleads volumes and routes as well.
    pub(super) fn is_told_by_clouds(&self) -> bool {
        self.key.contains(TOLD_BY_CLOUDS) || self.key.starts_with("node.kubernetes.io/")
    }

    /// Whether it asks for one node by its name, as the pods of a DaemonSet do.
    pub(super) fn is_node_name(&self) -> bool {
        self.key == NODE_NAME
    }

    /// Whether it asks for nodes by the label that holds their names.
    pub(super) fn is_host_name(&self) -> bool {
        self.key == HOST_NAME && self.operator == Operator::In
    }
}

const NODE_NAME: &str = "metadata.name";
const HOST_NAME: &str = "kubernetes.io/hostname";
/// Labels that each kubelet writes of its own node.
const TOLD_BY_NODES: [&str; 5] =
    [HOST_NAME, "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os"];
/// Part of the labels of zone and region: where no cloud sets them people do, but what is set is true.
const TOLD_BY_CLOUDS: &str = "topology.kubernetes.io/";

/// One node, judged for one pod.
#[derive(Debug, Clone)]
pub(super) struct NodeView<'a> {
    pub state: &'a NodeState,
    pub shortfalls: Vec<Shortfall>,
    /// Repelling taints that the pod does not tolerate, the cordon's own excepted.
    pub taints: Vec<&'a Taint>,
    pub cordoned: bool,
    /// The requirements of the best alternative that do not hold.
    pub unmet: Vec<Unmet>,
    /// Whether the node tells how much it has of all that the pod asks for, and all its pods are known.
    pub tells_room: bool,
}

impl<'a> NodeView<'a> {
    fn new(pod: &PodFacts, asks: &Resources, state: &'a NodeState) -> Self {
        let facts = &state.facts;
        let tolerated = |taint: &Taint| pod.tolerations.iter().any(|t| taint.tolerated_by(t));
        let cordon = Taint { key: CORDON_TAINT.to_owned(), value: String::new(), effect: "NoSchedule".to_owned() };
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
            tells_room: state.all_pods_known && tells_room(asks, &facts.allocatable),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.state.facts.name
    }

    pub(super) fn short_of(&self, kind: Kind) -> Option<&Shortfall> {
        self.shortfalls.iter().find(|s| s.resource.kind() == kind)
    }

    /// Whether the node fails the check of this kind. `None`: a node alone does not tell.
    pub(super) fn fails(&self, kind: Kind) -> Option<bool> {
        match kind {
            Kind::Taint => Some(!self.taints.is_empty()),
            Kind::Cordoned => Some(self.cordoned),
            Kind::Selector => Some(!self.unmet.is_empty()),
            kind if kind.is_capacity() => Some(self.short_of(kind).is_some()),
            _ => None,
        }
    }

    /// The number of different things in the way; room is one thing, however many resources are short.
    pub(super) fn obstacles(&self) -> usize {
        [!self.shortfalls.is_empty(), !self.taints.is_empty(), self.cordoned, !self.unmet.is_empty()]
            .into_iter()
            .filter(|in_the_way| *in_the_way)
            .count()
    }

    /// Whether it offers each device that the pod asks for, taken or not.
    fn has_devices(&self) -> bool {
        !self.shortfalls.iter().any(|s| matches!(s.resource, Resource::Extended(_)) && s.allocatable <= 0)
    }

    fn is_control_plane(&self) -> bool {
        self.taints.iter().any(|t| CONTROL_PLANE.contains(&t.key.as_str()))
    }
}

/// Whether a taint, as it is written out, is that of a cordon.
pub(super) fn is_of_cordon(taint: &str) -> bool {
    taint.starts_with(CORDON_TAINT)
}

/// Whether a taint tells of a node's state rather than of somebody's intention.
pub(super) fn is_state_taint(key: &str) -> bool {
    STATE_TAINTS.iter().any(|prefix| key.starts_with(prefix))
}

/// Whether a taint marks a node of the control plane.
pub(super) fn is_control_plane_taint(key: &str) -> bool {
    CONTROL_PLANE.contains(&key)
}

/// A pod against all nodes.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub pod: &'a PodFacts,
    /// The nodes that the pod is meant for: those that its selector picks and that have the devices it asks for, if any do,
    /// less the control plane's, unless nothing else is left.
    pub nodes: Vec<NodeView<'a>>,
    /// All nodes of the cluster.
    pub total: usize,
    /// Whether the pod's selector leaves none of them out.
    pub selects_all: bool,
    /// Taints that the pod does not tolerate, and cordoned nodes, of all nodes of the cluster.
    pub taints: Vec<String>,
    pub cordoned: Vec<&'a str>,
}

impl<'a> View<'a> {
    /// `None` where no node is known.
    pub(super) fn new(pod: &'a PodFacts, nodes: &'a BTreeMap<Arc<str>, NodeState>) -> Option<Self> {
        if nodes.is_empty() {
            return None;
        }
        let asks = pod.effective_requests();
        let mut all: Vec<_> = nodes.values().map(|state| NodeView::new(pod, &asks, state)).collect();
        let total = all.len();
        let taints: BTreeSet<String> = all.iter().flat_map(|n| &n.taints).map(ToString::to_string).collect();
        let cordoned = all.iter().filter(|n| n.cordoned).map(NodeView::name).collect();
        let selects_all = all.iter().all(|n| n.unmet.is_empty());
        if all.iter().any(|n| n.unmet.is_empty()) {
            all.retain(|n| n.unmet.is_empty());
        }
        // A node without any such device is none that a smaller request would open.
        if all.iter().any(NodeView::has_devices) {
            all.retain(NodeView::has_devices);
        }
        if all.iter().any(|n| !n.is_control_plane()) {
            all.retain(|n| !n.is_control_plane());
        }
        Some(Self { pod, nodes: all, total, selects_all, taints: taints.into_iter().collect(), cordoned })
    }

    /// The taint that is most likely to go: one that tells of a node's state, for such a node takes the pod as it is once it is
    /// well; else that of the node with the least in the way.
    pub(super) fn blamed_taint(&self) -> Option<(&NodeView<'a>, &'a Taint)> {
        let by_state = |n: &NodeView<'_>| n.taints.iter().all(|t| is_state_taint(&t.key));
        let tainted = self.nodes.iter().filter(|n| !n.taints.is_empty());
        let node = tainted.min_by_key(|n| (n.obstacles(), !by_state(n), n.name()))?;
        let taint = node.taints.iter().find(|t| !is_state_taint(&t.key)).or(node.taints.first())?;
        Some((node, taint))
    }

    /// How many of the nodes that the pod is meant for fail this check.
    pub(super) fn failing(&self, kind: Kind) -> usize {
        self.nodes.iter().filter(|n| n.fails(kind) == Some(true)).count()
    }

    /// Of these kinds of reasons the one whose removal would let the pod run with the smallest change: the one on which
    /// most of the otherwise suitable nodes fail. `None` where the nodes do not explain any of them.
    pub(super) fn choose(&self, kinds: &[Kind]) -> Option<(Kind, bool)> {
        let fewest = self.nodes.iter().map(NodeView::obstacles).min()?;
        let voters: Vec<_> = self.nodes.iter().filter(|n| n.obstacles() == fewest).collect();
        if fewest == 0 {
            // Nodes that look suitable: what stops the pod there is something that nodes do not tell.
            return kinds.iter().copied().filter(|k| !k.is_computed()).min().map(|kind| (kind, false));
        }
        let votes = |kind: Kind| voters.iter().filter(|n| n.fails(kind) == Some(true)).count();
        // A node is full for the resource that is most short; that decides between resources with equal votes.
        let worst = |kind: Kind| {
            voters
                .iter()
                .filter_map(|n| n.short_of(kind))
                .map(|s| s.asked.saturating_mul(100) / s.allocatable.max(1))
                .max()
                .unwrap_or(0)
        };
        let best = kinds
            .iter()
            .copied()
            .filter(|kind| votes(*kind) > 0)
            .max_by(|a, b| (votes(*a), worst(*a)).cmp(&(votes(*b), worst(*b))).then_with(|| b.cmp(a)))?;
        Some((best, votes(best) == voters.len()))
    }

    /// The nodes that come nearest to having enough, nearest first: least short, and nothing else in the way.
    pub(super) fn nearest(&self, kind: Kind) -> Vec<(&NodeView<'a>, &Shortfall)> {
        let mut short: Vec<_> = self.nodes.iter().filter_map(|n| n.short_of(kind).map(|s| (n, s))).collect();
        short.sort_by(|(a, x), (b, y)| {
            let key = |n: &NodeView<'_>, s: &Shortfall| (n.obstacles(), n.shortfalls.len(), s.missing());
            key(a, x).cmp(&key(b, y)).then_with(|| a.name().cmp(b.name()))
        });
        short
    }

    /// The largest request of this resource for which some node has room now, as far as is known.
    pub(super) fn largest_that_fits(&self, kind: Kind) -> Option<i64> {
        let nearest = self.nearest(kind);
        nearest.first().filter(|(n, _)| n.state.all_pods_known).map(|(_, short)| short.free).filter(|free| *free > 0)
    }

    /// A node with room for the pod that something else keeps from it: what is quickest to change first.
    pub(super) fn with_room(&self) -> Option<&NodeView<'a>> {
        let roomy = self.nodes.iter().filter(|n| n.tells_room && n.shortfalls.is_empty() && n.obstacles() == 1);
        roomy.min_by_key(|n| (!n.cordoned, n.taints.iter().any(|t| is_state_taint(&t.key))))
    }

    /// A node on which the pod would fit if nothing else ran there.
    pub(super) fn fits_empty(&self) -> Option<&NodeView<'a>> {
        let is_large = |n: &&NodeView<'_>| n.tells_room && n.shortfalls.iter().all(Shortfall::fits_empty);
        let fits = self.nodes.iter().filter(|n| n.unmet.is_empty()).filter(is_large);
        fits.min_by_key(|n| !n.taints.is_empty())
    }

    /// Whether one of the nodes that do not meet its wishes has one of these names.
    pub(super) fn has_any(&self, names: &[String]) -> bool {
        self.nodes.iter().any(|n| names.iter().any(|name| name == n.name()))
    }

    /// All values that the nodes have under this label.
    pub(super) fn values_of(&self, key: &str) -> Vec<&str> {
        let values = self.nodes.iter().filter_map(|n| n.state.facts.labels.get(key));
        values.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The nodes that come nearest to the pod's selector and affinity: fewest labels missing, misspelt ones first.
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

/// A Node whose kubelet has never reported has no amounts at all.
fn tells_room(asks: &Resources, has: &Resources) -> bool {
    let amounts = [Resource::Cpu, Resource::Memory, Resource::EphemeralStorage];
    *has != Resources::default() && amounts.iter().all(|r| r.of(asks).unwrap_or(0) <= 0 || r.of(has).is_some())
}

fn shortfalls(asks: &Resources, node: &NodeState) -> Vec<Shortfall> {
    let free = node.free();
    let mut kinds = vec![Resource::Cpu, Resource::Memory, Resource::EphemeralStorage, Resource::Pods];
    kinds.extend(asks.extended.keys().map(|name| Resource::Extended(name.clone())));
    let short = |resource: Resource| {
        let asked = resource.of(asks).filter(|asked| *asked > 0)?;
        let allocatable = match (resource.of(&node.facts.allocatable), &resource) {
            (Some(amount), _) => amount,
            // A device that a node does not list is not there; of the rest a dump may simply not tell.
            (None, Resource::Extended(_)) => 0,
            (None, _) => return None,
        };
        let free = resource.of(&free).unwrap_or(0);
        (asked > free).then_some(Shortfall { resource, asked, free, allocatable })
    };
    kinds.into_iter().filter_map(short).collect()
}

/// What a node lacks of the pod's node selector and of the best alternative of its required node affinity.
fn unmet(pod: &PodFacts, node: &NodeState) -> Vec<Unmet> {
    let labels = &node.facts.labels;
    let mut found: Vec<_> = pod
        .node_selector
        .iter()
        .filter(|(key, value)| labels.get(key) != Some(*value))
        .map(|(key, value)| {
            let wanted = Expression { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] };
            unmet_label(&format!("spec.nodeSelector[{key}]"), &wanted, labels)
        })
        .collect();
    let best = pod.node_affinity.iter().map(|term| unmet_term(term, node)).min_by_key(Vec::len);
    found.extend(best.unwrap_or_default());
    found
}

fn unmet_term(term: &SelectorTerm, node: &NodeState) -> Vec<Unmet> {
    const PATH: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let labels = &node.facts.labels;
    let mut found: Vec<_> = term
        .expressions
        .iter()
        .filter(|e| !holds(e, labels.get(&e.key)))
        .map(|e| unmet_label(PATH, e, labels))
        .collect();
    found.extend(term.fields.iter().filter(|e| e.key != NODE_NAME || !holds(e, Some(&node.facts.name))).map(|e| {
        Unmet {
            path: PATH.to_owned(),
            key: e.key.clone(),
            operator: e.operator,
            values: e.values.clone(),
            has: Some(node.facts.name.to_string()),
            resembles: None,
        }
    }));
    // A term without any requirement matches nothing.
    if term.expressions.is_empty() && term.fields.is_empty() {
        found.push(Unmet {
            path: PATH.to_owned(),
            key: "(an empty term)".to_owned(),
            operator: Operator::Other,
            values: Vec::new(),
            has: None,
            resembles: None,
        });
    }
    found
}

fn unmet_label(path: &str, wanted: &Expression, labels: &Labels) -> Unmet {
    let has = labels.get(&wanted.key).map(str::to_owned);
    let resembles = match (&has, wanted.operator) {
        (Some(value), Operator::In) => {
            let alike = if wanted.key == HOST_NAME { alike_hosts } else { alike };
            wanted.values.iter().any(|w| alike(w, value)).then(|| (wanted.key.clone(), value.clone()))
        }
        (None, Operator::In | Operator::Exists) => labels
            .iter()
            .find(|(key, _)| alike(key, &wanted.key))
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        _ => None,
    };
    Unmet {
        path: path.to_owned(),
        key: wanted.key.clone(),
        operator: wanted.operator,
        values: wanted.values.clone(),
        has,
        resembles,
    }
}

/// As the API defines node selector requirements (k8s.io/component-helpers/scheduling/corev1/nodeaffinity).
fn holds(e: &Expression, value: Option<&str>) -> bool {
    let listed = |v: &str| e.values.iter().any(|w| w == v);
    let compare = |with: fn(&i64, &i64) -> bool| {
        let bound = e.values.first().and_then(|v| v.parse::<i64>().ok());
        matches!((value.and_then(|v| v.parse::<i64>().ok()), bound), (Some(v), Some(b)) if with(&v, &b))
    };
    match e.operator {
        Operator::In => value.is_some_and(listed),
        Operator::NotIn => !value.is_some_and(listed),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(i64::gt),
        Operator::Lt => compare(i64::lt),
        Operator::Other => false,
    }
}

/// Whether two different names look like one name misspelt: the same but for case and separators, or at most two
/// letters apart (one for short names). Names that differ in digits only (`zone-a1`, `zone-a2`) are different on purpose.
pub(super) fn alike(a: &str, b: &str) -> bool {
    if a == b || differ_in_last_letter(a, b) {
        return false;
    }
    let plain =
        |s: &str| s.chars().filter(|c| !"-_. ".contains(*c)).flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (plain(a), plain(b));
    if a == b {
        return !a.is_empty();
    }
    let letters = |s: &[char]| s.iter().copied().filter(|c| !c.is_ascii_digit()).collect::<Vec<char>>();
    if letters(&a) == letters(&b) {
        return false;
    }
    let shorter = a.len().min(b.len());
    let sorted = |s: &[char]| {
        let mut sorted = s.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let allowed = match shorter {
        // Of three letters two may have changed places.
        3 if sorted(&a) == sorted(&b) => 1,
        0..=3 => return false,
        4..=6 => 1,
        _ => 2,
    };
    a.len().abs_diff(b.len()) <= allowed && distance(&a, &b) <= allowed
}

/// The same of names of nodes, which are mostly made up: their last part, and those with a number, tell them apart.
fn alike_hosts(a: &str, b: &str) -> bool {
    let parts = |s: &str| s.split(['-', '.', '_']).map(str::to_lowercase).collect::<Vec<_>>();
    let (x, y) = (parts(a), parts(b));
    let is_own = |place: usize, part: &str| place + 1 == x.len() || part.contains(|c: char| c.is_ascii_digit());
    let pairs = x.iter().zip(&y).enumerate();
    x.concat() == y.concat() && a != b
        || alike(a, b) && x.len() == y.len() && pairs.into_iter().all(|(place, (x, y))| x == y || !is_own(place, x))
}

/// Whether only a single letter at the end tells them apart, as in `zone-a` and `zone-b` or `eu-1b` and `eu-1c`.
fn differ_in_last_letter(a: &str, b: &str) -> bool {
    let (Some(x), Some(y)) = (a.chars().next_back(), b.chars().next_back()) else { return false };
    let (a, b) = (&a[..a.len() - x.len_utf8()], &b[..b.len() - y.len_utf8()]);
    a == b && a.ends_with(|c: char| c.is_ascii_digit() || "-_.".contains(c))
}

/// Edits (insert, delete, replace, swap neighbours) from one text to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// The one container whose request, lowered, makes the pod as a whole ask for `most` at most, with its new request.
/// `None` where no single change does it (or a pod-level request stands).
pub(super) fn lowered<'a>(pod: &'a PodFacts, resource: &Resource, most: i64) -> Option<(&'a Container, i64)> {
    let asked = resource.of(&pod.effective_requests())?;
    if resource.of(&pod.pod_requests).is_some() {
        return None;
    }
    let mut containers: Vec<_> = pod
        .containers
        .iter()
        .filter(|c| c.kind != ContainerType::Ephemeral)
        .filter_map(|c| resource.of(&c.requests).map(|amount| (c, amount)))
        .collect();
    containers.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
    containers.into_iter().find_map(|(container, amount)| {
        let target = resource.round_down(amount.saturating_sub(asked.saturating_sub(most)));
        if target <= 0 {
            return None;
        }
        let mut tried = pod.clone();
        let changed = tried.containers.iter_mut().find(|c| c.name == container.name)?;
        resource.set(&mut changed.requests, target);
        (resource.of(&tried.effective_requests())? <= most).then_some((container, target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(Resource::Cpu.amount(1900), "1.9");
        assert_eq!(Resource::Cpu.amount(62_100), "62.1");
        assert_eq!(Resource::Cpu.amount(2000), "2");
        assert_eq!(Resource::Cpu.amount_of(Language::English, 64_000), "64 CPUs");
        assert_eq!(Resource::Cpu.amount_of(Language::English, 500), "0.5 CPU");
        assert_eq!(Resource::Cpu.quantity(1905), "1900m");
        assert_eq!(Resource::Memory.quantity((3 << 30) + 12_345), "3Gi");
        assert_eq!(Resource::Memory.quantity(500), "500");
        assert_eq!(Resource::Memory.amount_of(Language::English, 15 << 20), "15Mi of memory");
        assert_eq!(Resource::Extended("nvidia.com/gpu".into()).amount_of(Language::English, 2), "2 nvidia.com/gpu");
    }

    #[test]
    fn a_misspelt_node_is_told_from_one_that_is_gone() {
        for (a, b) in [("Node1", "node1"), ("node-1", "node1"), ("wroker-1", "worker-1")] {
            assert!(alike_hosts(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("node2", "node1"),
            ("worker-a7f3", "worker-b7f3"),
            ("gke-pool-kfjq", "gke-pool-kfjw"),
            ("ip-10-0-0-12", "ip-10-0-0-13"),
            ("node1", "node1"),
        ] {
            assert!(!alike_hosts(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_misspelt_name_is_told_from_another_name() {
        for (a, b) in
            [("disktype", "disk-type"), ("disktype", "distkype"), ("Ssd", "ssd"), ("memory", "memroy"), ("web", "wbe")]
        {
            assert!(alike(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("ssd", "hdd"),
            ("zone-a1", "zone-a2"),
            ("amd64", "arm64x"),
            ("gpu", "cpu"),
            ("same", "same"),
            ("eu-1b", "eu-1c"),
            ("pool-a", "pool-b"),
        ] {
            assert!(!alike(a, b), "{a} {b}");
        }
    }

    #[test]
    fn requirements_hold_as_the_api_says() {
        let e = |operator, values: &[&str]| Expression {
            key: "k".to_owned(),
            operator,
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        };
        assert!(holds(&e(Operator::In, &["a", "b"]), Some("b")));
        assert!(!holds(&e(Operator::In, &["a"]), None));
        assert!(holds(&e(Operator::NotIn, &["a"]), None));
        assert!(holds(&e(Operator::Gt, &["3"]), Some("4")));
        assert!(!holds(&e(Operator::Gt, &["3"]), Some("x")));
        assert!(holds(&e(Operator::DoesNotExist, &[]), None));
        assert!(!holds(&e(Operator::Other, &[]), Some("a")));
    }
}
