//! What a workload's diagnosis remembers of earlier failures: what ended them, over restarts and retention.

use serde_json::json;
use shindan::cluster::restore::Restored;
use shindan_core::api::DiagnosisState::{Active, Gone, Recovered};
use shindan_core::api::{DiagnosisKind, EndedBy, PastFailure, Root};
use shindan_core::facts::{PodFacts, ReplicaSetFacts, RevisionFacts, WorkloadFacts, seconds_between};
use shindan_core::language::Language;
use shindan_core::reconcile::Object;
use shindan_core::reconcile::past_failures::recurrence;

use super::operator::{
    HEALTHY, Operator, at, crashed, dump, node, pod_of_template, rollout, running_again, workload_object,
};

const DAY: i64 = 86_400;
const NO_CONFIG: &str = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"settings\" not found'}}";

/// The pod of a template of the Deployment `web`.
fn pod(template: &str, ready: bool, status: &str) -> PodFacts {
    pod_of_template(&format!("web-{template}-x"), &format!("uid-{template}"), Some(("web", template)), ready, status)
}

fn oom(template: &str) -> PodFacts {
    pod(template, false, &crashed(2, 137, "OOMKilled"))
}

fn healthy(template: &str) -> PodFacts {
    pod(template, true, HEALTHY)
}

fn set(template: &str, revision: i64, former_revision: Option<i64>, created: &str, desired: i64) -> ReplicaSetFacts {
    ReplicaSetFacts {
        name: format!("web-{template}").into(),
        revision,
        former_revision,
        created: Some(at(created)),
        desired,
        ..ReplicaSetFacts::default()
    }
}

/// The Deployment `web` with one replica and these `ReplicaSets`, newest first.
fn web(ready: u32, replica_sets: Vec<ReplicaSetFacts>) -> WorkloadFacts {
    let revision = replica_sets.first().map(|newest| newest.revision);
    WorkloadFacts { revision, replica_sets, ..rollout("web", 1, ready) }
}

/// An operator in whose cluster revision 5 of `web` fails since 12 minutes. Revision 4 ran before.
fn failing() -> Operator {
    let mut operator = Operator::idle();
    operator.workload(&web(0, vec![set("b", 5, None, "08:50:00", 1), set("a", 4, None, "08:00:00", 0)]));
    operator.pod(&oom("b"));
    operator.advance(720);
    let status = operator.workload_status("deployment-web");
    assert_eq!((status.head.state, status.head.cause.as_str()), (Active, "OOMKilled"));
    assert_eq!(status.past_failures, []);
    operator
}

/// `web` after a rollback of revision 5 to revision 4, which becomes revision 6.
fn rolled_back() -> WorkloadFacts {
    web(1, vec![set("a", 6, Some(4), "08:00:00", 1), set("b", 5, None, "08:50:00", 0)])
}

/// An operator after the rollback.
fn recovered() -> Operator {
    let mut operator = failing();
    operator.deleted(&oom("b"));
    operator.pod(&healthy("a"));
    operator.workload(&rolled_back());
    operator.advance(10);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    operator
}

/// Revision 7 fails like revision 5.
fn fails_again(operator: &mut Operator) {
    operator.workload(&web(0, vec![set("c", 7, None, "09:30:00", 1), set("a", 6, Some(4), "08:00:00", 0)]));
    operator.deleted(&healthy("a"));
    operator.pod(&oom("c"));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Active);
}

fn past(operator: &Operator) -> Vec<PastFailure> {
    operator.workload_status("deployment-web").past_failures
}

/// What ended the only past failure.
fn end(operator: &Operator) -> (EndedBy, Option<i64>, Option<Root>) {
    match past(operator).as_slice() {
        [of] => (of.ended_by, of.revision, of.object.clone()),
        other => panic!("{other:?}"),
    }
}

const AFTER_A_ROLLBACK: &str = "2nd time in 7 days; last time ended by a rollback to revision 4, after 12 min";

