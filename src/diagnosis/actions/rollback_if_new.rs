//! Goes back to an older template, where the failure may have begun with the present one.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::signals::termination::exit_code::go_back;

pub(super) const ACTION: Action = Action {
    name: "rollback-if-new",
    doc: "Goes back to a revision that worked, in case the failure began with a new version. Offered where the workload keeps \
          revisions and has an older one. Undo: kubectl rollout undo --to-revision of the newest revision.",
    params: &[],
    has_text: true,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    go_back(ask.subject.pod()?)
}
