//! Selects another scheduler for the pods.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-scheduler",
    doc: "Sets schedulerName in the template. Offered if the pod names another scheduler.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let name = ask.with("name")?;
    if ask.subject.pod()?.pod.scheduler_name == name {
        return None;
    }
    let fields = json!({ "schedulerName": name });
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
