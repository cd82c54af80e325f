//! Adds a startup probe to a container, so that it has more time to start.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::signals::probe::handler::handler_yaml;

pub(super) const ACTION: Action = Action {
    name: "add-startup-probe",
    doc: "Adds a startupProbe with the check of the liveness probe, for up to 2 minutes; the liveness probe starts \
          after it. Offered if the container has a liveness probe and no startup probe.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.startup.is_none())?;
    let handler = handler_yaml(&container.liveness.as_ref()?.handler)?;
    let fields = format!("startupProbe:\n{handler}  periodSeconds: 2\n  failureThreshold: 60\n");
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), &fields))
}
