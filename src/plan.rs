//! From the last acknowledged state and a fresh diagnosis to what is to be written.
//!
//! Pure. A [`Record`] is what the cluster holds of one diagnosis, as last acknowledged; [`failing_or_well`], [`gone`] and
//! [`ended`] say what follows from what is known now: nothing, mostly.

pub mod annotation;
mod compose;
mod conditions;
mod intent;
mod latch;
pub mod outer;
mod record;
mod recovery;

pub use annotation::{Annotation, Bearer};
pub use intent::{Action, Announcement, DiagnosisKey, Intent, ObjectWrite, Reference};
pub use outer::{Outer, OuterRecord, OuterWrite};
pub use record::{Record, Shown};

use crate::api::{DiagnosisState, Evidence, PodDiagnosisSpec, PodDiagnosisStatus, Severity};
use crate::diagnosis::{Case, Diagnosis, Health, Language, Outcome, Recovery, evidence};
use crate::facts::{ObjectKey, Timestamp, after};
use compose::Transition;

/// What the operator was told about how to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Seconds that an ended diagnosis is kept.
    pub retention: i64,
    /// After `busy_restarts` restarts, they are written once in so many seconds.
    pub busy_interval: i64,
    pub busy_restarts: u32,
    /// What is not a transition (better evidence, another side finding) is written once in so many seconds.
    pub minor_interval: i64,
    /// A change of the impact alone is written once in so many seconds.
    pub impact_interval: i64,
    /// The same failure of the same workload within so many seconds of its end is not announced again.
    pub same_failure_quiet: i64,
    /// Warning Events of pods of one workload and cause, or of one root in a namespace, within 10 minutes; the others are
    /// folded into the workload's.
    pub events_per_workload: usize,
    /// What Events say beside what was diagnosed.
    pub language: Language,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retention: 86_400,
            busy_interval: 900,
            busy_restarts: 10,
            minor_interval: 30,
            impact_interval: 300,
            same_failure_quiet: 3600,
            events_per_workload: 5,
            language: Language::English,
        }
    }
}

/// While a container is in back-off, the kubelet says so at least once in so many seconds.
const BACK_OFF_REPEATED: i64 = 600;

/// An Event that is owed for longer than so many seconds would only confuse.
const WORTH_TELLING: i64 = 600;

/// What is to be done for one subject, and when to look again.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub intent: Option<Intent>,
    pub wake: Option<Timestamp>,
}

impl Plan {
    fn wake(at: Timestamp) -> Self {
        Self { intent: None, wake: Some(at) }
    }

    fn write(write: compose::Write) -> Self {
        Self { intent: Some(Intent::Apply(Box::new(write))), wake: None }
    }
}

/// Plans for a pod that exists.
///
/// `told_lately`: the same failure of the same workload ended within [`Policy::same_failure_quiet`]. It is read only
/// where [`is_news`].
pub fn failing_or_well(
    last: Option<&Record>,
    case: &Case<'_>,
    outcome: &Outcome,
    told_lately: bool,
    policy: &Policy,
) -> Plan {
    let same_pod = last.filter(|r| r.spec.pod_uid == *case.pod.uid);
    let active = same_pod.filter(|r| r.status.state == DiagnosisState::Active);
    if active.is_none() && same_pod.is_some_and(|record| recovery::is_final(record, case)) {
        return ended_or_idle(last, policy, case.now);
    }
    match &outcome.health {
        Health::Failing(_) if superseded(case) => match active {
            // It is being deleted: it ends as Gone.
            Some(_) if case.pod.deletion.is_some() => Plan::default(),
            Some(record) => Plan::write(compose::recovered(record, case)),
            None => ended_or_idle(last, policy, case.now),
        },
        Health::Failing(diagnosis) => {
            if let Some(record) = active {
                return latch::still_failing(record, case, diagnosis, told_lately, policy);
            }
            let announce = !told_lately && !diagnosis.quiet;
            let transition = Transition { number: last.map_or(0, |r| r.status.transition) + 1, announce };
            let first_seen = first_seen(same_pod, case, diagnosis);
            let repeats = last.filter(|r| r.is_same_failure(diagnosis)).map_or(0, |r| r.status.repeats + 1);
            Plan::write(compose::diagnosed(last, case, diagnosis, transition, first_seen, repeats))
        }
        // Nobody wants to be told of it any more: it has not recovered, it goes.
        Health::Well if active.is_some_and(|record| case.surroundings.wishes.ignores(&record.status.cause)) => {
            active.map(removed).unwrap_or_default()
        }
        Health::Well => match active {
            Some(record) => match recovery::of(record, case) {
                recovery::Verdict::Yes => Plan::write(compose::recovered(record, case)),
                recovery::Verdict::NotBefore(at) => with_wake(latch::between_failures(record, case, policy), at),
                recovery::Verdict::No => latch::between_failures(record, case, policy),
            },
            None => ended_or_idle(last, policy, case.now),
        },
    }
}

