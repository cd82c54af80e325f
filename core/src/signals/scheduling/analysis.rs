//! Determines which of the scheduler's reasons is the cause.

use super::nodes::{View, is_control_plane_taint};
use super::resource::Resource;
use super::words::{self, Check, Reason};
use crate::case::Case;
use crate::facts::PodFacts;
use crate::message::text;

/// The reasons of a message, and the one that is the cause.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    pub(super) reasons: Vec<Reason<'a>>,
    pub(super) total: Option<u32>,
    /// The cause: the check whose change would let the pod run with the least effort.
    pub(super) check: Check,
    /// Whether no other reason can be the cause.
    pub(super) certain: bool,
    pub(super) view: Option<View<'a>>,
}

impl<'a> Analysis<'a> {
    pub(super) fn new(case: &Case<'a>, message: &'a str) -> Option<Self> {
        let reasons = reasons(case.pod, message);
        let mut checks: Vec<Check> = reasons.iter().filter_map(|r| r.check).collect();
        checks.sort_unstable();
        checks.dedup();
        let view = View::new(case.pod, case.nodes);
        let total = words::total(message);
        let most = |is_known| reasons.iter().filter(|r| r.check.is_some() == is_known).filter_map(|r| r.nodes).max();
        if most(false) > most(true) {
            // Most nodes fail a check of a plugin.
            checks.clear();
        }
        // A check that all nodes fail must be fixed, whatever the others are.
        let fails_everywhere = |check: &Check| reasons.iter().any(|r| r.check == Some(*check) && r.nodes == total);
        let is_one_of_several = checks.len() > 1 && total.is_some() && checks.iter().any(fails_everywhere);
        if is_one_of_several {
            checks.retain(fails_everywhere);
        }
        // A volume that exists binds the pod to some nodes: what these lack is the cause.
        let binds = |check: &Check| matches!(check, Check::PvAffinity | Check::VolumeZone);
        let is_short = |check: &Check| check.is_capacity() || *check == Check::Cordoned;
        if checks.iter().any(is_short) {
            checks.retain(|check| !binds(check));
        }
        let (check, certain) = match checks.as_slice() {
            [] if reasons.is_empty() => return None,
            [] => (Check::Other, reasons.len() == 1),
            [only] => (*only, is_one_of_several || reasons.iter().all(|r| r.check == Some(*only))),
            several => view
                .as_ref()
                .and_then(|view| view.choose(several))
                .or_else(|| by_words(case.pod, &reasons).map(|check| (check, false)))?,
        };
        Some(Self { reasons, total, check, certain, view })
    }

    /// The number of nodes that `check` filtered out.
    pub(super) fn count(&self, check: Check) -> Option<u32> {
        let counts = self.of(check).filter_map(|r| r.nodes);
        // A node stops at its first failed check and gives one reason, but one for each resource that is short.
        let nodes = if check == Check::Extended { counts.max() } else { counts.reduce(u32::saturating_add) };
        nodes.map(|nodes| nodes.min(self.total.unwrap_or(nodes)))
    }

    /// The reasons of a check.
    fn of(&self, check: Check) -> impl Iterator<Item = &Reason<'a>> {
        self.reasons.iter().filter(move |r| r.check.unwrap_or(Check::Other) == check)
    }

    /// The reason of the cause that most nodes have.
    fn blamed(&self) -> Option<&Reason<'a>> {
        self.of(self.check).min_by_key(|r| std::cmp::Reverse(r.nodes))
    }

    /// The scheduler's text for this check, if it reports it.
    pub(super) fn text_of(&self, check: Check) -> Option<&'a str> {
        self.of(check).next().map(|reason| reason.text)
    }

    /// The reported taint that matters: that of the control plane only if there is no other.
    pub(super) fn reported_taint(&self) -> Option<&Reason<'a>> {
        let taints = self.reasons.iter().filter(|r| r.check == Some(Check::Taint));
        taints.min_by_key(|r| (is_control_plane_reason(r), std::cmp::Reverse(r.nodes)))
    }

    /// A count as a share of all nodes that the scheduler counted: `2/3`; empty if it reports no count.
    pub(super) fn share(&self, nodes: Option<u32>) -> String {
        match (nodes, self.total) {
            (Some(n), Some(total)) => format!("{n}/{total}"),
            (Some(n), None) => n.to_string(),
            (None, _) => String::new(),
        }
    }
}

/// Parses the reasons of a message. Where the message does not distinguish affinity from anti-affinity, the pod's spec
/// does: it has one of them, or the anti-affinity of another pod applies.
pub(super) fn reasons<'m>(pod: &PodFacts, message: &'m str) -> Vec<Reason<'m>> {
    let mut found = words::reasons(message);
    let is_specific = |r: &Reason<'_>| {
        matches!(r.check, Some(Check::PodAffinity | Check::PodAntiAffinity | Check::ExistingAntiAffinity))
    };
    if let Some(at) = found.iter().position(|r| words::is_some_affinity(r.text)) {
        if found.iter().any(is_specific) {
            // The message contains both the general and the specific reason.
            found.remove(at);
        } else if let Some(reason) = found.get_mut(at) {
            reason.check = Some(match (pod.pod_affinity.is_empty(), pod.pod_anti_affinity.is_empty()) {
                (true, false) => Check::PodAntiAffinity,
                (true, true) => Check::ExistingAntiAffinity,
                (false, _) => Check::PodAffinity,
            });
        }
    }
    found
}