#[test]
fn an_earlier_failure_is_remembered_with_its_end_over_a_restart_and_the_retention() {
    let operator = recovered();
    let [of]: [PastFailure; 1] = past(&operator).try_into().unwrap();
    assert_eq!((of.cause.as_str(), of.ended_by, of.revision), ("OOMKilled", EndedBy::Rollback, Some(4)));
    assert_eq!(seconds_between(of.started_at.unwrap(), of.ended_at.unwrap()), 720);

    let mut operator = operator.restarted(60);
    operator.list_with(&[], &[healthy("a")], &[rolled_back()]);
    operator.advance(3 * DAY);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered, "the retention of a day is over");
    fails_again(&mut operator);
    let status = operator.workload_status("deployment-web");
    assert_eq!(status.past_failures, [of]);
    assert_eq!(recurrence(&status, Language::English).as_deref(), Some(AFTER_A_ROLLBACK));
    let emitted = ["Diagnosed OOMKilled", "Recovered Recovered", "Diagnosed OOMKilled"];
    assert_eq!(operator.emitted_for_workloads(), emitted);
    let notes = |operator: &Operator| -> Vec<bool> {
        let server = operator.server();
        let of_web = server.events.iter().filter(|event| &*event.regarding.kind == "Deployment");
        of_web.map(|event| event.note.ends_with(AFTER_A_ROLLBACK)).collect()
    };
    assert_eq!(notes(&operator), [false, false, true]);
}

#[test]
fn a_rollback_is_known_from_a_lookup_after_it_too() {
    let mut operator = failing();
    let mut rolling_back = rolled_back();
    (rolling_back.ready, rolling_back.unavailable) = (0, 1);
    operator.workload(&rolling_back);
    operator.advance(30);
    assert_eq!(operator.workload_status("deployment-web").head.state, Active);
    operator.deleted(&oom("b"));
    operator.pod(&healthy("a"));
    operator.workload(&rolled_back());
    operator.advance(10);
    assert_eq!(end(&operator), (EndedBy::Rollback, Some(4), None));
}

#[test]
fn a_rollout_of_a_new_template_is_no_rollback() {
    let mut operator = failing();
    operator.deleted(&oom("b"));
    operator.pod(&healthy("c"));
    operator.workload(&web(1, vec![set("c", 6, None, "09:10:00", 1), set("b", 5, None, "08:50:00", 0)]));
    operator.advance(10);
    assert_eq!(end(&operator), (EndedBy::Rollout, Some(6), None));
}

#[test]
fn a_workload_that_is_scaled_to_zero_has_not_been_rolled_out() {
    let mut operator = failing();
    operator.deleted(&oom("b"));
    operator.workload(&WorkloadFacts { revision: Some(5), ..rollout("web", 0, 0) });
    operator.advance(10);
    assert_eq!(end(&operator), (EndedBy::ScaledToZero, None, None));
}

#[test]
fn pods_that_were_replaced_are_not_pods_that_recovered() {
    for (replaced, by) in [(true, EndedBy::PodsReplaced), (false, EndedBy::PodsRecovered)] {
        let mut operator = failing();
        let mut next = pod("b", true, &running_again(2, 137, "OOMKilled"));
        if replaced {
            operator.deleted(&oom("b"));
            next = pod_of_template("web-b-y", "uid-other", Some(("web", "b")), true, HEALTHY);
        }
        operator.pod(&next);
        operator.workload(&web(1, vec![set("b", 5, None, "08:50:00", 1), set("a", 4, None, "08:00:00", 0)]));
        operator.advance(1200);
        assert_eq!(end(&operator), (by, None, None));
    }
}

#[test]
fn a_missing_config_map_that_was_created_ended_the_failure() {
    let mut operator = Operator::idle();
    operator.workload(&rollout("web", 1, 0));
    operator.pod(&pod("a", false, NO_CONFIG));
    operator.advance(120);
    let cause = operator.workload_status("deployment-web").head.cause;
    operator.pod(&healthy("a"));
    operator.workload(&rollout("web", 1, 1));
    operator.advance(60);
    let settings = Root { kind: "ConfigMap".to_owned(), name: "settings".to_owned() };
    assert_eq!(end(&operator), (EndedBy::ObjectChanged, None, Some(settings)), "{cause}");
}

