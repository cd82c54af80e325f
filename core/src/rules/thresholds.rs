//! Tests of thresholds that a fixture cannot cover.

use super::{catalog, container_start, image_pull, sandbox, volume};
use crate::case::Verdict;
use crate::testing::Scenario;

const PULLING: &str = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec: {nodeName: n1, containers: [{name: web, image: "reg.example.com/web:1"}]}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {name: web, ready: false, state: {waiting: {reason: ErrImagePull, message: "MESSAGE"}}}
---
kind: Event
involvedObject: {kind: Pod, namespace: shop, name: web, uid: u1, fieldPath: "spec.containers{web}"}
reason: Failed
type: Warning
message: 'Failed to pull image "reg.example.com/web:1": MESSAGE'
count: COUNT
firstTimestamp: "2026-11-21T09:00:02Z"
lastTimestamp: "2026-11-21T09:00:02Z"
"#;

fn verdicts(scenario: &Scenario) -> (Vec<&'static str>, bool) {
    let case = scenario.case();
    let mut later = false;
    let mut causes = Vec::new();
    for source in [&volume::SOURCE, &sandbox::SOURCE, &image_pull::SOURCE, &container_start::SOURCE] {
        for (_, rule, verdict) in catalog::current().verdicts(source, &case, |_, _| true) {
            match verdict {
                Verdict::Yes(finding) if finding.is_noted() => later |= finding.until.is_some_and(|at| at > case.now),
                Verdict::Yes(_) => causes.push(rule.cause),
                Verdict::NotBefore(at) => {
                    assert!(at > case.now, "{} asks again at once", rule.cause);
                    later = true;
                }
                Verdict::No => {}
            }
        }
    }
    (causes, later)
}

#[test]
fn transient_pull_error_counts_from_the_second_attempt() {
    let refused = PULLING.replace("MESSAGE", "dial tcp 10.0.0.9:443: connect: connection refused");
    let once = refused.replace("COUNT", "1");
    let live = |text: &str| Scenario::from_yaml(text).observed_since("2026-11-21T09:00:02Z");
    assert_eq!(verdicts(&live(&once).at("2026-11-21T09:00:03Z")), (vec![], true));
    assert_eq!(verdicts(&live(&once).at("2026-11-21T09:00:33Z")), (vec!["RegistryConnectionRefused"], false));
    let twice = refused.replace("COUNT", "2");
    assert_eq!(verdicts(&live(&twice).at("2026-11-21T09:00:03Z")).0, ["RegistryConnectionRefused"]);
}

#[test]
fn alternating_pull_errors_count_after_minutes_despite_back_off() {
    let put_off = PULLING.replace("MESSAGE", "pull QPS exceeded").replace("COUNT", "4");
    let live = |text: &str| Scenario::from_yaml(text).observed_since("2026-11-21T09:00:02Z");
    assert_eq!(verdicts(&live(&put_off).at("2026-11-21T09:02:00Z")), (vec![], true));
    assert_eq!(verdicts(&live(&put_off).at("2026-11-21T09:05:02Z")), (vec!["PullQPSExceeded"], false));
}

#[test]
fn kubelet_messages_count_from_the_last_outage_of_the_node() {
    let put_off = PULLING.replace("MESSAGE", "pull QPS exceeded").replace("COUNT", "4");
    let ready = r#"
---
kind: Node
metadata: {name: n1}
status: {conditions: [{type: Ready, status: "True", reason: KubeletReady, lastTransitionTime: "2026-11-21T09:20:00Z"}]}
"#;
    let live = Scenario::from_yaml(&format!("{put_off}{ready}")).observed_since("2026-11-21T09:00:02Z");
    assert_eq!(verdicts(&live.at("2026-11-21T09:20:10Z")), (vec![], true));
    let live = Scenario::from_yaml(&format!("{put_off}{ready}")).observed_since("2026-11-21T09:00:02Z");
    assert_eq!(verdicts(&live.at("2026-11-21T09:25:00Z")), (vec!["PullQPSExceeded"], false));
}

#[test]
fn definite_registry_error_counts_at_once() {
    let text = PULLING.replace("MESSAGE", "manifest unknown").replace("COUNT", "1");
    let scenario = Scenario::from_yaml(&text).observed_since("2026-11-21T09:00:02Z").at("2026-11-21T09:00:03Z");
    assert_eq!(verdicts(&scenario), (vec!["ImageTagNotFound"], false));
}

#[test]
fn one_failed_sandbox_waits_for_the_threshold() {
    let text = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec: {nodeName: n1, containers: [{name: web, image: web}]}
status:
  phase: Pending
  containerStatuses: [{name: web, ready: false, state: {waiting: {reason: ContainerCreating}}}]
---
kind: Event
involvedObject: {kind: Pod, namespace: shop, name: web, uid: u1}
reason: FailedCreatePodSandBox
type: Warning
message: "Failed to create pod sandbox: rpc error: code = Unknown desc = quux"
count: 1
firstTimestamp: "2026-11-21T09:00:02Z"
lastTimestamp: "2026-11-21T09:00:02Z"
"#;
    assert_eq!(verdicts(&Scenario::from_yaml(text)), (vec![], true));
    assert_eq!(verdicts(&Scenario::from_yaml(text).later(20)), (vec!["FailedCreatePodSandBox"], false));
}

/// A threshold for one cause applies however often it fails, and no more general cause is reported meanwhile.
#[test]
fn threshold_of_a_cause_overrides_all_others() {
    let refused =
        PULLING.replace("MESSAGE", "dial tcp 10.0.0.9:443: connect: connection refused").replace("COUNT", "4");
    let after = |chosen, at: &str| {
        let mut scenario = Scenario::from_yaml(&refused).observed_since("2026-11-21T09:00:02Z").at(at);
        scenario.thresholds.chosen = chosen;
        verdicts(&scenario).0
    };
    let later: &[(&str, i64)] = &[("RegistryConnectionRefused", 600)];
    assert_eq!(after(&[], "2026-11-21T09:00:03Z"), ["RegistryConnectionRefused"]);
    assert_eq!(after(later, "2026-11-21T09:10:00Z"), [""; 0]);
    assert_eq!(after(later, "2026-11-21T09:10:02Z"), ["RegistryConnectionRefused"]);
    let other: &[(&str, i64)] = &[("RegistryTimeout", 600)];
    assert_eq!(after(other, "2026-11-21T09:00:03Z"), ["RegistryConnectionRefused"]);
}
