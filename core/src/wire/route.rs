//! Objects on the path of a request, autoscalers and disruption budgets.

mod autoscaler;
mod backend;
mod budget;
mod gateway;
mod http_route;
mod ingress;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::Deserializer;

pub use self::backend::{backend_pod, backend_services};
use super::lenient::List;
use super::meta::{self, WireCondition};
use crate::facts::route::{
    AutoscalerFacts, BudgetFacts, GatewayClassFacts, GatewayFacts, GrantFacts, Identity, IngressClassFacts,
    IngressFacts, RouteFacts,
};
use crate::facts::{Condition, ObjectKey, WorkloadName};

/// The objects of a dump, or of a list.
#[derive(Debug, Clone, Default)]
pub struct RouteObjects {
    pub ingresses: Vec<IngressFacts>,
    pub ingress_classes: Vec<IngressClassFacts>,
    pub gateways: Vec<GatewayFacts>,
    pub gateway_classes: Vec<GatewayClassFacts>,
    pub routes: Vec<RouteFacts>,
    pub grants: Vec<GrantFacts>,
    pub autoscalers: Vec<AutoscalerFacts>,
    pub budgets: Vec<BudgetFacts>,
}

/// API groups of the kinds. Other groups have kinds with the same names, such as the Gateway of Istio.
const NETWORKING: &str = "networking.k8s.io";
const GATEWAY: &str = "gateway.networking.k8s.io";
const AUTOSCALING: &str = "autoscaling";
const POLICY: &str = "policy";

impl RouteObjects {
    /// Whether objects of this kind are read here.
    pub fn reads(kind: &str) -> bool {
        matches!(
            kind,
            "Ingress"
                | "IngressClass"
                | "Gateway"
                | "GatewayClass"
                | "HTTPRoute"
                | "GRPCRoute"
                | "ReferenceGrant"
                | "HorizontalPodAutoscaler"
                | "PodDisruptionBudget"
        )
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.ingresses.is_empty()
            && self.ingress_classes.is_empty()
            && self.gateways.is_empty()
            && self.gateway_classes.is_empty()
            && self.routes.is_empty()
            && self.grants.is_empty()
            && self.autoscalers.is_empty()
            && self.budgets.is_empty()
    }

    /// Adds an object of a kind that is read here. An object of another API group is skipped.
    pub fn read<'de, D: Deserializer<'de>>(&mut self, kind: &str, d: D) -> Result<(), D::Error> {
        match kind {
            "Ingress" => self.ingresses.extend(ingress::Ingress::deserialize(d)?.into_facts()),
            "IngressClass" => self.ingress_classes.extend(ingress::IngressClass::deserialize(d)?.into_facts()),
            "Gateway" => self.gateways.extend(gateway::Gateway::deserialize(d)?.into_facts()),
            "GatewayClass" => self.gateway_classes.extend(gateway::GatewayClass::deserialize(d)?.into_facts()),
            "HTTPRoute" | "GRPCRoute" => self.routes.extend(http_route::Route::deserialize(d)?.into_facts(kind)),
            "ReferenceGrant" => self.grants.extend(gateway::ReferenceGrant::deserialize(d)?.into_facts()),
            "HorizontalPodAutoscaler" => self.autoscalers.extend(autoscaler::Autoscaler::deserialize(d)?.into_facts()),
            "PodDisruptionBudget" => self.budgets.extend(budget::Budget::deserialize(d)?.into_facts()),
            _ => {
                serde::de::IgnoredAny::deserialize(d)?;
            }
        }
        Ok(())
    }
}

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
fn identity(meta: &ObjectMeta, api_version: &str, kind: &str) -> Identity {
    let workload = WorkloadName {
        api_version: api_version.into(),
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

    fn read(kind: &str, json: &serde_json::Value) -> RouteObjects {
        let mut objects = RouteObjects::default();
        objects.read(kind, json.clone()).unwrap();
        objects
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
            assert!(RouteObjects::reads(kind));
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
                    read(kind, &object);
                }
            }
        }
    }

    #[test]
    fn kinds_of_other_groups_are_skipped() {
        let istio = serde_json::json!({"apiVersion": "networking.istio.io/v1", "metadata": {"name": "edge"}});
        assert!(read("Gateway", &istio).gateways.is_empty());
        let openshift = serde_json::json!({"apiVersion": "config.openshift.io/v1", "metadata": {"name": "cluster"}});
        assert!(read("Ingress", &openshift).ingresses.is_empty());
        let own = serde_json::json!({"apiVersion": "gateway.networking.k8s.io/v1beta1", "metadata": {"name": "edge"}});
        assert_eq!(read("Gateway", &own).gateways.len(), 1);
    }

    #[test]
    fn conditions_of_an_older_generation_are_dropped() {
        let gateway = serde_json::json!({"metadata": {"name": "edge", "generation": 3}, "status": {"conditions": [
            {"type": "Accepted", "status": "False", "observedGeneration": 2},
            {"type": "Programmed", "status": "True", "observedGeneration": 3},
            {"type": "Ready", "status": "True"}]}});
        let kinds: Vec<String> =
            read("Gateway", &gateway).gateways[0].conditions.iter().map(|of| of.kind.clone()).collect();
        assert_eq!(kinds, ["Programmed", "Ready"]);
    }
}
