//! Pods without a kubelet: created, then given the recorded status of a real pod.

use std::collections::BTreeMap;
use std::sync::Mutex;

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use shindan_core::facts::Timestamp;

/// A failure that is diagnosed from the pod status alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) cause: &'static str,
    pub(crate) container: &'static str,
    recorded: &'static str,
}

macro_rules! recorded {
    ($($cause:literal / $file:literal, $container:literal;)*) => {
        [$(Failure {
            cause: $cause,
            container: $container,
            recorded: include_str!(concat!("../causes/", $cause, "/", $file, ".yaml")),
        }),*]
    };
}

pub(crate) const FAILURES: [Failure; 8] = recorded! {
    "ConfigMapKeyMissing" / "env", "app";
    "InvalidImageName" / "upper-case", "nginx";
    "OOMKilled" / "limit", "hog";
    "AppError" / "exit-2", "app";
    "ImageTagNotFound" / "nope", "nginx";
    "SecretNotFound" / "env", "app";
    "ExecutableNotFound" / "absolute", "app";
    "ErrImageNeverPull" / "absent", "nginx";
};
const HEALTHY: &str = include_str!("../healthy/deployment.yaml");

/// The expected final state of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Failing { uid: String, failure: Failure },
    Healthy,
    Deleted,
}

/// A namespace with the expected state of each pod.
pub(crate) struct Space {
    pub(crate) client: Client,
    pub(crate) name: String,
    expected: Mutex<BTreeMap<String, Expected>>,
    /// Number of failures of each pod, added to its restart count.
    rounds: Mutex<BTreeMap<String, i64>>,
}

impl Space {
    pub(crate) async fn new(client: Client, name: &str) -> Self {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        Self { client, name: name.to_owned(), expected: Mutex::default(), rounds: Mutex::default() }
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    pub(crate) fn expected(&self) -> BTreeMap<String, Expected> {
        self.expected.lock().unwrap().clone()
    }

    fn expect(&self, pod: &str, expected: Expected) {
        self.expected.lock().unwrap().insert(pod.to_owned(), expected);
    }

    /// Whether the next failure is reported late: after ten restarts once in 15 minutes.
    pub(crate) fn is_throttled(&self, pod: &str) -> bool {
        self.rounds.lock().unwrap().get(pod).is_some_and(|rounds| *rounds >= 8)
    }

    /// Creates a failing pod.
    pub(crate) async fn fail(&self, pod: &str, failure: Failure) {
        self.rounds.lock().unwrap().remove(pod);
        let uid = self.create(pod, &recorded(failure.recorded, "Pod")).await;
        self.turn(pod, uid, failure).await;
    }

    /// Creates a pod for each failure: `web-0`, `web-1`, ...
    pub(crate) async fn fail_all(&self, prefix: &str) {
        for (n, failure) in FAILURES.into_iter().enumerate() {
            self.fail(&format!("{prefix}-{n}"), failure).await;
        }
    }

    /// Makes an existing pod fail with the failure that it was created for.
    pub(crate) async fn fail_again(&self, pod: &str, failure: Failure) {
        let uid = self.pods().get(pod).await.unwrap().uid().unwrap();
        self.turn(pod, uid, failure).await;
    }

    async fn turn(&self, pod: &str, uid: String, failure: Failure) {
        self.expect(pod, Expected::Failing { uid, failure });
        let round = {
            let mut rounds = self.rounds.lock().unwrap();
            let round = rounds.entry(pod.to_owned()).or_default();
            *round += 1;
            *round
        };
        let mut status = recorded(failure.recorded, "Pod")["status"].take();
        for container in status["containerStatuses"].as_array_mut().into_iter().flatten() {
            let restarts = container["restartCount"].as_i64().unwrap_or(0);
            container["restartCount"] = json!(if restarts > 0 { restarts + round - 1 } else { 0 });
        }
        self.set_status(pod, &status).await;
    }

    /// Creates a pod without a status from a kubelet.
    pub(crate) async fn pending(&self, pod: &str) {
        self.create(pod, &recorded(FAILURES[1].recorded, "Pod")).await;
        self.expect(pod, Expected::Healthy);
    }

    /// Creates a healthy pod that can fail this way later.
    pub(crate) async fn create_healthy(&self, pod: &str, failure: Failure) {
        self.create(pod, &recorded(failure.recorded, "Pod")).await;
        self.expect(pod, Expected::Healthy);
        self.set_healthy(pod).await;
    }

    /// Makes a pod healthy; creates it if it is missing.
    pub(crate) async fn set_healthy(&self, pod: &str) {
        let known = self.expected.lock().unwrap().contains_key(pod);
        if !known {
            self.create(pod, &recorded(HEALTHY, "Pod")).await;
        }
        self.expect(pod, Expected::Healthy);
        let there = self.pods().get(pod).await.unwrap();
        let restarts = |name: &str| {
            let statuses = there.status.iter().flat_map(|s| s.container_statuses.iter().flatten());
            statuses.filter(|c| c.name == name).map(|c| c.restart_count).next().unwrap_or(0)
        };
        let now = now().to_string();
        let containers = there.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
            json!({
                "name": container.name, "image": container.image, "imageID": "sha256:1", "ready": true, "started": true,
                "restartCount": restarts(&container.name), "state": {"running": {"startedAt": now}},
            })
        });
        let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
            .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": now}));
        let containers: Vec<_> = containers.collect();
        let status = json!({"phase": "Running", "conditions": conditions, "containerStatuses": containers});
        self.set_status(pod, &status).await;
    }

    pub(crate) async fn delete(&self, pod: &str) {
        self.expect(pod, Expected::Deleted);
        self.pods().delete(pod, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    async fn create(&self, name: &str, like: &Value) -> String {
        let mut spec = like["spec"].clone();
        // The Priority admission plugin sets this field.
        spec.as_object_mut().unwrap().remove("priority");
        let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        self.pods().create(&PostParams::default(), &pod).await.unwrap().uid().unwrap()
    }

    async fn set_status(&self, pod: &str, status: &Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.pods().patch_status(pod, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// Creates the node of the recorded pods.
pub(crate) async fn node(client: &Client) {
    let mut node = recorded(HEALTHY, "Node");
    let nodes = Api::<Node>::all(client.clone());
    let bare = json!({"metadata": {"name": node["metadata"]["name"], "labels": node["metadata"]["labels"]}});
    let made = nodes.create(&PostParams::default(), &serde_json::from_value(bare).unwrap()).await.unwrap();
    let patch = Patch::Merge(json!({"status": node["status"].take()}));
    nodes.patch_status(&made.name_any(), &PatchParams::default(), &patch).await.unwrap();
}

/// The first object of a kind in a record, with its times shifted to now.
fn recorded(record: &str, kind: &str) -> Value {
    let at = record.lines().find_map(|line| line.strip_prefix("# recorded-at: ")).expect("when it was recorded");
    let by = now().duration_since(at.parse().unwrap());
    let list: Value = serde_saphyr::from_str(record).unwrap();
    let found = list["items"].as_array().unwrap().iter().find(|item| item["kind"] == kind);
    let mut object = found.expect("it is in the record").clone();
    shift(&mut object, by);
    object
}

fn shift(value: &mut Value, by: jiff::SignedDuration) {
    match value {
        Value::String(text) => {
            if let Ok(at) = text.parse::<Timestamp>() {
                *text = Timestamp::from_second((at + by).as_second()).unwrap().to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shift(field, by)),
        _ => {}
    }
}

/// The current time in whole seconds, the resolution of a kubelet.
#[allow(clippy::disallowed_methods, reason = "pods need current times")]
fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap()
}
