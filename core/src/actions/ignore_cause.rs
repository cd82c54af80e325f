//! Disables the diagnosis of a cause for a workload.

use super::{Action, Ask, Undo};
use crate::api::RemedyKind;
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};
use crate::facts::IGNORE;

pub(super) const ACTION: Action = Action {
    name: "ignore-cause",
    doc: "Annotates the workload so that this cause is not reported for it. Offered if the pod has a controller \
          whose template can be changed.",
    params: &["cause"],
    has_text: false,
    undo: Undo::Command("kubectl annotate KIND/NAME shindan.dev/ignore-"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| target.is_patchable())?;
    let cause = shell_word(ask.with("cause")?);
    let command = format!("{} annotate {} {IGNORE}={cause}", target.command_prefix(), target.argument());
    Some(remedy::command(Remedy { kind: RemedyKind::Mitigate, ..ask.remedy() }, command))
}
