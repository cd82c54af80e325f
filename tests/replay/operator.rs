//! An operator without a network, and the pods that it sees.

use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};

use shindan::api::{
    DiagnosisKind, DiagnosisState, NodeDiagnosisStatus, PodDiagnosisSpec, PodDiagnosisStatus, WorkloadDiagnosisStatus,
};
use shindan::cluster::wire::Dump;
use shindan::diagnosis::Thresholds;
use shindan::facts::{
    ClaimsFacts, EventFacts, Looked, NodeFacts, ObjectKey, PodFacts, ReachedFacts, Timestamp, Want, WorkloadFacts,
    after,
};
use shindan::outbox::{Lane, Outbox, Subject};
use shindan::plan::{Annotation, Announcement, DiagnosisKey, Intent, Outer, OuterRecord, Policy};
use shindan::world::{Caps, Change, Source, Stored, Touched, World};

#[derive(Debug, Clone)]
pub struct Object {
    pub uid: String,
    pub version: u64,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
}

/// What the API server holds, and what was asked of it.
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
    /// Annotations that were written, in their order.
    pub annotations: Vec<Annotation>,
    /// They are refused while this is set.
    pub no_annotations: bool,
    /// Diagnoses of nodes and workloads.
    pub outers: BTreeMap<DiagnosisKey, OuterRecord>,
    /// Writes of those.
    pub outer_applies: usize,
    version: u64,
}

pub struct Operator {
    pub world: World,
    pub server: Server,
    pub now: Timestamp,
    pub answers: HashMap<Want, Looked>,
    /// What the log of any run that ended holds; refused where absent.
    pub log: Option<&'static str>,
    /// Logs that were asked for.
    pub logs_read: usize,
    /// Events that were folded, as the metric counts them.
    pub folded: usize,
    /// What may not be read.
    pub refused: HashSet<Want>,
    /// Another replica leads: it sees everything, and decides nothing.
    following: bool,
    outbox: Outbox,
    /// Events that could not be posted with their write.
    unposted: Vec<(DiagnosisKey, u32, Announcement)>,
}

pub fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().unwrap()
}

impl Operator {
    /// One that has listed an empty cluster at 09:00.
    pub fn idle() -> Self {
        let mut operator = Self::new(Caps::default(), Server::default(), at("09:00:00"));
        operator.list(&[], &[]);
        operator
    }

    /// One that starts in a cluster with these objects, and has listed nothing yet.
    pub fn new(caps: Caps, server: Server, now: Timestamp) -> Self {
        let mut world = World::new(Thresholds::default(), Policy::default(), caps);
        world.await_answers();
        let mut operator = Self {
            world,
            server,
            now,
            answers: HashMap::new(),
            refused: HashSet::new(),
            log: None,
            logs_read: 0,
            folded: 0,
            following: false,
            outbox: Outbox::default(),
            unposted: Vec::new(),
        };
        let mut touched = operator.world.restore(operator.server.stored());
        touched.extend(operator.world.restore_outer(operator.server.outers.values().cloned().collect()));
        for (subject, lane) in touched {
            operator.outbox.push(subject, lane);
        }
        operator
    }

    /// From now on another replica leads.
    pub fn follow(&mut self) {
        self.following = true;
        self.outbox = Outbox::default();
    }

    /// The other one has died, and left the API server like this; `meanwhile` is what the watch of our objects says while
    /// they are read back.
    pub fn take_over(&mut self, server: Server, meanwhile: impl FnOnce(&mut Self)) {
        self.server = server;
        self.following = false;
        self.outbox = Outbox::default();
        self.world.begin_takeover();
        let stored = self.server.stored();
        meanwhile(self);
        let mut touched = self.world.restore(stored);
        touched.extend(self.world.restore_outer(self.server.outers.values().cloned().collect()));
        touched.extend(self.world.took_over(self.now));
        for (subject, lane) in touched {
            self.outbox.push(subject, lane);
        }
        self.settle();
    }

    /// The same cluster under a new process.
    pub fn restarted(self, later: i64) -> Self {
        Self::new(Caps::default(), self.server, after(self.now, later))
    }

