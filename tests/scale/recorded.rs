//! Pods of a large cluster and their owners, built from recorded objects.
//!
//! Objects are written to etcd as JSON, which the API server reads like its own encoding. 100,000 pods take a minute;
//! as many creates and status updates would take five or more.

mod visits;

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(crate) use visits::{Visit, is_pod, terminating};

use super::etcd::Put;

/// Pods of each Deployment; in one Deployment of [`STUCK`] a quarter of them are of a new version that fails.
const PODS: usize = 20;
const NEW_PODS: usize = 5;
const STUCK: usize = 5;
const REVISIONS: usize = 4;
/// Deployments for each Job.
const PER_JOB: usize = 25;
const NODES: usize = 1000;
/// Two Services for five Deployments.
const SERVED: usize = 2;
const NAMESPACES: usize = 100;
/// The replacement of a pod has the index of the pod plus this number.
const REPLACED: usize = 100;

/// Field managers of the parts of a workload.
const CONTROLLER: [(&str, &str); 2] = [("spec", "kube-controller-manager"), ("status", "kube-controller-manager")];

/// Age of the recorded failures: longer than all thresholds, shorter than the lifetime of Events.
const AGO: SignedDuration = SignedDuration::from_mins(10);

const HEALTHY: &str = include_str!("../healthy/deployment.yaml");
const JOB: &str = include_str!("../healthy/job-finished.yaml");
const ROLLOUT: &str = include_str!("../causes/ImageTagNotFound/rollout-stuck.yaml");
const KILLED: &str = include_str!("../causes/OOMKilled/limit.yaml");
const UNPULLED: &str = include_str!("../causes/RegistryConnectionRefused/closed-port.yaml");

/// Failures by cause, with their fixtures.
pub(crate) const WAYS: [(&str, &str); 10] = [
    ("ImageTagNotFound", ROLLOUT),
    ("AppError", include_str!("../causes/AppError/exit-2.yaml")),
    ("OOMKilled", KILLED),
    ("LivenessProbeFailed", include_str!("../causes/LivenessProbeFailed/crash-loop-back-off.yaml")),
    ("ReadinessProbeFailed", include_str!("../causes/ReadinessProbeFailed/http-404.yaml")),
    ("ConfigMapNotFound", include_str!("../causes/ConfigMapNotFound/env-from.yaml")),
    ("InsufficientCpu", include_str!("../causes/InsufficientCpu/64-cores.yaml")),
    ("VolumeSecretNotFound", include_str!("../causes/VolumeSecretNotFound/missing.yaml")),
    ("InitContainerFailed", include_str!("../causes/InitContainerFailed/exit-1.yaml")),
    ("ExecutableNotFound", include_str!("../causes/ExecutableNotFound/absolute.yaml")),
];

/// An object with `@placeholders@` for the parts that differ.
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

    /// The UID is derived from the key, so that a second run changes nothing.
    fn pod(object: Value) -> Result<Self> {
        Self::new("/registry/pods/@ns@/@name@", object, &[("status", "kubelet")])
    }

    fn put(&self, values: &[(&str, &str)]) -> Put {
        let fill = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
        };
        let key = fill(&self.key);
        let value = fill(&self.value).replace("@uid@", &uid(&key));
        Put { key, value }
    }
}

/// The FNV-1a hash of a text.
pub(crate) fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

fn uid(key: &str) -> String {
    let hash = fnv(key);
    format!("{:08x}-{:04x}-4000-8000-{:012x}", hash >> 32, (hash >> 16) & 0xffff, hash & 0xffff_ffff)
}

/// Returns `managedFields`, which are a third of a pod's size and are not used by the operator.
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

/// A pod, identified by its Deployment and its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    deployment: usize,
    index: usize,
}

impl Place {
    /// `namespace/name`.
    pub(crate) fn key(self) -> String {
        format!("{}/{}", self.namespace(), self.name())
    }

    pub(crate) fn namespace(self) -> String {
        namespace_of_app(self.deployment)
    }

    pub(crate) fn name(self) -> String {
        let Self { deployment: n, index } = self;
        format!("{}-{}-{index:05x}", app(n), hash(n, self.revision()))
    }

    /// The cause of its failure from the start.
    pub(crate) fn cause(self) -> Option<&'static str> {
        self.is_failing().then(|| WAYS[way(self.deployment)].0)
    }

    fn is_failing(self) -> bool {
        self.deployment.is_multiple_of(STUCK) && self.index % REPLACED < NEW_PODS
    }

    fn revision(self) -> usize {
        let is_new = self.is_failing() || !self.deployment.is_multiple_of(STUCK);
        REVISIONS - 1 - usize::from(!is_new)
    }
}

