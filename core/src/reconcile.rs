//! Reconciliation: plans writes from the last acknowledged state and a fresh diagnosis.
//!
//! Pure. A [`Record`] is a diagnosis as last acknowledged by the API server. [`failing_or_healthy`] plans for a pod,
//! [`node_and_workload`] for a node or workload; [`gone`] and [`ended`] for all kinds. Most plans are empty.

pub mod annotation;
mod compose;
mod composition;
mod conditions;
mod intent;
mod merge_policy;
pub mod node_and_workload;
mod note;
mod object;
pub mod past_failures;
mod record;
mod recovery;
mod transition;

pub use annotation::{Annotation, Bearer};
pub use composition::Composition;
pub use intent::{Action, Announcement, DiagnosisKey, Intent, Reference, Write};
pub use object::Object;
pub use record::{PodRecord, Record, Shown};
pub use transition::{ended, event_key, gone, owed, removed, repaired};

use crate::api::{DiagnosisState, Evidence, Severity};
use crate::case::{Case, Diagnosis, Health, Outcome, Recovery, evidence};
use crate::facts::Timestamp;
use crate::language::Language;

/// Settings for what is written, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long an ended diagnosis is kept, in seconds.
    pub retention: i64,
    /// Interval between writes of the restart count after more than `busy_restarts` restarts, in seconds.
    pub busy_interval: i64,
    pub busy_restarts: u32,
    /// Interval between writes of changes that are no transition (better evidence, another finding), in seconds.
    pub minor_interval: i64,
    /// Interval between writes that change only the impact, in seconds.
    pub impact_interval: i64,
    /// The same failure of the same workload is not announced again within this time after its end, in seconds.
    pub same_failure_quiet: i64,
    /// Most Warning Events of pods with the same workload and cause, or with the same root in a namespace, within 10
    /// minutes. Further ones are aggregated into the Event of the workload. Bare pods of a namespace with one cause have
    /// the same limit, and at least one Event.
    pub events_per_workload: usize,
    /// Language of the fixed texts in Events.
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

impl Policy {
    /// How long the ended diagnosis of a workload that still exists is kept for its past failures, in seconds: seven times
    /// the retention, but not longer than 7 days unless the retention is.
    fn past_failures_kept(&self) -> i64 {
        const MOST: i64 = 7 * 86_400;
        self.retention.saturating_mul(7).min(MOST).max(self.retention)
    }
}

/// The longest interval at which the kubelet repeats its BackOff Event, in seconds.
const BACK_OFF_REPEATED: i64 = 600;

/// The write for one subject, and when to check it again.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub intent: Option<Intent>,
    pub wake: Option<Timestamp>,
}

impl Plan {
    fn wake(at: Timestamp) -> Self {
        Self { intent: None, wake: Some(at) }
    }

    fn write(write: Write) -> Self {
        Self { intent: Some(Intent::Apply(Box::new(write))), wake: None }
    }
}

/// Plans for an existing pod.
///
/// `ended_recently`: the same failure of the same workload ended within [`Policy::same_failure_quiet`]. It is only read
/// if [`is_news`] holds.
pub fn failing_or_healthy(
    last: Option<&Record>,
    case: &Case<'_>,
    outcome: &Outcome,
    ended_recently: bool,
    policy: &Policy,
) -> Plan {
    let last = last.and_then(Record::pod);
    let same_pod = last.filter(|r| r.spec.pod_uid == *case.pod.uid);
    let active = same_pod.filter(|r| r.status.head.state == DiagnosisState::Active);
    if active.is_none() && same_pod.is_some_and(|record| recovery::is_final(record, case)) {
        return ended(last.map(|last| last.record), policy, case.now);
    }
    match &outcome.health {
        Health::Failing(_) if superseded(case) => match active {
            // The pod is being deleted, so the diagnosis ends as Gone.
            Some(_) if case.pod.deletion.is_some() => Plan::default(),
            Some(record) => Plan::write(compose::recovered(record, case)),
            None => ended(last.map(|last| last.record), policy, case.now),
        },
        Health::Failing(diagnosis) => {
            if let Some(record) = active {
                return merge_policy::still_failing(record, case, diagnosis, ended_recently, policy);
            }
            let announce = !ended_recently && !diagnosis.quiet;
            let first_seen = first_seen(same_pod, case, diagnosis);
            let repeats = last.filter(|r| r.record.is_same_failure(diagnosis)).map_or(0, |r| r.status.repeats + 1);
            Plan::write(compose::diagnosed(last, case, diagnosis, announce, first_seen, repeats))
        }
        // The user ignores the cause: the diagnosis is removed, because the pod has not recovered.
        Health::Healthy
            if active.is_some_and(|record| case.surroundings.overrides.ignores(&record.status.head.cause)) =>
        {
            active.map(|active| removed(active.record)).unwrap_or_default()
        }
        Health::Healthy => match active {
            Some(record) => match recovery::of(record, case) {
                recovery::Verdict::Yes => Plan::write(compose::recovered(record, case)),
                recovery::Verdict::NotBefore(at) => with_wake(merge_policy::between_failures(record, case, policy), at),
                recovery::Verdict::No => merge_policy::between_failures(record, case, policy),
            },
            None => ended(last.map(|last| last.record), policy, case.now),
        },
    }
}

