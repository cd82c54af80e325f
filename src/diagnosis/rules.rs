//! The one table of causes, in the order in which they are asked: specific before general, cause before consequence.

#[cfg(test)]
mod advice;
mod crash;
mod names;
#[cfg(test)]
mod patience;

use super::rule::{Family, Known, Recovery, Rule};
pub(super) use super::signals::termination::log_line::wanted as log_wanted;
use super::signals::{
    admission, claim, container_creation, container_start, deletion, disruption, eviction, image_pull, init_container,
    missing_node, node_ready, pod_end, pod_failure, probe, program_error, readiness_gate, resize, sandbox, scheduling,
    sidecar, termination, unknown as last_resort, volume,
};
use super::{catalog, node as nodes, workload as workloads};
use crate::api::ContainerType;

pub(crate) use self::names::nearest;
pub use self::names::unknown;
pub(super) use super::signals::claim::wanted as claims_wanted;
pub use super::signals::image_pull::holds_up_pulls;
pub use super::signals::probe::STARTUP;
pub use super::signals::termination::hook::HOOK_KILL;

/// All causes, family by family. A family's own order is in its module.
pub(super) const FAMILIES: &[Family] = &[
    Family::Signal(&missing_node::SOURCE),
    Family::Signal(&node_ready::SOURCE),
    Family::Signal(&scheduling::SOURCE),
    Family::Signal(&claim::SOURCE),
    Family::Signal(&volume::SOURCE),
    Family::Signal(&sandbox::SOURCE),
    Family::Signal(&image_pull::SOURCE),
    Family::Signal(&container_start::SOURCE),
    Family::Signal(&probe::SOURCE),
    Family::Signal(&program_error::SOURCE),
    Family::Signal(&termination::SOURCE),
    Family::Each(crash::RULES),
    Family::Signal(&disruption::SOURCE),
    Family::Signal(&deletion::SOURCE),
    Family::Signal(&eviction::SOURCE),
    Family::Signal(&admission::SOURCE),
    Family::Signal(&pod_end::SOURCE),
    Family::Signal(&sidecar::SOURCE),
    Family::Signal(&init_container::SOURCE),
    Family::Signal(&pod_failure::SOURCE),
    Family::Signal(&readiness_gate::SOURCE),
    Family::Signal(&resize::SOURCE),
    Family::Signal(&container_creation::SOURCE),
    Family::Signal(&last_resort::SOURCE),
];

/// Every rule, in order.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(Family::rules)
}

/// Every cause once: those of pods, then those that only nodes or workloads have.
pub fn known() -> impl Iterator<Item = Known> {
    let of_pods = all().map(|rule| Known { cause: rule.cause, category: rule.category, explain: rule.explain });
    of_pods.chain(nodes::known()).chain(workloads::known())
}

/// The cause that a person means by this name, which may be written in any case.
pub fn named(name: &str) -> Option<Known> {
    known().find(|known| known.cause.eq_ignore_ascii_case(name))
}

/// Causes of pods that count only after a while, which may be chosen for each of them.
pub fn patient() -> impl Iterator<Item = &'static str> {
    let of_signals = FAMILIES.iter().filter_map(|family| match family {
        Family::Signal(source) => Some(source.definition.name),
        Family::Each(_) => None,
    });
    of_signals.flat_map(catalog::patient)
}

/// How a pod gets well again that has this cause in a container of this type; the slower way for a cause that this version
/// does not know.
pub fn recovery(cause: &str, container: Option<ContainerType>) -> Recovery {
    match container {
        // Once its pod is Ready, nothing starts it again.
        Some(ContainerType::Init) => Recovery::NeverStarted,
        _ => find(cause).map_or(Recovery::Restarting, |rule| rule.recovery),
    }
}

/// The rule of a cause.
pub fn find(cause: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.cause == cause)
}