/// Whether a diagnosis says more than the record does: only then it matters what else was told lately.
pub fn is_news(last: Option<&Record>, pod_uid: &str, diagnosis: &Diagnosis) -> bool {
    last.filter(|record| record.is_active_of(pod_uid))
        .is_none_or(|r| !r.is_same_failure(diagnosis) || diagnosis.severity < r.status.severity)
}

/// A Failed pod (evicted, shut down, of a Job) whose controller has what it wants without it.
pub fn superseded(case: &Case<'_>) -> bool {
    recovery::superseded(case)
}

/// What such a pod ended of, for who asks for it: it is no failure any more.
pub fn replaced(case: &Case<'_>, diagnosis: &Diagnosis) -> Plan {
    let noted = Diagnosis { severity: Severity::Info, ..diagnosis.clone() };
    let transition = Transition { number: 1, announce: false };
    Plan::write(compose::diagnosed(None, case, &noted, transition, first_seen(None, case, diagnosis), 0))
}

/// Plans for an Active diagnosis whose pod was deleted: it ends as Gone, without an Event.
pub fn gone(record: &Record, now: Timestamp) -> Plan {
    Plan::write(compose::gone(record, now))
}

/// Plans for a diagnosis that has ended: it is removed when it was kept long enough.
pub fn ended(record: &Record, policy: &Policy, now: Timestamp) -> Plan {
    let due = after(record.status.last_transition.unwrap_or(record.written_at), policy.retention);
    if now < due { Plan::wake(due) } else { removed(record) }
}

/// Plans for a diagnosis that a cap evicts.
pub fn removed(record: &Record) -> Plan {
    let key = DiagnosisKey::of_pod(record.key.clone());
    let intent = Intent::Delete { key, resource_version: record.resource_version.clone() };
    Plan { intent: Some(intent), wake: None }
}

/// The Event that a record still owes after a restart of the operator or a change of the leader, unless that was so long
/// ago that it would only confuse.
pub fn owed(record: &Record, language: Language, now: Timestamp) -> Option<Announcement> {
    let age = crate::facts::seconds_between(record.status.last_transition?, now);
    (record.status.event_owed && age < WORTH_TELLING).then(|| compose::announcement_of(record, language))
}

/// The name of the Event of an object's last transition.
pub fn event_key(key: &ObjectKey, spec: &PodDiagnosisSpec, status: &PodDiagnosisStatus) -> ObjectKey {
    compose::event_key(key, spec, status.transition, status.last_transition.unwrap_or(Timestamp::UNIX_EPOCH))
}

/// A write that puts an object back as it was last acknowledged, after somebody changed or deleted it.
pub fn repaired(record: &Record, resource_version: Option<String>) -> Intent {
    Intent::Apply(Box::new(compose::again(record, resource_version)))
}

fn ended_or_idle(last: Option<&Record>, policy: &Policy, now: Timestamp) -> Plan {
    last.filter(|r| r.status.state != DiagnosisState::Active)
        .map_or_else(Plan::default, |record| ended(record, policy, now))
}