/// State of a pod that was healthy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    /// Unchanged except for a time in its status.
    Healthy,
    /// A container was OOMKilled and waits for its next start.
    Killed,
    /// Its image cannot be pulled because the registry is down.
    Unpulled,
}

/// All objects of a cluster with this many pods.
pub(crate) struct Fleet {
    deployments: usize,
    namespace: Template,
    node: Template,
    healthy: Template,
    killed: Template,
    unpulled: Template,
    service: Template,
    slice: Template,
    job: Template,
    settled: Template,
    stuck: Vec<Stuck>,
    /// ReplicaSets with the working image.
    set: Template,
}

/// A rollout whose new version fails.
struct Stuck {
    deployment: Template,
    set: Template,
    pod: Template,
    events: Vec<Template>,
}

impl Fleet {
    pub(crate) fn new(pods: usize, now: Timestamp) -> Result<Self> {
        let recorded = Recording::new(now);
        let base = recorded.items(HEALTHY)?;
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]},
            "metadata": {"name": "@name@", "creationTimestamp": "2026-11-21T15:20:57Z"}, "status": {"phase": "Active"},
        });
        let mut node = find(&base, "Node")?;
        node["metadata"]["name"] = json!("@name@");
        let mut service = named(find(&base, "Service")?);
        service["spec"]["selector"] = json!({"app": "@app@"});
        for field in ["clusterIP", "clusterIPs"] {
            // Two Services cannot share an address, so they are headless.
            service["spec"][field] = if field == "clusterIP" { json!("None") } else { json!(["None"]) };
        }
        let healthy = pod(find(&base, "Pod")?);
        let job = find(&recorded.items(JOB)?, "Job")?;
        let rollout = recorded.items(ROLLOUT)?;
        let ways = WAYS.iter().map(|(_, fixture)| Stuck::new(&rollout, &recorded.items(fixture)?));
        Ok(Self {
            deployments: pods / PODS,
            namespace: Template::new("/registry/namespaces/@name@", namespace, &[("spec", "kubectl")])?,
            node: Template::new("/registry/minions/@name@", node, &[("status", "kubelet")])?,
            killed: Template::pod(failing(&healthy, &newest(&recorded.items(KILLED)?, "Pod")?))?,
            unpulled: Template::pod(failing(&healthy, &newest(&recorded.items(UNPULLED)?, "Pod")?))?,
            healthy: Template::pod(healthy)?,
            service: Template::new("/registry/services/specs/@ns@/@app@", service, &[("spec", "kubectl")])?,
            slice: Template::new("/registry/endpointslices/@ns@/@app@", slice(&base)?, &CONTROLLER)?,
            job: Template::new("/registry/jobs/@ns@/@app@", named(job), &CONTROLLER)?,
            settled: deployment(find(&base, "Deployment")?, 0)?,
            stuck: ways.collect::<Result<_>>()?,
            set: replica_set(find(&base, "ReplicaSet")?)?,
        })
    }

    /// All objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Put> {
        let namespaces = (0..NAMESPACES).map(|n| self.namespace.put(&[("name", &namespace_of(n))]));
        let nodes = (0..NODES).map(|n| self.node.put(&[("name", &node(n))]));
        let owned = (0..self.deployments).flat_map(|n| self.deployment(n));
        namespaces.chain(nodes).chain(owned).chain(self.events())
    }

    /// The Events of failing pods.
    pub(crate) fn events(&self) -> impl Iterator<Item = Put> {
        self.failing().flat_map(|place| self.events_about(place))
    }

    fn events_about(&self, place: Place) -> impl Iterator<Item = Put> {
        let templates = self.way(place).map_or(&[][..], |stuck| &stuck.events);
        templates.iter().map(move |template| Self::put(template, place))
    }

    /// Pods that fail from the start.
    pub(crate) fn failing(&self) -> impl Iterator<Item = Place> {
        let stuck = (0..self.deployments).filter(|n| n.is_multiple_of(STUCK));
        stuck.flat_map(|deployment| (0..NEW_PODS).map(move |index| Place { deployment, index }))
    }

    /// Healthy pods; consecutive ones are of different Deployments.
    pub(crate) fn healthy(&self) -> Vec<Place> {
        let pods = (0..PODS).flat_map(|index| (0..self.deployments).map(move |deployment| Place { deployment, index }));
        pods.filter(|place| self.way(*place).is_none()).collect()
    }

    /// A pod in its initial state.
    pub(crate) fn as_filled(&self, place: Place) -> Put {
        Self::put(self.way(place).map_or(&self.healthy, |stuck| &stuck.pod), place)
    }

    /// A pod that was healthy, in this state.
    pub(crate) fn looking(&self, place: Place, look: Look) -> Put {
        let template = match look {
            Look::Healthy => &self.healthy,
            Look::Killed => &self.killed,
            Look::Unpulled => &self.unpulled,
        };
        Self::put(template, place)
    }

    fn way(&self, place: Place) -> Option<&Stuck> {
        place.is_failing().then(|| &self.stuck[way(place.deployment)])
    }

    fn put(template: &Template, place: Place) -> Put {
        let first_node = place.deployment * 7 % (NODES - PODS / 4);
        let (name, node) = (place.name(), node(first_node + place.index % REPLACED / 4));
        common(template, place.deployment, place.revision(), &Differing { replicas: 0, name: &name, node: &node })
    }

    /// The `n`th Deployment and all its objects.
    fn deployment(&self, n: usize) -> Vec<Put> {
        let stuck = n.is_multiple_of(STUCK).then(|| &self.stuck[way(n)]);
        let new = if stuck.is_some() { NEW_PODS } else { 0 };
        let running = REVISIONS - 1 - usize::from(stuck.is_some());
        let owned =
            |template, revision, replicas| common(template, n, revision, &Differing { replicas, name: "", node: "" });
        let mut puts = vec![owned(stuck.map_or(&self.settled, |s| &s.deployment), REVISIONS - 1, PODS)];
        for revision in 0..REVISIONS {
            let is_new = stuck.is_some() && revision == REVISIONS - 1;
            let replicas = if is_new {
                new
            } else if revision == running {
                PODS - new
            } else {
                0
            };
            puts.push(owned(stuck.filter(|_| is_new).map_or(&self.set, |s| &s.set), revision, replicas));
        }
        puts.extend((0..PODS).map(|index| self.as_filled(Place { deployment: n, index })));
        if n % 5 < SERVED {
            puts.push(owned(&self.service, 0, 0));
            puts.push(owned(&self.slice, 0, 0));
        }
        if n.is_multiple_of(PER_JOB) {
            puts.push(owned(&self.job, 0, 0));
        }
        puts
    }
}

