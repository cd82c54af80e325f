//! Rolls back to an earlier revision.

use super::{Action, Ask, Undo, undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "rollback",
    doc: "Goes back to the revision whose pods still serve. Offered if a rollout is stuck: no pod of the new \
          template is ready, and pods of an older one are.",
    params: &[],
    has_text: true,
    undo: Undo::Command("kubectl rollout undo KIND/NAME --to-revision=NEWEST"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    undo::of_stuck_rollout(ask.subject.pod()?)
}
