//! Plans for nodes and workloads: the failure is evaluated again each time, and the caller decides when it is over (a
//! flapping node has not recovered although it is Ready).

use super::transition::{self, Change, ended, removed};
use super::{Composition, DiagnosisKey, Object, Plan, Policy, Record};
use crate::api::DiagnosisState;
use crate::case::Operation;
use crate::facts::{Timestamp, after, seconds_between};

/// A present failure, and how to report it.
#[derive(Debug)]
pub struct Failing {
    /// The state, transition, times and conditions of its head are filled in here.
    pub object: Object,
    /// Resources of the quota that the pods of a workload exceed. Empty for other causes.
    pub exceeded: String,
    /// What the first remedy with a command does.
    pub operation: Option<Operation>,
    /// Whether to omit the Warning Event.
    pub quiet: bool,
    /// Whether another diagnosis reports the rise in severity.
    pub is_rise_reported: bool,
    /// The same failure is not announced again within this time after its end, in seconds.
    pub same_failure_quiet: i64,
}

/// Plans for a present failure.
pub fn failing(key: &DiagnosisKey, last: Option<&Record>, failing: Failing, policy: &Policy, now: Timestamp) -> Plan {
    let Failing { mut object, exceeded, operation, quiet, is_rise_reported, same_failure_quiet } = failing;
    if let Object::Workload(_, status) = &mut object
        && let Some(Object::Workload(_, before)) = last.map(|record| &record.object)
    {
        status.past_failures.clone_from(&before.past_failures);
    }
    let operations = operation.into_iter().collect();
    let composition = Composition { language: policy.language, exceeded, operations, ..Composition::default() };
    let active = last.filter(|record| record.is_active() && record.object.subject_uid() == object.subject_uid());
    let Some(record) = active else {
        let ended_recently = last.filter(|record| !record.is_active()).is_some_and(|ended| {
            let (head, cause) = (ended.object.head(), &object.head().cause);
            let lately = head.last_transition.is_some_and(|at| seconds_between(at, now) < same_failure_quiet);
            let is_same = head.cause == *cause && ended.announced.as_ref() == Some(cause);
            lately && is_same && head.severity <= object.head().severity
        });
        let head = object.head_mut();
        head.first_seen = head.first_seen.map_or(now, |at| at.min(now)).into();
        let change = Change::Transition { announce: !quiet && !ended_recently };
        return Plan::write(transition::write(
            last,
            key.clone(),
            (object, composition),
            change,
            (policy.language, now),
        ));
    };
    let before = record.object.head();
    let head = object.head_mut();
    let is_newer = record.has_newer_rule(&head.cause);
    let is_worse = head.severity < before.severity;
    if !is_newer {
        // The highest severity stays until the failure is over.
        head.severity = head.severity.min(before.severity);
    }
    head.first_seen = before.first_seen;
    head.transition = before.transition;
    head.announced = before.announced;
    head.last_transition = before.last_transition;
    if head.cause != before.cause || is_worse {
        let is_news = (is_worse && !is_rise_reported) || !record.causes.iter().any(|(cause, _)| *cause == head.cause);
        let change = Change::Transition { announce: !quiet && is_news };
        return Plan::write(transition::write(
            last,
            key.clone(),
            (object, composition),
            change,
            (policy.language, now),
        ));
    }
    // The workload of a pod may be unknown at first, and so may be a step that its remedy needs. What the remedy of an earlier
    // run did is not known.
    let was_known = !record.composition.operations.is_empty();
    let has_other_remedy = was_known && composition.operations != record.composition.operations;
    let is_minor = has_other_remedy || !object.equals_except_volatile(&record.object);
    let pause = if is_newer {
        0
    } else if is_minor {
        policy.minor_interval
    } else {
        policy.impact_interval
    };
    let write = transition::write(last, key.clone(), (object, composition), Change::None, (policy.language, now));
    if write.object == record.object {
        return Plan::default();
    }
    let due = after(record.written_at, pause);
    if now < due { Plan::wake(due) } else { Plan::write(write) }
}

