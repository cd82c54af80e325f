//! Gives a container time to start.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::signals::probe::handler::handler_yaml;

pub(super) const ACTION: Action = Action {
    name: "add-startup-probe",
    doc: "Adds a startupProbe that asks what the liveness probe asks, for up to 2 minutes; the liveness probe waits for it. \
          Offered where the container has a liveness probe and no startup probe. Undo: remove the startupProbe.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.startup.is_none())?;
    let handler = handler_yaml(&container.liveness.as_ref()?.handler)?;
    let fields = format!("startupProbe:\n{handler}  periodSeconds: 2\n  failureThreshold: 60\n");
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), &fields))
}
