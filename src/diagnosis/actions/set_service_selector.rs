//! Changes the selector of a Service.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "set-service-selector",
    doc: "Sets one label of a Service's selector. Offered where the value is known. Undo: set the old value.",
    params: &["service", "key", "value"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (service, key, value) = (ask.with("service")?, ask.with("key")?, ask.with("value")?);
    let patch = serde_json::json!({"spec": {"selector": {key: value}}}).to_string();
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(
        ask.remedy(),
        format!("{prefix} patch service {} -p {}", shell_word(service), shell_word(&patch)),
    ))
}
