//! Rules: one cause, how it ranks and how it is explained.

use super::catalog;
use crate::case::{Category, Recovery, Specificity};
use crate::language::Language;

/// One cause. The table in `rules.rs` holds them all; the parser, the matcher, `explain` and docs/causes only read it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Cause in the custom resource, Event reason and metric label: `[A-Z][A-Za-z0-9]{0,62}`. It is API: never rename
    /// it.
    pub cause: &'static str,
    pub category: Category,
    pub recovery: Recovery,
    pub specificity: Specificity,
}

/// A documented cause of a pod, a node or a workload. Rules define those of pods; causes that only nodes or workloads
/// have are in their own tables.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub cause: &'static str,
    pub category: Category,
}

impl Known {
    /// The explanation in this language.
    pub fn explain(&self, language: Language) -> Explain {
        catalog::explain(self.cause, language).unwrap_or_default()
    }
}

/// Content of `shindan explain` and of the pages in docs/causes.
#[derive(Debug, Clone, Default)]
pub struct Explain {
    /// One sentence.
    pub meaning: String,
    /// How it differs from similar causes.
    pub distinguish: String,
    /// What to do.
    pub action: String,
    /// Source code of Kubernetes (or of the runtime) that emits the signal.
    pub source: String,
}
