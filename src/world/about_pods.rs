//! What is to be done for a pod, and for an object of ours whose pod is gone.

use std::sync::Arc;

use super::brief::Brief;
use super::unwell::Full;
use super::{ANSWER_WITHIN, Decision, Source, World, earliest, lookups};
use crate::api::DiagnosisState;
use crate::diagnosis::{Case, Health, diagnose};
use crate::facts::{ObjectKey, Siblings, Surroundings, Timestamp, Want, after};
use crate::outbox::Subject;
use crate::plan::{self, Intent, Plan};

impl World {
    pub(super) fn decide_pod(&mut self, uid: &Arc<str>, now: Timestamp) -> Decision {
        let Some(mut pod) = self.pods.full(uid) else { return Decision::default() };
        let key = pod.facts.key.clone();
        if !self.tells_of(&key.namespace, &pod.facts.labels) {
            return self.leave_out_pod(uid, &key).into();
        }
        let (fresh_from, first_seen) = (self.fresh_from(&pod), pod.observed.first);
        let surroundings = self.surroundings(&pod, now);
        let mut outcome = diagnose(&self.case_with(&pod, &surroundings, now));
        outcome.wants.retain(|want| self.reads_logs || !matches!(want, Want::Log(_)));
        if let Health::Failing(diagnosis) = &outcome.health {
            // Before anything is written, so that the history tells the cause of the last run as well.
            self.pods.attribute(&mut pod, &diagnosis.attributions);
        }
        let case = self.case_with(&pod, &surroundings, now);
        let last = self.records.get(&key);
        let is_active = last.as_ref().is_some_and(|record| record.is_active_of(uid));
        let is_superseded = plan::superseded(&case);
        let hangs = hangs_on_its_workload(&case);
        // What failed before we came can be told a moment later, and then who suffers is told with it: one write, and not two.
        let at_once = case.observed.at_start && last.is_none();
        let decisive = outcome.wants.iter().filter_map(|want| match want {
            Want::Claims(_) => Some((want, case.observed.situation_since)),
            Want::Log(_) => Some((want, first_seen)),
            Want::Workload(_) if hangs || at_once => Some((want, first_seen)),
            Want::Services(_) if at_once => Some((want, first_seen)),
            Want::Workload(_) | Want::Services(_) | Want::Reached(_) | Want::PodsOn(_) => None,
        });
        let awaited = decisive.filter_map(|(want, since)| self.lookups.awaited(want, since, ANSWER_WITHIN, now)).max();
        let mut plan = if !is_active && pod.superseded && case.pod.is_over() {
            // The failure of another pod makes this one no failure again.
            self.decide_object(&key, now)
        } else if let Some(until) = awaited.filter(|_| self.answers_come) {
            // Also where it is known to fail: after a restart, or when its situation changes, what was learnt would be
            // forgotten for something poorer.
            Plan { intent: None, wake: Some(until) }
        } else {
            let told_lately = match &outcome.health {
                Health::Failing(diagnosis) if plan::is_news(last.as_ref(), uid, diagnosis) => {
                    self.records.told_lately(diagnosis, &pod.facts, now, &self.policy)
                }
                _ => false,
            };
            plan::failing_or_well(last.as_ref(), &case, &outcome, told_lately, &self.policy)
        };
        plan.wake = earliest(plan.wake, outcome.wake);
        if case.surroundings.siblings.thrown_out_lately > 0 && case.pod.is_over() {
            // That pods are thrown out again and again is over when it has not happened for long.
            plan.wake = earliest(plan.wake, Some(after(now, Siblings::LATELY)));
        }
        let is_well = matches!(outcome.health, Health::Well);
        if is_superseded {
            self.pods.supersede(uid);
        }
        if !is_well || !outcome.wants.is_empty() {
            self.lookups.asked(&Subject::Pod(uid.clone()), &outcome.wants);
        } else if !is_active {
            // Between two failures the answers stay.
            self.lookups.forget(&Subject::Pod(uid.clone()));
            self.records.forget_pod(uid);
        }
        let mut wants = Vec::new();
        for want in outcome.wants {
            // What a run wrote does not change any more.
            let from = if matches!(want, Want::Log(_)) { first_seen } else { fresh_from };
            match self.lookups.next(&want, from, now) {
                lookups::Next::Now => wants.push(want),
                lookups::Next::At(at) => plan.wake = earliest(plan.wake, Some(at)),
            }
        }
        Decision { plan, wants, ..Decision::default() }
    }

