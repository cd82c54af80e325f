//! The node falls ill: one Event on the Node, and an object without an Event for each pod that suffers.

use std::time::Duration;

use kube::ResourceExt;
use shindan::api::{DiagnosisState, NodeDiagnosisStatus, WorkloadDiagnosisStatus};

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, columns_of_all, ensure, eventually, kubectl, machine, machine_command, node,
    node_diagnosis, node_ready, our_events, status, story, told,
};

/// Until the node controller or the kubelet has noticed, and until all is well again.
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

/// Mends the node whatever becomes of the test.
struct Mended;

impl Drop for Mended {
    fn drop(&mut self) {
        machine(&["signal", "containerd", "CONT"]);
        machine(&["stop", "kubelet"]);
        machine(&["start", "kubelet"]);
    }
}

/// The kubelet says what it says of a runtime that hangs, but waits 15 s for an answer, and not two minutes.
fn start_impatient_kubelet() {
    let run =
        machine_command(&["start", "kubelet"]).env("SHINDAN_KUBELET_FLAGS", "--runtime-request-timeout=15s").output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

async fn node_events() -> Vec<(String, String)> {
    told(&our_events("default", "involvedObject.kind=Node,reportingComponent=shindan.dev/operator").await)
}

async fn ready_is(status: &str, message: &str) {
    eventually(NODE, format!("the node is Ready={status} {message}"), async || {
        let (is, says) = node_ready().await;
        ensure(is == status && says.contains(message), || format!("Ready={is}: {says}"))
    })
    .await;
}

/// Both pods have an object with this cause; the Node has one more Event, the pods none.
async fn told_once(space: &Space, cause: &str, before: usize) {
    eventually(SOON * 2, format!("both pods suffer from {cause}"), async || {
        let all = space.diagnoses().await;
        let suffering = all.iter().filter(|d| status(d).cause == cause && status(d).state.as_str() == "Active");
        ensure(suffering.count() == 2, || all.iter().map(story).collect::<Vec<_>>().join("; "))
    })
    .await;
    let events = node_events().await;
    assert_eq!(events[before..], [("Warning".to_owned(), cause.to_owned())], "one Event tells of the incident");
    let name = node().await.name_any();
    let described = kubectl(&["describe", "node", &name]);
    let is_ours = |l: &str| l.trim_start().starts_with("Warning") && l.contains(" shindan.dev/operator ");
    let shown = described.lines().any(|l| is_ours(l) && l.contains(cause));
    assert!(shown, "kubectl describe node says\n{described}");
    let of_pods = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
    assert!(of_pods.is_empty(), "its pods tell nothing of their own: {:?}", told(&of_pods));
}

/// Waits until this is said of the node.
async fn node_is(what: &str, is: impl Fn(&NodeDiagnosisStatus) -> bool) -> NodeDiagnosisStatus {
    eventually(SOON * 2, format!("the node is said to be {what}"), async || {
        let found = node_diagnosis().await.ok_or("no diagnosis")?;
        let head = &found.head;
        let says = format!("{} {} {:?} {:?}", head.state, head.cause, head.summary, found.flapping);
        ensure(is(&found), || says).map(|()| found)
    })
    .await
}

/// The object of the node says what its Event says, and more.
async fn object_tells(space: &Space, cause: &str, ready: &str) {
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
        let well = all.iter().filter(|d| status(d).state.as_str() == "Recovered");
        ensure(well.count() == 2, || all.iter().map(story).collect::<Vec<_>>().join("; "))
    })
    .await;
}

async fn recovered(space: &Space, before: usize) {
    ready_is("True", "").await;
    pods_recovered(space).await;
    let found = node_is("well again", |found| found.head.state == DiagnosisState::Recovered).await;
    assert!(found.head.conditions.iter().any(|c| c.kind == "Healthy" && c.status == "True"), "{found:?}");
    let events = node_events().await;
    assert_eq!(events.last(), Some(&("Normal".to_owned(), "Recovered".to_owned())), "{events:?}");
    assert_eq!(events.len(), before + 2, "{events:?}");
    let of_pods = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
    assert!(of_pods.is_empty(), "what was not told does not end with an Event: {:?}", told(&of_pods));
}

