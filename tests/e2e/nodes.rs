//! The node falls ill: one Event on the Node, and an object without an Event for each pod that suffers.

use std::time::Duration;

use kube::ResourceExt;

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, ensure, eventually, kubectl, machine, node, node_ready, our_events, status,
    story, told,
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
        machine(&["start", "kubelet"]);
    }
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
        machine(&["start", "kubelet"]);
        recovered(&space, before).await;

        let before = before + 2;
        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "container runtime is down").await;
        told_once(&space, "NodeRuntimeDown", before).await;
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
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        machine(&["signal", "containerd", "STOP"]);
        ready_is("False", "").await;
        machine(&["signal", "containerd", "CONT"]);
        ready_is("True", "").await;

        // With its third change of Ready the node is flapping: until it is stable nothing that it does is told again, and its
        // pods have not recovered.
        let told_by_now = eventually(SOON, "the second outage is told", async || {
            let events = node_events().await.split_off(before);
            let warnings = events.iter().filter(|(kind, _)| kind == "Warning").count();
            ensure(warnings == 2, || format!("{events:?}")).map(|()| events)
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
