//! Creates a ServiceAccount.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "create-serviceaccount",
    doc: "Creates a ServiceAccount in the namespace, without any rights. Undo: kubectl delete serviceaccount.",
    params: &["name"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(ask.remedy(), format!("{prefix} create serviceaccount {}", shell_word(ask.with("name")?))))
}
