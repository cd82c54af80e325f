//! Changes the selector of a Service.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-service-selector",
    doc: "Sets one label of a Service's selector. Offered if the value is known.",
    params: &["service", "key", "value"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
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
