//! Creates a missing ConfigMap.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "create-configmap",
    doc: "Creates a ConfigMap in the namespace of the pod, with the given keys or from a file. You fill in the \
          values.",
    params: &["name", "keys"],
    has_text: false,
    undo: Undo::Command("kubectl delete configmap NAME"),
    needed_names: None,
    build: |ask| build(ask, "configmap"),
};

/// Creates an object of this kind (a resource type that `kubectl create` accepts).
pub(super) fn build(ask: &Ask<'_>, kind: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    let name = shell_word(ask.with("name")?);
    let content = match ask.list("keys") {
        [] => ask.with("keys").map_or(" --from-file=<FILE>".to_owned(), literal),
        keys => keys.iter().map(|key| literal(key)).collect(),
    };
    Some(remedy::command(ask.remedy(), format!("{prefix} create {kind} {name}{content}")))
}

fn literal(key: &str) -> String {
    let key = if key == "<KEY>" { key.into() } else { shell_word(key) };
    format!(" --from-literal={key}=<VALUE>")
}
