//! The cause in words: what the scheduler says, and what of the nodes and the pod it keeps to itself.

use super::analysis::Analysis;
use super::claim;
use super::explain::{NodeView, Resource, View, is_state_taint};
use super::words::{self, Kind, Reason, names};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::message as signature;
use crate::diagnosis::{Case, Language};
use crate::facts::{PodFacts, PodTerm};

pub(super) fn summary(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    let nodes = analysis.how_many();
    let view = analysis.view.as_ref();
    match analysis.kind {
        kind if kind.is_capacity() => view
            .and_then(|view| shortage(case.language(), view, kind))
            .unwrap_or_else(|| shortage_in_words(case, analysis)),
        Kind::Taint => taint_summary(analysis),
        // The scheduler looks no further at a closed node: what else is in the way there is known of amounts, labels and taints.
        Kind::Cordoned => match view.filter(|_| !hangs_on_other_pods(case.pod)).map(could_take_it) {
            Some(open) if open.is_empty() => say!(case, "closed for new pods (cordoned): {nodes}", nodes),
            Some(open) => {
                let names = names(case.language(), open.iter().copied());
                if open.len() == 1 {
                    say!(case, "{names} could take it, but is closed for new pods (cordoned)", names)
                } else {
                    say!(case, "{names} could take it, but are closed for new pods (cordoned)", names)
                }
            }
            None => say!(case, "closed for new pods (cordoned): {nodes}", nodes),
        },
        Kind::Selector if analysis.is_enforced() => {
            say!(case, "the scheduler's own configuration (addedAffinity of its profile) keeps it off {nodes}", nodes)
        }
        Kind::Selector => view.and_then(|view| selector_summary(case.language(), view)).unwrap_or_else(|| {
            say!(
                case,
                "{wanted} is on none of the nodes{of_total}",
                wanted = selector_text(case),
                of_total = of_total(analysis)
            )
        }),
        Kind::HostPort => {
            let ports = host_ports(case);
            let what = if ports.is_empty() {
                phrase!(case, "a host port").to_owned()
            } else {
                say!(case, "host port {ports}", ports)
            };
            say!(case, "needs {what}, which another pod has on {nodes}", what, nodes)
        }
        kind if kind.is_about_a_claim() || matches!(kind, Kind::DiskConflict | Kind::EphemeralPvc) => {
            of_claim(case, analysis, &nodes)
        }
        Kind::VolumeCount => say!(case, "{nodes} can attach no further volume", nodes),
        Kind::DraClaim => {
            say!(case, "its ResourceClaim cannot be allocated on {nodes}: {words}", nodes, words = analysis.words())
        }
        Kind::NodeFeatures => {
            say!(case, "{nodes} lack features that it needs: {words}", nodes, words = analysis.words())
        }
        Kind::Gang => say!(
            case,
            "it is started only together with the other pods of its group: {words}",
            words = analysis.words()
        ),
        Kind::PodAffinity => say!(
            case,
            "must run beside {pods} (required pod affinity), and on {nodes} none of them runs",
            pods = pods_of(case.language(), &case.pod.pod_affinity, phrase!(case, "other pods")),
            nodes
        ),
        Kind::PodAntiAffinity => say!(
            case,
            "must not run beside {pods} (required pod anti-affinity), and on {nodes} one of them runs",
            pods = pods_of(case.language(), &case.pod.pod_anti_affinity, phrase!(case, "certain pods")),
            nodes
        ),
        Kind::ExistingAntiAffinity => say!(
            case,
            "on {nodes} a pod runs that must not share its place with this one (that pod's required anti-affinity)",
            nodes
        ),
        Kind::Disjoint => say!(
            case,
            "no node meets all of its constraints at once: each of {plugins} leaves other nodes",
            plugins = signature::between(&analysis.words(), "plugin(s) [", "]")
                .map_or_else(|| phrase!(case, "them").to_owned(), |p| p.replace(' ', ", "))
        ),
        Kind::NodeName => {
            say!(case, "may only run on the node that its spec.nodeName names, and that is not {nodes}", nodes)
        }
        Kind::TopologySpread => spread_summary(case, analysis, &nodes),
        Kind::NoNodes => phrase!(case, "the cluster has no node that the scheduler knows").to_owned(),
        // Capacity is answered above.
        kind => say!(case, "{nodes} cannot take it: {cause}", nodes, cause = kind.cause()),
    }
}

