//! The real engine on a fake cluster with an API server in memory and a paused clock, and builders for the objects that it
//! watches.

use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use shindan::app::engine::{Cluster, Engine, Pace};
use shindan::cluster::Failure;
use shindan::cluster::lease::ManualElection;
use shindan::cluster::lookup::LookupError;
use shindan::cluster::publish::{Current, PublishError, Published};
use shindan::cluster::restore::Restored;
use shindan::metrics::Metrics;
use shindan::notify::send::Post;
use shindan::notify::task::Notifier;
use shindan::notify::{self, Settings};
use shindan_core::api::{
    DiagnosisKind, DiagnosisState, NodeDiagnosisStatus, PodDiagnosisSpec, PodDiagnosisStatus, WorkloadDiagnosisStatus,
};
use shindan_core::case::Thresholds;
use shindan_core::facts::{
    ClaimsFacts, EventFacts, Lookup, LookupResult, NodeFacts, ObjectKey, PodFacts, ReachedFacts, Timestamp,
    WorkloadFacts, after,
};
use shindan_core::reconcile::{self, Annotation, Announcement, DiagnosisKey, Intent, Policy, Record, Write};
use shindan_core::state::{Caps, Change, Source, World};
use shindan_core::wire::Dump;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub struct Object {
    pub uid: String,
    pub version: u64,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
}

/// The state of the API server, and counts of its requests.
#[derive(Debug, Default)]
pub struct Server {
    pub objects: BTreeMap<ObjectKey, Object>,
    pub events: Vec<Announcement>,
    pub applies: usize,
    pub deletes: usize,
    pub refused_posts: usize,
    pub conflicts: usize,
    pub lookups: usize,
    /// Events are refused while this is set.
    pub no_events: bool,
    /// Annotations in the order of their writes.
    pub annotations: Vec<Annotation>,
    /// Annotations are refused while this is set.
    pub no_annotations: bool,
    /// Diagnoses of nodes and workloads; those of pods are in `objects`.
    pub other_diagnoses: BTreeMap<DiagnosisKey, Record>,
    /// Writes of `other_diagnoses`.
    pub other_applies: usize,
    /// Annotations that note what the receivers of notifications know.
    pub marks: BTreeMap<DiagnosisKey, String>,
    version: u64,
}

/// What lookups find.
#[derive(Debug, Default)]
pub struct Surroundings {
    pub results: HashMap<Lookup, LookupResult>,
    /// Lookups that are forbidden.
    pub refused: HashSet<Lookup>,
    /// Log of every terminated container; `None` refuses the request.
    pub log: Option<&'static str>,
    /// Requests for logs.
    pub logs_read: usize,
}

/// A request that waits until a test lets it go on.
struct Hold {
    begun: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

/// The wall clock: the time of the test at an instant of the paused clock.
#[derive(Clone)]
struct Clock(Arc<Mutex<(Timestamp, Instant)>>);

impl Clock {
    fn read(&self) -> Timestamp {
        let (time, since) = *self.0.lock().unwrap();
        let elapsed = i64::try_from(since.elapsed().as_millis()).unwrap();
        Timestamp::from_millisecond(time.as_millisecond() + elapsed).unwrap()
    }

    fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap() = (now, Instant::now());
    }
}

#[derive(Clone)]
pub struct FakeCluster {
    server: Arc<RwLock<Server>>,
    surroundings: Arc<RwLock<Surroundings>>,
    changes: mpsc::Sender<Change>,
    clock: Clock,
    /// Holds the next write, the next deletion, or the next read of all objects.
    held_write: Arc<Mutex<Option<Hold>>>,
    held_deletion: Arc<Mutex<Option<Hold>>>,
    held_restore: Arc<Mutex<Option<Hold>>>,
}

impl FakeCluster {
    async fn wait(held: &Mutex<Option<Hold>>) {
        let hold = held.lock().unwrap().take();
        if let Some(hold) = hold {
            let _ = hold.begun.send(());
            let _ = hold.released.await;
        }
    }

