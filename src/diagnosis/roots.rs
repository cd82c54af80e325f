//! What a cause lies in, where that is outside the pod: many pods may fail of it, and it is told once.

use super::{Case, Finding};
use crate::api::Root;

/// The root of a finding; `None` where the pod itself (its program, its limits, its own spec) is to blame.
pub(super) fn of(case: &Case<'_>, cause: &str, _finding: &Finding) -> Option<Root> {
    let node = super::rules::find(cause).is_some_and(|rule| rule.category == super::Category::Node);
    let name = case.pod.node_name.as_deref().filter(|_| node)?;
    Some(Root { kind: "Node".to_owned(), name: name.to_owned() })
}
