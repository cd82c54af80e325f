//! The lifetime of a diagnosis: from the first observed failure to the deletion of its object.

use shindan_core::api::DiagnosisState::{Active, Gone, Recovered};
use shindan_core::facts::{Lookup, LookupResult, PodFacts, Probe, ProbeHandler, RestartPolicy, after};
use shindan_core::state::{Caps, Change};

use super::operator::{
    HEALTHY, Operator, Server, at, crashed, deployment, dump, end_pod, ended, event, evicted, evicted_at, healthy,
    killing, node, oom, oom_of, pod, pod_of, pod_of_template, rollout, running_again,
};

#[test]
fn a_healthy_cluster_costs_nothing() {
    let mut operator = Operator::idle();
    for i in 0..20 {
        operator.pod(&healthy(&format!("web-{i}"), &format!("u{i}")));
    }
    operator.advance(86_400);
    assert_eq!((operator.server().applies, operator.server().lookups), (0, 0));
}

#[test]
fn a_pod_missing_from_a_relist_is_gone() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&oom("b", "u2"));
    operator.relist(&[oom("b", "u2")]);
    assert_eq!((operator.state("a"), operator.state("b")), (Gone, Active));
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled", "Diagnosed OOMKilled"], "no Event is emitted for Gone");
    assert_eq!(operator.status("a").head.conditions[0].reason, "PodDeleted");
}

#[test]
fn a_new_pod_under_an_old_name_takes_the_object_over_and_keeps_the_ledger() {
    let mut operator = Operator::idle();
    operator.pod(&oom("db-0", "u1"));
    operator.deleted(&oom("db-0", "u1"));
    operator.pod(&healthy("db-0", "u2"));
    assert_eq!(operator.state("db-0"), Gone);
    operator.advance(600);
    operator.pod(&pod("db-0", "u2", false, &crashed(5, 137, "OOMKilled")));
    let object = operator.object("db-0");
    assert_eq!((object.spec.pod_uid.as_str(), object.status.head.state), ("u2", Active));
    let history = &object.status.restarts.as_ref().unwrap().history;
    assert_eq!(history.len(), 2, "the run of the pod before it is remembered: {history:?}");
    assert_eq!(object.status.repeats, 1);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"], "the same failure within an hour emits no Event");
}

