//! Rolls back to an earlier revision, if the failure may have begun with the current one.

use super::{Action, Ask, Undo, undo};
use crate::case::Remedy;
use crate::language::phrase;

pub(super) const ACTION: Action = Action {
    name: "rollback-if-new",
    doc: "Goes back to a revision that worked, in case the failure began with a new version. Offered if the \
          workload keeps revisions and has an older one.",
    params: &[],
    has_text: true,
    undo: Undo::Command("kubectl rollout undo KIND/NAME --to-revision=NEWEST"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let case = ask.subject.pod()?;
    undo::of_pod(case, phrase!(case, "If it began with a new version,", "新しいバージョンから始まったなら、"))
}
