//! In-memory state of the cluster: facts by UID, and which subjects a change affects.
//!
//! [`World::apply`] is the only entry point for changes and never blocks. Pods are keyed by UID: a StatefulSet pod that
//! is recreated under the same name is a new pod. For a pod that is ready and never restarted only a slim entry is
//! kept; the watch event that makes it unhealthy carries all its facts.

mod capture;
mod cleanup;
mod cluster;
mod compressed;
mod decide;
mod intake;
mod kept;
mod leadership;
mod pool;
mod reported;
mod selection;
mod settings;
mod steps;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::DiagnosisKind;
use crate::case::Thresholds;
use crate::facts::route::{NetworkKind, NetworkObject};
use crate::facts::{
    EventFacts, Lookup, LookupResult, NodeFacts, ObjectKey, PodFacts, ServiceFacts, Timestamp, WorkloadFacts,
    WorkloadKey, WorkloadKind, after,
};
use crate::outbox::{Lane, Stream, Subject};
use crate::reconcile::{DiagnosisKey, Intent, Object, Plan, Policy, Record};
use crate::rules::catalog::Catalog;

pub use cluster::ClusterState;
pub use cluster::events::KEPT as EVENTS_KEPT;
pub use reported::Reported;
pub use reported::annotations::Annotate;
pub use reported::caps::Caps;
pub use reported::summary_entry::SummaryEntry;
pub use selection::Selection;
pub use settings::Settings;

/// A change of the cluster's state. Only `cluster::watch` and `cluster::lookup` create changes, and only changes update
/// the state.
#[derive(Debug)]
pub enum Change {
    /// A list of this kind begins: the first one, or a relist after the resource version expired.
    ListStarted(Source),
    /// The list is complete. Known pods, nodes and objects that it did not contain since `ListStarted` are gone. Events
    /// are only merged: an Event missing from the list is kept.
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
    /// The custom resources of a kind that exist: its list, or none once its definition is removed.
    ResourcesListed {
        api_version: Arc<str>,
        kind: Arc<str>,
        present: BTreeSet<WorkloadKey>,
    },
    /// A change of an object on the path of a request, an autoscaler or a disruption budget.
    Network(NetworkChange),
    /// The kinds of custom resources that are followed, each with its group. Objects of others are no longer diagnosed.
    ResourcesFollowed(BTreeSet<(String, String)>),
    /// One of our own objects at its current version, from the metadata-only watch.
    Object {
        key: DiagnosisKey,
        resource_version: String,
    },
    ObjectDeleted(DiagnosisKey),
    /// The catalogue has changed: rules of users were added, changed or removed.
    Catalog(Box<Catalog>),
    /// The result of a lookup that a diagnosis requested.
    LookupResult {
        lookup: Lookup,
        result: LookupResult,
    },
}

/// A change of the network: Ingresses, Gateways, routes, Services, autoscalers, disruption budgets.
#[derive(Debug)]
pub enum NetworkChange {
    Seen(Box<NetworkObject>),
    Deleted(NetworkKind, ObjectKey),
    /// The list of a kind is complete: all objects that exist, in this namespace or in all.
    Listed {
        kind: NetworkKind,
        namespace: Option<Arc<str>>,
        present: BTreeSet<ObjectKey>,
    },
    /// A kind cannot be listed: it is not installed, or may not be read. Its objects are unknown, and none is missing.
    Unavailable {
        kind: NetworkKind,
        namespace: Option<Arc<str>>,
    },
}

/// A resource that is listed and watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    Pods,
    Nodes,
    Events,
    Workloads(WorkloadKind),
    Services,
    /// Our own diagnosis objects.
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

/// Subjects affected by a change, each with its lane.
pub type Touched = Vec<(Subject, Lane)>;

/// The decision for a subject: what to write, look up and check next.
#[derive(Debug, Default)]
pub struct Decision {
    pub plan: Plan,
    /// Lookups to perform. Results come back as [`Change::LookupResult`], failures through [`ClusterState::lookup_failed`].
    pub needed_lookups: Vec<Lookup>,
    /// Other subjects to check because of this decision.
    pub touched: Touched,
    /// Whether the pod's Event was aggregated into the Event of its workload.
    pub aggregated: bool,
}

impl From<Plan> for Decision {
    fn from(plan: Plan) -> Self {
        Self { plan, ..Self::default() }
    }
}

/// What is known of the cluster, what was reported, and how to decide.
#[derive(Debug)]
pub struct World {
    pub cluster: ClusterState,
    pub reported: Reported,
    pub settings: Settings,
}

/// How long a first diagnosis waits for a decisive lookup, in seconds: the workload of a Failed pod, or the claims of a
/// pod without its volume.
const LOOKUP_TIMEOUT: i64 = 10;

impl World {
    pub fn new(thresholds: Thresholds, policy: Policy, caps: Caps) -> Self {
        Self {
            cluster: ClusterState::default(),
            reported: Reported::new(caps),
            settings: Settings::new(thresholds, policy),
        }
    }

