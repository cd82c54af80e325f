//! Tests of the judgement of custom resources, on whole dumps.

use crate::case::Thresholds;
use crate::facts::Timestamp;
use crate::offline::{self, Logs};
use crate::reconcile::{Object, Write};
use crate::wire::Dump;

const NOW: &str = "2026-11-21T10:00:00Z";

/// The workload diagnoses of a dump.
fn diagnose(text: &str) -> Vec<Write> {
    let mut dump = Dump::default();
    dump.read(text);
    assert_eq!(dump.problems, [], "{text}");
    let now: Timestamp = NOW.parse().unwrap();
    let report = offline::diagnose(dump, Logs::default(), now, Thresholds::default());
    report.nodes_and_workloads.into_iter().filter(|write| matches!(write.object, Object::Workload(..))).collect()
}

/// The diagnosed objects with their causes.
fn found(text: &str) -> Vec<String> {
    let line = |write: &Write| {
        let Object::Workload(spec, status) = &write.object else { panic!("{write:?}") };
        format!("{} {}", spec.workload.display, status.head.cause)
    };
    diagnose(text).iter().map(line).collect()
}

fn widget(status: &str) -> String {
    format!(
        "apiVersion: acme.example.com/v1\nkind: Widget\n\
         metadata: {{name: w, namespace: shop, generation: 2, creationTimestamp: \"2026-11-21T08:00:00Z\"}}\n\
         status: {status}\n"
    )
}

fn condition(kind: &str, status: &str, minutes: i64, reason: &str) -> String {
    let at = crate::facts::after(NOW.parse().unwrap(), -60 * minutes);
    format!("{{type: {kind}, status: {status}, reason: {reason}, message: no disk, lastTransitionTime: \"{at}\"}}")
}

fn of_condition(kind: &str, status: &str, minutes: i64, reason: &str) -> Vec<String> {
    found(&widget(&format!("{{observedGeneration: 2, conditions: [{}]}}", condition(kind, status, minutes, reason))))
}

const FALSE: &str = "\"False\"";
const TRUE: &str = "\"True\"";

#[test]
fn failing_condition_counts_after_5_minutes() {
    for (kind, status, cause) in [
        ("Ready", FALSE, "ResourceNotReady"),
        ("Available", FALSE, "ResourceNotReady"),
        ("Synced", FALSE, "ResourceNotReady"),
        ("Degraded", TRUE, "ResourceFailed"),
        ("Failed", TRUE, "ResourceFailed"),
    ] {
        assert_eq!(of_condition(kind, status, 6, "Broken"), [format!("Widget/w {cause}")], "{kind}");
        assert!(of_condition(kind, status, 4, "Broken").is_empty(), "{kind}");
    }
    assert_eq!(of_condition("Stalled", TRUE, 0, "Broken"), ["Widget/w ResourceFailed"], "the controller has given up");
}

#[test]
fn object_in_progress_waits_longer() {
    for reason in ["Progressing", "Creating", "Pending", "Reconciling", "InProgress", "WaitingForVolume"] {
        assert!(of_condition("Ready", FALSE, 9, reason).is_empty(), "{reason}");
        assert_eq!(of_condition("Ready", FALSE, 11, reason), ["Widget/w ResourceNotReady"], "{reason}");
    }
    assert!(of_condition("Ready", "Unknown", 60, "Progressing").is_empty());
    assert!(of_condition("Reconciling", TRUE, 60, "Progressing").is_empty());
}

#[test]
fn healthy_paused_and_deleted_objects_are_silent() {
    assert!(of_condition("Ready", TRUE, 60, "Ok").is_empty());
    assert!(of_condition("Degraded", FALSE, 60, "Ok").is_empty());
    assert!(of_condition("Ready", FALSE, 60, "Suspended").is_empty());
    let failing = widget(&format!("{{phase: Failed, conditions: [{}]}}", condition("Ready", FALSE, 60, "Broken")));
    assert_eq!(found(&failing), ["Widget/w ResourceFailed"]);
    for pause in ["spec: {suspend: true}", "spec: {paused: true}"] {
        assert!(found(&format!("{failing}{pause}\n")).is_empty(), "{pause}");
    }
    let deleted = failing.replace("generation: 2", "generation: 2, deletionTimestamp: \"2026-11-21T09:00:00Z\"");
    assert!(found(&deleted).is_empty());
    for phase in ["Paused", "Stopped", "Suspended"] {
        let text = format!("{{phase: {phase}, conditions: [{}]}}", condition("Ready", FALSE, 60, "Broken"));
        assert!(found(&widget(&text)).is_empty(), "{phase}");
    }
}

#[test]
fn terminal_phase_counts_at_once() {
    for status in ["{phase: Failed, message: no disk}", "{state: error}", "{phase: Degraded, conditions: []}"] {
        assert_eq!(found(&widget(status)), ["Widget/w ResourceFailed"], "{status}");
    }
    for status in ["{phase: Running}", "{phase: Pending}", "{phase: \"\"}", "{state: Cluster in healthy state}"] {
        assert!(found(&widget(status)).is_empty(), "{status}");
    }
}

