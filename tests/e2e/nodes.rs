//! Failing nodes: one Event on the Node, and a diagnosis without an Event for each affected pod.

use std::time::Duration;

use kube::ResourceExt;
use shindan_core::api::{DiagnosisState, NodeDiagnosisStatus, WorkloadDiagnosisStatus};

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, columns_of_all, ensure, eventually, kubectl, machine, machine_command, node,
    node_diagnosis, node_ready, one_line, our_events, status, types_and_reasons,
};

/// Timeout until the node controller or the kubelet reports a change of the node.
const NODE: Duration = Duration::from_secs(300);

const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{operator: Exists, effect: NoExecute}]
      containers: [{name: nginx, image: '127.0.0.1:5000/nginx:1.27'}]
";

/// Restores the node when the test ends.
struct Mended;

impl Drop for Mended {
    fn drop(&mut self) {
        machine(&["signal", "containerd", "CONT"]);
        machine(&["stop", "kubelet"]);
        machine(&["start", "kubelet"]);
    }
}

/// Starts a kubelet that reports a hanging runtime after 15 s instead of two minutes.
fn start_kubelet_with_short_timeout() {
    let run =
        machine_command(&["start", "kubelet"]).env("SHINDAN_KUBELET_FLAGS", "--runtime-request-timeout=15s").output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

async fn node_events() -> Vec<(String, String)> {
    types_and_reasons(&our_events("default", "involvedObject.kind=Node,reportingComponent=shindan.dev/operator").await)
}

async fn ready_is(status: &str, message: &str) {
    eventually(NODE, format!("the node is Ready={status} {message}"), async || {
        let (is, text) = node_ready().await;
        ensure(is == status && text.contains(message), || format!("Ready={is}: {text}"))
    })
    .await;
}

/// Checks that both pods have a diagnosis with this cause, and that only the Node has one more Event.
async fn one_event(space: &Space, cause: &str, before: usize) {
    eventually(SOON * 2, format!("both pods have the cause {cause}"), async || {
        let all = space.diagnoses().await;
        let affected =
            all.iter().filter(|d| status(d).head.cause == cause && status(d).head.state.as_str() == "Active");
        ensure(affected.count() == 2, || all.iter().map(one_line).collect::<Vec<_>>().join("; "))
    })
    .await;
    let events = node_events().await;
    assert_eq!(events[before..], [("Warning".to_owned(), cause.to_owned())], "one Event for the incident");
    let name = node().await.name_any();
    let described = kubectl(&["describe", "node", &name]);
    let is_ours = |l: &str| l.trim_start().starts_with("Warning") && l.contains(" shindan.dev/operator ");
    let shown = described.lines().any(|l| is_ours(l) && l.contains(cause));
    assert!(shown, "kubectl describe node prints\n{described}");
    let of_pods = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
    assert!(of_pods.is_empty(), "no Events for its pods: {:?}", types_and_reasons(&of_pods));
}

/// Waits until the diagnosis of the node matches.
async fn node_is(what: &str, is: impl Fn(&NodeDiagnosisStatus) -> bool) -> NodeDiagnosisStatus {
    eventually(SOON * 2, format!("the node is diagnosed as {what}"), async || {
        let found = node_diagnosis().await.ok_or("no diagnosis")?;
        let head = &found.head;
        let text = format!("{} {} {:?} {:?}", head.state, head.cause, head.summary, found.flapping);
        ensure(is(&found), || text).map(|()| found)
    })
    .await
}

/// Checks the diagnosis of the node.
async fn diagnosis_matches(space: &Space, cause: &str, ready: &str) {
    let is = |found: &NodeDiagnosisStatus| {
        let here = found.affected.iter().find(|a| a.namespace == space.name && a.workload == "Deployment/web");
        let state = (found.head.state, found.head.cause.as_str());
        state == (DiagnosisState::Active, cause) && here.is_some_and(|workload| workload.pods == 2)
    };
    let found = node_is(cause, is).await;
    let last = found.ready_history.last().expect("a history");
    assert_eq!(last.status, ready, "{:?}", found.ready_history);
    assert!(found.pods >= 2 && !found.head.remedies.is_empty(), "{found:?}");
    let stalled = found.head.conditions.iter().find(|c| c.kind == "Stalled").expect("for kstatus");
    assert_eq!((&*stalled.status, &*stalled.reason), ("True", cause));
}

async fn pods_recovered(space: &Space) {
    eventually(KUBELET, "the pods have recovered", async || {
        let all = space.diagnoses().await;
        let recovered = all.iter().filter(|d| status(d).head.state.as_str() == "Recovered");
        ensure(recovered.count() == 2, || all.iter().map(one_line).collect::<Vec<_>>().join("; "))
    })
    .await;
}

async fn recovered(space: &Space, before: usize) {
    ready_is("True", "").await;
    pods_recovered(space).await;
    let found = node_is("recovered", |found| found.head.state == DiagnosisState::Recovered).await;
    assert!(found.head.conditions.iter().any(|c| c.kind == "Healthy" && c.status == "True"), "{found:?}");
    let events = node_events().await;
    assert_eq!(events.last(), Some(&("Normal".to_owned(), "Recovered".to_owned())), "{events:?}");
    assert_eq!(events.len(), before + 2, "{events:?}");
    let of_pods = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
    assert!(
        of_pods.is_empty(),
        "no Event for a recovery without an Event for the failure: {:?}",
        types_and_reasons(&of_pods)
    );
}

/// A healthy Deployment, and a restarted operator with this setting for flapping.
async fn healthy_web(name: &str, flapping: &str) -> Space {
    let setting = format!("SHINDAN_FLAPPING_TRANSITIONS{flapping}");
    kubectl(&["-n", OPERATOR, "set", "env", "deployment/shindan", &setting]);
    kubectl(&["-n", OPERATOR, "rollout", "restart", "deployment/shindan"]);
    kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
    let space = Space::new(name).await;
    space.apply(WEB);
    space.kubectl(&["rollout", "status", "deployment/web", "--timeout=120s"]);
    space
}

#[test]
fn a_stopped_kubelet_and_a_stopped_runtime() {
    alone(async {
        // Two outages within an hour would be flapping; the setting reports each separately.
        let space = healthy_web("node", "=100").await;
        let _mended = Mended;
        let before = node_events().await.len();

        machine(&["stop", "kubelet"]);
        ready_is("Unknown", "Kubelet stopped posting node status").await;
        one_event(&space, "NodeStatusUnknown", before).await;
        diagnosis_matches(&space, "NodeStatusUnknown", "Unknown").await;
        // The workload has a diagnosis without an Event.
        let unreachable = |status: &WorkloadDiagnosisStatus| status.head.cause == "NodeStatusUnknown";
        space.await_workload("deployment-web", KUBELET, unreachable).await;
        let columns = columns_of_all();
        for own in ["CONTAINER SEVERITY STATE RESTARTS", "PROBLEM SEVERITY STATE READY", "FLAPPING SEVERITY STATE PODS"]
        {
            let whole = format!("NAME CAUSE {own} SINCE");
            assert!(columns.iter().any(|line| line.ends_with(&whole)), "no {whole:?} in {columns:?}");
        }
        start_kubelet_with_short_timeout();
        recovered(&space, before).await;

        let before = before + 2;
        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "container runtime is down").await;
        one_event(&space, "NodeRuntimeDown", before).await;
        diagnosis_matches(&space, "NodeRuntimeDown", "False").await;
        machine(&["signal", "containerd", "CONT"]);
        recovered(&space, before).await;

        kubectl(&["-n", OPERATOR, "set", "env", "deployment/shindan", "SHINDAN_FLAPPING_TRANSITIONS-"]);
        kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
    });
}

