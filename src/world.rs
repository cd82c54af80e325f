//! What is known of the cluster: facts by UID, and which subjects a change concerns.
//!
//! `apply(Change)` is the only way in, and it never waits. A pod is keyed by UID: a StatefulSet's new pod under an old
//! name is a new pod. A pod that is ready and never restarted keeps a few words only; the watch event that makes it
//! unwell brings the rest.

mod about_nodes;
mod about_pods;
mod about_workloads;
mod annotations;
mod brief;
mod custody;
mod events;
mod folds;
mod intake;
mod kept;
mod last_words;
mod ledger;
mod lookups;
mod nodes;
mod outers;
mod owners;
mod packed;
mod pods;
mod reach;
mod records;
mod roll;
mod selection;
mod services;
mod stories;
mod strays;
mod sweeps;
mod takeover;
mod uid;
mod unwell;
mod wishes;
mod workloads;
mod writes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::api::DiagnosisKind;
use crate::diagnosis::Thresholds;
use crate::facts::{
    EventFacts, Looked, NodeFacts, NodeState, ObjectKey, PodFacts, ServiceFacts, Timestamp, Want, Wishes,
    WorkloadFacts, WorkloadKey, WorkloadKind, after,
};
use crate::outbox::{Lane, Subject};
use crate::plan::{DiagnosisKey, Intent, Outer, OuterRecord, Plan, Policy};
use outers::Outers;

pub use annotations::Annotate;
pub use brief::{Brief, OuterBrief};
pub use events::KEPT as EVENTS_KEPT;
pub use records::{Caps, Stored};
pub use selection::Selection;

/// One thing that the cluster told us. `cluster::watch` and `cluster::lookup` make them; nothing else changes the world.
#[derive(Debug)]
pub enum Change {
    /// A list of this kind begins (the first one, or a relist after an expired version).
    ListStarted(Source),
    /// The list is complete: what was known and not named since `ListStarted` is gone (Pods, Nodes, Objects; Events only
    /// merge, an absence removes nothing).
    ListDone(Source),
    Pod(Box<PodFacts>),
    PodDeleted(Box<PodFacts>),
    Node(Box<NodeFacts>),
    NodeDeleted(Arc<str>),
    Event(Box<EventFacts>),
    Workload(Box<WorkloadFacts>),
    Service {
        namespace: Arc<str>,
        service: ServiceFacts,
    },
    ServiceDeleted(ObjectKey),
    WorkloadDeleted(WorkloadKey),
    /// One of our own objects as the API server has it now (from the metadata-only watch).
    Object {
        key: DiagnosisKey,
        resource_version: String,
    },
    ObjectDeleted(DiagnosisKey),
    /// The answer to a diagnosis' question.
    Looked {
        want: Want,
        looked: Looked,
    },
}

/// What is listed and watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    Pods,
    Nodes,
    Events,
    Workloads(WorkloadKind),
    Services,
    /// Our own objects.
    Objects(DiagnosisKind),
}

impl Source {
    pub const ALL: [Self; 12] = [
        Self::Pods,
        Self::Nodes,
        Self::Events,
        Self::Workloads(WorkloadKind::Deployment),
        Self::Workloads(WorkloadKind::StatefulSet),
        Self::Workloads(WorkloadKind::DaemonSet),
        Self::Workloads(WorkloadKind::Job),
        Self::Workloads(WorkloadKind::CronJob),
        Self::Services,
        Self::Objects(DiagnosisKind::Pod),
        Self::Objects(DiagnosisKind::Node),
        Self::Objects(DiagnosisKind::Workload),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Events => "events",
            Self::Workloads(kind) => kind.plural(),
            Self::Services => "services",
            Self::Objects(kind) => kind.plural(),
        }
    }
}

/// Subjects that a change concerns, each with its lane.
pub type Touched = Vec<(Subject, Lane)>;

/// What is to be done for a subject.
#[derive(Debug, Default)]
pub struct Decision {
    pub plan: Plan,
    /// To be looked up; the answers come back as [`Change::Looked`], failures by [`World::not_looked_up`].
    pub wants: Vec<Want>,
    /// Others that are to be looked at because of it.
    pub touched: Touched,
    /// The Event of a pod is folded into its workload's.
    pub folded: bool,
}

impl From<Plan> for Decision {
    fn from(plan: Plan) -> Self {
        Self { plan, ..Self::default() }
    }
}

