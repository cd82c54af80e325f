//! The signal `podEnd`.

use super::termination::end::judged;
use super::{Matched, PodSignal, Source, replacement, restarts, signal};
use crate::api::Evidence;
use crate::case::{Case, Finding, Verdict};
use crate::facts::{Container, Phase, Timestamp};

signal! {
    /// A pod that its kubelet ended as a whole, other than by an eviction. Source: status.phase and status.reason.
    pub(crate) struct PodEnd<'a> as "podEnd" { case: &'a Case<'a> }
    reason: |of| &of.case.pod.reason, message: &of.case.pod.message;

    /// How many seconds the pod may be active; empty if it has no limit. Source: spec.activeDeadlineSeconds.
    "activeDeadlineSeconds": fn active_deadline_seconds(&self) -> Option<i64> { self.case.pod.active_deadline_seconds }

    /// The container with the most restarts; empty if none was restarted. Source: containerStatuses[].restartCount.
    "restartedContainer": fn restarted_container(&self) -> Option<&str> { Some(&self.restarted()?.name) }

    /// Its restarts, as `12 restarts` or with the time that they took. Source: containerStatuses[].restartCount.
    "restarts": fn restarts(&self) -> Option<String> { Some(restarts::so_far(self.case, self.restarted()?)) }
}

pub(crate) const SOURCE: Source =
    Source { definition: &PodEnd::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for PodEnd<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        replacement::due(self.case, cause)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        replacement::evidence_of_end(self.case)
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        judged(self.case, finding)
    }
}

impl<'a> PodEnd<'a> {
    fn restarted(&self) -> Option<&'a Container> {
        self.case.pod.containers.iter().filter(|c| c.restart_count > 0).max_by_key(|c| c.restart_count)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    const REASONS: [&str; 4] = ["Terminated", "Shutdown", "Preempting", "DeadlineExceeded"];
    let pod = case.pod;
    let is_ended = pod.phase == Phase::Failed && REASONS.contains(&pod.reason.as_str());
    is_ended.then(|| Box::new(PodEnd { case }) as _)
}
