//! Fills the etcd of a test cluster with a large company's pods and what owns them, from recorded objects.
//!
//! Objects go into etcd as JSON, which the API server reads as well as its own encoding: 100,000 pods take a minute,
//! where as many creates and status updates take five and more. `tests/scale/scale` runs this.

#![allow(clippy::print_stdout, reason = "a tool for a terminal")]

use anyhow::{Context, Result};
use clap::Parser;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde_json::{Map, Value, json};

/// Of each Deployment; one Deployment in [`STUCK`] has a quarter of its pods in a new version that fails.
const PODS: usize = 20;
const NEW_PODS: usize = 5;
const STUCK: usize = 5;
const REVISIONS: usize = 4;
/// Deployments for each Job, and so on.
const PER_JOB: usize = 25;
const PER_NODE: usize = 5;
/// Two Services for five Deployments.
const SERVED: usize = 2;
const NAMESPACES: usize = 100;

/// Who writes which part of a controller.
const CONTROLLER: [(&str, &str); 2] = [("spec", "kube-controller-manager"), ("status", "kube-controller-manager")];

/// Objects in one request, and requests at a time.
const BATCH: usize = 64;
const AT_ONCE: usize = 8;

const HEALTHY: &str = include_str!("../healthy/deployment.yaml");
const NO_IMAGE: &str = include_str!("../causes/ImageTagNotFound/rollout-stuck.yaml");
const CRASHING: &str = include_str!("../causes/AppError/exit-2.yaml");
const JOB: &str = include_str!("../healthy/job-finished.yaml");

#[derive(Parser)]
struct Arguments {
    /// How many pods; the rest follows from it
    #[arg(long, default_value_t = 100_000)]
    pods: usize,
    /// etcd, without TLS
    #[arg(long, default_value = "http://127.0.0.1:2379")]
    etcd: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let etcd = Client::try_from(Config::new(arguments.etcd.parse()?))?;
    let recorded = Recorded::read()?;
    let deployments = arguments.pods / PODS;
    let namespaces = (0..NAMESPACES).map(|n| recorded.namespace.put(&[("name", &namespace_of(n))]));
    let nodes = (0..nodes(deployments)).map(|n| recorded.node.put(&[("name", &node(n))]));
    let owned = (0..deployments).flat_map(|n| recorded.deployment(n, nodes_of(deployments, n)));
    let objects = namespaces.chain(nodes).chain(owned);
    let written = futures::stream::iter(objects)
        .ready_chunks(BATCH)
        .map(|batch| put(&etcd, batch))
        .buffer_unordered(AT_ONCE)
        .try_fold((0, 0), |sum, (objects, bytes)| async move { Ok((sum.0 + objects, sum.1 + bytes)) })
        .await?;
    println!("{} objects, {} MB of JSON", written.0, written.1 / 1_000_000);
    Ok(())
}

/// A key of etcd and its value.
struct Put {
    key: String,
    value: String,
}

async fn put(etcd: &Client, batch: Vec<Put>) -> Result<(usize, usize)> {
    let sizes = (batch.len(), batch.iter().map(|put| put.value.len()).sum());
    let bytes = |text: String| ByteString(text.into_bytes());
    let puts = batch.into_iter().map(|put| json!({"requestPut": {"key": bytes(put.key), "value": bytes(put.value)}}));
    let body = serde_json::to_vec(&json!({"success": puts.collect::<Vec<_>>()}))?;
    etcd.request_text(http::Request::post("/v3/kv/txn").body(body)?).await.context("etcd")?;
    Ok(sizes)
}

/// An object with `@words` for what differs.
struct Template {
    key: String,
    value: String,
}

impl Template {
    fn new(key: &str, mut object: Value, managers: &[(&str, &str)]) -> Result<Self> {
        object["metadata"]["uid"] = json!("@uid@");
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        object["metadata"]["managedFields"] = managed_fields(&object, managers);
        Ok(Self { key: key.to_owned(), value: serde_json::to_string(&object)? })
    }

    /// The UID follows from the key, so that a second run changes nothing.
    fn put(&self, words: &[(&str, &str)]) -> Put {
        let fill = |text: &str| {
            words.iter().fold(text.to_owned(), |text, (word, with)| text.replace(&format!("@{word}@"), with))
        };
        let key = fill(&self.key);
        let value = fill(&self.value).replace("@uid@", &uid(&key));
        Put { key, value }
    }
}

fn uid(key: &str) -> String {
    // FNV-1a
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{:08x}-{:04x}-4000-8000-{:012x}", hash >> 32, (hash >> 16) & 0xffff, hash & 0xffff_ffff)
}

/// What the API server notes of who wrote which field: a third of what is sent, and read by nobody here.
fn managed_fields(object: &Value, managers: &[(&str, &str)]) -> Value {
    let entry = |&(part, manager): &(&str, &str)| {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": object["apiVersion"],
            "subresource": if part == "status" { part } else { "" },
            "time": object["metadata"]["creationTimestamp"], "fieldsType": "FieldsV1",
            "fieldsV1": {format!("f:{part}"): fields(&object[part])},
        })
    };
    managers.iter().map(entry).collect()
}