    /// Whether somebody deleted an object whose pod is gone as well, as a deleted namespace does: nothing is left that it
    /// could tell of, and the namespace may be another one of that name by now.
    pub(super) fn went_with_its_pod(&self, key: &ObjectKey) -> bool {
        self.records.is_deleted(key) && self.records.brief(key).is_some_and(|record| self.is_orphan(record))
    }

    /// Whether the pod of an Active diagnosis is gone. Before the pods are listed nothing can be said of them.
    pub(super) fn is_orphan(&self, record: &Brief) -> bool {
        record.is_active() && self.is_listed(Source::Pods) && !self.pods.contains(&record.pod_uid)
    }

    /// From when on what was looked up tells of this failure. What was there at the start has settled, and what is known
    /// to fail is read anew in its own time.
    fn fresh_from(&self, pod: &Full) -> Timestamp {
        if pod.observed.at_start {
            return pod.observed.first;
        }
        let active = self.records.brief(&pod.facts.key).filter(|record| record.is_active_of(&pod.facts.uid));
        let began = active.and_then(|r| r.last_transition).unwrap_or(pod.observed.situation_since);
        after(began, lookups::SETTLE)
    }

    pub(super) fn decide_object(&self, key: &ObjectKey, now: Timestamp) -> Plan {
        if let Some(plan) = self.records.repair_or_removal(key, now) {
            return plan;
        }
        let (Some(brief), Some(record)) = (self.records.brief(key), self.records.get(key)) else {
            return Plan::default();
        };
        // First what an earlier run left to be told; then what has become of it since.
        if let Some(owed) = plan::owed(&record, self.policy.language, now) {
            return Plan { intent: Some(Intent::Announce(Box::new(owed))), wake: Some(now) };
        }
        match brief.state {
            DiagnosisState::Active if self.is_orphan(brief) => plan::gone(&record, now),
            DiagnosisState::Active => Plan::default(),
            _ => plan::ended(&record, &self.policy, now),
        }
    }

    /// The case of a pod as it would be diagnosed now, for the offline command and for tests.
    pub fn with_case<T>(&self, uid: &str, now: Timestamp, look: impl FnOnce(&Case<'_>) -> T) -> Option<T> {
        let pod = self.pods.full(uid)?;
        let surroundings = self.surroundings(&pod, now);
        Some(look(&self.case_with(&pod, &surroundings, now)))
    }

    pub(super) fn surroundings(&self, pod: &Full, now: Timestamp) -> Surroundings {
        let siblings = self.workloads.siblings(&pod.facts, now);
        let around = self.lookups.around(&pod.facts, self.fresh_from(pod), pod.observed.situation_since, siblings);
        let workload = crate::diagnosis::top_workload(&pod.facts, around.known_job());
        let queue = self.reach.queue(&pod.facts, workload.as_ref());
        let wishes = self.wishes.around(&pod.facts, workload.as_ref());
        let is_given_up = workload.as_ref().is_some_and(|key| self.has_given_up_on(key, &pod.facts));
        Surroundings { queue, wishes, is_given_up, ..around }
    }

    pub(super) fn case_with<'a>(&'a self, pod: &'a Full, surroundings: &'a Surroundings, now: Timestamp) -> Case<'a> {
        Case {
            pod: &pod.facts,
            node: pod.facts.node_name.as_ref().and_then(|name| self.nodes.get(name)),
            nodes: self.nodes.all(),
            events: self.events.of(&pod.facts.uid),
            ledger: &pod.ledger,
            surroundings,
            thresholds: &self.thresholds,
            observed: pod.observed,
            status_before: &pod.status_before,
            now,
        }
    }
}

/// A pod that has failed may be no failure at all: its Job has succeeded at a retry, its Deployment has replaced it. Only
/// the workload knows. And a failed try is none to warn of while its Job has others left.
fn hangs_on_its_workload(case: &Case<'_>) -> bool {
    let around = case.surroundings;
    let has_crashed = || case.pod.containers.iter().any(|c| c.last_end().is_some_and(|end| end.exit_code != 0));
    if case.pod.is_of_job() && around.job.is_none() && has_crashed() {
        return true;
    }
    let top = crate::diagnosis::top_workload(case.pod, around.known_job());
    case.pod.has_failed() && around.workload.is_none() && top.is_some_and(|top| top.is_known())
}
