//! Creates a ServiceAccount.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "create-serviceaccount",
    doc: "Creates a ServiceAccount in the namespace, without any rights.",
    params: &["name"],
    has_text: false,
    undo: Undo::Command("kubectl delete serviceaccount NAME"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(ask.remedy(), format!("{prefix} create serviceaccount {}", shell_word(ask.with("name")?))))
}
