//! The signal `eviction`.

use std::sync::LazyLock;

use regex::Regex;

use super::termination::end::judged;
use super::{Matched, PodSignal, Source, disruption, replacement, signal, warning};
use crate::api::Evidence;
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Condition, Container, Phase, Timestamp, VolumeSource, format_bytes, parse_bytes};
use crate::message::text;

/// Matches the threshold of the eviction and what was left.
static THRESHOLD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"Threshold quantity: ([^,\s]+), available: ([0-9.]*[0-9][A-Za-z]*)").ok());
/// Matches the limit that a container or the pod exceeds.
static LIMIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:storage limit|total limit of containers) "?([0-9.]*[0-9][A-Za-z]*)"#).ok());
/// Matches a container in the message, its usage and its request. The second wording of `used` is that of Kubernetes
/// before 1.25; before 1.15 the message began with a lower-case letter.
static CONTAINER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let used = r"was using (\S+), (?:request is|which exceeds its request of) ([^,\s]+?)(?:,|\.?\s|\.?$)";
    Regex::new(&format!(r"[Cc]ontainer (\S+) (?:{used}|exceeded its local)")).ok()
});
static RESOURCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)low on resource: \[?([a-z0-9./-]*[a-z0-9])").ok());
static QUOTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"volume "([^"]*)" exceeds the limit "([^"]*)""#).ok());

signal! {
    /// A pod that the kubelet evicted while it ran, or that was ended from outside by a disruption of a kind that is not
    /// known. Source: status.phase, status.reason and status.message; condition DisruptionTarget.
    pub(crate) struct Eviction<'a> as "eviction" {
        case: &'a Case<'a>,
        container: Option<&'a Container>,
        usage: Option<Usage<'a>>,
        by: Option<&'a Condition>,
    }
    reason: |of| &of.case.pod.reason, message: &of.case.pod.message;

    /// The message of the kubelet; empty if it gives none. Source: status.message.
    "message": fn text(&self) -> &str { self.case.pod.message.trim() }

    /// Message (else reason) of the condition DisruptionTarget, where its reason is none that is known; empty if the
    /// kubelet evicted the pod. Source: status.conditions[DisruptionTarget].
    "disruption": fn disruption(&self) -> &str {
        self.by.map_or("", |by| if by.message.is_empty() { &by.reason } else { &by.message })
    }

    /// Reason and error of the newest Warning Event of the pod, whatever its reason; empty if there is none. Source: Events.
    "warning": fn warning(&self) -> String { warning::newest_text(self.case.events, self.case.pod.created) }

    /// Name of the emptyDir volume that exceeds its limit; empty if the message names none.
    /// Source: pkg/kubelet/eviction/helpers.go emptyDirMessageFmt.
    "volume": fn volume(&self) -> &'a str { self.group(&QUOTED, 1) }

    /// Limit of that volume, as the message has it. Source: pkg/kubelet/eviction/helpers.go emptyDirMessageFmt.
    "volumeLimit": fn volume_limit(&self) -> &'a str { self.group(&QUOTED, 2) }

    /// sizeLimit of that volume, as a quantity; empty if the pod has none. Source: spec.volumes[].emptyDir.sizeLimit.
    "sizeLimit": fn size_limit(&self) -> Option<String> {
        match self.case.pod.volume_source(self.volume())? {
            VolumeSource::EmptyDir { size_limit: Some(limit), .. } => Some(format_bytes(*limit)),
            _ => None,
        }
    }

    /// The container whose ephemeral-storage limit may be raised: the one that the message names, else the pod's first.
    /// Source: spec.containers[].name.
    "limitedContainer": fn limited_container(&self) -> Option<&'a str> { Some(&self.limited()?.name) }

    /// Its limit, as a quantity; empty if it has none. Source: spec.containers[].resources.limits.
    "storageLimit": fn storage_limit(&self) -> Option<String> {
        self.limited()?.limits.ephemeral_storage.map(format_bytes)
    }

    /// The resource that the node ran low on, in kubectl's words; empty if the message names none.
    /// Source: pkg/kubelet/eviction/helpers.go nodeLowMessageFmt.
    "resource": fn resource(&self) -> &'a str {
        match self.group(&RESOURCE, 1) {
            "MemoryPressure" => "memory",
            "DiskPressure" => "disk",
            "PIDPressure" => "pids",
            // Old versions of Kubernetes name no resource.
            "" if self.case.pod.message.contains("low on compute resources") => "compute resources",
            other => other,
        }
    }

    /// How much of the resource the container used that exceeds its request most; empty if the message names none.
    /// Source: pkg/kubelet/eviction/helpers.go containerMessageFmt.
    "used": fn used(&self) -> &'a str { self.usage.map_or("", |usage| usage.used) }

    /// How much of it the container requests. Source: pkg/kubelet/eviction/helpers.go containerMessageFmt.
    "request": fn request(&self) -> &'a str { self.usage.map_or("", |usage| usage.request) }

    /// The amount of the resource below which the kubelet evicts pods; empty if the message has none.
    /// Source: pkg/kubelet/eviction/helpers.go thresholdMetMessageFmt.
    "threshold": fn threshold(&self) -> &'a str { self.group(&THRESHOLD, 1) }

    /// How much of it was left on the node; empty if the message has none.
    /// Source: pkg/kubelet/eviction/helpers.go thresholdMetMessageFmt.
    "available": fn available(&self) -> &'a str { self.group(&THRESHOLD, 2) }

    /// The ephemeral-storage limit of the container or of the pod that was exceeded; empty if the message has none.
    /// Source: pkg/kubelet/eviction/helpers.go.
    "exceededLimit": fn exceeded_limit(&self) -> &'a str { self.group(&LIMIT, 1) }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Eviction::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for Eviction<'a> {
    fn container(&self) -> Option<&'a Container> {
        self.container
    }

    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let is_chosen = || self.case.thresholds.chosen(cause.name).is_some();
        match self.by {
            Some(by) => replacement::is_missing(self.case, cause, by.last_transition),
            None if is_chosen() => replacement::is_missing(self.case, cause, replacement::ended_at(self.case)),
            None => Ok(()),
        }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        if let Some(by) = self.by {
            return vec![evidence::condition(by)];
        }
        let event = self.case.events_with("Evicted").next_back();
        replacement::evidence_of_end(self.case).into_iter().chain(event.map(evidence::event)).collect()
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        judged(self.case, finding)
    }
}

