//! What the judgement on a workload may look at, gathered at one moment, and what comes of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::{
    CauseCount, Confidence, ContainerType, Evidence, PodCounts, Remedy, Root, Serving, Severity, TemplateChange,
    WorkloadDiagnosisStatus,
};
use crate::diagnosis::{Category, Diagnosis, Language, Thresholds};
use crate::facts::{EventFacts, PodFacts, ServiceFacts, Timestamp, WorkloadFacts, WorkloadKey};

/// One workload and what is known around it, at `now`.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadCase<'a> {
    pub workload: &'a WorkloadFacts,
    /// Its pods that have an Active diagnosis, by name.
    pub failing: &'a [FailingPod],
    /// Templates whose pods have failed since the workload did, whether or not they are still there.
    pub failed: &'a [String],
    /// When one of its pods is looked at again that is not ready, and not said to fail yet: soon, or its probe fails.
    pub undecided: Option<Timestamp>,
    /// Scheduling gates that its pods wait behind.
    pub gates: &'a [String],
    /// Its pods are thrown out (evicted, shut down, rejected) again and again: that others take their place is no recovery.
    pub loses_pods: bool,
    /// Of a Job or `CronJob`: its pods that were deleted while they failed.
    pub gone: &'a [GonePod],
    /// Of all its pods that are not over, how many are Ready, by the object that made them (a `ReplicaSet`; the workload
    /// itself, where it makes its pods). `None`: it has none. Its own word comes later, and was looked up before.
    pub ready: Option<&'a [(Arc<str>, u32)]>,
    /// Of a `CronJob`: its Jobs that are not settled.
    pub jobs: &'a [WorkloadFacts],
    /// Events that are not Normal, about it or about a Job or `ReplicaSet` of its own, oldest first.
    pub events: &'a [EventFacts],
    /// Services that are meant for it and do not select its pods.
    pub strays: &'a [StrayService],
    /// Services that select its pods. `None`: not looked up.
    pub services: Option<&'a [ServiceFacts]>,
    pub thresholds: &'a Thresholds,
    /// Since when the workload has been in its present state (conditions, generation), as we saw it; at our start, as the
    /// object says.
    pub since: Timestamp,
    /// When we saw it in that state first: what its pods say may come later.
    pub seen: Timestamp,
    /// What is told of it, as long as that is Active.
    pub told: Option<&'a WorkloadDiagnosisStatus>,
    pub now: Timestamp,
}

impl WorkloadCase<'_> {
    pub fn language(&self) -> Language {
        self.thresholds.language
    }
}

/// A pod with an Active diagnosis, as much of it as its workload's tells.
#[derive(Debug, Clone, PartialEq)]
pub struct FailingPod {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// The `ReplicaSet` that made it, or the hash of its revision.
    pub template: Option<Arc<str>>,
    pub node: Option<Arc<str>>,
    pub cause: String,
    pub category: Category,
    pub container: Option<String>,
    pub container_type: Option<ContainerType>,
    pub severity: Severity,
    pub confidence: Confidence,
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub root: Option<Root>,
    pub since: Option<Timestamp>,
    /// It is Ready now, and its diagnosis only waits to be sure of it.
    pub ready: bool,
    /// Nothing runs there again.
    pub over: bool,
    pub restarts: u32,
}

impl FailingPod {
    /// A pod as it was diagnosed just now.
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
            summary: found.summary,
            remedies: found.remedies,
            root: found.root,
            since: None,
            ready: pod.is_ready(),
            over: pod.is_over(),
            restarts: pod.containers.iter().map(|container| container.restart_count).max().unwrap_or(0),
        }
    }
}

/// A pod that is not there any more, as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct GonePod {
    pub pod: FailingPod,
    pub at: Timestamp,
}

/// A Service that reaches nobody, and the workload that it is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayService {
    pub service: Arc<str>,
    pub workload: WorkloadKey,
    pub apart: Apart,
}

/// Names of ports with their protocols: `http/TCP`.
pub type Ports = BTreeSet<Arc<str>>;

/// What keeps a Service from its workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apart {
    /// Its selector matches nothing for this label.
    Label {
        key: String,
        wants: String,
        /// The workload's own value; `None`: its pods have no such label.
        has: Option<String>,
    },
    /// Its ports lead to names that no port of the pods has: `http/TCP`.
    Ports {
        wants: Ports,
        has: Ports,
        /// Its endpoints are ready, and have no port.
        proven: bool,
    },
}

/// The judgement on a workload, and when to ask again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkloadJudged {
    pub failure: Option<Box<WorkloadFailure>>,
    pub wake: Option<Timestamp>,
    /// Nothing shows what is wrong now, and nothing shows that what was told is over.
    pub stands: bool,
}

impl WorkloadJudged {
    pub(super) fn failing(failure: Box<WorkloadFailure>) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// What was told still holds.
    pub(super) fn stands() -> Self {
        Self { stands: true, ..Self::default() }
    }

    /// Nothing yet; ask again then.
    pub(super) fn later(wake: Timestamp) -> Self {
        Self { wake: Some(wake), ..Self::default() }
    }
}

/// What is wrong with a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadFailure {
    /// The pods' cause where they have one, else one of those that only a workload has.
    pub cause: String,
    pub category: Category,
    pub problem: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    pub container: Option<String>,
    /// Without the workload's name; cleaned and cut when it is told.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    pub pods: PodCounts,
    pub causes: Vec<CauseCount>,
    pub serving: Option<Serving>,
    pub template_changes: Vec<TemplateChange>,
    pub root: Option<Root>,
    /// No Warning Event is owed for it.
    pub quiet: bool,
    /// Nobody serves any more because a node is down, which tells that itself: it is worse, and no news.
    pub worse_by_node: bool,
    /// Since when it fails, as its pods tell, or the workload's own words and Events.
    pub since: Option<Timestamp>,
}