/// The cause according to the scheduler's counts alone. Nodes that the pod does not select rank below nodes that fail
/// other checks, and nodes of the control plane rank last.
fn by_words(pod: &PodFacts, reasons: &[Reason<'_>]) -> Option<Check> {
    let count = |r: &Reason<'_>| r.nodes.unwrap_or(0);
    let meant_less = |check: Check, r: &Reason<'_>| match check {
        Check::Taint if is_control_plane_reason(r) || may_be_control_plane_reason(pod, r, reasons) => 2,
        Check::Selector => 1,
        _ => 0,
    };
    let known = reasons.iter().filter_map(|r| r.check.map(|check| (check, r)));
    let first = |(check, r): &(Check, &Reason<'_>)| (meant_less(*check, r), std::cmp::Reverse(count(r)), *check);
    known.min_by_key(first).map(|(check, _)| check)
}

/// Whether the reason names a taint of the control plane.
fn is_control_plane_reason(reason: &Reason<'_>) -> bool {
    words::taint_key(reason.text).is_some_and(is_control_plane_taint)
}

/// Whether the pod selects nodes with accelerators. Most clusters taint these nodes, so a taint is as likely as a
/// label.
fn asks_for_devices(pod: &PodFacts) -> bool {
    const WORDS: [&str; 4] = ["gpu", "nvidia", "accelerator", "tpu"];
    let of_selector = pod.node_selector.iter().flat_map(|(key, value)| [key, value]);
    let of_affinity = pod.node_affinity.iter().flat_map(|term| &term.expressions);
    let mut texts =
        of_selector.chain(of_affinity.flat_map(|e| std::iter::once(&e.key).chain(&e.values).map(String::as_str)));
    texts.any(|text| WORDS.iter().any(|word| text.to_ascii_lowercase().contains(word)))
}

/// Whether an unnamed taint (Kubernetes 1.35) may be that of the control plane. If as many nodes fail the pod's own
/// selector or affinity, that is the likelier cause, as most clusters taint their control plane.
fn may_be_control_plane_reason(pod: &PodFacts, taint: &Reason<'_>, reasons: &[Reason<'_>]) -> bool {
    let asks = (!pod.node_selector.is_empty() || !pod.node_affinity.is_empty()) && !asks_for_devices(pod);
    let as_many = |r: &Reason<'_>| r.check == Some(Check::Selector) && r.nodes == taint.nodes;
    asks && words::taint_key(taint.text).is_none() && reasons.iter().any(as_many)
}

impl Analysis<'_> {
    /// The scheduler's message for the check.
    pub(super) fn text(&self) -> String {
        self.blamed()
            .map_or_else(String::new, |r| text::line(r.text.rsplit("requirements: ").next().unwrap_or(r.text), 125))
    }

    /// The reasons of the other checks that count nodes.
    pub(super) fn other_reasons(&self) -> String {
        let others = self.reasons.iter().filter(|r| r.check.unwrap_or(Check::Other) != self.check);
        let others: Vec<_> = others.filter_map(|r| Some(format!("{} {}", r.nodes?, r.text))).collect();
        text::line(&others.join(", "), 80)
    }

    /// Whether the scheduler's configuration restricts the nodes, not the pod.
    pub(super) fn is_enforced(&self) -> bool {
        self.text().contains("scheduler-enforced")
    }

    /// The claim in the scheduler's message.
    pub(super) fn claim(&self) -> Option<&str> {
        self.blamed().and_then(|r| words::quoted(r.text))
    }
}

impl Analysis<'_> {
    /// The extended resource in the scheduler's message.
    pub(super) fn extended(&self) -> Option<&str> {
        let most = self.of(Check::Extended).min_by_key(|r| std::cmp::Reverse(r.nodes));
        most.and_then(|r| r.text.strip_prefix("Insufficient "))
    }

    /// The scarce resource according to the message alone.
    pub(super) fn resource(&self) -> Option<Resource> {
        match self.check {
            Check::Cpu => Some(Resource::Cpu),
            Check::Memory => Some(Resource::Memory),
            Check::EphemeralStorage => Some(Resource::EphemeralStorage),
            _ => self.extended().map(|name| Resource::Extended(name.into())),
        }
    }

    /// A reason, completed with names that the scheduler does not report.
    pub(super) fn with_names(&self, check: Check, text: &str) -> String {
        let of_nodes = self.view.as_ref().map(|view| match check {
            Check::Taint => words::names(view.taints.iter().map(String::as_str)),
            Check::Cordoned => words::names(view.cordoned.iter().copied()),
            _ => String::new(),
        });
        match of_nodes.filter(|names| !names.is_empty()) {
            // An older scheduler reports each taint by name.
            Some(names) if words::taint_key(text).is_none() => format!("{text}: {names}"),
            _ => text.to_owned(),
        }
    }
}
