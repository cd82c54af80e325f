//! What is told of workloads, and what of their pods is folded into it.

use shindan::api::DiagnosisState::{Active, Gone, Recovered};
use shindan::facts::{Condition, PodFacts, WorkloadFacts};
use shindan::plan::Action;
use shindan::world::Change;

use super::operator::{
    Operator, WELL, at, crashed, dump, event, oom_of, pod_of, pod_of_template, rollout, workload_object,
};

/// The n-th pod of a Deployment; it has run out of memory.
fn failing(workload: &str, n: usize) -> PodFacts {
    oom_of(workload, &format!("{workload}-{n}"), &format!("uid-{workload}-{n}"))
}

/// The same pod with another failure.
fn crashing(workload: &str, n: usize) -> PodFacts {
    let (name, uid) = (format!("{workload}-{n}"), format!("uid-{workload}-{n}"));
    pod_of(&name, &uid, Some(workload), false, &crashed(3, 139, "Error"))
}

/// A Deployment of three, all of whose pods fail.
fn told() -> (Operator, WorkloadFacts, Vec<PodFacts>) {
    let mut operator = Operator::idle();
    let web = rollout("web", 3, 0);
    operator.workload(&web);
    let pods: Vec<_> = (1..=3).map(|n| failing("web", n)).collect();
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.advance(30);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"]);
    (operator, web, pods)
}

/// Its pods are replaced by others that are well.
fn mended(operator: &mut Operator, name: &str, pods: &[PodFacts]) {
    pods.iter().for_each(|pod| operator.deleted(pod));
    for n in 1..=3 {
        operator.pod(&pod_of_template(&format!("{name}-ok-{n}"), &format!("ok-{n}"), Some((name, "6")), true, WELL));
    }
    operator.workload(&rollout(name, 3, 3));
}

#[test]
fn pods_that_are_replaced_tell_one_story_over_a_restart_too() {
    let mut operator = Operator::idle();
    let web = rollout("web", 1, 0);
    operator.workload(&web);
    for n in 1..=3 {
        operator.pod(&failing("web", n));
        operator.advance(60);
        operator.deleted(&failing("web", n));
        operator.advance(20);
        assert_eq!(operator.workload_status("deployment-web").head.state, Active, "its next pod is on its way");
    }
    operator.pod(&failing("web", 4));
    operator.advance(400);
    let ledgers = |operator: &Operator| {
        let templates = &operator.workload_status("deployment-web").templates;
        templates.iter().map(|t| (t.template.clone(), t.failed_pods, t.restarts)).collect::<Vec<_>>()
    };
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 4, 4)], "three of them are gone");

    let mut operator = operator.restarted(60);
    operator.list_with(&[], &[failing("web", 4)], &[web]);
    operator.advance(400);
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 4, 4)], "the same pod is not counted again");
    operator.deleted(&failing("web", 4));
    operator.pod(&failing("web", 5));
    operator.pod(&pod_of_template("web-6", "uid-web-6", Some(("web", "6")), false, &crashed(2, 137, "OOMKilled")));
    operator.advance(400);
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 5, 5), ("web-6".to_owned(), 1, 1)]);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn a_rollout_that_completes_is_the_recovery() {
    let (mut operator, _, pods) = told();
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.workload(&rollout("web", 3, 2));
    operator.advance(120);
    assert_eq!(operator.workload_status("deployment-web").head.state, Active, "the last pod is not ready");
    mended(&mut operator, "web", &[]);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled", "Recovered Recovered"]);
    assert_eq!(operator.workload_status("deployment-web").head.cause, "OOMKilled", "what it recovered from stays");
}

#[test]
fn a_workload_that_never_gets_all_its_pods_is_not_said_to_fail_for_ever() {
    let (mut operator, _, pods) = told();
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.workload(&rollout("web", 3, 2));
    operator.advance(700);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered, "nothing says what is wrong");
}

#[test]
fn conditions_say_what_kstatus_reads() {
    let (mut operator, web, pods) = told();
    let conditions = |operator: &Operator| {
        let conditions = operator.workload_status("deployment-web").head.conditions.clone();
        let each = conditions.iter().map(|c| (c.kind.clone(), c.status.clone(), c.reason.clone()));
        each.map(|(kind, status, reason)| format!("{kind}={status} {reason}")).collect::<Vec<_>>()
    };
    let failing = ["Healthy=False OOMKilled", "Ready=False OOMKilled", "Stalled=True OOMKilled"];
    assert_eq!(conditions(&operator), failing);
    mended(&mut operator, "web", &pods);
    assert_eq!(conditions(&operator), ["Healthy=True Recovered", "Ready=True Recovered", "Stalled=False Recovered"]);
    operator.workload(&web);
    operator.pod(&failing_again());
    operator.advance(30);
    assert_eq!(conditions(&operator), failing);
    operator.workload_deleted(&web);
    let gone = ["Healthy=Unknown WorkloadDeleted", "Ready=True WorkloadDeleted", "Stalled=False WorkloadDeleted"];
    assert_eq!(conditions(&operator), gone);
}