    /// Restores the diagnoses that an earlier run or an earlier leader wrote.
    pub fn restore(&mut self, records: Vec<Record>) -> Touched {
        let mut touched = Vec::new();
        for record in records {
            match &record.object {
                Object::Pod(..) => {}
                Object::Node(spec, status) => {
                    self.cluster.nodes.restore(&spec.node_name, decide::node::history_of(status));
                }
                Object::Workload(_, status) => {
                    self.reported.restore_workload(&record, status);
                    self.reported.reach.set_refused(&record);
                }
            }
            let key = record.key.clone();
            self.reported.records_mut(key.kind).restore(record);
            let Some(summary_entry) = self.reported.summary_entry(&key).cloned() else { continue };
            if key.kind == DiagnosisKind::Pod && !self.settings.selection.excludes(&key.object.namespace) {
                writes::count(&mut self.cluster.workloads, &summary_entry);
                self.reported.reach.add(&summary_entry);
            }
            touched.extend(summary_entry.subject().map(|subject| (subject, Lane::Resync)));
        }
        touched
    }

    /// With what a subject takes turns in its lane. Only new failures of pods do; the others are served as they arrive.
    pub fn stream(&self, subject: &Subject, lane: Lane) -> Stream {
        match subject {
            Subject::Pod(uid) if lane == Lane::NewFailure => self.cluster.pods.stream(uid),
            _ => Stream::default(),
        }
    }

    /// Decides what to do for a subject now.
    pub fn decide(&mut self, subject: &Subject, now: Timestamp) -> Decision {
        let key = match subject {
            Subject::Pod(uid) => {
                self.cluster.pods.place(uid).filter(|_| self.cluster.pods.is_full(uid)).map(cluster::pods::Place::key)
            }
            Subject::Object(key) => Some(ObjectKey::clone(key)),
            Subject::UnknownObject(object) if object.key.kind == DiagnosisKind::Pod => Some(object.key.object.clone()),
            Subject::Node(_)
            | Subject::Workload(_)
            | Subject::Services(_)
            | Subject::Annotation(_)
            | Subject::UnknownObject(_) => None,
        };
        // A pod and its diagnosis are two subjects that write the same object, so only one may write at a time.
        if key.as_ref().is_some_and(|key| self.reported.pod_records.is_writing(key)) {
            return Plan { intent: None, wake: Some(after(now, 1)) }.into();
        }
        if let Some(key) = key
            && let Some(open) = self.suspended_until(&DiagnosisKey::of_pod(key), now)
        {
            return Plan { intent: None, wake: Some(open) }.into();
        }
        let mut decision = match subject {
            Subject::Pod(uid) => decide::pod::decide(self, uid, now),
            Subject::Object(key) if decide::pod::was_deleted_with_pod(self, key) => {
                let touched = self.removed(&DiagnosisKey::of_pod(ObjectKey::clone(key)));
                Decision { touched, ..Decision::default() }
            }
            Subject::Object(key) if self.settings.is_excluded(&key.namespace) => {
                self.plan_unselected(&DiagnosisKey::of_pod(ObjectKey::clone(key))).into()
            }
            Subject::Object(key) => {
                let plan = decide::pod::decide_object(self, key, now);
                self.with_pod_lookup(key, plan, now)
            }
            Subject::Node(name) => decide::node::decide(self, name, now),
            Subject::Workload(key) => decide::workload::decide(self, key, now),
            Subject::Services(namespace) => decide::services::decide(self, namespace, now),
            Subject::Annotation(bearer) => decide::annotation::decide(self, bearer, now).into(),
            Subject::UnknownObject(object) => self.reported.decide_orphaned_object(object).into(),
        };
        // Before the caps: a failure that gets no object must not get more Events because of that.
        decision.aggregated = !self.reported.capacity.is_announced(&decision.plan)
            && decide::aggregation::aggregate(self, &mut decision.plan, now);
        let (plan, touched) =
            self.reported.capacity.within_caps(decision.plan, decision.aggregated, &mut self.reported.pod_records);
        decision.touched.extend(touched);
        decision.plan = plan;
        match &decision.plan.intent {
            Some(Intent::Apply(write)) => self.reported.begin_write(&write.key, now),
            Some(Intent::Delete { key, .. }) => self.reported.begin_write(key, now),
            Some(Intent::Announce(_) | Intent::Annotate(_)) | None => {}
        }
        decision
    }

    /// Subjects to check regularly: the Services of each namespace, all nodes, and the workloads that may need a
    /// diagnosis.
    pub fn regular_subjects(&self) -> Vec<Subject> {
        let services = self.cluster.all_served().into_iter().map(|(subject, _)| subject);
        let nodes = self.cluster.nodes.all().keys().map(|name| Subject::Node(name.clone()));
        let failing = self.cluster.workloads.that_fail().filter(|key| key.watched_kind().is_some()).cloned();
        let unsettled = decide::workload::all_unsettled(self).into_iter().map(|(subject, _)| subject);
        let all: BTreeSet<Subject> =
            services.chain(nodes).chain(failing.map(Subject::Workload)).chain(unsettled).collect();
        all.into_iter().collect()
    }
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