#[test]
fn unusual_status_has_no_diagnosis() {
    for status in [
        "{}",
        "[]",
        "Failed",
        "{conditions: {type: Ready, status: \"False\"}}",
        "{conditions: [{type: Ready, status: \"False\"}]}",
        "{conditions: [{type: Ready, status: \"False\", lastTransitionTime: yesterday}]}",
        "{conditions: [{type: Ready, status: \"False\", lastTransitionTime: 1700000000}]}",
        "{conditions: [{type: Ready, status: false, lastTransitionTime: \"2026-11-21T08:00:00Z\"}]}",
        "{conditions: [{type: Ready, status: \"no\", lastTransitionTime: \"2026-11-21T08:00:00Z\"}]}",
        "{conditions: [{type: Ready, lastTransitionTime: \"2026-11-21T08:00:00Z\"}]}",
        "{conditions: [{status: \"False\", lastTransitionTime: \"2026-11-21T08:00:00Z\"}]}",
        "{conditions: [Ready, null, 3], phase: [Failed], observedGeneration: {}}",
    ] {
        assert!(found(&widget(status)).is_empty(), "{status}");
    }
}

#[test]
fn failed_run_is_reported_for_a_day() {
    let run = |ended: &str| widget(&format!("{{phase: Failed, completionTime: \"{ended}\"}}"));
    assert_eq!(found(&run("2026-11-20T11:00:00Z")), ["Widget/w ResourceFailed"]);
    assert!(found(&run("2026-11-20T09:00:00Z")).is_empty());
}

#[test]
fn controller_that_does_not_act_is_reported() {
    let ready = condition("Ready", TRUE, 60, "Ok");
    let status = |observed: i64| format!("{{observedGeneration: {observed}, conditions: [{ready}]}}");
    assert_eq!(found(&widget(&status(1))), ["Widget/w ResourceNotObserved"]);
    assert!(found(&widget(&status(2))).is_empty());
    let new = widget(&status(1).replace("09:00:00", "09:58:00"));
    assert!(found(&new).is_empty(), "it may have changed since");
    let newer = condition("Ready", TRUE, 60, "Ok").replace("{type", "{observedGeneration: 2, type");
    assert!(found(&widget(&format!("{{observedGeneration: 1, conditions: [{newer}]}}"))).is_empty());
}

const POD: &str = "\
kind: Pod
metadata:
  name: w-0
  namespace: shop
  uid: p
  ownerReferences: [{apiVersion: acme.example.com/v1beta1, kind: Widget, name: w, uid: w1, controller: true}]