fn failing_again() -> PodFacts {
    failing("web", 9)
}

#[test]
fn five_events_of_a_workload_and_cause_are_told_and_the_rest_is_counted() {
    let mut operator = Operator::idle();
    for name in ["web", "api"] {
        operator.workload(&rollout(name, 20, 0));
    }
    for n in 1..=20 {
        operator.pod(&failing("web", n));
    }
    assert_eq!(operator.told().len(), 5);
    assert_eq!(operator.server.objects.len(), 20, "each pod has its object");
    for n in 1..=6 {
        operator.pod(&failing("api", n));
    }
    assert_eq!(operator.told().len(), 10, "another workload has its own five");
    for n in 1..=7 {
        operator.pod(&crashing("web", n));
    }
    let told = operator.told();
    assert_eq!(told.iter().filter(|told| told.ends_with("NativeCrash")).count(), 5, "and so has another cause");
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 17);
    assert_eq!(operator.workload_status("deployment-api").folded_events, 1);
    assert_eq!(operator.folded, 18, "the metric counts the same");
    assert_eq!(operator.told().len(), 15);
    operator.advance(600);
    operator.pod(&failing("web", 21));
    assert_eq!(operator.told().len(), 16, "ten minutes later it is news again");
}

#[test]
fn what_was_folded_is_in_the_note_and_pods_whose_failure_was_not_told_recover_in_silence() {
    let (mut operator, _, mut pods) = told();
    for n in 4..=9 {
        let pod = failing("web", n);
        operator.pod(&pod);
        pods.push(pod);
    }
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 4);
    mended(&mut operator, "web", &pods);
    let end = operator.server.events.iter().find(|e| e.action == Action::Recovered).expect("the recovery");
    assert!(end.note.ends_with("4 further Events of pods are folded into this one"), "{}", end.note);
    assert_eq!(operator.told().len(), 5);
}

#[test]
fn a_write_that_is_tried_again_is_neither_told_nor_counted_twice() {
    let mut operator = Operator::idle();
    operator.workload(&rollout("web", 7, 0));
    for n in 1..=7 {
        operator.pod(&failing("web", n));
    }
    assert_eq!((operator.told().len(), operator.folded), (5, 2));
    for n in 1..=7 {
        // The watch has not told of it yet: the write is refused once.
        let _ = operator.server.meddle(&format!("web-{n}"), false);
        operator.pod(&crashing("web", n));
        operator.advance(5);
    }
    assert_eq!(operator.server.conflicts, 7);
    assert_eq!((operator.told().len(), operator.folded), (10, 4));
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 4);
}

#[test]
fn a_root_that_three_workloads_share_is_told_once() {
    let mut operator = Operator::idle();
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"settings\" not found'}}";
    for name in ["a", "b", "c"] {
        operator.workload(&rollout(name, 1, 0));
        operator.pod(&pod_of(&format!("{name}-1"), &format!("u-{name}"), Some(name), false, waits));
    }
    operator.advance(400);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed ConfigMapNotFound"]);
    for name in ["a", "b", "c"] {
        let status = operator.workload_status(&format!("deployment-{name}"));
        let root = status.root.as_ref().expect("the root");
        assert_eq!((root.root.kind.as_str(), root.root.name.as_str()), ("ConfigMap", "settings"));
        assert_eq!((root.pods, root.workloads, root.namespaces), (3, 3, 1), "{name}");
        assert_eq!(status.head.state, Active);
    }
}

#[test]
fn a_workload_that_is_deleted_while_it_fails_ends_as_gone_without_an_event() {
    let (mut operator, web, pods) = told();
    operator.workload_deleted(&web);
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"]);
    operator.advance(90_000);
    assert!(operator.server.outers.is_empty(), "it is kept for a day");
}