    fn see(&self, change: Change) {
        self.changes.try_send(change).unwrap();
    }

    fn apply(&self, write: &Write) -> Result<Published, PublishError> {
        let mut server = self.server.write().unwrap();
        let known = server.version_of(&write.key);
        let theirs = known.as_ref().map(|(_, version)| version.clone());
        if write.resource_version.is_some() && write.resource_version != theirs {
            server.conflicts += 1;
            return Err(PublishError::Conflict);
        }
        let (uid, resource_version) = server.store(write, known.map(|(uid, _)| uid), self.clock.read());
        self.see(Change::Object { key: write.key.clone(), resource_version: resource_version.clone() });
        let announced = write.announcement.as_ref().is_none_or(|event| server.post(event));
        Ok(Published { uid, resource_version, announced })
    }
}

impl Cluster for FakeCluster {
    async fn publish(&self, intent: &Intent) -> Result<Published, PublishError> {
        Self::wait(&self.held_write).await;
        let unavailable = || Err(PublishError::Unavailable("refused by the test".to_owned()));
        match intent {
            Intent::Apply(write) => return self.apply(write),
            Intent::Delete { key, .. } => {
                Self::wait(&self.held_deletion).await;
                let mut server = self.server.write().unwrap();
                server.deletes += 1;
                server.objects.remove(&key.object);
                server.other_diagnoses.remove(key);
                self.see(Change::ObjectDeleted(key.clone()));
            }
            Intent::Announce(event) => {
                if !self.server.write().unwrap().post(event) {
                    return unavailable();
                }
            }
            Intent::Annotate(annotation) => {
                let mut server = self.server.write().unwrap();
                if server.no_annotations {
                    return unavailable();
                }
                server.annotations.push((**annotation).clone());
            }
        }
        Ok(Published { uid: String::new(), resource_version: String::new(), announced: true })
    }

    async fn current(&self, key: &DiagnosisKey) -> Result<Option<Current>, PublishError> {
        let current = self.server.read().unwrap().version_of(key);
        Ok(current.map(|(uid, resource_version)| Current { uid, resource_version }))
    }

    async fn look(&self, lookup: &Lookup) -> Result<LookupResult, LookupError> {
        let refused = || LookupError::Failed { what: "an object", failure: Failure::Unreadable("refused".to_owned()) };
        let mut surroundings = self.surroundings.write().unwrap();
        if matches!(lookup, Lookup::Log(_)) {
            surroundings.logs_read += 1;
            return surroundings.log.map(|log| LookupResult::Log(log.into())).ok_or_else(refused);
        }
        self.server.write().unwrap().lookups += 1;
        if surroundings.refused.contains(lookup) {
            return Err(refused());
        }
        Ok(surroundings.results.get(lookup).cloned().unwrap_or_else(|| match lookup {
            Lookup::Workload(_) => LookupResult::Workload(None),
            Lookup::Services(_) => LookupResult::Services(Vec::new()),
            Lookup::Reached(_) => LookupResult::Reached(ReachedFacts::default()),
            Lookup::PodsOn(_) | Lookup::Log(_) => LookupResult::Pods(Vec::new()),
            Lookup::Claims(_) => LookupResult::Claims(ClaimsFacts::default()),
            Lookup::Names(_) => LookupResult::Names([].into()),
        }))
    }

    async fn mark(&self, key: &DiagnosisKey, text: Option<&str>) -> Result<Option<Current>, PublishError> {
        let mut server = self.server.write().unwrap();
        let Some((uid, resource_version)) = server.mark(key, text) else { return Ok(None) };
        // The watch is faster than the response.
        self.see(Change::Object { key: key.clone(), resource_version: resource_version.clone() });
        Ok(Some(Current { uid, resource_version }))
    }

    async fn restore(&self, pages: mpsc::Sender<Restored>) {
        let page = self.server.read().unwrap().page();
        Self::wait(&self.held_restore).await;
        let _ = pages.send(page).await;
    }
}

