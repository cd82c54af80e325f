//! `diagnose`: from what is known of a pod to what is wrong with it.
//!
//! Pure: no clock, no I/O, and it cannot fail. What it does not know is `Unknown`, with the evidence.

mod case;
mod finding;
mod rule;
pub mod rules;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;

pub use case::{Case, Ledger, Observed, Thresholds};
pub use finding::{Finding, evidence, remedy};
pub use rule::{Category, Explain, Recovery, Rule, Scope, Specificity, Verdict};
