//! Node facts.

use std::sync::Arc;

use super::{Condition, Labels, Resources, Timestamp, Toleration, TolerationOperator};

#[derive(Debug, Clone, PartialEq)]
pub struct NodeFacts {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    pub labels: Labels,
    /// The node is cordoned.
    pub unschedulable: bool,
    /// The client that set `unschedulable`, if that is known.
    pub cordon: Option<Box<Cordon>>,
    pub taints: Vec<Taint>,
    pub allocatable: Resources,
    pub conditions: Vec<Condition>,
    /// Such as `containerd://1.6.20`.
    pub runtime: String,
}

impl NodeFacts {
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }

    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|c| c.status == "True")
    }

    /// Whether the node leaves service on purpose: it is cordoned, or its removal or an interruption is announced.
    pub fn is_leaving(&self) -> bool {
        let announces =
            |taint: &Taint| matches!(taint.announcement(), Some(Announcement::Removal | Announcement::Interruption));
        let has_vm_event = self.condition(VM_EVENT).is_some_and(|c| c.status == "True");
        self.unschedulable || self.taints.iter().any(announces) || has_vm_event
    }

    /// When the node was cordoned.
    pub fn cordoned_at(&self) -> Option<Timestamp> {
        let taint = self.taints.iter().find(|taint| taint.key == CORDON_TAINT);
        let by_client = self.cordon.as_ref().and_then(|cordon| cordon.at);
        by_client.or(taint.and_then(|taint| taint.added)).filter(|_| self.unschedulable)
    }
}

/// The taint that the node controller adds to a cordoned node.
pub const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// The condition with which the agent of AKS reports that Azure will interrupt the machine.
const VM_EVENT: &str = "VMEventScheduled";

/// The client that cordoned a node, as recorded by the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cordon {
    pub by: String,
    pub at: Option<Timestamp>,
}

/// What a taint announces about the life of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement {
    /// An autoscaler removes the node.
    Removal,
    /// The cloud provider is about to stop the machine.
    Interruption,
    /// A controller has not taken the node into service yet.
    NotInitialized,
}

/// The pods on a node that leaves service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remaining {
    /// Unfinished pods that a drain evicts: those that are not of a DaemonSet or a manifest on the node.
    pub pods: u32,
    /// Of these, the pods that are being deleted.
    pub ending: u32,
    /// Namespace and name of a PodDisruptionBudget that allows no eviction of `blocked`.
    pub budget: String,
    /// Namespace and name of a pod.
    pub blocked: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
    /// Set by the node controller for its own taints.
    pub added: Option<Timestamp>,
}

/// The taint of a node that the cluster autoscaler removes.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

impl Taint {
    /// Whether the taint keeps pods that do not tolerate it from being scheduled.
    pub fn repels(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }

    /// What the taint announces. The name after its domain shows it, and the domain of a termination handler:
    /// `karpenter.sh/disrupted`, `ToBeDeletedByClusterAutoscaler`, `cloud.google.com/impending-node-termination`. A taint of
    /// a node pool, such as `cloud.google.com/gke-spot`, announces nothing.
    pub fn announcement(&self) -> Option<Announcement> {
        const INTERRUPTION: [&str; 6] =
            ["impending", "interrupted", "interruption", "preempted", "terminating", "termination"];
        let (domain, name) = self.key.rsplit_once('/').unwrap_or(("", &self.key));
        let has_word = |word: &str| name.split(['-', '_', '.']).any(|part| part.eq_ignore_ascii_case(word));
        match name {
            _ if !self.repels() => None,
            "disrupted" | "disruption" | TO_BE_DELETED => Some(Announcement::Removal),
            "unregistered" | "uninitialized" => Some(Announcement::NotInitialized),
            _ if domain.contains("termination-handler") || INTERRUPTION.into_iter().any(has_word) => {
                Some(Announcement::Interruption)
            }
            _ => None,
        }
    }

    /// When the taint was added. The cluster autoscaler writes the time in seconds as the value.
    pub fn since(&self) -> Option<Timestamp> {
        let of_value = || self.value.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        self.added.or_else(|| of_value().filter(|_| self.key == TO_BE_DELETED))
    }

