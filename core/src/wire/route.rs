//! Objects on the path of a request, autoscalers and disruption budgets.

mod autoscaler;
mod budget;
mod gateway;
mod http_route;
mod ingress;

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};

pub use self::autoscaler::Autoscaler;
pub use self::budget::Budget;
pub use self::gateway::{Gateway, GatewayClass, ReferenceGrant};
pub use self::http_route::Route;
pub use self::ingress::{Ingress, IngressClass};
use super::claim::PersistentVolumeClaim;
use super::dynamic::HasMetadata;
use super::lenient::List;
use super::meta::{self, WireCondition};
use super::service::{EndpointSlice, Service};
use crate::facts::route::{Identity, NetworkKind, NetworkObject};
use crate::facts::{Condition, ObjectKey, WorkloadName};

/// The wire form of a kind that is read for the network.
pub trait NetworkWire: HasMetadata + Clone + Debug + DeserializeOwned + Send + 'static {
    /// `None`: an object of another API group, or a slice without a Service.
    fn into_object(self, kind: NetworkKind) -> Option<NetworkObject>;
}

macro_rules! network_wire {
    ($($wire:ty => |$object:ident, $kind:pat_param| $facts:expr;)*) => {$(
        impl HasMetadata for $wire {
            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl NetworkWire for $wire {
            fn into_object(self, $kind: NetworkKind) -> Option<NetworkObject> {
                let $object = self;
                $facts
            }
        }
    )*};
}

network_wire! {
    Ingress => |of, _| of.into_facts().map(NetworkObject::Ingress);
    IngressClass => |of, _| of.into_facts().map(NetworkObject::IngressClass);
    Gateway => |of, _| of.into_facts().map(NetworkObject::Gateway);
    GatewayClass => |of, _| of.into_facts().map(NetworkObject::GatewayClass);
    Route => |of, kind| of.into_facts(kind).map(NetworkObject::Route);
    ReferenceGrant => |of, _| of.into_facts().map(NetworkObject::Grant);
    Service => |of, _| of.backend().map(NetworkObject::Service);
    EndpointSlice => |of, _| of.slice().map(NetworkObject::Slice);
    Autoscaler => |of, _| of.into_facts().map(NetworkObject::Autoscaler);
    Budget => |of, _| of.into_facts().map(NetworkObject::Budget);
    PersistentVolumeClaim => |of, _| Some(NetworkObject::Claim(of.stored()));
}

/// Reads an object of a dump. `None`: it is of another kind or API group.
pub(super) fn read<'de, D: Deserializer<'de>>(kind: &str, d: D) -> Result<Option<NetworkObject>, D::Error> {
    fn of<'de, W: NetworkWire, D: Deserializer<'de>>(
        kind: NetworkKind,
        d: D,
    ) -> Result<Option<NetworkObject>, D::Error> {
        Ok(W::deserialize(d)?.into_object(kind))
    }
    let Some(known) = NetworkKind::ALL.into_iter().find(|known| known.as_str() == kind) else {
        serde::de::IgnoredAny::deserialize(d)?;
        return Ok(None);
    };
    match known {
        NetworkKind::Ingress => of::<Ingress, D>(known, d),
        NetworkKind::IngressClass => of::<IngressClass, D>(known, d),
        NetworkKind::Gateway => of::<Gateway, D>(known, d),
        NetworkKind::GatewayClass => of::<GatewayClass, D>(known, d),
        NetworkKind::HttpRoute | NetworkKind::GrpcRoute => of::<Route, D>(known, d),
        NetworkKind::ReferenceGrant => of::<ReferenceGrant, D>(known, d),
        NetworkKind::HorizontalPodAutoscaler => of::<Autoscaler, D>(known, d),
        NetworkKind::PodDisruptionBudget => of::<Budget, D>(known, d),
        // Read as such: they matter for pods too.
        NetworkKind::Service
        | NetworkKind::EndpointSlice
        | NetworkKind::PersistentVolumeClaim
        | NetworkKind::Pod
        | NetworkKind::Secret => {
            serde::de::IgnoredAny::deserialize(d)?;
            Ok(None)
        }
    }
}

/// API groups of the kinds. Other groups have kinds with the same names, such as the Gateway of Istio.
const NETWORKING: &str = "networking.k8s.io";
const GATEWAY: &str = "gateway.networking.k8s.io";
const AUTOSCALING: &str = "autoscaling";
const POLICY: &str = "policy";

/// Whether an object belongs to this API group. Objects in lists have no `apiVersion`.
fn is_of_group(api_version: &str, group: &str) -> bool {
    api_version.is_empty() || api_version.split_once('/').is_some_and(|(of, _)| of == group)
}

fn name(meta: &ObjectMeta) -> &str {
    meta.name.as_deref().unwrap_or_default()
}

fn object_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(namespace, name)
}

