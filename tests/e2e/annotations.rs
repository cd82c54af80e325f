//! What fails carries its diagnosis, with the rights of deploy/components/annotate: no pod is replaced for that.

use shindan::facts::DIAGNOSIS;

use crate::operator::roll_out;
use crate::support::{KUBELET, SOON, Space, alone, ensure, eventually, kubectl, metrics, status, sum, try_kubectl};

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

/// One of each other kind, and a pod that only lacks its settings.
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

/// The installation with the component, for as long as this lives.
struct Annotating;

impl Annotating {
    fn install() -> Self {
        roll_out("test-cluster-annotate");
        Self
    }
}

impl Drop for Annotating {
    fn drop(&mut self) {
        // First the flag, then the right: in between the operator would be refused.
        roll_out("test-cluster");
        kubectl(&["delete", "clusterrole,clusterrolebinding", "shindan-annotate", "--ignore-not-found"]);
    }
}

/// What an object carries; nothing where it does not.
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

/// How many ReplicaSets web has had, and what its template is annotated with.
fn template(space: &Space) -> (usize, String) {
    let sets = space.kubectl(&["get", "replicasets", "-l", "app=web", "-o", "name"]);
    let annotations =
        space.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.spec.template.metadata.annotations}"]);
    (sets.lines().count(), annotations)
}

#[test]
fn what_fails_carries_its_diagnosis_and_no_pod_is_replaced_for_it() {
    alone(async {
        let _annotating = Annotating::install();
        let space = Space::new("annotate").await;
        space.apply(WEB);
        space.apply(OTHERS);
        for (object, diagnosis) in KINDS {
            let told = space.told_of(diagnosis, KUBELET, |_| true).await;
            carries(&space, object, &told.head.cause).await;
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
        let first = status(&space.diagnosed(&crashing, "AppError", SOON).await).transition;
        carries(&space, "pod/config", "ConfigMapNotFound").await;
        assert_eq!(template(&space), (1, String::new()), "nothing was rolled out");

        // It restarts again and again, which is no transition.
        eventually(KUBELET, "two more restarts are told", async || {
            let found = space.diagnosis(&crashing).await.ok_or("no diagnosis")?;
            let restarts = status(&found).restarts.clone().unwrap_or_default().count;
            ensure(restarts >= 3, || format!("{restarts} restarts"))
        })
        .await;
        let again = status(&space.diagnosis(&crashing).await.unwrap()).transition;
        if again == first {
            assert_eq!(carried(&space, &format!("pod/{crashing}")), Ok(text));
        }
        space.kubectl(&["delete", "cronjob,job", "--all"]);
        space.caught_up("after-all").await;
        carries(&space, "pod/after-all", "InvalidImageName").await;

        // Its owner mends it. The one rollout is his.
        let good =
            r#"{"spec": {"template": {"spec": {"containers": [{"name": "app", "command": ["sleep", "infinity"]}]}}}}"#;
        space.kubectl(&["patch", "deployment", "web", "--patch", good]);
        space.kubectl(&["create", "configmap", "settings", "--from-literal=a=b"]);
        carries_nothing(&space, "deployment/web").await;
        carries_nothing(&space, "pod/config").await;
        assert_eq!(template(&space), (2, String::new()));
        let refused = sum(&metrics().unwrap(), "shindan_writes_total{verb=\"annotate\",code=\"403\"}");
        assert!(refused < 0.5, "the component grants what it asks for");
    });
}
