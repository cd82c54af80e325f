//! What a Pod says of itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Carried, Labels, ObjectKey, Resources, Timestamp, Wishes};
use crate::api::ContainerType;

/// A Pod, as far as a rule reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodFacts {
    /// Where facts are kept packed, it stands beside them.
    #[serde(skip)]
    pub key: ObjectKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`: the moment of the request plus the grace period.
    pub deletion: Option<Timestamp>,
    /// Deleted without a grace period (any more): by force, or the kubelet is done with it.
    pub released: bool,
    pub finalizers: Vec<String>,
    /// Those of a template's pods are one copy.
    pub labels: Labels,
    /// It mirrors a static pod, which a kubelet has from a file on its node, and this is that one's UID
    /// (`kubernetes.io/config.mirror`): the kubelet's Events of it carry it.
    pub static_uid: Option<Arc<str>>,
    pub wishes: Option<Box<Wishes>>,
    /// What it carries of its diagnosis; no rule reads it, and it is not kept here.
    #[serde(skip)]
    pub carried: Option<Carried>,
    /// The controller among the owner references.
    pub owner: Option<Owner>,

    pub node_name: Option<Arc<str>>,
    pub restart_policy: RestartPolicy,
    pub scheduler_name: String,
    pub scheduling_gates: Vec<String>,
    /// The ResourceClaims (or their templates) that `spec.resourceClaims` asks for.
    pub resource_claims: Vec<String>,
    pub node_selector: Labels,
    /// `requiredDuringSchedulingIgnoredDuringExecution` of the node affinity; the terms are alternatives.
    pub node_affinity: Vec<SelectorTerm>,
    /// Required pod affinity and anti-affinity; a preferred one never keeps a pod from running.
    pub pod_affinity: Vec<PodTerm>,
    pub pod_anti_affinity: Vec<PodTerm>,
    /// Topology keys of the spread constraints that must hold (`DoNotSchedule`).
    pub spread_over: Vec<String>,
    pub tolerations: Vec<Toleration>,
    pub priority: i32,
    pub host_network: bool,
    pub overhead: Resources,
    /// Pod-level `spec.resources.requests` (1.34+), which replace the containers' sum where set.
    pub pod_requests: Resources,
    pub termination_grace_seconds: i64,
    pub active_deadline_seconds: Option<i64>,
    pub readiness_gates: Vec<String>,
    pub service_account: String,
    pub image_pull_secrets: Vec<String>,
    pub volumes: Vec<Volume>,

    /// Init containers and sidecars in the order of the spec, then app containers, then ephemeral ones.
    pub containers: Vec<Container>,

    pub phase: Phase,
    pub reason: String,
    pub message: String,
    pub start_time: Option<Timestamp>,
    pub nominated_node: Option<Arc<str>>,
    pub conditions: Vec<Condition>,
}

impl PodFacts {
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    pub fn condition_is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.status == "True")
    }

    /// Names of the claims that its volumes use.
    pub fn claims(&self) -> impl Iterator<Item = &str> {
        self.volumes.iter().filter_map(|v| match &v.source {
            VolumeSource::Claim { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// What a volume of this name is made of.
    pub fn volume_source(&self, name: &str) -> Option<&VolumeSource> {
        self.volumes.iter().find(|volume| volume.name == name).map(|volume| &volume.source)
    }

    /// `Ready=True` in the pod's own conditions.
    pub fn is_ready(&self) -> bool {
        self.condition_is_true("Ready")
    }

    /// Whether any container of it was started more than once.
    pub fn has_restarted(&self) -> bool {
        self.containers.iter().any(|container| container.restart_count > 0)
    }

    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|c| &*c.name == name)
    }

    pub fn of_type(&self, kind: ContainerType) -> impl Iterator<Item = &Container> {
        self.containers.iter().filter(move |c| c.kind == kind)
    }

    /// Whether the pod has failed, or is about to: nothing of it runs or will be started again, and the kubelet only clears
    /// up before it says so (a second or two).
    pub fn has_failed(&self) -> bool {
        if self.phase == Phase::Failed {
            return true;
        }
        let apps = || self.of_type(ContainerType::App);
        let ended_badly = apps().any(|c| matches!(&c.state, State::Terminated(end) if end.exit_code != 0));
        let stay_ended = apps().all(|c| {
            let policy = c.effective_restart_policy(self.restart_policy);
            matches!(c.state, State::Terminated(_)) && policy == RestartPolicy::Never && !c.has_restart_rules
        });
        ended_badly && stay_ended
    }

    /// `Succeeded` or `Failed`: nothing runs here again.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// When its last run ended, or it was seen to be not ready any more; one that a node rejected has its start only.
    pub fn over_since(&self) -> Option<Timestamp> {
        let ends = self.containers.iter().filter_map(|c| c.last_end()?.finished_at);
        let unready = self.condition("Ready").and_then(|ready| ready.last_transition);
        ends.max().or(unready).or(self.start_time).filter(|_| self.is_over())
    }

    /// When a container that runs now was started last.
    pub fn last_start(&self) -> Option<Timestamp> {
        let starts = self.containers.iter().filter_map(|c| match c.state {
            State::Running { started_at } => started_at,
            _ => None,
        });
        starts.max()
    }

    /// Whether it is but the mirror of a static pod.
    pub fn is_mirror(&self) -> bool {
        self.static_uid.is_some()
    }

    /// Whether a Job made this pod.
    pub fn is_of_job(&self) -> bool {
        self.owner.as_ref().is_some_and(|o| &*o.kind == "Job")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

impl RestartPolicy {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "Always" => Some(Self::Always),
            "OnFailure" => Some(Self::OnFailure),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    #[default]
    Unknown,
}

/// A condition of a Pod, a Node or a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
    pub last_transition: Option<Timestamp>,
}

/// One container: what was asked for, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Container {
    pub name: Arc<str>,
    pub kind: ContainerType,
    pub image: Arc<str>,
    pub image_pull_policy: String,
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub working_dir: Option<String>,
    pub ports: Vec<Port>,
    pub requests: Resources,
    /// CPU and memory that the kubelet has given it, where a resize is not done (yet) and they are not what it asks for.
    pub allocated: Option<Box<Resources>>,
    pub limits: Resources,
    pub env_refs: Vec<EnvRef>,
    pub mounts: Vec<Mount>,
    pub run_as_user: Option<i64>,
    /// The container's own, else the pod's.
    pub run_as_non_root: Option<bool>,
    pub liveness: Option<Box<Probe>>,
    pub readiness: Option<Box<Probe>>,
    pub startup: Option<Box<Probe>>,
    pub has_post_start: bool,
    /// The hook is no command but a request (httpGet, tcpSocket) to the container.
    pub post_start_is_request: bool,
    pub has_pre_stop: bool,
    /// The container's own policy (a sidecar's `Always`, or 1.34+), where it has one.
    pub restart_policy: Option<RestartPolicy>,
    /// Whether `restartPolicyRules` may restart it whatever the policy says (1.34+).
    pub has_restart_rules: bool,

    /// Whether the status names this container at all: before that the kubelet has said nothing of it.
    pub reported: bool,
    pub state: State,
    /// `lastState.terminated`: the run before the present one.
    pub last: Option<Terminated>,
    pub ready: bool,
    pub started: Option<bool>,
    pub restart_count: u32,
}

impl Container {
    /// The mount that holds what lies at `path`, or would; the innermost of several.
    pub fn mount_over(&self, path: &str) -> Option<&Mount> {
        let holds = |mount: &&Mount| {
            let rest = path.strip_prefix(mount.path.trim_end_matches('/'));
            !mount.path.is_empty() && rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.mounts.iter().filter(holds).max_by_key(|mount| mount.path.len())
    }

    /// The same, or the mount whose own place `path` is.
    pub fn mount_at(&self, path: &str) -> Option<&Mount> {
        self.mount_over(&format!("{}/", path.trim_end_matches('/')))
    }

    /// The run that ended last: the present state's, else `lastState`'s.
    pub fn last_end(&self) -> Option<&Terminated> {
        match &self.state {
            State::Terminated(t) => Some(t),
            _ => self.last.as_ref(),
        }
    }

    /// Runs that the status shows as ended, oldest first, each with its number: 1 is the container's first run.
    pub fn ends(&self) -> impl Iterator<Item = (Option<u32>, &Terminated)> {
        // While the container runs, or is about to be made anew, the restart that followed the last run is counted already.
        let last = match &self.state {
            State::Waiting { reason, .. } => {
                let counted = matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing");
                self.restart_count.saturating_add(u32::from(!counted))
            }
            State::Running { .. } | State::Terminated(_) => self.restart_count,
        };
        let present = match &self.state {
            State::Terminated(end) => Some((self.restart_count.saturating_add(1), end)),
            _ => None,
        };
        let ends = self.last.iter().map(move |end| (last, end)).chain(present);
        ends.map(|(number, end)| ((number > 0).then_some(number), end))
    }

    /// The field path of [`Self::last_end`], for evidence.
    pub fn last_end_path(&self) -> String {
        let part = if matches!(self.state, State::Terminated(_)) { "state" } else { "lastState" };
        format!("{}.{part}.terminated", self.status_path())
    }

    /// `status.containerStatuses[name]`, or the list that its type belongs to.
    pub fn status_path(&self) -> String {
        let list = match self.kind {
            ContainerType::App => "containerStatuses",
            ContainerType::Init | ContainerType::Sidecar => "initContainerStatuses",
            ContainerType::Ephemeral => "ephemeralContainerStatuses",
        };
        format!("status.{list}[{}]", self.name)
    }

    /// `spec.containers[name]`, or the list that its type belongs to.
    pub fn spec_path(&self) -> String {
        format!("spec.{}[{}]", self.spec_list(), self.name)
    }

    /// `containers`, `initContainers` or `ephemeralContainers`.
    pub fn spec_list(&self) -> &'static str {
        match self.kind {
            ContainerType::App => "containers",
            ContainerType::Init | ContainerType::Sidecar => "initContainers",
            ContainerType::Ephemeral => "ephemeralContainers",
        }
    }

    /// Reason and message, while the container waits.
    pub fn waiting(&self) -> Option<(&str, &str)> {
        match &self.state {
            State::Waiting { reason, message } => Some((reason, message)),
            _ => None,
        }
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub fn probe(&self, kind: ProbeKind) -> Option<&Probe> {
        match kind {
            ProbeKind::Liveness => self.liveness.as_deref(),
            ProbeKind::Readiness => self.readiness.as_deref(),
            ProbeKind::Startup => self.startup.as_deref(),
        }
    }

    /// The policy that decides whether a run that ended is started again.
    pub fn effective_restart_policy(&self, pod: RestartPolicy) -> RestartPolicy {
        match (self.restart_policy, self.kind) {
            (Some(own), _) => own,
            // An init container that ended well is never run again; one that failed is, unless the pod says Never.
            (None, ContainerType::Init) if pod == RestartPolicy::Always => RestartPolicy::OnFailure,
            (None, _) => pod,
        }
    }
}

/// Which container an Event or a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerRef {
    pub name: Arc<str>,
    pub kind: ContainerType,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// No state is reported: a container in Waiting without reason, or no status yet.
    Waiting {
        reason: String,
        message: String,
    },
    Running {
        started_at: Option<Timestamp>,
    },
    Terminated(Terminated),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminated {
    pub exit_code: i32,
    pub signal: Option<i32>,
    pub reason: String,
    pub message: String,
    /// Absent where the runtime wrote the epoch, as it does for a container that never ran.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

impl Terminated {
    /// How long the run took, in seconds, where both ends are known.
    pub fn ran_for(&self) -> Option<i64> {
        Some(super::seconds_between(self.started_at?, self.finished_at?))
    }

    /// The signal that ended it: reported, or told by an exit code above 128 (the kubelet never fills `signal`).
    pub fn ending_signal(&self) -> Option<i32> {
        self.signal.filter(|s| *s > 0).or_else(|| (129..=192).contains(&self.exit_code).then(|| self.exit_code - 128))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    pub name: String,
    pub number: i32,
    pub host_port: Option<i32>,
    pub protocol: String,
}

/// A host port that a pod claims on its node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    pub protocol: String,
    pub number: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    Liveness,
    Readiness,
    Startup,
}

impl ProbeKind {
    /// As in the kubelet's messages and in the spec's field names less `Probe`.
    pub fn lower(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
            Self::Startup => "startup",
        }
    }

    /// As `Unhealthy` Events begin: `Liveness probe failed: ...`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
            Self::Startup => "Startup",
        }
    }
}

/// A probe with the API server's defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// As its author wrote it, though Istio's agent asks in the kubelet's stead.
    pub handler: ProbeHandler,
    pub by_istio: bool,
    pub initial_delay: i64,
    pub timeout: i64,
    pub period: i64,
    pub success_threshold: i64,
    pub failure_threshold: i64,
    pub termination_grace: Option<i64>,
}

impl Probe {
    /// The seconds from a container's start to the moment when this probe has failed for good.
    pub fn budget(&self) -> i64 {
        self.initial_delay + self.period * self.failure_threshold.max(1)
    }
}

/// `port` is the text of the spec: a number, or the name of a container port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeHandler {
    Http { path: String, port: String, scheme: String },
    Tcp { port: String },
    Grpc { port: i32, service: String },
    Exec { command: Vec<String> },
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefKind {
    ConfigMap,
    Secret,
}

/// Where a volume is in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub volume: String,
    pub path: String,
    /// The part of the volume that is mounted; empty for all of it.
    pub sub_path: String,
}

/// An environment variable (or `envFrom`, without a key) that comes from a ConfigMap or a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvRef {
    pub variable: Option<String>,
    pub kind: RefKind,
    pub name: String,
    pub key: Option<String>,
    pub optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub name: String,
    pub source: VolumeSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum VolumeSource {
    ConfigMap {
        name: String,
        optional: bool,
    },
    Secret {
        name: String,
        optional: bool,
    },
    /// A claim; a generic ephemeral volume has the claim `<pod>-<volume>`.
    Claim {
        name: String,
        ephemeral: bool,
    },
    EmptyDir {
        size_limit: Option<i64>,
        in_memory: bool,
    },
    HostPath {
        path: String,
    },
    /// The ConfigMaps and Secrets of a projected volume.
    Projected {
        sources: Vec<VolumeSource>,
    },
    Image {
        reference: String,
    },
    /// Any other kind, by the name of its field.
    Other {
        kind: String,
    },
}

/// One term of a node selector: all its expressions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectorTerm {
    pub expressions: Vec<Expression>,
    /// `matchFields`; only `metadata.name` exists.
    pub fields: Vec<Expression>,
}

/// Other pods that a pod must be near, or must keep away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodTerm {
    /// As `kubectl get pods -l` takes it: `app=web,tier in (a,b)`. Empty: every pod.
    pub selector: String,
    pub topology_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expression {
    pub key: String,
    pub operator: Operator,
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    /// One that this version does not know: matches nothing.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toleration {
    /// Empty tolerates every key (with `Exists`).
    pub key: String,
    /// `Equal` (the default) or `Exists`.
    pub exists: bool,
    pub value: String,
    /// Empty tolerates every effect.
    pub effect: String,
    pub seconds: Option<i64>,
}
