//! Changes the number of pods of a workload.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "scale",
    doc: "Sets the number of replicas. Offered for workloads that have one. Undo: kubectl scale to the old number.",
    params: &["replicas"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let replicas = ask.with("replicas")?.parse().ok()?;
    Some(remedy::command(ask.remedy(), ask.target.as_ref()?.scale_command(replicas)?))
}
