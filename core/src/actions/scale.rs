//! Changes the replica count of a workload.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};
use crate::signals::Subject;

pub(super) const ACTION: Action = Action {
    name: "scale",
    doc: "Lowers the number of replicas. Offered for workloads that have one, unless it is as low already.",
    params: &["replicas"],
    has_text: false,
    undo: Undo::Command("kubectl scale KIND/NAME --replicas=OLD"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let replicas = ask.with("replicas")?.parse().ok()?;
    let workload = match ask.subject {
        Subject::Pod(case) => case.surroundings.known_workload(),
        Subject::Workload(case) => Some(case.workload),
        Subject::Node { .. } => None,
    };
    if workload.is_some_and(|workload| workload.desired <= i64::from(replicas)) {
        return None;
    }
    Some(remedy::command(ask.remedy(), ask.target.as_ref()?.scale_command(replicas)?))
}
