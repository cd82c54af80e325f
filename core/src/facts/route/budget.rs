//! PodDisruptionBudgets.

use super::Identity;
use crate::facts::Labels;

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetFacts {
    pub identity: Identity,
    /// `spec.minAvailable`, a number or a percentage. Empty if it is not set.
    pub min_available: String,
    /// `spec.maxUnavailable`, in the same form.
    pub max_unavailable: String,
    /// `spec.selector.matchLabels`.
    pub selector: Labels,
    /// Whether the selector has only labels to match, so that it can be evaluated.
    pub has_only_labels: bool,
    /// `None`: the status does not reflect the newest generation.
    pub status: Option<BudgetStatus>,
}

/// The status of a PodDisruptionBudget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetStatus {
    pub current_healthy: i64,
    pub desired_healthy: i64,
    pub expected_pods: i64,
    pub allowed: i64,
}

impl BudgetFacts {
    pub fn selects(&self, labels: &Labels) -> bool {
        self.has_only_labels && self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}