/// The same of its volumes.
fn of_claim(case: &Case<'_>, analysis: &Analysis<'_>, nodes: &str) -> String {
    match analysis.kind {
        Kind::PvcNotFound => match analysis.claim() {
            Some(claim) => {
                say!(
                    case,
                    "the PersistentVolumeClaim {claim} does not exist in namespace {namespace}",
                    claim,
                    namespace = case.pod.key.namespace
                )
            }
            None => phrase!(case, "a PersistentVolumeClaim that it uses does not exist").to_owned(),
        },
        Kind::PvcUnbound => match (claim::asks_by_name(case), claims(case)) {
            (Some((claim, volume)), _) => say!(
                case,
                "its claim {claim} asks for the PersistentVolume {volume}, which is not there, does not fit or is another claim's",
                claim,
                volume
            ),
            (None, names) if names.is_empty() => {
                phrase!(case, "a PersistentVolumeClaim that it uses has no volume yet").to_owned()
            }
            (None, names) => {
                say!(case, "waits for a volume for its PersistentVolumeClaim {names}, which is not bound", names)
            }
        },
        Kind::PvAffinity => {
            say!(case, "the volume of its claim {claims} cannot be used on {nodes}", claims = claims(case), nodes)
        }
        Kind::VolumeZone => {
            say!(
                case,
                "the volume of its claim {claims} lies in a zone other than that of {nodes}",
                claims = claims(case),
                nodes
            )
        }
        Kind::StorageCapacity => {
            say!(
                case,
                "the storage that {nodes} can reach has too little free for its claim {claims}",
                nodes,
                claims = claim::with_classes(case)
            )
        }
        Kind::BoundPvMissing => {
            say!(
                case,
                "the PersistentVolume that its claim {claims} is bound to does not exist (any more)",
                claims = claims(case)
            )
        }
        Kind::NoMatchingPv => say!(
            case,
            "no volume for its claim {claims} can be had on {nodes}",
            claims = claim::with_classes(case),
            nodes
        ),
        Kind::PvcLost => {
            say!(
                case,
                "the volume that its claim {claim} was bound to does not exist any more",
                claim = named_claim(case, analysis)
            )
        }
        Kind::PvcDeleting => say!(
            case,
            "its PersistentVolumeClaim {claim} is being deleted, so no further pod may use it",
            claim = named_claim(case, analysis)
        ),
        Kind::PvcInUse => {
            say!(
                case,
                "its claim {claim} is ReadWriteOncePod, and another pod uses it already",
                claim = named_claim(case, analysis)
            )
        }
        Kind::DiskConflict => say!(case, "a volume of it is in use on {nodes} and cannot be mounted twice", nodes),
        Kind::EphemeralPvc => match analysis.words().split_once(" was not created for pod") {
            Some((claim, _)) => {
                let name = claim.rsplit('/').next().unwrap_or(claim);
                say!(
                    case,
                    "the claim {name}, which its ephemeral volume needs, exists already and is not its own",
                    name
                )
            }
            None => phrase!(case, "the claim for its ephemeral volume has not been created yet").to_owned(),
        },
        kind => say!(case, "{nodes} cannot take it: {cause}", nodes, cause = kind.cause()),
    }
}

/// A reason with the names that the scheduler keeps to itself.
pub(super) fn named(analysis: &Analysis<'_>, kind: Kind, text: &str) -> String {
    let of_nodes = analysis.view.as_ref().map(|view| match kind {
        Kind::Taint => names(analysis.language, view.taints.iter().map(String::as_str)),
        Kind::Cordoned => names(analysis.language, view.cordoned.iter().copied()),
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
        .filter_map(|kind| {
            Some((kind, say!(analysis, "comes next: {words}", words = shortage(analysis.language, view, kind)?)))
        })
        .collect()
}

/// The claim that the scheduler names, else all of the pod.
fn named_claim(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    analysis.claim().map_or_else(|| claims(case), str::to_owned)
}

fn of_total(analysis: &Analysis<'_>) -> String {
    analysis.total.map(|n| say!(analysis, " ({n} in all)", n)).unwrap_or_default()
}

/// Whether a node may refuse the pod for what else runs there or is mounted: host ports, affinity, spread, claims.
fn hangs_on_other_pods(pod: &PodFacts) -> bool {
    let host_port = pod.containers.iter().any(|c| c.ports.iter().any(|port| port.host_port.is_some()));
    let near_others = !pod.pod_affinity.is_empty() || !pod.pod_anti_affinity.is_empty() || !pod.spread_over.is_empty();
    host_port || near_others || pod.claims().next().is_some()
}

/// Those that are cordoned and otherwise suitable.
fn could_take_it<'a>(view: &View<'a>) -> Vec<&'a str> {
    view.nodes.iter().filter(|n| n.cordoned && n.obstacles() == 1).map(NodeView::name).collect()
}

