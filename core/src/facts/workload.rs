//! Workload facts: spec and status of the controllers of pods, and the pod templates.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Carried, Condition, Labels, Manager, ObjectFacts, Overrides, Owner, Timestamp, after, is_custom_group};
use crate::api::WorkloadRef;

/// Kind, namespace and name of a workload. A clone shares the allocation, because keys are stored with all data about a
/// workload or its pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WorkloadKey(Arc<WorkloadName>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WorkloadName {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl WorkloadName {
    /// The name of a referenced workload in `namespace`.
    pub fn of(reference: &WorkloadRef, namespace: &Arc<str>) -> Self {
        Self {
            api_version: reference.api_version.as_str().into(),
            kind: reference.kind.as_str().into(),
            namespace: namespace.clone(),
            name: reference.name.as_str().into(),
        }
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether it is a custom resource.
    pub fn is_custom(&self) -> bool {
        is_custom_group(self.group())
    }
}

impl From<Arc<WorkloadName>> for WorkloadKey {
    fn from(name: Arc<WorkloadName>) -> Self {
        Self(name)
    }
}

impl From<WorkloadName> for WorkloadKey {
    fn from(name: WorkloadName) -> Self {
        Self(Arc::new(name))
    }
}

impl Deref for WorkloadKey {
    type Target = WorkloadName;

    fn deref(&self) -> &WorkloadName {
        &self.0
    }
}

impl WorkloadKey {
    /// Key of the workload that an object in this namespace references.
    pub fn of(reference: &WorkloadRef, namespace: &Arc<str>) -> Self {
        WorkloadName::of(reference, namespace).into()
    }

    /// The kind, if it is watched.
    pub fn watched_kind(&self) -> Option<WorkloadKind> {
        let is_this = |kind: &WorkloadKind| *kind.as_str() == *self.kind && *kind.api_version() == *self.api_version;
        WorkloadKind::ALL.into_iter().find(is_this)
    }

    /// Whether it is a built-in kind. Custom controllers are named but never read.
    pub fn is_known(&self) -> bool {
        matches!(
            (&*self.api_version, &*self.kind),
            ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
                | ("batch/v1", "Job" | "CronJob")
                | ("v1", "ReplicationController")
        )
    }
}

impl std::fmt::Display for WorkloadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", kind_with_group(&self.api_version, &self.kind), self.name)
    }
}

/// The kind, such as `Deployment`. A custom kind with the name of a kind of Kubernetes has its group, as for kubectl:
/// `service.serving.knative.dev`.
pub fn kind_with_group<'a>(api_version: &str, kind: &'a str) -> Cow<'a, str> {
    const OF_KUBERNETES: [&str; 19] = [
        "ConfigMap",
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Event",
        "GRPCRoute",
        "Gateway",
        "HTTPRoute",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Job",
        "Namespace",
        "Node",
        "Pod",
        "PodDisruptionBudget",
        "ReplicaSet",
        "Secret",
        "Service",
        "StatefulSet",
    ];
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if is_custom_group(group) && OF_KUBERNETES.contains(&kind) {
        return Cow::Owned(format!("{}.{group}", kind.to_ascii_lowercase()));
    }
    Cow::Borrowed(kind)
}

/// A kind of workload that is watched and diagnosed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
}

impl WorkloadKind {
    pub const ALL: [Self; 5] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::Job, Self::CronJob];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
        }
    }

    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Deployment | Self::StatefulSet | Self::DaemonSet => "apps/v1",
            Self::Job | Self::CronJob => "batch/v1",
        }
    }

    /// Plural name in API URLs.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
            Self::DaemonSet => "daemonsets",
            Self::Job => "jobs",
            Self::CronJob => "cronjobs",
        }
    }
}

