//! The cause in words: what the scheduler says, and what of the nodes and the pod it keeps to itself.

use super::analysis::Analysis;
use super::claim;
use super::explain::{NodeView, Resource, View, is_state_taint};
use super::words::{self, Kind, Reason, names};
use crate::diagnosis::Case;
use crate::diagnosis::rules::signature;
use crate::facts::{PodFacts, PodTerm};

pub(super) fn summary(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    let nodes = analysis.how_many();
    let view = analysis.view.as_ref();
    match analysis.kind {
        kind if kind.is_capacity() => {
            view.and_then(|view| shortage(view, kind)).unwrap_or_else(|| shortage_in_words(case, analysis))
        }
        Kind::Taint => taint_summary(analysis),
        // The scheduler looks no further at a closed node: what else is in the way there is known of amounts, labels and taints.
        Kind::Cordoned => match view.filter(|_| !hangs_on_other_pods(case.pod)).map(cordoned_names) {
            Some(names) if names.is_empty() => format!("closed for new pods (cordoned): {nodes}"),
            Some(names) => format!("{names} could take it, but {} closed for new pods (cordoned)", is_are(&names)),
            None => format!("closed for new pods (cordoned): {nodes}"),
        },
        Kind::Selector if analysis.is_enforced() => {
            format!("the scheduler's own configuration (addedAffinity of its profile) keeps it off {nodes}")
        }
        Kind::Selector => view
            .and_then(selector_summary)
            .unwrap_or_else(|| format!("{} is on none of the nodes{}", selector_text(case), of_total(analysis))),
        Kind::HostPort => {
            let ports = host_ports(case);
            let what = if ports.is_empty() { "a host port".to_owned() } else { format!("host port {ports}") };
            format!("needs {what}, which another pod has on {nodes}")
        }
        Kind::PvcNotFound => match analysis.claim() {
            Some(claim) => {
                format!("the PersistentVolumeClaim {claim} does not exist in namespace {}", case.pod.key.namespace)
            }
            None => "a PersistentVolumeClaim that it uses does not exist".to_owned(),
        },
        Kind::PvcUnbound => match (claim::asks_by_name(case), claims(case)) {
            (Some((claim, volume)), _) => format!(
                "its claim {claim} asks for the PersistentVolume {volume}, which is not there, does not fit or is another claim's"
            ),
            (None, names) if names.is_empty() => "a PersistentVolumeClaim that it uses has no volume yet".to_owned(),
            (None, names) => format!("waits for a volume for its PersistentVolumeClaim {names}, which is not bound"),
        },
        Kind::PvAffinity => format!("the volume of its claim {} cannot be used on {nodes}", claims(case)),
        Kind::VolumeZone => {
            format!("the volume of its claim {} lies in a zone other than that of {nodes}", claims(case))
        }
        Kind::StorageCapacity => {
            format!(
                "the storage that {nodes} can reach has too little free for its claim {}",
                claim::with_classes(case)
            )
        }
        Kind::BoundPvMissing => {
            format!("the PersistentVolume that its claim {} is bound to does not exist (any more)", claims(case))
        }
        Kind::NoMatchingPv => format!("no volume for its claim {} can be had on {nodes}", claim::with_classes(case)),
        Kind::PvcLost => {
            format!("the volume that its claim {} was bound to does not exist any more", named_claim(case, analysis))
        }
        Kind::PvcDeleting => format!(
            "its PersistentVolumeClaim {} is being deleted, so no further pod may use it",
            named_claim(case, analysis)
        ),
        Kind::PvcInUse => {
            format!("its claim {} is ReadWriteOncePod, and another pod uses it already", named_claim(case, analysis))
        }
        Kind::DiskConflict => format!("a volume of it is in use on {nodes} and cannot be mounted twice"),
        Kind::EphemeralPvc => match analysis.words().split_once(" was not created for pod") {
            Some((claim, _)) => {
                let name = claim.rsplit('/').next().unwrap_or(claim);
                format!("the claim {name}, which its ephemeral volume needs, exists already and is not its own")
            }
            None => "the claim for its ephemeral volume has not been created yet".to_owned(),
        },
        Kind::VolumeCount => format!("{nodes} can attach no further volume"),
        Kind::DraClaim => format!("its ResourceClaim cannot be allocated on {nodes}: {}", analysis.words()),
        Kind::NodeFeatures => format!("{nodes} lack features that it needs: {}", analysis.words()),
        Kind::Gang => format!("it is started only together with the other pods of its group: {}", analysis.words()),
        Kind::PodAffinity => format!(
            "must run beside {} (required pod affinity), and on {nodes} none of them runs",
            pods_of(&case.pod.pod_affinity, "other pods")
        ),
        Kind::PodAntiAffinity => format!(
            "must not run beside {} (required pod anti-affinity), and on {nodes} one of them runs",
            pods_of(&case.pod.pod_anti_affinity, "certain pods")
        ),
        Kind::ExistingAntiAffinity => format!(
            "on {nodes} a pod runs that must not share its place with this one (that pod's required anti-affinity)"
        ),
        Kind::Disjoint => format!(
            "no node meets all of its constraints at once: each of {} leaves other nodes",
            signature::between(&analysis.words(), "plugin(s) [", "]")
                .map_or("them".to_owned(), |p| p.replace(' ', ", "))
        ),
        Kind::NodeName => format!("may only run on the node that its spec.nodeName names, and that is not {nodes}"),
        Kind::TopologySpread => spread_summary(case, analysis, &nodes),
        Kind::NoNodes => "the cluster has no node that the scheduler knows".to_owned(),
        // Capacity is answered above.
        kind => format!("{nodes} cannot take it: {}", kind.cause()),
    }
}

