//! HorizontalPodAutoscalers.

use super::Identity;
use crate::facts::Condition;

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
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}