#[test]
fn it_is_no_news_either_where_the_new_pod_comes_before_the_end_of_the_old_one_is_written() {
    let mut operator = Operator::idle();
    operator.pod(&oom("db-0", "u1"));
    operator.advance(4 * 3600);
    operator.take(Change::PodDeleted(Box::new(oom("db-0", "u1"))));
    operator.take(Change::Pod(Box::new(pod("db-0", "u2", false, &crashed(5, 137, "OOMKilled")))));
    operator.settle();
    assert_eq!((operator.object("db-0").spec.pod_uid.as_str(), operator.state("db-0")), ("u2", Active));
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn the_same_failure_an_hour_later_is_news_and_so_is_another() {
    let mut operator = Operator::idle();
    operator.pod(&oom_of("web", "web-a", "u1"));
    operator.deleted(&oom_of("web", "web-a", "u1"));
    operator.pod(&oom_of("web", "web-b", "u2"));
    assert_eq!(operator.emitted().len(), 1);
    operator.deleted(&oom_of("web", "web-b", "u2"));
    operator.advance(3601);
    operator.pod(&oom_of("web", "web-c", "u3"));
    assert_eq!(operator.emitted().len(), 2);
    operator.deleted(&oom_of("web", "web-c", "u3"));
    operator.pod(&pod_of("web-d", "u4", Some("web"), false, &crashed(2, 139, "Error")));
    operator.advance(10);
    assert_eq!(operator.emitted().len(), 3, "{:?}", operator.emitted());
}

#[test]
fn events_may_come_before_their_pod() {
    let mut operator = Operator::idle();
    let pod = pod("a", "u1", false, &crashed(2, 137, "Error"));
    operator.event(&killing(&pod, "08:02:19"));
    operator.pod(&pod);
    assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed");
}

/// A user who may create Events in one namespace can write any UID there; such an Event does not count for a pod elsewhere.
#[test]
fn an_event_from_another_namespace_is_about_no_pod_of_this_one() {
    let victim = pod("a", "u1", false, &crashed(2, 137, "Error"));
    let mut forged = killing(&victim, "08:02:19");
    forged.regarding.namespace = "of-a-tenant".into();
    for comes_first in [true, false] {
        let mut operator = Operator::idle();
        if comes_first {
            operator.event(&forged);
        }
        operator.pod(&victim);
        operator.event(&forged);
        operator.advance(10);
        assert_ne!(operator.status("a").head.cause, "LivenessProbeFailed", "the Event came first: {comes_first}");
    }
}

#[test]
fn the_events_of_a_static_pod_are_those_of_its_mirror() {
    let about = |uid: &str, reason: &str, message: &str| {
        let text = format!(
            "{{kind: Event, metadata: {{name: e, namespace: demo}}, involvedObject: {{kind: Pod, name: a, namespace: demo, uid: {uid}, fieldPath: 'spec.containers{{app}}'}}, reason: {reason}, message: '{message}', type: Warning, lastTimestamp: '2026-11-21T08:02:19Z', count: 1}}"
        );
        dump(&text).events.remove(0)
    };
    let kill = |uid: &str| about(uid, "Killing", "Container app failed liveness probe, will be restarted");
    let duplicate = about(
        "hash2",
        "FailedValidation",
        "Error validating pod a from file due to duplicate pod name \"a\", ignoring",
    );
    let mut mirror = pod("a", "u1", false, &crashed(2, 137, "Error"));
    mirror.static_uid = Some("hash1".into());
    for is_early in [true, false] {
        let mut operator = Operator::idle();
        if is_early {
            operator.event(&kill("hash1"));
        }
        operator.pod(&mirror);
        if !is_early {
            operator.event(&kill("hash1"));
        }
        operator.advance(10);
        assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed");
        let remedies =
            |operator: &Operator| operator.status("a").head.remedies.iter().map(|r| r.text.clone()).collect::<Vec<_>>();
        assert!(!remedies(&operator).iter().any(|text| text.contains("ignores one")));
        operator.event(&duplicate);
        operator.advance(60);
        assert!(remedies(&operator).iter().any(|text| text.starts_with("Two manifests on n1 have this pod's name")));
    }
    let mut another = Operator::idle();
    another.pod(&mirror);
    another.event(&kill("hash3"));
    another.advance(10);
    assert_ne!(another.status("a").head.cause, "LivenessProbeFailed", "the manifest was deleted");
}

#[test]
fn an_expired_event_does_not_change_the_diagnosis() {
    let mut operator = Operator::idle();
    let pod = pod("a", "u1", false, &crashed(2, 137, "Error"));
    operator.event(&killing(&pod, "08:02:19"));
    operator.pod(&pod);
    let applies = operator.server().applies;
    // A relist without the Event, after its time to live of an hour.
    operator.take(Change::ListStarted(shindan_core::state::Source::Events));
    operator.take(Change::ListDone(shindan_core::state::Source::Events));
    operator.advance(7200);
    operator.event(&event(&pod, "BackOff", "Back-off restarting failed container", "11:00:00"));
    operator.advance(600);
    assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed");
    assert_eq!(operator.emitted(), ["Diagnosed LivenessProbeFailed"]);
    assert!(operator.server().applies <= applies + 1, "at most the new evidence is written");
}

/// A busy kubelet sends its Events late. A run that lasted as long as the probe allows, with an exit code that a kill can
/// cause, is not reported as an exit of its own before a late Event can have arrived. Later terminations wait no longer
/// than others.
#[test]
fn a_termination_that_looks_like_a_liveness_kill_waits_longer_for_its_event() {
    let probed = |n: u32, exit: i32, ran: i64| {
        let mut pod = pod("a", "u1", false, &crashed(n, exit, if exit == 0 { "Completed" } else { "Error" }));
        let container = &mut pod.containers[0];
        let end = container.last.as_mut().unwrap();
        end.started_at = end.finished_at.map(|finished| after(finished, -ran));
        container.liveness = Some(Box::new(Probe {
            handler: ProbeHandler::Exec { command: vec!["cat".into(), "/tmp/healthy".into()] },
            by_istio: false,
            initial_delay: 5,
            timeout: 1,
            period: 2,
            success_threshold: 1,
            failure_threshold: 2,
            termination_grace: None,
            host: None,
        }));
        pod
    };
    // The pod has Events: without any, the probe is suspected at once.
    let seen = |pod: &PodFacts| {
        let mut operator = Operator::idle();
        operator.pod(pod);
        operator.event(&event(pod, "BackOff", "Back-off restarting failed container app in pod a", "08:02:20"));
        operator
    };
    let killed = probed(2, 0, 8);
    let mut operator = seen(&killed);
    operator.advance(9);
    assert!(operator.emitted().is_empty(), "{:?}", operator.emitted());
    operator.event(&killing(&killed, "08:02:17"));
    operator.advance(30);
    assert_eq!(operator.emitted(), ["Diagnosed LivenessProbeFailed"]);

    let mut alone = seen(&probed(2, 0, 8));
    alone.advance(14);
    assert!(alone.emitted().is_empty());
    alone.advance(2);
    assert_eq!(alone.emitted(), ["Diagnosed CompletedButRestarted"], "it is reported after the wait");

    // A run shorter than the probe's minimum, and an exit code that no kill causes.
    for (exit, ran) in [(0, 2), (1, 8)] {
        let mut operator = seen(&probed(2, exit, ran));
        operator.advance(6);
        assert_eq!(operator.emitted().len(), 1, "exit {exit} after {ran} s");
    }
}

#[test]
fn a_more_specific_cause_replaces_the_first_once() {
    let mut operator = Operator::idle();
    let first = pod("a", "u1", false, &crashed(2, 137, "Error"));
    operator.pod(&first);
    operator.advance(10);
    let guess = operator.status("a").head.cause.clone();
    assert_ne!(guess, "LivenessProbeFailed");
    operator.event(&killing(&first, "08:02:19"));
    assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed");
    assert_eq!(operator.emitted(), [format!("Diagnosed {guess}"), "Changed LivenessProbeFailed".to_owned()]);
    // The next run terminates the same way without an Event: the cause stays.
    operator.pod(&pod("a", "u1", false, &crashed(3, 137, "Error")));
    operator.advance(30);
    assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed");
    assert_eq!(operator.emitted().len(), 2);
}

#[test]
fn two_alternating_causes_are_reported_once_each() {
    let mut operator = Operator::idle();
    for n in 2..12 {
        let pod = if n % 2 == 0 {
            pod("a", "u1", false, &crashed(n, 137, "OOMKilled"))
        } else {
            pod("a", "u1", false, &crashed(n, 139, "Error"))
        };
        operator.pod(&pod);
        operator.advance(60);
    }
    assert_eq!(operator.emitted().len(), 2, "{:?}", operator.emitted());
}

#[test]
fn the_cause_of_three_consecutive_terminations_replaces_an_earlier_one() {
    let mut operator = Operator::idle();
    operator.pod(&pod("a", "u1", false, &crashed(2, 137, "OOMKilled")));
    operator.advance(60);
    for n in 3..6 {
        assert_eq!(operator.status("a").head.cause, "OOMKilled", "run {n}");
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
        operator.advance(60);
    }
    assert_eq!(operator.status("a").head.cause, "AppError", "{:?}", operator.status("a").head.summary);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled", "Changed AppError"]);
}

/// The kubelet's message about the hook is in the status until the back-off starts.
#[test]
fn the_reason_of_a_failed_hook_stays_after_the_kubelet_stops_reporting_it() {
    let mut operator = Operator::idle();
    let with_hook = |status: &str| {
        let mut pod = pod("a", "u1", false, status);
        pod.containers[0].post_start = Some(Box::new(ProbeHandler::None));
        pod
    };
    let end = "lastState: {terminated: {exitCode: 137, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T08:00:03Z'}}";
    let message = "command ''/register'' exited with 1: , message: \"no such user\"";
    let message_text = format!(
        "ready: false, restartCount: 2, {end}, state: {{waiting: {{reason: PostStartHookError, message: '{message}'}}}}"
    );
    let later = format!(
        "ready: false, restartCount: 2, {end}, state: {{waiting: {{reason: CrashLoopBackOff, message: 'back-off 40s restarting failed container=app'}}}}"
    );
    operator.pod(&with_hook(&message_text));
    operator.event(&event(&with_hook(&message_text), "FailedPostStartHook", "PostStartHook failed", "08:00:01"));
    operator.advance(30);
    assert!(operator.status("a").head.summary.contains("no such user"), "{}", operator.status("a").head.summary);
    operator.pod(&with_hook(&later));
    operator.advance(120);
    let status = operator.status("a");
    assert_eq!((status.head.cause.as_str(), status.pod_status.as_str()), ("PostStartHookError", "CrashLoopBackOff"));
    assert!(status.head.summary.contains("no such user"), "{}", status.head.summary);
}

#[test]
fn a_summary_that_is_kept_counts_the_restarts_that_are() {
    let mut operator = Operator::idle();
    operator.pod(&pod("a", "u1", false, &crashed(2, 137, "OOMKilled")));
    operator.advance(60);
    assert!(
        operator.status("a").head.summary.contains("; 1 restart, back-off 5m"),
        "{}",
        operator.status("a").head.summary
    );
    operator.pod(&pod("a", "u1", false, &crashed(4, 1, "Error")));
    operator.advance(60);
    let status = operator.status("a");
    assert_eq!(status.head.cause, "OOMKilled");
    assert!(status.head.summary.contains("; 3 restarts, back-off 5m"), "{}", status.head.summary);
}

#[test]
fn a_crash_is_over_after_ten_minutes_and_not_between_two_crashes() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", true, &running_again(2, 137, "OOMKilled")));
    operator.advance(599);
    assert_eq!(operator.state("a"), Active);
    operator.advance(2);
    assert_eq!(operator.state("a"), Recovered);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled", "Recovered Recovered"]);
    assert!(!operator.server().events[1].warning);
}