/// Whether a diagnosis adds to the record. Only then do recently ended failures matter.
pub fn is_news(last: Option<&Record>, pod_uid: &str, diagnosis: &Diagnosis) -> bool {
    last.filter(|record| record.is_active_of(pod_uid))
        .is_none_or(|r| !r.is_same_failure(diagnosis) || diagnosis.severity < r.object.head().severity)
}

/// Whether a Failed pod (evicted, shut down, of a Job) is superseded: its controller reached its desired state without
/// it.
pub fn superseded(case: &Case<'_>) -> bool {
    recovery::superseded(case)
}

/// Plans a record of severity Info for a superseded pod, which is no failure any more.
pub fn replaced(case: &Case<'_>, diagnosis: &Diagnosis) -> Plan {
    let noted = Diagnosis { severity: Severity::Info, ..diagnosis.clone() };
    Plan::write(compose::diagnosed(None, case, &noted, false, first_seen(None, case, diagnosis), 0))
}

/// When the failure began. For a failure found at startup that is the time of its oldest evidence; for others, now. It
/// is never before the creation of the pod or its last recovery.
fn first_seen(ended: Option<PodRecord<'_>>, case: &Case<'_>, diagnosis: &Diagnosis) -> Timestamp {
    if !case.observed.at_start {
        return case.now;
    }
    let earliest = case.pod.created.max(ended.and_then(|r| r.status.head.last_transition));
    let runs = case.ledger.runs.iter().filter_map(|r| r.finished_at);
    // The Events of a container that never ran are repeated, so the first time counts and not the last.
    let never_ran = diagnosis.recovery == Recovery::NeverStarted && case.ledger.runs.is_empty();
    let first = |item: &Evidence| {
        let event = case.events.iter().find(|event| never_ran && evidence::event(event) == *item);
        event.and_then(|event| event.first).or(item.time)
    };
    // The kubelet keeps one termination of a crash loop; the back-off began with the second.
    let loops = case.events_with("BackOff").filter(|event| {
        let is_its = event.regarding.container.is_none() || event.regarding.container == diagnosis.container;
        let is_recent = event.last.is_some_and(|at| case.age(at) < BACK_OFF_REPEATED);
        is_its && is_recent && diagnosis.recovery == Recovery::Restarting
    });
    let times = diagnosis.evidence.iter().filter_map(first).chain(runs).chain(loops.filter_map(|event| event.first));
    let unready = || {
        let not_true = case.pod.conditions.iter().filter(|c| c.status != "True");
        not_true.filter_map(|c| c.last_transition).min().or(case.pod.created)
    };
    let is_of_it = |at: &Timestamp| earliest.is_none_or(|earliest| *at >= earliest);
    times.filter(is_of_it).min().or_else(|| unready().filter(is_of_it)).unwrap_or(case.now).min(case.now)
}

fn with_wake(plan: Plan, at: Timestamp) -> Plan {
    Plan { wake: Some(plan.wake.map_or(at, |w| w.min(at))), ..plan }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// The write planned for a pod with this restart count, at that minute, in this language.
    fn planned(last: Option<&Record>, restarts: u32, language: Language) -> Option<Write> {
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
        match failing_or_healthy(last, &case, &diagnose(&case), false, &policy).intent {
            Some(Intent::Apply(write)) => Some(*write),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    #[test]
    fn past_failures_are_kept_for_seven_times_the_retention_up_to_a_week() {
        const DAY: i64 = 86_400;
        for (retention, kept) in [(60, 420), (DAY, 7 * DAY), (3 * DAY, 7 * DAY), (90 * DAY, 90 * DAY)] {
            let policy = Policy { retention, ..Policy::default() };
            assert_eq!(policy.past_failures_kept(), kept);
        }
    }

    fn acknowledged(write: &Write) -> Record {
        let now = write.object.head().last_transition.unwrap();
        Record::after(None, write, "uid".to_owned(), "1".to_owned(), now)
    }

    #[test]
    fn language_change_is_written_without_an_event() {
        let first = planned(None, 3, Language::English).unwrap();
        assert!(first.announcement.as_ref().is_some_and(|event| event.note.contains("web exits with code 1")));
        let mut record = acknowledged(&first);
        assert_eq!(planned(Some(&record), 3, Language::Japanese), None, "not at once");
        record.written_at = crate::facts::after(record.written_at, -60);
        let translated = planned(Some(&record), 3, Language::Japanese).unwrap();
        assert!(
            translated.announcement.is_none() && translated.object.head().summary.contains("終了する"),
            "{}",
            translated.object.head().summary
        );
        assert_eq!(planned(Some(&record), 3, Language::English), None);
        let next = planned(Some(&record), 4, Language::Japanese).unwrap();
        assert!(next.announcement.is_none(), "what fails is the same");
        assert_eq!(next.object.head().transition, record.object.head().transition);
        let summary = &next.object.head().summary;
        assert!(summary.contains("終了する") && summary.contains("再起動 4 回"), "{summary}");
        assert!(next.object.head().remedies[0].text.contains("最後に書いた行"));
    }
}