fn fields(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| (format!("f:{name}"), fields(value))).collect(),
        Value::Array(items) => items.iter().map(|item| (format!("k:{}", label(item)), fields(item))).collect(),
        _ => Value::Object(Map::new()),
    }
}

fn label(item: &Value) -> String {
    let key = ["name", "type", "key", "containerPort", "ip"].into_iter().find(|key| item.get(key).is_some());
    key.map_or_else(|| item.to_string(), |key| json!({key: item[key]}).to_string())
}

struct Recorded {
    namespace: Template,
    node: Template,
    pod: Template,
    service: Template,
    slice: Template,
    job: Template,
    settled: Template,
    stuck: [Stuck; 2],
    /// ReplicaSets with the good image.
    set: Template,
}

/// A rollout whose new version fails.
struct Stuck {
    deployment: Template,
    set: Template,
    pod: Template,
}

impl Recorded {
    fn read() -> Result<Self> {
        let [healthy, no_image, crashing, job] = [HEALTHY, NO_IMAGE, CRASHING, JOB].map(items);
        let (healthy, no_image, crashing, job) = (healthy?, no_image?, crashing?, job?);
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]},
            "metadata": {"name": "@name@", "creationTimestamp": "2026-11-21T15:20:57Z"}, "status": {"phase": "Active"},
        });
        let mut node = find(&healthy, "Node")?;
        node["metadata"]["name"] = json!("@name@");
        let mut service = named(find(&healthy, "Service")?);
        service["spec"]["selector"] = json!({"app": "@app@"});
        for field in ["clusterIP", "clusterIPs"] {
            // No two may share an address; without one they are headless.
            service["spec"][field] = if field == "clusterIP" { json!("None") } else { json!(["None"]) };
        }
        let mut slice = named(find(&healthy, "EndpointSlice")?);
        slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("@app@");
        slice["metadata"]["ownerReferences"][0]["name"] = json!("@app@");
        let endpoint = |n: usize| {
            let mut endpoint = slice["endpoints"][0].clone();
            endpoint["addresses"] = json!([format!("10.88.2.{n}")]);
            endpoint
        };
        slice["endpoints"] = (1..=PODS - NEW_PODS).map(endpoint).collect();
        Ok(Self {
            namespace: Template::new("/registry/namespaces/@name@", namespace, &[("spec", "kubectl")])?,
            node: Template::new("/registry/minions/@name@", node, &[("status", "kubelet")])?,
            pod: pod(find(&healthy, "Pod")?)?,
            service: Template::new("/registry/services/specs/@ns@/@app@", service, &[("spec", "kubectl")])?,
            slice: Template::new("/registry/endpointslices/@ns@/@app@", slice, &CONTROLLER)?,
            job: Template::new("/registry/jobs/@ns@/@app@", named(find(&job, "Job")?), &CONTROLLER)?,
            settled: deployment(find(&healthy, "Deployment")?, 0)?,
            stuck: [Stuck::read(&no_image, &no_image)?, Stuck::read(&no_image, &crashing)?],
            set: replica_set(find(&healthy, "ReplicaSet")?)?,
        })
    }

    /// The `n`th Deployment and all that hangs on it; its pods from the node `first` on.
    fn deployment(&self, n: usize, first: usize) -> Vec<Put> {
        let stuck = n.is_multiple_of(STUCK).then(|| &self.stuck[n / STUCK % 2]);
        let (app, ns) = (format!("checkout-service-{n}"), namespace_of(n / STUCK % NAMESPACES));
        let new = if stuck.is_some() { NEW_PODS } else { 0 };
        let running = REVISIONS - 1 - usize::from(stuck.is_some());
        let mut puts = Vec::new();
        let common = |template: &Template, revision: usize, replicas: usize, name: &str, node: &str| {
            let hash = format!("6bd7b5{n:04x}{revision}");
            let set = format!("{app}-{hash}");
            let words = [
                ("name", name),
                ("app", &app),
                ("ns", &ns),
                ("hash", &hash),
                ("set", &set),
                ("node", node),
                ("setuid", &uid(&format!("/registry/replicasets/{ns}/{set}"))),
                ("owneruid", &uid(&format!("/registry/deployments/{ns}/{app}"))),
                ("revision", &revision.to_string()),
                ("replicas", &replicas.to_string()),
            ];
            template.put(&words)
        };
        puts.push(common(stuck.map_or(&self.settled, |s| &s.deployment), REVISIONS - 1, PODS, "", ""));
        for revision in 0..REVISIONS {
            let is_new = stuck.is_some() && revision == REVISIONS - 1;
            let replicas = if is_new {
                new
            } else if revision == running {
                PODS - new
            } else {
                0
            };
            let template = stuck.filter(|_| is_new).map_or(&self.set, |s| &s.set);
            puts.push(common(template, revision, replicas, "", ""));
        }
        for i in 0..PODS {
            let fails = stuck.filter(|_| i < new);
            let revision = if fails.is_some() { REVISIONS - 1 } else { running };
            let name = format!("{app}-6bd7b5{n:04x}{revision}-{i:05x}");
            puts.push(common(fails.map_or(&self.pod, |s| &s.pod), revision, 0, &name, &node(first + i / 4)));
        }
        if n % 5 < SERVED {
            puts.push(common(&self.service, 0, 0, "", ""));
            puts.push(common(&self.slice, 0, 0, "", ""));
        }
        if n.is_multiple_of(PER_JOB) {
            puts.push(common(&self.job, 0, 0, "", ""));
        }
        puts
    }
}