/// `pods with app=web on the same node`, where there is one such term.
fn pods_of(language: Language, terms: &[PodTerm], unnamed: &str) -> String {
    match terms {
        [term] if !term.selector.is_empty() => {
            let place = match term.topology_key.as_str() {
                "kubernetes.io/hostname" => phrase!(language, "on the same node").to_owned(),
                key => say!(language, "in the same {key}", key),
            };
            say!(language, "pods with {labels} {place}", labels = signature::middle_cut(&term.selector, 60), place)
        }
        _ => unnamed.to_owned(),
    }
}

fn spread_summary(case: &Case<'_>, analysis: &Analysis<'_>, nodes: &str) -> String {
    let keys = names(case.language(), case.pod.spread_over.iter().map(String::as_str));
    // One of several keys may be the missing one.
    let keys =
        if keys.is_empty() { phrase!(case, "the topologyKey").to_owned() } else { format!("topologyKey {keys}") };
    let label = |r: &&Reason<'_>| r.kind == Some(Kind::TopologySpread) && r.text.contains("missing required label");
    match analysis.reasons.iter().find(label).and_then(|r| r.nodes) {
        Some(n) if Some(n) == analysis.said(Kind::TopologySpread) => {
            say!(case, "{keys} of its topologySpreadConstraints is no label of {nodes}", keys, nodes)
        }
        _ => say!(case, "on {nodes} it would break its topologySpreadConstraints (maxSkew, {keys})", nodes, keys),
    }
}

/// `asks for 64 CPUs; node1 comes nearest with 1.9 free of 2 (62.1 short); no node is that large: ...`.
fn shortage(language: Language, view: &View<'_>, kind: Kind) -> Option<String> {
    let nearest = view.nearest(kind);
    let (node, short) = nearest.first()?;
    let resource = &short.resource;
    let asks = resource.amount_of(language, short.asked);
    if matches!(resource, Resource::Pods) {
        let used = short.allocatable.saturating_sub(short.free);
        return Some(say!(
            language,
            "{node} runs {used} pods of {most} at most, and no other node takes it",
            node = node.name(),
            used,
            most = short.allocatable
        ));
    }
    if nearest.iter().all(|(_, s)| s.allocatable <= 0) {
        return Some(say!(language, "asks for {asks}, and no node it may use offers any", asks));
    }
    let subject = match (node_by_name(view).is_some(), view.nodes.len()) {
        (true, _) => say!(language, "its node {node} has", node = node.name()),
        (false, 1) => say!(language, "{node} has", node = node.name()),
        (false, _) => say!(language, "{node} comes nearest with", node = node.name()),
    };
    let amount = |n: i64| resource.amount(n.max(0));
    let (free, of, missing) = (amount(short.free), amount(short.allocatable), amount(short.missing()));
    let others = node.shortfalls.iter().filter(|s| s.resource != *resource).map(|s| s.resource.name());
    let others = names(language, others);
    let others = if others.is_empty() { others } else { say!(language, ", and too little {others}", others) };
    let out = if node.state.all_pods_known {
        say!(
            language,
            "asks for {asks}; {subject} {free} free of {of} ({missing} short){others}",
            asks,
            subject,
            free,
            of,
            missing,
            others
        )
    } else {
        say!(
            language,
            "asks for {asks}; {subject} at most {free} free of {of}{others}",
            asks,
            subject,
            free,
            of,
            others
        )
    };
    if let Some(roomy) = view.with_room().filter(|n| n.unmet.is_empty()) {
        let but = match roomy.taints.first() {
            None => phrase!(language, "is cordoned").to_owned(),
            Some(taint) if is_state_taint(&taint.key) => {
                say!(language, "is {state}", state = state_in_words(language, &taint.key))
            }
            Some(taint) => say!(language, "it does not tolerate its taint {taint}", taint),
        };
        return Some(say!(language, "{out}; {node} has room, but {but}", out, node = roomy.name(), but));
    }
    let large_enough = nearest.iter().any(|(_, s)| s.fits_empty());
    let most = view.largest_that_fits(kind).map(|most| resource.quantity(most));
    match (large_enough, most) {
        (false, Some(most)) => {
            Some(say!(language, "{out}; no node is that large: lower the request to {most} at most", out, most))
        }
        (false, None) => Some(say!(language, "{out}; no node is that large", out)),
        (true, Some(most)) => {
            Some(say!(language, "{out}; it fits an empty node, or with a request of {most} at most", out, most))
        }
        (true, None) => Some(say!(language, "{out}; it fits an empty node", out)),
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
        Kind::Pods => return say!(case, "no room for a further pod (maxPods) on {nodes}", nodes),
        _ => match analysis.extended() {
            Some(name) => Resource::Extended(name.into()),
            None => return say!(case, "too little of a resource that it asks for on {nodes}", nodes),
        },
    };
    match resource.of(&asks) {
        Some(asked) => say!(
            case,
            "asks for {asked}, more than is free on {nodes}",
            asked = resource.amount_of(case.language(), asked),
            nodes
        ),
        None => say!(case, "asks for more {resource} than is free on {nodes}", resource = resource.name(), nodes),
    }
}