spec: {nodeName: n1, containers: [{name: app, image: \"app:1\"}]}
status:
  phase: Running
  startTime: \"2026-11-21T09:00:00Z\"
  containerStatuses:
  - name: app
    ready: false
    restartCount: 9
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, startedAt: \"2026-11-21T09:50:00Z\", finishedAt: \"2026-11-21T09:50:09Z\"}}
";

#[test]
fn failing_pod_is_the_cause_of_its_object() {
    let failing = widget(&format!("{{conditions: [{}]}}", condition("Ready", FALSE, 1, "Broken")));
    let failing = failing.replace("name: w,", "name: w, uid: w1,");
    assert!(found(&failing).is_empty(), "it has not lasted");
    let with_pod = format!("{failing}---\n{POD}");
    assert_eq!(found(&with_pod), ["Widget/w OOMKilled"]);
    let writes = diagnose(&with_pod);
    let Object::Workload(_, status) = &writes[0].object else { panic!() };
    assert!(status.head.summary.starts_with("Ready is False: "), "{}", status.head.summary);
    assert_eq!(&*writes[0].key.object.name, "widget.acme.example.com-w");
    let healthy = with_pod.replace("type: Ready, status: \"False\"", "type: Ready, status: \"True\"");
    assert!(found(&healthy).is_empty(), "the object does without the pod");
    let recreated = with_pod.replace("uid: w1, controller", "uid: w2, controller");
    assert_eq!(found(&recreated), ["Widget/w OOMKilled"], "pods are counted by the name of their owner");
}

#[test]
fn failing_pod_of_an_owned_deployment_is_the_cause_too() {
    let failing = widget(&format!("{{conditions: [{}]}}", condition("Ready", FALSE, 1, "Broken")));
    let failing = failing.replace("name: w,", "name: w, uid: w1,");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: w\n  namespace: shop\n  uid: d\n  \
                      ownerReferences: [{apiVersion: acme.example.com/v1beta1, kind: Widget, name: w, uid: w1, controller: true}]\n\
                      spec: {replicas: 1}\nstatus: {replicas: 1, updatedReplicas: 1, unavailableReplicas: 1}\n";
    let pod = POD
        .replace(
            "apiVersion: acme.example.com/v1beta1, kind: Widget, name: w, uid: w1",
            "apiVersion: apps/v1, kind: ReplicaSet, name: w-7d9, uid: r",
        )
        .replace("  uid: p\n", "  uid: p\n  labels: {pod-template-hash: 7d9}\n");
    let found = found(&format!("{failing}---\n{deployment}---\n{pod}"));
    assert_eq!(found, ["Deployment/w OOMKilled", "Widget/w OOMKilled"]);
}

#[test]
fn chain_of_objects_is_reported_once() {
    let part = |kind: &str, name: &str, uid: &str, owner: &str, status: &str| {
        format!(
            "---\napiVersion: acme.example.com/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop, uid: {uid}, \
             ownerReferences: [{owner}]}}\nstatus: {status}\n"
        )
    };
    let owner = |kind: &str, name: &str, uid: &str| {
        format!("{{apiVersion: acme.example.com/v1alpha1, kind: {kind}, name: {name}, uid: {uid}, controller: true}}")
    };
    let broken = format!("{{conditions: [{}]}}", condition("Ready", FALSE, 20, "Broken"));
    let ready = format!("{{conditions: [{}]}}", condition("Ready", TRUE, 20, "Ok"));
    let chain = |top: &str, middle: &str, low: &str| {
        let middle = part("Set", "w-1", "s", &owner("Widget", "w", "w1"), middle);
        let low = part("Unit", "w-1-a", "u", &owner("Set", "w-1", "s"), low);
        let top = part("Widget", "w", "w1", "", top);
        found(&format!("{low}{top}{middle}"))
    };
    assert_eq!(chain(&broken, &broken, "{phase: Failed, message: no disk}"), ["Widget/w ResourceFailed"]);
    assert!(chain(&ready, &broken, "{phase: Failed}").is_empty(), "the highest does without it");
    assert_eq!(chain("{}", &broken, "{phase: Failed}"), ["Set/w-1 ResourceFailed"], "the highest shows nothing");
    assert_eq!(chain(&broken, &ready, &broken), ["Widget/w ResourceNotReady"]);
    assert_eq!(chain("{}", "{}", &broken), ["Unit/w-1-a ResourceNotReady"]);
    let earlier = format!("{{conditions: [{}]}}", condition("Failed", TRUE, 300, "Broken"));
    assert_eq!(chain(&broken, &ready, &earlier), ["Widget/w ResourceNotReady"], "it failed when the highest was ready");
    assert!(chain(&ready, &ready, &ready).is_empty());
    let loop_of_two = format!(
        "{}{}",
        part("Set", "a", "a", &owner("Set", "b", "b"), &broken),
        part("Set", "b", "b", &owner("Set", "a", "a"), &broken)
    );
    assert_eq!(found(&loop_of_two), ["Set/a ResourceNotReady", "Set/b ResourceNotReady"]);
}

#[test]
fn cluster_scoped_object_is_reported_in_the_default_namespace() {
    let text = widget("{phase: Failed, message: no disk}").replace("namespace: shop, ", "");
    let writes = diagnose(&text);
    assert_eq!(&*writes[0].key.object.namespace, "default");
}

#[test]
fn objects_of_two_groups_have_two_diagnoses() {
    let one = widget("{phase: Failed}");
    let names: Vec<String> = diagnose(&format!("{one}---\n{}", one.replace("acme.example.com", "other.example.com")))
        .into_iter()
        .map(|write| write.key.object.name.to_string())
        .collect();
    assert_eq!(names, ["widget.acme.example.com-w", "widget.other.example.com-w"]);
}

/// A snapshot does not show how long a failure lasts.
#[test]
fn standing_condition_counts_at_once_in_a_snapshot() {
    let found = |status: &str, thresholds: Thresholds| {
        let mut dump = Dump::default();
        dump.read(&widget(status));
        let report = offline::diagnose(dump, Logs::default(), NOW.parse().unwrap(), thresholds);
        report.nodes_and_workloads.iter().map(|write| write.object.head().cause.clone()).collect::<Vec<_>>()
    };
    let snapshot = Thresholds::default().for_snapshot();
    let broken = format!("{{observedGeneration: 2, conditions: [{}]}}", condition("Ready", FALSE, 0, "Broken"));
    assert_eq!(found(&broken, snapshot), ["ResourceNotReady"]);
    assert!(found(&broken, Thresholds::default()).is_empty());
    let chosen = Thresholds { chosen: &[("ResourceNotReady", 60)], ..snapshot };
    assert!(found(&broken, chosen).is_empty(), "a threshold of the user holds");
    assert!(found(&broken.replace("reason: Broken", "reason: Progressing"), snapshot).is_empty());
    let stale = format!("{{observedGeneration: 1, conditions: [{}]}}", condition("Ready", TRUE, 0, "Ok"));
    assert!(found(&stale, snapshot).is_empty(), "its controller may act in a moment");
}
