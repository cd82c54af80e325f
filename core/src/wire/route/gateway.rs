//! Gateways, GatewayClasses and ReferenceGrants.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{GATEWAY, current, identity, is_of_group, name, object_key};
use crate::facts::route::{
    GatewayClassFacts, GatewayFacts, GrantFacts, Listener as ListenerFacts, NetworkKind, ObjectRef, ParametersRef,
};
use crate::wire::lenient::{Int, List, Name, Obj, Text};
use crate::wire::meta::{self, WireCondition};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Gateway {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    gateway_class_name: Name,
    listeners: List<Listener>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Listener {
    name: Name,
    hostname: Text,
    port: Int,
    tls: Obj<Tls>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tls {
    certificate_refs: List<SecretRef>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SecretRef {
    kind: Text,
    name: Name,
    namespace: Name,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: List<WireCondition>,
    listeners: List<ListenerStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ListenerStatus {
    name: Name,
    conditions: List<WireCondition>,
}

impl Gateway {
    pub(super) fn into_facts(self) -> Option<GatewayFacts> {
        if !is_of_group(&self.api_version, GATEWAY) {
            return None;
        }
        let generation = self.metadata.generation;
        let namespace = meta::namespace(&self.metadata);
        let (spec, status) = (self.spec.or_default(), self.status.or_default());
        let mut reported: Vec<_> =
            status.listeners.into_iter().map(|of| (of.name.0, current(of.conditions, generation))).collect();
        let listeners = spec.listeners.map(|listener| {
            let secrets = listener.tls.or_default().certificate_refs.into_iter();
            let secrets = secrets.filter(|of| of.kind.is_empty() || &*of.kind == "Secret").map(|of| {
                let namespace = if of.namespace.is_empty() { namespace } else { &of.namespace };
                object_key(namespace, &of.name)
            });
            let at = reported.iter().position(|(name, _)| *name == listener.name.0);
            ListenerFacts {
                secrets: secrets.collect(),
                conditions: at.map(|at| reported.swap_remove(at).1).unwrap_or_default(),
                name: listener.name.0,
                hostname: listener.hostname.0,
                port: listener.port.or(0),
            }
        });
        Some(GatewayFacts {
            identity: identity(&self.metadata, NetworkKind::Gateway),
            class: spec.gateway_class_name.0,
            conditions: current(status.conditions, generation),
            listeners,
        })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewayClass {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<ClassSpec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClassSpec {
    parameters_ref: Obj<Parameters>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Parameters {
    group: Text,
    kind: Text,
    namespace: Name,
    name: Name,
}

impl GatewayClass {
    pub(super) fn into_facts(self) -> Option<GatewayClassFacts> {
        let conditions = current(self.status.or_default().conditions, self.metadata.generation);
        let of = self.spec.or_default().parameters_ref.or_default();
        let parameters =
            ParametersRef { group: of.group.0, kind: of.kind.0, namespace: of.namespace.0, name: of.name.0 };
        let facts = GatewayClassFacts { name: name(&self.metadata).to_owned(), parameters, conditions };
        is_of_group(&self.api_version, GATEWAY).then_some(facts)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReferenceGrant {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<GrantSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct GrantSpec {
    from: List<GrantedRef>,
    to: List<GrantedRef>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct GrantedRef {
    kind: Text,
    namespace: Name,
    name: Name,
}

impl ReferenceGrant {
    pub(super) fn into_facts(self) -> Option<GrantFacts> {
        let spec = self.spec.or_default();
        let objects = |all: List<GrantedRef>| {
            all.map(|of| ObjectRef { kind: of.kind.0, namespace: of.namespace.0, name: of.name.0 })
        };
        let facts = GrantFacts {
            namespace: meta::namespace(&self.metadata).to_owned(),
            name: name(&self.metadata).to_owned(),
            from: objects(spec.from),
            to: objects(spec.to),
        };
        is_of_group(&self.api_version, GATEWAY).then_some(facts)
    }
}
