//! What to do about a workload.

use std::fmt::Display;

use super::case::{FailingPod, WorkloadCase};
use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::diagnosis::{Language, remedy, undo};
use crate::facts::ReplicaSetFacts;

/// `kubectl -n NAMESPACE`.
fn kubectl(case: &WorkloadCase<'_>) -> String {
    format!("kubectl -n {}", case.workload.key.namespace)
}

/// Back to this template; where `is_proven`, its pods were good.
pub(super) fn undo(case: &WorkloadCase<'_>, good: &ReplicaSetFacts, is_proven: bool) -> Remedy {
    undo_to(case, good.revision, good.ready > 0, is_proven)
}

pub(super) fn undo_to(case: &WorkloadCase<'_>, revision: i64, serves: bool, is_proven: bool) -> Remedy {
    let text = way_back(case.language(), revision, serves, is_proven);
    remedy::command(remedy::mitigate(text), undo::command(case.workload, revision))
}

fn way_back(language: Language, revision: impl Display, serves: bool, is_proven: bool) -> String {
    let back = match is_proven {
        true if serves => say!(language, "Go back to revision {revision}, which still serves", revision),
        true => say!(language, "Go back to revision {revision}", revision),
        false => say!(language, "If revision {revision} worked, go back to it", revision),
    };
    say!(language, "{back}; correct the template before the next rollout.", back)
}

/// An update of a StatefulSet waits for a pod that fails.
pub(super) fn undo_and_replace(case: &WorkloadCase<'_>, revision: &str, is_proven: bool, pod: &FailingPod) -> Remedy {
    let pod = &pod.name;
    let text = if is_proven {
        say!(
            case,
            "Go back to revision {revision}, then delete {pod}: the StatefulSet does not replace a pod that is not Ready by itself.",
            revision,
            pod
        )
    } else {
        say!(
            case,
            "If it worked, go back to revision {revision}, then delete {pod}: the StatefulSet does not replace a pod that is not Ready by itself.",
            revision,
            pod
        )
    };
    let undo = undo::command_by_name(case.workload, revision);
    remedy::command(remedy::mitigate(text), format!("{undo} && {} delete pod {pod}", kubectl(case)))
}

/// Where pods are made all at once, a broken one is replaced without help.
pub(super) fn undo_by_name(case: &WorkloadCase<'_>, revision: &str) -> Remedy {
    remedy::command(
        remedy::mitigate(way_back(case.language(), revision, true, true)),
        undo::command_by_name(case.workload, revision),
    )
}

/// A pod that is not Ready keeps its old template.
pub(super) fn replace(case: &WorkloadCase<'_>, pod: &FailingPod) -> Remedy {
    let text = say!(
        case,
        "If you correct the template, then delete {pod}: while it is not Ready, the StatefulSet does not give it the new one.",
        pod = pod.name
    );
    remedy::command(remedy::fix(text), format!("{} delete pod {}", kubectl(case), pod.name))
}
