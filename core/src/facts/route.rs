//! Objects on the path of a request: Ingresses, Gateways and their routes, and what they lead to.
//!
//! Autoscalers and disruption budgets are here too: like these, they are no workloads and are diagnosed on their own.

mod autoscaler;
mod backend;
mod budget;
mod claim;
mod gateway;
mod ingress;
mod network;
mod object;

use std::sync::Arc;

pub use self::autoscaler::AutoscalerFacts;
pub use self::backend::{
    BackendPod, BackendRef, BackendService, ContainerPort, Endpoints, PodCause, PodPorts, PortRef, ServicePort,
    SliceFacts,
};
pub use self::budget::{BudgetFacts, BudgetStatus};
pub use self::claim::VolumeClaimFacts;
pub use self::gateway::{
    GatewayClassFacts, GatewayFacts, GrantFacts, Listener, ObjectRef, ParametersRef, ParentRef, ParentStatus,
    RouteFacts, RouteRule,
};
pub use self::ingress::{IngressClassFacts, IngressFacts, IngressPath};
pub use self::network::{Listed, Network};
pub use self::object::{NetworkKind, NetworkObject};

use super::{Manager, Overrides, OwnFacts, Timestamp, WorkloadFacts, WorkloadKey};

/// An object that is diagnosed and is no workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Identity {
    pub key: WorkloadKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    pub deleting: bool,
    pub generation: i64,
    /// The tool that manages the object, from its labels and annotations.
    pub manager: Option<Box<Manager>>,
    pub overrides: Option<Box<Overrides>>,
}

impl Identity {
    /// The object in the form in which a diagnosis has its subject.
    pub fn as_workload(&self) -> WorkloadFacts {
        WorkloadFacts {
            key: self.key.clone(),
            uid: self.uid.clone(),
            created: self.created,
            deleting: self.deleting,
            generation: self.generation,
            manager: self.manager.clone(),
            overrides: self.overrides.clone(),
            own: OwnFacts::Object(Box::default()),
            ..WorkloadFacts::default()
        }
    }
}
