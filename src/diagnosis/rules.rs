//! The one table of causes, in the order in which they are asked: specific before general, cause before consequence.

mod crash;
mod image;
mod lifecycle;
mod node;
#[cfg(test)]
mod patience;
mod probe;
mod sandbox;
mod scheduling;
mod signature;
mod start;
mod unknown;
mod volume;

use super::rule::Rule;

/// All causes. A family's own order is in its module.
const FAMILIES: [&[Rule]; 10] = [
    node::RULES,
    scheduling::RULES,
    volume::RULES,
    sandbox::RULES,
    image::RULES,
    start::RULES,
    probe::RULES,
    crash::RULES,
    lifecycle::RULES,
    unknown::RULES,
];

/// Every rule, in order.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The rule of a cause.
pub fn find(cause: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.cause == cause)
}
