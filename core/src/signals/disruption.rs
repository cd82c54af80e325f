//! The signal `disruption`.

use super::termination::end::{self, judged};
use super::{Matched, PodSignal, Source, replacement, signal};
use crate::api::Evidence;
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Condition, Phase, Timestamp};

/// Reasons of the condition DisruptionTarget that have causes of their own.
const KNOWN: [&str; 5] = [
    "PreemptionByScheduler",
    "DeletionByTaintManager",
    "DeletionByDeviceTaintManager",
    "EvictionByEvictionAPI",
    "DeletionByPodGC",
];

signal! {
    /// A pod that something other than the kubelet ended: it is Failed without a reason, its condition DisruptionTarget is
    /// True, and it is not being deleted. Source: status.conditions[DisruptionTarget].
    pub(crate) struct Disruption<'a> as "disruption" { case: &'a Case<'a>, by: &'a Condition }
    reason: |of| &of.by.reason, message: &of.by.message;

    /// Priority of the pod. Source: spec.priority.
    "priority": fn priority(&self) -> i64 { self.case.pod.priority.into() }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Disruption::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for Disruption<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        replacement::is_missing(self.case, cause, self.by.last_transition)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        vec![evidence::condition(self.by)]
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        judged(self.case, finding)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let by = disrupted(case).filter(|by| KNOWN.contains(&by.reason.as_str()))?;
    Some(Box::new(Disruption { case, by }))
}

/// The disruption of a pod with an unknown reason.
pub(super) fn of_unknown_kind<'a>(case: &Case<'a>) -> Option<&'a Condition> {
    disrupted(case).filter(|by| !KNOWN.contains(&by.reason.as_str()))
}

/// The disruption that terminated the pod. A pod that is being deleted does not count, unless no controller replaces
/// it.
fn disrupted<'a>(case: &Case<'a>) -> Option<&'a Condition> {
    let pod = case.pod;
    let has_failed = pod.phase == Phase::Failed && pod.reason.is_empty() && pod.deletion.is_none();
    end::disruption(case).filter(|by| has_failed || is_not_replaced(case, by))
}

/// Whether a bare pod is deleted by the scheduler or the taint manager. No controller replaces it, and after the
/// deletion it can no longer be reported. An eviction through the API is intended.
fn is_not_replaced(case: &Case<'_>, by: &Condition) -> bool {
    const PUSHED_OUT: [&str; 2] = ["PreemptionByScheduler", "DeletionByTaintManager"];
    case.pod.owner.is_none() && case.pod.deletion.is_some() && PUSHED_OUT.contains(&by.reason.as_str())
}
