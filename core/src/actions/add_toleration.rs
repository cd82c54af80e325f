//! Adds tolerations to the pods, so that they can run on tainted nodes.

use std::fmt::Write as _;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;
use crate::facts::{PodFacts, Taint, Toleration};

pub(super) const ACTION: Action = Action {
    name: "add-toleration",
    doc: "Adds tolerations for all taints of a node that the pod does not tolerate. Offered if the node is \
          known and has such taints.",
    params: &["node"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let case = ask.subject.pod()?;
    let taints = &case.nodes.get(ask.with("node")?)?.facts.taints;
    let is_tolerated = |taint: &Taint| case.pod.tolerations.iter().any(|t| taint.tolerated_by(t));
    // A cordoned node needs an uncordon, not a toleration.
    let others = taints.iter().filter(|taint| taint.key != "node.kubernetes.io/unschedulable");
    let missing: Vec<_> = others.filter(|taint| taint.repels() && !is_tolerated(taint)).collect();
    let fields = (!missing.is_empty()).then(|| tolerations(case.pod, &missing))?;
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}

/// Returns the pod's own tolerations plus the missing ones. The list has no merge key, so a patch replaces it as a
/// whole.
fn tolerations(pod: &PodFacts, taints: &[&Taint]) -> String {
    let mut out = String::from("tolerations:\n");
    for t in pod.tolerations.iter().filter(|t| !is_added(t)) {
        let mut fields = Vec::new();
        if !t.key.is_empty() {
            fields.push(format!("key: {}", yaml_string(&t.key)));
        }
        fields.push(format!("operator: {}", if t.exists { "Exists" } else { "Equal" }));
        if !t.exists {
            fields.push(format!("value: {}", yaml_string(&t.value)));
        }
        if !t.effect.is_empty() {
            fields.push(format!("effect: {}", t.effect));
        }
        if let Some(seconds) = t.seconds {
            fields.push(format!("tolerationSeconds: {seconds}"));
        }
        let _ = writeln!(out, "- {{{}}}", fields.join(", "));
    }
    for taint in taints {
        let value = if taint.value.is_empty() {
            "operator: Exists".to_owned()
        } else {
            format!("operator: Equal, value: {}", yaml_string(&taint.value))
        };
        let _ = writeln!(out, "- {{key: {}, {value}, effect: {}}}", yaml_string(&taint.key), taint.effect);
    }
    out
}

/// Whether admission or the DaemonSet controller adds this toleration to every pod. These are in no template.
fn is_added(t: &Toleration) -> bool {
    t.exists && t.key.starts_with("node.kubernetes.io/") && (t.seconds == Some(300) || t.seconds.is_none())
}