#[test]
fn a_node_that_recovers_ended_the_failure() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "08:00:00"));
    operator.workload(&rollout("web", 1, 1));
    operator.pod(&healthy("a"));
    operator.node(&node("n1", "Unknown", "Kubelet stopped posting node status.", "09:00:00"));
    operator.pod(&pod("a", false, HEALTHY));
    operator.workload(&rollout("web", 1, 0));
    operator.advance(300);
    assert_eq!(operator.workload_status("deployment-web").head.category, "Node");
    operator.node(&node("n1", "True", "", "09:05:00"));
    operator.pod(&healthy("a"));
    operator.workload(&rollout("web", 1, 1));
    operator.advance(120);
    let n1 = Root { kind: "Node".to_owned(), name: "n1".to_owned() };
    assert_eq!(end(&operator), (EndedBy::NodeRecovered, None, Some(n1)));
}

/// A workload `db` with one pod that is controlled by its revisions, `NAME:NUMBER NAME:NUMBER`, newest first.
fn with_revisions(kind: &str, state: &str, revisions: &str) -> WorkloadFacts {
    let object = format!(
        "{{kind: {kind}, apiVersion: apps/v1, metadata: {{name: db, namespace: demo, uid: uid-db, generation: 1}}, spec: {{replicas: 1}}, status: {{observedGeneration: 1, {state}}}}}"
    );
    let mut facts = dump(&object).workloads.remove(0);
    facts.revisions = revisions
        .split(' ')
        .map(|of| of.split_once(':').unwrap())
        .map(|(name, revision)| RevisionFacts {
            name: name.into(),
            revision: revision.parse().unwrap(),
            // The older ones are from before the first diagnosis.
            created: Some(at(match name {
                "db-1" => "08:00:00",
                "db-2" => "08:50:00",
                _ => "09:01:00",
            })),
            ..RevisionFacts::default()
        })
        .collect();
    facts
}

/// The pod of `db` with the name of its template in the label `controller-revision-hash`.
fn pod_of_revision(kind: &str, uid: &str, hash: &str, ready: bool, status: &str) -> PodFacts {
    let ready = if ready { "'True'" } else { "'False'" };
    dump(&format!(
        "{{kind: Pod, metadata: {{namespace: demo, name: db-0, uid: {uid}, creationTimestamp: '2026-11-21T08:00:00Z', labels: {{controller-revision-hash: {hash}}}, ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: db, uid: uid-db, controller: true}}]}}, spec: {{nodeName: n1, restartPolicy: Always, containers: [{{name: app, image: app:1}}]}}, status: {{phase: Running, conditions: [{{type: PodScheduled, status: 'True'}}, {{type: Ready, status: {ready}, lastTransitionTime: '2026-11-21T08:00:00Z'}}], containerStatuses: [{{name: app, {status}}}]}}}}"
    ))
    .pods
    .remove(0)
}

#[test]
fn a_workload_with_an_earlier_revision_was_rolled_back_and_one_with_a_new_revision_rolled_out() {
    let stateful = |update: &str, ready: u32| {
        format!(
            "replicas: 1, readyReplicas: {ready}, updatedReplicas: 1, currentRevision: db-1, updateRevision: {update}"
        )
    };
    let daemon = |ready: u32| {
        format!(
            "desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1, numberReady: {ready}, numberAvailable: {ready}, numberUnavailable: {}",
            1 - ready
        )
    };
    // A StatefulSet writes the name of the revision into the label of its pods, a DaemonSet its suffix. A rollback gives the
    // old revision a new number.
    let (back, forward) = ("db-1:3 db-2:2", "db-3:3 db-2:2");
    for (kind, before, rolling, after, (failed, next), revisions, end) in [
        (
            "StatefulSet",
            stateful("db-2", 0),
            stateful("db-1", 0),
            stateful("db-1", 1),
            ("db-2", "db-1"),
            back,
            (EndedBy::Rollback, None),
        ),
        (
            "StatefulSet",
            stateful("db-2", 0),
            stateful("db-3", 0),
            stateful("db-3", 1),
            ("db-2", "db-3"),
            forward,
            (EndedBy::Rollout, Some(3)),
        ),
        ("DaemonSet", daemon(0), daemon(0), daemon(1), ("2", "1"), back, (EndedBy::Rollback, None)),
        ("DaemonSet", daemon(0), daemon(0), daemon(1), ("2", "3"), forward, (EndedBy::Rollout, Some(3))),
    ] {
        let mut operator = Operator::idle();
        operator.workload(&with_revisions(kind, &before, "db-2:2 db-1:1"));
        let failing = pod_of_revision(kind, "u1", failed, false, &crashed(2, 137, "OOMKilled"));
        operator.pod(&failing);
        operator.advance(120);
        operator.workload(&with_revisions(kind, &rolling, revisions));
        operator.advance(30);
        operator.deleted(&failing);
        operator.pod(&pod_of_revision(kind, "u2", next, true, HEALTHY));
        operator.workload(&with_revisions(kind, &after, revisions));
        operator.advance(60);
        let past = operator.workload_status(&format!("{}-db", kind.to_lowercase())).past_failures;
        let ends: Vec<_> = past.iter().map(|of| (of.ended_by, of.revision)).collect();
        assert_eq!(ends, [end], "{kind} {next}");
    }
}

