//! Marks a ConfigMap or Secret reference of a container's environment as optional.

use serde_json::json;

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::{EnvRef, RefKind};

pub(super) const ACTION: Action = Action {
    name: "make-reference-optional",
    doc: "Sets optional on the environment variables of the container that come from the ConfigMap or Secret (and \
          the key). For an envFrom entry, which a patch cannot address, it opens the template in an editor.",
    params: &["configMap", "secret", "key"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container?;
    let (kind, field, name) = match (ask.with("configMap"), ask.with("secret")) {
        (Some(name), _) => (RefKind::ConfigMap, "configMapKeyRef", name),
        (None, name) => (RefKind::Secret, "secretKeyRef", name?),
    };
    let is_meant = |r: &&EnvRef| {
        r.kind == kind
            && r.name == name
            && !r.optional
            && ask.with("key").is_none_or(|key| r.key.as_deref() == Some(key))
    };
    let entries = container.env_refs.iter().filter(is_meant).filter_map(|r| {
        let (variable, key) = (r.variable.as_deref()?, r.key.as_deref()?);
        Some(json!({"name": variable, "valueFrom": {field: {"name": name, "key": key, "optional": true}}}))
    });
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        return edit_template::build(ask);
    }
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), json!({ "env": entries })))
}
