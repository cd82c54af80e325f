//! Routine operations of a healthy cluster, which must not be reported. One test for each kind.

use shindan_core::facts::{EventFacts, Lookup, LookupResult, PodFacts};
use shindan_core::state::Change;

use super::operator::{
    HEALTHY, Operator, at, deployment, dump, end_pod, event, healthy, node, oom_of, pod, pod_of, running_again,
};

const UNREADY: &str = "ready: false, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:59:50Z'}}";
const CREATING: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}";

fn assert_quiet(operator: &Operator) {
    assert_eq!(operator.emitted(), [""; 0]);
    let objects = &operator.server().objects;
    assert_eq!(
        operator.server().applies,
        0,
        "{:?}",
        objects.values().map(|o| &o.status.head.summary).collect::<Vec<_>>()
    );
}

/// A pod of the Deployment `web` in flow YAML.
fn of_web(name: &str, meta: &str, spec: &str, status: &str) -> PodFacts {
    let owner = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5, uid: rs, controller: true}]";
    dump(&format!(
        "kind: Pod
metadata: {{namespace: demo, name: {name}, uid: {name}, labels: {{pod-template-hash: '5'}}, {owner}, {meta}}}
spec: {{{spec}}}
status: {{{status}}}
"
    ))
    .pods
    .remove(0)
}

/// An unscheduled pod with the scheduler's message.
fn pending(name: &str) -> PodFacts {
    of_web(
        name,
        "creationTimestamp: '2026-11-21T09:00:00Z'",
        "containers: [{name: app, image: app:1, resources: {requests: {cpu: '3'}}}]",
        "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable,
          message: '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
          lastTransitionTime: '2026-11-21T09:00:00Z'}]",
    )
}

/// A pod whose containers are being created.
fn starting(name: &str) -> PodFacts {
    let mut pod = pod_of(name, name, Some("web"), false, CREATING);
    pod.phase = shindan_core::facts::Phase::Pending;
    pod.created = Some(at("09:00:00"));
    pod.start_time = Some(at("09:00:01"));
    pod
}

fn ready(name: &str) -> PodFacts {
    pod_of(name, name, Some("web"), true, HEALTHY)
}

