//! Objects of the Gateway API.

use super::{BackendRef, Identity};
use crate::facts::{Condition, ObjectKey};

/// A GatewayClass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatewayClassFacts {
    pub name: String,
    /// `spec.parametersRef`. Empty if the class has none.
    pub parameters: ParametersRef,
    pub conditions: Vec<Condition>,
}

/// The object with the parameters of a GatewayClass, of a kind of its controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParametersRef {
    pub group: String,
    pub kind: String,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    pub name: String,
}

/// A Gateway.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatewayFacts {
    pub identity: Identity,
    pub class: String,
    /// Conditions about the newest generation.
    pub conditions: Vec<Condition>,
    pub listeners: Vec<Listener>,
}

/// A listener of a Gateway.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listener {
    pub name: String,
    /// Empty: all hosts.
    pub hostname: String,
    pub port: i64,
    /// `spec.listeners[].tls.certificateRefs` of kind Secret.
    pub secrets: Vec<ObjectKey>,
    /// Conditions about the newest generation.
    pub conditions: Vec<Condition>,
}

/// An HTTPRoute or GRPCRoute.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RouteFacts {
    pub identity: Identity,
    pub hostnames: Vec<String>,
    pub parents: Vec<ParentRef>,
    pub rules: Vec<RouteRule>,
    pub status: Vec<ParentStatus>,
}

/// A rule of a route.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RouteRule {
    /// The first match of the rule: a path, or service and method. Empty if it matches all requests.
    pub path: String,
    pub backends: Vec<BackendRef>,
}

/// What a route is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParentRef {
    /// `Gateway`; any other kind (a Service in a mesh) is not followed.
    pub kind: String,
    pub gateway: ObjectKey,
    /// The listener. Empty: all of them.
    pub section: String,
}

/// What a controller reports of a route for one parent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParentStatus {
    pub parent: ParentRef,
    /// Conditions about the newest generation.
    pub conditions: Vec<Condition>,
}

/// A ReferenceGrant: objects of its namespace that may be referenced from others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantFacts {
    pub namespace: String,
    pub name: String,
    pub from: Vec<ObjectRef>,
    pub to: Vec<ObjectRef>,
}

/// A part of a ReferenceGrant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectRef {
    pub kind: String,
    /// In `from`.
    pub namespace: String,
    /// In `to`. Empty: all objects of the kind.
    pub name: String,
}

impl GrantFacts {
    /// Whether it allows an object of this kind and namespace to refer to a Service or Secret of its own namespace.
    pub fn allows(&self, (from, namespace): (&str, &str), kind: &str, name: &str) -> bool {
        self.from.iter().any(|of| of.kind == from && of.namespace == namespace)
            && self.to.iter().any(|of| of.kind == kind && (of.name.is_empty() || of.name == name))
    }
}
