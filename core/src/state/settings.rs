//! How to decide: thresholds, policy, the namespaces to report, and what may be read.

use super::Selection;
use crate::case::Thresholds;
use crate::reconcile::Policy;
use crate::rules::catalog::{self, Catalog};

/// How to decide.
#[derive(Debug)]
pub struct Settings {
    pub(in crate::state) thresholds: Thresholds,
    pub(in crate::state) policy: Policy,
    /// Whether lookups are performed, so that waiting for their results makes sense.
    pub(in crate::state) lookups_enabled: bool,
    /// Whether the logs of terminated containers may be read.
    pub(in crate::state) reads_logs: bool,
    /// Whether names of other objects may be read.
    pub(in crate::state) reads_names: bool,
    pub(in crate::state) selection: Selection,
}

impl Settings {
    pub(in crate::state) fn new(thresholds: Thresholds, policy: Policy) -> Self {
        let thresholds = Thresholds { of_rules: catalog::current().thresholds(), ..thresholds };
        Self {
            thresholds,
            policy,
            lookups_enabled: false,
            reads_logs: false,
            reads_names: false,
            selection: Selection::default(),
        }
    }

    /// Takes over the thresholds of the causes of rules.
    pub(in crate::state) fn follow(&mut self, catalog: &Catalog) {
        self.thresholds.of_rules = catalog.thresholds();
    }

    /// Enables waiting for lookups: their results arrive as changes.
    pub fn await_answers(&mut self) {
        self.lookups_enabled = true;
    }

    /// Enables lookups of the names of other objects.
    pub fn read_names(&mut self) {
        self.reads_names = true;
    }

    /// Enables lookups of the logs of terminated containers.
    pub fn read_logs(&mut self) {
        self.reads_logs = true;
    }
}
