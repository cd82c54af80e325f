//! Why a pod has no node: what the scheduler says, and what the nodes themselves tell.

mod claim;
mod explain;
mod remedies;
mod rows;
#[cfg(test)]
pub(super) mod tests;
mod words;

use std::borrow::Cow;

use self::explain::{NodeView, Resource, View, is_control_plane_taint, is_state_taint};
use self::words::{Kind, Reason};
use crate::api::{Confidence, Evidence};
use crate::diagnosis::rules::signature;
use crate::diagnosis::{Case, Finding, Verdict, evidence, text};
use crate::facts::{Condition, Phase, PodFacts, PodTerm, Timestamp, VolumeSource, after};

pub(in crate::diagnosis) use self::claim::wants as claims_wanted;
pub(super) use self::rows::RULES;

/// A pod that no scheduler has touched for this long has none. (A busy scheduler answers within seconds.)
const SILENCE: i64 = 60;
/// The most nodes that evidence lists.
const NODES_SHOWN: usize = 3;

/// What the scheduler said, and what of it is the cause.
struct Analysis<'a> {
    reasons: Vec<Reason<'a>>,
    total: Option<u32>,
    kind: Kind,
    /// Whether nothing speaks for another reason.
    certain: bool,
    view: Option<View<'a>>,
}

impl<'a> Analysis<'a> {
    fn new(case: &Case<'a>, condition: &'a Condition) -> Option<Self> {
        let reasons = reasons(case.pod, &condition.message);
        let mut kinds: Vec<Kind> = reasons.iter().filter_map(|r| r.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let view = View::new(case.pod, case.nodes);
        let (kind, certain) = match kinds.as_slice() {
            [] => return None,
            [only] => (*only, reasons.iter().all(|r| r.kind.is_some())),
            several => view
                .as_ref()
                .and_then(|view| view.choose(several))
                .or_else(|| by_words(&reasons).map(|kind| (kind, false)))?,
        };
        Some(Self { reasons, total: words::total(&condition.message), kind, certain, view })
    }

    /// The number of nodes that the scheduler turned away for `kind`.
    fn said(&self, kind: Kind) -> Option<u32> {
        self.reasons.iter().filter(|r| r.kind == Some(kind)).filter_map(|r| r.nodes).reduce(u32::saturating_add)
    }

    /// `2 of 3 nodes`, `the only node`, `each of 3 nodes`, from the scheduler's count.
    fn how_many(&self) -> String {
        match (self.said(self.kind), self.total) {
            (Some(1), Some(1)) => "the only node".to_owned(),
            (Some(n), Some(total)) if n == total => format!("all {total} nodes"),
            (Some(n), Some(total)) => format!("{n} of {total} nodes"),
            (Some(1), None) => "1 node".to_owned(),
            (Some(n), None) => format!("{n} nodes"),
            (None, _) => "the nodes".to_owned(),
        }
    }
}

/// What the scheduler says against the nodes. Where it does not tell affinity from anti-affinity, the pod does: it has the
/// one or the other, or another pod's keeps it away.
fn reasons<'m>(pod: &PodFacts, message: &'m str) -> Vec<Reason<'m>> {
    let mut found = words::reasons(message);
    let is_told =
        |r: &Reason<'_>| matches!(r.kind, Some(Kind::PodAffinity | Kind::PodAntiAffinity | Kind::ExistingAntiAffinity));
    if let Some(at) = found.iter().position(|r| words::is_some_affinity(r.text)) {
        if found.iter().any(is_told) {
            // Told in general, and then again in particular.
            found.remove(at);
        } else if let Some(reason) = found.get_mut(at) {
            reason.kind = Some(match (pod.pod_affinity.is_empty(), pod.pod_anti_affinity.is_empty()) {
                (true, false) => Kind::PodAntiAffinity,
                (true, true) => Kind::ExistingAntiAffinity,
                (false, _) => Kind::PodAffinity,
            });
        }
    }
    found
}