/// A reason with the names that the scheduler keeps to itself.
pub(super) fn named(analysis: &Analysis<'_>, kind: Kind, text: &str) -> String {
    let of_nodes = analysis.view.as_ref().map(|view| match kind {
        Kind::Taint => names(view.taints.iter().map(String::as_str)),
        Kind::Cordoned => names(view.cordoned.iter().copied()),
        _ => String::new(),
    });
    match of_nodes.filter(|names| !names.is_empty()) {
        // An older scheduler names each taint itself.
        Some(names) if words::taint_key(text).is_none() => format!("{text}: {names}"),
        _ => text.to_owned(),
    }
}

/// Resources of which every node has too little, although the scheduler did not come so far as to say it.
pub(super) fn still_in_the_way(analysis: &Analysis<'_>) -> Vec<(Kind, String)> {
    let Some(view) = &analysis.view else { return Vec::new() };
    [Kind::Cpu, Kind::Memory, Kind::EphemeralStorage, Kind::Extended, Kind::Pods]
        .into_iter()
        .filter(|kind| !analysis.kind.is_capacity() && analysis.said(*kind).is_none())
        .filter(|kind| !view.nodes.is_empty() && view.failing(*kind) == view.nodes.len())
        .filter_map(|kind| Some((kind, format!("comes next: {}", shortage(view, kind)?))))
        .collect()
}

/// The claim that the scheduler names, else all of the pod.
fn named_claim(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    analysis.claim().map_or_else(|| claims(case), str::to_owned)
}

fn of_total(analysis: &Analysis<'_>) -> String {
    analysis.total.map(|n| format!(" ({n} in all)")).unwrap_or_default()
}

fn is_are(names: &str) -> &'static str {
    if names.contains(" and ") { "are" } else { "is" }
}

/// Whether a node may refuse the pod for what else runs there or is mounted: host ports, affinity, spread, claims.
fn hangs_on_other_pods(pod: &PodFacts) -> bool {
    let host_port = pod.containers.iter().any(|c| c.ports.iter().any(|port| port.host_port.is_some()));
    let near_others = !pod.pod_affinity.is_empty() || !pod.pod_anti_affinity.is_empty() || !pod.spread_over.is_empty();
    host_port || near_others || pod.claims().next().is_some()
}

