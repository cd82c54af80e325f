//! What lies around a pod: its workload, its siblings and the Services that select it.
//!
//! None of it is watched. A diagnosis says what it [`Want`]s to know; `cluster::lookup` (or the dump, offline) answers
//! with what it [`Looked`] up.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Container, EventFacts, Labels, ObjectKey, PodFacts, State, Timestamp, Wishes, WorkloadFacts, WorkloadKey};
use crate::api::Root;

/// A fact that a diagnosis lacks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Want {
    /// The workload itself; for a Deployment its ReplicaSets as well.
    Workload(WorkloadKey),
    /// All Services of a namespace with their endpoints.
    Services(Arc<str>),
    /// The pods bound to a node that is not ready: of those that looked well until then, only a few words were kept.
    PodsOn(Arc<str>),
    /// What an ended run wrote last. Answered only where somebody has allowed it.
    Log(Box<LogKey>),
    /// All Services of a namespace with their endpoints, and the labels of all pods there: whether a Service that seems to
    /// reach nobody does.
    Reached(Arc<str>),
    /// The claims of a namespace that have no volume, with their Events and the classes that the cluster offers: what
    /// keeps a claim from its volume is told there, and to the pod only that it is so.
    Claims(Arc<str>),
}

/// The log of a container's run that ended last. The exit code stands for the run: what ends alike within minutes is
/// taken to have said the same, and is not read again at each restart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogKey {
    pub pod: ObjectKey,
    pub uid: Arc<str>,
    pub container: Arc<str>,
    pub exit_code: i32,
    pub run: EndedRun,
}

/// Where the log of a run that ended is to be had. That changes while the kubelet goes on, and the answer stands: all are
/// equal.
#[derive(Debug, Clone, Copy)]
pub struct EndedRun {
    /// Another run has taken its place.
    pub previous: bool,
    /// Whatever was written later is another run's.
    pub ended: Option<Timestamp>,
}

impl PartialEq for EndedRun {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EndedRun {}

impl Hash for EndedRun {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Ord for EndedRun {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl PartialOrd for EndedRun {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl LogKey {
    /// `None` where no run of the container has ended.
    pub fn of(pod: &PodFacts, container: &Container) -> Option<Self> {
        let end = container.last_end()?;
        let previous = !matches!(container.state, State::Terminated(_));
        Some(Self {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            container: container.name.clone(),
            exit_code: end.exit_code,
            run: EndedRun { previous, ended: end.finished_at },
        })
    }
}

/// The answer to a [`Want`]. `None`: it does not exist.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    Workload(Option<Box<WorkloadFacts>>),
    Services(Vec<ServiceFacts>),
    Reached(ReachedFacts),
    Pods(Vec<PodFacts>),
    /// The last lines of a run, masked; empty where nothing is kept of it.
    Log(Arc<str>),
    Claims(ClaimsFacts),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceFacts {
    pub name: Arc<str>,
    pub created: Option<Timestamp>,
    /// `type: ExternalName`: it is a name for something elsewhere, and has no endpoints.
    pub external: bool,
    pub selector: Labels,
    /// The ports of pods that its own lead to, where all of those are named: `http/TCP`.
    pub target_ports: BTreeSet<Arc<str>>,
    pub ready_endpoints: u32,
    /// Whether an endpoint that is ready has a port. `None`: none is known.
    pub endpoints_have_ports: Option<bool>,
}

impl ServiceFacts {
    pub fn selects(&self, labels: &Labels) -> bool {
        !self.selector.is_empty() && self.selector.iter().all(|(k, v)| labels.get(k) == Some(v))
    }
}

/// All Services of a namespace, and the labels of all pods there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReachedFacts {
    pub services: Vec<ServiceFacts>,
    pub pods: Vec<Labels>,
}

/// Claims without a volume, and what they could ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimsFacts {
    pub unbound: Vec<ClaimFacts>,
    /// `None`: not known (a dump that holds none).
    pub classes: Option<Arc<[ClassFacts]>>,
}

/// A PersistentVolumeClaim that is not bound.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFacts {
    pub name: Arc<str>,
    pub class: ClaimClass,
    /// `spec.volumeName`: it asks for this volume and no other.
    pub volume: Option<Arc<str>>,
    /// Oldest first; those that tell how it gets its volume.
    pub events: Vec<EventFacts>,
}

/// The StorageClass that a claim asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimClass {
    Named(Arc<str>),
    /// The empty name: a volume without a class, made by hand.
    Without,
    /// None is named, and there was no default to fill in.
    Unset,
    /// Only the claim's Events are known.
    Unknown,
}

/// A StorageClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassFacts {
    pub name: Arc<str>,
    pub provisioner: Arc<str>,
    pub is_default: bool,
    /// `WaitForFirstConsumer`: a volume is made only for the node that the scheduler has chosen.
    pub waits_for_pod: bool,
}

/// The other pods of the same workload, counted in the world's own view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Siblings {
    /// All pods of the workload that are not over, this one included.
    pub total: u32,
    pub ready: u32,
    /// Ready pods of the same ReplicaSet (the same template) as this pod.
    pub same_template_ready: u32,
    pub other_template_ready: u32,
    /// Pods of the workload with a diagnosis, or not ready past a threshold.
    pub failing: u32,
    /// Pods of the workload that were thrown out (evicted, shut down, rejected) lately: the newest few are counted.
    pub thrown_out_lately: u32,
    /// When the first of those ended.
    pub thrown_out_since: Option<Timestamp>,
}

impl Siblings {
    /// For how long a pod that was thrown out counts, in seconds.
    pub const LATELY: i64 = 1800;
    /// So many are a loop: what replaces them for a moment is no recovery.
    const LOOP: u32 = 3;

    pub fn are_thrown_out_again_and_again(&self) -> bool {
        self.thrown_out_lately >= Self::LOOP
    }
}

/// All that is known around one pod at the time of its diagnosis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    pub siblings: Siblings,
    /// `None`: not looked up yet. `Some(None)`: it does not exist.
    pub workload: Option<Option<WorkloadFacts>>,
    /// The immediate owner where it is not the top (a CronJob's Job).
    pub job: Option<Option<WorkloadFacts>>,
    /// `None`: not looked up yet. Only those that select the pod.
    pub services: Option<Vec<ServiceFacts>>,
    /// What the ended runs of containers wrote last, by container, where it was read.
    pub logs: BTreeMap<Arc<str>, Arc<str>>,
    /// `None`: not looked up. Only those that the pod uses.
    pub claims: Option<ClaimsFacts>,
    /// Pulls of other pods that the pod's own may have to wait for.
    pub queue: Option<PullQueue>,
    /// The pod's own, its workload's, and those that hold for all.
    pub wishes: Wishes,
    /// Its Deployment has waited for as long as it means to, and says so of the pods of this template.
    pub is_given_up: bool,
}

/// Pulls that get no answer: a node pulls one image after the other, and each holds up the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullQueue {
    pub registry: Root,
    /// They are of the pod's own workload; else of its node.
    pub of_workload: bool,
}

impl Surroundings {
    /// The pod's Job, where it was looked up and exists.
    pub fn known_job(&self) -> Option<&WorkloadFacts> {
        self.job.as_ref()?.as_ref()
    }

    /// The top workload, where it was looked up and exists.
    pub fn known_workload(&self) -> Option<&WorkloadFacts> {
        self.workload.as_ref()?.as_ref()
    }
}