pub struct Operator {
    pub engine: Engine<FakeCluster>,
    pub now: Timestamp,
    cluster: FakeCluster,
    metrics: Metrics,
    election: ManualElection,
    terms: u64,
    runtime: Runtime,
}

pub fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().unwrap()
}

/// A term that outlasts each test, in seconds.
const LONG: u64 = 10 * 365 * 86_400;

impl Operator {
    /// An operator that has listed an empty cluster at 09:00.
    pub fn idle() -> Self {
        let mut operator = Self::new(Caps::default(), Server::default(), at("09:00:00"));
        operator.list(&[], &[]);
        operator
    }

    /// An operator that starts with these stored objects and has listed nothing yet.
    pub fn new(caps: Caps, server: Server, now: Timestamp) -> Self {
        Self::with_policy(Policy::default(), caps, server, now)
    }

    pub fn with_policy(policy: Policy, caps: Caps, server: Server, now: Timestamp) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let context = runtime.enter();
        let mut world = World::new(Thresholds::default(), policy, caps);
        let touched = world.restore(server.stored());
        let (sender, changes) = mpsc::channel(100_000);
        let clock = Clock(Arc::new(Mutex::new((now, Instant::now()))));
        let cluster = FakeCluster {
            server: Arc::new(RwLock::new(server)),
            surroundings: Arc::default(),
            changes: sender,
            clock: clock.clone(),
            held_write: Arc::default(),
            held_deletion: Arc::default(),
            held_restore: Arc::default(),
        };
        let metrics = Metrics::new();
        let (election, leadership) = ManualElection::standby();
        election.lead(1, LONG);
        // The gauges of tests have no reader, and tests may last for weeks.
        let pace = Pace { gauges: Duration::from_secs(LONG), ..Pace::default() };
        let engine = Engine::new(world, cluster.clone(), metrics.clone(), pace, changes);
        let mut engine = engine.elected(leadership, Some(1)).with_clock(move || clock.read());
        engine.enqueue(touched);
        drop(context);
        Self { engine, now, cluster, metrics, election, terms: 1, runtime }
    }

    /// Sends notifications through `post`.
    pub fn notifying(self, settings: Settings, post: impl Post) -> Self {
        let (sender, marks) = mpsc::channel(32);
        let handle = notify::Handle::default();
        self.server().page().notify(&handle);
        let notifier = Notifier::new(settings, handle.clone(), post, self.metrics.clone(), sender);
        let context = self.runtime.enter();
        tokio::spawn(notifier.run());
        drop(context);
        Self { engine: self.engine.notifying(handle, marks), ..self }
    }

    pub fn server(&self) -> RwLockReadGuard<'_, Server> {
        self.cluster.server.read().unwrap()
    }

    pub fn server_mut(&mut self) -> RwLockWriteGuard<'_, Server> {
        self.cluster.server.write().unwrap()
    }

    /// What the API server holds, for another replica.
    pub fn take_server(&mut self) -> Server {
        std::mem::take(&mut *self.server_mut())
    }

    pub fn surroundings(&self) -> RwLockReadGuard<'_, Surroundings> {
        self.cluster.surroundings.read().unwrap()
    }

    pub fn surroundings_mut(&mut self) -> RwLockWriteGuard<'_, Surroundings> {
        self.cluster.surroundings.write().unwrap()
    }

    /// Events of pods that were combined in another, as the metric counts them.
    pub fn aggregated(&self) -> usize {
        let text = self.metrics.encode().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("shindan_events_folded_total "));
        line.map_or(0, |count| count.parse().unwrap())
    }

    /// Makes this replica a standby.
    pub fn become_standby(&mut self) {
        self.election.resign();
        self.settle();
    }

    /// Makes this replica the leader, with the API server as the old leader left it; `meanwhile` runs while the stored
    /// objects are read.
    pub fn become_leader(&mut self, server: Server, meanwhile: impl FnOnce(&mut Self)) {
        *self.server_mut() = server;
        let held = self.cluster.held_restore.clone();
        self.terms += 1;
        let context = self.runtime.enter();
        self.election.lead(self.terms, LONG);
        drop(context);
        self.settle_holding(&held, meanwhile);
    }

    /// Restarts the operator in the same cluster.
    pub fn restarted(mut self, later: i64) -> Self {
        Self::new(Caps::default(), self.take_server(), after(self.now, later))
    }

    /// Lists our stored objects, these nodes and these pods.
    pub fn list(&mut self, nodes: &[NodeFacts], pods: &[PodFacts]) {
        self.list_with(nodes, pods, &[]);
    }

    /// Like `list`, with workloads.
    pub fn list_with(&mut self, nodes: &[NodeFacts], pods: &[PodFacts], workloads: &[WorkloadFacts]) {
        for source in Source::ALL {
            self.take(Change::ListStarted(source));
        }
        let versions: Vec<(DiagnosisKey, String)> = {
            let server = self.server();
            let pods = server.objects.iter().map(|(key, o)| (DiagnosisKey::of_pod(key.clone()), o.version.to_string()));
            let others = server.other_diagnoses.iter().map(|(key, r)| (key.clone(), r.resource_version.clone()));
            pods.chain(others).collect()
        };
        for (key, resource_version) in versions {
            self.take(Change::Object { key, resource_version });
        }
        for node in nodes {
            self.take(Change::Node(Box::new(node.clone())));
        }
        for pod in pods {
            self.take(Change::Pod(Box::new(pod.clone())));
        }
        for workload in workloads {
            self.see(workload);
        }
        for source in Source::ALL {
            self.take(Change::ListDone(source));
        }
        self.settle();
    }

    /// Relists the pods only, as after an expired resource version.
    pub fn relist(&mut self, pods: &[PodFacts]) {
        self.take(Change::ListStarted(Source::Pods));
        for pod in pods {
            self.take(Change::Pod(Box::new(pod.clone())));
        }
        self.take(Change::ListDone(Source::Pods));
        self.settle();
    }

    /// Sends a change, which the engine takes in with the next step.
    pub fn take(&mut self, change: Change) {
        self.cluster.see(change);
    }

    pub fn pod(&mut self, pod: &PodFacts) {
        self.take(Change::Pod(Box::new(pod.clone())));
        self.settle();
    }

    pub fn deleted(&mut self, pod: &PodFacts) {
        self.take(Change::PodDeleted(Box::new(pod.clone())));
        self.settle();
    }

    pub fn event(&mut self, event: &EventFacts) {
        self.take(Change::Event(Box::new(event.clone())));
        self.settle();
    }

    pub fn node(&mut self, node: &NodeFacts) {
        self.take(Change::Node(Box::new(node.clone())));
        self.settle();
    }

    pub fn node_deleted(&mut self, name: &str) {
        self.take(Change::NodeDeleted(name.into()));
        self.settle();
    }

    /// Delivers a workload by the watch and by later lookups.
    pub fn workload(&mut self, workload: &WorkloadFacts) {
        self.see(workload);
        self.settle();
    }

    fn see(&mut self, workload: &WorkloadFacts) {
        let result = LookupResult::Workload(Some(Box::new(workload.clone())));
        self.surroundings_mut().results.insert(Lookup::Workload(workload.key.clone()), result);
        self.take(Change::Workload(Box::new(workload.clone())));
    }

    pub fn workload_deleted(&mut self, workload: &WorkloadFacts) {
        self.surroundings_mut().results.remove(&Lookup::Workload(workload.key.clone()));
        self.take(Change::WorkloadDeleted(workload.key.clone()));
        self.settle();
    }

    /// Runs the engine until the clock has advanced.
    pub fn advance(&mut self, seconds: i64) {
        self.settle();
        self.run(Duration::from_secs(seconds.try_into().unwrap()));
        self.now = after(self.now, seconds);
        self.settle();
    }

    /// Runs the engine until nothing is left to do at this time.
    pub fn settle(&mut self) {
        self.run(Duration::from_millis(1));
    }

    fn run(&mut self, time: Duration) {
        let Self { engine, runtime, cluster, now, .. } = self;
        runtime.block_on(async {
            cluster.clock.set(*now);
            let turns = async { while engine.turn().await {} };
            let _ = tokio::time::timeout(time, turns).await;
        });
    }

    /// Like `settle`; `meanwhile` runs during the first write.
    pub fn settle_with(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let held = self.cluster.held_write.clone();
        self.settle_holding(&held, meanwhile);
    }

    /// Like `settle`; `meanwhile` runs during the first deletion.
    pub fn settle_with_deletion(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let held = self.cluster.held_deletion.clone();
        self.settle_holding(&held, meanwhile);
    }

    fn settle_holding(&mut self, held: &Mutex<Option<Hold>>, meanwhile: impl FnOnce(&mut Self)) {
        let (begun, mut has_begun) = oneshot::channel();
        let (release, released) = oneshot::channel();
        *held.lock().unwrap() = Some(Hold { begun, released });
        self.settle();
        has_begun.try_recv().expect("a request is held");
        meanwhile(self);
        self.settle();
        release.send(()).unwrap();
        self.settle();
    }

    /// Returns the diagnosis of a node.
    pub fn node_status(&self, name: &str) -> NodeDiagnosisStatus {
        match &self.server().other_diagnoses[&DiagnosisKey::of_node(name)].object {
            reconcile::Object::Node(_, status) => status.clone(),
            reconcile::Object::Pod(..) | reconcile::Object::Workload(..) => panic!("{name} is a node"),
        }
    }

    /// Returns the diagnosis of a workload such as `deployment-web`.
    pub fn workload_status(&self, name: &str) -> WorkloadDiagnosisStatus {
        let key = workload_object(name);
        let server = self.server();
        let record = server.other_diagnoses.get(&key);
        match &record.unwrap_or_else(|| panic!("{:?}", server.other_diagnoses.keys())).object {
            reconcile::Object::Workload(_, status) => status.clone(),
            reconcile::Object::Pod(..) | reconcile::Object::Node(..) => panic!("{name} is a workload"),
        }
    }

    pub fn status(&self, pod: &str) -> PodDiagnosisStatus {
        self.object(pod).status
    }

    pub fn object(&self, pod: &str) -> Object {
        let key = ObjectKey::new("demo", pod);
        let server = self.server();
        server.objects.get(&key).cloned().unwrap_or_else(|| panic!("no object {pod}: {:?}", server.objects.keys()))
    }

    pub fn state(&self, pod: &str) -> DiagnosisState {
        self.status(pod).head.state
    }

    /// Counts of the entries of each collection in memory.
    pub fn kept(&self) -> Vec<(&'static str, usize)> {
        self.engine.kept().collect()
    }

    /// Returns the Events of pods and nodes so far, such as `Diagnosed OOMKilled`.
    pub fn emitted(&self) -> Vec<String> {
        self.emitted_where(|kind| matches!(kind, "Pod" | "Node"))
    }

    /// Returns the Events of workloads so far.
    pub fn emitted_for_workloads(&self) -> Vec<String> {
        self.emitted_where(|kind| !matches!(kind, "Pod" | "Node"))
    }

    fn emitted_where(&self, of: impl Fn(&str) -> bool) -> Vec<String> {
        let server = self.server();
        let events = server.events.iter().filter(|e| of(&e.regarding.kind));
        events.map(|e| format!("{} {}", e.action.as_str(), e.reason)).collect()
    }
}