/// Those that are cordoned and otherwise suitable.
fn cordoned_names(view: &View<'_>) -> String {
    let closed = || view.nodes.iter().filter(|n| n.cordoned);
    if closed().any(|n| n.obstacles() == 1) {
        return names(closed().filter(|n| n.obstacles() == 1).map(NodeView::name));
    }
    String::new()
}

/// `pods with app=web on the same node`, where there is one such term.
fn pods_of(terms: &[PodTerm], unnamed: &str) -> String {
    match terms {
        [term] if !term.selector.is_empty() => {
            let place = match term.topology_key.as_str() {
                "kubernetes.io/hostname" => "on the same node".to_owned(),
                key => format!("in the same {key}"),
            };
            format!("pods with {} {place}", signature::middle_cut(&term.selector, 60))
        }
        _ => unnamed.to_owned(),
    }
}

fn spread_summary(case: &Case<'_>, analysis: &Analysis<'_>, nodes: &str) -> String {
    let keys = names(case.pod.spread_over.iter().map(String::as_str));
    // One of several keys may be the missing one.
    let keys = if keys.is_empty() { "the topologyKey".to_owned() } else { format!("topologyKey {keys}") };
    let label = |r: &&Reason<'_>| r.kind == Some(Kind::TopologySpread) && r.text.contains("missing required label");
    match analysis.reasons.iter().find(label).and_then(|r| r.nodes) {
        Some(n) if Some(n) == analysis.said(Kind::TopologySpread) => {
            format!("{keys} of its topologySpreadConstraints is no label of {nodes}")
        }
        _ => format!("on {nodes} it would break its topologySpreadConstraints (maxSkew, {keys})"),
    }
}

/// `asks for 64 CPUs; node1 comes nearest with 1.9 free of 2 (62.1 short); no node is that large: ...`.
fn shortage(view: &View<'_>, kind: Kind) -> Option<String> {
    let nearest = view.nearest(kind);
    let (node, short) = nearest.first()?;
    let resource = &short.resource;
    let asks = resource.amount_of(short.asked);
    if matches!(resource, Resource::Pods) {
        let used = short.allocatable.saturating_sub(short.free);
        return Some(format!(
            "{} runs {used} pods of {} at most, and no other node takes it",
            node.name(),
            short.allocatable
        ));
    }
    if nearest.iter().all(|(_, s)| s.allocatable <= 0) {
        return Some(format!("asks for {asks}, and no node it may use offers any"));
    }
    let subject = match (node_by_name(view).is_some(), view.nodes.len()) {
        (true, _) => format!("its node {} has", node.name()),
        (false, 1) => format!("{} has", node.name()),
        (false, _) => format!("{} comes nearest with", node.name()),
    };
    let amount = |n: i64| resource.amount(n.max(0));
    let (free, of, missing) = (amount(short.free), amount(short.allocatable), amount(short.missing()));
    let others = node.shortfalls.iter().filter(|s| s.resource != *resource).map(|s| s.resource.name());
    let others = names(others);
    let others = if others.is_empty() { others } else { format!(", and too little {others}") };
    let out = format!("asks for {asks}; {subject} {free} free of {of} ({missing} short){others}");
    if let Some(roomy) = view.with_room().filter(|n| n.unmet.is_empty()) {
        let but = match roomy.taints.first() {
            None => "is cordoned".to_owned(),
            Some(taint) if is_state_taint(&taint.key) => format!("is {}", state_in_words(&taint.key)),
            Some(taint) => format!("it does not tolerate its taint {taint}"),
        };
        return Some(format!("{out}; {} has room, but {but}", roomy.name()));
    }
    let large_enough = nearest.iter().any(|(_, s)| s.fits_empty());
    let most = view.largest_that_fits(kind).map(|most| resource.quantity(most));
    match (large_enough, most) {
        (false, Some(most)) => Some(format!("{out}; no node is that large: lower the request to {most} at most")),
        (false, None) => Some(format!("{out}; no node is that large")),
        (true, Some(most)) => Some(format!("{out}; it fits an empty node, or with a request of {most} at most")),
        (true, None) => Some(format!("{out}; it fits an empty node")),
    }
}

