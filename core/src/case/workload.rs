//! Input and result of the judgement of a workload at one point in time.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Category, Diagnosis, Remedy, Thresholds};
use crate::api::{
    CauseCount, Confidence, ContainerType, Evidence, PodCounts, Root, Serving, Severity, TemplateChange,
    WorkloadDiagnosisStatus,
};
use crate::facts::{EventFacts, Names, NamesOf, PodFacts, ServiceFacts, Timestamp, WorkloadFacts, WorkloadKey};
use crate::language::{HasLanguage, Language};

/// One workload and the facts about its surroundings at `now`.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadCase<'a> {
    pub workload: &'a WorkloadFacts,
    /// Its pods with an Active diagnosis, by name.
    pub failing: &'a [FailingPod],
    /// Templates whose pods have failed since the workload began to fail, including deleted pods.
    pub failed: &'a [String],
    /// Time of the next check of a pod that is not ready and has no diagnosis yet: at the latest when its probe has
    /// failed.
    pub undecided: Option<Timestamp>,
    /// Scheduling gates of its pods.
    pub gates: &'a [String],
    /// Its pods are repeatedly evicted, shut down or rejected, so that their replacement is not a recovery.
    pub repeatedly_removed: bool,
    /// For a Job or `CronJob`: failing pods that were deleted.
    pub gone: &'a [GonePod],
    /// Number of Ready pods that have not finished, by the object that created them (a `ReplicaSet`, or the workload
    /// itself). `None`: there are no pods. The status of the workload is updated later, so it can be out of date.
    pub ready: Option<&'a [(Arc<str>, u32)]>,
    /// For a `CronJob`: its unfinished Jobs.
    pub jobs: &'a [WorkloadFacts],
    /// For a custom resource: the objects that it controls, directly or not, the lowest first.
    pub owned: &'a [WorkloadFacts],
    /// Events other than Normal about the workload or its Jobs and `ReplicaSet`s, oldest first.
    pub events: &'a [EventFacts],
    /// Services that are meant for the workload and do not select its pods.
    pub orphans: &'a [UnmatchedService],
    /// Services that select its pods. `None`: not looked up.
    pub services: Option<&'a [ServiceFacts]>,
    /// Names that exist, as far as they were looked up.
    pub names: &'a Names,
    pub thresholds: &'a Thresholds,
    /// Start of the current state (conditions, generation) by our observation. If the state existed when the operator
    /// started, it is the time in the object.
    pub since: Timestamp,
    /// For a custom resource: since when a rule sees a failure in its fields.
    pub fields_since: Option<Timestamp>,
    /// Time when we first observed that state. Diagnoses of its pods may follow later.
    pub seen: Timestamp,
    /// The current diagnosis of the workload while it is Active.
    pub current: Option<&'a WorkloadDiagnosisStatus>,
    pub now: Timestamp,
}

impl<'a> WorkloadCase<'a> {
    /// An object that is judged by its own status: without pods and Services.
    pub fn of_status(
        workload: &'a WorkloadFacts,
        since: Timestamp,
        names: &'a Names,
        thresholds: &'a Thresholds,
        now: Timestamp,
    ) -> Self {
        Self {
            workload,
            failing: &[],
            failed: &[],
            undecided: None,
            gates: &[],
            repeatedly_removed: false,
            gone: &[],
            ready: None,
            jobs: &[],
            owned: &[],
            events: &[],
            orphans: &[],
            services: None,
            names,
            thresholds,
            since,
            fields_since: None,
            seen: since,
            current: None,
            now,
        }
    }

    pub fn language(&self) -> Language {
        self.thresholds.language
    }
}

