//! Ingresses and their classes.

use super::{BackendRef, Identity};

/// An Ingress.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IngressFacts {
    pub identity: Identity,
    /// `spec.ingressClassName`. It must be the name of an IngressClass.
    pub class: Option<String>,
    /// The deprecated annotation `kubernetes.io/ingress.class`. Controllers compare it with a text of their own, so no
    /// IngressClass needs to have this name.
    pub annotated_class: Option<String>,
    /// The default backend last.
    pub paths: Vec<IngressPath>,
    /// `spec.tls[].secretName`.
    pub tls_secrets: Vec<String>,
    /// Whether cert-manager makes its TLS Secrets, which takes a while.
    pub awaits_certificate: bool,
    /// Whether a controller has published an address. Not all controllers do.
    pub has_address: bool,
}

/// A path of an Ingress.
#[derive(Debug, Clone, PartialEq)]
pub struct IngressPath {
    /// Empty: all hosts.
    pub host: String,
    /// Empty for the default backend.
    pub path: String,
    /// `None`: the backend is no Service.
    pub backend: Option<BackendRef>,
}

/// An IngressClass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngressClassFacts {
    pub name: String,
    pub is_default: bool,
}
