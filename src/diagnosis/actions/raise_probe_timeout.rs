//! Gives a probe more time to answer.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "raise-probe-timeout",
    doc: "Sets timeoutSeconds of a probe to five times its value, at least 5. Undo: set the old timeoutSeconds.",
    params: &["probe"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let fields = format!("{}Probe:\n  timeoutSeconds: {}\n", kind.lower(), (probe.timeout * 5).max(5));
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), &fields))
}
