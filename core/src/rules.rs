//! The table of causes in evaluation order: specific before general, cause before consequence.

#[cfg(test)]
mod advice;
pub mod catalog;
mod diagnose;
mod impact;
mod installation;
mod misread;
mod names;
pub mod node;
mod report;
pub mod route;
mod rule;
#[cfg(test)]
mod thresholds;
mod workload;

use crate::api::ContainerType;
use crate::case::Recovery;
use crate::facts::Labels;
pub(crate) use crate::signals::termination::log_line::needed as log_needed;
use crate::signals::{
    Source, admission, claim, container_creation, container_start, deletion, device, disruption, eviction, image_pull,
    init_container, missing_node, node_ready, pod_end, pod_failure, probe, program_error, readiness_gate, resize,
    sandbox, scheduling, sidecar, slow_restarts, termination, unknown as last_resort, volume,
};

pub use self::catalog::reads_names;
pub use self::diagnose::diagnose;
pub(crate) use self::names::nearest;
pub use self::names::unknown;
pub use self::rule::{Explain, Known, Rule};
pub use self::workload::{
    answers_for_its_parts, cause_of_fields, follows_from_pods, is_explained_by_pods, is_of_service,
    judge as judge_workload, lies_in_template, unmatched_due, unmatched_services,
};
pub(crate) use crate::signals::claim::needed as claims_needed;
pub use crate::signals::image_pull::holds_up_pulls;
pub use crate::signals::probe::STARTUP;
pub use crate::signals::termination::hook::HOOK_KILL;

/// Signals of pods, in evaluation order. The catalogue orders the causes of each signal.
pub(crate) const SIGNALS: &[&Source] = &[
    &missing_node::SOURCE,
    &node_ready::SOURCE,
    &scheduling::SOURCE,
    &claim::SOURCE,
    &volume::SOURCE,
    &sandbox::SOURCE,
    &image_pull::SOURCE,
    &container_start::SOURCE,
    &device::SOURCE,
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

/// All rules, in order.
pub fn all() -> impl Iterator<Item = Rule> {
    SIGNALS.iter().flat_map(|source| catalog::rules(source.definition.name))
}

/// All causes without duplicates: those of pods, then those of only nodes or workloads.
pub fn known() -> impl Iterator<Item = Known> {
    let of_pods = all().map(|rule| Known { cause: rule.cause, category: rule.category });
    of_pods.chain(node::known()).chain(workload::known())
}

/// Finds a cause by its name, case-insensitively.
pub fn named(name: &str) -> Option<Known> {
    known().find(|known| known.cause.eq_ignore_ascii_case(name))
}

/// Causes that have a threshold, which can be set for each of them: of pods, of nodes, and of objects that are diagnosed by
/// their own status or on the path of a request.
pub fn patient() -> impl Iterator<Item = &'static str> {
    let of_pods = SIGNALS.iter().map(|source| source.definition.name);
    let of_objects = workload::OF_OBJECTS.into_iter().flat_map(catalog::known).map(|known| known.cause);
    of_pods.chain(node::PATIENT).flat_map(catalog::patient).chain(of_objects)
}

/// Whether a rule of a user leaves out a cause of an object in a namespace with these labels.
pub(crate) fn is_ignored(cause: &str, namespace: &str, labels: Option<&Labels>) -> bool {
    catalog::current().ignored_by(cause, namespace, labels).is_some()
}

/// How a pod recovers from this cause in a container of this type. Unknown causes use the slower way.
pub fn recovery(cause: &str, container: Option<ContainerType>) -> Recovery {
    match container {
        // An init container does not run again once its pod is Ready.
        Some(ContainerType::Init) => Recovery::NeverStarted,
        _ => find(cause).map_or(Recovery::Restarting, |rule| rule.recovery),
    }
}

/// The rule of a cause.
pub fn find(cause: &str) -> Option<Rule> {
    let catalog = catalog::current();
    let is_of_pods = |signal: &str| SIGNALS.iter().any(|source| source.definition.name == signal);
    catalog.named(cause).filter(|cause| is_of_pods(cause.signal.name)).map(|cause| cause.rule)
}
