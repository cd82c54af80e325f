//! What the scheduler said, and which of its reasons is the cause.

use super::explain::{View, is_control_plane_taint};
use super::words::{self, Kind, Reason};
use crate::diagnosis::language::{Language, Speaks, phrase, say};
use crate::diagnosis::{Case, text};
use crate::facts::{Condition, PodFacts};

/// What the scheduler said, and what of it is the cause.
pub(super) struct Analysis<'a> {
    pub(super) reasons: Vec<Reason<'a>>,
    pub(super) total: Option<u32>,
    pub(super) kind: Kind,
    /// Whether nothing speaks for another reason.
    pub(super) certain: bool,
    pub(super) view: Option<View<'a>>,
    pub(super) language: Language,
}

impl Speaks for Analysis<'_> {
    fn language(&self) -> Language {
        self.language
    }
}

impl<'a> Analysis<'a> {
    pub(super) fn new(case: &Case<'a>, condition: &'a Condition) -> Option<Self> {
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
                .or_else(|| by_words(case.pod, &reasons).map(|kind| (kind, false)))?,
        };
        let total = words::total(&condition.message);
        Some(Self { reasons, total, kind, certain, view, language: case.language() })
    }

    /// The number of nodes that the scheduler turned away for `kind`.
    pub(super) fn said(&self, kind: Kind) -> Option<u32> {
        self.reasons.iter().filter(|r| r.kind == Some(kind)).filter_map(|r| r.nodes).reduce(u32::saturating_add)
    }

    /// What it says of the taint that matters: that of the control plane only where it names no other.
    pub(super) fn told_taint(&self) -> Option<&Reason<'a>> {
        let taints = self.reasons.iter().filter(|r| r.kind == Some(Kind::Taint));
        taints.min_by_key(|r| (is_control_planes(r), std::cmp::Reverse(r.nodes)))
    }

    /// `2 of 3 nodes`, `the only node`, `all 3 nodes`, from the scheduler's count.
    pub(super) fn how_many(&self) -> String {
        self.so_many(self.said(self.kind))
    }

    /// The same of so many nodes.
    pub(super) fn so_many(&self, nodes: Option<u32>) -> String {
        match (nodes, self.total) {
            (Some(1), Some(1)) => phrase!(self, "the only node").to_owned(),
            (Some(n), Some(total)) if n == total => say!(self, "all {total} nodes", total),
            (Some(n), Some(total)) => say!(self, "{n} of {total} nodes", n, total),
            (Some(1), None) => phrase!(self, "1 node").to_owned(),
            (Some(n), None) => say!(self, "{n} nodes", n),
            (None, _) => phrase!(self, "the nodes").to_owned(),
        }
    }
}

/// What the scheduler says against the nodes. Where it does not tell affinity from anti-affinity, the pod does: it has the
/// one or the other, or another pod's keeps it away.
pub(super) fn reasons<'m>(pod: &PodFacts, message: &'m str) -> Vec<Reason<'m>> {
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
/// plane's) do not count where others fail for something else, and the control plane's least.
fn by_words(pod: &PodFacts, reasons: &[Reason<'_>]) -> Option<Kind> {
    let count = |r: &Reason<'_>| r.nodes.unwrap_or(0);
    let meant_less = |kind: Kind, r: &Reason<'_>| match kind {
        Kind::Taint if is_control_planes(r) || may_be_control_planes(pod, r, reasons) => 2,
        Kind::Selector => 1,
        _ => 0,
    };
    let known = reasons.iter().filter_map(|r| r.kind.map(|kind| (kind, r)));
    let first = |(kind, r): &(Kind, &Reason<'_>)| (meant_less(*kind, r), std::cmp::Reverse(count(r)), *kind);
    known.min_by_key(first).map(|(kind, _)| kind)
}

/// Whether it is about a taint of the control plane, by its name.
fn is_control_planes(reason: &Reason<'_>) -> bool {
    words::taint_key(reason.text).is_some_and(is_control_plane_taint)
}

/// Whether the pod selects nodes with accelerators: most clusters taint theirs, so that a taint is as likely there.
fn asks_for_devices(pod: &PodFacts) -> bool {
    const WORDS: [&str; 4] = ["gpu", "nvidia", "accelerator", "tpu"];
    let of_selector = pod.node_selector.iter().flat_map(|(key, value)| [key, value]);
    let of_affinity = pod.node_affinity.iter().flat_map(|term| &term.expressions);
    let mut texts =
        of_selector.chain(of_affinity.flat_map(|e| std::iter::once(&e.key).chain(&e.values).map(String::as_str)));
    texts.any(|text| WORDS.iter().any(|word| text.to_ascii_lowercase().contains(word)))
}

/// Kubernetes 1.35 names no taint. Where a pod that asks for certain nodes is refused for that by as many others, what it
/// asks for itself is the likelier reason than a taint, which most clusters have on their control plane.
fn may_be_control_planes(pod: &PodFacts, taint: &Reason<'_>, reasons: &[Reason<'_>]) -> bool {
    let asks = (!pod.node_selector.is_empty() || !pod.node_affinity.is_empty()) && !asks_for_devices(pod);
    let as_many = |r: &Reason<'_>| r.kind == Some(Kind::Selector) && r.nodes == taint.nodes;
    asks && words::taint_key(taint.text).is_none() && reasons.iter().any(as_many)
}

impl Analysis<'_> {
    /// The scheduler's own words for the reason.
    pub(super) fn words(&self) -> String {
        let reason = self.reasons.iter().find(|r| r.kind == Some(self.kind));
        reason.map_or_else(String::new, |r| text::line(r.text.rsplit("requirements: ").next().unwrap_or(r.text), 110))
    }

    /// The scheduler's configuration asks for certain nodes, not the pod.
    pub(super) fn is_enforced(&self) -> bool {
        self.words().contains("scheduler-enforced")
    }

    /// Whether nodes lack the topologyKey of a spread constraint.
    pub(super) fn lacks_spread_label(&self) -> bool {
        self.reasons.iter().any(|r| r.kind == Some(Kind::TopologySpread) && r.text.contains("missing required label"))
    }

    /// The claim that the scheduler names.
    pub(super) fn claim(&self) -> Option<&str> {
        self.reasons.iter().find(|r| r.kind == Some(self.kind)).and_then(|r| words::quoted(r.text))
    }
}

impl Analysis<'_> {
    /// The extended resource that the scheduler names.
    pub(super) fn extended(&self) -> Option<&str> {
        let named = |r: &Reason<'_>| r.kind == Some(Kind::Extended);
        self.reasons.iter().find(|r| named(r)).and_then(|r| r.text.strip_prefix("Insufficient "))
    }
}