impl Server {
    /// All diagnoses in one page.
    fn page(&self) -> Restored {
        Restored { records: self.stored(), notified: self.marks.clone().into_iter().collect(), ..Restored::default() }
    }

    /// Sets or removes an annotation, which changes the version and nothing else. Returns the UID and the version.
    fn mark(&mut self, key: &DiagnosisKey, text: Option<&str>) -> Option<(String, String)> {
        self.version_of(key)?;
        self.version += 1;
        match key.kind {
            DiagnosisKind::Pod => self.objects.get_mut(&key.object)?.version = self.version,
            _ => self.other_diagnoses.get_mut(key)?.resource_version = self.version.to_string(),
        }
        match text {
            Some(text) => drop(self.marks.insert(key.clone(), text.to_owned())),
            None => drop(self.marks.remove(key)),
        }
        self.version_of(key)
    }

    /// The diagnoses, as they are read back.
    fn stored(&self) -> Vec<Record> {
        let pods = self.objects.iter().map(|(key, object)| {
            let key = DiagnosisKey::of_pod(key.clone());
            let status = reconcile::Object::Pod(object.spec.clone(), object.status.clone());
            Record::restored(key, object.uid.clone(), object.version.to_string(), status)
        });
        pods.chain(self.other_diagnoses.values().cloned()).collect()
    }