    /// Toleration as defined by the API (`ToleratesTaint` in k8s.io/api/core/v1).
    pub fn tolerated_by(&self, toleration: &Toleration) -> bool {
        (toleration.effect.is_empty() || toleration.effect == self.effect)
            && (toleration.key.is_empty() || toleration.key == self.key)
            && (toleration.operator == TolerationOperator::Exists || !toleration.key.is_empty())
            && self.has_tolerated_value(toleration)
    }

    fn has_tolerated_value(&self, toleration: &Toleration) -> bool {
        let numbers = || Some((self.value.parse::<i64>().ok()?, toleration.value.parse::<i64>().ok()?));
        match toleration.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => toleration.value == self.value,
            TolerationOperator::Lt => numbers().is_some_and(|(taint, limit)| taint < limit),
            TolerationOperator::Gt => numbers().is_some_and(|(taint, limit)| taint > limit),
        }
    }
}

impl std::fmt::Display for Taint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.value.is_empty() {
            write!(f, "{}:{}", self.key, self.effect)
        } else {
            write!(f, "{}={}:{}", self.key, self.value, self.effect)
        }
    }
}

/// A Node with the derived and recorded state.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeState {
    pub facts: NodeFacts,
    /// Sum of the effective requests of the running pods that are bound to the node.
    pub requested: Resources,
    /// Whether `requested` includes all pods of the node. Otherwise the free capacity is unknown.
    pub all_pods_known: bool,
    /// Observed transitions of the Ready condition, oldest first; a bounded ring.
    pub ready_history: Vec<ReadyTransition>,
    /// The last message of a Ready condition with status False, which the kubelet wrote. It is kept because
    /// `NodeStatusUnknown` overwrites it.
    pub last_kubelet_complaint: Option<(Timestamp, String)>,
    /// Number of `NodeNotReady` Events in the last hour.
    pub not_ready_events: u32,
    /// Out-of-memory events of the whole node, oldest first: its newest `SystemOOM` Events.
    pub system_ooms: Vec<SystemOom>,
    /// Warning Events about the node: the newest for each relevant reason.
    pub complaints: Vec<NodeComplaint>,
    /// The newest other Warning Event about the node. No cause matches it, but it may explain why the node is not ready.
    pub last_warning: Option<Box<NodeComplaint>>,
    /// Reboots that the kubelet detected, oldest first: its newest `Rebooted` Events.
    pub reboots: Vec<Reboot>,
    /// Of a node that leaves service.
    pub remaining: Option<Box<Remaining>>,
}

impl NodeState {
    pub fn new(facts: NodeFacts) -> Self {
        Self {
            facts,
            requested: Resources::default(),
            all_pods_known: true,
            ready_history: Vec::new(),
            last_kubelet_complaint: None,
            not_ready_events: 0,
            system_ooms: Vec::new(),
            complaints: Vec::new(),
            last_warning: None,
            reboots: Vec::new(),
            remaining: None,
        }
    }

    /// Time since which the node is Ready, if it is.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.facts.condition("Ready").filter(|ready| ready.status == "True")?.last_transition
    }

    /// Allocatable minus requested. An upper bound if not all pods are known.
    pub fn free(&self) -> Resources {
        let mut free = self.facts.allocatable.clone();
        free.subtract(&self.requested);
        free
    }
}

/// The kernel killed a process because the whole node was out of memory, as reported by the kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemOom {
    pub at: Timestamp,
    /// Contains the name of the killed process: `System OOM encountered, victim process: java, pid: 4711`.
    pub message: Arc<str>,
}

/// Type of the condition that stands for the annotations of OpenShift's machine-config-daemon.
pub const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/state";

/// The annotation with the error of OpenShift's machine-config-daemon.
pub const MACHINE_CONFIG_REASON: &str = "machineconfiguration.openshift.io/reason";

