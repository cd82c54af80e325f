//! HorizontalPodAutoscalers.

use super::Identity;
use crate::facts::{Condition, WorkloadName};

/// A HorizontalPodAutoscaler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AutoscalerFacts {
    pub identity: Identity,
    pub target_kind: String,
    pub target: String,
    pub min: i64,
    pub max: i64,
    pub current: i64,
    pub desired: i64,
    pub conditions: Vec<Condition>,
}

impl AutoscalerFacts {
    /// Whether it scales this workload of its namespace.
    pub fn targets(&self, workload: &WorkloadName) -> bool {
        *workload.kind == *self.target_kind && *workload.name == *self.target
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}
