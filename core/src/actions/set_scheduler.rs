//! Selects another scheduler for the pods.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "set-scheduler",
    doc: "Sets schedulerName in the template. Offered if the pod names another scheduler.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let name = ask.with("name")?;
    if ask.subject.pod()?.pod.scheduler_name == name {
        return None;
    }
    let fields = format!("schedulerName: {}\n", yaml_string(name));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