    /// UID and version of an object.
    fn version_of(&self, key: &DiagnosisKey) -> Option<(String, String)> {
        match key.kind {
            DiagnosisKind::Pod => self.objects.get(&key.object).map(|o| (o.uid.clone(), o.version.to_string())),
            _ => self.other_diagnoses.get(key).map(|record| (record.uid.clone(), record.resource_version.clone())),
        }
    }

    /// Stores an object. Returns its UID and version.
    fn store(&mut self, write: &Write, uid: Option<String>, now: Timestamp) -> (String, String) {
        self.version += 1;
        let version = self.version;
        let uid = uid.unwrap_or_else(|| format!("object-{version}"));
        if let reconcile::Object::Pod(spec, status) = &write.object {
            self.applies += 1;
            let object = Object { uid: uid.clone(), version, spec: spec.clone(), status: status.clone() };
            self.objects.insert(write.key.object.clone(), object);
        } else {
            self.other_applies += 1;
            let last = self.other_diagnoses.get(&write.key);
            let record = Record::after(last, write, uid.clone(), version.to_string(), now);
            self.other_diagnoses.insert(write.key.clone(), record);
        }
        (uid, version.to_string())
    }

    /// Creates an Event, and returns whether it exists.
    fn post(&mut self, event: &Announcement) -> bool {
        if self.no_events {
            self.refused_posts += 1;
        } else if self.events.iter().any(|e| e.key == event.key) {
            self.refused_posts += 1;
            return true;
        } else {
            self.events.push(event.clone());
        }
        !self.no_events
    }

