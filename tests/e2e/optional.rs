//! What the operator diagnoses only if it is asked to: custom resources (`--kinds`) and paths of requests (`--network`).
//! One test has both, because both wait for thresholds.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use kube::api::{Api, ListParams};
use shindan_core::api::{DiagnosisState, WorkloadDiagnosis};
use tokio::time::Instant;

use crate::manifests::{self, Definitions, Object};
use crate::support::{KUBELET, OPERATOR, Space, alone, client, ensure, eventually, together, try_kubectl};

/// A broken path is reported within this time.
const REPORTED: Duration = Duration::from_secs(30);
/// A new operator has read everything, and the longest threshold of a broken custom resource is over.
const THRESHOLDS: Duration = Duration::from_secs(150);
/// A summary that a broken object or path must have, by the name of its diagnosis.
type Expected = BTreeMap<String, (String, Vec<String>)>;

/// The operator with all that is optional, until this is dropped.
struct Installed;

impl Installed {
    fn roll_out(overlay: &str, kinds: &str) -> Result<(), String> {
        let overlay = format!("{}/deploy/overlays/{overlay}", env!("CARGO_MANIFEST_DIR"));
        try_kubectl(&["apply", "-k", &overlay], None)?;
        let variable = format!("SHINDAN_KINDS{kinds}");
        try_kubectl(&["-n", OPERATOR, "set", "env", "deployment/shindan", &variable], None)?;
        let wait = ["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"];
        try_kubectl(&wait, None).map(drop)
    }

    fn with(kinds: &str) -> Self {
        let installed = Self;
        let role = Command::new(env!("CARGO_BIN_EXE_shindan")).args(["rules", "rbac", kinds]).output().unwrap();
        try_kubectl(&["apply", "-f", "-"], Some(&String::from_utf8(role.stdout).unwrap())).unwrap();
        Self::roll_out("test-cluster-network", &format!("={kinds}")).unwrap();
        installed
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let undone = Self::roll_out("test-cluster", "-");
        let roles =
            ["delete", "clusterrole,clusterrolebinding", "shindan-kinds", "shindan-network", "--ignore-not-found"];
        let _ = try_kubectl(&roles, None);
        assert!(std::thread::panicking() || undone.is_ok(), "{undone:?}");
    }
}

/// The active diagnoses of a namespace by kind and name of their object: the cause and the summary.
async fn active(namespace: &str) -> BTreeMap<String, (String, String)> {
    let all = Api::<WorkloadDiagnosis>::namespaced(client(), namespace).list(&ListParams::default()).await.unwrap();
    let of = |diagnosis: WorkloadDiagnosis| {
        let head = diagnosis.status?.head;
        let workload = diagnosis.spec.workload;
        let is_active = head.state == DiagnosisState::Active;
        is_active.then(|| (format!("{}/{}", workload.kind, workload.name), (head.cause, head.summary)))
    };
    all.items.into_iter().filter_map(of).collect()
}

/// What is wrong with the diagnoses of a namespace.
async fn faults(namespace: &str, expected: &Expected) -> Vec<String> {
    let found = active(namespace).await;
    let mut faults = Vec::new();
    for (object, (cause, names)) in expected {
        match found.get(object) {
            Some((is, summary)) if is == cause && names.iter().all(|name| summary.contains(name)) => {}
            Some((is, summary)) => faults.push(format!("{object} is {is}: {summary}; expected {cause} {names:?}")),
            None => faults.push(format!("{object} has no diagnosis; expected {cause}")),
        }
    }
    let others =
        found.iter().filter(|(object, _)| !expected.contains_key(*object) && !object.starts_with("Deployment/"));
    faults.extend(others.map(|(object, (cause, summary))| format!("{object} is {cause}: {summary}; expected nothing")));
    faults
}