/// The same where no node is known.
fn shortage_in_words(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    let asks = case.pod.effective_requests();
    let nodes = analysis.how_many();
    let resource = match analysis.kind {
        Kind::Cpu => Resource::Cpu,
        Kind::Memory => Resource::Memory,
        Kind::EphemeralStorage => Resource::EphemeralStorage,
        Kind::Pods => return format!("no room for a further pod (maxPods) on {nodes}"),
        _ => match analysis.extended() {
            Some(name) => Resource::Extended(name.into()),
            None => return format!("too little of a resource that it asks for on {nodes}"),
        },
    };
    match resource.of(&asks) {
        Some(asked) => format!("asks for {}, more than is free on {nodes}", resource.amount_of(asked)),
        None => format!("asks for more {} than is free on {nodes}", resource.name()),
    }
}

/// The node that the pod asks for by name, as the pods of a DaemonSet do.
fn node_by_name<'v>(view: &'v View<'_>) -> Option<&'v str> {
    let fields = view.pod.node_affinity.iter().flat_map(|term| &term.fields);
    fields.filter(|e| e.key == "metadata.name").find_map(|e| e.values.first()).map(String::as_str)
}

fn taint_summary(analysis: &Analysis<'_>) -> String {
    let Some(view) = &analysis.view else { return told_taint_summary(analysis) };
    let nodes = analysis.how_many();
    let Some((_, taint)) = view.blamed_taint() else { return format!("does not tolerate the taints of {nodes}") };
    let (same, other): (Vec<_>, Vec<_>) =
        view.nodes.iter().filter(|n| !n.taints.is_empty()).partition(|n| n.taints.contains(&taint));
    let who = names(same.iter().map(|n| n.name()));
    let rest = match other.as_slice() {
        [] => "no other node takes it".to_owned(),
        [one] => format!("{} has another taint", one.name()),
        several => format!("{} have other taints", names(several.iter().map(|n| n.name()))),
    };
    if is_state_taint(&taint.key) {
        let is = if same.len() == 1 { "is" } else { "are" };
        return format!("{who} {is} {} (taint {taint}), and {rest}", state_in_words(&taint.key));
    }
    let has = if same.len() == 1 { "has" } else { "have" };
    format!("does not tolerate the taint {taint} that {who} {has}, and {rest}")
}

/// The same where no node is known.
fn told_taint_summary(analysis: &Analysis<'_>) -> String {
    let Some((told, key)) = analysis.told_taint().and_then(|r| Some((r, words::taint_key(r.text)?))) else {
        return format!("does not tolerate the taints of {}", analysis.how_many());
    };
    let nodes = analysis.so_many(told.nodes);
    if is_state_taint(key) {
        let has = if nodes.starts_with("1 ") || analysis.total == Some(1) { "is" } else { "are" };
        // Old schedulers looked at the nodes' conditions instead.
        let taint = if told.text.contains(key) { format!(" (taint {key})") } else { String::new() };
        return format!("{nodes} {has} {}{taint}, and no other takes it", state_in_words(key));
    }
    let others = analysis.said(Kind::Taint).zip(told.nodes).map_or(0, |(all, these)| all.saturating_sub(these));
    let others = if others > 0 { ", nor those of the others" } else { "" };
    format!(
        "does not tolerate the taint {} of {nodes}{others}",
        words::taint(told.text).unwrap_or_else(|| key.to_owned())
    )
}

