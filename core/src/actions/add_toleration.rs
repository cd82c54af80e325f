//! Adds tolerations to the pods, so that they can run on tainted nodes.

use serde_json::{Value, json};

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::{PodFacts, Taint, Toleration, TolerationOperator};

pub(super) const ACTION: Action = Action {
    name: "add-toleration",
    doc: "Adds tolerations for all taints of a node that the pod does not tolerate. Offered if the node is \
          known and has such taints.",
    params: &["node"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let case = ask.subject.pod()?;
    let taints = &case.nodes.get(ask.with("node")?)?.facts.taints;
    let is_tolerated = |taint: &Taint| case.pod.tolerations.iter().any(|t| taint.tolerated_by(t));
    // A cordoned node needs an uncordon, not a toleration.
    let others = taints.iter().filter(|taint| taint.key != "node.kubernetes.io/unschedulable");
    let missing: Vec<_> = others.filter(|taint| taint.repels() && !is_tolerated(taint)).collect();
    if missing.is_empty() {
        return None;
    }
    let fields = json!({"tolerations": tolerations(case.pod, &missing)});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}

/// Returns the pod's own tolerations plus the missing ones. The list has no merge key, so a patch replaces it as a
/// whole.
fn tolerations(pod: &PodFacts, taints: &[&Taint]) -> Vec<Value> {
    let own = pod.tolerations.iter().filter(|t| !is_added(t)).map(|t| {
        let mut out = json!({"operator": t.operator.as_str()});
        let mut set = |field: &str, value: &str| {
            if !value.is_empty() {
                out[field] = json!(value);
            }
        };
        set("key", &t.key);
        set("value", &t.value);
        set("effect", &t.effect);
        if let Some(seconds) = t.seconds {
            out["tolerationSeconds"] = json!(seconds);
        }
        out
    });
    let missing = taints.iter().map(|taint| match &*taint.value {
        "" => json!({"key": taint.key, "operator": "Exists", "effect": taint.effect}),
        value => json!({"key": taint.key, "operator": "Equal", "value": value, "effect": taint.effect}),
    });
    own.chain(missing).collect()
}

/// Whether admission or the DaemonSet controller adds this toleration to every pod. These are in no template.
fn is_added(t: &Toleration) -> bool {
    t.operator == TolerationOperator::Exists
        && t.key.starts_with("node.kubernetes.io/")
        && (t.seconds == Some(300) || t.seconds.is_none())
}
