//! Intermediate values of the signal's fields.

use super::analysis::Analysis;
use super::gap::Gap;
use super::nodes::{self, NodeView, View};
use super::report::Report;
use super::room::Room;
use super::words::{Check, Reason, names};
use super::{Scheduling, State};
use crate::facts::{PodFacts, PodTerm, Taint};

impl<'a> Scheduling<'a> {
    pub(super) fn report(&self) -> Option<&Report<'a>> {
        match &self.state {
            State::Unschedulable { report, .. } | State::Preempting(report) | State::Error(report) => Some(report),
            State::Silent => None,
        }
    }

    pub(super) fn analysis(&self) -> Option<&Analysis<'a>> {
        match &self.state {
            State::Unschedulable { analysis, .. } => Some(analysis),
            State::Preempting(_) | State::Error(_) | State::Silent => None,
        }
    }

    pub(super) fn check(&self) -> Option<Check> {
        self.analysis().map(|analysis| analysis.check)
    }

    pub(super) fn view(&self) -> Option<&View<'a>> {
        self.analysis()?.view.as_ref()
    }

    pub(super) fn room(&self) -> Option<&Room> {
        let siblings = &self.case.surroundings.siblings;
        let room = || Some(Box::new(Room::new(self.view()?, self.check()?, siblings)?));
        self.room.get_or_init(room).as_deref()
    }

    pub(super) fn of_room(&self, field: fn(&Room) -> &str) -> Option<&str> {
        self.room().map(field)
    }

    pub(super) fn gap(&self) -> Option<&Gap> {
        self.gap.get_or_init(|| Gap::new(self.view()?).map(Box::new)).as_deref()
    }

    /// The pod's request for the scarce resource, if no node is known.
    pub(super) fn requested_alone(&self) -> String {
        let requests = self.case.pod.effective_requests();
        let resource = self.analysis().and_then(Analysis::resource);
        let amount = resource.and_then(|resource| Some(resource.amount(resource.of(&requests)?)));
        amount.unwrap_or_default()
    }

    /// The node that the pod requires by name, as pods of a DaemonSet do.
    pub(super) fn required_node_name(&self) -> Option<&str> {
        let fields = self.case.pod.node_affinity.iter().flat_map(|term| &term.fields);
        fields.filter(|e| e.key == "metadata.name").find_map(|e| e.values.first()).map(String::as_str)
    }

    /// Cordoned nodes that would otherwise accept the pod.
    pub(super) fn closed(&self) -> impl Iterator<Item = &str> {
        let is_free = |n: &&NodeView<'_>| n.shortfalls.is_empty() && n.unmet.is_empty() && n.taints.is_empty();
        let nodes = self.view().into_iter().flat_map(|view| &view.nodes);
        nodes.filter(|n| n.cordoned).filter(is_free).map(NodeView::name)
    }

    pub(super) fn decisive_taint(&self) -> Option<(&NodeView<'a>, &'a Taint)> {
        let blamed = || {
            let view = self.view()?;
            let (node, taint) = view.decisive_taint()?;
            Some((view.nodes.iter().position(|n| std::ptr::eq(n, node))?, taint))
        };
        let (place, taint) = (*self.blamed.get_or_init(blamed))?;
        Some((self.view()?.nodes.get(place)?, taint))
    }

    /// The reason that names a taint, if no node is known.
    pub(super) fn reported_taint(&self) -> Option<&Reason<'a>> {
        self.analysis().filter(|analysis| analysis.view.is_none())?.reported_taint()
    }

    /// Nodes with the decisive taint, or with other ones.
    pub(super) fn tainted(&self, with_it: bool) -> String {
        let Some((view, (_, taint))) = self.view().zip(self.decisive_taint()) else { return String::new() };
        let tainted = view.nodes.iter().filter(|n| !n.taints.is_empty() && n.taints.contains(&taint) == with_it);
        names(tainted.map(NodeView::name))
    }

    /// The only affinity term of the pod, or the only anti-affinity term if that is the check.
    pub(super) fn affinity(&self) -> Option<&'a PodTerm> {
        let pod = self.case.pod;
        let anti = self.check() == Some(Check::PodAntiAffinity);
        match if anti { &pod.pod_anti_affinity } else { &pod.pod_affinity }.as_slice() {
            [term] if !term.selector.is_empty() => Some(term),
            _ => None,
        }
    }

    /// Whether no node has a taint that the scheduler could have meant. The taint of a cordon remains for a moment
    /// after an uncordon, until the scheduler reports another reason.
    pub(super) fn is_being_opened(&self) -> bool {
        let is_lifted = |view: &View<'_>| view.total > 0 && view.taints.iter().all(|taint| nodes::is_of_cordon(taint));
        self.check() == Some(Check::Taint) && self.case.thresholds.patient && self.view().is_some_and(is_lifted)
    }
}

/// Whether other pods or mounted volumes may rule out a node: host ports, affinity, spread, claims.
pub(super) fn depends_on_other_pods(pod: &PodFacts) -> bool {
    let near_others = !pod.pod_affinity.is_empty() || !pod.pod_anti_affinity.is_empty() || !pod.spread_over.is_empty();
    !host_ports(pod).is_empty() || near_others || pod.claims().next().is_some()
}

pub(super) fn host_ports(pod: &PodFacts) -> Vec<String> {
    let ports = pod.containers.iter().flat_map(|c| &c.ports).filter_map(|p| p.host_port.filter(|n| *n > 0));
    let mut ports: Vec<_> = ports.map(|n| n.to_string()).collect();
    ports.dedup();
    ports
}

/// The pod's only claim. If there are several, the affected one may be unknown.
pub(super) fn only_claim(pod: &PodFacts) -> Option<&str> {
    let mut claims = pod.claims();
    let only = claims.next()?;
    claims.next().is_none().then_some(only)
}
