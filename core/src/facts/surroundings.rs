//! Surroundings of a pod: its workload, its siblings and the Services that select it.
//!
//! They are not watched. A diagnosis returns the [`Lookup`]s that it needs; `cluster::lookup` (or the dump, offline)
//! returns the [`LookupResult`]s.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{
    Container, EventFacts, Labels, Names, NamesOf, ObjectKey, Overrides, PodFacts, State, Timestamp, WorkloadFacts,
    WorkloadKey,
};
use crate::api::Root;

/// A fact that a diagnosis needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lookup {
    /// The workload. For a Deployment also its ReplicaSets.
    Workload(WorkloadKey),
    /// All Services of a namespace with their endpoints.
    Services(Arc<str>),
    /// The pods bound to a node that is not ready. Only summaries are kept of pods that were healthy before.
    PodsOn(Arc<str>),
    /// The end of the log of a terminated run. Only read if this is enabled.
    Log(Box<LogKey>),
    /// All Services of a namespace with their endpoints, and the labels of all pods there, to verify that a Service has
    /// no ready endpoints.
    Reached(Arc<str>),
    /// The unbound claims of a namespace with their Events, and the StorageClasses of the cluster. The Events of a
    /// claim state why it is unbound; the pod only shows that it is.
    Claims(Arc<str>),
    /// Names that exist, for a reference to one that does not.
    Names(NamesOf),
}

/// The log of the last terminated run of a container. It is identified by the exit code: runs that terminate alike
/// within minutes are assumed to have the same log, which is not read again after each restart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogKey {
    pub pod: ObjectKey,
    pub uid: Arc<str>,
    pub container: Arc<str>,
    pub exit_code: i32,
    pub run: EndedRun,
}

/// Where to read the log of a terminated run. This changes over time, but the result does not, so all values are equal.
#[derive(Debug, Clone, Copy)]
pub struct EndedRun {
    /// A newer run has started.
    pub previous: bool,
    /// Earlier lines belong to another run.
    pub started: Option<Timestamp>,
    /// Later lines belong to another run.
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
    /// `None` if no run of the container has terminated.
    pub fn of(pod: &PodFacts, container: &Container) -> Option<Self> {
        let end = container.last_end()?;
        let previous = !matches!(container.state, State::Terminated(_));
        Some(Self {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            container: container.name.clone(),
            exit_code: end.exit_code,
            run: EndedRun { previous, started: end.started_at, ended: end.finished_at },
        })
    }
}

/// The result of a [`Lookup`]. `None`: the object does not exist.
#[derive(Debug, Clone, PartialEq)]
pub enum LookupResult {
    Workload(Option<Box<WorkloadFacts>>),
    Services(Vec<ServiceFacts>),
    Reached(ReachedFacts),
    Pods(Vec<PodFacts>),
    /// The last lines of a run, masked. Empty if no log is kept.
    Log(Arc<str>),
    Claims(ClaimsFacts),
    Names(Arc<[Arc<str>]>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceFacts {
    pub name: Arc<str>,
    pub created: Option<Timestamp>,
    /// `type: ExternalName`: an alias for an external name, without endpoints.
    pub external: bool,
    pub selector: Labels,
    /// Target ports of the Service, if all of them are named: `http/TCP`.
    pub target_ports: BTreeSet<Arc<str>>,
    pub ready_endpoints: u32,
    /// Whether a ready endpoint has a port. `None`: no ready endpoint is known.
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

/// Unbound claims, and the classes that they could use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimsFacts {
    pub unbound: Vec<ClaimFacts>,
    /// `None`: unknown (a dump without classes).
    pub classes: Option<Arc<[ClassFacts]>>,
}

/// An unbound PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFacts {
    pub name: Arc<str>,
    pub class: ClaimClass,
    /// `spec.volumeName`: the claim only binds to this volume.
    pub volume: Option<Arc<str>>,
    /// `spec.resources.requests.storage`, in bytes.
    pub size: Option<i64>,
    /// Events about binding and provisioning, oldest first.
    pub events: Vec<EventFacts>,
}

/// The StorageClass of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimClass {
    Named(Arc<str>),
    /// The empty name: a statically provisioned volume without a class.
    Without,
    /// No class is set, and there was no default class.
    Unset,
    /// Only the Events of the claim are known.
    Unknown,
}