impl<'a> Eviction<'a> {
    fn group(&self, regex: &'static LazyLock<Option<Regex>>, n: usize) -> &'a str {
        let message = &self.case.pod.message;
        let found = regex.as_ref().and_then(|regex| regex.captures(message)?.get(n));
        found.map_or("", |group| group.as_str())
    }

    fn limited(&self) -> Option<&'a Container> {
        self.container.or_else(|| self.case.pod.containers.first())
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    let by = disruption::of_unknown_kind(case);
    // A node under pressure rejects new pods with the same reason. The signal `admission` covers these.
    let is_admission = || text::has(&pod.message, &["the node had condition"]);
    let is_evicted = pod.phase == Phase::Failed && pod.reason == "Evicted" && !is_admission();
    (by.is_some() || is_evicted).then(|| {
        let largest = largest_excess(case);
        let container = largest.and_then(|usage| case.pod.container(usage.name));
        let usage = largest.filter(|usage| container.is_some() && !usage.used.is_empty());
        Box::new(Eviction { case, container, usage, by }) as _
    })
}

/// A container in the message, and how much it used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage<'a> {
    name: &'a str,
    used: &'a str,
    request: &'a str,
}

/// The container in the message that exceeds its request most.
fn largest_excess<'a>(case: &Case<'a>) -> Option<Usage<'a>> {
    let message = &case.pod.message;
    let named = CONTAINER.as_ref()?.captures_iter(message).filter_map(|found| {
        let group = |n| found.get(n).map_or("", |group| group.as_str());
        (!group(1).is_empty()).then(|| Usage { name: group(1), used: group(2), request: group(3) })
    });
    // The first of equals, as the message orders them.
    let excess = |usage: &Usage<'_>| quantity(usage.used) - quantity(usage.request);
    named.reduce(|most, next| if excess(&next) > excess(&most) { next } else { most })
}

fn quantity(text: &str) -> i64 {
    parse_bytes(text).unwrap_or_default()
}
