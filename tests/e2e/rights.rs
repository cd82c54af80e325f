//! Permissions of the operator: permissions in one namespace only, the image under the restricted Pod Security Standard, and
//! cases that use each permission at least once (`tests/rights.rs` compares used with granted permissions).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use shindan_core::api::{NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, client, ensure, eventually, kubectl, machine, machine_command, metrics,
    our_events, readyz, status, sum, together, try_kubectl,
};

/// An image name that the kubelet refuses at once.
const INVALID: &str = "{name: main, image: '127.0.0.1:5000/Upper:1'}";

fn pod(name: &str, spec: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
}

fn owned(api_version: &str, kind: &str, name: &str, selector: &str) -> String {
    format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: {name}}}, spec: {{{selector} template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{INVALID}]}}}}}}}}"
    )
}

fn deployment(name: &str) -> String {
    owned("apps/v1", "Deployment", name, &format!("selector: {{matchLabels: {{app: {name}}}}},"))
}

/// Each kind of workload needs a lookup beyond the watches.
#[test]
fn workloads_of_each_kind_are_read() {
    together(async {
        let space = Space::new("owners").await;
        let selects = |name: &str| format!("selector: {{matchLabels: {{app: {name}}}}},");
        let job = format!("{{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{INVALID}]}}}}}}}}");
        let workloads = [
            deployment("deployment"),
            owned("apps/v1", "ReplicaSet", "replicaset", &selects("replicaset")),
            owned("apps/v1", "DaemonSet", "daemonset", &selects("daemonset")),
            owned("apps/v1", "StatefulSet", "statefulset", &format!("serviceName: none, {}", selects("statefulset"))),
            owned("v1", "ReplicationController", "controller", "selector: {app: controller},"),
            format!(
                "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: cronjob}}, spec: {{schedule: '* * * * *', jobTemplate: {job}}}}}"
            ),
        ];
        space.apply(&workloads.join("\n---\n"));
        let owners = ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "CronJob"];
        eventually(KUBELET, "a pod of each is diagnosed", async || {
            let all = space.diagnoses().await;
            let of = |kind: &str| all.iter().any(|d| d.spec.workload.as_ref().is_some_and(|w| w.kind == kind));
            let missing: Vec<_> = owners.into_iter().filter(|kind| !of(kind)).collect();
            ensure(missing.is_empty(), || format!("none of {missing:?}"))
        })
        .await;
        let selected = |fields: &str| space.kubectl(&["get", "poddiagnoses", "-o", "name", "--field-selector", fields]);
        let of_daemon_set = selected("status.cause=InvalidImageName,status.state=Active,spec.workload.kind=DaemonSet");
        assert!(!of_daemon_set.is_empty());
        for name in of_daemon_set.lines() {
            assert!(name.starts_with("poddiagnosis.shindan.dev/daemonset-"), "{name}");
        }
        assert_eq!(selected("status.cause=InvalidImageName,spec.workload.name=other"), "");
    });
}

/// A Node without a machine.
struct Ghost;

impl Ghost {
    const NAME: &'static str = "ghost";

    async fn ill() -> Self {
        let ghost = Self;
        let node = format!("{{apiVersion: v1, kind: Node, metadata: {{name: {}}}}}", Self::NAME);
        try_kubectl(&["apply", "-f", "-"], Some(&node)).unwrap();
        let now = kubectl(&["get", "node", Self::NAME, "-o", "jsonpath={.metadata.creationTimestamp}"]);
        // A new node that was never Ready is not reported.
        for (status, message) in [("True", "kubelet is posting ready status"), ("False", "container runtime is down")] {
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Kubelet",
                "message": message, "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
            let patch = ready.to_string();
            kubectl(&["patch", "node", Self::NAME, "--subresource=status", "--type=merge", "--patch", &patch]);
        }
        eventually(SOON * 2, "the node is diagnosed", async || {
            let found = Api::<NodeDiagnosis>::all(client()).get_opt(Self::NAME).await.unwrap();
            ensure(found.is_some(), || "no diagnosis".to_owned())
        })
        .await;
        ghost
    }
}

