//! The first minutes of pods that an operator or a cluster add-on installs.
//!
//! Such pods wait for each other: the pods of a GPU operator for its driver, all pods for the network plugin, and volumes
//! for the CSI driver. Most such failures end by themselves, so they are no alarm at first.

use crate::api::Severity;
use crate::case::{Case, Category, WorkloadCase};
use crate::facts::{PodFacts, Timestamp, after};

/// Seconds after the creation of a pod in which its failure is at most a Warning.
const DURATION: i64 = 300;

/// Lowest priority of the classes system-cluster-critical and system-node-critical.
const SYSTEM_PRIORITY: i32 = 2_000_000_000;

/// Whether the pod belongs to the infrastructure of the cluster: by its priority class or its namespace.
fn is_infrastructure(pod: &PodFacts) -> bool {
    pod.priority >= SYSTEM_PRIORITY || is_of_infrastructure(&pod.key.namespace)
}

/// Whether a namespace is one of operators and add-ons, by its name: `kube-system`, `gpu-operator`.
fn is_of_infrastructure(namespace: &str) -> bool {
    namespace.ends_with("-system") || namespace.ends_with("-operator")
}

/// When the installation of this pod is over; `None` if it is over, or the failure is no wait for another pod.
pub(super) fn end(case: &Case<'_>, category: Category) -> Option<Timestamp> {
    // An image that does not exist will not exist later.
    let may_wait = category != Category::Image && is_infrastructure(case.pod);
    let end = after(case.pod.created.filter(|_| may_wait)?, DURATION);
    (case.now < end).then_some(end)
}

/// Whether this workload is being installed, according to its namespace and its age.
pub(super) fn is_of_workload(case: &WorkloadCase<'_>) -> bool {
    let is_new = case.workload.created.is_some_and(|created| case.now < after(created, DURATION));
    is_new && is_of_infrastructure(&case.workload.key.namespace)
}

/// The severity during the installation.
pub(super) fn at_most_warning(severity: Severity) -> Severity {
    if severity == Severity::Critical { Severity::Warning } else { severity }
}

#[cfg(test)]
mod tests {
    use crate::api::Severity;
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// Severity and cause of a pod of a GPU operator whose runtime class does not exist yet, at this time after 09:00.
    fn judged(namespace: &str, priority: i64, state: &str, at: &str) -> (Severity, &'static str, bool) {
        let scenario = Scenario::from_yaml(&format!(
            r#"
kind: Pod
metadata: {{name: toolkit, namespace: {namespace}, uid: u1, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: n1, priority: {priority}, containers: [{{name: toolkit, image: "toolkit:1"}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses: [{{name: toolkit, restartCount: 0, state: {{waiting: {{{state}}}}}}}]
---
kind: Event
metadata: {{name: e, namespace: {namespace}}}
type: Warning
reason: FailedCreatePodSandBox
message: 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured'
involvedObject: {{kind: Pod, name: toolkit, namespace: {namespace}, uid: u1}}
source: {{component: kubelet}}
firstTimestamp: "2026-11-21T09:00:30Z"
lastTimestamp: "2026-11-21T09:01:40Z"
count: 8
"#
        ))
        .at(at);
        let outcome = diagnose(&scenario.case());
        let Health::Failing(found) = outcome.health else { panic!("healthy") };
        (found.severity, found.cause, outcome.wake.is_some_and(|wake| wake.to_string() == "2026-11-21T09:05:00Z"))
    }

    #[test]
    fn pods_of_an_operator_are_no_alarm_in_their_first_minutes() {
        let early = "2026-11-21T09:02:00Z";
        let creating = "reason: ContainerCreating";
        let waits = (Severity::Warning, "RuntimeHandlerMissing", true);
        assert_eq!(judged("gpu-operator", 0, creating, early), waits);
        assert_eq!(judged("gpus", 2_000_001_000, creating, early), waits, "by its priority class");
        let alarm = (Severity::Critical, "RuntimeHandlerMissing", false);
        assert_eq!(judged("shop", 0, creating, early), alarm, "a pod of a user");
        assert_eq!(judged("gpu-operator", 0, creating, "2026-11-21T09:05:00Z"), alarm, "it has had its time");
        let image = r#"reason: ErrImagePull, message: "manifest for toolkit:1 not found: manifest unknown""#;
        assert_eq!(judged("gpu-operator", 0, image, early).0, Severity::Critical, "an image will not appear");
    }
}
