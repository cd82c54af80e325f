//! Ingresses and IngressClasses.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{NETWORKING, identity, is_of_group, name, object_key};
use crate::facts::route::{BackendRef, IngressClassFacts, IngressFacts, IngressPath, NetworkKind, PortRef};
use crate::wire::lenient::{Int, List, Name, Obj, Text};
use crate::wire::meta;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    ingress_class_name: Name,
    default_backend: Obj<Backend>,
    tls: List<Tls>,
    rules: List<Rule>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tls {
    secret_name: Name,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Rule {
    host: Text,
    http: Obj<Http>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Http {
    paths: List<Path>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Path {
    path: Text,
    backend: Obj<Backend>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Backend {
    service: Obj<Service>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Service {
    name: Name,
    port: Obj<Port>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Port {
    name: Name,
    number: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    load_balancer: Obj<LoadBalancer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct LoadBalancer {
    ingress: List<Address>,
}

/// A published address. Only its presence matters.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Address {}

impl Ingress {
    pub(super) fn into_facts(self) -> Option<IngressFacts> {
        let identity = identity(&self.metadata, NetworkKind::Ingress);
        let namespace = meta::namespace(&self.metadata);
        let spec = self.spec.or_default();
        let mut paths = Vec::new();
        for (rule_at, rule) in spec.rules.into_iter().enumerate() {
            for (path_at, path) in rule.http.or_default().paths.into_iter().enumerate() {
                let at = format!("/spec/rules/{rule_at}/http/paths/{path_at}/backend/service");
                paths.push(IngressPath {
                    host: rule.host.0.clone(),
                    path: path.path.0,
                    backend: path.backend.or_default().into_facts(namespace, at),
                });
            }
        }
        if let Some(backend) = spec.default_backend.0 {
            let backend = backend.into_facts(namespace, "/spec/defaultBackend/service".to_owned());
            paths.push(IngressPath { host: String::new(), path: String::new(), backend });
        }
        let annotations = self.metadata.annotations.as_ref();
        let annotation = annotations.and_then(|all| all.get(meta::INGRESS_CLASS)).cloned();
        let awaits_certificate =
            annotations.is_some_and(|all| meta::CERTIFICATES.iter().any(|key| all.contains_key(*key)));
        let addresses = self.status.or_default().load_balancer.or_default().ingress.0;
        is_of_group(&self.api_version, NETWORKING).then(|| IngressFacts {
            identity,
            class: spec.ingress_class_name.non_empty(),
            annotated_class: annotation.filter(|class| !class.is_empty()),
            paths,
            tls_secrets: spec.tls.into_iter().filter_map(|tls| tls.secret_name.non_empty()).collect(),
            awaits_certificate,
            has_address: !addresses.is_empty(),
        })
    }
}

impl Backend {
    /// `None` if the backend is another resource, such as a bucket.
    fn into_facts(self, namespace: &str, at: String) -> Option<BackendRef> {
        let service = self.service.0?;
        let port = service.port.or_default();
        let name = service.name.non_empty()?;
        let port = port.name.non_empty().map(PortRef::Name).or(port.number.0.map(PortRef::Number));
        Some(BackendRef { at, kind: "Service".to_owned(), service: object_key(namespace, &name), port, weight: 1 })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressClass {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
}

impl IngressClass {
    pub(super) fn into_facts(self) -> Option<IngressClassFacts> {
        let annotations = self.metadata.annotations.as_ref();
        let is_default =
            annotations.and_then(|all| all.get(meta::DEFAULT_INGRESS_CLASS)).is_some_and(|is| is == "true");
        let facts = IngressClassFacts { name: name(&self.metadata).to_owned(), is_default };
        is_of_group(&self.api_version, NETWORKING).then_some(facts)
    }
}
