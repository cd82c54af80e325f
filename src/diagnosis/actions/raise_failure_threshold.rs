//! Lets a probe fail more often.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "raise-failure-threshold",
    doc: "Sets failureThreshold of a probe to four times its value. Undo: set the old failureThreshold.",
    params: &["probe"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let fields = format!("{}Probe:\n  failureThreshold: {}\n", kind.lower(), probe.failure_threshold.max(1) * 4);
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), &fields))
}
