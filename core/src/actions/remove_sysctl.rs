//! Removes a sysctl of the pod.

use serde_json::{Value, json};

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-sysctl",
    doc: "Removes a sysctl from securityContext.sysctls of the template, and keeps the others. If the pod does not show \
          it, there is only the text.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    // The API accepts slashes instead of dots.
    let plain = |name: &str| name.replace('/', ".");
    let name = plain(ask.with("name")?);
    let sysctls = &ask.subject.pod()?.pod.sysctls;
    let kept = sysctls.iter().filter(|(of, _)| plain(of) != name);
    let kept: Vec<Value> = kept.map(|(name, value)| json!({"name": name, "value": value})).collect();
    if kept.len() == sysctls.len() {
        return Some(ask.remedy());
    }
    // A patch replaces the whole list.
    let kept = if kept.is_empty() { Value::Null } else { kept.into() };
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"securityContext": {"sysctls": kept}})))
}
