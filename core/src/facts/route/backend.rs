//! What a route leads to: a Service, its endpoints, and the pods behind it.

use std::fmt;
use std::sync::Arc;

use super::{Identity, NetworkKind};
use crate::facts::{Labels, Manager, ObjectKey, Overrides, Timestamp, WorkloadKey, WorkloadName};

/// A port by its number or by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortRef {
    Number(i64),
    Name(String),
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The backend of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendRef {
    /// JSON pointer to the object in the route that has the name and the port.
    pub at: String,
    /// `Service`; any other kind is not followed.
    pub kind: String,
    pub service: ObjectKey,
    pub port: Option<PortRef>,
    /// A backend with weight 0 gets no requests.
    pub weight: i64,
}

/// A Service as requests see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BackendService {
    pub key: ObjectKey,
    pub uid: Arc<str>,
    pub created: Option<Timestamp>,
    pub deleting: bool,
    pub manager: Option<Box<Manager>>,
    pub overrides: Option<Box<Overrides>>,
    /// `type: ExternalName`: an alias for a name outside of the cluster, without endpoints.
    pub is_external: bool,
    pub is_headless: bool,
    /// Empty: a user or another controller creates its endpoints.
    pub selector: Labels,
    pub ports: Vec<ServicePort>,
    /// `None`: endpoints were not listed.
    pub endpoints: Option<Endpoints>,
}

impl BackendService {
    /// The Service as the subject of a diagnosis.
    pub fn identity(&self) -> Identity {
        let name = WorkloadName {
            api_version: NetworkKind::Service.api_version().into(),
            kind: NetworkKind::Service.as_str().into(),
            namespace: self.key.namespace.clone(),
            name: self.key.name.clone(),
        };
        Identity {
            key: name.into(),
            uid: self.uid.clone(),
            created: self.created,
            deleting: self.deleting,
            manager: self.manager.clone(),
            overrides: self.overrides.clone(),
            ..Identity::default()
        }
    }

    /// The port that a route means.
    pub fn port(&self, expected: &PortRef) -> Option<&ServicePort> {
        self.ports.iter().find(|port| match expected {
            PortRef::Number(number) => port.number == *number,
            PortRef::Name(name) => port.name == *name,
        })
    }

    pub fn selects(&self, labels: &Labels) -> bool {
        !self.selector.is_empty() && self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServicePort {
    /// Empty if it has none.
    pub name: String,
    pub number: i64,
    /// `TCP` if the Service does not state it.
    pub protocol: String,
    /// `None`: the number of the port itself.
    pub target: Option<PortRef>,
}

/// The endpoints of a Service, from all of its EndpointSlices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoints {
    /// Number of ready endpoints. A pod with addresses of two IP families can count twice.
    pub ready: usize,
    /// Names of the pods that are not ready, or addresses.
    pub unready: Vec<String>,
}

/// An EndpointSlice, or a deprecated Endpoints object of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SliceFacts {
    pub key: ObjectKey,
    /// The name of its Service.
    pub service: Arc<str>,
    pub endpoints: Endpoints,
}

/// A pod behind a Service.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BackendPod {
    pub key: ObjectKey,
    pub uid: Arc<str>,
    pub labels: Labels,
    pub node: Option<Arc<str>>,
    pub is_ready: bool,
    /// Start of its current readiness state.
    pub since: Option<Timestamp>,
    /// The workload of a pod that is Pending.
    pub pending_of: Option<WorkloadKey>,
    /// Names of the claims that it uses.
    pub claims: Vec<Arc<str>>,
    /// Shared by pods of one template.
    pub ports: Arc<PodPorts>,
    /// Its diagnosis.
    pub cause: Option<Box<PodCause>>,
}

/// The ports of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodPorts {
    /// Ports that its containers declare.
    pub declared: Vec<ContainerPort>,
    /// Whether a container declares no port, so that it may listen on any.
    pub has_undeclared: bool,
    /// Numbers of the ports that its probes connect to.
    pub probed: Vec<i64>,
}

/// A port that a container declares.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ContainerPort {
    /// Empty if it has none.
    pub name: String,
    pub number: i64,
    pub protocol: String,
}

/// The diagnosis of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodCause {
    pub cause: String,
    pub summary: String,
}
