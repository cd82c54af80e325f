//! What keeps a pod from its node, where that is not the pod: a claim or its class, a label or room that no node has, one
//! taint on all nodes.

use super::analysis::Analysis;
use super::claim;
use super::explain::{NodeView, Resource, Shortfall, View};
use super::words::Kind;
use crate::api::Root;
use crate::diagnosis::{Case, RootKind, node, roots};
use crate::facts::Operator;

/// The taints of a node that is not Ready.
const OUTAGE: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub(super) fn of(case: &Case<'_>, analysis: &Analysis<'_>) -> Option<Root> {
    let view = || analysis.view.as_ref();
    match analysis.kind {
        kind if kind.is_capacity() => no_room(kind, view()?),
        Kind::Taint => one_taint(view()?),
        Kind::Selector if !analysis.is_enforced() => missing_label(case, view()?),
        Kind::PvcNotFound | Kind::PvcLost | Kind::PvcDeleting => match analysis.claim() {
            Some(name) => Some(RootKind::PersistentVolumeClaim.named(name)),
            None => roots::only_claim(case),
        },
        Kind::StorageCapacity => claim::only_class(case).map(|class| RootKind::StorageClass.named(class)),
        Kind::PvcUnbound | Kind::NoMatchingPv => claim::only_unbound(case).or_else(|| roots::only_claim(case)),
        Kind::PvAffinity | Kind::VolumeZone | Kind::BoundPvMissing | Kind::PvcInUse => roots::only_claim(case),
        _ => None,
    }
}

/// The node that the pod waits for, where nothing but the taint of its outage keeps the pod away.
pub(super) fn down(case: &Case<'_>, analysis: &Analysis<'_>) -> Option<Root> {
    let (node, taint) = analysis.view.as_ref().filter(|_| analysis.kind == Kind::Taint)?.blamed_taint()?;
    let is_down = OUTAGE.contains(&&*taint.key) && node::is_down(node.state, case.thresholds, case.now);
    is_down.then(|| RootKind::Node.named(node.name()))
}

/// Whether the pod restricts itself to no part of the cluster: that a part is full or closed is no fault of the whole.
fn may_go_anywhere(view: &View<'_>) -> bool {
    view.selects_all && view.pod.effective_requests().extended.is_empty()
}

/// All nodes are full of what the pod asks for, or none has such a device. What no node could give even if it were empty
/// is too much to ask for.
fn no_room(kind: Kind, view: &View<'_>) -> Option<Root> {
    let short: Vec<_> = view.nodes.iter().map(|node| Some((node, node.short_of(kind)?))).collect::<Option<_>>()?;
    let is_full = |(node, _): &(&NodeView<'_>, &Shortfall)| {
        node.taints.is_empty() && !node.cordoned && node.shortfalls.iter().all(Shortfall::fits_empty)
    };
    let (_, first) = short.first()?;
    match &first.resource {
        Resource::Extended(name) => {
            let nowhere = short.iter().all(|(_, s)| s.allocatable <= 0);
            (nowhere || short.iter().any(is_full)).then(|| RootKind::ExtendedResource.named(name))
        }
        resource => {
            (may_go_anywhere(view) && short.iter().any(is_full)).then(|| RootKind::Capacity.named(resource.name()))
        }
    }
}

/// The taint that closes all nodes; of several the first that somebody set, as that of a node's state goes by itself.
fn one_taint(view: &View<'_>) -> Option<Root> {
    let (node, blamed) = view.blamed_taint().filter(|_| may_go_anywhere(view))?;
    let is_everywhere = |key: &str| view.nodes.iter().all(|n| n.taints.iter().any(|t| t.key == key));
    let mut keys = std::iter::once(blamed).chain(node.taints.iter().copied()).map(|taint| taint.key.as_str());
    keys.find(|key| is_everywhere(key)).map(|key| RootKind::Taint.named(key))
}

/// What the pod asks for of a node's labels, where not one node has it.
fn missing_label(case: &Case<'_>, view: &View<'_>) -> Option<Root> {
    let nearest = *view.nearest_by_labels().first()?;
    let is_nowhere = |key: &str, values: Option<&[String]>| {
        let mut has = case.nodes.values().filter_map(|node| node.facts.labels.get(key));
        !has.any(|value| values.is_none_or(|values| values.iter().any(|known| known == value)))
    };
    let missing = nearest.unmet.iter().filter(|unmet| !unmet.is_node_name()).find(|unmet| match unmet.operator {
        Operator::In => is_nowhere(&unmet.key, Some(&unmet.values)),
        Operator::Exists => is_nowhere(&unmet.key, None),
        _ => false,
    })?;
    Some(RootKind::NodeLabel.named(&missing.wanted()))
}
