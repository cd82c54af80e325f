//! Root causes outside of the pod: missing capacity or labels on all nodes, a taint on all nodes, a node that is down.

use super::nodes::{NodeView, Shortfall, View};
use super::resource::Resource;
use super::words::Check;
use crate::case::Case;
use crate::facts::Operator;
use crate::signals::node_ready;

/// The taints of a node that is not Ready.
const OUTAGE: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// The node that the pod waits for, if the taint of its outage is the only obstacle.
pub(super) fn node_down<'v>(case: &Case<'_>, view: &'v View<'_>) -> Option<&'v str> {
    let (node, taint) = view.decisive_taint()?;
    let is_down =
        OUTAGE.contains(&&*taint.key) && node_ready::is_down(node.state, case.catalogue, case.thresholds, case.now);
    is_down.then(|| node.name())
}

/// Whether the pod does not restrict itself to a part of the cluster. A full part is no fault of the cluster.
fn may_go_anywhere(view: &View<'_>) -> bool {
    view.selects_all && view.pod.effective_requests().extended.is_empty()
}

/// The exhausted resource, if all nodes are full or none has such a device. A request that exceeds even an empty node
/// is the pod's own fault.
pub(super) fn no_room(check: Check, view: &View<'_>) -> Option<String> {
    let short: Vec<_> = view.nodes.iter().map(|node| Some((node, node.short_of(check)?))).collect::<Option<_>>()?;
    let is_full = |(node, _): &(&NodeView<'_>, &Shortfall)| {
        node.taints.is_empty() && !node.cordoned && node.shortfalls.iter().all(Shortfall::fits_empty)
    };
    let (_, first) = short.first()?;
    match &first.resource {
        Resource::Extended(name) => {
            let nowhere = short.iter().all(|(_, s)| s.allocatable <= 0);
            (nowhere || short.iter().any(is_full)).then(|| name.to_string())
        }
        resource => (may_go_anywhere(view) && short.iter().any(is_full)).then(|| resource.name().to_owned()),
    }
}

/// The taint on all nodes. If there are several, the first that a user set, as taints for a node's state go away by
/// themselves.
pub(super) fn one_taint<'v>(view: &'v View<'_>) -> Option<&'v str> {
    let (node, blamed) = view.decisive_taint().filter(|_| may_go_anywhere(view))?;
    let is_everywhere = |key: &str| view.nodes.iter().all(|n| n.taints.iter().any(|t| t.key == key));
    let mut keys = std::iter::once(blamed).chain(node.taints.iter().copied()).map(|taint| taint.key.as_str());
    keys.find(|key| is_everywhere(key))
}

/// The node label that the pod requires, if no node has it.
pub(super) fn missing_label(case: &Case<'_>, view: &View<'_>) -> Option<String> {
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
    Some(missing.requirement())
}
