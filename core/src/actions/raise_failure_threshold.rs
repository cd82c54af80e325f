//! Raises the failure threshold of a probe.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "raise-failure-threshold",
    doc: "Sets failureThreshold of a probe to four times its value.",
    params: &["probe"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let fields = json!({kind.field(): {"failureThreshold": probe.failure_threshold.max(1) * 4}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
