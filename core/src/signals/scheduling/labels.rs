//! Node label requirements of a pod.

use crate::facts::similar::{alike, alike_hosts};
use crate::facts::{Expression, Labels, NodeState, Operator, PodFacts, SelectorTerm};

/// A requirement on a node's labels that the node does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmet {
    /// Path in the spec: `spec.nodeSelector[disktype]` or the affinity.
    pub path: String,
    pub key: String,
    pub operator: Operator,
    pub values: Vec<String>,
    /// The node's value for this key.
    pub has: Option<String>,
    /// A similarly spelt label of the node: key and value.
    pub resembles: Option<(String, String)>,
}

impl Unmet {
    /// Formats the requirement: `disktype=ssd`, `zone in (a, b)`, `not gpu`.
    pub(super) fn requirement(&self) -> String {
        let list = self.values.join(", ");
        match self.operator {
            Operator::In if self.values.len() == 1 => format!("{}={list}", self.key),
            Operator::In => format!("{} in ({list})", self.key),
            Operator::NotIn => format!("{} not in ({list})", self.key),
            Operator::Exists => self.key.clone(),
            Operator::DoesNotExist => format!("not {}", self.key),
            Operator::Gt => format!("{} > {list}", self.key),
            Operator::Lt => format!("{} < {list}", self.key),
            Operator::Other => format!("{} ? {list}", self.key),
        }
    }

    /// A label that would meet the requirement, unless a kubelet manages that label.
    pub(super) fn label(&self) -> Option<String> {
        let meant = self.resembles.as_ref().map_or(&self.key, |(key, _)| key);
        if SET_BY_KUBELETS.contains(&meant.as_str()) || (self.has.is_some() && meant.contains(SET_BY_CLOUDS)) {
            return None;
        }
        match self.operator {
            Operator::In => self.values.first().map(|value| format!("{}={value}", self.key)),
            Operator::Exists => Some(format!("{}=", self.key)),
            _ => None,
        }
    }

    /// Whether the cloud provider sets the label. A wrong value would break volumes and routes as well.
    pub(super) fn is_set_by_clouds(&self) -> bool {
        self.key.contains(SET_BY_CLOUDS) || self.key.starts_with("node.kubernetes.io/")
    }

    /// Whether the requirement selects one node by name, as for pods of a DaemonSet.
    pub(super) fn is_node_name(&self) -> bool {
        self.key == NODE_NAME
    }

    /// Whether the requirement selects nodes by their hostname label.
    pub(super) fn is_host_name(&self) -> bool {
        self.key == HOST_NAME && self.operator == Operator::In
    }
}

const NODE_NAME: &str = "metadata.name";
const HOST_NAME: &str = "kubernetes.io/hostname";
/// Labels that each kubelet sets on its own node.
const SET_BY_KUBELETS: [&str; 5] =
    [HOST_NAME, "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os"];
/// Prefix of the zone and region labels. Without a cloud provider users set them; an existing value is correct.
const SET_BY_CLOUDS: &str = "topology.kubernetes.io/";

/// What a node lacks of the pod's node selector and of the best alternative of its required node affinity.
pub(super) fn unmet(pod: &PodFacts, node: &NodeState) -> Vec<Unmet> {
    let labels = &node.facts.labels;
    let mut found: Vec<_> = pod
        .node_selector
        .iter()
        .filter(|(key, value)| labels.get(key) != Some(*value))
        .map(|(key, value)| {
            let required = Expression { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] };
            unmet_label(&format!("spec.nodeSelector[{key}]"), &required, labels)
        })
        .collect();
    let best = pod.node_affinity.iter().map(|term| unmet_term(term, node)).min_by_key(Vec::len);
    found.extend(best.unwrap_or_default());
    found
}

fn unmet_term(term: &SelectorTerm, node: &NodeState) -> Vec<Unmet> {
    const PATH: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let labels = &node.facts.labels;
    let mut found: Vec<_> = term
        .expressions
        .iter()
        .filter(|e| !holds(e, labels.get(&e.key)))
        .map(|e| unmet_label(PATH, e, labels))
        .collect();
    found.extend(term.fields.iter().filter(|e| e.key != NODE_NAME || !holds(e, Some(&node.facts.name))).map(|e| {
        Unmet {
            path: PATH.to_owned(),
            key: e.key.clone(),
            operator: e.operator,
            values: e.values.clone(),
            has: Some(node.facts.name.to_string()),
            resembles: None,
        }
    }));
    // A term without any requirement matches no node.
    if term.expressions.is_empty() && term.fields.is_empty() {
        found.push(Unmet {
            path: PATH.to_owned(),
            key: "(an empty term)".to_owned(),
            operator: Operator::Other,
            values: Vec::new(),
            has: None,
            resembles: None,
        });
    }
    found
}

fn unmet_label(path: &str, required: &Expression, labels: &Labels) -> Unmet {
    let has = labels.get(&required.key).map(str::to_owned);
    let resembles = match (&has, required.operator) {
        (Some(value), Operator::In) => {
            let alike = if required.key == HOST_NAME { alike_hosts } else { alike };
            required.values.iter().any(|w| alike(w, value)).then(|| (required.key.clone(), value.clone()))
        }
        (None, Operator::In | Operator::Exists) => labels
            .iter()
            .find(|(key, _)| alike(key, &required.key))
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        _ => None,
    };
    Unmet {
        path: path.to_owned(),
        key: required.key.clone(),
        operator: required.operator,
        values: required.values.clone(),
        has,
        resembles,
    }
}

/// Evaluates a requirement as the API defines it (k8s.io/component-helpers/scheduling/corev1/nodeaffinity).
fn holds(e: &Expression, value: Option<&str>) -> bool {
    let listed = |v: &str| e.values.iter().any(|w| w == v);
    let compare = |with: fn(&i64, &i64) -> bool| {
        let bound = e.values.first().and_then(|v| v.parse::<i64>().ok());
        matches!((value.and_then(|v| v.parse::<i64>().ok()), bound), (Some(v), Some(b)) if with(&v, &b))
    };
    match e.operator {
        Operator::In => value.is_some_and(listed),
        Operator::NotIn => !value.is_some_and(listed),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(i64::gt),
        Operator::Lt => compare(i64::lt),
        Operator::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_follow_the_api_definition() {
        let e = |operator, values: &[&str]| Expression {
            key: "k".to_owned(),
            operator,
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        };
        assert!(holds(&e(Operator::In, &["a", "b"]), Some("b")));
        assert!(!holds(&e(Operator::In, &["a"]), None));
        assert!(holds(&e(Operator::NotIn, &["a"]), None));
        assert!(holds(&e(Operator::Gt, &["3"]), Some("4")));
        assert!(!holds(&e(Operator::Gt, &["3"]), Some("x")));
        assert!(holds(&e(Operator::DoesNotExist, &[]), None));
        assert!(!holds(&e(Operator::Other, &[]), Some("a")));
    }
}
