//! `diagnose`: from what is known of a pod to what is wrong with it.
//!
//! Pure: no clock, no I/O, and it cannot fail. What it does not know is `Unknown`, with the evidence.

mod case;
mod finding;
pub mod restarts;
mod rule;
pub mod rules;
pub mod target;
pub mod text;

pub use case::{Case, Ledger, Observed, Thresholds};
pub use finding::{Finding, evidence, remedy};
pub use rule::{Category, Explain, Recovery, Rule, Scope, Specificity, Verdict};