fn state_in_words(key: &str) -> &'static str {
    match key {
        "node.kubernetes.io/not-ready" => "not ready",
        "node.kubernetes.io/unreachable" => "unreachable",
        "node.kubernetes.io/memory-pressure" => "short of memory",
        "node.kubernetes.io/disk-pressure" => "short of disk",
        "node.kubernetes.io/pid-pressure" => "short of process ids",
        "node.kubernetes.io/network-unavailable" => "without network",
        "node.kubernetes.io/out-of-service" => "out of service",
        "node.kubernetes.io/unschedulable" => "cordoned",
        "node.cloudprovider.kubernetes.io/uninitialized" => "not yet set up by the cloud provider",
        "node.cloudprovider.kubernetes.io/shutdown" => "shut down",
        _ => "not fit for pods",
    }
}

fn selector_summary(view: &View<'_>) -> Option<String> {
    let nearest = view.nearest_by_labels();
    let node = nearest.first()?;
    let unmet = node.unmet.iter().find(|u| u.resembles.is_some()).or(node.unmet.first())?;
    if unmet.is_node_name() {
        let named = unmet.values.join(", ");
        return Some(if view.has_any(&unmet.values) {
            format!(
                "its node affinity contradicts itself: it asks for node {named}, and for something that rules it out"
            )
        } else {
            format!("may only run on node {named}, which does not exist")
        });
    }
    if unmet.is_host_name() && node.unmet.len() == 1 && view.pod.node_affinity.len() <= 1 {
        let misspelt = unmet.resembles.as_ref().map(|(_, value)| format!(" (misspelt? There is {value})"));
        return Some(format!(
            "may only run on node {} (label {}), and no such node can be found{}",
            unmet.values.join(" or "),
            unmet.key,
            misspelt.unwrap_or_default()
        ));
    }
    // The one that is told of first, and how many more there are.
    let shown: Vec<_> = std::iter::once(unmet).chain(node.unmet.iter().filter(|u| *u != unmet)).take(2).collect();
    let wanted: Vec<_> = shown.iter().map(|u| u.wanted()).collect();
    let more = match node.unmet.len() {
        n if n > 2 => format!(" and {} more", n - 2),
        _ => String::new(),
    };
    let nodes = match view.total {
        1 => "the only node does not meet".to_owned(),
        n => format!("none of {n} nodes meets"),
    };
    let what = match view.pod.node_affinity.len() {
        _ if unmet.path.starts_with("spec.nodeSelector") => "nodeSelector".to_owned(),
        0 | 1 => "node affinity".to_owned(),
        terms => format!("node affinity (the nearest of {terms} alternatives)"),
    };
    let name = node.name();
    let hints: Vec<_> = shown
        .iter()
        .map(|u| match (&u.resembles, &u.has) {
            (Some((key, value)), _) => format!("{name} has {key}={value} (misspelt?)"),
            (None, Some(value)) => match view.values_of(&u.key).as_slice() {
                [] | [_] => format!("{name} has {}={value}", u.key),
                values => format!("the nodes have {}", names(values.iter().copied())),
            },
            (None, None) => format!("{name} has no label {}", u.key),
        })
        .collect();
    Some(format!("{nodes} its {what} {}{more}; {}", wanted.join(", "), hints.join(", ")))
}

fn selector_text(case: &Case<'_>) -> String {
    let pod = case.pod;
    let labels: Vec<_> = pod.node_selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
    match (labels.is_empty(), pod.node_affinity.is_empty()) {
        (false, true) => format!("its nodeSelector {}", labels.join(", ")),
        (false, false) => format!("its nodeSelector {} with its node affinity", labels.join(", ")),
        (true, _) => "what its node affinity requires".to_owned(),
    }
}

pub(super) fn host_ports(case: &Case<'_>) -> String {
    let ports = case.pod.containers.iter().flat_map(|c| &c.ports).filter_map(|p| p.host_port.filter(|n| *n > 0));
    let mut ports: Vec<_> = ports.map(|n| n.to_string()).collect();
    ports.dedup();
    ports.join(", ")
}

pub(super) fn claims(case: &Case<'_>) -> String {
    names(case.pod.claims())
}