/// The cause by the scheduler's counts alone: nodes that are not meant for the pod (by its selector, or the control
/// plane's) do not count where others fail for something else.
fn by_words(reasons: &[Reason<'_>]) -> Option<Kind> {
    let known = || reasons.iter().filter_map(|r| r.kind.map(|kind| (kind, r)));
    let not_meant = |kind: Kind, r: &Reason<'_>| {
        kind == Kind::Selector || kind == Kind::Taint && words::taint_key(r.text).is_some_and(is_control_plane_taint)
    };
    let most = |left: Vec<(Kind, u32)>| left.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    let meant = known().filter(|(kind, r)| !not_meant(*kind, r)).map(|(kind, r)| (kind, r.nodes.unwrap_or(0)));
    most(meant.collect())
        .or_else(|| most(known().map(|(kind, r)| (kind, r.nodes.unwrap_or(0))).collect()))
        .map(|(kind, _)| kind)
}

/// Whether the pod waits for a node at all.
fn waits(case: &Case<'_>) -> bool {
    let pod = case.pod;
    // A kubelet has reported of it: the node's name was only trimmed from what we got.
    let has_started = pod.start_time.is_some() || pod.containers.iter().any(|c| c.reported);
    pod.node_name.is_none()
        && !has_started
        && !pod.is_over()
        && pod.deletion.is_none()
        && pod.scheduling_gates.is_empty()
}

fn not_scheduled<'a>(case: &Case<'a>, reason: &str) -> Option<Cow<'a, Condition>> {
    if !waits(case) {
        return None;
    }
    let condition = match case.pod.condition("PodScheduled") {
        Some(condition) => Cow::Borrowed(condition),
        None => Cow::Owned(told_by_event(case)?),
    };
    (condition.status == "False" && condition.reason == reason).then_some(condition)
}

/// What the scheduler says in its Event, where the pod's condition is not (yet) there: the same words.
fn told_by_event(case: &Case<'_>) -> Option<Condition> {
    let event = case.events_with("FailedScheduling").next_back()?;
    let is_known = reasons(case.pod, &event.message).iter().any(|r| r.kind.is_some());
    is_known.then(|| Condition {
        kind: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: "Unschedulable".to_owned(),
        message: event.message.to_string(),
        last_transition: event.first.or(event.last),
    })
}

/// The scheduler has ended pods of lower priority for it, and they do not go.
fn preemption(case: &Case<'_>) -> Verdict {
    let Some(node) = &case.pod.nominated_node else { return Verdict::No };
    let Some(condition) = not_scheduled(case, "Unschedulable").filter(|_| claim::told(case).is_none()) else {
        return Verdict::No;
    };
    let due = due(case, &condition);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = format!(
        "waits for {node}, where the scheduler has ended pods of lower priority to make room for it; they have not gone yet"
    );
    let finding = Finding::of_pod(summary)
        .confidence(Confidence::Likely)
        .with(evidence::field("status.nominatedNodeName", node))
        .with(evidence::condition(&condition));
    Verdict::Yes(Box::new(finding))
}

/// When a pod that waits is overdue: later while the cluster autoscaler adds a node, or pods make way for it.
fn due(case: &Case<'_>, condition: &Condition) -> Timestamp {
    let helped = case.pod.nominated_node.is_some()
        || case
            .events_with("TriggeredScaleUp")
            .any(|e| e.last.is_none_or(|at| case.pod.created.is_none_or(|c| at >= c)));
    let patience = if helped { case.thresholds.unschedulable_scaling_up } else { case.thresholds.unschedulable };
    after(case.held_since(condition.last_transition.or(case.pod.created)), patience)
}

/// The same after an error of the scheduler itself. It may leave the name of the node of its choice behind (1.35), which is
/// no promise then.
fn error_due(case: &Case<'_>, condition: &Condition) -> Timestamp {
    after(case.held_since(condition.last_transition.or(case.pod.created)), case.thresholds.unschedulable)
}