async fn await_diagnoses(namespace: &str, expected: &Expected, within: Duration) {
    eventually(within, format!("the diagnoses of {namespace}"), async || {
        let faults = faults(namespace, expected).await;
        ensure(faults.is_empty(), || faults.join("\n"))
    })
    .await;
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// Custom resources of several projects, with their own definitions and the statuses of their controllers.
struct Projects {
    space: Space,
    objects: Vec<Object>,
    definitions: Definitions,
}

impl Projects {
    async fn define() -> Self {
        let space = Space::new("projects").await;
        let objects = Self::read();
        let definitions = Definitions::create(&objects);
        Self { space, objects, definitions }
    }

    fn read() -> Vec<Object> {
        manifests::files("projects").iter().flat_map(|text| Object::all(text)).collect()
    }

    /// Writes the objects with the times as of now, as this test may have waited for others. The healthy ones are the
    /// oldest.
    fn write(&self) {
        let (healthy, others): (Vec<_>, Vec<_>) =
            Self::read().into_iter().partition(|object| object.marks("expect") == ["healthy"]);
        self.definitions.write(&self.space.name, healthy);
        self.definitions.write(&self.space.name, others);
    }

    fn expected(&self) -> Expected {
        let of = |object: &Object| match object.marks("expect")[..] {
            ["healthy" | "part"] => None,
            [cause] => {
                let name = format!("{}/{}", object.kind(), object.name());
                Some((name, (cause.to_owned(), owned(object.marks("must-name")))))
            }
            _ => panic!("no expectation: {object:?}"),
        };
        self.objects.iter().filter_map(of).collect()
    }

    async fn check(&self) {
        let expected = self.expected();
        await_diagnoses(&self.space.name, &expected, THRESHOLDS).await;
        // Those of objects that belong to the cluster.
        assert!(!active("default").await.keys().any(|object| object.starts_with("ClusterIssuer/")));
        let healthy = self.objects.iter().filter(|object| object.marks("expect") == ["healthy"]).count();
        println!("measured: {} broken custom resources, {healthy} healthy ones", expected.len());
    }
}

/// Paths of requests, each of which breaks at another hop.
struct Paths {
    space: Space,
    other: Space,
    definitions: Definitions,
    /// The data of each file, with the names of the namespaces.
    files: Vec<String>,
}

impl Paths {
    const CLASSES: [&str; 2] = ["ingressclass/e2e-nginx", "gatewayclass/e2e-envoy"];

    async fn build() -> Self {
        let (space, other) = (Space::new("paths").await, Space::new("paths-shared").await);
        let named = |text: String| text.replace("{namespace}", &space.name).replace("{other}", &other.name);
        let files: Vec<_> = manifests::files("paths").into_iter().map(named).collect();
        let objects: Vec<_> = files.iter().flat_map(|text| Object::all(text)).collect();
        let definitions =
            Definitions::create(objects.iter().filter(|object| object.group() == "gateway.networking.k8s.io"));
        let whole = objects.into_iter().filter(|object| !is_break(object)).collect();
        let paths = Self { space, other, definitions, files };
        paths.definitions.write(&paths.space.name, whole);
        for deployment in ["web", "cart"] {
            let name = format!("deployment/{deployment}");
            paths.space.kubectl(&["rollout", "status", &name, "--timeout=120s"]);
        }
        paths
    }

    /// Those of the files that break, or that are broken from the beginning.
    fn expected(&self, breaks: bool) -> Expected {
        let of = |text: &String| {
            let comments = manifests::comments(text);
            let expected = *manifests::marks(&comments, "expect").first()?;
            let (cause, object) = expected.split_once(" workload=")?;
            let of_file = (object.to_owned(), (cause.to_owned(), owned(manifests::marks(&comments, "must-name"))));
            let is_whole = comments.iter().any(|comment| comment == "then" || comment.starts_with("delete: "));
            (is_whole == breaks).then_some(of_file)
        };
        self.files.iter().filter_map(of).collect()
    }

    fn break_each(&self) {
        let mut objects = Vec::new();
        for text in &self.files {
            objects.extend(Object::all(text).into_iter().filter(is_break));
            for deleted in manifests::marks(&manifests::comments(text), "delete") {
                let place = if deleted.starts_with("referencegrant") { &self.other } else { &self.space };
                place.kubectl(&["delete", deleted, "--wait=false"]);
            }
        }
        self.definitions.write(&self.space.name, objects);
    }

    async fn check(&self) {
        // The diagnosis of a pod shows that the operator has read the namespace.
        let name = "deployment-reports";
        self.space.await_workload(name, KUBELET, |status| status.head.cause == "ConfigMapNotFound").await;
        let mut expected = self.expected(false);
        await_diagnoses(&self.space.name, &expected, KUBELET).await;
        expected.extend(self.expected(true));
        let began = Instant::now();
        self.break_each();
        await_diagnoses(&self.space.name, &expected, REPORTED).await;
        println!("measured: {} broken paths are named after {:.0} s", expected.len(), began.elapsed().as_secs_f64());
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        for class in Self::CLASSES {
            let _ = try_kubectl(&["delete", class, "--ignore-not-found", "--wait=false"], None);
        }
    }
}

/// Whether it is applied only to break a path.
fn is_break(object: &Object) -> bool {
    object.comments.iter().any(|comment| comment == "then")
}

#[test]
fn custom_resources_and_paths_of_requests_are_diagnosed() {
    // Beside other tests, because pods and namespaces take time.
    let (sender, receiver) = std::sync::mpsc::channel();
    together(async {
        sender.send((Projects::define().await, Paths::build().await)).unwrap();
    });
    let (projects, paths) = receiver.recv().unwrap();
    alone(async {
        projects.write();
        let _installed = Installed::with(&projects.definitions.names().join(","));
        tokio::join!(projects.check(), paths.check());
    });
}
