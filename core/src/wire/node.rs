//! Nodes.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::Interner;
use super::lenient::{Amounts, Flag, List, Name, Obj, Text, Time};
use super::meta::{self, WireCondition};
use crate::facts::{Condition, Cordon, MACHINE_CONFIG, MACHINE_CONFIG_REASON, NodeFacts, Taint};

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::Node)]
#[serde(default)]
pub struct Node {
    #[serde(deserialize_with = "meta::slim_with_cordon")]
    pub metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: Flag,
    taints: List<WireTaint>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireTaint {
    key: Text,
    value: Text,
    // One of three values. It becomes part of commands and patches.
    effect: Name,
    time_added: Time,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    capacity: Amounts,
    allocatable: Amounts,
    conditions: List<WireCondition>,
    node_info: Obj<NodeInfo>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeInfo {
    container_runtime_version: Text,
}

impl Node {
    pub fn into_facts(self, strings: &mut Interner) -> NodeFacts {
        let mut meta = self.metadata;
        let machine_config = machine_config(&meta);
        let cordon =
            meta.managed_fields.take().into_iter().flatten().next_back().map(|entry| {
                Box::new(Cordon { by: entry.manager.unwrap_or_default(), at: entry.time.map(|time| time.0) })
            });
        let spec = self.spec.or_default();
        let status = self.status.or_default();
        let mut conditions: Vec<Condition> = status.conditions.map(Into::into);
        conditions.extend(machine_config);
        let name = strings.intern(meta.name.as_deref().unwrap_or_default());
        NodeFacts {
            uid: meta.uid.as_deref().map_or_else(|| name.clone(), Arc::from),
            name,
            created: meta::created(&meta),
            labels: meta.labels.take().into_iter().flatten().collect(),
            unschedulable: spec.unschedulable.is_true(),
            cordon: cordon.filter(|_| spec.unschedulable.is_true()),
            taints: spec.taints.map(|t| Taint {
                key: t.key.0,
                value: t.value.0,
                effect: t.effect.0,
                added: t.time_added.real(),
            }),
            // The API server sets allocatable to capacity if the kubelet reports none.
            allocatable: if status.allocatable == Amounts::default() {
                status.capacity.0
            } else {
                status.allocatable.0
            },
            conditions,
            runtime: status.node_info.or_default().container_runtime_version.0,
        }
    }
}

/// The state that OpenShift's machine-config-daemon reports in annotations, as a condition: it has none of its own. `Working`
/// is an update, the others are failures.
fn machine_config(meta: &ObjectMeta) -> Option<Condition> {
    let annotations = meta.annotations.as_ref()?;
    let state = annotations.get(MACHINE_CONFIG)?;
    let status = match state.as_str() {
        "Degraded" | "Unreconcilable" => "Degraded",
        "Working" => "Working",
        _ => return None,
    };
    Some(Condition {
        kind: MACHINE_CONFIG.to_owned(),
        status: status.to_owned(),
        reason: state.clone(),
        message: annotations.get(MACHINE_CONFIG_REASON).cloned().unwrap_or_default(),
        last_transition: None,
    })
}