#[test]
fn one_that_is_deleted_while_it_is_written_for_the_first_time_ends_as_well() {
    let mut operator = Operator::idle();
    let mut web = rollout("web", 1, 0);
    web.conditions.push(Condition {
        kind: "ReplicaFailure".to_owned(),
        status: "True".to_owned(),
        reason: "FailedCreate".to_owned(),
        message:
            "pods \"web-5-x\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4"
                .to_owned(),
        last_transition: Some(at("08:00:00")),
    });
    operator.workload(&web);
    operator.now = at("09:00:30");
    operator.settle_with(|operator| {
        operator.answers.clear();
        operator.take(Change::WorkloadDeleted(web.key.clone()));
    });
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed QuotaExceeded"]);
}

#[test]
fn an_object_that_goes_with_its_workload_is_not_put_back() {
    for object_goes_first in [true, false] {
        let (mut operator, web, pods) = told();
        pods.iter().for_each(|pod| operator.deleted(pod));
        let deletion = operator.server.meddle_outer(&workload_object("deployment-web"), true);
        if object_goes_first {
            operator.take(deletion);
            operator.take(Change::WorkloadDeleted(web.key.clone()));
        } else {
            operator.take(Change::WorkloadDeleted(web.key.clone()));
            operator.take(deletion);
        }
        operator.advance(600);
        assert!(operator.server.outers.is_empty(), "object first: {object_goes_first}: {:?}", operator.server.outers);
    }
}

#[test]
fn an_event_that_was_owed_is_posted_once_by_the_next_process() {
    let mut operator = Operator::idle();
    let web = rollout("web", 3, 0);
    operator.server.no_events = true;
    operator.workload(&web);
    operator.pod(&failing("web", 1));
    operator.advance(30);
    assert!(operator.told_of_workloads().is_empty());
    let mut operator = operator.restarted(60);
    operator.server.no_events = false;
    operator.list_with(&[], &[failing("web", 1)], &[web]);
    operator.advance(400);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn a_restart_repeats_nothing_and_writes_nothing() {
    let (operator, web, pods) = told();
    let before = operator.server.outer_applies;
    let mut operator = operator.restarted(60);
    operator.list_with(&[], &pods, std::slice::from_ref(&web));
    operator.advance(3600);
    assert_eq!((operator.told_of_workloads().len(), operator.server.outer_applies), (1, before));
    let mut operator = operator.restarted(60);
    operator.list(&[], &[]);
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone, "deleted while nobody watched");
    assert_eq!(operator.told_of_workloads().len(), 1);
}

