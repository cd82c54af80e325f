//! Grants a ServiceAccount a permission.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "grant-role",
    doc: "Creates a Role with one permission and binds it to a service account; without a namespace, a \
          ClusterRole. `list` and `watch` are given together with `get`. Without a service account, only the text \
          is given.",
    params: &["account", "accountNamespace", "verb", "resource", "namespace"],
    has_text: false,
    undo: Undo::Command("kubectl delete rolebinding,role NAME"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (Some(account), Some(of)) = (ask.with("account"), ask.with("accountNamespace")) else {
        return Some(ask.remedy());
    };
    let (verb, resource) = (ask.with("verb")?, ask.with("resource")?);
    let verbs = if matches!(verb, "list" | "watch") { "get,list,watch" } else { verb };
    let role = format!("{account}-{}", resource.replace(['.', '/'], "-"));
    let (role, resource) = (shell_word(&role), shell_word(resource));
    let subject = shell_word(&format!("{of}:{account}")).into_owned();
    let command = match ask.with("namespace").map(shell_word) {
        Some(namespace) => format!(
            "kubectl -n {namespace} create role {role} --verb={verbs} --resource={resource} && kubectl -n {namespace} create rolebinding {role} --role={role} --serviceaccount={subject}"
        ),
        None => format!(
            "kubectl create clusterrole {role} --verb={verbs} --resource={resource} && kubectl create clusterrolebinding {role} --clusterrole={role} --serviceaccount={subject}"
        ),
    };
    Some(remedy::command(ask.remedy(), command))
}
