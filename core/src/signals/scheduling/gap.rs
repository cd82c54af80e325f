//! The labels that exclude the pod from all nodes.

use super::labels::Unmet;
use super::nodes::View;
use super::words::names;
use crate::facts::Operator;

/// What the node that is closest to the pod's selector and affinity lacks.
#[derive(Debug, Default)]
pub(crate) struct Gap {
    pub(super) node: String,
    /// The decisive requirement: that of a misspelt label, else the first.
    pub(super) requirement: String,
    pub(super) key: String,
    pub(super) values: String,
    pub(super) has: String,
    pub(super) label: String,
    pub(super) similar_key: String,
    pub(super) similar_value: String,
    pub(super) problem: &'static str,
    pub(super) correction: &'static str,
    pub(super) is_of_selector: bool,
    pub(super) requires_value: bool,
    pub(super) is_pod_likely_wrong: bool,
    pub(super) count: u32,
    pub(super) all_requirements: String,
    pub(super) similar: Vec<String>,
    pub(super) present: Vec<String>,
    pub(super) absent: Vec<String>,
    pub(super) of_nodes: String,
}

impl Gap {
    pub(super) fn new(view: &View<'_>) -> Option<Self> {
        let nearest = view.nearest_by_labels();
        let node = nearest.first()?;
        let unmet = node.unmet.iter().find(|u| u.resembles.is_some()).or(node.unmet.first())?;
        let is_of_selector = unmet.path.starts_with("spec.nodeSelector");
        let label = unmet.label().unwrap_or_default();
        let (similar_key, similar_value) = unmet.resembles.clone().unwrap_or_default();
        let problem = match unmet {
            _ if unmet.is_node_name() && view.has_any(&unmet.values) => "contradiction",
            _ if unmet.is_node_name() => "nodeName",
            _ if unmet.is_host_name() => "hostName",
            _ => "label",
        };
        let requires_value = unmet.operator == Operator::In;
        let correction = match unmet {
            _ if unmet.resembles.is_some() => "spelling",
            // A kubelet reports its node's labels correctly, so only the pod can be wrong.
            _ if is_of_selector && label.is_empty() && unmet.has.is_some() => "value",
            _ if is_of_selector && requires_value => "drop",
            _ => "affinity",
        };
        let mut gap = Self {
            node: node.name().to_owned(),
            requirement: unmet.requirement(),
            key: unmet.key.clone(),
            values: unmet.values.join(", "),
            has: unmet.has.clone().unwrap_or_default(),
            label,
            similar_key,
            similar_value,
            problem,
            correction,
            is_of_selector,
            requires_value,
            // If the label exists with another value, the node is more likely to be right.
            is_pod_likely_wrong: unmet.resembles.is_some() || unmet.has.is_some() || unmet.is_set_by_clouds(),
            count: u32::try_from(node.unmet.len()).unwrap_or(u32::MAX),
            ..Self::default()
        };
        // The decisive requirement first, then the number of others.
        let ordered = || std::iter::once(unmet).chain(node.unmet.iter().filter(|u| *u != unmet));
        let requirements: Vec<_> = ordered().map(Unmet::requirement).collect();
        gap.all_requirements = names(requirements.iter().map(String::as_str));
        for unmet in ordered().take(2) {
            match (&unmet.resembles, &unmet.has) {
                (Some((key, value)), _) => gap.similar.push(format!("{key}={value}")),
                (None, Some(value)) => match view.values_of(&unmet.key).as_slice() {
                    [] | [_] => gap.present.push(format!("{}={value}", unmet.key)),
                    values => gap.of_nodes = names(values.iter().copied()),
                },
                (None, None) => gap.absent.push(unmet.key.clone()),
            }
        }
        Some(gap)
    }
}