/// The identity of an object of a namespaced kind.
pub(super) fn identity(meta: &ObjectMeta, of: NetworkKind) -> Identity {
    let kind = of.as_str();
    let workload = WorkloadName {
        api_version: of.api_version().into(),
        kind: kind.into(),
        namespace: meta::namespace(meta).into(),
        name: name(meta).into(),
    };
    let uid = match &meta.uid {
        Some(uid) => Arc::from(uid.as_str()),
        None => Arc::from(format!("{kind}/{}/{}", meta::namespace(meta), name(meta))),
    };
    Identity {
        key: workload.into(),
        uid,
        created: meta::created(meta),
        deleting: meta.deletion_timestamp.is_some(),
        generation: meta.generation.unwrap_or_default(),
        manager: meta::manager(meta),
        overrides: meta::overrides(meta),
    }
}

/// The conditions about the newest generation. A controller that states no generation is believed.
fn current(conditions: List<WireCondition>, generation: Option<i64>) -> Vec<Condition> {
    let is_current = |of: &WireCondition| {
        of.observed_generation().zip(generation).is_none_or(|(observed, newest)| observed >= newest)
    };
    conditions.into_iter().filter(is_current).map(Condition::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, json: &serde_json::Value) -> Option<NetworkObject> {
        super::read(kind, json.clone()).unwrap()
    }

    const KINDS: [&str; 9] = [
        "Ingress",
        "IngressClass",
        "Gateway",
        "GatewayClass",
        "HTTPRoute",
        "GRPCRoute",
        "ReferenceGrant",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
    ];

    #[test]
    fn no_shape_of_a_field_is_an_error() {
        let odd = [
            serde_json::json!(null),
            serde_json::json!(7),
            serde_json::json!("text"),
            serde_json::json!([null, 1, "x", [], {}]),
            serde_json::json!({"a": {"b": []}}),
        ];
        for kind in KINDS {
            for value in &odd {
                for object in [
                    serde_json::json!({"metadata": value, "spec": value, "status": value}),
                    serde_json::json!({"spec": {"rules": value, "tls": value, "listeners": value, "parentRefs": value,
                        "from": value, "to": value, "selector": value, "scaleTargetRef": value, "minAvailable": value,
                        "ingressClassName": value, "defaultBackend": value, "hostnames": value}}),
                    serde_json::json!({"spec": {"rules": [{"http": value, "matches": value, "backendRefs": value}],
                        "listeners": [{"tls": value, "port": value}], "selector": {"matchLabels": value}},
                        "status": {"conditions": value, "listeners": value, "parents": value, "loadBalancer": value}}),
                ] {
                    let _ = read(kind, &object);
                }
            }
        }
    }

    #[test]
    fn kinds_of_other_groups_are_skipped() {
        let istio = serde_json::json!({"apiVersion": "networking.istio.io/v1", "metadata": {"name": "edge"}});
        assert_eq!(read("Gateway", &istio), None);
        let openshift = serde_json::json!({"apiVersion": "config.openshift.io/v1", "metadata": {"name": "cluster"}});
        assert_eq!(read("Ingress", &openshift), None);
        let own = serde_json::json!({"apiVersion": "gateway.networking.k8s.io/v1beta1", "metadata": {"name": "edge"}});
        assert!(read("Gateway", &own).is_some());
    }

    #[test]
    fn conditions_of_an_older_generation_are_dropped() {
        let gateway = serde_json::json!({"metadata": {"name": "edge", "generation": 3}, "status": {"conditions": [
            {"type": "Accepted", "status": "False", "observedGeneration": 2},
            {"type": "Programmed", "status": "True", "observedGeneration": 3},
            {"type": "Ready", "status": "True"}]}});
        let Some(NetworkObject::Gateway(gateway)) = read("Gateway", &gateway) else { panic!() };
        let kinds: Vec<String> = gateway.conditions.iter().map(|of| of.kind.clone()).collect();
        assert_eq!(kinds, ["Programmed", "Ready"]);
    }
}