/// The node that the pod asks for by name, as the pods of a DaemonSet do.
fn node_by_name<'v>(view: &'v View<'_>) -> Option<&'v str> {
    let fields = view.pod.node_affinity.iter().flat_map(|term| &term.fields);
    fields.filter(|e| e.key == "metadata.name").find_map(|e| e.values.first()).map(String::as_str)
}

fn taint_summary(analysis: &Analysis<'_>) -> String {
    let language = analysis.language;
    let Some(view) = &analysis.view else { return told_taint_summary(analysis) };
    let nodes = analysis.how_many();
    let Some((_, taint)) = view.blamed_taint() else {
        return say!(analysis, "does not tolerate the taints of {nodes}", nodes);
    };
    let (same, other): (Vec<_>, Vec<_>) =
        view.nodes.iter().filter(|n| !n.taints.is_empty()).partition(|n| n.taints.contains(&taint));
    let who = names(language, same.iter().map(|n| n.name()));
    let rest = match other.as_slice() {
        [] => phrase!(analysis, "no other node takes it").to_owned(),
        [one] => say!(analysis, "{node} has another taint", node = one.name()),
        several => {
            say!(analysis, "{nodes} have other taints", nodes = names(language, several.iter().map(|n| n.name())))
        }
    };
    if is_state_taint(&taint.key) {
        let state = state_in_words(language, &taint.key);
        return if same.len() == 1 {
            say!(language, "{who} is {state} (taint {taint}), and {rest}", who, state, taint, rest)
        } else {
            say!(language, "{who} are {state} (taint {taint}), and {rest}", who, state, taint, rest)
        };
    }
    if same.len() == 1 {
        say!(language, "does not tolerate the taint {taint} that {who} has, and {rest}", taint, who, rest)
    } else {
        say!(language, "does not tolerate the taint {taint} that {who} have, and {rest}", taint, who, rest)
    }
}

/// The same where no node is known.
fn told_taint_summary(analysis: &Analysis<'_>) -> String {
    let language = analysis.language;
    let Some((told, key)) = analysis.told_taint().and_then(|r| Some((r, words::taint_key(r.text)?))) else {
        return say!(analysis, "does not tolerate the taints of {nodes}", nodes = analysis.how_many());
    };
    let nodes = analysis.so_many(told.nodes);
    if is_state_taint(key) {
        // Old schedulers looked at the nodes' conditions instead.
        let taint = if told.text.contains(key) { format!(" (taint {key})") } else { String::new() };
        let state = state_in_words(language, key);
        return if told.nodes == Some(1) || analysis.total == Some(1) {
            say!(language, "{nodes} is {state}{taint}, and no other takes it", nodes, state, taint)
        } else {
            say!(language, "{nodes} are {state}{taint}, and no other takes it", nodes, state, taint)
        };
    }
    let others = analysis.said(Kind::Taint).zip(told.nodes).map_or(0, |(all, these)| all.saturating_sub(these));
    let others = if others > 0 { phrase!(analysis, ", nor those of the others") } else { "" };
    say!(
        analysis,
        "does not tolerate the taint {taint} of {nodes}{others}",
        taint = words::taint(told.text).unwrap_or_else(|| key.to_owned()),
        nodes,
        others
    )
}