/// A workload of any kind. Fields that a kind does not have are zero, empty or `None`. Workloads are serialized for
/// compressed storage, without the key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkloadFacts {
    #[serde(skip)]
    pub key: WorkloadKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    /// The workload is being deleted.
    pub deleting: bool,
    pub overrides: Option<Box<Overrides>>,
    /// The diagnosis annotation. Not stored here.
    #[serde(skip)]
    pub carried: Option<Carried>,
    pub owner: Option<Owner>,
    /// The manager of the workload, from its labels and annotations.
    pub manager: Option<Box<Manager>>,
    pub generation: i64,
    /// The generation that the status reflects, if the kind reports it.
    pub observed_generation: Option<i64>,
    /// For a Deployment: the rollout is paused.
    pub paused: bool,
    /// `spec.replicas`, a DaemonSet's `desiredNumberScheduled`, a Job's `completions`.
    pub desired: i64,
    /// Existing pods: `status.replicas`, `currentNumberScheduled` of a DaemonSet, `active` of a Job; for a CronJob, the
    /// active Jobs.
    pub current: i64,
    pub ready: i64,
    /// Unavailable pods: `unavailableReplicas`, `numberUnavailable`.
    pub unavailable: i64,
    /// Pods of the newest template, if the kind reports them.
    pub updated: i64,
    /// `spec.backoffLimit` and `status.failed` of a Job.
    pub backoff_limit: Option<i64>,
    pub failed: i64,
    pub succeeded: i64,
    pub suspended: bool,
    pub conditions: Vec<Condition>,
    /// `progressDeadlineSeconds`, if set.
    pub progress_deadline: Option<i64>,
    /// `spec.selector.matchLabels`.
    pub selector: Labels,
    pub template: Option<Box<TemplateFacts>>,
    /// Fields of a single kind.
    pub own: OwnFacts,
    /// ReplicaSets of a Deployment, newest first: those with desired pods, and the two newest revisions.
    pub replica_sets: Vec<ReplicaSetFacts>,
    /// Current and recent templates of a StatefulSet or DaemonSet, newest first.
    pub revisions: Vec<RevisionFacts>,
    /// `deployment.kubernetes.io/revision` of a Deployment: the number of its newest template.
    pub revision: Option<i64>,
    /// For a CronJob, the time of the last successful run (`status.lastSuccessfulTime`).
    pub last_successful: Option<Timestamp>,
}

/// The properties of a healthy workload that matter for Services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    pub key: WorkloadKey,
    pub desired: i64,
    /// Labels of its pods.
    pub labels: Labels,
    /// Ports of its pods: `http/TCP`.
    pub ports: BTreeSet<Arc<str>>,
}

