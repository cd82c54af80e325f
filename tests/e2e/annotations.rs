//! Failing objects are annotated with their diagnosis, with the permissions of deploy/components/annotate, and no pod is
//! replaced by that. The API server rejects everything else that the operator's account changes.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Client, Config};
use serde_json::{Value, json};
use shindan_core::facts::DIAGNOSIS;

use crate::operator::roll_out;
use crate::support::{
    KUBELET, SOON, Space, alone, client, ensure, eventually, kubectl, metrics, status, sum, try_kubectl,
};

const ACCOUNT: &str = "system:serviceaccount:shindan-system:shindan";

const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, 'exit 3']}]
";

/// One object of each other kind, and a pod that only lacks its settings.
const OTHERS: &str = r"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: db, image: '127.0.0.1:5000/Upper:1'}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: agent, image: '127.0.0.1:5000/Upper:1'}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, 'exit 7']}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: '* * * * *'
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, 'exit 9']}]}
---
apiVersion: v1
kind: Pod
metadata: {name: config}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: '127.0.0.1:5000/busybox:1.36', command: [sleep, infinity], envFrom: [{configMapRef: {name: settings}}]}
";
const KINDS: [(&str, &str); 5] = [
    ("deployment/web", "deployment-web"),
    ("statefulset/db", "statefulset-db"),
    ("daemonset/agent", "daemonset-agent"),
    ("job/import", "job-import"),
    ("cronjob/nightly", "cronjob-nightly"),
];

/// The installation with the component, until this is dropped.
struct Annotating;

impl Annotating {
    fn install() -> Self {
        roll_out("test-cluster-annotate");
        Self
    }
}

impl Drop for Annotating {
    fn drop(&mut self) {
        // Removes the flag before the permission, so that no request of the operator is refused.
        roll_out("test-cluster");
        let kinds = "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding";
        kubectl(&["delete", kinds, "shindan-annotate", "--ignore-not-found"]);
    }
}

/// The annotation of an object; empty if it has none.
fn carried(space: &Space, object: &str) -> Result<String, String> {
    let path = format!("jsonpath={{.metadata.annotations.{}}}", DIAGNOSIS.replace('.', r"\."));
    try_kubectl(&["-n", &space.name, "get", object, "-o", &path], None)
}

async fn carries(space: &Space, object: &str, cause: &str) -> String {
    eventually(KUBELET, format!("{object} carries {cause}"), async || {
        let text = carried(space, object)?;
        ensure(text.starts_with(&format!("{cause}: ")), || format!("{text:?}")).map(|()| text)
    })
    .await
}

async fn carries_nothing(space: &Space, object: &str) {
    eventually(KUBELET, format!("{object} carries nothing"), async || {
        let text = carried(space, object)?;
        ensure(text.is_empty(), || text)
    })
    .await;
}

/// The number of ReplicaSets of web, and the annotations of its template.
fn template(space: &Space) -> (usize, String) {
    let sets = space.kubectl(&["get", "replicasets", "-l", "app=web", "-o", "name"]);
    let annotations =
        space.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.spec.template.metadata.annotations}"]);
    (sets.lines().count(), annotations)
}

/// Sends a merge patch without effect (a dry run passes admission). `Err` has the reason of the API server.
async fn patched(client: &Client, space: &Space, kind: &ApiResource, name: &str, patch: &Value) -> Result<(), String> {
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), &space.name, kind);
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    objects.patch(name, &params, &Patch::Merge(patch)).await.map(drop).map_err(|error| error.to_string())
}

