//! What is known of the cluster: facts by UID, and which subjects a change concerns.
//!
//! `apply(Change)` is the only way in, and it never waits. A pod is keyed by UID: a StatefulSet's new pod under an old
//! name is a new pod. A pod that is ready and never restarted keeps a few words only; the watch event that makes it
//! unwell brings the rest.

mod about_nodes;
mod about_workloads;
mod annotations;
mod brief;
mod custody;
mod events;
mod folds;
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

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::api::{DiagnosisKind, DiagnosisState, WorkloadDiagnosisStatus};
use crate::diagnosis::{Case, Health, Ledger, Thresholds, diagnose};
use crate::facts::{
    EventFacts, Looked, NodeFacts, NodeState, ObjectKey, Phase, PodFacts, ServiceFacts, Surroundings, Timestamp, Want,
    Wishes, WorkloadFacts, WorkloadKey, WorkloadKind, after,
};
use crate::outbox::{Lane, Subject};
use crate::plan::{self, Bearer, DiagnosisKey, Intent, Outer, OuterRecord, OuterWrite, Plan, Policy};
use outers::Outers;
use unwell::Full;

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
/// How long nothing is written in a namespace that refused a write because it is going, in seconds.
const CLOSED_FOR: i64 = 60;

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

    /// Takes in what the cluster said, and tells whom it concerns.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Touched {
        let Some(change) = self.put_off(change) else { return Vec::new() };
        match change {
            Change::ListStarted(source) => {
                match source {
                    Source::Pods => self.pods.begin_list(),
                    Source::Nodes => self.nodes.begin_list(),
                    Source::Objects(kind) => match self.outers(kind) {
                        Some(outers) => outers.begin_list(),
                        None => self.records.begin_list(),
                    },
                    Source::Workloads(kind) => {
                        let known = self.workload_objects.workloads().chain(self.wishes.workloads());
                        let known = known.chain(self.annotations.workloads());
                        let known = known.filter(|key| key.watched_kind() == Some(kind));
                        self.owners.begin_list(kind, known);
                    }
                    Source::Services => self.services.begin_list(),
                    Source::Events => {}
                }
                Vec::new()
            }
            Change::ListDone(source) => self.list_done(source, now),
            Change::Pod(pod) => self.pod(*pod, now),
            Change::PodDeleted(pod) => self.pod_deleted(&pod.uid, now),
            Change::Workload(workload) => self.workload(*workload, now),
            Change::Service { namespace, service } => self.service(&namespace, service),
            Change::ServiceDeleted(key) => self.service_deleted(&key),
            Change::WorkloadDeleted(key) => self.workload_deleted(&key, now),
            Change::Node(node) => self.node(*node, now),
            Change::NodeDeleted(name) => self.node_deleted(&name),
            Change::Event(event) => self.event(*event, now),
            Change::Object { key, resource_version } => {
                let mut touched = match self.outers(key.kind) {
                    Some(outers) => outers.seen(&key, &resource_version),
                    None => self.records.seen(&key.object, &resource_version),
                };
                touched.extend(self.stray(key, resource_version));
                touched
            }
            Change::ObjectDeleted(key) => {
                self.forget_burial(&key);
                self.spared.forget(&key);
                match self.outers(key.kind) {
                    Some(outers) => outers.deleted(&key),
                    None => self.records.deleted(&key.object),
                }
            }
            Change::Looked { looked: Looked::Pods(pods), .. } => {
                // What was deleted since is not to come back, and what the watch told in full is newer than this.
                let known = pods.into_iter().filter(|pod| self.pods.is_slim(&pod.uid)).collect::<Vec<_>>();
                known.into_iter().flat_map(|pod| self.pod(pod, now)).collect()
            }
            // Nobody asks any more. (Offline the answers come before the questions.)
            Change::Looked { want, .. } if self.answers_come && !self.lookups.is_asked(&want) => Vec::new(),
            Change::Looked { want, looked } => {
                let asked = self.lookups.answered(want, looked, now);
                asked.into_iter().map(|asker| (asker, Lane::Change)).collect()
            }
        }
    }

    fn list_done(&mut self, source: Source, now: Timestamp) -> Touched {
        let first = self.listed.insert(source, true).is_none();
        if first {
            self.listed_at = now;
        }
        let mut touched = self.listed(source, first, now);
        if first {
            touched.extend(self.all_annotations());
        }
        touched
    }

    fn listed(&mut self, source: Source, first: bool, now: Timestamp) -> Touched {
        match source {
            Source::Pods => {
                let missing = self.pods.end_list();
                let mut touched: Touched = missing.iter().flat_map(|uid| self.pod_deleted(uid, now)).collect();
                self.events.limit_strangers();
                if first {
                    // Diagnoses whose pods vanished while nobody watched.
                    let orphans = self.records.active().filter(|r| !self.pods.contains(&r.pod_uid));
                    touched.extend(orphans.map(|r| (Subject::Object(r.key.clone()), Lane::Resync)));
                    touched.extend(self.all_unsettled());
                }
                touched
            }
            Source::Nodes => {
                let missing = self.nodes.end_list();
                missing.iter().flat_map(|name| self.node_deleted(name)).collect()
            }
            Source::Objects(kind) => {
                let mut touched = match self.outers(kind) {
                    Some(outers) => outers.end_list(),
                    None => self.records.end_list(),
                };
                match kind {
                    DiagnosisKind::Node if first => {
                        touched.extend(self.nodes.all().keys().map(|name| (Subject::Node(name.clone()), Lane::Resync)));
                    }
                    DiagnosisKind::Workload if first => touched.extend(self.all_unsettled()),
                    _ => {}
                }
                touched
            }
            Source::Workloads(kind) => {
                let missing = self.owners.end_list(kind);
                let mut touched: Touched = missing.iter().flat_map(|key| self.workload_deleted(key, now)).collect();
                if first {
                    touched.extend(self.all_unsettled());
                    touched.extend(self.all_served());
                }
                touched
            }
            Source::Services => {
                let missing = self.services.end_list();
                let mut touched: Touched = missing.iter().flat_map(|key| self.service_deleted(key)).collect();
                touched.extend(self.all_served());
                touched
            }
            Source::Events => {
                self.events.forget_old(now);
                Vec::new()
            }
        }
    }

    fn pod(&mut self, mut facts: PodFacts, now: Timestamp) -> Touched {
        let (uid, key) = (facts.uid.clone(), facts.key.clone());
        let annotation = self.annotation_seen(Bearer::Pod(uid.clone()), &uid, facts.carried.take());
        let at_start = !self.is_listed(Source::Pods);
        if let Some(static_uid) = &facts.static_uid {
            self.events.adopt(static_uid, &facts, now);
        }
        if facts.deletion.is_some() {
            self.hear_last_words(&uid, now);
        }
        let recorded = self.records.brief(&facts.key).filter(|r| r.is_active());
        // A write under way may be the first of a diagnosis.
        let is_written = recorded.is_some() || self.records.is_writing(&facts.key);
        let stranded = facts.node_name.as_ref().and_then(|n| self.nodes.get(n)).is_some_and(|n| !n.facts.is_ready());
        let keep = is_written || stranded || self.events.any_kill_of(&uid);
        let past = if self.pods.is_full(&uid) { Ledger::default() } else { self.records.history(&facts.key, &uid) };
        let known_failing = recorded.is_some_and(|r| *r.pod_uid == *uid);
        let job = crate::diagnosis::immediate_workload(&facts).filter(|own| &*own.kind == "Job");
        let is_thrown_out = !at_start && facts.phase == Phase::Failed && !facts.reason.is_empty();
        let top = if is_thrown_out { crate::diagnosis::top_workload(&facts, None) } else { None };
        let change = self.pods.put(facts, keep, past, at_start, now);
        if let Some(top) = top.filter(|_| change.has_ended()) {
            self.workloads.thrown_out(top, now);
        }
        if let Some(job) = job.filter(|_| change.has_ended()) {
            // It may be complete now, and then its failed pods are no failure any more.
            self.lookups.outdated(&Want::Workload(job), now);
        }
        self.events.met(&uid, &key, !change.is_unwell);
        if !change.is_unwell {
            self.lookups.forget(&Subject::Pod(uid.clone()));
            self.records.forget_pod(&uid);
        }
        self.nodes.move_requests(&change);
        let mut touched = self.workloads.moved(&uid, &change);
        touched.extend(annotation);
        if change.is_unwell {
            let lane = match (at_start, known_failing) {
                (true, _) => Lane::Resync,
                (false, true) => Lane::Change,
                (false, false) => Lane::NewFailure,
            };
            touched.push((Subject::Pod(uid), lane));
        }
        touched
    }

    fn pod_deleted(&mut self, uid: &Arc<str>, now: Timestamp) -> Touched {
        self.hear_last_words(uid, now);
        let Some((key, change)) = self.pods.remove(uid) else { return Vec::new() };
        self.nodes.move_requests(&change);
        self.events.forget(uid);
        self.lookups.forget(&Subject::Pod(uid.clone()));
        self.records.forget_pod(uid);
        self.annotations.forget(&Bearer::Pod(uid.clone()));
        let mut touched = self.workloads.moved(uid, &change);
        if self.records.brief(&key).is_some_and(|r| *r.pod_uid == **uid) {
            touched.push((Subject::Object(key), Lane::Change));
        }
        touched
    }

    fn node(&mut self, facts: NodeFacts, now: Timestamp) -> Touched {
        let name = facts.name.clone();
        let effect = self.nodes.put(facts, now);
        let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
        if !self.is_listed(Source::Nodes) {
            // All pods are looked at once everything is listed.
            return touched;
        }
        if effect.readiness_changed {
            touched.extend(self.pods.on_node(&name).map(|uid| (Subject::Pod(uid), Lane::Change)));
        }
        if effect.offer_changed {
            touched.extend(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync)));
        }
        touched
    }

    fn node_deleted(&mut self, name: &Arc<str>) -> Touched {
        self.nodes.remove(name);
        let stranded = self.pods.on_node(name).map(|uid| (Subject::Pod(uid), Lane::Change));
        let itself = std::iter::once((Subject::Node(name.clone()), Lane::Change));
        itself.chain(stranded).chain(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync))).collect()
    }

    fn event(&mut self, event: EventFacts, now: Timestamp) -> Touched {
        if &*event.regarding.kind == "Node" {
            let name = event.regarding.name.clone();
            let explains_ends = self.nodes.event(&event);
            let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
            if explains_ends {
                let unwell = self.pods.on_node(&name).filter(|uid| self.pods.is_full(uid));
                touched.extend(unwell.map(|uid| (Subject::Pod(uid), Lane::Change)));
            }
            return touched;
        }
        if let Some(key) = owners::key_of(&event) {
            let is_news = self.owners.event(&key, event, now);
            return if is_news { vec![(Subject::Workload(key), Lane::Change)] } else { Vec::new() };
        }
        if &*event.regarding.kind != "Pod" {
            return Vec::new();
        }
        let Some(uid) = self.pods.uid_for(&event) else { return Vec::new() };
        if self.pods.is_slim(&uid) && !events::matters_to_the_well(&event) {
            return Vec::new();
        }
        let is_stranger = !self.pods.contains(&uid);
        let is_news = self.events.put(&uid, event, is_stranger, now);
        if is_stranger && self.is_listed(Source::Pods) {
            self.events.limit_strangers();
        }
        if is_news && self.pods.is_full(&uid) { vec![(Subject::Pod(uid), Lane::Change)] } else { Vec::new() }
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

    fn begin_write(&mut self, key: &DiagnosisKey, now: Timestamp) {
        match self.outers(key.kind) {
            Some(outers) => outers.begin_write(key, now),
            None => self.records.begin_write(&key.object, now),
        }
    }

    /// Until when nothing is written of this object, as its namespace is going. One that is deleted already has gone with it: to
    /// put it back would only be refused, one object a minute.
    fn closed_until(&mut self, object: &DiagnosisKey, now: Timestamp) -> Option<Timestamp> {
        let open = self.opens_at(&object.object.namespace, now)?;
        if self.is_deleted(object) {
            self.removed(object);
        }
        Some(open)
    }

    /// When anything may be written again in a namespace that is going.
    fn opens_at(&mut self, namespace: &Arc<str>, now: Timestamp) -> Option<Timestamp> {
        let open = after(*self.closed.get(namespace)?, CLOSED_FOR);
        if now >= open {
            self.closed.remove(namespace);
            return None;
        }
        Some(open)
    }

    /// Whether somebody else deleted it.
    fn is_deleted(&mut self, object: &DiagnosisKey) -> bool {
        match self.outers(object.kind) {
            Some(outers) => outers.is_deleted(object),
            None => self.records.is_deleted(&object.object),
        }
    }

    /// A write that was decided on did not succeed.
    pub fn not_written(&mut self, key: &DiagnosisKey) -> Touched {
        match self.outers(key.kind) {
            Some(outers) => outers.not_written(key),
            None => self.records.written(&key.object, None),
        }
    }

    /// A write was refused because its namespace is going: our object goes with it, and no other is written there.
    pub fn namespace_gone(&mut self, key: &DiagnosisKey, now: Timestamp) {
        self.closed.retain(|_, since| now < after(*since, CLOSED_FOR));
        self.closed.insert(key.object.namespace.clone(), now);
        self.removed(key);
    }

    fn decide_pod(&mut self, uid: &Arc<str>, now: Timestamp) -> Decision {
        let Some(mut pod) = self.pods.full(uid) else { return Decision::default() };
        let key = pod.facts.key.clone();
        if !self.tells_of(&key.namespace, &pod.facts.labels) {
            return self.leave_out_pod(uid, &key).into();
        }
        let (fresh_from, first_seen) = (self.fresh_from(&pod), pod.observed.first);
        let surroundings = self.surroundings(&pod, now);
        let mut outcome = diagnose(&self.case_with(&pod, &surroundings, now));
        outcome.wants.retain(|want| self.reads_logs || !matches!(want, Want::Log(_)));
        if let Health::Failing(diagnosis) = &outcome.health {
            // Before anything is written, so that the history tells the cause of the last run as well.
            self.pods.attribute(&mut pod, &diagnosis.attributions);
        }
        let case = self.case_with(&pod, &surroundings, now);
        let last = self.records.get(&key);
        let is_active = last.as_ref().is_some_and(|record| record.is_active_of(uid));
        let is_superseded = plan::superseded(&case);
        let hangs = hangs_on_its_workload(&case);
        // What failed before we came can be told a moment later, and then who suffers is told with it: one write, and not two.
        let at_once = case.observed.at_start && last.is_none();
        let decisive = outcome.wants.iter().filter_map(|want| match want {
            Want::Claims(_) => Some((want, case.observed.situation_since)),
            Want::Log(_) => Some((want, first_seen)),
            Want::Workload(_) if hangs || at_once => Some((want, first_seen)),
            Want::Services(_) if at_once => Some((want, first_seen)),
            Want::Workload(_) | Want::Services(_) | Want::Reached(_) | Want::PodsOn(_) => None,
        });
        let awaited = decisive.filter_map(|(want, since)| self.lookups.awaited(want, since, ANSWER_WITHIN, now)).max();
        let mut plan = if !is_active && pod.superseded && case.pod.is_over() {
            // The failure of another pod makes this one no failure again.
            self.decide_object(&key, now)
        } else if let Some(until) = awaited.filter(|_| self.answers_come) {
            // Also where it is known to fail: after a restart, or when its situation changes, what was learnt would be
            // forgotten for something poorer.
            Plan { intent: None, wake: Some(until) }
        } else {
            let told_lately = match &outcome.health {
                Health::Failing(diagnosis) if plan::is_news(last.as_ref(), uid, diagnosis) => {
                    self.records.told_lately(diagnosis, &pod.facts, now, &self.policy)
                }
                _ => false,
            };
            plan::failing_or_well(last.as_ref(), &case, &outcome, told_lately, &self.policy)
        };
        plan.wake = earliest(plan.wake, outcome.wake);
        if case.surroundings.siblings.thrown_out_lately > 0 && case.pod.is_over() {
            // That pods are thrown out again and again is over when it has not happened for long.
            plan.wake = earliest(plan.wake, Some(after(now, workloads::REMEMBERED)));
        }
        let is_well = matches!(outcome.health, Health::Well);
        if is_superseded {
            self.pods.supersede(uid);
        }
        if !is_well || !outcome.wants.is_empty() {
            self.lookups.asked(&Subject::Pod(uid.clone()), &outcome.wants);
        } else if !is_active {
            // Between two failures the answers stay.
            self.lookups.forget(&Subject::Pod(uid.clone()));
            self.records.forget_pod(uid);
        }
        let mut wants = Vec::new();
        for want in outcome.wants {
            // What a run wrote does not change any more.
            let from = if matches!(want, Want::Log(_)) { first_seen } else { fresh_from };
            match self.lookups.next(&want, from, now) {
                lookups::Next::Now => wants.push(want),
                lookups::Next::At(at) => plan.wake = earliest(plan.wake, Some(at)),
            }
        }
        Decision { plan, wants, ..Decision::default() }
    }

    /// Whether somebody deleted an object whose pod is gone as well, as a deleted namespace does: nothing is left that it
    /// could tell of, and the namespace may be another one of that name by now.
    fn went_with_its_pod(&self, key: &ObjectKey) -> bool {
        self.records.is_deleted(key) && self.records.brief(key).is_some_and(|record| self.is_orphan(record))
    }

    /// Whether the pod of an Active diagnosis is gone. Before the pods are listed nothing can be said of them.
    fn is_orphan(&self, record: &Brief) -> bool {
        record.is_active() && self.is_listed(Source::Pods) && !self.pods.contains(&record.pod_uid)
    }

    /// From when on what was looked up tells of this failure. What was there at the start has settled, and what is known
    /// to fail is read anew in its own time.
    fn fresh_from(&self, pod: &Full) -> Timestamp {
        if pod.observed.at_start {
            return pod.observed.first;
        }
        let active = self.records.brief(&pod.facts.key).filter(|record| record.is_active_of(&pod.facts.uid));
        let began = active.and_then(|r| r.last_transition).unwrap_or(pod.observed.situation_since);
        after(began, lookups::SETTLE)
    }

    fn decide_object(&self, key: &ObjectKey, now: Timestamp) -> Plan {
        if let Some(plan) = self.records.repair_or_removal(key, now) {
            return plan;
        }
        let (Some(brief), Some(record)) = (self.records.brief(key), self.records.get(key)) else {
            return Plan::default();
        };
        // First what an earlier run left to be told; then what has become of it since.
        if let Some(owed) = plan::owed(&record, self.policy.language, now) {
            return Plan { intent: Some(Intent::Announce(Box::new(owed))), wake: Some(now) };
        }
        match brief.state {
            DiagnosisState::Active if self.is_orphan(brief) => plan::gone(&record, now),
            DiagnosisState::Active => Plan::default(),
            _ => plan::ended(&record, &self.policy, now),
        }
    }

    /// What a diagnosis wanted to know could not be read: its pods ask again later.
    pub fn not_looked_up(&mut self, want: &Want) -> Touched {
        let mut touched: Touched = self.lookups.failed(want).into_iter().map(|asker| (asker, Lane::Resync)).collect();
        if let Want::PodsOn(node) = want {
            touched.push((Subject::Node(node.clone()), Lane::Resync));
        }
        touched
    }

    /// The case of a pod as it would be diagnosed now, for the offline command and for tests.
    pub fn with_case<T>(&self, uid: &str, now: Timestamp, look: impl FnOnce(&Case<'_>) -> T) -> Option<T> {
        let pod = self.pods.full(uid)?;
        let surroundings = self.surroundings(&pod, now);
        Some(look(&self.case_with(&pod, &surroundings, now)))
    }

    fn surroundings(&self, pod: &Full, now: Timestamp) -> Surroundings {
        let siblings = self.workloads.siblings(&pod.facts, now);
        let around = self.lookups.around(&pod.facts, self.fresh_from(pod), pod.observed.situation_since, siblings);
        let workload = crate::diagnosis::top_workload(&pod.facts, around.known_job());
        let queue = self.reach.queue(&pod.facts, workload.as_ref());
        let wishes = self.wishes.around(&pod.facts, workload.as_ref());
        Surroundings { queue, wishes, ..around }
    }

    fn case_with<'a>(&'a self, pod: &'a Full, surroundings: &'a Surroundings, now: Timestamp) -> Case<'a> {
        Case {
            pod: &pod.facts,
            node: pod.facts.node_name.as_ref().and_then(|name| self.nodes.get(name)),
            nodes: self.nodes.all(),
            events: self.events.of(&pod.facts.uid),
            ledger: &pod.ledger,
            surroundings,
            thresholds: &self.thresholds,
            observed: pod.observed,
            status_before: &pod.status_before,
            now,
        }
    }

    /// The write of a subject was acknowledged.
    pub fn acknowledged(
        &mut self,
        write: &plan::ObjectWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let mut workloads = Vec::new();
        let mut suffered = None;
        self.folds.written(&write.spec.pod_uid);
        if let Some(before) = self.records.brief(&write.key) {
            self.workloads.unset_failing(before);
            self.reach.remove(before);
            suffered = about_nodes::suffers_from(before);
            workloads.extend(Self::workload_of(before).cloned());
        }
        let mut touched = self.records.acknowledged(write, uid, resource_version, now);
        if let Some(record) = self.records.brief(&write.key) {
            self.workloads.set_failing(record);
            self.reach.add(record);
            workloads.extend(Self::workload_of(record).cloned());
            if self.is_orphan(record) {
                // Its pod went while it was being written.
                touched.push((Subject::Object(write.key.clone()), Lane::Change));
            }
        }
        let suffers = self.records.brief(&write.key).and_then(about_nodes::suffers_from);
        touched.extend(self.records.brief(&write.key).and_then(|record| self.teller_beside(record, now)));
        if suffered != suffers {
            // Its node tells how many suffer there.
            touched.extend([suffered, suffers].into_iter().flatten().map(|node| (Subject::Node(node), Lane::Resync)));
        }
        touched.extend(self.annotation_due(Bearer::Pod(write.spec.pod_uid.as_str().into())));
        workloads.dedup();
        touched.extend(workloads.into_iter().map(|key| (Subject::Workload(key), Lane::Change)));
        touched
    }

    /// The workload that told of the root of this pod, if it is another's: it tells as well how far that reaches.
    fn teller_beside(&self, record: &Brief, now: Timestamp) -> Option<(Subject, Lane)> {
        let (root, workload) = (record.root.as_ref()?, record.workload.as_ref()?);
        let teller = self.reach.told_by_another(root, workload, now)?;
        Some((Subject::Workload(teller.clone()), Lane::Resync))
    }

    /// The write of a node's or a workload's diagnosis was acknowledged.
    pub fn outer_acknowledged(
        &mut self,
        write: &OuterWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let Some(outers) = self.outers(write.key.kind) else { return Vec::new() };
        let mut touched = outers.acknowledged(write, uid, resource_version, now);
        if let Some(record) = self.workload_objects.get(&write.key) {
            self.reach.set_refused(&record);
            if let Outer::Workload(spec, WorkloadDiagnosisStatus { root: Some(reach), .. }) = &record.object {
                let workload = WorkloadKey::of(&spec.workload, &write.key.object.namespace);
                let teller = self.reach.told_by_another(&reach.root, &workload, now).cloned();
                touched.extend(teller.map(|teller| (Subject::Workload(teller), Lane::Resync)));
            }
        }
        touched.extend(self.annotation_of_object(&write.key).and_then(|bearer| self.annotation_due(bearer)));
        touched
    }

    /// An object is removed: nothing is told any more of what it was about.
    pub fn removed(&mut self, key: &DiagnosisKey) -> Touched {
        let bearer = self.annotation_of_object(key);
        self.forget_burial(key);
        if let Some(outers) = self.outers(key.kind) {
            outers.remove(key);
            self.reach.forget_refused(key);
        } else {
            self.records.written(&key.object, None);
            if let Some(record) = self.records.remove(&key.object) {
                self.workloads.unset_failing(&record);
                self.reach.remove(&record);
            }
        }
        bearer.and_then(|bearer| self.annotation_due(bearer)).into_iter().collect()
    }

    /// The Event that a diagnosis owed for this transition is there.
    pub fn announced(&mut self, key: &DiagnosisKey, transition: u32) {
        match self.outers(key.kind) {
            Some(outers) => outers.announced(key, transition),
            None => self.records.announced(&key.object, transition),
        }
    }

    /// This Event, which an object owed, is there.
    pub fn owed_is_there(&mut self, key: &ObjectKey, event: &ObjectKey) {
        let owed = self.records.get(key).filter(|record| plan::event_key(key, &record.spec, &record.status) == *event);
        if let Some(transition) = owed.map(|record| record.status.transition) {
            self.records.announced(key, transition);
        }
    }

    /// The Event that a node's or a workload's diagnosis owed is there.
    pub fn outer_owed_is_there(&mut self, key: &DiagnosisKey) {
        if let Some(outers) = self.outers(key.kind)
            && let Some(transition) = outers.brief(key).map(|brief| brief.transition)
        {
            outers.announced(key, transition);
        }
    }

    /// The Event of a failure that got no object is there.
    pub fn announced_without_object(&mut self, pod_uid: &str) {
        self.records.told_unrecorded(pod_uid);
    }

    /// The API server refused a write because the object is not the one we know: this is the one that it has.
    pub fn conflicted(&mut self, key: &DiagnosisKey, current: Option<(String, String)>) -> Touched {
        if let Some(outers) = self.outers(key.kind) {
            outers.conflicted(key, current);
            return Vec::new();
        }
        let key = &key.object;
        self.records.conflicted(key, current);
        // Where the pod itself was the subject, nobody would look at its object any more.
        let orphan = self.records.brief(key).filter(|record| self.is_orphan(record));
        orphan.map(|_| (Subject::Object(key.clone()), Lane::Change)).into_iter().collect()
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

/// A pod that has failed may be no failure at all: its Job has succeeded at a retry, its Deployment has replaced it. Only
/// the workload knows. And a failed try is none to warn of while its Job has others left.
fn hangs_on_its_workload(case: &Case<'_>) -> bool {
    let around = case.surroundings;
    let has_crashed = || case.pod.containers.iter().any(|c| c.last_end().is_some_and(|end| end.exit_code != 0));
    if case.pod.is_of_job() && around.job.is_none() && has_crashed() {
        return true;
    }
    let top = crate::diagnosis::top_workload(case.pod, around.known_job());
    case.pod.has_failed() && around.workload.is_none() && top.is_some_and(|top| top.is_known())
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