/// The part of a pod's Active diagnosis that its workload needs.
#[derive(Debug, Clone, PartialEq)]
pub struct FailingPod {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// The `ReplicaSet` that created the pod, or its revision hash.
    pub template: Option<Arc<str>>,
    pub node: Option<Arc<str>>,
    pub cause: String,
    pub category: Category,
    pub container: Option<String>,
    pub container_type: Option<ContainerType>,
    pub severity: Severity,
    pub confidence: Confidence,
    /// Without the counts of restarts.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub root: Option<Root>,
    pub since: Option<Timestamp>,
    /// The pod is Ready, and its diagnosis only waits for the recovery period.
    pub ready: bool,
    /// The pod has finished and does not run again.
    pub over: bool,
    pub restarts: u32,
}

impl FailingPod {
    /// Creates it from a new diagnosis.
    pub fn of(pod: &PodFacts, found: Diagnosis) -> Self {
        Self {
            name: pod.key.name.clone(),
            uid: pod.uid.clone(),
            template: None,
            node: pod.node_name.clone(),
            cause: found.cause.to_owned(),
            category: found.category,
            container: found.container.as_deref().map(str::to_owned),
            container_type: found.container_type,
            severity: found.severity,
            confidence: found.confidence,
            summary: found.summary.head().to_owned(),
            remedies: found.remedies,
            root: found.root,
            since: None,
            ready: pod.is_ready(),
            over: pod.is_over(),
            restarts: pod.containers.iter().map(|container| container.restart_count).max().unwrap_or(0),
        }
    }
}

/// A deleted pod in its last state.
#[derive(Debug, Clone, PartialEq)]
pub struct GonePod {
    pub pod: FailingPod,
    pub at: Timestamp,
}

/// A Service without ready endpoints, and the workload that it is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedService {
    pub service: Arc<str>,
    pub workload: WorkloadKey,
    pub apart: Apart,
}

/// Port names with protocols: `http/TCP`.
pub type Ports = BTreeSet<Arc<str>>;

/// The mismatch between a Service and its workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apart {
    /// No pod matches this label of the selector.
    Label {
        key: String,
        expected: String,
        /// Value of the label on the pods of the workload. `None`: they lack it.
        has: Option<String>,
    },
    /// The target port names do not exist in the pods: `http/TCP`.
    Ports {
        expected: Ports,
        has: Ports,
        /// Its endpoints are ready and have no port.
        proven: bool,
    },
}

/// Result of the judgement of a workload, and the time to check again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkloadJudged {
    pub failure: Option<Box<WorkloadFailure>>,
    pub wake: Option<Timestamp>,
    /// The current diagnosis stays: nothing shows a failure now, and nothing shows a recovery.
    pub stands: bool,
}

impl WorkloadJudged {
    pub(crate) fn failing(failure: Box<WorkloadFailure>) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The current diagnosis stays.
    pub(crate) fn stands() -> Self {
        Self { stands: true, ..Self::default() }
    }

    /// No result yet; check again at this time.
    pub(crate) fn later(wake: Timestamp) -> Self {
        Self { wake: Some(wake), ..Self::default() }
    }
}

/// The failure of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadFailure {
    /// The cause of its pods, or else a cause that only workloads have.
    pub cause: String,
    pub category: Category,
    pub problem: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    pub container: Option<String>,
    /// Summary without the name of the workload. It is sanitized and cut when it is reported.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    /// Names that its remedies need.
    pub needed_names: Vec<NamesOf>,
    pub evidence: Vec<Evidence>,
    pub pods: PodCounts,
    pub causes: Vec<CauseCount>,
    pub serving: Option<Serving>,
    pub template_changes: Vec<TemplateChange>,
    pub root: Option<Root>,
    /// Resources of the quota that its pods exceed, such as `requests.memory`. Empty for other causes.
    pub exceeded: String,
    /// No Warning Event is emitted for it.
    pub quiet: bool,
    /// No pod serves because a node is down. The node's own diagnosis reports that, so the higher severity is no reason
    /// for another Event.
    pub worse_by_node: bool,
    /// Start of the failure, from its pods or from its own conditions and Events.
    pub since: Option<Timestamp>,
}

impl HasLanguage for WorkloadCase<'_> {
    fn language(&self) -> Language {
        WorkloadCase::language(self)
    }
}
