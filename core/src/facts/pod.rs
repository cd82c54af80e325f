//! Pod facts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Carried, Labels, ObjectKey, Overrides, Resources, Timestamp, UnhealthyDevice, VolumeFault};
use crate::api::ContainerType;

/// The fields of a Pod that rules read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodFacts {
    /// Stored separately if the facts are compressed.
    #[serde(skip)]
    pub key: ObjectKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`: the time of the request plus the grace period.
    pub deletion: Option<Timestamp>,
    /// Deleted with a grace period of zero: by force, or because the kubelet has finished.
    pub released: bool,
    pub finalizers: Vec<String>,
    /// Pods of the same template share one copy.
    pub labels: Labels,
    /// UID of the static pod that this pod mirrors (`kubernetes.io/config.mirror`). A kubelet reads static pods from
    /// files on its node, and its Events carry this UID.
    pub static_uid: Option<Arc<str>>,
    pub overrides: Option<Box<Overrides>>,
    /// The diagnosis annotation. No rule reads it, and it is not stored here.
    #[serde(skip)]
    pub carried: Option<Carried>,
    /// The controller among the owner references.
    pub owner: Option<Owner>,

    pub node_name: Option<Arc<str>>,
    pub restart_policy: RestartPolicy,
    pub scheduler_name: String,
    pub scheduling_gates: Vec<String>,
    /// ResourceClaims (or their templates) in `spec.resourceClaims`.
    pub resource_claims: Vec<String>,
    /// The PodGroup in `spec.schedulingGroup` (1.36+) or `spec.workloadRef` (1.35).
    pub pod_group: Option<Arc<str>>,
    pub node_selector: Labels,
    /// `requiredDuringSchedulingIgnoredDuringExecution` of the node affinity. The terms are alternatives.
    pub node_affinity: Vec<SelectorTerm>,
    /// Required pod affinity and anti-affinity. A preferred one never prevents scheduling.
    pub pod_affinity: Vec<PodTerm>,
    pub pod_anti_affinity: Vec<PodTerm>,
    /// Topology keys of the required spread constraints (`DoNotSchedule`).
    pub spread_over: Vec<String>,
    pub tolerations: Vec<Toleration>,
    pub priority: i32,
    pub host_network: bool,
    /// Whether the pod itself asks for the token of its ServiceAccount (`automountServiceAccountToken: true`).
    pub automounts_token: bool,
    pub overhead: Resources,
    /// Pod-level `spec.resources.requests` (1.34+), which override the sum of the containers.
    pub pod_requests: Resources,
    /// Pod-level `spec.resources.limits.memory` (1.34+), which all containers share.
    pub pod_memory_limit: Option<i64>,
    pub termination_grace_seconds: i64,
    pub active_deadline_seconds: Option<i64>,
    pub readiness_gates: Vec<String>,
    pub service_account: String,
    pub image_pull_secrets: Vec<String>,
    /// Names and values of `securityContext.sysctls`.
    pub sysctls: Vec<(String, String)>,
    /// Whether the pod itself has a seccomp profile of type Localhost, a file of the node.
    pub has_local_seccomp: bool,
    /// Whether the pod itself has an AppArmor profile of type Localhost, which its node must have loaded.
    pub has_local_app_armor: bool,
    pub volumes: Vec<Volume>,

    /// Init containers and sidecars in spec order, then app containers, then ephemeral containers.
    pub containers: Vec<Container>,

    pub phase: Phase,
    pub reason: String,
    pub message: String,
    pub start_time: Option<Timestamp>,
    pub nominated_node: Option<Arc<str>>,
    pub conditions: Vec<Condition>,
    pub volume_faults: Vec<VolumeFault>,
}

impl PodFacts {
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    pub fn condition_is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.status == "True")
    }

    /// Names of the claims of its volumes.
    pub fn claims(&self) -> impl Iterator<Item = &str> {
        self.volumes.iter().filter_map(|v| match &v.source {
            VolumeSource::Claim { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The source of the volume with this name.
    pub fn volume_source(&self, name: &str) -> Option<&VolumeSource> {
        self.volumes.iter().find(|volume| volume.name == name).map(|volume| &volume.source)
    }

    /// Whether the condition Ready is True.
    pub fn is_ready(&self) -> bool {
        self.condition_is_true("Ready")
    }

    /// Whether a container was restarted.
    pub fn has_restarted(&self) -> bool {
        self.containers.iter().any(|container| container.restart_count > 0)
    }

    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|c| &*c.name == name)
    }

    pub fn of_type(&self, kind: ContainerType) -> impl Iterator<Item = &Container> {
        self.containers.iter().filter(move |c| c.kind == kind)
    }

    /// Whether the pod has failed or is about to: all containers have terminated and none will restart. The kubelet
    /// cleans up for a second or two before it reports the phase.
    pub fn has_failed(&self) -> bool {
        if self.phase == Phase::Failed {
            return true;
        }
        let apps = || self.of_type(ContainerType::App);
        let ended_badly = apps().any(|c| matches!(&c.state, State::Terminated(end) if end.exit_code != 0));
        let stay_ended = apps().all(|c| {
            let policy = c.effective_restart_policy(self.restart_policy);
            matches!(&c.state, State::Terminated(end) if !c.is_restarted_by_rule(end.exit_code))
                && policy == RestartPolicy::Never
        });
        ended_badly && stay_ended
    }

    /// Whether the pod has finished: `Succeeded` or `Failed`.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Time when the pod finished: the end of its last run, or the transition to not ready. A pod that a node rejected
    /// only has its start time.
    pub fn over_since(&self) -> Option<Timestamp> {
        let ends = self.containers.iter().filter_map(|c| c.last_end()?.finished_at);
        let unready = self.condition("Ready").and_then(|ready| ready.last_transition);
        ends.max().or(unready).or(self.start_time).filter(|_| self.is_over())
    }

    /// Latest start time of the running containers.
    pub fn last_start(&self) -> Option<Timestamp> {
        let starts = self.containers.iter().filter_map(|c| match c.state {
            State::Running { started_at } => started_at,
            _ => None,
        });
        starts.max()
    }

    /// Whether this is the mirror of a static pod.
    pub fn is_mirror(&self) -> bool {
        self.static_uid.is_some()
    }

    /// Whether a Job created this pod.
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

/// Spec and status of one container.
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
    /// Allocated CPU and memory, if a resize is not finished and they differ from the requests.
    pub allocated: Option<Box<Resources>>,
    pub limits: Resources,
    pub env_refs: Vec<EnvRef>,
    pub mounts: Vec<Mount>,
    pub run_as_user: Option<i64>,
    /// Value of the container, or else of the pod.
    pub run_as_non_root: Option<bool>,
    /// Whether the container itself has a seccomp profile of type Localhost.
    pub has_local_seccomp: bool,
    /// Whether the container itself has an AppArmor profile of type Localhost.
    pub has_local_app_armor: bool,
    /// Names in `securityContext.capabilities.add`: `NET_ADMIN`.
    pub added_capabilities: Vec<String>,
    pub liveness: Option<Box<Probe>>,
    pub readiness: Option<Box<Probe>>,
    pub startup: Option<Box<Probe>>,
    /// The postStart hook.
    pub post_start: Option<Box<ProbeHandler>>,
    pub has_pre_stop: bool,
    /// Restart policy of the container itself (`Always` of a sidecar, or any in 1.34+), if set.
    pub restart_policy: Option<RestartPolicy>,
    /// `restartPolicyRules`, which come before the policy (1.34+).
    pub restart_rules: Vec<RestartRule>,

    /// Whether the status contains this container. Before that, the kubelet has not reported it.
    pub reported: bool,
    pub state: State,
    /// `lastState.terminated`: the run before the current one.
    pub last: Option<Terminated>,
    pub ready: bool,
    pub started: Option<bool>,
    pub restart_count: u32,
    pub unhealthy_devices: Vec<UnhealthyDevice>,
}

/// A rule of a container that restarts it for some exit codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartRule {
    /// Whether it restarts all containers of the pod (1.35+).
    pub restarts_all: bool,
    /// Whether it is for all exit codes except these.
    pub except: bool,
    pub exit_codes: Vec<i32>,
}

impl Container {
    /// Whether one of its restart rules restarts it after this exit code.
    pub fn is_restarted_by_rule(&self, exit_code: i32) -> bool {
        self.restart_rules.iter().any(|rule| rule.exit_codes.contains(&exit_code) != rule.except)
    }

    /// The innermost mount above `path`.
    pub fn mount_over(&self, path: &str) -> Option<&Mount> {
        let holds = |mount: &&Mount| {
            let rest = path.strip_prefix(mount.path.trim_end_matches('/'));
            !mount.path.is_empty() && rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.mounts.iter().filter(holds).max_by_key(|mount| mount.path.len())
    }

    /// Same as [`Self::mount_over`], also if `path` is the mount point itself.
    pub fn mount_at(&self, path: &str) -> Option<&Mount> {
        self.mount_over(&format!("{}/", path.trim_end_matches('/')))
    }

    /// The last termination: of the current state, or else of `lastState`.
    pub fn last_end(&self) -> Option<&Terminated> {
        match &self.state {
            State::Terminated(t) => Some(t),
            _ => self.last.as_ref(),
        }
    }

    /// Terminated runs in the status, oldest first, each with its number. The first run of the container has number 1.
    pub fn ends(&self) -> impl Iterator<Item = (Option<u32>, &Terminated)> {
        // While the container runs or is about to be recreated, the restart count includes the restart after the last
        // run.
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

    /// Field path of [`Self::last_end`], for evidence.
    pub fn last_end_path(&self) -> String {
        let part = if matches!(self.state, State::Terminated(_)) { "state" } else { "lastState" };
        format!("{}.{part}.terminated", self.status_path())
    }

    /// `status.containerStatuses[name]`, or the list for its type.
    pub fn status_path(&self) -> String {
        let list = match self.kind {
            ContainerType::App => "containerStatuses",
            ContainerType::Init | ContainerType::Sidecar => "initContainerStatuses",
            ContainerType::Ephemeral => "ephemeralContainerStatuses",
        };
        format!("status.{list}[{}]", self.name)
    }

    /// `spec.containers[name]`, or the list for its type.
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

    /// Reason and message while the container is Waiting.
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

    /// The policy that decides whether a terminated run is restarted.
    pub fn effective_restart_policy(&self, pod: RestartPolicy) -> RestartPolicy {
        match (self.restart_policy, self.kind) {
            (Some(own), _) => own,
            // A succeeded init container does not run again. A failed one does, unless the policy of the pod is Never.
            (None, ContainerType::Init) if pod == RestartPolicy::Always => RestartPolicy::OnFailure,
            (None, _) => pod,
        }
    }
}

/// Reference to the container of an Event or a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerRef {
    pub name: Arc<str>,
    pub kind: ContainerType,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// No state is reported: Waiting without a reason, or no status yet.
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
    /// Missing if the runtime wrote the epoch, as it does for a container that never ran.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

impl Terminated {
    /// Duration of the run in seconds, if start and end are known.
    pub fn ran_for(&self) -> Option<i64> {
        Some(super::seconds_between(self.started_at?, self.finished_at?))
    }

    /// The signal that terminated it: reported, or derived from an exit code above 128 (the kubelet never sets
    /// `signal`).
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
    /// Name in the kubelet's messages, and the prefix of the spec field without `Probe`.
    pub fn lower(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
            Self::Startup => "startup",
        }
    }

    /// Field of a container: `livenessProbe`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
            Self::Startup => "startupProbe",
        }
    }

    /// Name at the start of `Unhealthy` Events: `Liveness probe failed: ...`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
            Self::Startup => "Startup",
        }
    }
}

/// A probe with the defaults of the API server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The original handler, even if Istio's agent runs the probe instead of the kubelet.
    pub handler: ProbeHandler,
    pub by_istio: bool,
    pub initial_delay: i64,
    pub timeout: i64,
    pub period: i64,
    pub success_threshold: i64,
    pub failure_threshold: i64,
    pub termination_grace: Option<i64>,
    /// `host` of an httpGet or tcpSocket probe, if it is set: the kubelet connects there and not to the pod.
    pub host: Option<String>,
}

impl Probe {
    /// Seconds from the start of a container until this probe has reached its failure threshold.
    pub fn budget(&self) -> i64 {
        self.initial_delay + self.period * self.failure_threshold.max(1)
    }
}

/// Handler of a probe. `port` is the text of the spec: a number, or the name of a container port.
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

/// Mount of a volume in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub volume: String,
    pub path: String,
    /// Mounted path in the volume. Empty for the whole volume.
    pub sub_path: String,
}

/// An environment variable from a ConfigMap or a Secret. An `envFrom` has no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvRef {
    pub variable: Option<String>,
    pub kind: RefKind,
    pub name: String,
    pub key: Option<String>,
    pub optional: bool,
    /// What an `envFrom` writes before each name.
    pub prefix: String,
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
        items: Vec<KeyItem>,
    },
    Secret {
        name: String,
        optional: bool,
        items: Vec<KeyItem>,
    },
    /// A claim. The claim of a generic ephemeral volume is `<pod>-<volume>`.
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
    /// ConfigMaps and Secrets of a projected volume.
    Projected {
        sources: Vec<VolumeSource>,
    },
    Image {
        reference: String,
    },
    /// Any other kind, by its field name.
    Other {
        kind: String,
    },
}

/// A key of a ConfigMap or Secret that a volume has as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyItem {
    pub key: String,
    pub path: String,
    pub mode: Option<i64>,
}

/// One term of a node selector. All its expressions must match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectorTerm {
    pub expressions: Vec<Expression>,
    /// `matchFields`. Only `metadata.name` exists.
    pub fields: Vec<Expression>,
}

/// A pod affinity or anti-affinity term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodTerm {
    /// Selector in the syntax of `kubectl get pods -l`: `app=web,tier in (a,b)`. Empty: all pods.
    pub selector: String,
    pub topology_key: String,
    /// Whether there are other fields too, such as namespaces, or preferred terms beside it.
    pub has_more: bool,
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
    /// An operator that this version does not support. It matches nothing.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TolerationOperator {
    #[default]
    Equal,
    Exists,
    /// Less than, as numbers (1.35+).
    Lt,
    /// Greater than, as numbers (1.35+).
    Gt,
}

impl TolerationOperator {
    pub fn parse(text: &str) -> Self {
        match text {
            "Exists" => Self::Exists,
            "Lt" => Self::Lt,
            "Gt" => Self::Gt,
            _ => Self::Equal,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Lt => "Lt",
            Self::Gt => "Gt",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toleration {
    /// Empty matches all keys (with `Exists`).
    pub key: String,
    pub operator: TolerationOperator,
    pub value: String,
    /// Empty matches all effects.
    pub effect: String,
    pub seconds: Option<i64>,
}