#[test]
fn what_never_started_is_over_after_thirty_seconds() {
    let mut operator = Operator::idle();
    let status = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"absent\" not found'}}";
    operator.pod(&pod("a", "u1", false, status));
    operator.advance(10);
    assert_eq!(operator.status("a").head.cause, "ConfigMapNotFound");
    operator.pod(&healthy("a", "u1"));
    operator.advance(29);
    assert_eq!(operator.state("a"), Active);
    operator.advance(1);
    assert_eq!(operator.state("a"), Recovered);
}

#[test]
fn an_init_container_that_failed_is_over_thirty_seconds_after_its_pod_is_ready() {
    let mut operator = Operator::idle();
    let with_init = |ready: bool, of_init: &str, of_app: &str| {
        let ready = if ready { "'True'" } else { "'False', reason: ContainersNotReady" };
        let text = format!(
            "kind: Pod
metadata: {{namespace: demo, name: a, uid: u1, creationTimestamp: '2026-11-21T08:00:00Z'}}
spec: {{nodeName: n1, restartPolicy: Always, initContainers: [{{name: migrate, image: app:1}}], containers: [{{name: app, image: app:1}}]}}
status:
  phase: Pending
  conditions: [{{type: Ready, status: {ready}, lastTransitionTime: '2026-11-21T08:00:00Z'}}]
  initContainerStatuses: [{{name: migrate, {of_init}}}]
  containerStatuses: [{{name: app, {of_app}}}]
"
        );
        dump(&text).pods.remove(0)
    };
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: PodInitializing}}";
    operator.pod(&with_init(false, &crashed(1, 1, "Error"), waits));
    operator.advance(10);
    assert_eq!(operator.status("a").head.cause, "InitContainerFailed");
    let failed = "{exitCode: 1, reason: Error, finishedAt: '2026-11-21T08:01:00Z'}";
    let done =
        "{exitCode: 0, reason: Completed, startedAt: '2026-11-21T08:01:10Z', finishedAt: '2026-11-21T08:01:12Z'}";
    let of_init =
        format!("ready: true, restartCount: 1, lastState: {{terminated: {failed}}}, state: {{terminated: {done}}}");
    operator.pod(&with_init(true, &of_init, HEALTHY));
    operator.advance(29);
    assert_eq!(operator.state("a"), Active);
    operator.advance(2);
    assert_eq!(operator.state("a"), Recovered);
}

