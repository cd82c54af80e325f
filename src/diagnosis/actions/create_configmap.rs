//! Creates a ConfigMap that is missing.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "create-configmap",
    doc: "Creates a ConfigMap in the pod's namespace from a file that only a human knows. Undo: kubectl delete configmap.",
    params: &["name"],
    has_text: false,
    build: |ask| build(ask, "configmap"),
};

/// Creates an object of this kind, as `kubectl create` takes it.
pub(super) fn build(ask: &Ask<'_>, kind: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    let name = shell_word(ask.with("name")?);
    Some(remedy::command(ask.remedy(), format!("{prefix} create {kind} {name} --from-file=<FILE>")))
}
