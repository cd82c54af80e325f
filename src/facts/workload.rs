//! Controllers of pods: what they ask for, what they say of themselves, and the template of their pods.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Carried, Condition, Labels, Manager, Owner, Timestamp, Wishes};
use crate::api::WorkloadRef;

/// Kind, namespace and name of a workload that can be read. A clone is another reference: these stand wherever something
/// is known of a workload or its pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WorkloadKey(Arc<WorkloadName>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WorkloadName {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
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
    /// The workload that an object of this namespace names.
    pub fn of(reference: &WorkloadRef, namespace: &Arc<str>) -> Self {
        let name = WorkloadName {
            api_version: reference.api_version.as_str().into(),
            kind: reference.kind.as_str().into(),
            namespace: namespace.clone(),
            name: reference.name.as_str().into(),
        };
        name.into()
    }

    /// The kind, where it is one that is watched.
    pub fn watched_kind(&self) -> Option<WorkloadKind> {
        let is_this = |kind: &WorkloadKind| *kind.as_str() == *self.kind && *kind.api_version() == *self.api_version;
        WorkloadKind::ALL.into_iter().find(is_this)
    }

    /// Whether it is one of Kubernetes' own kinds; a foreign controller is named and never read.
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
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// A kind of workload that is watched and judged.
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

    /// As URLs have it.
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

/// A workload, whatever its kind. What a kind does not have is zero, empty or `None`. It is serializable to be kept small, and
/// without the key by which it is found then.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkloadFacts {
    #[serde(skip)]
    pub key: WorkloadKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    /// It is being deleted.
    pub deleting: bool,
    pub wishes: Option<Box<Wishes>>,
    /// What it carries of its diagnosis; not kept here.
    #[serde(skip)]
    pub carried: Option<Carried>,
    pub owner: Option<Owner>,
    /// What applies it again and again, by its labels and annotations.
    pub manager: Option<Box<Manager>>,
    pub generation: i64,
    /// The generation that its status is about, where the kind says so.
    pub observed_generation: Option<i64>,
    /// Of a Deployment: its rollout is held by hand.
    pub paused: bool,
    /// `spec.replicas`, a DaemonSet's `desiredNumberScheduled`, a Job's `completions`.
    pub desired: i64,
    /// Pods that there are: `status.replicas`, a DaemonSet's `currentNumberScheduled`, a Job's `active`; of a CronJob the
    /// Jobs that run.
    pub current: i64,
    pub ready: i64,
    /// Pods that are not available: `unavailableReplicas`, `numberUnavailable`.
    pub unavailable: i64,
    /// Pods of the newest template, where the workload counts them.
    pub updated: i64,
    /// A Job's `spec.backoffLimit` and `status.failed`.
    pub backoff_limit: Option<i64>,
    pub failed: i64,
    pub succeeded: i64,
    pub suspended: bool,
    pub conditions: Vec<Condition>,
    /// Seconds of `progressDeadlineSeconds`, where it has one.
    pub progress_deadline: Option<i64>,
    /// `spec.selector.matchLabels`.
    pub selector: Labels,
    pub template: Option<Box<TemplateFacts>>,
    /// What only its kind has.
    pub own: OwnFacts,
    /// A Deployment's own: those with pods asked for, and the two newest revisions; newest first.
    pub replica_sets: Vec<ReplicaSetFacts>,
    /// The templates that a StatefulSet or DaemonSet has and had of late; newest first.
    pub revisions: Vec<RevisionFacts>,
    /// For a CronJob, when a later run succeeded (`status.lastSuccessfulTime`).
    pub last_successful: Option<Timestamp>,
}

/// Of a workload that is well, what a Service sees of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    pub key: WorkloadKey,
    pub desired: i64,
    /// Of its pods.
    pub labels: Labels,
    /// Of its pods: `http/TCP`.
    pub ports: BTreeSet<Arc<str>>,
}

