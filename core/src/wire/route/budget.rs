//! PodDisruptionBudgets.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{POLICY, identity, is_of_group};
use crate::facts::route::{BudgetFacts, BudgetStatus, NetworkKind};
use crate::wire::lenient::{Dict, Int, List, Obj, Text};
use crate::wire::meta;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Budget {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub(super) metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    min_available: Text,
    max_unavailable: Text,
    selector: Obj<Selector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Selector {
    match_labels: Dict,
    match_expressions: List<Expression>,
}

/// A requirement. Only its presence matters.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Expression {}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    current_healthy: Int,
    desired_healthy: Int,
    expected_pods: Int,
    disruptions_allowed: Int,
    observed_generation: Int,
}

impl Budget {
    pub(super) fn into_facts(self) -> Option<BudgetFacts> {
        let spec = self.spec.or_default();
        let newest = self.metadata.generation.unwrap_or_default();
        let status = self.status.0.filter(|of| of.observed_generation.0.is_some_and(|observed| observed >= newest));
        let selector = spec.selector.0;
        let has_only_labels = selector.as_ref().is_some_and(|of| of.match_expressions.0.is_empty());
        let facts = BudgetFacts {
            identity: identity(&self.metadata, NetworkKind::PodDisruptionBudget),
            min_available: spec.min_available.0,
            max_unavailable: spec.max_unavailable.0,
            selector: selector.map(|of| of.match_labels.into_labels()).unwrap_or_default(),
            has_only_labels,
            status: status.map(|of| BudgetStatus {
                current_healthy: of.current_healthy.or(0),
                desired_healthy: of.desired_healthy.or(0),
                expected_pods: of.expected_pods.or(0),
                allowed: of.disruptions_allowed.or(0),
            }),
        };
        is_of_group(&self.api_version, POLICY).then_some(facts)
    }
}