#[test]
fn a_pod_that_terminates_during_its_deletion_is_gone_and_not_recovered() {
    let mut operator = Operator::idle();
    operator.pod(&oom_of("web", "web-a", "u1"));
    for phase in ["Running", "Succeeded", "Failed"] {
        let going = end_pod(&oom_of("web", "web-a", "u1"), phase, "09:00:30");
        operator.pod(&going);
        operator.advance(15);
        assert_eq!(operator.state("web-a"), Active, "{phase}");
    }
    operator.deleted(&oom_of("web", "web-a", "u1"));
    assert_eq!(operator.state("web-a"), Gone);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn an_object_is_removed_a_day_after_its_end() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(3600);
    operator.deleted(&oom("a", "u1"));
    operator.advance(86_399);
    assert_eq!(operator.server().deletes, 0);
    operator.advance(1);
    assert_eq!((operator.server().deletes, operator.server().objects.len()), (1, 0));
    assert_eq!(operator.now, at("09:00:00") + jiff::SignedDuration::from_hours(25));
}

#[test]
fn a_pod_deleted_during_its_first_write_is_gone() {
    let mut operator = Operator::idle();
    operator.take(Change::Pod(Box::new(oom("a", "u1"))));
    operator.settle_with(|operator| operator.take(Change::PodDeleted(Box::new(oom("a", "u1")))));
    assert_eq!(operator.state("a"), Gone);
}

