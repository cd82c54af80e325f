//! Decisions for objects of a dump that the state does not keep, such as an Ingress: the caller judges them.

use super::workload::{is_unwanted, workload_fails, workload_recovers};
use crate::case::{WorkloadCase, WorkloadJudged};
use crate::facts::{Names, Timestamp, WorkloadFacts};
use crate::reconcile::{DiagnosisKey, Plan, node_and_workload};
use crate::state::{World, earliest};

impl World {
    /// Decides on an object of a dump, which is not kept, by a judgement of the caller.
    pub(crate) fn decide_object(
        &mut self,
        facts: &WorkloadFacts,
        judge: &dyn Fn(&WorkloadCase<'_>) -> WorkloadJudged,
        now: Timestamp,
    ) -> Plan {
        let key = &facts.key;
        let object = DiagnosisKey::of_workload(key);
        let _ = self.cluster.apply_overrides(facts);
        if facts.deleting || self.settings.is_excluded(&key.namespace) {
            return Plan::default();
        }
        let since = facts.created.unwrap_or(Timestamp::UNIX_EPOCH);
        let active_status = self.reported.active_status(&object, &facts.uid);
        let judged = judge(&WorkloadCase {
            workload: facts,
            failing: &[],
            failed: &[],
            undecided: None,
            gates: &[],
            repeatedly_removed: false,
            gone: &[],
            ready: None,
            jobs: &[],
            owned: &[],
            events: &[],
            orphans: &[],
            services: None,
            names: &Names::default(),
            thresholds: &self.settings.thresholds,
            since,
            seen: since,
            current: active_status.as_ref(),
            now,
        });
        let plan = match judged.failure {
            Some(failure) if is_unwanted(self, key, None, &failure, now) => {
                let last = self.reported.workload_records.get(&object.object);
                node_and_workload::ignored(last.as_ref(), &self.settings.policy, now)
            }
            Some(failure) => workload_fails(self, key, facts, *failure, (&[], &[]), now),
            None => workload_recovers(self, key, &object, Some(facts), now),
        };
        Plan { wake: earliest(plan.wake, judged.wake), ..plan }
    }
}
