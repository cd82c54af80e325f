//! Decisions for objects of a dump that the state does not keep, such as an Ingress: the caller judges them.

use super::object::plan_of;
use crate::case::{WorkloadCase, WorkloadJudged};
use crate::facts::{Names, Timestamp, WorkloadFacts};
use crate::reconcile::{DiagnosisKey, Plan};
use crate::state::World;

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
        let names = Names::default();
        let judged = judge(&WorkloadCase {
            current: active_status.as_ref(),
            ..WorkloadCase::of_status(facts, since, &names, &self.settings.thresholds, now)
        });
        plan_of(self, facts, judged, (&[], &[]), now)
    }
}