#[test]
fn a_pod_that_becomes_ready_during_its_first_write_recovers() {
    let mut operator = Operator::idle();
    let status = "ready: false, restartCount: 0, state: {waiting: {reason: InvalidImageName, message: 'couldnt parse image name'}}";
    operator.take(Change::Pod(Box::new(pod("a", "u1", false, status))));
    operator.settle_with(|operator| operator.take(Change::Pod(Box::new(healthy("a", "u1")))));
    assert_eq!(operator.state("a"), Active);
    operator.advance(60);
    assert_eq!(operator.state("a"), Recovered);
}

#[test]
fn an_evicted_pod_recovers_for_good_once_its_workload_has_all_replicas() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([deployment("web", 2, 1)]);
    operator.pod(&evicted("web", "web-a", "u1"));
    operator.advance(30);
    assert_eq!(
        (operator.state("web-a"), operator.status("web-a").head.cause.as_str()),
        (Active, "EvictedNodePressure")
    );
    operator.surroundings_mut().results.extend([deployment("web", 2, 2)]);
    operator.advance(400);
    assert_eq!(operator.state("web-a"), Recovered);
    // Another pod of the workload fails: the old one is not reported again.
    operator.surroundings_mut().results.extend([deployment("web", 2, 1)]);
    operator.pod(&oom_of("web", "web-b", "u2"));
    operator.advance(7200);
    operator.pod(&evicted("web", "web-a", "u1"));
    assert_eq!(operator.state("web-a"), Recovered);
    assert_eq!(operator.emitted(), ["Diagnosed EvictedNodePressure", "Recovered Recovered", "Diagnosed OOMKilled"]);
}

#[test]
fn an_evicted_pod_that_was_replaced_long_ago_is_not_a_failure() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([deployment("web", 1, 1)]);
    operator.pod(&evicted("web", "web-a", "u1"));
    operator.advance(3600);
    assert_eq!(operator.server().applies, 0);
    operator.surroundings_mut().results.extend([deployment("web", 1, 0)]);
    operator.pod(&oom_of("web", "web-b", "u2"));
    operator.advance(3600);
    operator.pod(&evicted("web", "web-a", "u1"));
    operator.advance(3600);
    assert_eq!(operator.server().objects.len(), 1, "{:?}", operator.emitted());
}

/// A pod with restartPolicy Never and a liveness probe; `status` is the flow YAML of its status.
fn never_restarted(status: &str) -> PodFacts {
    dump(&format!(
        "kind: Pod
metadata: {{namespace: demo, name: a, uid: u1, creationTimestamp: '2026-11-21T08:00:00Z'}}
spec:
  nodeName: n1
  restartPolicy: Never
  containers: [{{name: app, image: app:1, livenessProbe: {{tcpSocket: {{port: 80}}, periodSeconds: 2, failureThreshold: 2}}}}]
status: {status}
"
    ))
    .pods
    .remove(0)
}