#[test]
fn an_edit_is_repaired_and_so_is_a_deletion() {
    let (mut operator, ..) = told();
    let key = workload_object("deployment-web");
    let summary = operator.workload_status("deployment-web").head.summary.clone();
    let edit = operator.server.meddle_outer(&key, false);
    operator.take(edit);
    operator.advance(3);
    assert_eq!(operator.workload_status("deployment-web").head.summary, summary);
    let deletion = operator.server.meddle_outer(&key, true);
    operator.take(deletion);
    operator.advance(5);
    assert_eq!(operator.workload_status("deployment-web").head.summary, summary);
    let applies = operator.server.outer_applies;
    operator.advance(600);
    assert_eq!(operator.server.outer_applies, applies, "our own repair is nobody else's edit");
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn one_that_wants_no_pods_is_quiet_and_its_failure_ends_without_an_event() {
    let (mut operator, _, pods) = told();
    operator.workload(&rollout("web", 0, 0));
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed OOMKilled"], "nobody knows whether it is well");
    let mut idle = Operator::idle();
    idle.workload(&rollout("web", 0, 0));
    let job = "{kind: Job, apiVersion: batch/v1, metadata: {name: import, namespace: demo, uid: j}, spec: {suspend: true, completions: 1, parallelism: 1}, status: {failed: 1}}";
    idle.workload(&dump(job).workloads[0]);
    idle.advance(3600);
    assert_eq!(idle.server.outer_applies, 0);
}

/// A run of `CronJob/nightly` that has failed.
fn run(name: &str, failed_at: &str) -> WorkloadFacts {
    let job = format!(
        "{{kind: Job, apiVersion: batch/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, creationTimestamp: '2026-11-21T{failed_at}Z', ownerReferences: [{{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c, controller: true}}]}}, spec: {{backoffLimit: 0, completions: 1, parallelism: 1}}, status: {{failed: 1, conditions: [{{type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-11-21T{failed_at}Z'}}]}}}}"
    );
    dump(&job).workloads.remove(0)
}

fn pod_of_run(run: &str) -> PodFacts {
    let pod = format!(
        "{{kind: Pod, metadata: {{namespace: demo, name: {run}-x, uid: pod-of-{run}, labels: {{job-name: {run}}}, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: {run}, uid: uid-{run}, controller: true}}]}}, spec: {{nodeName: n1, restartPolicy: Never, containers: [{{name: app, image: 'app:1'}}]}}, status: {{phase: Failed, conditions: [{{type: Ready, status: 'False', reason: PodFailed}}], containerStatuses: [{{name: app, ready: false, restartCount: 0, state: {{terminated: {{exitCode: 9, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T08:00:10Z'}}}}}}]}}}}"
    );
    dump(&pod).pods.remove(0)
}

#[test]
fn a_run_that_fails_like_the_one_before_it_is_told_once_though_its_job_speaks_before_its_pod() {
    let mut operator = Operator::idle();
    let cron = "{kind: CronJob, apiVersion: batch/v1, metadata: {name: nightly, namespace: demo, uid: c}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: 'app:1'}]}}}}}}";
    operator.workload(&dump(cron).workloads[0]);
    for (name, time) in [("nightly-1", "09:00:00"), ("nightly-2", "09:02:00"), ("nightly-3", "09:04:00")] {
        operator.workload(&run(name, time));
        operator.advance(7);
        operator.pod(&pod_of_run(name));
        operator.advance(113);
    }
    assert_eq!(operator.told_of_workloads(), ["Diagnosed PodFailedNoRestart"]);
    assert!(operator.workload_status("cronjob-nightly").head.summary.contains("nightly-3"));
}

/// A pod of `StatefulSet/pg`.
fn pod_of_set(ordinal: u32, ready: bool, status: &str) -> PodFacts {
    let mut pod = pod_of(&format!("pg-{ordinal}"), &format!("uid-pg-{ordinal}"), None, ready, status);
    let set = "[{apiVersion: apps/v1, kind: StatefulSet, name: pg, uid: s, controller: true}]";
    let owned = format!("{{kind: Pod, metadata: {{name: x, namespace: demo, uid: x, ownerReferences: {set}}}}}");
    pod.owner = dump(&owned).pods.remove(0).owner;
    pod.labels = [("controller-revision-hash", "pg-1")].into_iter().collect();
    pod
}

#[test]
fn the_pod_that_blocks_is_not_the_one_that_is_ready_again() {
    let mut operator = Operator::idle();
    let set = |pods: u32, ready: u32| {
        let set = format!(
            "{{kind: StatefulSet, apiVersion: apps/v1, metadata: {{name: pg, namespace: demo, uid: s, generation: 1}}, spec: {{replicas: 3}}, status: {{observedGeneration: 1, replicas: {pods}, readyReplicas: {ready}, currentRevision: pg-1, updateRevision: pg-1}}}}"
        );
        dump(&set).workloads.remove(0)
    };
    let waiting = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"pg-conf\" not found'}}";
    operator.workload(&set(1, 0));
    operator.pod(&pod_of_set(0, false, waiting));
    operator.advance(60);
    operator.pod(&pod_of_set(0, true, WELL));
    operator.workload(&set(2, 1));
    operator.pod(&pod_of_set(1, false, &crashed(1, 3, "Error")));
    operator.advance(10);
    assert_eq!(operator.told_of_workloads(), ["Diagnosed ConfigMapNotFound", "Changed AppError"]);
    let notes: Vec<_> = operator.server.events.iter().filter(|e| e.regarding.kind == "StatefulSet").collect();
    assert!(notes[1].note.starts_with("pg-1 fails, and pg-2 waits to be made: "), "{}", notes[1].note);
    assert!(!notes[0].note.contains("delete pod"), "the template is right: {}", notes[0].note);
}

#[test]
fn a_rollout_that_made_no_progress_waits_for_what_its_pod_says() {
    let mut operator = Operator::idle();
    let mut web = rollout("web", 2, 0);
    let progress = "{kind: Deployment, apiVersion: apps/v1, metadata: {name: web, namespace: demo}, status: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}";
    web.conditions = dump(progress).workloads.remove(0).conditions;
    let mut pod = pod_of("web-1", "uid-web-1", Some("web"), false, &WELL.replace("ready: true", "ready: false"));
    let probed = "{kind: Pod, metadata: {name: x, namespace: demo, uid: x}, spec: {containers: [{name: app, readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 2}}]}}";
    pod.containers[0].readiness = dump(probed).pods[0].containers[0].readiness.clone();
    operator.pod(&pod);
    operator.event(&event(&pod, "Unhealthy", "Readiness probe failed: connect: connection refused", "08:00:20"));
    operator.workload(&web);
    operator.advance(120);
    assert_eq!(operator.told_of_workloads(), [] as [&str; 0], "its probe may succeed yet");
    operator.advance(600);
    let told = operator.told_of_workloads();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_ne!(told[0], "Diagnosed ProgressDeadlineExceeded");
}