#[derive(Debug)]
pub struct World {
    pods: pods::Pods,
    nodes: nodes::Nodes,
    events: events::Events,
    lookups: lookups::Lookups,
    workloads: workloads::Workloads,
    records: records::Records,
    node_objects: Outers,
    workload_objects: Outers,
    owners: owners::Owners,
    services: services::Services,
    /// Workloads that are not there any more, while their diagnosis is.
    gone_workloads: HashSet<WorkloadKey>,
    stories: stories::Stories,
    folds: folds::Folds,
    last_words: last_words::LastWords,
    reach: reach::Reach,
    thresholds: Thresholds,
    policy: Policy,
    listed: HashMap<Source, bool>,
    /// When the last of them was, for the first time.
    listed_at: Timestamp,
    /// Namespaces that are being deleted: until then nothing is written there.
    closed: HashMap<Arc<str>, Timestamp>,
    /// Somebody answers what diagnoses want to know, so it is worth waiting for.
    answers_come: bool,
    /// The logs of ended runs may be read.
    reads_logs: bool,
    doubts: takeover::Doubts,
    spared: strays::Spared,
    /// Those of workloads, and of whoever runs the operator.
    wishes: wishes::KnownWishes,
    annotations: annotations::Annotations,
    selection: Selection,
}

/// How long the first diagnosis waits for what decides it, in seconds: the workload of a Failed pod, the claims of one that
/// has no volume.
const ANSWER_WITHIN: i64 = 10;

impl World {
    pub fn new(thresholds: Thresholds, policy: Policy, caps: Caps) -> Self {
        Self {
            pods: pods::Pods::default(),
            nodes: nodes::Nodes::default(),
            events: events::Events::default(),
            lookups: lookups::Lookups::default(),
            workloads: workloads::Workloads::default(),
            records: records::Records::new(caps),
            node_objects: Outers::default(),
            workload_objects: Outers::default(),
            owners: owners::Owners::default(),
            services: services::Services::default(),
            gone_workloads: HashSet::new(),
            stories: stories::Stories::default(),
            folds: folds::Folds::default(),
            last_words: last_words::LastWords::default(),
            reach: reach::Reach::default(),
            thresholds,
            policy,
            listed: HashMap::new(),
            listed_at: Timestamp::UNIX_EPOCH,
            closed: HashMap::new(),
            answers_come: false,
            reads_logs: false,
            doubts: takeover::Doubts::default(),
            spared: strays::Spared::default(),
            wishes: wishes::KnownWishes::default(),
            annotations: annotations::Annotations::default(),
            selection: Selection::default(),
        }
    }

    /// From now on the wants of diagnoses are looked up and come back as changes.
    pub fn await_answers(&mut self) {
        self.answers_come = true;
    }

    /// From now on the logs of ended runs are read where a diagnosis asks for them.
    pub fn read_logs(&mut self) {
        self.reads_logs = true;
    }

    /// Nodes are never listed: each is unknown, and nothing waits for them.
    pub fn do_without_nodes(&mut self) {
        self.listed.insert(Source::Nodes, true);
    }

    /// These hold for all that is diagnosed.
    pub fn respect(&mut self, wishes: Wishes) {
        self.wishes.hold_for_all(wishes);
    }

    /// Only the pods of some namespaces are told: what is left of a node cannot be counted.
    pub fn know_some_pods_only(&mut self) {
        self.nodes.know_some_pods_only();
    }

    /// Whether this kind has been listed completely once.
    pub fn is_listed(&self, source: Source) -> bool {
        self.listed.get(&source).copied().unwrap_or(false)
    }

    /// Takes back what an earlier run of the operator (or an earlier leader) wrote.
    pub fn restore(&mut self, stored: Vec<Stored>) -> Touched {
        let keys: Vec<ObjectKey> = stored.into_iter().map(|s| self.records.restore(s)).collect();
        let told = keys.iter().filter(|key| !self.selection.excludes(&key.namespace));
        for record in told.filter_map(|key| self.records.brief(key)) {
            self.workloads.set_failing(record);
            self.reach.add(record);
        }
        keys.into_iter().map(|key| (Subject::Object(key), Lane::Resync)).collect()
    }

    /// The same for the diagnoses of nodes and workloads.
    pub fn restore_outer(&mut self, records: Vec<OuterRecord>) -> Touched {
        let mut touched = Vec::new();
        for record in records {
            touched.push((outers::subject_of(&record.object, &record.key), Lane::Resync));
            match &record.object {
                Outer::Node(spec, status) => self.nodes.restore(&spec.node_name, about_nodes::history_of(status)),
                Outer::Workload(_, status) => {
                    self.restore_workload(&record, status);
                    self.reach.set_refused(&record);
                }
            }
            if let Some(outers) = self.outers(record.key.kind) {
                outers.restore(record);
            }
        }
        touched
    }

    /// The diagnoses of nodes or of workloads; `None` for those of pods, which live otherwise.
    fn outers(&mut self, kind: DiagnosisKind) -> Option<&mut Outers> {
        match kind {
            DiagnosisKind::Node => Some(&mut self.node_objects),
            DiagnosisKind::Workload => Some(&mut self.workload_objects),
            DiagnosisKind::Pod => None,
        }
    }