/// Fields of a single kind of workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OwnFacts {
    #[default]
    None,
    StatefulSet(StatefulSetFacts),
    DaemonSet(DaemonSetFacts),
    Job(JobFacts),
    CronJob(Box<CronJobFacts>),
    /// An object that is diagnosed by its own status.
    Object(Box<ObjectFacts>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatefulSetFacts {
    /// `podManagementPolicy: OrderedReady`, the default: pods are created one after the other.
    pub ordered: bool,
    /// `updateStrategy: OnDelete`.
    pub on_delete: bool,
    /// Pods with a lower ordinal keep the old template.
    pub partition: i64,
    /// Ordinal of the first pod.
    pub first_ordinal: i64,
    pub current_revision: String,
    pub update_revision: String,
}

impl StatefulSetFacts {
    /// Whether an update is in progress.
    pub fn is_updating(&self) -> bool {
        !self.on_delete && !self.update_revision.is_empty() && self.current_revision != self.update_revision
    }

    /// Whether this is the newest template, by its name or the hash in it.
    pub fn is_update(&self, revision: &str) -> bool {
        is_called(&self.update_revision, revision)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DaemonSetFacts {
    pub on_delete: bool,
    /// Nodes that run its pod and should not.
    pub misscheduled: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobFacts {
    pub parallelism: i64,
    pub active_deadline: Option<i64>,
    pub started: Option<Timestamp>,
    /// Failed indexes of an Indexed Job, in the format of the API: `1,3-5`.
    pub failed_indexes: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CronJobFacts {
    pub schedule: String,
    pub time_zone: Option<String>,
    /// `Allow`, `Forbid` or `Replace`.
    pub concurrency: String,
    pub starting_deadline: Option<i64>,
    pub last_schedule: Option<Timestamp>,
    /// Name of the last Job in `status.active`.
    pub active_job: Option<String>,
}

impl WorkloadFacts {
    /// The properties that matter for Services, if the kind can serve and its template is known.
    pub fn labelled(&self) -> Option<Labelled> {
        let serves = matches!(&*self.key.kind, "Deployment" | "StatefulSet" | "DaemonSet");
        let template = self.template.as_ref().filter(|_| serves)?;
        let ports = template.named_ports.clone();
        Some(Labelled { key: self.key.clone(), desired: self.desired, labels: template.labels.clone(), ports })
    }

    /// The ReplicaSet that served until the rollout of the newest one made the Deployment unavailable. The Deployment was
    /// available before, and the newest ReplicaSet was never complete.
    pub fn served_before_newest(&self) -> Option<&ReplicaSetFacts> {
        /// A Deployment is unavailable from its creation until it is available for the first time.
        const SLACK: i64 = 2;
        /// With the strategy Recreate, the newest ReplicaSet is created only when the old pods have terminated.
        const TERMINATION: i64 = 120;
        let (newest, older) = self.replica_sets.split_first()?;
        let back = older.first()?;
        let unavailable = self.condition("Available").filter(|condition| condition.status == "False")?;
        let since = unavailable.last_transition?;
        let was_complete = self.condition("Progressing").is_none_or(|c| c.reason == "NewReplicaSetAvailable");
        let was_available = since > after(self.created?, SLACK);
        let served = back.created? < since && newest.created? <= after(since, TERMINATION);
        (was_available && served && !was_complete).then_some(back)
    }

    /// Whether the current revision of a StatefulSet was complete once. The controller makes a revision the current one
    /// only when all pods have it and are ready, except for the first, which is current from the start.
    pub fn has_completed_current(&self, set: &StatefulSetFacts) -> bool {
        self.revisions.iter().any(|revision| *revision.name == *set.current_revision && revision.revision > 1)
    }

    /// The owner, such as the `CronJob` of a Job.
    pub fn owner_key(&self) -> Option<WorkloadKey> {
        let owner = self.owner.as_ref()?;
        let name = WorkloadName {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            namespace: self.key.namespace.clone(),
            name: owner.name.clone(),
        };
        Some(name.into())
    }

    /// The facts of an object that is diagnosed by its own status.
    pub fn object(&self) -> Option<&ObjectFacts> {
        match &self.own {
            OwnFacts::Object(own) => Some(own),
            _ => None,
        }
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    pub fn condition_is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.status == "True")
    }

    /// Whether it has exceeded its progress deadline.
    pub fn has_given_up(&self) -> bool {
        self.condition("Progressing").is_some_and(is_timed_out)
    }

    /// Whether it has exceeded its progress deadline with this `ReplicaSet`.
    pub fn has_given_up_on(&self, replica_set: &str) -> bool {
        let names = |message: &str| message.split('"').nth(1) == Some(replica_set);
        self.condition("Progressing").is_some_and(|c| is_timed_out(c) && names(&c.message))
    }

    /// Whether a Job has succeeded or is about to be marked so.
    pub fn is_complete(&self) -> bool {
        self.condition_is_true("Complete") || self.condition_is_true("SuccessCriteriaMet")
    }

    /// Whether the status reflects an older generation, because the controller has not processed the current one.
    pub fn is_stale(&self) -> bool {
        self.observed_generation.is_some_and(|observed| observed < self.generation)
    }

    /// Whether the workload has its desired state and there is nothing to judge. A rollout in progress is not settled
    /// and not a failure. Diagnoses of its pods are not considered.
    pub fn is_settled(&self) -> bool {
        if self.deleting {
            return true;
        }
        if self.object().is_some() {
            return self.suspended;
        }
        match &*self.key.kind {
            "Job" => self.suspended || self.is_complete(),
            // The status does not show missed runs.
            "CronJob" => self.suspended,
            _ => !self.is_stale() && self.has_its_pods() && !self.complains(),
        }
    }

    fn has_its_pods(&self) -> bool {
        let whole = self.ready >= self.desired && self.unavailable <= 0 && self.current == self.desired;
        whole && self.updated >= self.to_update()
    }

    /// Number of pods that should have the newest template by now.
    fn to_update(&self) -> i64 {
        match &self.own {
            _ if self.is_updated_on_delete() => 0,
            OwnFacts::StatefulSet(set) if set.current_revision == set.update_revision => 0,
            OwnFacts::StatefulSet(set) => {
                let below = set.partition.saturating_sub(set.first_ordinal).max(0);
                self.desired.saturating_sub(below)
            }
            OwnFacts::DaemonSet(_) => self.desired,
            _ if &*self.key.kind == "Deployment" && !self.paused => self.desired,
            _ => 0,
        }
    }

    /// Whether the newest known template has a container of this name.
    pub fn template_has(&self, container: &str) -> bool {
        let of_replica_set = self.replica_sets.first().and_then(|newest| newest.template.as_ref());
        let of_revision = self.revisions.first().and_then(|newest| newest.template.as_ref());
        let newest = of_replica_set.or(of_revision).or(self.template.as_ref());
        newest.is_some_and(|template| template.containers.iter().any(|own| &*own.name == container))
    }

    /// Whether this is the newest template, by the name of a ReplicaSet or a `controller-revision-hash`. `None`:
    /// unknown.
    pub fn is_newest(&self, template: &str) -> Option<bool> {
        match &self.own {
            OwnFacts::StatefulSet(set) if set.update_revision.is_empty() => None,
            OwnFacts::StatefulSet(set) => Some(set.is_update(template)),
            OwnFacts::DaemonSet(_) => self.revisions.first().map(|newest| newest.is_called(template)),
            _ => self.replica_sets.first().map(|newest| *newest.name == *template),
        }
    }

    /// Ordinal of a pod of a StatefulSet: `2` for `db-2`.
    pub fn ordinal(&self, pod: &str) -> Option<i64> {
        pod.strip_prefix(&*self.key.name)?.strip_prefix('-')?.parse().ok()
    }

    /// `updateStrategy: OnDelete`: a pod gets the new template when it is deleted by a user.
    pub fn is_updated_on_delete(&self) -> bool {
        match &self.own {
            OwnFacts::StatefulSet(set) => set.on_delete,
            OwnFacts::DaemonSet(set) => set.on_delete,
            _ => false,
        }
    }

    /// Whether its own conditions report a problem.
    fn complains(&self) -> bool {
        self.condition_is_true("ReplicaFailure") || self.condition("Progressing").is_some_and(|c| c.status == "False")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplicaSetFacts {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// `deployment.kubernetes.io/revision`.
    pub revision: i64,
    /// The revision that it had before it was rolled back to: the last one of `deployment.kubernetes.io/revision-history`.
    pub former_revision: Option<i64>,
    pub created: Option<Timestamp>,
    pub desired: i64,
    pub ready: i64,
    pub template: Option<Box<TemplateFacts>>,
}

/// A ControllerRevision: a template of a StatefulSet or DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RevisionFacts {
    pub name: Arc<str>,
    pub revision: i64,
    pub created: Option<Timestamp>,
    pub template: Option<Box<TemplateFacts>>,
}

impl RevisionFacts {
    /// Whether this is the template of a pod with this `controller-revision-hash`. A StatefulSet writes the whole name
    /// there, a DaemonSet only its suffix.
    pub fn is_called(&self, hash: &str) -> bool {
        is_called(&self.name, hash)
    }
}

fn is_timed_out(progressing: &Condition) -> bool {
    progressing.status == "False" && progressing.reason == "ProgressDeadlineExceeded"
}

/// Whether the hash is the name of the ControllerRevision or the suffix of it.
fn is_called(name: &str, hash: &str) -> bool {
    name.strip_suffix(hash).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}

/// The comparable parts of a pod template: names and texts, never the values of variables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateFacts {
    pub labels: Labels,
    /// Init containers first.
    pub containers: Vec<ContainerTemplate>,
    /// From variables and volumes.
    pub config_maps: BTreeSet<String>,
    pub secrets: BTreeSet<String>,
    pub claims: BTreeSet<String>,
    pub service_account: String,
    pub node_selector: Labels,
    /// Ports that a Service can reference by name: `http/TCP`.
    pub named_ports: BTreeSet<Arc<str>>,
}

/// A container of a template. Probes and resources are normalized texts, equal if their meaning is equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContainerTemplate {
    pub name: Arc<str>,
    pub init: bool,
    pub image: Arc<str>,
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub ports: Vec<String>,
    pub liveness: Option<String>,
    pub readiness: Option<String>,
    pub startup: Option<String>,
    pub requests: String,
    pub limits: String,
    /// Names of the variables.
    pub env: BTreeSet<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(kind: &str, desired: i64) -> WorkloadFacts {
        let key = WorkloadName { kind: kind.into(), ..WorkloadName::default() }.into();
        WorkloadFacts { key, desired, current: desired, ready: desired, updated: desired, ..WorkloadFacts::default() }
    }

    #[test]
    fn rollout_in_progress_is_not_settled() {
        let whole = workload("Deployment", 3);
        assert!(whole.is_settled());
        assert!(workload("Deployment", 0).is_settled());
        for unsettled in [
            WorkloadFacts { ready: 2, ..whole.clone() },
            WorkloadFacts { updated: 1, ..whole.clone() },
            WorkloadFacts { unavailable: 1, ..whole.clone() },
            WorkloadFacts { current: 4, ..whole.clone() },
            WorkloadFacts { generation: 5, observed_generation: Some(4), ..whole.clone() },
        ] {
            assert!(!unsettled.is_settled(), "{unsettled:?}");
        }
        assert!(WorkloadFacts { updated: 1, paused: true, ..whole.clone() }.is_settled());
        assert!(WorkloadFacts { ready: 0, deleting: true, ..whole }.is_settled());
    }

    #[test]
    fn stateful_set_updated_down_to_its_partition_is_settled() {
        let rolling = |partition, on_delete| {
            let (current_revision, update_revision) = ("a".to_owned(), "b".to_owned());
            let own =
                StatefulSetFacts { on_delete, partition, current_revision, update_revision, ..Default::default() };
            WorkloadFacts { updated: 1, own: OwnFacts::StatefulSet(own), ..workload("StatefulSet", 3) }
        };
        assert!(!rolling(0, false).is_settled());
        assert!(rolling(2, false).is_settled());
        assert!(rolling(0, true).is_settled());
    }

    #[test]
    fn job_is_settled_when_complete_or_suspended() {
        let job = workload("Job", 1);
        assert!(!job.is_settled());
        assert!(WorkloadFacts { suspended: true, ..job.clone() }.is_settled());
        let complete = Condition {
            kind: "Complete".to_owned(),
            status: "True".to_owned(),
            reason: String::new(),
            message: String::new(),
            last_transition: None,
        };
        assert!(WorkloadFacts { conditions: vec![complete], ..job }.is_settled());
    }
}
