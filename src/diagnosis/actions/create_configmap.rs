//! Creates a ConfigMap that is missing.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "create-configmap",
    doc: "Creates a ConfigMap in the pod's namespace, with the given keys or from a file; values only a human knows. \
          Undo: kubectl delete configmap.",
    params: &["name", "keys"],
    has_text: false,
    build: |ask| build(ask, "configmap"),
};

/// Creates an object of this kind, as `kubectl create` takes it.
pub(super) fn build(ask: &Ask<'_>, kind: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    let name = shell_word(ask.with("name")?);
    let keys = ask.with("keys").map(|keys| keys.split(", ").map(literal).collect::<String>());
    let content = keys.unwrap_or_else(|| " --from-file=<FILE>".to_owned());
    Some(remedy::command(ask.remedy(), format!("{prefix} create {kind} {name}{content}")))
}

fn literal(key: &str) -> String {
    let key = if key == "<KEY>" { key.into() } else { shell_word(key) };
    format!(" --from-literal={key}=<VALUE>")
}