    /// Works out what is to be done for a subject now.
    pub fn decide(&mut self, subject: &Subject, now: Timestamp) -> Decision {
        let key = match subject {
            Subject::Pod(uid) => self.pods.place(uid).filter(|_| self.pods.is_full(uid)).map(pods::Place::key),
            Subject::Object(key) => Some(key.clone()),
            Subject::Stray { key, .. } if key.kind == DiagnosisKind::Pod => Some(key.object.clone()),
            Subject::Node(_)
            | Subject::Workload(_)
            | Subject::Services(_)
            | Subject::Annotation(_)
            | Subject::Stray { .. } => None,
        };
        // A pod and its object are two subjects of one object: they take turns.
        if key.as_ref().is_some_and(|key| self.records.is_writing(key)) {
            return Plan { intent: None, wake: Some(after(now, 1)) }.into();
        }
        if let Some(key) = key
            && let Some(open) = self.closed_until(&DiagnosisKey::of_pod(key), now)
        {
            return Plan { intent: None, wake: Some(open) }.into();
        }
        let mut decision = match subject {
            Subject::Pod(uid) => self.decide_pod(uid, now),
            Subject::Object(key) if self.went_with_its_pod(key) => {
                let touched = self.removed(&DiagnosisKey::of_pod(key.clone()));
                Decision { touched, ..Decision::default() }
            }
            Subject::Object(key) if self.is_excluded(&key.namespace) => self.leave_out_object(key).into(),
            Subject::Object(key) => {
                let plan = self.decide_object(key, now);
                self.with_its_pod(key, plan, now)
            }
            Subject::Node(name) => self.decide_node(name, now),
            Subject::Workload(key) => self.decide_workload(key, now),
            Subject::Services(namespace) => self.decide_services(namespace, now),
            Subject::Annotation(bearer) => self.decide_annotation(bearer, now).into(),
            Subject::Stray { key, resource_version } => self.decide_stray(key, resource_version).into(),
        };
        // Before the caps: what gets no object is not to be told more often for that.
        decision.folded = !self.records.is_told(&decision.plan) && self.fold(&mut decision.plan, now);
        let (plan, touched) = self.records.within_caps(decision.plan, decision.folded);
        decision.touched.extend(touched);
        decision.plan = plan;
        match &decision.plan.intent {
            Some(Intent::Apply(write)) => self.records.begin_write(&write.key, now),
            Some(Intent::ApplyOuter(write)) => self.begin_write(&write.key, now),
            Some(Intent::Delete { key, .. }) => self.begin_write(key, now),
            Some(Intent::Announce(_) | Intent::Annotate(_)) | None => {}
        }
        decision
    }

    /// What a diagnosis wanted to know could not be read: its pods ask again later.
    pub fn not_looked_up(&mut self, want: &Want) -> Touched {
        let mut touched: Touched = self.lookups.failed(want).into_iter().map(|asker| (asker, Lane::Resync)).collect();
        if let Want::PodsOn(node) = want {
            touched.push((Subject::Node(node.clone()), Lane::Resync));
        }
        touched
    }

    /// The diagnosis of a node or of a workload, as last acknowledged.
    pub fn outer(&self, key: &DiagnosisKey) -> Option<&OuterBrief> {
        match key.kind {
            DiagnosisKind::Node => self.node_objects.brief(key),
            DiagnosisKind::Workload => self.workload_objects.brief(key),
            DiagnosisKind::Pod => None,
        }
    }

    /// The Services of each namespace, all nodes, and all workloads that may have something to tell.
    pub fn outer_subjects(&self) -> Vec<Subject> {
        let services = self.all_served().into_iter().map(|(subject, _)| subject);
        let nodes = self.nodes.all().keys().map(|name| Subject::Node(name.clone()));
        let failing = self.workloads.that_fail().filter(|key| key.watched_kind().is_some()).cloned();
        let unsettled = self.all_unsettled().into_iter().map(|(subject, _)| subject);
        let all: BTreeSet<Subject> =
            services.chain(nodes).chain(failing.map(Subject::Workload)).chain(unsettled).collect();
        all.into_iter().collect()
    }

    /// All diagnoses of nodes and workloads, as last acknowledged.
    pub fn outers_acknowledged(&self) -> impl Iterator<Item = (&DiagnosisKey, &OuterBrief)> {
        self.node_objects.all().chain(self.workload_objects.all())
    }

    /// The diagnosis of a pod, as last acknowledged.
    pub fn record(&self, key: &ObjectKey) -> Option<&Brief> {
        self.records.brief(key)
    }

    /// All diagnoses of pods, as last acknowledged.
    pub fn records(&self) -> impl Iterator<Item = &Brief> {
        self.records.all()
    }

    pub fn pods_watched(&self) -> usize {
        self.pods.len()
    }

    /// UIDs of the pods with all their facts: those that are not well, or were not lately.
    pub fn unwell(&self) -> impl Iterator<Item = Arc<str>> {
        self.pods.all_unwell()
    }

    pub fn nodes(&self) -> &BTreeMap<Arc<str>, NodeState> {
        self.nodes.all()
    }

    /// Failures that got an Event but no object, because the namespace is full of Active ones.
    pub fn beyond_caps(&self) -> usize {
        self.records.beyond_caps()
    }
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
