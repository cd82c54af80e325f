//! Adds a key to a ConfigMap.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "add-configmap-key",
    doc: "Adds a key to a ConfigMap in the namespace of the pod. You fill in the value.",
    params: &["name", "key"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build: |ask| build(ask, "configmap", "data"),
};

/// Adds a key to this field of an object. The placeholder is outside the quotes, so that a shell rejects the command
/// until it is replaced.
pub(super) fn build(ask: &Ask<'_>, kind: &str, field: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    let (name, key) = (shell_word(ask.with("name")?), ask.with("key")?);
    let body =
        shell_word(&serde_json::json!({ field: { key: "<VALUE>" } }).to_string()).replace("<VALUE>", "'<VALUE>'");
    Some(remedy::command(ask.remedy(), format!("{prefix} patch {kind} {name} --type=merge -p {body}")))
}
