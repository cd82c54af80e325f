//! Failures of Job pods that were deleted before they were diagnosed. With restartPolicy OnFailure a Job deletes its
//! pod as it gives up, and no other object states the cause.
//!
//! A failure is captured when the deletion is first seen, from the facts before it. While a pod is being deleted, the
//! kubelet overwrites the earlier terminations with the one caused by the deletion.

use std::sync::Arc;

use super::decide::workload::without_its_remedies;
use super::{World, decide};
use crate::case::{Case, FailingPod, GonePod, Health, immediate_workload};
use crate::facts::{Timestamp, after};
use crate::rules::diagnose;

/// Longer than any rule waits for a missing Event, in seconds.
const LONGEST_EVENT_WAIT: i64 = 15;

impl World {
    /// Captures the failure of a pod that is about to be deleted or forgotten. Its known facts are from before the
    /// deletion.
    pub(super) fn capture_failure(&mut self, uid: &Arc<str>, now: Timestamp) {
        let Some(pod) = self.cluster.pods.full(uid) else { return };
        let Some(job) = immediate_workload(&pod.facts).filter(|own| &*own.kind == "Job") else { return };
        if pod.facts.deletion.is_some() {
            self.reported.undiagnosed_failures.extend(&job, uid, now);
            return;
        }
        if self.reported.pod_records.summary_entry(&pod.facts.key).is_some_and(|record| record.is_active_of(uid)) {
            return;
        }
        // Diagnosed as of a later time, because rules must not wait: no more Events arrive.
        let surroundings = decide::pod::surroundings(self, &pod, now);
        let case = decide::pod::case_with(self, &pod, &surroundings, after(now, LONGEST_EVENT_WAIT));
        let Health::Failing(found) = diagnose(&case).health else { return };
        // Other findings are not why the Job gave up.
        if has_failed(&case, found.container.as_deref()) {
            let pod = FailingPod { since: Some(now), ready: false, ..FailingPod::of(&pod.facts, *found) };
            let pod = without_its_remedies(pod);
            self.reported.undiagnosed_failures.keep(job, GonePod { pod, at: now });
        }
    }
}

fn has_failed(case: &Case<'_>, container: Option<&str>) -> bool {
    let container = container.and_then(|name| case.pod.container(name));
    container.and_then(|container| container.last_end()).is_some_and(|end| end.exit_code != 0)
}
