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
    let target = ask.target.as_ref()?;
    let command =
        format!("{} patch service {} -p {}", target.command_prefix(), shell_word(service), shell_word(&patch));
    // A Service mostly has the manager of the object that it is meant for, or that leads to it.
    Some(remedy::command(target.with_source(ask.remedy()), command))
}
