//! Changes the replica count of a workload.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "scale",
    doc: "Sets the number of replicas. Offered for workloads that have one.",
    params: &["replicas"],
    has_text: false,
    undo: Undo::Command("kubectl scale KIND/NAME --replicas=OLD"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let replicas = ask.with("replicas")?.parse().ok()?;
    Some(remedy::command(ask.remedy(), ask.target.as_ref()?.scale_command(replicas)?))
}