/// A Deployment that is well, and an operator that has seen no outage yet and counts up to this many.
async fn well(name: &str, flapping: &str) -> Space {
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
fn a_silent_kubelet_and_a_stopped_runtime() {
    alone(async {
        // Two outages within an hour are flapping; here each is told for itself.
        let space = well("node", "=100").await;
        let _mended = Mended;
        let before = node_events().await.len();

        machine(&["stop", "kubelet"]);
        ready_is("Unknown", "Kubelet stopped posting node status").await;
        told_once(&space, "NodeStatusUnknown", before).await;
        object_tells(&space, "NodeStatusUnknown", "Unknown").await;
        // Nobody can be reached: of the workload there is an object, and no Event.
        let silent = |status: &WorkloadDiagnosisStatus| status.head.cause == "NodeStatusUnknown";
        space.told_of("deployment-web", KUBELET, silent).await;
        let columns = columns_of_all();
        for own in ["CONTAINER SEVERITY STATE RESTARTS", "PROBLEM SEVERITY STATE READY", "FLAPPING SEVERITY STATE PODS"]
        {
            let whole = format!("NAME CAUSE {own} SINCE");
            assert!(columns.iter().any(|line| line.ends_with(&whole)), "no {whole:?} in {columns:?}");
        }
        start_impatient_kubelet();
        recovered(&space, before).await;

        let before = before + 2;
        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "container runtime is down").await;
        told_once(&space, "NodeRuntimeDown", before).await;
        object_tells(&space, "NodeRuntimeDown", "False").await;
        machine(&["signal", "containerd", "CONT"]);
        recovered(&space, before).await;

        kubectl(&["-n", OPERATOR, "set", "env", "deployment/shindan", "SHINDAN_FLAPPING_TRANSITIONS-"]);
        kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
    });
}

/// The runtime hangs until the kubelet says that PLEG is not healthy, comes back, and hangs again: one incident.
#[test]
#[cfg(feature = "e2e-long")]
fn pleg_and_flapping_are_one_incident() {
    alone(async {
        let space = well("pleg", "-").await;
        let _mended = Mended;
        let before = node_events().await.len();

        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "container runtime is down").await;
        told_once(&space, "NodeRuntimeDown", before).await;
        ready_is("False", "PLEG is not healthy").await;
        eventually(SOON, "its pods are told the better answer", async || {
            let all = space.diagnoses().await;
            let better = all.iter().filter(|d| status(d).cause == "NodePlegUnhealthy");
            ensure(better.count() == 2, || all.iter().map(story).collect::<Vec<_>>().join("; "))
        })
        .await;
        object_tells(&space, "NodePlegUnhealthy", "False").await;
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "").await;
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        // With its third change of Ready the node is flapping: until it is stable nothing that it does is told again.
        let told_by_now = eventually(SOON, "the second outage is told", async || {
            let events = node_events().await.split_off(before);
            let warnings = events.iter().filter(|(kind, _)| kind == "Warning").count();
            // The first, its better answer (PLEG), and the second, with which the node flaps.
            ensure(warnings == 3, || format!("{events:?}")).map(|()| events)
        })
        .await;
        machine(&["stop", "kubelet"]);
        ready_is("Unknown", "").await;
        eventually(SOON * 2, "the pods tell of a flapping node", async || {
            let all = space.diagnoses().await;
            let flapping = all.iter().filter(|d| {
                let s = status(d);
                s.state.as_str() == "Active" && s.category == "Node" && s.summary.contains("flapping")
            });
            ensure(flapping.count() == 2, || all.iter().map(story).collect::<Vec<_>>().join("; "))
        })
        .await;
        let flapping = node_is("flapping", |found| found.flapping.as_ref().is_some_and(|f| f.changes >= 5)).await;
        assert_eq!(flapping.head.state, DiagnosisState::Active);
        let words = flapping.last_words.as_ref().expect("what the kubelet said before it fell silent");
        assert!(words.message.contains("container runtime is down"), "{words:?}");
        let history: Vec<_> = flapping.ready_history.iter().map(|change| change.status.as_str()).collect();
        assert!(history.ends_with(&["False", "True", "Unknown"]), "{history:?}");
        machine(&["start", "kubelet"]);
        ready_is("True", "").await;
        space.caught_up("canary").await;
        let in_all = node_events().await.split_off(before);
        assert_eq!(in_all, told_by_now, "a flapping node is one incident");
        let of_web = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
        let of_web = of_web.iter().filter(|e| e.involved_object.name.as_deref() != Some("canary"));
        assert_eq!(of_web.count(), 0, "its pods tell nothing of their own");
    });
}
