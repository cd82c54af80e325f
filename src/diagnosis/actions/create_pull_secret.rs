//! Creates the Secret with a registry's credentials.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "create-pull-secret",
    doc: "Creates a Secret of type docker-registry in the pod's namespace; user and password only a human knows. \
          Undo: kubectl delete secret.",
    params: &["name", "server"],
    has_text: false,
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
