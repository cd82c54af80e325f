//! Scales a workload to zero when all of its pods fail.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "scale-to-zero",
    doc: "Scales the workload to 0. Offered if its controller keeps creating pods that are evicted or rejected, and \
          no pod is ready.",
    params: &[],
    has_text: true,
    undo: Undo::Command("kubectl scale KIND/NAME --replicas=OLD"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, target) = (ask.subject.pod()?, ask.target.as_ref()?);
    let siblings = &case.surroundings.siblings;
    let is_loop = siblings.are_thrown_out_again_and_again() && siblings.ready == 0;
    let command = target.scale_command(0).filter(|_| is_loop)?;
    let text = translate!(
        case,
        "Scale {target} to 0 until this is corrected: it keeps creating pods, and each is rejected or evicted.",
        "修正するまで {target} を 0 にスケールする: Pod を次々に作り、どれも拒否または evict されている。",
        target = target.display()
    );
    Some(remedy::command(remedy::mitigate(text), command))
}
