//! Sets the fields of securityContext that a Pod Security level requires.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::signals::pod_creation::bounds;

pub(super) const ACTION: Action = Action {
    name: "set-security-context",
    doc: "Sets in securityContext of each container what the violations of a Pod Security level require. If a \
          violation needs more than that, it opens the template in an editor.",
    params: &["violations"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

/// The field that removes a violation. Source: k8s.io/pod-security-admission policy.
fn setting(violation: &str) -> Option<(&'static str, Value)> {
    Some(match violation {
        "privileged" => ("privileged", json!(false)),
        "allowPrivilegeEscalation != false" => ("allowPrivilegeEscalation", json!(false)),
        "unrestricted capabilities" => ("capabilities", json!({"drop": ["ALL"]})),
        "runAsNonRoot != true" => ("runAsNonRoot", json!(true)),
        "seccompProfile" => ("seccompProfile", json!({"type": "RuntimeDefault"})),
        _ => return None,
    })
}

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    match fields(ask) {
        Some(fields) => Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields)),
        None => edit_template::build(ask),
    }
}

fn fields(ask: &Ask<'_>) -> Option<Value> {
    let mut contexts: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for found in bounds::settings(ask.with("violations")?)? {
        let (field, value) = setting(found.violation)?;
        for container in found.containers {
            contexts.entry(container).or_default().insert(field.to_owned(), value.clone());
        }
    }
    ask.of_containers(contexts.into_iter().map(|(name, context)| (name, json!({"securityContext": context}))))
}