/// A StorageClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassFacts {
    pub name: Arc<str>,
    pub provisioner: Arc<str>,
    pub is_default: bool,
    /// `WaitForFirstConsumer`: a volume is provisioned only after the scheduler has chosen a node.
    pub waits_for_pod: bool,
}

/// Siblings: the other pods of the same workload, counted from the watched pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Siblings {
    /// All unfinished pods of the workload, including this one.
    pub total: u32,
    pub ready: u32,
    /// Ready pods of the same ReplicaSet (the same template).
    pub same_template_ready: u32,
    pub other_template_ready: u32,
    /// Pods of the workload with a diagnosis, or not ready for longer than a threshold.
    pub failing: u32,
    /// Pods of the workload that were evicted, shut down or rejected recently. Only the newest few are counted.
    pub thrown_out_lately: u32,
    /// Time of the first of those terminations.
    pub thrown_out_since: Option<Timestamp>,
}

impl Siblings {
    /// Seconds for which such a pod counts as recent.
    pub const LATELY: i64 = 1800;
    /// Number of such pods that make a loop. In a loop, a ready replacement is not a recovery.
    const LOOP: u32 = 3;

    pub fn are_thrown_out_again_and_again(&self) -> bool {
        self.thrown_out_lately >= Self::LOOP
    }
}

/// All known facts about the surroundings of one pod at the time of its diagnosis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    pub siblings: Siblings,
    /// `None`: not looked up yet. `Some(None)`: it does not exist.
    pub workload: Option<Option<WorkloadFacts>>,
    /// The immediate owner if it is not the top-level workload (the Job of a CronJob).
    pub job: Option<Option<WorkloadFacts>>,
    /// `None`: not looked up yet. Only Services that select the pod.
    pub services: Option<Vec<ServiceFacts>>,
    /// Ends of the logs of terminated runs, by container, if they were read.
    pub logs: BTreeMap<Arc<str>, Arc<str>>,
    /// `None`: not looked up. Only claims that the pod uses.
    pub claims: Option<ClaimsFacts>,
    /// Names that exist, as far as they were looked up.
    pub names: Names,
    /// Image pulls of other pods that can block those of this pod.
    pub queue: Option<PullQueue>,
    /// A failing pod of the network plugin on the same node.
    pub network_agent: Option<NetworkAgent>,
    /// Merged overrides of the pod, its workload and the operator.
    pub overrides: Overrides,
    /// The Deployment has exceeded its progress deadline with the template of this pod.
    pub is_given_up: bool,
    /// Warning Events of autoscalers that failed to add a node for this pod, oldest first.
    pub scale_up_failures: Vec<EventFacts>,
}

/// A pod of the network plugin that fails on the node of this pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkAgent {
    pub pod: ObjectKey,
    /// Cause of its diagnosis.
    pub cause: Cow<'static, str>,
}

impl NetworkAgent {
    /// DaemonSets of network plugins, by the names in their own manifests.
    const NAMES: [&str; 14] = [
        "antrea-agent",
        "aws-node",
        "azure-cns",
        "calico-node",
        "canal",
        "cilium",
        "kindnet",
        "kube-flannel-ds",
        "kube-multus-ds",
        "kube-ovn-cni",
        "kube-router",
        "multus",
        "ovnkube-node",
        "weave-net",
    ];

    /// Whether the workload is a DaemonSet of a network plugin.
    pub fn is_one(workload: &WorkloadKey) -> bool {
        &*workload.kind == "DaemonSet" && Self::NAMES.contains(&&*workload.name)
    }
}

/// Hanging image pulls. A node pulls images one after the other, so each blocks the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullQueue {
    pub registry: Root,
    /// The pulls belong to the pod's own workload. Otherwise to other pods of its node.
    pub of_workload: bool,
}

impl Surroundings {
    /// The Job of the pod, if it was looked up and exists.
    pub fn known_job(&self) -> Option<&WorkloadFacts> {
        self.job.as_ref()?.as_ref()
    }

    /// The top-level workload, if it was looked up and exists.
    pub fn known_workload(&self) -> Option<&WorkloadFacts> {
        self.workload.as_ref()?.as_ref()
    }
}