fn state_in_words(language: Language, key: &str) -> &'static str {
    match key {
        "node.kubernetes.io/not-ready" => phrase!(language, "not ready"),
        "node.kubernetes.io/unreachable" => phrase!(language, "unreachable"),
        "node.kubernetes.io/memory-pressure" => phrase!(language, "short of memory"),
        "node.kubernetes.io/disk-pressure" => phrase!(language, "short of disk"),
        "node.kubernetes.io/pid-pressure" => phrase!(language, "short of process ids"),
        "node.kubernetes.io/network-unavailable" => phrase!(language, "without network"),
        "node.kubernetes.io/out-of-service" => phrase!(language, "out of service"),
        "node.kubernetes.io/unschedulable" => phrase!(language, "cordoned"),
        "node.cloudprovider.kubernetes.io/uninitialized" => phrase!(language, "not yet set up by the cloud provider"),
        "node.cloudprovider.kubernetes.io/shutdown" => phrase!(language, "shut down"),
        _ => phrase!(language, "not fit for pods"),
    }
}

fn selector_summary(language: Language, view: &View<'_>) -> Option<String> {
    let nearest = view.nearest_by_labels();
    let node = nearest.first()?;
    let unmet = node.unmet.iter().find(|u| u.resembles.is_some()).or(node.unmet.first())?;
    if unmet.is_node_name() {
        let named = unmet.values.join(", ");
        return Some(if view.has_any(&unmet.values) {
            say!(
                language,
                "its node affinity contradicts itself: it asks for node {named}, and for something that rules it out",
                named
            )
        } else {
            say!(language, "may only run on node {named}, which does not exist", named)
        });
    }
    if unmet.is_host_name() && node.unmet.len() == 1 && view.pod.node_affinity.len() <= 1 {
        let misspelt =
            unmet.resembles.as_ref().map(|(_, value)| say!(language, " (misspelt? There is {value})", value));
        return Some(say!(
            language,
            "may only run on node {names} (label {label}), and no such node can be found{misspelt}",
            names = unmet.values.join(phrase!(language, " or ")),
            label = unmet.key,
            misspelt = misspelt.unwrap_or_default()
        ));
    }
    // The one that is told of first, and how many more there are.
    let shown: Vec<_> = std::iter::once(unmet).chain(node.unmet.iter().filter(|u| *u != unmet)).take(2).collect();
    let wanted: Vec<_> = shown.iter().map(|u| u.wanted()).collect();
    let more = match node.unmet.len() {
        n if n > 2 => say!(language, " and {n} more", n = n - 2),
        _ => String::new(),
    };
    let nodes = match view.total {
        1 => phrase!(language, "the only node does not meet").to_owned(),
        n => say!(language, "none of {n} nodes meets", n),
    };
    let what = match view.pod.node_affinity.len() {
        _ if unmet.path.starts_with("spec.nodeSelector") => "nodeSelector".to_owned(),
        0 | 1 => "node affinity".to_owned(),
        terms => say!(language, "node affinity (the nearest of {terms} alternatives)", terms),
    };
    let name = node.name();
    let hints: Vec<_> = shown
        .iter()
        .map(|u| match (&u.resembles, &u.has) {
            (Some((key, value)), _) => say!(language, "{name} has {key}={value} (misspelt?)", name, key, value),
            (None, Some(value)) => match view.values_of(&u.key).as_slice() {
                [] | [_] => say!(language, "{name} has {key}={value}", name, key = u.key, value),
                values => say!(language, "the nodes have {values}", values = names(language, values.iter().copied())),
            },
            (None, None) => say!(language, "{name} has no label {key}", name, key = u.key),
        })
        .collect();
    Some(say!(
        language,
        "{nodes} its {what} {wanted}{more}; {hints}",
        nodes,
        what,
        wanted = wanted.join(", "),
        more,
        hints = hints.join(", ")
    ))
}

fn selector_text(case: &Case<'_>) -> String {
    let pod = case.pod;
    let labels: Vec<_> = pod.node_selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
    match (labels.is_empty(), pod.node_affinity.is_empty()) {
        (false, true) => format!("its nodeSelector {}", labels.join(", ")),
        (false, false) => say!(case, "its nodeSelector {labels} with its node affinity", labels = labels.join(", ")),
        (true, _) => phrase!(case, "what its node affinity requires").to_owned(),
    }
}

pub(super) fn host_ports(case: &Case<'_>) -> String {
    let ports = case.pod.containers.iter().flat_map(|c| &c.ports).filter_map(|p| p.host_port.filter(|n| *n > 0));
    let mut ports: Vec<_> = ports.map(|n| n.to_string()).collect();
    ports.dedup();
    ports.join(", ")
}

pub(super) fn claims(case: &Case<'_>) -> String {
    names(case.language(), case.pod.claims())
}
