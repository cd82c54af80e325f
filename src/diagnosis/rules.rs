//! The one table of causes, in the order in which they are asked: specific before general, cause before consequence.

#[cfg(test)]
mod advice;
mod names;
#[cfg(test)]
mod patience;

use super::rule::{Known, Recovery, Rule};
pub(super) use super::signals::termination::log_line::wanted as log_wanted;
use super::signals::{
    Source, admission, claim, container_creation, container_start, deletion, disruption, eviction, image_pull,
    init_container, missing_node, node_ready, pod_end, pod_failure, probe, program_error, readiness_gate, resize,
    sandbox, scheduling, sidecar, slow_restarts, termination, unknown as last_resort, volume,
};
use super::{catalog, node as nodes, workload as workloads};
use crate::api::ContainerType;

pub(crate) use self::names::nearest;
pub use self::names::unknown;
pub(super) use super::signals::claim::wanted as claims_wanted;
pub use super::signals::image_pull::holds_up_pulls;
pub use super::signals::probe::STARTUP;
pub use super::signals::termination::hook::HOOK_KILL;

/// The signals of pods, in the order in which their causes are asked. The catalogue has the order of a signal's causes.
pub(super) const SIGNALS: &[&Source] = &[
    &missing_node::SOURCE,
    &node_ready::SOURCE,
    &scheduling::SOURCE,
    &claim::SOURCE,
    &volume::SOURCE,
    &sandbox::SOURCE,
    &image_pull::SOURCE,
    &container_start::SOURCE,
    &probe::SOURCE,
    &program_error::SOURCE,
    &termination::SOURCE,
    &slow_restarts::SOURCE,
    &disruption::SOURCE,
    &deletion::SOURCE,
    &eviction::SOURCE,
    &admission::SOURCE,
    &pod_end::SOURCE,
    &sidecar::SOURCE,
    &init_container::SOURCE,
    &pod_failure::SOURCE,
    &readiness_gate::SOURCE,
    &resize::SOURCE,
    &container_creation::SOURCE,
    &last_resort::SOURCE,
];

/// Every rule, in order.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    SIGNALS.iter().flat_map(|source| catalog::rules(source.definition.name))
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
    SIGNALS.iter().flat_map(|source| catalog::patient(source.definition.name))
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