/// Differences between objects of one Deployment.
struct Differing<'a> {
    replicas: usize,
    name: &'a str,
    node: &'a str,
}

fn common(template: &Template, n: usize, revision: usize, differing: &Differing<'_>) -> Put {
    let Differing { replicas, name, node } = differing;
    let (app, ns, hash) = (app(n), namespace_of_app(n), hash(n, revision));
    let set = format!("{app}-{hash}");
    let values = [
        ("name", *name),
        ("app", &app),
        ("ns", &ns),
        ("hash", &hash),
        ("set", &set),
        ("node", node),
        ("setuid", &uid(&format!("/registry/replicasets/{ns}/{set}"))),
        ("owneruid", &uid(&format!("/registry/deployments/{ns}/{app}"))),
        ("poduid", &uid(&format!("/registry/pods/{ns}/{name}"))),
        ("revision", &revision.to_string()),
        ("replicas", &replicas.to_string()),
    ];
    template.put(&values)
}

fn app(n: usize) -> String {
    format!("checkout-service-{n}")
}

fn hash(n: usize, revision: usize) -> String {
    format!("6bd7b5{n:04x}{revision}")
}

/// Index of the failure of a Deployment; each namespace has several.
fn way(n: usize) -> usize {
    let stuck = n / STUCK;
    (stuck + stuck / NAMESPACES) % WAYS.len()
}

impl Stuck {
    fn new(rollout: &[Value], failing: &[Value]) -> Result<Self> {
        let mut stuck = find(rollout, "Deployment")?;
        stuck["spec"]["template"] = newest(failing, "Deployment")?["spec"]["template"].clone();
        let failed = newest(failing, "Pod")?;
        let about =
            |event: &&Value| event["kind"] == "Event" && event["involvedObject"]["uid"] == failed["metadata"]["uid"];
        let events = failing.iter().filter(about).enumerate().map(|(n, event)| self::event(event.clone(), n));
        Ok(Self {
            events: events.collect::<Result<_>>()?,
            deployment: deployment(stuck, NEW_PODS)?,
            set: replica_set(newest(failing, "ReplicaSet")?)?,
            pod: Template::pod(pod(failed))?,
        })
    }
}

/// Recorded objects with shifted times.
struct Recording {
    now: Timestamp,
}

impl Recording {
    fn new(now: Timestamp) -> Self {
        Self { now }
    }