impl Stuck {
    fn read(rollout: &[Value], failing: &[Value]) -> Result<Self> {
        let of_new = |kind| failing.iter().rfind(|object| object["kind"] == kind).cloned().context("not recorded");
        let (set, template) = (of_new("ReplicaSet")?, of_new("Deployment")?);
        let mut stuck = find(rollout, "Deployment")?;
        stuck["spec"]["template"] = template["spec"]["template"].clone();
        Ok(Self { deployment: deployment(stuck, NEW_PODS)?, set: replica_set(set)?, pod: pod(of_new("Pod")?)? })
    }
}

fn items(fixture: &str) -> Result<Vec<Value>> {
    let list: Value = serde_saphyr::from_str(fixture)?;
    Ok(list["items"].as_array().context("no list")?.clone())
}

fn find(items: &[Value], kind: &str) -> Result<Value> {
    items.iter().find(|item| item["kind"] == kind).cloned().with_context(|| format!("no {kind} is recorded"))
}

fn named(mut object: Value) -> Value {
    object["metadata"]["name"] = json!("@app@");
    object["metadata"]["namespace"] = json!("@ns@");
    object
}

fn deployment(object: Value, new: usize) -> Result<Template> {
    let mut object = named(object);
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("@revision@");
    object["spec"]["replicas"] = json!(PODS);
    object["spec"]["selector"] = json!({"matchLabels": {"app": "@app@"}});
    object["spec"]["template"]["metadata"]["labels"] = json!({"app": "@app@"});
    let status = &mut object["status"];
    for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        status[field] = json!(PODS - new);
    }
    if new > 0 {
        status["replicas"] = json!(PODS);
        status["updatedReplicas"] = json!(new);
        status["unavailableReplicas"] = json!(new);
    }
    Template::new("/registry/deployments/@ns@/@app@", object, &CONTROLLER)
}

fn replica_set(object: Value) -> Result<Template> {
    let mut object = named(object);
    let labels = json!({"app": "@app@", "pod-template-hash": "@hash@"});
    object["metadata"]["name"] = json!("@set@");
    object["metadata"]["labels"] = labels.clone();
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("@revision@");
    object["metadata"]["ownerReferences"][0]["name"] = json!("@app@");
    object["metadata"]["ownerReferences"][0]["uid"] = json!("@owneruid@");
    object["spec"]["selector"] = json!({"matchLabels": labels});
    object["spec"]["template"]["metadata"]["labels"] = labels;
    // Numbers, so the quotes go with the word.
    object["spec"]["replicas"] = json!("@replicas@");
    let ready = if object["status"]["readyReplicas"].is_null() { json!(0) } else { json!("@replicas@") };
    object["status"] = json!({"observedGeneration": 1, "replicas": "@replicas@", "readyReplicas": ready});
    let mut template = Template::new("/registry/replicasets/@ns@/@set@", object, &CONTROLLER)?;
    template.value = template.value.replace("\"@replicas@\"", "@replicas@");
    Ok(template)
}

fn pod(mut object: Value) -> Result<Template> {
    object["metadata"]["name"] = json!("@name@");
    object["metadata"]["generateName"] = json!("@set@-");
    object["metadata"]["namespace"] = json!("@ns@");
    object["metadata"]["labels"] = json!({"app": "@app@", "pod-template-hash": "@hash@"});
    object["metadata"]["ownerReferences"][0]["name"] = json!("@set@");
    object["metadata"]["ownerReferences"][0]["uid"] = json!("@setuid@");
    object["spec"]["nodeName"] = json!("@node@");
    Template::new("/registry/pods/@ns@/@name@", object, &[("status", "kubelet")])
}

fn namespace_of(n: usize) -> String {
    format!("team-{n:02}")
}

fn node(n: usize) -> String {
    format!("node-{n:04}.example.internal")
}

fn nodes(deployments: usize) -> usize {
    (deployments / PER_NODE).max(PODS)
}

fn nodes_of(deployments: usize, n: usize) -> usize {
    n * 7 % (nodes(deployments) - PODS / 4)
}