/// The runtime hangs until the kubelet reports that PLEG is not healthy, resumes, and hangs again: one incident.
#[test]
#[cfg(feature = "e2e-long")]
fn pleg_and_flapping_are_one_incident() {
    alone(async {
        let space = healthy_web("pleg", "-").await;
        let _mended = Mended;
        let before = node_events().await.len();

        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "container runtime is down").await;
        one_event(&space, "NodeRuntimeDown", before).await;
        ready_is("False", "PLEG is not healthy").await;
        eventually(SOON, "its pods have the more specific cause", async || {
            let all = space.diagnoses().await;
            let better = all.iter().filter(|d| status(d).head.cause == "NodePlegUnhealthy");
            ensure(better.count() == 2, || all.iter().map(one_line).collect::<Vec<_>>().join("; "))
        })
        .await;
        diagnosis_matches(&space, "NodePlegUnhealthy", "False").await;
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "").await;
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        // With its third change of Ready the node is flapping: no further Event until it is stable.
        let events_so_far = eventually(SOON, "the second outage is reported", async || {
            let events = node_events().await.split_off(before);
            let warnings = events.iter().filter(|(kind, _)| kind == "Warning").count();
            // The first outage, its more specific cause (PLEG), and the second outage, which starts the flapping.
            ensure(warnings == 3, || format!("{events:?}")).map(|()| events)
        })
        .await;
        machine(&["stop", "kubelet"]);
        ready_is("Unknown", "").await;
        eventually(SOON * 2, "the pods have a flapping node as cause", async || {
            let all = space.diagnoses().await;
            let flapping = all.iter().filter(|d| {
                let s = status(d);
                s.head.state.as_str() == "Active" && s.head.category == "Node" && s.head.summary.contains("flapping")
            });
            ensure(flapping.count() == 2, || all.iter().map(one_line).collect::<Vec<_>>().join("; "))
        })
        .await;
        let flapping = node_is("flapping", |found| found.flapping.as_ref().is_some_and(|f| f.changes >= 5)).await;
        assert_eq!(flapping.head.state, DiagnosisState::Active);
        let last = flapping.last_words.as_ref().expect("the last message of the kubelet");
        assert!(last.message.contains("container runtime is down"), "{last:?}");
        let history: Vec<_> = flapping.ready_history.iter().map(|change| change.status.as_str()).collect();
        assert!(history.ends_with(&["False", "True", "Unknown"]), "{history:?}");
        machine(&["start", "kubelet"]);
        ready_is("True", "").await;
        space.caught_up("canary").await;
        let in_all = node_events().await.split_off(before);
        assert_eq!(in_all, events_so_far, "a flapping node is one incident");
        let of_web = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
        let of_web = of_web.iter().filter(|e| e.involved_object.name.as_deref() != Some("canary"));
        assert_eq!(of_web.count(), 0, "no Events for its pods");
    });
}