fn verdict(case: &Case<'_>, kind: Kind) -> Verdict {
    // A node is being cleared for it: what was said before is no reason any more.
    let Some(condition) = not_scheduled(case, "Unschedulable").filter(|_| case.pod.nominated_node.is_none()) else {
        return Verdict::No;
    };
    if reasons(case.pod, &condition.message).iter().all(|r| r.kind != Some(kind)) {
        return Verdict::No;
    }
    let due = due(case, &condition);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let Some(analysis) = Analysis::new(case, &condition).filter(|a| a.kind == kind) else { return Verdict::No };
    if kind == Kind::PvcUnbound && claim::told(case).is_some() {
        return Verdict::No;
    }
    Verdict::Yes(Box::new(finding(case, &condition, &analysis)))
}

fn finding(case: &Case<'_>, condition: &Condition, analysis: &Analysis<'_>) -> Finding {
    let confidence = if analysis.certain { Confidence::Certain } else { Confidence::Likely };
    let mut finding = Finding::of_pod(summary(case, analysis))
        .confidence(confidence)
        .with(evidence::condition(condition))
        .with_all(asked(case, analysis))
        .with_all((analysis.kind == Kind::PvcUnbound).then(|| claim::other_evidence(case)).into_iter().flatten())
        .with_all(nodes_evidence(analysis));
    for reason in &analysis.reasons {
        let Some(kind) = reason.kind.filter(|kind| *kind != analysis.kind) else { continue };
        let nodes = match (reason.nodes, analysis.total) {
            (Some(n), Some(total)) => format!("{n} of {total} nodes: "),
            (Some(n), None) => format!("{n} nodes: "),
            (None, _) => String::new(),
        };
        finding = finding.consequence(kind.cause(), None, format!("{nodes}{}", named(analysis, kind, reason.text)));
    }
    still_in_the_way(analysis)
        .into_iter()
        .fold(finding, |finding, (kind, words)| finding.consequence(kind.cause(), None, words))
}

/// A reason with the names that the scheduler keeps to itself.
fn named(analysis: &Analysis<'_>, kind: Kind, text: &str) -> String {
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
fn still_in_the_way(analysis: &Analysis<'_>) -> Vec<(Kind, String)> {
    let Some(view) = &analysis.view else { return Vec::new() };
    [Kind::Cpu, Kind::Memory, Kind::EphemeralStorage, Kind::Extended, Kind::Pods]
        .into_iter()
        .filter(|kind| !analysis.kind.is_capacity() && analysis.said(*kind).is_none())
        .filter(|kind| !view.nodes.is_empty() && view.failing(*kind) == view.nodes.len())
        .filter_map(|kind| Some((kind, format!("comes next: {}", shortage(view, kind)?))))
        .collect()
}

fn summary(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    let nodes = analysis.how_many();
    let view = analysis.view.as_ref();
    match analysis.kind {
        kind if kind.is_capacity() => {
            view.and_then(|view| shortage(view, kind)).unwrap_or_else(|| shortage_in_words(case, analysis))
        }
        Kind::Taint => taint_summary(analysis),
        Kind::Cordoned => match view.map(cordoned_names).filter(|names| !names.is_empty()) {
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

/// The claim that the scheduler names, else all of the pod.
fn named_claim(case: &Case<'_>, analysis: &Analysis<'_>) -> String {
    analysis.claim().map_or_else(|| claims(case), str::to_owned)
}

impl Analysis<'_> {
    /// The scheduler's own words for the reason.
    fn words(&self) -> String {
        let reason = self.reasons.iter().find(|r| r.kind == Some(self.kind));
        reason.map_or_else(String::new, |r| text::line(r.text.rsplit("requirements: ").next().unwrap_or(r.text), 110))
    }

    /// The scheduler's configuration asks for certain nodes, not the pod.
    fn is_enforced(&self) -> bool {
        self.words().contains("scheduler-enforced")
    }

    /// Whether nodes lack the topologyKey of a spread constraint.
    fn lacks_spread_label(&self) -> bool {
        self.reasons.iter().any(|r| r.kind == Some(Kind::TopologySpread) && r.text.contains("missing required label"))
    }

    /// The claim that the scheduler names.
    fn claim(&self) -> Option<&str> {
        self.reasons.iter().find(|r| r.kind == Some(self.kind)).and_then(|r| words::quoted(r.text))
    }
}

fn of_total(analysis: &Analysis<'_>) -> String {
    analysis.total.map(|n| format!(" ({n} in all)")).unwrap_or_default()
}

fn is_are(names: &str) -> &'static str {
    if names.contains(" and ") { "are" } else { "is" }
}

/// Those that are cordoned and otherwise suitable.
fn cordoned_names(view: &View<'_>) -> String {
    let closed = || view.nodes.iter().filter(|n| n.cordoned);
    if closed().any(|n| n.obstacles() == 1) {
        return names(closed().filter(|n| n.obstacles() == 1).map(NodeView::name));
    }
    String::new()
}

/// At most two names, and how many more.
fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<_> = all.collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
    }
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

impl Analysis<'_> {
    /// The extended resource that the scheduler names.
    fn extended(&self) -> Option<&str> {
        let named = |r: &Reason<'_>| r.kind == Some(Kind::Extended);
        self.reasons.iter().find(|r| named(r)).and_then(|r| r.text.strip_prefix("Insufficient "))
    }
}

