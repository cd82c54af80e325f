//! HTTPRoutes and GRPCRoutes, which differ in their matches only.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{GATEWAY, current, identity, is_of_group, object_key};
use crate::facts::route::{
    BackendRef, NetworkKind, ParentRef as ParentFacts, ParentStatus as ParentStatusFacts, PortRef, RouteFacts,
    RouteRule,
};
use crate::wire::lenient::{Int, List, Name, Obj, Text, Texts};
use crate::wire::meta::{self, WireCondition};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Route {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    hostnames: Texts,
    parent_refs: List<ParentRef>,
    rules: List<Rule>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ParentRef {
    kind: Text,
    namespace: Name,
    name: Name,
    section_name: Name,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Rule {
    matches: List<Match>,
    backend_refs: List<Backend>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Match {
    path: Obj<Path>,
    /// A text in an HTTPRoute, where it does not matter.
    method: Obj<Method>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Path {
    value: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Method {
    service: Text,
    method: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Backend {
    kind: Text,
    namespace: Name,
    name: Name,
    port: Int,
    weight: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    parents: List<ParentStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ParentStatus {
    parent_ref: Obj<ParentRef>,
    conditions: List<WireCondition>,
}

impl Match {
    fn into_path(self) -> Option<String> {
        if let Some(path) = self.path.or_default().value.non_empty() {
            return Some(path);
        }
        let method = self.method.0?;
        let path = if method.method.is_empty() {
            format!("/{}", &*method.service)
        } else {
            format!("/{}/{}", &*method.service, &*method.method)
        };
        Some(path).filter(|path| path.len() > 1)
    }
}

impl ParentRef {
    fn into_facts(self, namespace: &str) -> ParentFacts {
        let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
        ParentFacts {
            gateway: object_key(namespace, &self.name),
            kind: self.kind.non_empty().unwrap_or_else(|| "Gateway".to_owned()),
            section: self.section_name.0,
        }
    }
}

impl Route {
    pub(super) fn into_facts(self, kind: NetworkKind) -> Option<RouteFacts> {
        if !is_of_group(&self.api_version, GATEWAY) {
            return None;
        }
        let namespace = meta::namespace(&self.metadata);
        let generation = self.metadata.generation;
        let spec = self.spec.or_default();
        let mut rules = Vec::new();
        for (rule_at, rule) in spec.rules.into_iter().enumerate() {
            let backends = rule.backend_refs.into_iter().enumerate().map(|(at, backend)| {
                let of = if backend.namespace.is_empty() { namespace } else { &backend.namespace };
                BackendRef {
                    at: format!("/spec/rules/{rule_at}/backendRefs/{at}"),
                    service: object_key(of, &backend.name),
                    kind: backend.kind.non_empty().unwrap_or_else(|| "Service".to_owned()),
                    port: backend.port.0.map(PortRef::Number),
                    weight: backend.weight.or(1),
                }
            });
            let backends = backends.collect();
            rules.push(RouteRule {
                path: rule.matches.into_iter().find_map(Match::into_path).unwrap_or_default(),
                backends,
            });
        }
        let status = self.status.or_default().parents.into_iter().map(|of| ParentStatusFacts {
            parent: of.parent_ref.or_default().into_facts(namespace),
            conditions: current(of.conditions, generation),
        });
        Some(RouteFacts {
            status: status.collect(),
            identity: identity(&self.metadata, kind),
            hostnames: spec.hostnames.0,
            parents: spec.parent_refs.map(|parent| parent.into_facts(namespace)),
            rules,
        })
    }
}