#[test]
fn a_kill_without_a_named_probe_is_attributed_by_the_probe_failure_before_it() {
    let run = "startedAt: '2026-11-21T08:00:00Z'";
    for (phase, exit, reason) in [("Succeeded", 0, "Completed"), ("Failed", 137, "Error")] {
        let mut operator = Operator::idle();
        let healthy = never_restarted(&format!(
            "{{phase: Running, conditions: [{{type: Ready, status: 'True'}}], containerStatuses: [{{name: app, ready: true, restartCount: 0, state: {{running: {{{run}}}}}}}]}}"
        ));
        operator.pod(&healthy);
        operator.event(&event(
            &healthy,
            "Unhealthy",
            "Liveness probe failed: dial tcp 10.0.0.9:80: connect: connection refused",
            "08:59:57",
        ));
        operator.event(&event(&healthy, "Killing", "Stopping container app", "09:00:00"));
        operator.pod(&never_restarted(&format!(
            "{{phase: {phase}, containerStatuses: [{{name: app, ready: false, restartCount: 0, state: {{terminated: {{exitCode: {exit}, reason: {reason}, {run}, finishedAt: '2026-11-21T09:00:01Z'}}}}}}]}}"
        )));
        operator.advance(30);
        assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed", "{phase}");
        assert_eq!(operator.emitted(), ["Diagnosed LivenessProbeFailed"], "{phase}");
    }
}

#[test]
fn the_last_restart_of_a_jobs_container_is_reported_before_its_pod_is_deleted() {
    let mut operator = Operator::idle();
    let job = dump(
        "{kind: Job, apiVersion: batch/v1, metadata: {name: load, namespace: demo}, spec: {backoffLimit: 2, completions: 1}, status: {active: 1}}",
    );
    let facts = job.workloads.into_iter().next().unwrap();
    operator
        .surroundings_mut()
        .results
        .insert(Lookup::Workload(facts.key.clone()), LookupResult::Workload(Some(Box::new(facts))));
    let try_number = |restarts: u32| {
        let mut pod = pod("load-x", "u1", true, &running_again(restarts, 9, "Error"));
        let owner = "[{apiVersion: batch/v1, kind: Job, name: load, uid: j, controller: true}]";
        let owned = dump(&format!(
            "{{kind: Pod, metadata: {{name: x, namespace: demo, uid: x, ownerReferences: {owner}}}, spec: {{containers: []}}}}"
        ));
        pod.owner = owned.pods[0].owner.clone();
        pod.restart_policy = RestartPolicy::OnFailure;
        pod
    };
    operator.now = at("08:01:31");
    operator.pod(&try_number(1));
    operator.advance(20);
    assert_eq!(operator.emitted(), [""; 0], "it will be tried again");
    operator.now = at("08:02:31");
    operator.pod(&try_number(2));
    operator.advance(20);
    assert_eq!(operator.emitted(), ["Diagnosed AppError"], "{:?}", operator.status("load-x"));
}

#[test]
fn an_eviction_loop_has_not_recovered_while_the_next_pod_runs_briefly() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([deployment("web", 1, 1)]);
    let name = |n: usize| (format!("web-{n}"), format!("u{n}"));
    for n in 0..4 {
        let (pod, uid) = name(n);
        operator.pod(&pod_of(&pod, &uid, Some("web"), true, HEALTHY));
        operator.advance(10);
        let (next, next_uid) = name(n + 1);
        operator.pod(&evicted_at("web", &pod, &uid, operator.now));
        operator.pod(&pod_of(&next, &next_uid, Some("web"), true, HEALTHY));
        operator.advance(50);
    }
    assert_eq!(operator.state("web-3"), Active, "the last of a loop");
    operator.advance(3600);
    assert_eq!(operator.state("web-3"), Recovered, "no more of them for long");
}

/// A Deployment that has lost a pod each minute, the last one `ago` seconds ago, and has a new ready one.
fn found_losing_pods(ago: i64) -> Operator {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.surroundings_mut().results.extend([deployment("web", 1, 1)]);
    let ended = |n: i64| after(operator.now, -ago - 60 * n);
    // The order of the list does not matter: the pods have the kubelet's timestamps.
    let mut pods: Vec<_> =
        [2, 0, 40, 1, 3].map(|n| evicted_at("web", &format!("web-{n}"), &format!("u{n}"), ended(n))).into();
    pods.push(pod_of("web-new", "new", Some("web"), true, HEALTHY));
    operator.list_with(&[], &pods, &[rollout("web", 1, 1)]);
    operator.advance(30);
    operator
}