/// The node that the pod asks for by name, as the pods of a DaemonSet do.
fn node_by_name<'v>(view: &'v View<'_>) -> Option<&'v str> {
    let fields = view.pod.node_affinity.iter().flat_map(|term| &term.fields);
    fields.filter(|e| e.key == "metadata.name").find_map(|e| e.values.first()).map(String::as_str)
}

fn taint_summary(analysis: &Analysis<'_>) -> String {
    let nodes = analysis.how_many();
    let Some(view) = &analysis.view else {
        let taints = || analysis.reasons.iter().filter(|r| r.kind == Some(Kind::Taint));
        let named = taints().find_map(|r| Some((r.text, words::taint_key(r.text)?)));
        return match named {
            Some((said, key)) if is_state_taint(key) => {
                let has = if nodes.starts_with("1 ") || analysis.total == Some(1) { "is" } else { "are" };
                // Old schedulers looked at the nodes' conditions instead.
                let taint = if said.contains(key) { format!(" (taint {key})") } else { String::new() };
                format!("{nodes} {has} {}{taint}, and no other takes it", state_in_words(key))
            }
            Some((_, key)) => format!("does not tolerate the taint {key} of {nodes}"),
            None => format!("does not tolerate the taints of {nodes}"),
        };
    };
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

fn host_ports(case: &Case<'_>) -> String {
    let ports = case.pod.containers.iter().flat_map(|c| &c.ports).filter_map(|p| p.host_port.filter(|n| *n > 0));
    let mut ports: Vec<_> = ports.map(|n| n.to_string()).collect();
    ports.dedup();
    ports.join(", ")
}

fn claims(case: &Case<'_>) -> String {
    names(case.pod.claims())
}

/// What the pod asks for, by the path in its spec.
fn asked(case: &Case<'_>, analysis: &Analysis<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    match analysis.kind {
        kind if kind.is_capacity() => {
            let short = analysis.view.as_ref().and_then(|v| v.nearest(kind).first().map(|(_, s)| s.resource.clone()));
            let resource = short.or(match kind {
                Kind::Cpu => Some(Resource::Cpu),
                Kind::Memory => Some(Resource::Memory),
                Kind::EphemeralStorage => Some(Resource::EphemeralStorage),
                _ => analysis.extended().map(|name| Resource::Extended(name.into())),
            });
            resource.map(|r| requests_evidence(case, &r)).unwrap_or_default()
        }
        Kind::Selector => {
            let labels = pod.node_selector.iter();
            let mut found: Vec<_> =
                labels.map(|(k, v)| evidence::field(format!("spec.nodeSelector[{k}]"), v)).collect();
            if found.is_empty()
                && let Some(unmet) =
                    analysis.view.as_ref().and_then(|v| v.nearest_by_labels().first()?.unmet.first().cloned())
            {
                found.push(evidence::field(unmet.path.clone(), unmet.wanted()));
            }
            found
        }
        Kind::HostPort => {
            let containers = pod.containers.iter();
            let ports = containers.flat_map(|c| c.ports.iter().filter_map(move |p| Some((c, p, p.host_port?))));
            ports
                .map(|(c, p, host)| {
                    evidence::field(
                        format!("{}.ports[{}].hostPort", c.spec_path(), p.number),
                        format!("{host}/{}", p.protocol),
                    )
                })
                .collect()
        }
        kind if kind.is_about_a_claim() => {
            let claims = pod.volumes.iter().filter_map(|v| match &v.source {
                VolumeSource::Claim { name, ephemeral } => Some((v, name, ephemeral)),
                _ => None,
            });
            let named = analysis.claim();
            claims
                .filter(|(_, name, _)| named.is_none_or(|n| n == name.as_str()))
                .map(|(volume, name, ephemeral)| {
                    let field = if *ephemeral { "ephemeral" } else { "persistentVolumeClaim.claimName" };
                    evidence::field(format!("spec.volumes[{}].{field}", volume.name), name)
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

fn requests_evidence(case: &Case<'_>, resource: &Resource) -> Vec<Evidence> {
    let pod = case.pod;
    let asking: Vec<_> =
        pod.containers.iter().filter_map(|c| resource.of(&c.requests).filter(|n| *n > 0).map(|n| (c, n))).collect();
    let mut found: Vec<_> = asking
        .iter()
        .take(NODES_SHOWN)
        .map(|(c, n)| {
            evidence::field(format!("{}.resources.requests.{}", c.spec_path(), resource.name()), resource.quantity(*n))
        })
        .collect();
    if asking.len() != 1
        && !matches!(resource, Resource::Pods)
        && let Some(total) = resource.of(&pod.effective_requests())
    {
        found.push(evidence::field("spec (as the scheduler counts it)", resource.amount_of(total)));
    }
    found
}

/// What the nearest nodes have, or lack.
fn nodes_evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let Some(view) = &analysis.view else { return Vec::new() };
    let kind = analysis.kind;
    match kind {
        kind if kind.is_capacity() => view
            .nearest(kind)
            .into_iter()
            .take(NODES_SHOWN)
            .map(|(node, s)| {
                let value = format!(
                    "{} free of {}, {} short",
                    s.resource.amount(s.free.max(0)),
                    s.resource.amount(s.allocatable),
                    s.resource.amount(s.missing())
                );
                evidence::field(format!("node/{}.status.allocatable.{}", node.name(), s.resource.name()), value)
            })
            .collect(),
        Kind::Taint => view
            .nodes
            .iter()
            .filter(|n| !n.taints.is_empty())
            .take(NODES_SHOWN)
            .map(|n| {
                let taints: Vec<_> = n.taints.iter().map(ToString::to_string).collect();
                evidence::field(format!("node/{}.spec.taints", n.name()), taints.join(", "))
            })
            .collect(),
        Kind::Cordoned => view
            .nodes
            .iter()
            .filter(|n| n.cordoned)
            .take(NODES_SHOWN)
            .map(|n| evidence::field(format!("node/{}.spec.unschedulable", n.name()), "true"))
            .collect(),
        Kind::Selector => view
            .nearest_by_labels()
            .into_iter()
            .take(NODES_SHOWN)
            .filter_map(|n| {
                let unmet = n.unmet.iter().find(|u| u.resembles.is_some()).or(n.unmet.first())?;
                if unmet.is_node_name() {
                    return None;
                }
                let (key, value) = match (&unmet.resembles, &unmet.has) {
                    (Some((key, value)), _) => (key, value.clone()),
                    (None, Some(value)) => (&unmet.key, value.clone()),
                    (None, None) => (&unmet.key, "(absent)".to_owned()),
                };
                Some(evidence::field(format!("node/{}.metadata.labels[{key}]", n.name()), value))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn scheduler_error(case: &Case<'_>) -> Verdict {
    let Some(condition) = not_scheduled(case, "SchedulerError").filter(|_| claim::told(case).is_none()) else {
        return Verdict::No;
    };
    let due = error_due(case, &condition);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = format!("the scheduler fails to place it: {}", text::line(&condition.message, 150));
    Verdict::Yes(Box::new(Finding::of_pod(summary).with(evidence::condition(&condition))))
}

/// Whether nobody has said a word of the pod.
fn silent(case: &Case<'_>) -> bool {
    let pod = case.pod;
    pod.phase == Phase::Pending && pod.conditions.is_empty() && case.events.is_empty()
}

/// Whether nobody has said a word of the pod for long: `None` if somebody has, else when that counts, or since when.
fn silence(case: &Case<'_>) -> Option<Result<String, Timestamp>> {
    let pod = case.pod;
    // A scheduler that has chosen a node (and waits for a volume there) says no more than its name.
    if !waits(case) || !silent(case) || pod.nominated_node.is_some() {
        return None;
    }
    // Before Kubernetes 1.35 it does not even say that.
    let volume = if pod.claims().next().is_some() { case.thresholds.creating } else { 0 };
    let due = after(case.held_since(pod.created), SILENCE.max(case.thresholds.unschedulable).max(volume));
    if case.now < due {
        return Some(Err(due));
    }
    Some(case.events_settled().map(|()| text::duration(pod.created.map_or(SILENCE, |at| case.age(at)))))
}

/// The scheduler does not even try a pod whose claim is missing, and says nothing of it.
fn dra_claim(case: &Case<'_>) -> Verdict {
    let said = verdict(case, Kind::DraClaim);
    let claims = &case.pod.resource_claims;
    if said != Verdict::No || claims.is_empty() {
        return said;
    }
    match silence(case) {
        None => Verdict::No,
        Some(Err(later)) => Verdict::NotBefore(later),
        Some(Ok(waited)) => {
            let names = claims.join(", ");
            let finding = Finding::of_pod(format!(
                "the scheduler has not tried it in {waited}: its ResourceClaim ({names}) most likely does not exist yet"
            ))
            .confidence(Confidence::Likely)
            .with(evidence::field("spec.resourceClaims", names))
            .with(evidence::field("status.conditions", "(none: the scheduler has not tried the pod)"));
            Verdict::Yes(Box::new(finding))
        }
    }
}

fn no_scheduler(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let waited = match silence(case).filter(|_| pod.resource_claims.is_empty() && claim::told(case).is_none()) {
        None => return Verdict::No,
        Some(Err(later)) => return Verdict::NotBefore(later),
        Some(Ok(waited)) => waited,
    };
    let name = &pod.scheduler_name;
    let (summary, confidence) = if name.is_empty() || name == "default-scheduler" {
        (format!("no scheduler has looked at it in {waited}: the scheduler is down or far behind"), Confidence::Likely)
    } else {
        (
            format!("no scheduler named {name} has looked at it in {waited}: none of that name seems to run"),
            Confidence::Likely,
        )
    };
    let finding = Finding::of_pod(summary)
        .confidence(confidence)
        .with(evidence::field("spec.schedulerName", name))
        .with(evidence::field("status.conditions", "(none: no scheduler has written PodScheduled)"));
    Verdict::Yes(Box::new(finding))
}