    /// Changes or deletes the diagnosis of a pod as another client would.
    pub fn edit(&mut self, pod: &str, remove: bool) -> Change {
        let key = ObjectKey::new("demo", pod);
        self.version += 1;
        if remove {
            self.objects.remove(&key).unwrap();
            return Change::ObjectDeleted(DiagnosisKey::of_pod(key));
        }
        let object = self.objects.get_mut(&key).unwrap();
        object.version = self.version;
        "edited".clone_into(&mut object.status.head.summary);
        Change::Object { key: DiagnosisKey::of_pod(key), resource_version: self.version.to_string() }
    }

    /// Changes or deletes the diagnosis of a node or workload as another client would.
    pub fn edit_other(&mut self, key: &DiagnosisKey, remove: bool) -> Change {
        self.version += 1;
        if remove {
            self.other_diagnoses.remove(key).unwrap();
            return Change::ObjectDeleted(key.clone());
        }
        let record = self.other_diagnoses.get_mut(key).unwrap();
        record.resource_version = self.version.to_string();
        "edited".clone_into(&mut record.object.head_mut().summary);
        Change::Object { key: key.clone(), resource_version: self.version.to_string() }
    }
}

/// Key of the diagnosis of a workload such as `deployment-web`.
pub fn workload_object(name: &str) -> DiagnosisKey {
    DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new("demo", name) }
}

