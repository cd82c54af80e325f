//! What is wrong with the path of a request, an autoscaler or a disruption budget.

use crate::api::Evidence;
use crate::facts::Timestamp;
use crate::facts::route::ParametersRef;

/// A step on the path of a request, in the order in which a request takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Hop {
    #[default]
    Class,
    Gateway,
    Listener,
    Tls,
    Grant,
    Service,
    Port,
    Selector,
    TargetPort,
    Endpoints,
}

impl Hop {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Gateway => "gateway",
            Self::Listener => "listener",
            Self::Tls => "tls",
            Self::Grant => "grant",
            Self::Service => "service",
            Self::Port => "port",
            Self::Selector => "selector",
            Self::TargetPort => "targetPort",
            Self::Endpoints => "endpoints",
        }
    }
}

/// The first broken hop of a path. Fields that do not apply are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BrokenHop {
    pub hop: Hop,
    pub host: String,
    pub path: String,
    /// Name of the missing or rejected class.
    pub class: String,
    /// The object with the parameters of a class that its controller rejects.
    pub parameters: ParametersRef,
    /// The Gateway that a route is attached to, as `NAMESPACE/NAME` if it is in another namespace.
    pub gateway: String,
    pub listener: String,
    pub secret: String,
    /// Whether another object that the path needs is in another namespace.
    pub is_elsewhere: bool,
    /// Namespace of the Service or Secret.
    pub namespace: String,
    pub service: String,
    /// JSON pointer to the backend in the object.
    pub at: String,
    /// The port of the Service that the path leads to.
    pub port: String,
    /// The ports that exist: those of the Service, or for `targetPort` those of the pods.
    pub ports: Vec<String>,
    pub target_port: String,
    /// Number of the port in the Service, and its position.
    pub service_port: i64,
    pub port_index: usize,
    /// The existing name or port that was most likely meant.
    pub near: String,
    /// The classes that exist.
    pub existing: Vec<String>,
    /// The label that the Service selects and that of the pods which have all its other labels.
    pub selected_label: Option<(String, String)>,
    pub pod_label: Option<(String, String)>,
    /// The workload with these pods, such as `Deployment web`.
    pub workload: String,
    /// From the condition or Event of a controller.
    pub reason: String,
    pub message: String,
    pub pod: String,
    pub pod_cause: String,
    pub pod_summary: String,
    /// Number of pods that are not ready.
    pub unready: usize,
    /// Whether the object shows the failure itself: it has no address, or its controller reports the failure.
    pub is_confirmed: bool,
    /// Number of other paths of the object that are broken too.
    pub others: usize,
    /// Whether no path of the object works.
    pub is_total: bool,
    pub since: Option<Timestamp>,
    /// Seconds that the failure must last before it counts.
    pub grace: i64,
    pub evidence: Vec<Evidence>,
}

/// What is wrong with an autoscaler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AutoscalerProblem {
    /// The condition with the problem.
    pub condition: String,
    pub reason: String,
    pub message: String,
    pub target_kind: String,
    pub target: String,
    pub current: i64,
    pub max: i64,
    /// Number of pods of the target that cannot be scheduled, and the cause of one of them.
    pub pending: usize,
    pub pod_cause: String,
    pub since: Option<Timestamp>,
    pub grace: i64,
    pub evidence: Vec<Evidence>,
}

/// A claim that no pod uses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClaimProblem {
    pub size: String,
    pub class: String,
    pub grace: i64,
    pub evidence: Vec<Evidence>,
}

/// What is wrong with a disruption budget.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetProblem {
    /// `spec.minAvailable` or `spec.maxUnavailable`: the field and its value.
    pub field: String,
    pub value: String,
    pub healthy: i64,
    pub desired: i64,
    pub expected: i64,
    /// A node that is being drained, and the pod on it.
    pub node: String,
    pub pod: String,
    /// The diagnosis of a pod of the budget that is not healthy.
    pub unhealthy_pod: String,
    pub pod_cause: String,
    pub since: Option<Timestamp>,
    pub grace: i64,
    pub evidence: Vec<Evidence>,
}
