//! What holds of the patches of all cases: each changes fields that can be changed, of one object of the namespace, and
//! is not offered again once it is applied.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shindan_core::api::Remedy;
use shindan_core::case::target::strategic;

use super::{diagnoses, recorded};

/// A patch command of kubectl.
struct Patch {
    namespace: String,
    /// `deployment web`.
    object: String,
    body: Value,
}

impl Patch {
    /// The first command of a remedy, if it is a strategic merge patch without placeholders.
    fn of(remedy: &Remedy) -> Option<Self> {
        let command = remedy.command.as_deref()?.split(" && ").next()?;
        let words = shlex::split(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["kubectl", "-n", namespace, "patch", kind, name, "-p", body] = *words.as_slice() else { return None };
        let body = serde_json::from_str(body).ok()?;
        Some(Self { namespace: namespace.to_owned(), object: format!("{kind} {name}"), body })
    }

    /// The fields of the pod spec that it sets.
    fn spec(&self) -> Option<&Value> {
        let template = |spec: &'_ Value| spec.pointer("/template/spec").is_some();
        let spec = &self.body["spec"];
        let spec = if template(spec) { spec } else { &spec["jobTemplate"]["spec"] };
        spec.pointer("/template/spec")
    }
}

/// The value without empty objects, which a patch may leave behind where it removes a field.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(field, value)| (field.clone(), without_empty(value)));
            Value::Object(fields.filter(|(_, value)| *value != json!({})).collect())
        }
        Value::Array(entries) => entries.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

/// Fields of workloads that the API server allows to change.
const MUTABLE: [&str; 7] =
    ["template", "jobTemplate", "strategy", "updateStrategy", "replicas", "progressDeadlineSeconds", "paused"];

#[test]
fn a_patch_changes_mutable_fields_of_the_namespace() {
    let mut wrong = BTreeMap::new();
    let mut checked = 0;
    for items in recorded::cases(1) {
        for write in diagnoses(&items) {
            let (head, namespace) = (write.object.head(), &write.key.object.namespace);
            for patch in head.remedies.iter().filter_map(Patch::of) {
                if ["deployment", "statefulset", "daemonset", "cronjob", "replicaset"]
                    .iter()
                    .all(|kind| !patch.object.starts_with(kind))
                {
                    continue;
                }
                checked += 1;
                let fields = patch.body["spec"].as_object().cloned().unwrap_or_default();
                if patch.namespace != **namespace {
                    wrong.insert(patch.object.clone(), format!("{}: namespace {}", head.cause, patch.namespace));
                }
                if fields.is_empty() || fields.keys().any(|field| !MUTABLE.contains(&field.as_str())) {
                    wrong.insert(patch.object.clone(), format!("{}: {}", head.cause, patch.body));
                }
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The object with the fields of a patch in its pod spec.
fn patched(items: &[Value], pod: &str, spec: &Value) -> Option<(Vec<Value>, bool)> {
    let mut items = items.to_vec();
    let object = items.iter_mut().find(|object| object["kind"] == "Pod" && object["metadata"]["name"] == pod)?;
    let before = object["spec"].clone();
    strategic::apply(&mut object["spec"], spec);
    let once = object["spec"].clone();
    let mut twice = once.clone();
    strategic::apply(&mut twice, spec);
    assert_eq!(once, twice, "a patch that is applied again changes nothing");
    Some((items, without_empty(&once) != without_empty(&before)))
}

/// Fields that no fact has, as each would take memory for every unhealthy pod: only the cause states their value.
const UNKNOWN: [&str; 4] = ["capabilities", "fsGroupChangePolicy", "runtimeClassName", "hostUsers"];

#[test]
fn a_patch_changes_the_pod_and_is_not_offered_again() {
    let mut wrong = BTreeMap::new();
    let mut checked = 0;
    for items in recorded::cases(1) {
        let writes = diagnoses(&items);
        for write in writes.iter().filter(|write| write.object.head().remedies.iter().any(|r| Patch::of(r).is_some())) {
            let pod = write.key.object.name.to_string();
            let head = write.object.head();
            for remedy in &head.remedies {
                let Some(patch) = Patch::of(remedy) else { continue };
                let Some(spec) = patch.spec().cloned() else { continue };
                let Some((items, changes)) = patched(&items, &pod, &spec) else { continue };
                checked += 1;
                let case = format!("{} {pod}", head.cause);
                if !changes {
                    wrong.insert(case.clone(), format!("it changes nothing: {spec}"));
                }
                let again = diagnoses(&items).into_iter().filter(|again| again.key == write.key);
                let again: Vec<Remedy> = again.flat_map(|again| again.object.head().remedies.clone()).collect();
                let is_known = !UNKNOWN.iter().any(|field| spec.to_string().contains(field));
                if is_known && again.iter().any(|again| again.command == remedy.command) {
                    wrong.insert(case, format!("it is offered again: {spec}"));
                }
            }
        }
    }
    assert!(checked > 50, "{checked}");
    assert!(wrong.is_empty(), "{} of {checked}: {wrong:#?}", wrong.len());
}
