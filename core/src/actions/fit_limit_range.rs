//! Changes requests and limits to the bounds of a LimitRange.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::ContainerTemplate;
use crate::signals::pod_creation::bounds::{self, AboveLimit, Violation};

pub(super) const ACTION: Action = Action {
    name: "fit-limit-range",
    doc: "Sets the requests and limits of the containers that violate a LimitRange to its bounds, which the message \
          states. Where a request is above the default limit, it sets the limit to the request. If the message does not \
          state all of them, it opens the template in an editor.",
    params: &["message"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    match fields(ask) {
        Some(fields) => Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields)),
        None => edit_template::build(ask),
    }
}

/// The resources of each container, by its name.
type Resources<'t> = BTreeMap<&'t str, Value>;

fn fields(ask: &Ask<'_>) -> Option<Value> {
    let template = ask.subject.workload()?.workload.template.as_ref()?;
    let message = ask.with("message")?;
    let mut resources = limits_at_requests(&template.containers, &bounds::above_limit(message));
    if resources.is_empty() {
        resources = within_bounds(&template.containers, &bounds::violations(message)?);
    }
    ask.of_containers(resources.into_iter().map(|(name, resources)| (name, json!({ "resources": resources }))))
}

/// Limits that are as high as the requests, which are above the default limit.
fn limits_at_requests<'t>(containers: &'t [ContainerTemplate], above: &[AboveLimit<'_>]) -> Resources<'t> {
    let mut resources = Resources::new();
    for AboveLimit { resource, request } in above {
        for container in containers.iter().filter(|container| has(&container.requests, resource, request)) {
            let entry = resources.entry(&*container.name).or_insert_with(|| json!({}));
            entry["limits"][*resource] = json!(request);
        }
    }
    resources
}

/// Requests and limits at the bounds that they violate.
fn within_bounds<'t>(containers: &'t [ContainerTemplate], violations: &[Violation<'_>]) -> Resources<'t> {
    let mut resources = Resources::new();
    for violation in violations {
        let (resource, bound) = (violation.resource, violation.bound);
        let is_violating = |container: &&ContainerTemplate| {
            let text = if violation.of == "limit" { &container.limits } else { &container.requests };
            has(text, resource, violation.amount)
        };
        for container in containers.iter().filter(is_violating) {
            let entry = resources.entry(&*container.name).or_insert_with(|| json!({}));
            let field = if violation.of == "limit" { "limits" } else { "requests" };
            entry[field][resource] = json!(bound);
            // A request above the limit is not valid.
            let (other, text) =
                if field == "limits" { ("requests", &container.requests) } else { ("limits", &container.limits) };
            let goes_beyond = amount_of(text, resource).is_some_and(|amount| {
                let order = size(resource, amount).zip(size(resource, bound)).map(|(amount, bound)| amount.cmp(&bound));
                match (violation.is_maximum, field) {
                    (true, "limits") => order == Some(std::cmp::Ordering::Greater),
                    (false, "requests") => order == Some(std::cmp::Ordering::Less),
                    _ => false,
                }
            });
            if goes_beyond {
                entry[other][resource] = json!(bound);
            }
        }
    }
    resources
}

/// The amount of a resource in the text of a template: `cpu 100m, memory 64Mi`.
pub(super) fn amount_of<'t>(text: &'t str, resource: &str) -> Option<&'t str> {
    text.split(", ").find_map(|part| part.strip_prefix(resource)?.strip_prefix(' '))
}

pub(super) fn size(resource: &str, amount: &str) -> Option<i64> {
    if resource == "cpu" { crate::facts::parse_cpu(amount) } else { crate::facts::parse_bytes(amount) }
}

/// Whether the text of a template has this amount of a resource.
fn has(text: &str, resource: &str, amount: &str) -> bool {
    let own = amount_of(text, resource).and_then(|own| size(resource, own));
    own.is_some_and(|own| size(resource, amount) == Some(own))
}
