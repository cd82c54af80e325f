//! Raises the timeout of a probe.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "raise-probe-timeout",
    doc: "Sets timeoutSeconds of a probe to five times its value, at least 5.",
    params: &["probe"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let fields = json!({kind.field(): {"timeoutSeconds": (probe.timeout * 5).max(5)}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