/// The policy of the component: the operator's account may change its annotation, and nothing else, of each kind.
async fn only_the_annotation_can_be_changed(space: &Space, pod: &str) {
    let mut config = Config::infer().await.unwrap();
    config.auth_info.impersonate = Some(ACCOUNT.to_owned());
    let operator = Client::try_from(config).unwrap();
    let label = json!({"metadata": {"labels": {"stolen": "yes"}}});
    let deployment = ApiResource::erase::<Deployment>(&());
    eventually(SOON, "the policy is enforced", async || {
        match patched(&operator, space, &deployment, "web", &label).await {
            Ok(()) => Err("a label is accepted".to_owned()),
            Err(error) => ensure(error.contains("shindan-annotate"), || error),
        }
    })
    .await;
    for (kind, name) in [
        (&ApiResource::erase::<Pod>(&()), pod),
        (&deployment, "web"),
        (&ApiResource::erase::<StatefulSet>(&()), "db"),
        (&ApiResource::erase::<DaemonSet>(&()), "agent"),
        (&ApiResource::erase::<Job>(&()), "import"),
        (&ApiResource::erase::<CronJob>(&()), "nightly"),
    ] {
        for allowed in [json!("AppError: app exits with code 3"), Value::Null] {
            let patch = json!({"metadata": {"annotations": {DIAGNOSIS: allowed}}});
            assert_eq!(patched(&operator, space, kind, name, &patch).await, Ok(()), "{} {patch}", kind.kind);
        }
        for refused in [
            label.clone(),
            json!({"metadata": {"annotations": {"shindan.dev/ignore": "*"}}}),
            json!({"metadata": {"annotations": {DIAGNOSIS: "AppError: x", "team": "a"}}}),
            json!({"metadata": {"finalizers": ["shindan.dev/keep"]}}),
        ] {
            let error = patched(&operator, space, kind, name, &refused).await.unwrap_err();
            assert!(error.contains("shindan-annotate"), "{} {refused}: {error}", kind.kind);
            assert_eq!(patched(&client(), space, kind, name, &refused).await, Ok(()), "other accounts may");
        }
    }
    let image = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "app", "image": "127.0.0.1:5000/other:1", "command": ["sh"]}]}}}});
    let error = patched(&operator, space, &deployment, "web", &image).await.unwrap_err();
    assert!(error.contains("the operator may change no spec"), "{error}");
}

#[test]
fn failing_objects_are_annotated_without_replacing_pods() {
    alone(async {
        let _annotating = Annotating::install();
        let space = Space::new("annotate").await;
        space.apply(WEB);
        space.apply(OTHERS);
        for (object, diagnosis) in KINDS {
            let found = space.await_workload(diagnosis, KUBELET, |_| true).await;
            carries(&space, object, &found.head.cause).await;
        }
        let pods = space.pods().await;
        let name = |prefix: &str| {
            let names = pods.iter().filter_map(|pod| pod.metadata.name.clone());
            names
                .clone()
                .find(|name| name.starts_with(prefix))
                .unwrap_or_else(|| panic!("{:?}", names.collect::<Vec<_>>()))
        };
        let crashing = name("web-");
        let text = carries(&space, &format!("pod/{crashing}"), "AppError").await;
        let first = status(&space.diagnosed(&crashing, "AppError", SOON).await).head.transition;
        carries(&space, "pod/config", "ConfigMapNotFound").await;
        only_the_annotation_can_be_changed(&space, &crashing).await;
        assert_eq!(template(&space), (1, String::new()), "nothing was rolled out");

        // Container restarts are no transition.
        eventually(KUBELET, "two more restarts are written", async || {
            let found = space.diagnosis(&crashing).await.ok_or("no diagnosis")?;
            let restarts = status(&found).restarts.clone().unwrap_or_default().count;
            ensure(restarts >= 3, || format!("{restarts} restarts"))
        })
        .await;
        let again = status(&space.diagnosis(&crashing).await.unwrap()).head.transition;
        if again == first {
            assert_eq!(carried(&space, &format!("pod/{crashing}")), Ok(text));
        }
        space.kubectl(&["delete", "cronjob,job", "--all"]);
        space.caught_up("after-all").await;
        carries(&space, "pod/after-all", "InvalidImageName").await;

        // The user corrects it, which is the only rollout.
        let good =
            r#"{"spec": {"template": {"spec": {"containers": [{"name": "app", "command": ["sleep", "infinity"]}]}}}}"#;
        space.kubectl(&["patch", "deployment", "web", "--patch", good]);
        space.kubectl(&["create", "configmap", "settings", "--from-literal=a=b"]);
        carries_nothing(&space, "deployment/web").await;
        carries_nothing(&space, "pod/config").await;
        assert_eq!(template(&space), (2, String::new()));
        let refused = sum(&metrics().unwrap(), "shindan_writes_total{verb=\"annotate\",code=\"403\"}");
        assert!(refused < 0.5, "the component grants the permissions that it needs");
    });
}