pub fn dump(text: &str) -> Dump {
    let mut dump = Dump::default();
    dump.read(text);
    assert_eq!(dump.problems, [], "{text}");
    dump
}

/// A pod with one container `app` in this state (flow YAML of a container status), of a Deployment where `workload`.
pub fn pod_of(name: &str, uid: &str, workload: Option<&str>, ready: bool, status: &str) -> PodFacts {
    pod_of_template(name, uid, workload.map(|workload| (workload, "5")), ready, status)
}

/// Like `pod_of`, with a pod template hash.
pub fn pod_of_template(name: &str, uid: &str, workload: Option<(&str, &str)>, ready: bool, status: &str) -> PodFacts {
    let (labels, owner) = workload.map_or_else(Default::default, |(w, hash)| {
        let owner = format!("[{{apiVersion: apps/v1, kind: ReplicaSet, name: {w}-{hash}, uid: rs, controller: true}}]");
        (format!("{{pod-template-hash: '{hash}'}}"), format!(", ownerReferences: {owner}"))
    });
    let labels = if labels.is_empty() { "{}".to_owned() } else { labels };
    let ready = if ready { "'True'" } else { "'False', reason: ContainersNotReady" };
    dump(&format!(
        "kind: Pod
metadata: {{namespace: demo, name: {name}, uid: {uid}, creationTimestamp: '2026-11-21T08:00:00Z', labels: {labels}{owner}}}
spec: {{nodeName: n1, restartPolicy: Always, containers: [{{name: app, image: app:1, resources: {{limits: {{memory: 64Mi}}}}}}]}}
status:
  phase: Running
  conditions: [{{type: PodScheduled, status: 'True'}}, {{type: Initialized, status: 'True'}}, {{type: Ready, status: {ready}, lastTransitionTime: '2026-11-21T08:00:00Z'}}]
  containerStatuses: [{{name: app, {status}}}]
"
    ))
    .pods
    .remove(0)
}

pub fn pod(name: &str, uid: &str, ready: bool, status: &str) -> PodFacts {
    pod_of(name, uid, None, ready, status)
}

pub const HEALTHY: &str = "ready: true, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:00:00Z'}}";

pub fn healthy(name: &str, uid: &str) -> PodFacts {
    pod(name, uid, true, HEALTHY)
}

/// The n-th run has terminated, and the kubelet backs off. Runs terminate each minute from 08:00 on.
pub fn crashed(n: u32, exit: i32, reason: &str) -> String {
    let end = end_of(n, exit, reason);
    format!(
        "ready: false, restartCount: {}, lastState: {{terminated: {end}}}, state: {{waiting: {{reason: CrashLoopBackOff, message: 'back-off 5m0s restarting failed container=app'}}}}",
        n.saturating_sub(1)
    )
}

/// The same state as Kubernetes 1.35 shows it.
pub fn ended(n: u32, exit: i32, reason: &str) -> String {
    format!("ready: false, restartCount: {}, state: {{terminated: {}}}", n.saturating_sub(1), end_of(n, exit, reason))
}

/// The container runs again after its n-th run has terminated.
pub fn running_again(n: u32, exit: i32, reason: &str) -> String {
    let end = end_of(n, exit, reason);
    format!(
        "ready: true, restartCount: {n}, lastState: {{terminated: {end}}}, state: {{running: {{startedAt: '2026-11-21T08:{n:02}:30Z'}}}}"
    )
}

fn end_of(n: u32, exit: i32, reason: &str) -> String {
    let m = n % 60;
    format!(
        "{{exitCode: {exit}, reason: {reason}, startedAt: '2026-11-21T08:{m:02}:00Z', finishedAt: '2026-11-21T08:{m:02}:20Z'}}"
    )
}

pub fn oom(name: &str, uid: &str) -> PodFacts {
    pod(name, uid, false, &crashed(2, 137, "OOMKilled"))
}