/// Plans for a subject that does not fail, or not any more. `update` changes the object, and the recovery is only
/// announced with `announce`.
pub fn recovered(
    last: Option<&Record>,
    update: impl FnOnce(&mut Object),
    announce: bool,
    policy: &Policy,
    now: Timestamp,
) -> Plan {
    let Some(record) = last.filter(|record| record.is_active()) else { return ended(last, policy, now) };
    let mut object = record.object.clone();
    update(&mut object);
    object.head_mut().state = DiagnosisState::Recovered;
    let change = Change::Transition { announce: announce && object.head().announced };
    let planned = (object, record.composition.clone());
    Plan::write(transition::write(last, record.key.clone(), planned, change, (policy.language, now)))
}

/// Plans for a failure that the user ignores. An Active diagnosis is deleted without an Event, because the subject has
/// not recovered. An ended one is kept for its retention.
pub fn ignored(last: Option<&Record>, policy: &Policy, now: Timestamp) -> Plan {
    match last.filter(|record| record.is_active()) {
        Some(active) => removed(active),
        None => ended(last, policy, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{
        AffectedWorkload, CauseCount, Confidence, DiagnosisKind, DiagnosisState, Evidence, Head, NodeDiagnosisSpec,
        NodeDiagnosisStatus, OtherFinding, PastFailure, PodCounts, ReadyChange, Remedy, RemedyKind, Root,
        ServiceImpact, Serving, Severity, TemplateChange, TemplateLedger, Weight, WorkloadDiagnosisSpec,
        WorkloadDiagnosisStatus, WorkloadRef,
    };
    use crate::facts::ObjectKey;
    use crate::language::Language;
    use crate::reconcile::object::STATUS_MAX;
    use crate::reconcile::{Action, Intent, Write, gone, owed};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn head(cause: &str, severity: Severity) -> Head {
        Head::active(cause, "Crash", severity, Confidence::Certain, "3 of 3 pods fail".to_owned())
    }

    fn workload(cause: &str, severity: Severity) -> (WorkloadDiagnosisSpec, WorkloadDiagnosisStatus) {
        let workload = WorkloadRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
            display: "Deployment/web".to_owned(),
        };
        let status = WorkloadDiagnosisStatus {
            head: head(cause, severity),
            problem: "PartlyFailing".to_owned(),
            container: None,
            pods: PodCounts { desired: 3, failing: 1, ..PodCounts::default() },
            causes: Vec::new(),
            serving: None,
            template_changes: Vec::new(),
            templates: Vec::new(),
            root: None,
            folded_events: 0,
            past_failures: Vec::new(),
        };
        (WorkloadDiagnosisSpec { workload, workload_uid: "uid".to_owned() }, status)
    }

    fn key() -> DiagnosisKey {
        DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new("demo", "deployment-web") }
    }

    fn planned(last: Option<&Record>, object: Object, now: Timestamp) -> Plan {
        planned_with(last, object, None, now)
    }

    fn planned_with(last: Option<&Record>, object: Object, operation: Option<Operation>, now: Timestamp) -> Plan {
        let what = Failing {
            object,
            exceeded: String::new(),
            operation,
            quiet: false,
            is_rise_reported: false,
            same_failure_quiet: 3600,
        };
        failing(&key(), last, what, &Policy::default(), now)
    }

    fn written(plan: Plan) -> Write {
        match plan.intent {
            Some(Intent::Apply(write)) => *write,
            other => panic!("{other:?}, {:?}", plan.wake),
        }
    }

    fn acknowledged(write: Write, now: Timestamp) -> Record {
        acknowledged_after(None, write, now)
    }

    fn acknowledged_after(last: Option<&Record>, mut write: Write, now: Timestamp) -> Record {
        write.object.head_mut().event_owed = false;
        Record::after(last, &write, "object".to_owned(), "1".to_owned(), now)
    }

    fn healthy(last: Option<&Record>, policy: &Policy, now: Timestamp) -> Plan {
        recovered(last, |_| {}, true, policy, now)
    }

    /// Announced at 0 as a Warning with the cause OOMKilled.
    fn announced_record() -> Record {
        let (spec, status) = workload("OOMKilled", Severity::Warning);
        let write = written(planned(None, Object::Workload(spec, status), at(0)));
        assert_eq!(write.announcement.as_ref().map(|event| event.action), Some(Action::Diagnosed));
        acknowledged(write, at(0))
    }

    fn again(change: impl FnOnce(&mut WorkloadDiagnosisStatus)) -> Object {
        let (spec, mut status) = workload("OOMKilled", Severity::Warning);
        change(&mut status);
        Object::Workload(spec, status)
    }

    #[test]
    fn reworded_diagnosis_is_written_later_than_one_with_new_findings() {
        let mut last = announced_record();
        let plan = planned(Some(&last), again(|_| ()), at(10));
        assert_eq!((plan.intent, plan.wake), (None, None), "nothing has changed");
        let reworded = |status: &mut WorkloadDiagnosisStatus| {
            "3 of 3 pods fail, back-off 40s".clone_into(&mut status.head.summary);
            status.folded_events = 7;
        };
        assert_eq!(planned(Some(&last), again(reworded), at(10)).wake, Some(at(300)));
        let with_a_step =
            |last: &Record| planned_with(Some(last), again(reworded), Some(Operation::ReplacePod), at(10));
        assert_eq!(with_a_step(&last).wake, Some(at(300)), "what it did before is not known");
        last.composition.operations = vec![Operation::ChangeTemplate];
        assert_eq!(with_a_step(&last).wake, Some(at(30)), "its remedy does something else");
        last.composition.operations.clear();
        let more = |status: &mut WorkloadDiagnosisStatus| status.pods.failing = 2;
        assert_eq!(planned(Some(&last), again(more), at(10)).wake, Some(at(30)));
        let write = written(planned(Some(&last), again(more), at(30)));
        assert_eq!(write.announcement, None, "no transition");
        let reworded_write = written(planned(Some(&last), again(reworded), at(300)));
        assert!(reworded_write.object.head().conditions.iter().any(|c| c.message.ends_with("back-off 40s")));
        assert!(
            reworded_write.object.head().conditions.iter().all(|c| c.last_transition_time == at(0)),
            "the status is the same"
        );
    }

    #[test]
    fn new_cause_and_higher_severity_emit_an_event_and_lower_severity_does_not() {
        let last = announced_record();
        for (cause, severity) in [("AppError", Severity::Warning), ("OOMKilled", Severity::Critical)] {
            let (spec, status) = workload(cause, severity);
            let write = written(planned(Some(&last), Object::Workload(spec, status), at(60)));
            assert_eq!(write.object.head().transition, 2);
            assert_eq!(write.announcement.map(|event| event.action), Some(Action::Changed), "{cause} {severity}");
        }
        let fallen = again(|status| status.head.severity = Severity::Info);
        let plan = planned(Some(&last), fallen, at(400));
        assert_eq!((plan.intent, plan.wake), (None, None), "the worst stands until it is over");
    }

    #[test]
    fn alternating_causes_are_announced_once_each() {
        let first = announced_record();
        let turn = |last: &Record, cause, now| {
            let (spec, status) = workload(cause, Severity::Warning);
            let write = written(planned(Some(last), Object::Workload(spec, status), at(now)));
            let is_announced = write.announcement.is_some();
            (acknowledged_after(Some(last), write, at(now)), is_announced)
        };
        let (second, second_announced) = turn(&first, "AppError", 60);
        let (third, third_announced) = turn(&second, "OOMKilled", 120);
        let (_, fourth_announced) = turn(&third, "AppError", 180);
        assert_eq!((second_announced, third_announced, fourth_announced), (true, false, false));
    }

    #[test]
    fn same_failure_within_an_hour_of_its_end_is_not_announced_again() {
        let first = announced_record();
        let end = written(healthy(Some(&first), &Policy::default(), at(60)));
        assert_eq!(end.announcement.as_ref().map(|event| event.action), Some(Action::Recovered));
        let ended = acknowledged_after(Some(&first), end, at(60));
        let is_announced_again = |cause, severity, now| {
            let (spec, status) = workload(cause, severity);
            let write = written(planned(Some(&ended), Object::Workload(spec, status), at(now)));
            assert_eq!(write.object.head().transition, 3);
            write.announcement.is_some()
        };
        assert!(!is_announced_again("OOMKilled", Severity::Warning, 3000));
        assert!(is_announced_again("OOMKilled", Severity::Warning, 3660), "it is news again");
        assert!(is_announced_again("OOMKilled", Severity::Critical, 3000), "it is worse");
        assert!(is_announced_again("AppError", Severity::Warning, 3000));
    }

    #[test]
    fn recurring_failure_is_announced_once() {
        let mut last = announced_record();
        let mut events = 0;
        for turn in 1..=5 {
            let (end, begin) = (at(turn * 600 - 300), at(turn * 600));
            let write = written(healthy(Some(&last), &Policy::default(), end));
            events += u32::from(write.announcement.is_some());
            last = acknowledged_after(Some(&last), write, end);
            let (spec, status) = workload("OOMKilled", Severity::Warning);
            let write = written(planned(Some(&last), Object::Workload(spec, status), begin));
            events += u32::from(write.announcement.is_some());
            last = acknowledged_after(Some(&last), write, begin);
        }
        assert_eq!(events, 1, "its first end");
    }

    #[test]
    fn unannounced_scaled_down_and_deleted_workloads_end_without_an_event() {
        let policy = Policy::default();
        let (spec, status) = workload("OOMKilled", Severity::Warning);
        let what = Failing {
            object: Object::Workload(spec, status),
            exceeded: String::new(),
            operation: None,
            quiet: true,
            is_rise_reported: false,
            same_failure_quiet: 0,
        };
        let quiet = written(failing(&key(), None, what, &policy, at(0)));
        assert_eq!(quiet.announcement, None);
        let quiet = acknowledged(quiet, at(0));
        for (plan, state) in [
            (healthy(Some(&quiet), &policy, at(60)), DiagnosisState::Recovered),
            (recovered(Some(&announced_record()), |_| {}, false, &policy, at(60)), DiagnosisState::Recovered),
            (gone(Some(&announced_record()), &policy, at(60)), DiagnosisState::Gone),
        ] {
            let write = written(plan);
            assert_eq!((write.object.head().state, &write.announcement), (state, &None));
            let ended = acknowledged(write, at(60));
            assert_eq!(healthy(Some(&ended), &policy, at(61)).wake, Some(at(60 + policy.retention)));
            let removal = healthy(Some(&ended), &policy, at(60 + policy.retention)).intent;
            assert!(matches!(removal, Some(Intent::Delete { .. })), "{removal:?}");
        }
    }

    #[test]
    fn ignored_active_diagnosis_is_deleted_without_an_event() {
        let (active, policy) = (announced_record(), Policy::default());
        let removal = ignored(Some(&active), &policy, at(60)).intent;
        assert!(matches!(&removal, Some(Intent::Delete { key, .. }) if *key == active.key), "{removal:?}");
        assert_eq!(ignored(None, &policy, at(60)), Plan::default());

        let end = written(healthy(Some(&active), &policy, at(60)));
        let ended = acknowledged_after(Some(&active), end, at(60));
        let due = at(60 + policy.retention);
        assert_eq!(ignored(Some(&ended), &policy, at(61)), Plan::wake(due), "what ended before that stays its time");
        assert!(matches!(ignored(Some(&ended), &policy, due).intent, Some(Intent::Delete { .. })));
    }

    #[test]
    fn event_is_pending_until_emitted_or_too_old() {
        let mut record = announced_record();
        assert_eq!(owed(&record, Language::English, at(1)), None, "it is there");
        record.object.head_mut().event_owed = true;
        assert_eq!(owed(&record, Language::English, at(599)).map(|event| event.action), Some(Action::Diagnosed));
        assert_eq!(owed(&record, Language::English, at(600)), None);
    }

    fn long(mut head: Head) -> Head {
        head.remedies = (0..6)
            .map(|n| Remedy {
                kind: RemedyKind::Fix,
                text: "t".repeat(400),
                command: Some(format!("kubectl {n} {}", "c".repeat(100))),
                patch: Some("p".repeat(600)),
            })
            .collect();
        head.evidence = (0..6)
            .map(|n| Evidence {
                source: format!("source-{n}"),
                value: "v".repeat(500),
                time: None,
                weight: Weight::Supports,
            })
            .collect();
        head
    }

    #[test]
    fn workload_object_is_cut_to_fit_and_keeps_its_newest_template_and_evidence() {
        let object = again(|status| {
            status.head = long(status.head.clone());
            let change = |n| TemplateChange {
                field: format!("containers[web].env[{n}]"),
                before: Some("b".repeat(200)),
                after: None,
            };
            status.template_changes = (0..30).map(change).collect();
            let ledger = |n| TemplateLedger { template: format!("web-{n}"), ..TemplateLedger::default() };
            status.templates = (0..5).map(ledger).collect();
        });
        assert!(object.size() > STATUS_MAX);
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= STATUS_MAX, "{} bytes", write.object.size());
        let Object::Workload(_, status) = &write.object else { panic!("a workload") };
        assert!(status.head.truncated > 0);
        assert_eq!(status.templates.last().map(|t| t.template.as_str()), Some("web-4"), "the newest template");
        assert!(!status.head.remedies.is_empty() && !status.head.evidence.is_empty(), "{:?}", status.head);
    }

    /// The fields that are usually long may be empty.
    #[test]
    fn object_with_many_names_is_cut_to_fit_and_keeps_its_evidence() {
        let object = again(|status| {
            status.head = long(status.head.clone());
            let service = |n| ServiceImpact { name: format!("{}-{n}", "s".repeat(240)), ready_endpoints: 0 };
            status.serving = Some(Serving { services: (0..30).map(service).collect(), ..Serving::default() });
            let cause = |n| CauseCount { cause: "c".repeat(240), pods: n, ..CauseCount::default() };
            status.causes = (1..30).map(cause).collect();
            let past = |n| PastFailure {
                cause: "c".repeat(240),
                ended_at: Some(at(n)),
                object: Some(Root { kind: "ConfigMap".to_owned(), name: "n".repeat(250) }),
                ..PastFailure::default()
            };
            status.past_failures = (0..10).rev().map(past).collect();
        });
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= STATUS_MAX, "{} bytes", write.object.size());
        let Object::Workload(_, status) = &write.object else { panic!("a workload") };
        assert_eq!(status.causes.first().map(|cause| cause.pods), Some(1));
        assert_eq!(status.past_failures.first().and_then(|of| of.ended_at), Some(at(9)), "the newest is kept");
        assert!(!status.head.remedies.is_empty() && !status.head.evidence.is_empty(), "{:?}", status.head);
    }

    #[test]
    fn node_object_is_cut_to_fit_and_counts_the_omitted_workloads() {
        let change = |n| ReadyChange {
            time: at(n),
            status: "False".to_owned(),
            reason: "KubeletNotReady".to_owned(),
            message: "m".repeat(160),
        };
        let other = |n| OtherFinding { cause: format!("NodeProblem{n}"), container: None, summary: "診".repeat(200) };
        let affected = |n| AffectedWorkload {
            namespace: "n".repeat(63),
            workload: format!("Deployment/{}-{n}", "w".repeat(240)),
            pods: 1,
        };
        let status = NodeDiagnosisStatus {
            head: long(head("NodeRuntimeDown", Severity::Critical)),
            other_findings: (0..20).map(other).collect(),
            last_words: None,
            flapping: None,
            ready_history: (0..10).map(change).collect(),
            pods: 15,
            affected: (0..15).map(affected).collect(),
            affected_beside: 5,
            daemon_sets_missing: Vec::new(),
        };
        let object = Object::Node(NodeDiagnosisSpec::default(), status);
        assert!(object.size() > STATUS_MAX);
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= STATUS_MAX, "{} bytes", write.object.size());
        let Object::Node(_, status) = &write.object else { panic!("a node") };
        assert_eq!(status.affected.len() + status.affected_beside as usize, 20, "each affected workload is counted");
        assert_eq!(status.ready_history.last().map(|change| change.time), Some(at(9)), "the newest changes are kept");
        assert!(status.ready_history.len() >= 4);
        assert!(!status.head.evidence.is_empty());
    }
}
