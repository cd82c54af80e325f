//! Creates an image pull Secret for a registry.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "create-pull-secret",
    doc: "Creates a Secret of type docker-registry in the namespace of the pod. You fill in user and password.",
    params: &["name", "server"],
    has_text: false,
    undo: Undo::Command("kubectl delete secret NAME"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let command = format!(
        "kubectl -n {} create secret docker-registry {} --docker-server={} --docker-username=<USER> --docker-password=<PASSWORD>",
        ask.target.as_ref()?.namespace,
        shell_word(ask.with("name")?),
        shell_word(ask.with("server")?)
    );
    Some(remedy::command(ask.remedy(), command))
}
