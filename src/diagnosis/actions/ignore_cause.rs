//! Stops the diagnosis of a cause.

use super::{Action, Ask};
use crate::api::{Remedy, RemedyKind};
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;
use crate::facts::IGNORE;

pub(super) const ACTION: Action = Action {
    name: "ignore-cause",
    doc: "Annotates the workload so that this cause is not reported for it. Offered where the pod has a controller whose template \
          can be changed. Undo: remove the annotation.",
    params: &["cause"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| target.is_patchable())?;
    let cause = shell_word(ask.with("cause")?);
    let command = format!("{} annotate {} {IGNORE}={cause}", target.command_prefix(), target.argument());
    Some(remedy::command(Remedy { kind: RemedyKind::Mitigate, ..ask.remedy() }, command))
}
