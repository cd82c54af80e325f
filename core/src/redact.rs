//! Objects of a cluster for a bug report: without secrets, on request without names, and only those that matter.
//!
//! They are JSON, because a report contains objects, and no facts. First `wire::fields_read` keeps what diagnoses read.

mod hosts;
mod images;
mod names;
mod related;
mod secrets;
mod substitution;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use names::{Names, Words};
pub use related::{is_of_other_namespace, only_requests, related};
pub use secrets::mask;

/// The text of a field, or an empty one.
fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

fn at<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// The elements of a list, or none.
fn list<'v>(object: &'v Value, path: &[&str]) -> impl Iterator<Item = &'v Value> {
    at(object, path).and_then(Value::as_array).into_iter().flatten()
}

/// An object by kind, namespace and name.
type Key<'v> = (&'v str, &'v str, &'v str);

fn key(object: &Value) -> Key<'_> {
    (text(object, &["kind"]), text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
}

/// The controller of an object: its kind and name. A Node controls static pods, but is no owner of them.
fn controller(object: &Value) -> Option<(&str, &str)> {
    let mut owners = list(object, &["metadata", "ownerReferences"]);
    let owner = owners.find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
    Some((text(owner, &["kind"]), text(owner, &["name"]))).filter(|(kind, _)| *kind != "Node")
}
