//! Corrects a label in the required node affinity.

use serde_json::{Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::{Expression, Operator};

pub(super) const ACTION: Action = Action {
    name: "set-node-affinity",
    doc: "Replaces a label (`replaces`, and its misspelt value) in the required node affinity of the template, and \
          keeps all other terms. If a term has an operator that is not known, it opens the template in an editor.",
    params: &["key", "value", "replaces"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (key, value, replaces) = (ask.with("key")?, ask.with("value")?, ask.with("replaces")?);
    let terms = &ask.subject.pod()?.pod.node_affinity;
    // The term with the misspelt label: others are alternatives that may be right.
    let corrected = |expression: &Expression| -> Option<(Value, bool)> {
        let is_it = expression.key == *replaces && expression.operator == Operator::In;
        let is_it = is_it && !(key == replaces && expression.values.iter().any(|of| of == value));
        let (key, values) =
            if is_it { (key, vec![value.to_owned()]) } else { (&*expression.key, expression.values.clone()) };
        let mut json = json!({"key": key, "operator": operator(expression.operator)?});
        if !values.is_empty() {
            json["values"] = json!(values);
        }
        Some((json, is_it))
    };
    let mut changes = false;
    let mut list = |expressions: &[Expression]| -> Option<Vec<Value>> {
        let read: Vec<(Value, bool)> = expressions.iter().map(corrected).collect::<Option<_>>()?;
        changes |= read.iter().any(|(_, is_it)| *is_it);
        Some(read.into_iter().map(|(json, _)| json).collect())
    };
    let terms: Option<Vec<Value>> = terms
        .iter()
        .map(|term| {
            let (expressions, fields) = (list(&term.expressions)?, list(&term.fields)?);
            let mut json = json!({});
            for (name, of) in [("matchExpressions", expressions), ("matchFields", fields)] {
                if !of.is_empty() {
                    json[name] = of.into();
                }
            }
            Some(json)
        })
        .collect();
    let Some(terms) = terms.filter(|_| changes) else { return edit_template::build(ask) };
    let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms} });
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"affinity": {"nodeAffinity": required}})))
}

const fn operator(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::In => "In",
        Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::Gt => "Gt",
        Operator::Lt => "Lt",
        Operator::Other => return None,
    })
}
