//! Goes back to an older template.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::undo;

pub(super) const ACTION: Action = Action {
    name: "rollback",
    doc: "Goes back to the revision whose pods still serve. Offered where a rollout is stuck: no pod of the new template is \
          ready, and pods of an older one are. Undo: kubectl rollout undo --to-revision of the newest revision.",
    params: &[],
    has_text: true,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    undo::of_stuck_rollout(ask.subject.pod()?)
}
