//! Stops a workload whose pods all fail.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "scale-to-zero",
    doc: "Scales the workload to 0. Offered where its controller creates pod after pod, each is evicted or rejected, and none \
          is ready. Undo: kubectl scale with the old number of replicas.",
    params: &[],
    has_text: true,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, target) = (ask.subject.pod()?, ask.target.as_ref()?);
    let siblings = &case.surroundings.siblings;
    let is_loop = siblings.are_thrown_out_again_and_again() && siblings.ready == 0;
    let command = target.scale_command(0).filter(|_| is_loop)?;
    let text = say!(
        case,
        "Scale {target} to 0 until this is corrected: it creates pod after pod, and each is rejected or evicted.",
        target = target.display()
    );
    Some(remedy::command(remedy::mitigate(text), command))
}