impl Drop for Ghost {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "node", Self::NAME, "--ignore-not-found", "--wait=false"], None);
    }
}

fn conflicts() -> Result<f64, String> {
    metrics().map(|samples| sum(&samples, "shindan_writes_total{verb=\"apply\",code=\"409\"}"))
}

/// Writes this object in a loop until a write of the operator conflicts.
async fn edited_repeatedly<K>(object: Api<K>, name: &str)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let before = conflicts().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let writers = (0..4).map(|writer| {
        let (object, name, over) = (object.clone(), name.to_owned(), over.clone());
        tokio::spawn(async move {
            for n in 0_u32.. {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let label = json!({"metadata": {"labels": {"shindan.dev/cause": format!("Nonsense{writer}-{n}")}}});
                object.patch(&name, &PatchParams::default(), &Patch::Merge(&label)).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    eventually(KUBELET, format!("a write of {name} conflicts"), async || {
        let now = conflicts()?;
        ensure(now > before, || format!("{now} conflicts"))
    })
    .await;
    over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    eventually(KUBELET, format!("{name} is put back"), async || {
        let found = object.get(name).await.map_err(|e| e.to_string())?;
        let cause = found.meta().labels.clone().unwrap_or_default().remove("shindan.dev/cause").unwrap_or_default();
        ensure(!cause.contains("Nonsense"), || cause)
    })
    .await;
}

/// Sets an environment variable of the operator until this is dropped.
struct Variable(&'static str);

impl Variable {
    fn set(name: &'static str, value: &str) -> Self {
        let variable = Self(name);
        variable.change(&format!("={value}")).unwrap();
        variable
    }

    fn change(&self, what: &str) -> Result<(), String> {
        let variable = format!("{}{what}", self.0);
        try_kubectl(&["-n", OPERATOR, "set", "env", "deployment/shindan", &variable], None)?;
        rolled_out()
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        undone(&self.change("-"));
    }
}

fn rolled_out() -> Result<(), String> {
    try_kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"], None).map(drop)
}

fn stop_operator() -> Result<(), String> {
    try_kubectl(&["-n", OPERATOR, "scale", "deployment/shindan", "--replicas=0"], None)?;
    let pods = ["-n", OPERATOR, "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=shindan"];
    try_kubectl(&[&pods[..], &["--timeout=60s"]].concat(), None).map(drop)
}

/// Checks a clean-up, unless the test has failed already.
fn undone(result: &Result<(), String>) {
    assert!(std::thread::panicking() || result.is_ok(), "{result:?}");
}

/// For all three kinds, external edits are reverted, and expired diagnoses are removed.
#[test]
fn edits_of_each_kind_are_reverted_and_expired_diagnoses_removed() {
    alone(async {
        let _short = Variable::set("SHINDAN_RETENTION", "60s");
        let space = Space::new("ends").await;
        space.apply(&format!("{}\n---\n{}", pod("bare", &format!("containers: [{INVALID}]")), deployment("web")));
        space.diagnosed("bare", "InvalidImageName", KUBELET).await;
        space.await_workload("deployment-web", KUBELET, |status| status.head.cause == "InvalidImageName").await;
        let ghost = Ghost::ill().await;

        let (pods, workloads, nodes) = (
            Api::<PodDiagnosis>::namespaced(client(), &space.name),
            Api::<WorkloadDiagnosis>::namespaced(client(), &space.name),
            Api::<NodeDiagnosis>::all(client()),
        );
        edited_repeatedly(pods.clone(), "bare").await;
        edited_repeatedly(workloads.clone(), "deployment-web").await;
        edited_repeatedly(nodes.clone(), Ghost::NAME).await;

        space.kubectl(&["delete", "pod", "bare", "--grace-period=0", "--force"]);
        space.kubectl(&["delete", "deployment", "web"]);
        drop(ghost);
        space.ends("bare", "Gone", SOON).await;
        eventually(KUBELET, "all three are removed", async || {
            let left = [
                pods.get_opt("bare").await.unwrap().is_some(),
                workloads.get_opt("deployment-web").await.unwrap().is_some(),
                nodes.get_opt(Ghost::NAME).await.unwrap().is_some(),
            ];
            ensure(left == [false; 3], || format!("pod, workload, node: {left:?}"))
        })
        .await;
    });
}

/// Restarts the API server with additional flags until this is dropped.
struct Flags;

impl Flags {
    /// The operator is stopped meanwhile: a starting API server has not loaded the roles yet and refuses everything.
    fn restart(flags: &str) -> Result<(), String> {
        stop_operator()?;
        machine(&["stop", "apiserver"]);
        let run = machine_command(&["start", "apiserver"]).env("SHINDAN_API_FLAGS", flags).output();
        let run = run.map_err(|e| e.to_string())?;
        if !run.status.success() {
            return Err(String::from_utf8_lossy(&run.stderr).into_owned());
        }
        try_kubectl(&["-n", OPERATOR, "scale", "deployment/shindan", "--replicas=1"], None)?;
        rolled_out()
    }

    fn set(flags: &str) -> Self {
        let set = Self;
        Self::restart(flags).unwrap();
        set
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        undone(&Self::restart(""));
    }
}

/// Some API servers do not stream lists: the operator lists in pages.
#[test]
fn without_streaming_lists_the_operator_lists_in_pages() {
    alone(async {
        let _paged = Flags::set("--feature-gates=WatchList=false");
        eventually(SOON, "the line is in the log", async || {
            let output = try_kubectl(&["-n", OPERATOR, "logs", "deployment/shindan"], None)?;
            ensure(output.contains("does not stream lists; listing in pages"), || output)
        })
        .await;
        let space = Space::new("paged").await;
        space.caught_up("canary").await;
    });
}

/// The installation with permissions in one namespace, until this is dropped.
struct Narrowed;

impl Narrowed {
    fn start(overlay: &str) -> Result<(), String> {
        let overlay = format!("{}/deploy/overlays/{overlay}", env!("CARGO_MANIFEST_DIR"));
        try_kubectl(&["apply", "-k", &overlay], None)?;
        rolled_out()
    }

    /// The operator is stopped while its permissions change, so that no request is refused.
    fn install(overlay: &str) -> Self {
        let narrowed = Self;
        stop_operator().unwrap();
        kubectl(&["delete", "clusterrole,clusterrolebinding", "shindan", "--ignore-not-found"]);
        Self::start(overlay).unwrap();
        narrowed
    }

    fn undo() -> Result<(), String> {
        stop_operator()?;
        for roles in [
            &["delete", "clusterrole,clusterrolebinding", "shindan-nodes"][..],
            &["-n", "default", "delete", "role,rolebinding", "shindan-nodes"],
            &["-n", "e2e-watched", "delete", "role,rolebinding", "shindan"],
        ] {
            try_kubectl(&[roles, &["--ignore-not-found"]].concat(), None)?;
        }
        Self::start("test-cluster")
    }
}

impl Drop for Narrowed {
    fn drop(&mut self) {
        undone(&Self::undo());
    }
}

/// Checks that no request was refused.
fn nothing_refused() {
    let samples = metrics().unwrap();
    let is_refusal =
        |name: &str| ["kind=\"forbidden\"", "result=\"forbidden\"", "code=\"403\""].iter().any(|w| name.contains(w));
    let refused: Vec<_> = samples.iter().filter(|(name, count)| is_refusal(name) && *count > 0.0).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// With Roles instead of the ClusterRole, only that namespace is diagnosed, and Nodes only with their own role.
#[test]
fn permissions_in_one_namespace_are_enough_for_it() {
    alone(async {
        let (space, other) = (Space::new("watched").await, Space::new("unwatched").await);

        {
            let _narrowed = Narrowed::install("test-cluster-namespaced");
            other.apply(&pod("image", &format!("containers: [{INVALID}]")));
            space.apply(&[
                pod("image", &format!("containers: [{INVALID}]")),
                pod("cpu", "containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36', resources: {requests: {cpu: 64}}}]"),
                pod("claim", "containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36'}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"),
                "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}".to_owned(),
                deployment("web"),
            ].join("\n---\n"));
            assert!(readyz().unwrap().starts_with("ok\nnodes: not read"), "{:?}", readyz());
            space.diagnosed("image", "InvalidImageName", KUBELET).await;
            space.await_workload("deployment-web", KUBELET, |status| status.head.cause == "InvalidImageName").await;
            let cpu = space.diagnosed("cpu", "InsufficientCpu", KUBELET).await;
            assert!(!status(&cpu).head.summary.contains("node1"), "no node is known: {}", status(&cpu).head.summary);
            eventually(KUBELET, "the claim is reported", async || {
                let found = space.diagnosis("claim").await.ok_or("no diagnosis")?;
                let cause = status(&found).head.cause.clone();
                ensure(cause == "PvcProvisioningFailed", || cause)
            })
            .await;
            space.caught_up("canary").await;
            assert!(other.diagnoses().await.is_empty(), "no diagnoses outside the namespace");
            assert!(sum(&metrics().unwrap(), "shindan_nodes_watched") < 1.0);
            nothing_refused();

            stop_operator().unwrap();
            Narrowed::start("test-cluster-namespaced-nodes").unwrap();
            assert_eq!(readyz().unwrap(), "ok\n");
            let _ghost = Ghost::ill().await;
            let posted = eventually(SOON, "its Event", async || {
                let about = "involvedObject.name=ghost,reportingComponent=shindan.dev/operator";
                let events = our_events("default", about).await;
                ensure(!events.is_empty(), || "none".to_owned()).map(|()| events)
            });
            posted.await;
            space.caught_up("second-canary").await;
            assert!(other.diagnoses().await.is_empty(), "no diagnoses outside the namespace");
            nothing_refused();
        }
        other.diagnosed("image", "InvalidImageName", KUBELET).await;
    });
}

/// The image runs under the restricted Pod Security Standard without a user in the manifest, and only as non-root.
#[test]
fn the_image_runs_as_non_root_on_a_read_only_root() {
    const IMAGE: &str = "name: main, image: '127.0.0.1:5000/shindan:dev', args: [--version]";
    const LOCKED: &str = "allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}";
    together(async {
        let labels = kubectl(&["get", "namespace", OPERATOR, "-o", "jsonpath={.metadata.labels}"]);
        assert!(labels.contains(r#""pod-security.kubernetes.io/enforce":"restricted""#), "{labels}");
        let space = Space::new("restricted").await;
        kubectl(&["label", "namespace", &space.name, "pod-security.kubernetes.io/enforce=restricted"]);
        let run = |name: &str, security: &str| {
            let pod =
                pod(name, &format!("restartPolicy: Never, containers: [{{{IMAGE}, securityContext: {{{security}}}}}]"));
            try_kubectl(&["-n", &space.name, "apply", "-f", "-"], Some(&pod))
        };
        for (name, security) in [("as-root", LOCKED), ("privileged", "privileged: true, runAsNonRoot: true")] {
            let refused = run(name, security).expect_err("the standard is enforced");
            assert!(refused.contains("violates PodSecurity \"restricted"), "{refused}");
        }
        run("non-root", &format!("{LOCKED}, runAsNonRoot: true")).unwrap();
        eventually(KUBELET, "it has run", async || {
            let phase = space.pod("non-root").await.status.and_then(|s| s.phase).unwrap_or_default();
            ensure(phase == "Succeeded", || phase)
        })
        .await;
        let output = space.kubectl(&["logs", "non-root"]);
        assert_eq!(output.trim(), concat!("shindan ", env!("CARGO_PKG_VERSION")));
        let own = kubectl(&["-n", OPERATOR, "get", "pods", "-o", "json"]);
        let own: serde_json::Value = serde_json::from_str(&own).unwrap();
        let pods = own["items"].as_array().unwrap();
        assert!(!pods.is_empty());
        for pod in pods {
            let spec = &pod["spec"];
            assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
            assert_eq!(spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
        }
    });
}
