//! Predicates in Rust that cause files reference with `check`, for conditions that an expression over the fields of a
//! signal cannot state. At most 20; each file that uses one states why.

use crate::signals::Context;

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