#[test]
fn a_flapping_failure_is_one_past_failure() {
    let mut operator = failing();
    for n in 3..8 {
        operator.pod(&pod("b", true, &running_again(n - 1, 137, "OOMKilled")));
        operator.workload(&web(1, vec![set("b", 5, None, "08:50:00", 1)]));
        operator.advance(900);
        assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
        operator.workload(&web(0, vec![set("b", 5, None, "08:50:00", 1)]));
        operator.pod(&pod("b", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(300);
        assert_eq!(operator.workload_status("deployment-web").head.state, Active);
    }
    let [of]: [PastFailure; 1] = past(&operator).try_into().unwrap();
    assert_eq!((of.ended_by, of.repeats), (EndedBy::PodsRecovered, 4));
    assert_eq!(of.started_at, Some(at("09:00:00")));
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled", "Recovered Recovered"]);
}

#[test]
fn nothing_is_written_while_nothing_fails_and_the_memory_ends_after_a_week() {
    let mut operator = recovered();
    let writes = operator.server().other_applies;
    operator.advance(7 * DAY - 100);
    assert_eq!(operator.server().other_applies, writes);
    assert_eq!(past(&operator).len(), 1);
    operator.advance(200);
    assert!(operator.server().other_diagnoses.is_empty());
}

#[test]
fn the_diagnosis_of_a_deleted_workload_is_kept_no_longer_than_others() {
    let mut operator = recovered();
    operator.advance(2 * DAY);
    operator.deleted(&healthy("a"));
    operator.workload_deleted(&rolled_back());
    assert!(operator.server().other_diagnoses.is_empty(), "it ended two days ago");

    let mut operator = failing();
    operator.workload_deleted(&rolled_back());
    operator.deleted(&oom("b"));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone);
    assert_eq!(end(&operator), (EndedBy::WorkloadDeleted, None, None));
    operator.advance(DAY);
    assert!(operator.server().other_diagnoses.is_empty());
}

#[test]
fn a_stored_diagnosis_is_read_with_its_past_failures() {
    let operator = recovered();
    let server = operator.server();
    let record = &server.other_diagnoses[&workload_object("deployment-web")];
    let Object::Workload(spec, status) = &record.object else { panic!("{record:?}") };
    let stored = |status: &serde_json::Value| {
        let object =
            json!({"metadata": {"name": "deployment-web", "namespace": "demo"}, "spec": spec, "status": status});
        let mut read = Restored::of(DiagnosisKind::Workload, &object.to_string()).unwrap();
        match read.records.remove(0).object {
            Object::Workload(_, status) => status,
            other => panic!("{other:?}"),
        }
    };
    let mut written = serde_json::to_value(status).unwrap();
    assert_eq!(stored(&written), *status);
    written["pastFailures"][0]["endedBy"] = "Teleported".into();
    let read = stored(&written).past_failures;
    assert_eq!((read[0].ended_by, read[0].revision), (EndedBy::Unknown, Some(4)), "by a newer version");
}