/// What only one kind of workload has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OwnFacts {
    #[default]
    None,
    StatefulSet(StatefulSetFacts),
    DaemonSet(DaemonSetFacts),
    Job(JobFacts),
    CronJob(Box<CronJobFacts>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatefulSetFacts {
    /// `podManagementPolicy: OrderedReady`, the default: one pod after the other.
    pub ordered: bool,
    /// `updateStrategy: OnDelete`.
    pub on_delete: bool,
    /// Pods below this ordinal keep the old template.
    pub partition: i64,
    /// The ordinal of the first pod.
    pub first_ordinal: i64,
    pub current_revision: String,
    pub update_revision: String,
}

impl StatefulSetFacts {
    /// Its pods do not all have the newest template yet, and will.
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
    /// Of an Indexed one, as it tells them: `1,3-5`.
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
}

impl WorkloadFacts {
    /// What a Service sees of it, where its kind serves and its template is known.
    pub fn labelled(&self) -> Option<Labelled> {
        let serves = matches!(&*self.key.kind, "Deployment" | "StatefulSet" | "DaemonSet");
        let template = self.template.as_ref().filter(|_| serves)?;
        let ports = template.named_ports.clone();
        Some(Labelled { key: self.key.clone(), desired: self.desired, labels: template.labels.clone(), ports })
    }

    /// The workload above it: a `CronJob` above its Job.
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

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    pub fn condition_is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.status == "True")
    }

    /// Whether its progressDeadlineSeconds are over.
    pub fn has_given_up(&self) -> bool {
        self.condition("Progressing").is_some_and(is_timed_out)
    }

    /// Whether it is the pods of this `ReplicaSet` that it has given up waiting for.
    pub fn has_given_up_on(&self, replica_set: &str) -> bool {
        let names = |message: &str| message.split('"').nth(1) == Some(replica_set);
        self.condition("Progressing").is_some_and(|c| is_timed_out(c) && names(&c.message))
    }

    /// A Job that has succeeded, or is about to be marked so.
    pub fn is_complete(&self) -> bool {
        self.condition_is_true("Complete") || self.condition_is_true("SuccessCriteriaMet")
    }

    /// Its status is about an older generation: its controller has not seen the present one yet.
    pub fn is_stale(&self) -> bool {
        self.observed_generation.is_some_and(|observed| observed < self.generation)
    }

    /// The workload is as it wants to be: there is nothing to judge. A rollout in progress is not settled, and is no
    /// failure either. What its pods are said to suffer from is not looked at.
    pub fn is_settled(&self) -> bool {
        if self.deleting {
            return true;
        }
        match &*self.key.kind {
            "Job" => self.suspended || self.is_complete(),
            // Its status does not tell of a run that should have been and was not.
            "CronJob" => self.suspended,
            _ => !self.is_stale() && self.has_its_pods() && !self.complains(),
        }
    }

    fn has_its_pods(&self) -> bool {
        let whole = self.ready >= self.desired && self.unavailable <= 0 && self.current == self.desired;
        whole && self.updated >= self.to_update()
    }

    /// How many pods should have the newest template by now.
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

    /// Whether this is its newest template: the name of a ReplicaSet, or a `controller-revision-hash`. `None`: nothing tells.
    pub fn is_newest(&self, template: &str) -> Option<bool> {
        match &self.own {
            OwnFacts::StatefulSet(set) if set.update_revision.is_empty() => None,
            OwnFacts::StatefulSet(set) => Some(set.is_update(template)),
            OwnFacts::DaemonSet(_) => self.revisions.first().map(|newest| newest.is_called(template)),
            _ => self.replica_sets.first().map(|newest| *newest.name == *template),
        }
    }

    /// Of a pod of a StatefulSet: `2` of `db-2`.
    pub fn ordinal(&self, pod: &str) -> Option<i64> {
        pod.strip_prefix(&*self.key.name)?.strip_prefix('-')?.parse().ok()
    }

    /// `updateStrategy: OnDelete`: a pod gets the new template when somebody deletes it.
    pub fn is_updated_on_delete(&self) -> bool {
        match &self.own {
            OwnFacts::StatefulSet(set) => set.on_delete,
            OwnFacts::DaemonSet(set) => set.on_delete,
            _ => false,
        }
    }

    /// Its own conditions say that something is amiss.
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
    pub template: Option<Box<TemplateFacts>>,
}

impl RevisionFacts {
    /// Whether this is the template of a pod with this `controller-revision-hash`: a StatefulSet writes the whole name
    /// there, a DaemonSet its end.
    pub fn is_called(&self, hash: &str) -> bool {
        is_called(&self.name, hash)
    }
}

fn is_timed_out(progressing: &Condition) -> bool {
    progressing.status == "False" && progressing.reason == "ProgressDeadlineExceeded"
}

/// Whether a ControllerRevision of this name is meant, by it or by the hash in it.
fn is_called(name: &str, hash: &str) -> bool {
    name.strip_suffix(hash).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}

/// The template of pods, as far as two of them are compared: names and texts, never the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateFacts {
    pub labels: Labels,
    /// Init containers first.
    pub containers: Vec<ContainerTemplate>,
    /// Named in variables and volumes.
    pub config_maps: BTreeSet<String>,
    pub secrets: BTreeSet<String>,
    pub claims: BTreeSet<String>,
    pub service_account: String,
    pub node_selector: Labels,
    /// Those that a Service can lead to by name: `http/TCP`.
    pub named_ports: BTreeSet<Arc<str>>,
}

/// A container of a template. Probes and resources are each one text, the same for the same meaning.
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
    /// Names of variables.
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
    fn a_rollout_in_progress_is_not_settled() {
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
    fn a_stateful_set_below_its_partition_is_settled() {
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
    fn a_job_is_settled_when_it_is_complete_or_suspended() {
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
