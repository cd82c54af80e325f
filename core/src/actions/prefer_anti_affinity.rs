//! Prefers nodes without similar pods instead of requiring them.

use serde_json::{Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::{LabelSelector, PodTerm};

pub(super) const ACTION: Action = Action {
    name: "prefer-anti-affinity",
    doc: "Turns the required podAntiAffinity of the template into a preferred one, so that pods share a node only if \
          no other is free. If a term has namespaces or other fields than labelSelector and topologyKey, it opens the \
          template in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    prefer(ask, "podAntiAffinity", &ask.subject.pod()?.pod.pod_anti_affinity)
}

/// Prefers in this field of the affinity what the terms require.
pub(super) fn prefer(ask: &Ask<'_>, field: &str, terms: &[PodTerm]) -> Option<Remedy> {
    let preferred: Option<Vec<Value>> = terms.iter().map(preferred).collect();
    let Some(preferred) = preferred.filter(|terms| !terms.is_empty()) else { return edit_template::build(ask) };
    let fields = json!({"affinity": {field: {
        "requiredDuringSchedulingIgnoredDuringExecution": null,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }}});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}

fn preferred(term: &PodTerm) -> Option<Value> {
    let selector =
        LabelSelector::parse(&term.selector).ok().filter(|selector| !selector.is_empty() && !term.has_more)?;
    let expressions: Vec<Value> = selector
        .requirements()
        .map(|(key, operator, values)| match values {
            [] => json!({"key": key, "operator": operator}),
            values => json!({"key": key, "operator": operator, "values": values}),
        })
        .collect();
    let selector = json!({ "matchExpressions": expressions });
    Some(json!({"weight": 100, "podAffinityTerm": {"labelSelector": selector, "topologyKey": term.topology_key}}))
}