    fn items(&self, fixture: &str) -> Result<Vec<Value>> {
        let recorded_at = fixture.lines().find_map(|line| line.strip_prefix("# recorded-at: "));
        let recorded_at: Timestamp = recorded_at.context("a fixture has no recorded-at")?.parse()?;
        let mut list: Value = serde_saphyr::from_str(fixture)?;
        move_times(&mut list, self.now.duration_since(recorded_at) - AGO)?;
        Ok(list["items"].as_array().context("no list")?.clone())
    }
}

fn move_times(value: &mut Value, by: SignedDuration) -> Result<()> {
    match value {
        Value::Object(map) => map.values_mut().try_for_each(|value| move_times(value, by)),
        Value::Array(items) => items.iter_mut().try_for_each(|value| move_times(value, by)),
        Value::String(text) => {
            if let Ok(time) = text.parse::<Timestamp>() {
                let digits = if text.contains('.') { 6 } else { 0 };
                *text = format!("{:.digits$}", time + by);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn find(items: &[Value], kind: &str) -> Result<Value> {
    items.iter().find(|item| item["kind"] == kind).cloned().with_context(|| format!("no {kind} is recorded"))
}

/// The newest object of a kind in a rollout.
fn newest(items: &[Value], kind: &str) -> Result<Value> {
    items.iter().rfind(|item| item["kind"] == kind).cloned().with_context(|| format!("no {kind} is recorded"))
}

fn slice(base: &[Value]) -> Result<Value> {
    let mut slice = named(find(base, "EndpointSlice")?);
    slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("@app@");
    slice["metadata"]["ownerReferences"][0]["name"] = json!("@app@");
    let endpoint = |n: usize| {
        let mut endpoint = slice["endpoints"][0].clone();
        endpoint["addresses"] = json!([format!("10.88.2.{n}")]);
        endpoint
    };
    slice["endpoints"] = (1..=PODS - NEW_PODS).map(endpoint).collect();
    Ok(slice)
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
    // The placeholders become numbers, so their quotes are removed.
    object["spec"]["replicas"] = json!("@replicas@");
    let ready = if object["status"]["readyReplicas"].is_null() { json!(0) } else { json!("@replicas@") };
    object["status"] = json!({"observedGeneration": 1, "replicas": "@replicas@", "readyReplicas": ready});
    let mut template = Template::new("/registry/replicasets/@ns@/@set@", object, &CONTROLLER)?;
    template.value = template.value.replace("\"@replicas@\"", "@replicas@");
    Ok(template)
}

fn pod(mut object: Value) -> Value {
    object["metadata"]["name"] = json!("@name@");
    object["metadata"]["generateName"] = json!("@set@-");
    object["metadata"]["namespace"] = json!("@ns@");
    object["metadata"]["labels"] = json!({"app": "@app@", "pod-template-hash": "@hash@"});
    object["metadata"]["ownerReferences"][0]["name"] = json!("@set@");
    object["metadata"]["ownerReferences"][0]["uid"] = json!("@setuid@");
    if object["spec"].get("nodeName").is_some() {
        object["spec"]["nodeName"] = json!("@node@");
    }
    object
}

/// The healthy pod with the states of the first container of a failed one.
fn failing(healthy: &Value, failed: &Value) -> Value {
    let mut pod = healthy.clone();
    let container = &mut pod["status"]["containerStatuses"][0];
    let theirs = &failed["status"]["containerStatuses"][0];
    for field in ["state", "lastState", "ready", "started", "restartCount"] {
        container[field] = theirs[field].clone();
    }
    let message = format!("containers with unready status: [{}]", container["name"].as_str().unwrap_or_default());
    for condition in pod["status"]["conditions"].as_array_mut().into_iter().flatten() {
        if ["Ready", "ContainersReady"].iter().any(|kind| condition["type"] == *kind) {
            condition["status"] = json!("False");
            condition["reason"] = json!("ContainersNotReady");
            condition["message"] = json!(message);
        }
    }
    pod
}

fn event(mut event: Value, n: usize) -> Result<Template> {
    event["metadata"]["name"] = json!(format!("@name@.18a{n:013x}"));
    event["metadata"]["namespace"] = json!("@ns@");
    for (field, placeholder) in [("name", "@name@"), ("namespace", "@ns@"), ("uid", "@poduid@")] {
        event["involvedObject"][field] = json!(placeholder);
    }
    let manager = [("", "kubelet")];
    Template::new(&format!("/registry/events/@ns@/@name@.18a{n:013x}"), event, &manager)
}

fn namespace_of(n: usize) -> String {
    format!("team-{n:02}")
}

fn namespace_of_app(n: usize) -> String {
    visits::namespace_of(n).unwrap_or_else(|| namespace_of(n / STUCK % NAMESPACES))
}

fn node(n: usize) -> String {
    format!("node-{n:04}.example.internal")
}