/// A Warning Event about a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeComplaint {
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub count: u32,
    pub last: Timestamp,
    pub reporter: Arc<str>,
    /// It was emitted by an agent, and not by a component of Kubernetes.
    pub is_of_agent: bool,
}

impl NodeComplaint {
    /// Name of the problem: the reason, unless the message begins with a name of its own.
    pub fn problem(&self) -> &str {
        problem_of(&self.reason, &self.message)
    }
}

/// The name of the problem in an Event about a Node. Agents that emit Events of a condition set its type as the reason
/// and begin the message with the problem: `SoftLockup: CPU stuck for 22s`.
fn problem_of<'e>(reason: &'e str, message: &'e str) -> &'e str {
    let is_name = |word: &str| {
        let has_capitals = word.chars().filter(char::is_ascii_uppercase).count() > 1;
        word.len() > 3 && has_capitals && word.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let begins = message.split_once(": ").map(|(word, _)| word).filter(|word| is_name(word));
    begins.filter(|_| reason.ends_with("Ready") || reason.ends_with("Healthy")).unwrap_or(reason)
}

/// The kubelet found another boot ID than the one it reported before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reboot {
    pub at: Timestamp,
    /// `Node n1 has been rebooted, boot id: ...`
    pub message: Arc<str>,
}

/// A change of a Node's Ready condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyTransition {
    pub at: Timestamp,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_taint_shows_what_it_announces() {
        use Announcement::{Interruption, NotInitialized, Removal};
        let of = |key: &str, effect: &str| {
            let taint = Taint { key: key.to_owned(), value: String::new(), effect: effect.to_owned(), added: None };
            taint.announcement()
        };
        for (key, expected) in [
            ("karpenter.sh/disrupted", Some(Removal)),
            ("karpenter.sh/disruption", Some(Removal)),
            ("ToBeDeletedByClusterAutoscaler", Some(Removal)),
            ("karpenter.sh/unregistered", Some(NotInitialized)),
            ("node.cloudprovider.kubernetes.io/uninitialized", Some(NotInitialized)),
            ("cloud.google.com/impending-node-termination", Some(Interruption)),
            ("aws-node-termination-handler/spot-itn", Some(Interruption)),
            ("aws-node-termination-handler/scheduled-maintenance", Some(Interruption)),
            ("cloud.google.com/gke-spot", None),
            ("node.kubernetes.io/unschedulable", None),
            ("example.com/gpu", None),
            ("", None),
        ] {
            assert_eq!(of(key, "NoSchedule"), expected, "{key}");
            assert_eq!(of(key, "PreferNoSchedule"), None, "{key}: a preference keeps no pod off");
        }
    }

    #[test]
    fn only_the_cluster_autoscaler_writes_a_time_as_the_value_of_a_taint() {
        let taint = |key: &str, value: &str| {
            let taint =
                Taint { key: key.to_owned(), value: value.to_owned(), effect: "NoSchedule".to_owned(), added: None };
            taint.since().map(Timestamp::as_second)
        };
        assert_eq!(taint("ToBeDeletedByClusterAutoscaler", "1795254900"), Some(1_795_254_900));
        assert_eq!(taint("ToBeDeletedByClusterAutoscaler", "soon"), None);
        assert_eq!(taint("example.com/batch", "1795254900"), None);
    }

    #[test]
    fn tolerations_compare_numbers() {
        let taint =
            |value: &str| Taint { key: "sla".into(), value: value.into(), effect: "NoExecute".into(), added: None };
        let tolerates = |operator: &str, value: &str, of: &str| {
            let toleration = Toleration {
                key: "sla".into(),
                operator: TolerationOperator::parse(operator),
                value: value.into(),
                effect: String::new(),
                seconds: None,
            };
            taint(of).tolerated_by(&toleration)
        };
        assert!(tolerates("Gt", "900", "950") && !tolerates("Gt", "900", "900") && !tolerates("Gt", "900", "high"));
        assert!(tolerates("Lt", "900", "850") && !tolerates("Lt", "900", "950"));
        assert!(tolerates("", "950", "950") && !tolerates("Equal", "900", "950") && tolerates("Exists", "", "950"));
    }
}