#[test]
fn start_up_within_its_limits() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&starting("web-a"));
    operator.advance(110);
    operator.pod(&pod_of("web-a", "web-a", Some("web"), false, UNREADY));
    operator.advance(290);
    operator.pod(&ready("web-a"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_rollout() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([deployment("web", 2, 2)]);
    for name in ["web-a", "web-b"] {
        operator.pod(&ready(name));
    }
    for (old, new) in [("web-a", "web-c"), ("web-b", "web-d")] {
        operator.pod(&starting(new));
        operator.advance(20);
        operator.pod(&pod_of(new, new, Some("web"), false, UNREADY));
        operator.advance(40);
        operator.pod(&ready(new));
        let going = end_pod(&ready(old), "Running", "09:05:00");
        operator.pod(&going);
        // During termination its readiness fails, and it may be ended by SIGKILL.
        operator.event(&event(&going, "Unhealthy", "Readiness probe failed: dial tcp: connection refused", "09:04:40"));
        operator.event(&event(&going, "Killing", "Stopping container app", "09:04:31"));
        operator.pod(&end_pod(&oom_like(old, 137), "Running", "09:05:00"));
        operator.advance(5);
        operator.deleted(&going);
    }
    operator.advance(3600);
    assert_quiet(&operator);
}

/// The container has terminated after the deletion of its pod began.
fn oom_like(name: &str, exit: i32) -> PodFacts {
    let state = format!(
        "ready: false, restartCount: 0, state: {{terminated: {{exitCode: {exit}, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T09:04:59Z'}}}}"
    );
    pod_of(name, name, Some("web"), false, &state)
}

#[test]
fn a_scale_down() {
    let mut operator = Operator::idle();
    for exit in [0, 143, 137] {
        let name = format!("web-{exit}");
        operator.pod(&ready(&name));
        operator.pod(&end_pod(&ready(&name), "Running", "09:05:00"));
        operator.advance(30);
        let mut over = oom_like(&name, exit);
        over.deletion = Some(at("09:05:00"));
        over.phase = shindan_core::facts::Phase::Failed;
        operator.pod(&over);
        operator.advance(5);
        operator.deleted(&over);
    }
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_drain() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&ready("web-a"));
    let evicted = |phase: &str, deletion: Option<&str>| {
        let meta = deletion.map_or_else(String::new, |at| format!("deletionTimestamp: '2026-11-21T{at}Z'"));
        of_web(
            "web-a",
            &meta,
            "nodeName: n1, containers: [{name: app, image: app:1}]",
            &format!(
                "phase: {phase}, conditions: [{{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI, message: 'Eviction API: evicting', lastTransitionTime: '2026-11-21T09:00:00Z'}}, {{type: Ready, status: 'False', lastTransitionTime: '2026-11-21T09:00:10Z'}}],
                 containerStatuses: [{{name: app, ready: false, restartCount: 0, state: {{terminated: {{exitCode: 143, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T09:00:09Z'}}}}}}]"
            ),
        )
    };
    operator.pod(&evicted("Running", Some("09:00:30")));
    operator.pod(&starting("web-b"));
    operator.advance(10);
    operator.pod(&evicted("Failed", Some("09:00:30")));
    operator.advance(30);
    operator.deleted(&evicted("Failed", Some("09:00:30")));
    operator.pod(&ready("web-b"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_scale_up_of_the_cluster_that_is_under_way() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    let waiting = pending("web-a");
    operator.pod(&waiting);
    let mut adds = event(&waiting, "TriggeredScaleUp", "pod triggered scale-up: [{group 1->2 (max: 9)}]", "09:00:05");
    adds.regarding.container = None;
    operator.event(&adds);
    operator.advance(240);
    // The new node joins and is not ready at first.
    let joining = |status: &str, message: &str| {
        let mut joining = node("n2", status, message, "09:04:00");
        joining.created = Some(at("09:04:00"));
        joining
    };
    operator.node(&joining("False", "container runtime network not ready: NetworkReady=false"));
    operator.advance(60);
    operator.node(&joining("True", ""));
    let mut placed = starting("web-a");
    placed.node_name = Some("n2".into());
    operator.pod(&placed);
    operator.advance(60);
    operator.pod(&ready("web-a"));
    operator.advance(3600);
    assert_quiet(&operator);
}

/// A pod after a graceful shutdown of its node.
fn shut_down(name: &str) -> PodFacts {
    of_web(
        name,
        "creationTimestamp: '2026-11-21T08:00:00Z'",
        "nodeName: n1, containers: [{name: app, image: app:1}]",
        "phase: Failed, reason: Terminated, message: Pod was terminated in response to imminent node shutdown.,
         conditions: [{type: DisruptionTarget, status: 'True', reason: TerminationByKubelet, lastTransitionTime: '2026-11-21T09:00:05Z'}, {type: Ready, status: 'False', lastTransitionTime: '2026-11-21T09:00:05Z'}],
         containerStatuses: [{name: app, ready: false, restartCount: 0, state: {terminated: {exitCode: 143, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T09:00:05Z'}}}]",
    )
}

#[test]
fn an_upgrade_of_a_node_that_shuts_down_and_comes_back() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.surroundings_mut().results.extend([deployment("web", 1, 0)]);
    operator.pod(&ready("web-a"));
    operator.node(&node("n1", "False", "node is shutting down", "09:00:00"));
    operator.pod(&shut_down("web-a"));
    operator.pod(&starting("web-b"));
    operator.advance(60);
    operator.node(&node("n1", "Unknown", "Kubelet stopped posting node status.", "09:01:00"));
    operator.surroundings_mut().results.extend([deployment("web", 1, 1)]);
    let mut replacement = ready("web-b");
    replacement.node_name = Some("n2".into());
    operator.pod(&replacement);
    operator.advance(180);
    operator.node(&node("n1", "True", "", "09:04:00"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_node_that_is_replaced() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&ready("web-a"));
    operator.node(&node("n1", "False", "node is shutting down", "09:00:00"));
    operator.pod(&shut_down("web-a"));
    operator.pod(&starting("web-b"));
    operator.advance(60);
    operator.take(Change::NodeDeleted("n1".into()));
    operator.settle();
    operator.pod(&ready("web-b"));
    operator.deleted(&shut_down("web-a"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_drained_node_whose_machine_is_removed() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&healthy("agent", "u1"));
    let unreachable = || {
        let mut unreachable = node("n1", "Unknown", "Kubelet stopped posting node status.", "09:00:00");
        unreachable.unschedulable = true;
        unreachable
    };
    operator.node(&unreachable());
    operator.pod(&pod("agent", "u1", false, HEALTHY));
    operator.advance(300);
    operator.deleted(&pod("agent", "u1", false, HEALTHY));
    operator.take(Change::NodeDeleted("n1".into()));
    operator.advance(3600);
    assert_quiet(&operator);
    // A node that stays unreachable is an incident.
    operator.node(&unreachable());
    operator.advance(600);
    assert_eq!(operator.emitted(), ["Diagnosed NodeStatusUnknown"]);
}

/// A pod of the Job `load`.
fn of_job(name: &str, policy: &str, status: &str) -> PodFacts {
    dump(&format!(
        "kind: Pod
metadata: {{namespace: demo, name: {name}, uid: {name}, creationTimestamp: '2026-11-21T08:59:00Z', ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: load, uid: j, controller: true}}]}}
spec: {{nodeName: n1, restartPolicy: {policy}, initContainers: [{{name: proxy, image: proxy:1, restartPolicy: Always}}], containers: [{{name: app, image: app:1}}]}}
status: {{{status}}}
"
    ))
    .pods
    .remove(0)
}

fn job(status: &str) -> (Lookup, LookupResult) {
    let facts = dump(&format!(
        "{{kind: Job, apiVersion: batch/v1, metadata: {{name: load, namespace: demo}}, spec: {{backoffLimit: 6, completions: 1}}, status: {{{status}}}}}"
    ));
    let facts = facts.workloads.into_iter().next().unwrap();
    (Lookup::Workload(facts.key.clone()), LookupResult::Workload(Some(Box::new(facts))))
}

fn ended(exit: i32, reason: &str) -> String {
    format!(
        "state: {{terminated: {{exitCode: {exit}, reason: {reason}, startedAt: '2026-11-21T08:59:30Z', finishedAt: '2026-11-21T09:00:00Z'}}}}"
    )
}

#[test]
fn a_job_that_finishes_and_whose_sidecar_ends_after_it() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([job("succeeded: 1, conditions: [{type: Complete, status: 'True'}]")]);
    let done = ended(0, "Completed");
    let finishing = |sidecar: &str, phase: &str| {
        of_job(
            "load-a",
            "Never",
            &format!(
                "phase: {phase}, conditions: [{{type: Initialized, status: 'True'}}, {{type: Ready, status: 'False', reason: PodCompleted}}],
                 initContainerStatuses: [{{name: proxy, ready: false, started: false, restartCount: 0, {sidecar}}}],
                 containerStatuses: [{{name: app, ready: false, restartCount: 0, {done}}}]"
            ),
        )
    };
    operator.pod(&finishing("state: {running: {startedAt: '2026-11-21T08:59:20Z'}}", "Running"));
    operator.advance(30);
    operator.pod(&finishing(&ended(143, "Error"), "Running"));
    operator.advance(5);
    operator.pod(&finishing(&ended(143, "Error"), "Succeeded"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_job_that_is_tried_again_has_an_object_and_no_event() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([job("active: 1, failed: 1")]);
    let failed = of_job(
        "load-a",
        "Never",
        &format!(
            "phase: Failed, containerStatuses: [{{name: app, ready: false, restartCount: 0, {}}}]",
            ended(1, "Error")
        ),
    );
    operator.pod(&failed);
    operator.advance(60);
    assert_eq!(
        (operator.state("load-a").as_str(), operator.status("load-a").head.severity.as_str()),
        ("Active", "Info")
    );
    operator
        .surroundings_mut()
        .results
        .extend([job("succeeded: 1, failed: 1, conditions: [{type: Complete, status: 'True'}]")]);
    operator.advance(600);
    assert_eq!(operator.state("load-a").as_str(), "Recovered");
    assert_eq!(operator.emitted(), [""; 0]);
}

#[test]
fn a_job_whose_second_try_fails_too_is_a_warning_and_still_no_event() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([job("active: 1, failed: 1")]);
    let failed = |name| {
        let status = format!(
            "phase: Failed, containerStatuses: [{{name: app, ready: false, restartCount: 0, {}}}]",
            ended(1, "Error")
        );
        of_job(name, "Never", &status)
    };
    operator.pod(&failed("load-a"));
    operator.advance(60);
    operator.surroundings_mut().results.extend([job("active: 1, failed: 2")]);
    operator.pod(&failed("load-b"));
    operator.advance(60);
    assert_eq!(operator.status("load-b").head.severity.as_str(), "Warning");
    assert_eq!(operator.emitted(), [""; 0]);
}

#[test]
fn a_job_that_restarts_its_container_once_is_recorded_and_never_warned_of() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.extend([job("active: 1")]);
    let container = |state: &str, restarts: u32, phase: &str| {
        let status = format!(
            "phase: {phase}, conditions: [{{type: Initialized, status: 'True'}}, {{type: Ready, status: 'False'}}],
             containerStatuses: [{{name: app, ready: false, restartCount: {restarts}, {state}}}]"
        );
        of_job("load-a", "OnFailure", &status)
    };
    operator.pod(&container(&ended(1, "Error"), 0, "Running"));
    operator.advance(20);
    assert_eq!(operator.status("load-a").head.severity.as_str(), "Info", "also the first thing that was written");
    let back_off =
        format!("state: {{waiting: {{reason: CrashLoopBackOff}}}}, last{}", ended(1, "Error").replacen('s', "S", 1));
    operator.pod(&container(&back_off, 1, "Running"));
    operator.advance(20);
    assert_eq!(operator.status("load-a").head.severity.as_str(), "Warning", "its second try failed");
    assert_eq!(operator.emitted(), [""; 0]);
}

/// A pod and its Event after this many failed pulls.
fn pull_error(times: u32) -> (PodFacts, EventFacts) {
    const REFUSED: &str = "dial tcp 10.0.0.9:443: connect: connection refused";
    let state =
        format!("ready: false, restartCount: 0, state: {{waiting: {{reason: ErrImagePull, message: '{REFUSED}'}}}}");
    let mut pod = pod("a", "u1", false, &state);
    pod.phase = shindan_core::facts::Phase::Pending;
    let mut failed = event(&pod, "Failed", &format!("Failed to pull image \"app:1\": {REFUSED}"), "09:00:00");
    failed.count = times;
    (pod, failed)
}

#[test]
fn a_pull_that_succeeds_on_retry_is_recorded_without_an_event() {
    let mut operator = Operator::idle();
    let (pod, failed) = pull_error(1);
    operator.event(&failed);
    operator.pod(&pod);
    let status = operator.status("a");
    assert_eq!((status.head.cause.as_str(), status.head.severity.as_str()), ("RegistryConnectionRefused", "Info"));
    operator.advance(15);
    operator.pod(&healthy("a", "u1"));
    operator.advance(600);
    assert_eq!(operator.state("a").as_str(), "Recovered");
    assert_eq!((operator.emitted().len(), operator.server().applies), (0, 2));
}

#[test]
fn a_pull_that_fails_again_is_reported() {
    let mut operator = Operator::idle();
    let (pod, failed) = pull_error(1);
    operator.event(&failed);
    operator.pod(&pod);
    operator.advance(12);
    assert_eq!(operator.emitted(), [""; 0]);
    operator.event(&pull_error(2).1);
    assert_eq!(operator.emitted(), ["Diagnosed RegistryConnectionRefused"]);
    assert_eq!(operator.status("a").head.severity.as_str(), "Critical");
}

#[test]
fn a_failed_pull_without_a_second_event_is_reported() {
    let mut operator = Operator::idle();
    operator.pod(&pull_error(1).0);
    operator.advance(29);
    assert_eq!(operator.emitted(), [""; 0]);
    operator.advance(5);
    assert_eq!(operator.emitted(), ["Diagnosed RegistryConnectionRefused"]);
}

#[test]
fn a_recorded_failure_without_an_event_hides_no_other_failure() {
    let mut operator = Operator::idle();
    let (pulling, failed) = pull_error(1);
    operator.event(&failed);
    operator.pod(&pulling);
    operator.pod(&pod("a", "u1", false, &super::operator::crashed(2, 137, "OOMKilled")));
    assert_eq!(operator.status("a").head.cause, "OOMKilled");
    operator.pod(&pulling);
    operator.advance(10);
    assert_eq!(operator.status("a").head.cause, "OOMKilled", "nor does it become the cause");
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn old_events_of_a_healthy_pod() {
    let mut operator = Operator::idle();
    let healthy = healthy("a", "u1");
    for (reason, message) in [
        ("Failed", "Failed to pull image \"app:1\": dial tcp 10.0.0.9:443: connect: connection refused"),
        ("FailedMount", "MountVolume.SetUp failed for volume \"v\" : secret \"s\" not found"),
        ("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu."),
        ("BackOff", "Back-off restarting failed container app in pod a_demo(u1)"),
    ] {
        operator.event(&event(&healthy, reason, message, "08:30:00"));
    }
    operator.pod(&healthy);
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn text_that_looks_like_an_error_in_a_pod_that_is_ready() {
    let mut operator = Operator::idle();
    let status = "ready: true, restartCount: 1, state: {running: {startedAt: '2026-11-21T08:10:00Z'}},
        lastState: {terminated: {exitCode: 1, reason: Error, message: 'panic: OOMKilled, no space left on device', startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T08:09:58Z'}}";
    let mut pod = pod("a", "u1", true, status);
    "error: CrashLoopBackOff".clone_into(&mut pod.message);
    operator.pod(&pod);
    operator.event(&event(&pod, "Fatal", "FATAL: exec format error, OOMKilled", "08:59:00"));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_probe_that_fails_within_its_threshold() {
    let mut operator = Operator::idle();
    let probed = |ready: bool| {
        let condition = if ready { "True" } else { "False" };
        of_web(
            "web-a",
            "creationTimestamp: '2026-11-21T08:00:00Z'",
            "nodeName: n1, containers: [{name: app, image: app:1, livenessProbe: {httpGet: {port: 80}, failureThreshold: 3}, readinessProbe: {httpGet: {port: 80}}}]",
            &format!(
                "phase: Running, conditions: [{{type: Initialized, status: 'True'}}, {{type: Ready, status: '{condition}', lastTransitionTime: '2026-11-21T09:00:10Z'}}],
                 containerStatuses: [{{name: app, ready: {ready}, started: true, restartCount: 0, state: {{running: {{startedAt: '2026-11-21T08:00:00Z'}}}}}}]"
            ),
        )
    };
    operator.pod(&probed(true));
    let healthy = probed(true);
    operator.event(&event(
        &healthy,
        "Unhealthy",
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
        "09:00:05",
    ));
    operator.event(&event(
        &healthy,
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
        "09:00:06",
    ));
    operator.advance(30);
    operator.pod(&probed(false));
    operator.advance(100);
    operator.pod(&probed(true));
    operator.advance(3600);
    assert_quiet(&operator);
}

#[test]
fn a_change_of_resources_while_the_pod_runs() {
    let mut operator = Operator::idle();
    let resizing = |condition: &str| {
        of_web(
            "web-a",
            "creationTimestamp: '2026-11-21T08:00:00Z'",
            "nodeName: n1, containers: [{name: app, image: app:1}]",
            &format!(
                "phase: Running, conditions: [{{type: Ready, status: 'True', lastTransitionTime: '2026-11-21T08:00:10Z'}}, {condition}],
                 containerStatuses: [{{name: app, {HEALTHY}}}]"
            ),
        )
    };
    operator.pod(&ready("web-a"));
    operator.pod(&resizing("{type: PodResizeInProgress, status: 'True', lastTransitionTime: '2026-11-21T09:00:00Z'}"));
    operator.advance(600);
    operator.pod(&resizing(
        "{type: PodResizePending, status: 'True', reason: Deferred, message: 'Node didn''t have enough resource: cpu, requested: 4000, used: 3000, capacity: 4000', lastTransitionTime: '2026-11-21T09:10:00Z'}",
    ));
    operator.advance(50);
    assert_quiet(&operator);
    operator.advance(20);
    assert_eq!(operator.status("web-a").head.cause, "ResizeDeferred", "what waits for long is recorded");
    operator.pod(&ready("web-a"));
    operator.advance(60);
    assert_eq!(operator.state("web-a").as_str(), "Recovered");
    assert_eq!(operator.emitted(), [""; 0]);
}

#[test]
fn an_intended_restart() {
    let mut operator = Operator::idle();
    let before = healthy("a", "u1");
    operator.pod(&before);
    operator.event(&event(&before, "Killing", "Container app resize requires restart", "08:01:20"));
    operator.pod(&pod("a", "u1", true, &running_again(1, 143, "Error")));
    operator.advance(3600);
    assert_quiet(&operator);
    // The same without the Event is a failure.
    let mut other = Operator::idle();
    other.now = at("08:02:00");
    other.pod(&oom_of("web", "web-a", "u2"));
    assert_eq!(other.emitted().len(), 1);
}