/// What was failing before we looked began when its oldest evidence says; what begins before our eyes begins now.
/// Nothing of it is older than the pod, or than what the pod has recovered from.
fn first_seen(ended: Option<&Record>, case: &Case<'_>, diagnosis: &Diagnosis) -> Timestamp {
    if !case.observed.at_start {
        return case.now;
    }
    let earliest = case.pod.created.max(ended.and_then(|r| r.status.last_transition));
    let runs = case.ledger.runs.iter().filter_map(|r| r.finished_at);
    // A container that never ran is not ready since it was first refused: its Events are repeated, and so is their last time.
    let never_ran = diagnosis.recovery == Recovery::NeverStarted && case.ledger.runs.is_empty();
    let first = |told: &Evidence| {
        let event = case.events.iter().find(|event| never_ran && evidence::event(event) == *told);
        event.and_then(|event| event.first).or(told.time)
    };
    // The kubelet remembers one run of a loop; its back-off began with the second.
    let loops = case.events_with("BackOff").filter(|event| {
        let is_its = event.regarding.container.is_none() || event.regarding.container == diagnosis.container;
        let is_recent = event.last.is_some_and(|at| case.age(at) < BACK_OFF_REPEATED);
        is_its && is_recent && diagnosis.recovery == Recovery::Restarting
    });
    let told = diagnosis.evidence.iter().filter_map(first).chain(runs).chain(loops.filter_map(|event| event.first));
    let unready = || {
        let not_true = case.pod.conditions.iter().filter(|c| c.status != "True");
        not_true.filter_map(|c| c.last_transition).min().or(case.pod.created)
    };
    let is_of_it = |at: &Timestamp| earliest.is_none_or(|earliest| *at >= earliest);
    told.filter(is_of_it).min().or_else(|| unready().filter(is_of_it)).unwrap_or(case.now).min(case.now)
}

fn with_wake(plan: Plan, at: Timestamp) -> Plan {
    Plan { wake: Some(plan.wake.map_or(at, |w| w.min(at))), ..plan }
}

/// How large a status is as it travels.
fn size_of(status: &impl serde::Serialize) -> usize {
    serde_json::to_vec(status).map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::testing::Scenario;

    /// What is planned for a pod that has ended so often, at that minute, by an operator that speaks so.
    fn planned(last: Option<&Record>, restarts: u32, language: Language) -> Option<ObjectWrite> {
        let text = format!(
            r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: u1, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: web, image: "shop/web:1"}}]}}
status:
  phase: Running
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - name: web
    restartCount: {restarts}
    state: {{waiting: {{reason: CrashLoopBackOff}}}}
    lastState: {{terminated: {{exitCode: 1, reason: Error, startedAt: "2026-11-21T09:{restarts:02}:00Z",
      finishedAt: "2026-11-21T09:{restarts:02}:09Z"}}}}
"#
        );
        let mut scenario = Scenario::from_yaml(&text).at(&format!("2026-11-21T09:{restarts:02}:30Z"));
        scenario.thresholds = scenario.thresholds.in_language(language);
        let case = scenario.case();
        let policy = Policy { language, ..Policy::default() };
        match failing_or_well(last, &case, &diagnose(&case), false, &policy).intent {
            Some(Intent::Apply(write)) => Some(*write),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    fn acknowledged(write: ObjectWrite) -> Record {
        Record {
            key: write.key,
            uid: "uid".to_owned(),
            resource_version: "1".to_owned(),
            spec: write.spec,
            told: vec![(write.status.cause.clone(), write.status.container.clone())],
            shown: record::Shown::of(&write.status),
            written_at: write.status.last_transition.unwrap(),
            summary_is_behind: false,
            status: write.status,
        }
    }

    #[test]
    fn another_language_comes_with_the_next_change_and_is_no_news() {
        let first = planned(None, 3, Language::English).unwrap();
        assert!(first.announcement.as_ref().is_some_and(|event| event.note.contains("web exits with code 1")));
        let mut record = acknowledged(first);
        assert_eq!(planned(Some(&record), 3, Language::Japanese), None, "not at once");
        record.written_at = after(record.written_at, -60);
        let anew = planned(Some(&record), 3, Language::Japanese).unwrap();
        assert!(anew.announcement.is_none() && anew.status.summary.contains("終了する"), "{}", anew.status.summary);
        assert_eq!(planned(Some(&record), 3, Language::English), None);
        let next = planned(Some(&record), 4, Language::Japanese).unwrap();
        assert!(next.announcement.is_none(), "what fails is the same");
        assert_eq!(next.status.transition, record.status.transition);
        let summary = &next.status.summary;
        assert!(summary.contains("終了する") && summary.contains("再起動 4 回"), "{summary}");
        assert!(next.status.remedies[0].text.contains("最後に書いた行"));
    }
}
