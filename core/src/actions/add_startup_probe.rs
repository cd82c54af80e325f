//! Adds a startup probe to a container, so that it has more time to start.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::below;
use crate::signals::probe::handler::handler_json;

pub(super) const ACTION: Action = Action {
    name: "add-startup-probe",
    doc: "Adds a startupProbe with the check of the liveness probe, for up to 2 minutes; the liveness probe starts \
          after it. Offered if the container has a liveness probe and no startup probe.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.startup.is_none())?;
    let mut probe = handler_json(&container.liveness.as_ref()?.handler)?;
    probe["periodSeconds"] = json!(2);
    probe["failureThreshold"] = json!(60);
    let fields = below(&["startupProbe"], probe);
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