#[test]
fn evictions_before_the_start_of_the_operator_count_as_a_loop() {
    let mut operator = found_losing_pods(20);
    assert_eq!(operator.server().objects.len(), 4, "one of them ended long before");
    assert_eq!(operator.state("web-0"), Active);
    let web = operator.workload_status("deployment-web");
    assert_eq!((web.head.cause.as_str(), web.problem.as_str()), ("EvictedNodePressure", "PodsThrownOut"));
    let summary = &web.head.summary;
    assert!(
        summary.starts_with("its pods are evicted or rejected again and again: evicted: n1 ran low on memory"),
        "{summary}"
    );
    assert_eq!((web.pods.display.as_str(), web.pods.failing), ("1/1", 4));
    operator.advance(3600);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert!(operator.server().objects.values().all(|object| object.status.head.state == Recovered));

    let operator = found_losing_pods(2400);
    assert_eq!(operator.server().objects.len(), 0, "the loop has ended: {:?}", operator.emitted());
    assert_eq!(operator.emitted_for_workloads(), [] as [&str; 0]);
}

#[test]
fn a_loop_of_evictions_is_over_once_another_template_has_taken_its_place() {
    let mut operator = found_losing_pods(20);
    assert_eq!(operator.workload_status("deployment-web").problem, "PodsThrownOut");
    operator.pod(&pod_of_template("web-next", "next", Some(("web", "6")), true, HEALTHY));
    operator.deleted(&pod_of("web-new", "new", Some("web"), true, HEALTHY));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert!(operator.server().objects.values().all(|object| object.status.head.state == Recovered));
}

#[test]
fn no_pod_of_a_continuing_eviction_loop_is_reported_as_recovered() {
    let mut operator = Operator::idle();
    operator.workload(&rollout("web", 1, 1));
    operator.surroundings_mut().results.extend([deployment("web", 1, 1)]);
    for n in 0..40 {
        let (pod, uid) = (format!("web-{n}"), format!("u{n}"));
        operator.pod(&pod_of(&pod, &uid, Some("web"), true, HEALTHY));
        operator.advance(60);
        operator.pod(&evicted_at("web", &pod, &uid, operator.now));
    }
    let web = operator.workload_status("deployment-web");
    assert_eq!((web.head.state, web.problem.as_str()), (Active, "PodsThrownOut"));
    let active = operator.server().objects.values().filter(|object| object.status.head.state == Active).count();
    assert_eq!(active, 4, "the last few show it");
    assert!(!operator.emitted().iter().any(|emitted| emitted.starts_with("Recovered")), "{:?}", operator.emitted());
}

/// A Deployment whose pods are rejected by a kubelet, one each second for two minutes.
fn rejecting_pods() -> Operator {
    let mut operator = Operator::idle();
    for n in 0..120 {
        operator.surroundings_mut().results.extend([deployment("web", 1, 0)]);
        operator.workload(&rollout("web", 1, 0));
        let (pod, uid) = (format!("web-{n}"), format!("u{n}"));
        // Every second pod has ended when it is first observed.
        if n % 2 == 0 {
            operator.pod(&pod_of(&pod, &uid, Some("web"), true, HEALTHY));
        }
        operator.pod(&evicted_at("web", &pod, &uid, operator.now));
        operator.advance(1);
    }
    operator
}

fn active_pods(operator: &Operator) -> usize {
    operator.server().objects.values().filter(|object| object.status.head.state == Active).count()
}

#[test]
fn continuous_pod_rejections_are_reported() {
    let operator = rejecting_pods();
    let web = operator.workload_status("deployment-web");
    assert_eq!((web.head.state, web.problem.as_str()), (Active, "PodsThrownOut"));
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed EvictedNodePressure"]);
    let (objects, active) = (operator.server().objects.len(), active_pods(&operator));
    assert!((1..=8).contains(&active), "the last few show it: {active}");
    assert!(objects <= 60, "those before them need none: {objects}");
}

#[test]
fn a_lost_pod_of_a_workload_scaled_to_zero_is_not_a_failure() {
    let mut operator = rejecting_pods();
    operator.surroundings_mut().results.extend([deployment("web", 0, 0)]);
    operator.workload(&rollout("web", 0, 0));
    operator.advance(400);
    assert_eq!(active_pods(&operator), 0, "{:?}", operator.server().objects.keys());
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
}

