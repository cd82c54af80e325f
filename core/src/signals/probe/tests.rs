//! Tests of the remedies for failed probes.

#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]

use crate::case::{Health, Thresholds};
use crate::rules::diagnose;
use crate::testing::Scenario;

#[test]
fn wrong_path_gets_no_remedy_to_wait_longer() {
    let scenario = Scenario::from_yaml(include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml"));
    let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
    let text = format!("{:?}", found.remedies);
    assert!(text.contains("does not serve") && !text.contains("startupProbe"), "{text}");
}

#[test]
fn container_that_was_ready_for_long_has_passed_its_probe() {
    for (case, never, once) in
        [("http-404", "does not serve", "Find what removes"), ("tcp-refused", "listen on", "no longer listens on")]
    {
        let path = format!("../tests/causes/ReadinessProbeFailed/{case}.yaml");
        let text = std::fs::read_to_string(path).unwrap();
        let first = |text: &str| {
            let scenario = Scenario::from_yaml(text).later(600);
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            found.remedies[0].text.clone()
        };
        assert!(first(&text).contains(never), "{}", first(&text));
        let scenario = Scenario::from_yaml(&text);
        let lost = scenario.pods[0].condition("Ready").unwrap().last_transition.unwrap();
        let mut long_ready = Scenario::from_yaml(&text).later(600);
        for condition in &mut long_ready.pods[0].conditions {
            condition.last_transition = Some(crate::facts::after(lost, 300));
        }
        let Health::Failing(found) = diagnose(&long_ready.case()).health else { panic!("it fails") };
        assert!(found.remedies[0].text.contains(once), "{}", found.remedies[0].text);
    }
}

#[test]
fn path_that_was_served_for_long_has_been_removed() {
    let text = include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml");
    let started = "startedAt: \"2026-11-21T16:16:21Z\"";
    assert!(text.contains(started), "the fixture was recorded again");
    let later = text.replace(started, "startedAt: \"2026-11-21T15:16:21Z\"");
    let Health::Failing(found) = diagnose(&Scenario::from_yaml(&later).case()).health else { panic!("it fails") };
    let first = &found.remedies[0].text;
    assert!(first.contains("Find what removes") && !first.contains("does not serve"), "{first}");
}

/// A dump of a pod that started 3 minutes ago, whose readiness probe has failed `count` times.
fn failing_readiness(count: u32) -> Option<String> {
    let dump = format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: web, namespace: shop, uid: u1, creationTimestamp: \"2026-11-21T08:56:50Z\"}}
spec:
  nodeName: n1
  containers: [{{name: app, image: web, readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 10, failureThreshold: 3}}}}]
status:
  phase: Running
  conditions: [{{type: Ready, status: \"False\", reason: ContainersNotReady, lastTransitionTime: \"2026-11-21T08:56:50Z\"}}]
  containerStatuses: [{{name: app, image: web, ready: false, started: true, restartCount: 0, state: {{running: {{startedAt: \"2026-11-21T08:57:00Z\"}}}}}}]
---
apiVersion: v1
kind: Event
metadata: {{name: e, namespace: shop}}
type: Warning
reason: Unhealthy
message: 'Readiness probe failed: Get \"http://10.0.0.7:8080/healthz\": dial tcp 10.0.0.7:8080: connect: connection refused'
involvedObject: {{kind: Pod, namespace: shop, name: web, uid: u1, fieldPath: \"spec.containers{{app}}\"}}
lastTimestamp: \"2026-11-21T08:59:50Z\"
count: {count}
"
    );
    let mut read = crate::wire::Dump::default();
    read.read(&dump);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let now = "2026-11-21T09:00:00Z".parse().unwrap();
    let thresholds = Thresholds { patient: false, ..Thresholds::default() };
    let report = crate::offline::diagnose(read, crate::offline::Logs::default(), now, thresholds);
    report.pods.first().map(|write| write.object.head().cause.clone())
}

#[test]
fn readiness_probe_that_has_failed_many_times_in_a_dump_is_lasting() {
    assert_eq!(failing_readiness(17).as_deref(), Some("ReadinessProbeFailed"), "without the time of the first one");
    assert_eq!(failing_readiness(4), None, "the program may still start");
}
