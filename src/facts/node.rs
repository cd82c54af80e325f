//! What a Node says of itself.

use std::sync::Arc;

use super::{Condition, Labels, Resources, Timestamp, Toleration};

#[derive(Debug, Clone, PartialEq)]
pub struct NodeFacts {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    pub labels: Labels,
    /// Cordoned.
    pub unschedulable: bool,
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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl Taint {
    /// Whether the scheduler leaves a node alone for this taint, unless it is tolerated.
    pub fn repels(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }

    /// As the API defines it (`ToleratesTaint` in k8s.io/component-helpers).
    pub fn tolerated_by(&self, toleration: &Toleration) -> bool {
        (toleration.effect.is_empty() || toleration.effect == self.effect)
            && (toleration.key.is_empty() || toleration.key == self.key)
            && (toleration.exists || (!toleration.key.is_empty() && toleration.value == self.value))
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

/// A Node with what we count and remember of it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeState {
    pub facts: NodeFacts,
    /// The sum of the effective requests of the pods bound here that are not over.
    pub requested: Resources,
    /// Whether those are all pods that run here; else nobody knows what is left of it.
    pub all_pods_known: bool,
    /// Transitions of the Ready condition as they were seen, oldest first; a bounded ring.
    pub ready_history: Vec<ReadyTransition>,
    /// The last message of a Ready condition that the kubelet wrote itself (status False), kept because
    /// `NodeStatusUnknown` overwrites it.
    pub last_kubelet_complaint: Option<(Timestamp, String)>,
    /// The count of `NodeNotReady` Events of the last hour.
    pub not_ready_events: u32,
    /// When the node ran out of memory as a whole, oldest first: its newest `SystemOOM` Events.
    pub system_ooms: Vec<SystemOom>,
    /// What Events tell of it beside its conditions: the newest of each reason that a judgement reads.
    pub complaints: Vec<NodeComplaint>,
    /// When its kubelet found that the machine had been started anew, oldest first: its newest `Rebooted` Events.
    pub reboots: Vec<Reboot>,
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
            reboots: Vec::new(),
        }
    }

    /// Since when the node is Ready, if it is.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.facts.condition("Ready").filter(|ready| ready.status == "True")?.last_transition
    }

    /// Allocatable less requested: what a further pod could get; where not all pods are known, at most.
    pub fn free(&self) -> Resources {
        let mut free = self.facts.allocatable.clone();
        free.subtract(&self.requested);
        free
    }
}

/// The kernel killed a process because the whole node had no memory left, as the kubelet told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemOom {
    pub at: Timestamp,
    /// It names the victim's process: `System OOM encountered, victim process: java, pid: 4711`.
    pub message: Arc<str>,
}

/// A Warning Event about a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeComplaint {
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub count: u32,
    pub last: Timestamp,
}

/// A kubelet found another boot id than the one that it had reported before.
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
