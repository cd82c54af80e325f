//! HorizontalPodAutoscalers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{AUTOSCALING, current, identity, is_of_group};
use crate::facts::route::{AutoscalerFacts, NetworkKind};
use crate::wire::lenient::{Int, List, Name, Obj, Text};
use crate::wire::meta::{self, WireCondition};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Autoscaler {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    scale_target_ref: Obj<Target>,
    min_replicas: Int,
    max_replicas: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Target {
    kind: Name,
    name: Name,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    current_replicas: Int,
    desired_replicas: Int,
    conditions: List<WireCondition>,
}

impl Autoscaler {
    pub(super) fn into_facts(self) -> Option<AutoscalerFacts> {
        let (spec, status) = (self.spec.or_default(), self.status.or_default());
        let target = spec.scale_target_ref.or_default();
        let facts = AutoscalerFacts {
            identity: identity(&self.metadata, NetworkKind::HorizontalPodAutoscaler),
            target_kind: target.kind.0,
            target: target.name.0,
            min: spec.min_replicas.or(1),
            max: spec.max_replicas.or(0),
            current: status.current_replicas.or(0),
            desired: status.desired_replicas.or(0),
            // The controller states no generation in them.
            conditions: current(status.conditions, None),
        };
        is_of_group(&self.api_version, AUTOSCALING).then_some(facts)
    }
}