pub fn oom_of(workload: &str, name: &str, uid: &str) -> PodFacts {
    pod_of(name, uid, Some(workload), false, &crashed(2, 137, "OOMKilled"))
}

/// Returns an Event about the container `app` of this pod.
pub fn event(pod: &PodFacts, reason: &str, message: &str, time: &str) -> EventFacts {
    dump(&format!(
        "{{kind: Event, metadata: {{name: e, namespace: demo}}, involvedObject: {{kind: Pod, namespace: demo, name: {}, uid: {}, fieldPath: 'spec.containers{{app}}'}}, reason: {reason}, message: '{message}', type: Warning, lastTimestamp: '2026-11-21T{time}Z', count: 1}}",
        pod.key.name, pod.uid
    ))
    .events
    .remove(0)
}

pub fn killing(pod: &PodFacts, time: &str) -> EventFacts {
    event(pod, "Killing", "Container app failed liveness probe, will be restarted", time)
}

pub fn node(name: &str, status: &str, message: &str, since: &str) -> NodeFacts {
    dump(&format!(
        "{{kind: Node, metadata: {{name: {name}, uid: node-{name}, creationTimestamp: '2026-11-20T08:00:00Z'}}, status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '110'}}, conditions: [{{type: Ready, status: '{status}', reason: KubeletX, message: '{message}', lastTransitionTime: '2026-11-21T{since}Z'}}]}}}}"
    ))
    .nodes
    .remove(0)
}

/// The pod as it is deleted, in this phase.
pub fn end_pod(pod: &PodFacts, phase: &str, deletion: &str) -> PodFacts {
    use shindan_core::facts::{Phase, State, Terminated};
    let mut pod = pod.clone();
    pod.deletion = Some(at(deletion));
    pod.phase = match phase {
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => Phase::Running,
    };
    if pod.is_over() {
        for container in &mut pod.containers {
            let end: Terminated = container.last.clone().unwrap();
            let exit_code = if pod.phase == Phase::Succeeded { 0 } else { 143 };
            container.state = State::Terminated(Terminated { exit_code, ..end });
        }
    }
    pod
}

/// Returns an evicted pod of a workload.
pub fn evicted(workload: &str, name: &str, uid: &str) -> PodFacts {
    use shindan_core::facts::Phase;
    let mut pod = pod_of(name, uid, Some(workload), false, HEALTHY);
    pod.phase = Phase::Failed;
    "Evicted".clone_into(&mut pod.reason);
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.".clone_into(&mut pod.message);
    pod.containers[0].state = shindan_core::facts::State::Waiting { reason: String::new(), message: String::new() };
    pod
}

/// Like `evicted`, with the time of its termination.
pub fn evicted_at(workload: &str, name: &str, uid: &str, at: Timestamp) -> PodFacts {
    let mut pod = evicted(workload, name, uid);
    let ready = pod.conditions.iter_mut().find(|condition| condition.kind == "Ready").unwrap();
    ready.last_transition = Some(at);
    pod.created = Some(after(at, -60));
    pod
}

/// Returns a Deployment with these counts of replicas.
pub fn rollout(name: &str, desired: u32, ready: u32) -> WorkloadFacts {
    let unavailable = desired - ready;
    dump(&format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, generation: 1}}, spec: {{replicas: {desired}}}, status: {{observedGeneration: 1, replicas: {desired}, updatedReplicas: {desired}, readyReplicas: {ready}, availableReplicas: {ready}, unavailableReplicas: {unavailable}}}}}"
    ))
    .workloads
    .remove(0)
}

/// Returns the lookup of a Deployment and its result.
pub fn deployment(name: &str, desired: u32, ready: u32) -> (Lookup, LookupResult) {
    let facts = dump(&format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo}}, spec: {{replicas: {desired}}}, status: {{readyReplicas: {ready}}}}}"
    ))
    .workloads
    .remove(0);
    (Lookup::Workload(facts.key.clone()), LookupResult::Workload(Some(Box::new(facts))))
}
