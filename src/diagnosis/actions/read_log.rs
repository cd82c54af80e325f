//! Reads the log of the run that ended.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::signals::termination::exit_code::log_remedy;

pub(super) const ACTION: Action = Action {
    name: "read-log",
    doc: "Prints the last 50 lines of the container's log, of the previous run where it has been restarted. Changes nothing.",
    params: &[],
    has_text: true,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(log_remedy(ask.subject.pod()?, ask.container?))
}
