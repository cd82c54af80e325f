//! Adds a key to a ConfigMap.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "add-configmap-key",
    doc: "Adds a key to a ConfigMap of the pod's namespace; its value only a human knows. \
          Undo: remove the key with kubectl edit configmap.",
    params: &["name", "key"],
    has_text: false,
    build: |ask| build(ask, "configmap", "data"),
};

/// Adds a key to this field of an object. The placeholder stands outside the quotes, so that a shell refuses it.
pub(super) fn build(ask: &Ask<'_>, kind: &str, field: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    let (name, key) = (shell_word(ask.with("name")?), ask.with("key")?);
    let body =
        shell_word(&serde_json::json!({ field: { key: "<VALUE>" } }).to_string()).replace("<VALUE>", "'<VALUE>'");
    Some(remedy::command(ask.remedy(), format!("{prefix} patch {kind} {name} --type=merge -p {body}")))
}
