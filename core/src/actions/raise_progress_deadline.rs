//! Raises the progress deadline of a Deployment.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::Probe;

pub(super) const ACTION: Action = Action {
    name: "raise-progress-deadline",
    doc: "Sets progressDeadlineSeconds of the Deployment to twice what the startup probe of the container allows, \
          at least 600. Offered if that is more than the present value.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

/// Default of `progressDeadlineSeconds` in Kubernetes.
const DEADLINE: i64 = 600;

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let budget = ask.container?.startup.as_deref().map(Probe::budget)?;
    let seconds = budget.saturating_mul(2).max(DEADLINE);
    let workload = ask.subject.pod()?.surroundings.workload.as_ref().and_then(Option::as_ref);
    if workload.and_then(|workload| workload.progress_deadline).is_some_and(|now| now >= seconds) {
        return None;
    }
    let target = ask.target.as_ref()?;
    if !target.is_patchable() {
        return Some(ask.remedy());
    }
    Some(target.with_patch(ask.remedy(), &json!({"spec": {"progressDeadlineSeconds": seconds}})))
}