#[test]
fn the_pods_of_a_node_that_is_down_get_objects_and_no_events_of_their_own() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&pod("a", "u1", true, HEALTHY));
    operator.node(&node("n1", "Unknown", "Kubelet stopped posting node status.", "09:00:00"));
    operator.pod(&pod("a", "u1", false, HEALTHY));
    operator.advance(300);
    assert_eq!(operator.state("a"), Active);
    operator.node(&node("n1", "True", "", "09:05:00"));
    operator.pod(&pod("a", "u1", true, HEALTHY));
    operator.advance(1200);
    assert_eq!(operator.state("a"), Recovered);
    assert_eq!(operator.emitted(), ["Diagnosed NodeStatusUnknown", "Recovered Recovered"], "both of the node");
    assert!(operator.server().events.iter().all(|e| e.regarding.kind == "Node"));
}

#[test]
fn events_of_unknown_pods_are_bounded_and_expire() {
    let mut operator = Operator::idle();
    let unknown_pod = |i: usize| pod(&format!("s{i}"), &format!("unknown-{i}"), false, &crashed(2, 137, "Error"));
    let mut kill = killing(&unknown_pod(0), "08:02:19");
    for i in 0..1500 {
        kill.regarding.uid = format!("unknown-{i}").into();
        kill.regarding.name = format!("s{i}").into();
        operator.event(&kill);
    }
    operator.pod(&unknown_pod(0));
    operator.pod(&unknown_pod(1499));
    operator.advance(10);
    assert_ne!(operator.status("s0").head.cause, "LivenessProbeFailed", "too long ago, there were too many since");
    assert_eq!(operator.status("s1499").head.cause, "LivenessProbeFailed");
}

/// Once the ConfigMap exists the program runs and crashes: the less specific cause is the current one.
#[test]
fn what_kept_a_container_from_running_is_forgotten_once_it_runs_and_crashes() {
    let waiting = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"app\" not found'}}";
    let mut operator = Operator::idle();
    operator.pod(&pod("a", "u1", false, waiting));
    assert_eq!(operator.status("a").head.cause, "ConfigMapNotFound");
    operator.advance(60);
    operator.pod(&pod("a", "u1", false, &crashed(1, 3, "Error")));
    operator.advance(10);
    assert_eq!(operator.status("a").head.cause, "AppError");
    assert_eq!(operator.emitted(), ["Diagnosed ConfigMapNotFound", "Changed AppError"]);
    // It alternates: each cause is current, and no Event is emitted.
    operator.pod(&pod("a", "u1", false, waiting));
    operator.advance(60);
    operator.pod(&pod("a", "u1", false, &crashed(1, 3, "Error")));
    operator.advance(10);
    assert_eq!(operator.status("a").head.cause, "AppError");
    assert_eq!(operator.emitted().len(), 2, "{:?}", operator.emitted());
}

/// The same with a pod that runs only once: it failed, and the ConfigMap is no longer the cause.
#[test]
fn what_kept_a_pod_from_running_is_forgotten_once_it_has_run_and_failed_for_good() {
    let waiting = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"app\" not found'}}";
    let mut operator = Operator::idle();
    let mut once = pod("a", "u1", false, waiting);
    once.restart_policy = RestartPolicy::Never;
    operator.pod(&once);
    assert_eq!(operator.status("a").head.cause, "ConfigMapNotFound");
    let mut failed = pod("a", "u1", false, &ended(1, 8, "Error"));
    failed.restart_policy = RestartPolicy::Never;
    failed.phase = shindan_core::facts::Phase::Failed;
    operator.pod(&failed);
    operator.advance(20);
    assert_eq!(operator.status("a").head.cause, "PodFailedNoRestart");
}

/// A pull throttled by the kubelet sends no request: the registry's last response stays the cause.
#[test]
fn a_throttled_pull_does_not_change_the_cause() {
    let waits = |message: &str| {
        format!("ready: false, restartCount: 0, state: {{waiting: {{reason: ErrImagePull, message: '{message}'}}}}")
    };
    let mut operator = Operator::idle();
    operator.pod(&pod("a", "u1", false, &waits("manifest unknown: manifest unknown")));
    operator.advance(60);
    assert_eq!(operator.status("a").head.cause, "ImageTagNotFound");
    let emitted = operator.emitted().len();
    operator.pod(&pod("a", "u1", false, &waits("pull QPS exceeded")));
    operator.advance(300);
    assert_eq!(operator.status("a").head.cause, "ImageTagNotFound");
    assert_eq!(operator.emitted().len(), emitted);
}
