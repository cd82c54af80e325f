//! Predicates in Rust that a cause file may name with `check`, for what no expression over a signal's fields can decide.
//! At most 20; each file that names one says why.

use super::signals::Context;

/// A named predicate.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) holds: fn(&Context<'_>) -> bool,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All predicates.
const CHECKS: &[Check] = &[];

pub(crate) fn named(name: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.name == name)
}
