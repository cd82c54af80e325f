//! The signal `resize`.

use super::shortage::{self, Shortage};
use super::{Matched, PodSignal, Source, lasting, signal};
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Condition, Container, Timestamp};
use crate::message;
use crate::message::text;

signal! {
    /// An in-place change of a running pod's resources that its node does not make. The pod runs on with its old resources.
    /// Source: status.conditions[PodResizePending] and status.conditions[PodResizeInProgress].
    pub(super) struct Resize<'a> as "resize" {
        case: &'a Case<'a>,
        condition: &'a Condition,
        container: Option<&'a Container>,
        shortage: Option<Shortage<'a>>,
    }
    reason: |of| &of.condition.reason, message: &of.condition.message;

    /// Type of the condition: PodResizePending or PodResizeInProgress. Source: status.conditions[].type.
    "condition": fn condition_type(&self) -> &str { &self.condition.kind }

    /// The error of the condition, at most 140 characters. Source: status.conditions[].message.
    "message": fn text(&self) -> String { message::Message::parse(&self.condition.message).summary(140, &[]) }

    /// The resource that the node has too little of; empty if the message names none.
    /// Source: pkg/kubelet/allocation/allocation_manager.go.
    "resource": fn resource(&self) -> &str { self.shortage.as_ref().map_or("", |s| s.resource) }

    /// How much of the resource the pod requests, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/allocation/allocation_manager.go.
    "requested": fn requested(&self) -> &str { self.shortage.as_ref().map_or("", |s| &s.requested) }

    /// How much of the resource is free on the node, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/allocation/allocation_manager.go.
    "free": fn free(&self) -> &str { self.shortage.as_ref().and_then(|s| s.free.as_deref()).unwrap_or_default() }

    /// How much of the resource the whole node has, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/allocation/allocation_manager.go.
    "capacity": fn capacity(&self) -> &str { self.shortage.as_ref().map_or("", |s| &s.capacity) }

    /// Whether the new memory limit is below what the container uses.
    /// Source: pkg/kubelet/kuberuntime, `cannot decrease memory limits`; the same of runc and crun.
    "limitBelowUsage": fn limit_below_usage(&self) -> bool {
        const WORDS: [&str; 3] =
            ["cannot decrease memory limits", "unable to set memory limit", "memory limit lower than its current usage"];
        text::has_any(&self.condition.message, &WORDS)
    }
}

pub(crate) const SOURCE: Source = Source { definition: &Resize::DEFINITION, read };

impl<'a> PodSignal<'a> for Resize<'a> {
    fn container(&self) -> Option<&'a Container> {
        self.container
    }

    /// The Vertical Pod Autoscaler often requests more than is available and reverts it.
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        let seconds = case.thresholds.of(cause.name, cause.threshold);
        lasting::has_been(case, case.held_since(self.condition.last_transition), seconds)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        vec![evidence::condition(self.condition)]
    }
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.is_over() {
        return Vec::new();
    }
    let held =
        [("PodResizePending", ["Infeasible", "Deferred"].as_slice()), ("PodResizeInProgress", ["Error"].as_slice())];
    let conditions = held.into_iter().filter_map(|(kind, reasons)| {
        pod.condition(kind).filter(|c| c.status == "True" && reasons.contains(&c.reason.as_str()))
    });
    let read = |condition: &'a Condition| {
        let is_error = condition.reason == "Error";
        let named = message::quoted_after(&condition.message, "container ").filter(|_| is_error);
        let container = named.and_then(|name| pod.container(name));
        Box::new(Resize { case, condition, container, shortage: shortage::read(&condition.message) }) as _
    };
    conditions.map(read).collect()
}