    /// Lists everything: our own objects as they are, these nodes and these pods.
    pub fn list(&mut self, nodes: &[NodeFacts], pods: &[PodFacts]) {
        self.list_with(nodes, pods, &[]);
    }

    /// The same with workloads.
    pub fn list_with(&mut self, nodes: &[NodeFacts], pods: &[PodFacts], workloads: &[WorkloadFacts]) {
        for source in Source::ALL {
            self.take(Change::ListStarted(source));
        }
        for (key, object) in self.server.objects.clone() {
            let key = DiagnosisKey::of_pod(key);
            self.take(Change::Object { key, resource_version: object.version.to_string() });
        }
        for (key, record) in self.server.outers.clone() {
            self.take(Change::Object { key, resource_version: record.resource_version });
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

    /// A relist of the pods alone, as after an expired version.
    pub fn relist(&mut self, pods: &[PodFacts]) {
        self.take(Change::ListStarted(Source::Pods));
        for pod in pods {
            self.take(Change::Pod(Box::new(pod.clone())));
        }
        self.take(Change::ListDone(Source::Pods));
        self.settle();
    }

    pub fn take(&mut self, change: Change) {
        for (subject, lane) in self.world.apply(change, self.now).into_iter().filter(|_| !self.following) {
            self.outbox.push(subject, lane);
        }
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

    /// The watch and lookups tell of a workload as it is now.
    pub fn workload(&mut self, workload: &WorkloadFacts) {
        self.see(workload);
        self.settle();
    }

    fn see(&mut self, workload: &WorkloadFacts) {
        let looked = Looked::Workload(Some(Box::new(workload.clone())));
        self.answers.insert(Want::Workload(workload.key.clone()), looked);
        self.take(Change::Workload(Box::new(workload.clone())));
    }

    pub fn workload_deleted(&mut self, workload: &WorkloadFacts) {
        self.answers.remove(&Want::Workload(workload.key.clone()));
        self.take(Change::WorkloadDeleted(workload.key.clone()));
        self.settle();
    }

    /// Lets time pass, timer by timer.
    pub fn advance(&mut self, seconds: i64) {
        let end = after(self.now, seconds);
        while let Some(next) = self.outbox.next_wake().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.settle();
        }
        self.now = end;
        self.settle();
        self.post_again();
    }

    /// What could not be posted with its write.
    fn post_again(&mut self) {
        for (key, transition, event) in std::mem::take(&mut self.unposted) {
            if self.server.post(&event) {
                self.world.announced(&key, transition);
            } else {
                self.unposted.push((key, transition, event));
            }
        }
    }

    /// Works until nothing waits.
    pub fn settle(&mut self) {
        self.settle_with(|_| {});
    }

    /// The same; `meanwhile` happens while the first write is under way.
    pub fn settle_with(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let mut meanwhile = Some(meanwhile);
        let mut turns = 0;
        while let Some((subject, _)) = self.outbox.pop(Lane::Resync, self.now) {
            turns += 1;
            assert!(turns < 10_000, "it goes round in circles over {subject:?}");
            let decision = self.world.decide(&subject, self.now);
            self.folded += usize::from(decision.folded);
            for (other, lane) in decision.touched {
                self.outbox.push(other, lane);
            }
            if let Some(wake) = decision.plan.wake {
                self.outbox.wake_at(subject.clone(), wake);
            }
            for want in decision.wants {
                if matches!(want, Want::Log(_)) {
                    self.logs_read += 1;
                    let Some(log) = self.log else {
                        let touched = self.world.not_looked_up(&want);
                        touched.into_iter().for_each(|(subject, lane)| self.outbox.push(subject, lane));
                        continue;
                    };
                    self.take(Change::Looked { want, looked: Looked::Log(log.into()) });
                    continue;
                }
                self.server.lookups += 1;
                if self.refused.contains(&want) {
                    for (subject, lane) in self.world.not_looked_up(&want) {
                        self.outbox.push(subject, lane);
                    }
                    continue;
                }
                let looked = self.answers.get(&want).cloned().unwrap_or_else(|| match &want {
                    Want::Workload(_) => Looked::Workload(None),
                    Want::Services(_) => Looked::Services(Vec::new()),
                    Want::Reached(_) => Looked::Reached(ReachedFacts::default()),
                    Want::PodsOn(_) | Want::Log(_) => Looked::Pods(Vec::new()),
                    Want::Claims(_) => Looked::Claims(ClaimsFacts::default()),
                });
                self.take(Change::Looked { want, looked });
            }
            match decision.plan.intent {
                Some(intent) => {
                    if let Some(meanwhile) = meanwhile.take() {
                        meanwhile(self);
                    }
                    self.publish(&subject, intent);
                }
                None => self.outbox.done(&subject),
            }
        }
    }

    fn publish(&mut self, subject: &Subject, intent: Intent) {
        match intent {
            Intent::Apply(write) => {
                let known = self.server.objects.get(&write.key);
                let theirs = known.map(|o| o.version.to_string());
                if write.resource_version.is_some() && write.resource_version != theirs {
                    let current = known.map(|o| (o.uid.clone(), o.version.to_string()));
                    self.server.conflicts += 1;
                    let key = DiagnosisKey::of_pod(write.key.clone());
                    let mut touched = self.world.not_written(&key);
                    touched.extend(self.world.conflicted(&key, current));
                    for (subject, lane) in touched {
                        self.outbox.push(subject, lane);
                    }
                    self.outbox.retry(subject, self.now, None);
                    return;
                }
                self.server.applies += 1;
                self.server.version += 1;
                let version = self.server.version;
                let uid = known.map_or_else(|| format!("object-{version}"), |o| o.uid.clone());
                let object =
                    Object { uid: uid.clone(), version, spec: write.spec.clone(), status: write.status.clone() };
                self.server.objects.insert(write.key.clone(), object);
                let key = DiagnosisKey::of_pod(write.key.clone());
                // The watch is quicker than the answer.
                self.take(Change::Object { key: key.clone(), resource_version: version.to_string() });
                let touched = self.world.acknowledged(&write, uid, version.to_string(), self.now);
                self.wrote(key, write.status.transition, write.announcement, touched);
            }
            Intent::ApplyOuter(write) => {
                let known = self.server.outers.get(&write.key);
                let theirs = known.map(|record| record.resource_version.clone());
                if write.resource_version.is_some() && write.resource_version != theirs {
                    let current = known.map(|record| (record.uid.clone(), record.resource_version.clone()));
                    self.server.conflicts += 1;
                    let mut touched = self.world.not_written(&write.key);
                    touched.extend(self.world.conflicted(&write.key, current));
                    for (subject, lane) in touched {
                        self.outbox.push(subject, lane);
                    }
                    self.outbox.retry(subject, self.now, None);
                    return;
                }
                self.server.outer_applies += 1;
                self.server.version += 1;
                let version = self.server.version.to_string();
                let uid = format!("object-of-{}", write.key.object.name);
                let record =
                    OuterRecord::after(self.server.outers.get(&write.key), &write, uid, version.clone(), self.now);
                let (uid, transition) = (record.uid.clone(), record.object.head().transition);
                self.server.outers.insert(write.key.clone(), record);
                self.take(Change::Object { key: write.key.clone(), resource_version: version.clone() });
                let touched = self.world.outer_acknowledged(&write, uid, version, self.now);
                self.wrote(write.key, transition, write.announcement, touched);
            }
            Intent::Delete { key, .. } => {
                self.server.deletes += 1;
                self.server.objects.remove(&key.object);
                self.server.outers.remove(&key);
                self.take(Change::ObjectDeleted(key.clone()));
                let touched = self.world.removed(&key);
                self.push(touched);
            }
            Intent::Announce(event) => {
                if !self.server.post(&event) {
                    self.outbox.retry(subject, self.now, None);
                    return;
                }
                match subject {
                    Subject::Node(name) => self.world.outer_owed_is_there(&DiagnosisKey::of_node(name)),
                    Subject::Workload(key) => self.world.outer_owed_is_there(&DiagnosisKey::of_workload(key)),
                    Subject::Object(key) => self.world.owed_is_there(key, &event.key),
                    Subject::Pod(uid) => self.world.announced_without_object(uid),
                    Subject::Services(_) | Subject::Annotation(_) | Subject::Stray { .. } => {}
                }
            }
            Intent::Annotate(annotation) => {
                if self.server.no_annotations {
                    self.outbox.retry(subject, self.now, None);
                    return;
                }
                self.server.annotations.push(*annotation.clone());
                let touched = self.world.annotated(subject, &annotation, self.now);
                self.push(touched);
            }
        }
        self.outbox.done(subject);
    }

    fn push(&mut self, touched: Touched) {
        for (subject, lane) in touched {
            self.outbox.push(subject, lane);
        }
    }

    /// A write is acknowledged; its Event is posted after it.
    fn wrote(&mut self, key: DiagnosisKey, transition: u32, event: Option<Announcement>, touched: Touched) {
        for (subject, lane) in touched {
            self.outbox.push(subject, lane);
        }
        match event {
            Some(event) if !self.server.post(&event) => self.unposted.push((key, transition, event)),
            _ => self.world.announced(&key, transition),
        }
    }

    /// The diagnosis of a node.
    pub fn node_status(&self, name: &str) -> &NodeDiagnosisStatus {
        match &self.server.outers[&DiagnosisKey::of_node(name)].object {
            Outer::Node(_, status) => status,
            Outer::Workload(..) => panic!("{name} is a node"),
        }
    }

    /// The diagnosis of a workload: `deployment-web`.
    pub fn workload_status(&self, name: &str) -> &WorkloadDiagnosisStatus {
        let key = workload_object(name);
        match &self.server.outers.get(&key).unwrap_or_else(|| panic!("{:?}", self.server.outers.keys())).object {
            Outer::Workload(_, status) => status,
            Outer::Node(..) => panic!("{name} is a workload"),
        }
    }

    pub fn status(&self, pod: &str) -> &PodDiagnosisStatus {
        &self.object(pod).status
    }

    pub fn object(&self, pod: &str) -> &Object {
        let key = ObjectKey::new("demo", pod);
        self.server.objects.get(&key).unwrap_or_else(|| panic!("no object {pod}: {:?}", self.server.objects.keys()))
    }

    pub fn state(&self, pod: &str) -> DiagnosisState {
        self.status(pod).state
    }

    /// Entries of everything that is kept.
    pub fn kept(&self) -> Vec<(&'static str, usize)> {
        self.world.kept().into_iter().chain([("outbox", self.outbox.kept())]).collect()
    }

    /// `Diagnosed OOMKilled` and so on, of all Events of pods and nodes so far.
    pub fn told(&self) -> Vec<String> {
        self.told_where(|kind| matches!(kind, "Pod" | "Node"))
    }

    /// The same, of workloads.
    pub fn told_of_workloads(&self) -> Vec<String> {
        self.told_where(|kind| !matches!(kind, "Pod" | "Node"))
    }

    fn told_where(&self, of: impl Fn(&str) -> bool) -> Vec<String> {
        let events = self.server.events.iter().filter(|e| of(&e.regarding.kind));
        events.map(|e| format!("{} {}", e.action.as_str(), e.reason)).collect()
    }
}

impl Server {
    /// The diagnoses of pods, as they are read back.
    fn stored(&self) -> Vec<Stored> {
        let stored = self.objects.iter().map(|(key, object)| Stored {
            key: key.clone(),
            uid: object.uid.clone(),
            resource_version: object.version.to_string(),
            spec: object.spec.clone(),
            status: object.status.clone(),
        });
        stored.collect()
    }

    /// Whether the Event is there now.
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

    /// Somebody else changes or deletes an object.
    pub fn meddle(&mut self, pod: &str, remove: bool) -> Change {
        let key = ObjectKey::new("demo", pod);
        self.version += 1;
        if remove {
            self.objects.remove(&key).unwrap();
            return Change::ObjectDeleted(DiagnosisKey::of_pod(key));
        }
        let object = self.objects.get_mut(&key).unwrap();
        object.version = self.version;
        "meddled".clone_into(&mut object.status.summary);
        Change::Object { key: DiagnosisKey::of_pod(key), resource_version: self.version.to_string() }
    }

    /// The same of the diagnosis of a node or a workload.
    pub fn meddle_outer(&mut self, key: &DiagnosisKey, remove: bool) -> Change {
        self.version += 1;
        if remove {
            self.outers.remove(key).unwrap();
            return Change::ObjectDeleted(key.clone());
        }
        let record = self.outers.get_mut(key).unwrap();
        record.resource_version = self.version.to_string();
        match &mut record.object {
            Outer::Node(_, status) => "meddled".clone_into(&mut status.head.summary),
            Outer::Workload(_, status) => "meddled".clone_into(&mut status.head.summary),
        }
        Change::Object { key: key.clone(), resource_version: self.version.to_string() }
    }
}

/// The object of a workload: `deployment-web`.
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

/// The same; of this template of the Deployment.
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

pub const WELL: &str = "ready: true, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:00:00Z'}}";

pub fn well(name: &str, uid: &str) -> PodFacts {
    pod(name, uid, true, WELL)
}

/// The n-th run has ended, and the kubelet backs off. Runs end each minute from 08:00 on.
pub fn crashed(n: u32, exit: i32, reason: &str) -> String {
    let end = end_of(n, exit, reason);
    format!(
        "ready: false, restartCount: {}, lastState: {{terminated: {end}}}, state: {{waiting: {{reason: CrashLoopBackOff, message: 'back-off 5m0s restarting failed container=app'}}}}",
        n.saturating_sub(1)
    )
}

/// The same moment as Kubernetes 1.35 shows it.
pub fn ended(n: u32, exit: i32, reason: &str) -> String {
    format!("ready: false, restartCount: {}, state: {{terminated: {}}}", n.saturating_sub(1), end_of(n, exit, reason))
}

/// After its n-th run has ended, the container runs again.
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

/// An Event about the container `app` of this pod.
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
    use shindan::facts::{Phase, State, Terminated};
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

/// What is left of an evicted pod of a workload.
pub fn evicted(workload: &str, name: &str, uid: &str) -> PodFacts {
    use shindan::facts::Phase;
    let mut pod = pod_of(name, uid, Some(workload), false, WELL);
    pod.phase = Phase::Failed;
    "Evicted".clone_into(&mut pod.reason);
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.".clone_into(&mut pod.message);
    pod.containers[0].state = shindan::facts::State::Waiting { reason: String::new(), message: String::new() };
    pod
}

/// The same; it ended then.
pub fn evicted_at(workload: &str, name: &str, uid: &str, at: Timestamp) -> PodFacts {
    let mut pod = evicted(workload, name, uid);
    let ready = pod.conditions.iter_mut().find(|condition| condition.kind == "Ready").unwrap();
    ready.last_transition = Some(at);
    pod.created = Some(after(at, -60));
    pod
}

/// A Deployment of so many pods, so many of which are ready.
pub fn rollout(name: &str, desired: u32, ready: u32) -> WorkloadFacts {
    let unavailable = desired - ready;
    dump(&format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, generation: 1}}, spec: {{replicas: {desired}}}, status: {{observedGeneration: 1, replicas: {desired}, updatedReplicas: {desired}, readyReplicas: {ready}, availableReplicas: {ready}, unavailableReplicas: {unavailable}}}}}"
    ))
    .workloads
    .remove(0)
}

/// A Deployment as a lookup finds it.
pub fn deployment(name: &str, desired: u32, ready: u32) -> (Want, Looked) {
    let facts = dump(&format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo}}, spec: {{replicas: {desired}}}, status: {{readyReplicas: {ready}}}}}"
    ))
    .workloads
    .remove(0);
    (Want::Workload(facts.key.clone()), Looked::Workload(Some(Box::new(facts))))
}
