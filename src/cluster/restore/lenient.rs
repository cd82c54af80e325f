//! Parses the spec and status of an object that another version or another client may have written.
//!
//! Fields and items that fit are kept, the others are dropped. This is slow, so it is done only if the whole object
//! cannot be parsed.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Nesting depth up to which fields are tried one by one.
const DEPTH: usize = 4;

pub(super) fn spec<T: DeserializeOwned + Default>(value: Value) -> T {
    read(value, Map::new()).unwrap_or_default()
}

/// Parses a status. `None`: it has no state that this version knows. All other fields have a default.
pub(super) fn status<T: DeserializeOwned>(value: Value) -> Option<T> {
    let state = value.get("state")?.clone();
    let defaults = json!({ "state": state, "severity": "Warning", "confidence": "Possible" });
    let Value::Object(defaults) = defaults else { return None };
    read(value, defaults)
}

fn read<T: DeserializeOwned>(value: Value, defaults: Map<String, Value>) -> Option<T> {
    if let Ok(whole) = T::deserialize(&value) {
        return Some(whole);
    }
    let fits = |candidate: &Value| T::deserialize(candidate).is_ok();
    let kept = prune(value, Value::Object(defaults), &fits, DEPTH)?;
    T::deserialize(&kept).ok()
}

/// The largest part of `value` that fits, built up from `base`. `None`: even `base` does not fit.
///
/// Fields and items fit independently of each other, so each is tried with `base` alone. Trying each with all parts
/// kept before it would take quadratic time in the length of a list.
fn prune(value: Value, base: Value, fits: &dyn Fn(&Value) -> bool, depth: usize) -> Option<Value> {
    if fits(&value) {
        return Some(value);
    }
    if depth == 0 || !fits(&base) {
        return fits(&base).then_some(base);
    }
    match (value, base) {
        (Value::Object(fields), Value::Object(base)) => {
            let mut kept = base.clone();
            for (name, field) in fields {
                let alone = |part: &Value| {
                    let mut candidate = base.clone();
                    candidate.insert(name.clone(), part.clone());
                    Value::Object(candidate)
                };
                let empty = if field.is_array() { json!([]) } else { json!({}) };
                if let Some(part) = prune(field, empty, &|part| fits(&alone(part)), depth - 1) {
                    kept.insert(name, part);
                }
            }
            Some(Value::Object(kept))
        }
        (Value::Array(items), Value::Array(mut kept)) => {
            for item in items {
                let alone = |part: &Value| Value::Array(vec![part.clone()]);
                kept.extend(prune(item, json!({}), &|part| fits(&alone(part)), depth - 1));
            }
            Some(Value::Array(kept))
        }
        (_, base) => Some(base),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde::Deserialize as _;
    use shindan_core::api::{Confidence, DiagnosisState, PodDiagnosisSpec, PodDiagnosisStatus, Severity};

    use super::*;

    #[test]
    fn fitting_fields_are_kept_and_others_dropped() {
        let read: PodDiagnosisStatus = status(json!({
            "state": "Active",
            "cause": "OOMKilled",
            "severity": "Catastrophic",
            "confidence": "Certain",
            "summary": 7,
            "container": null,
            "containerType": "Virtual",
            "transition": 3,
            "fromTheFuture": {"a": [1]},
            "remedies": [{"kind": "Fix", "text": "more"}, {"kind": "Pray"}],
            "restarts": {"count": 4, "backOff": 10, "history": [{"container": "a", "exitCode": 1}, {"exitCode": "x"}]},
        }))
        .unwrap();
        assert_eq!(read.head.state, DiagnosisState::Active);
        assert_eq!((read.head.cause.as_str(), read.head.transition), ("OOMKilled", 3));
        assert_eq!((read.head.severity, read.head.confidence), (Severity::Warning, Confidence::Certain));
        assert_eq!((read.head.summary.as_str(), read.container_type), ("", None));
        assert_eq!(read.head.remedies.len(), 1);
        let restarts = read.restarts.unwrap();
        assert_eq!((restarts.count, restarts.back_off), (4, None));
        assert_eq!(restarts.history[0].container, "a");
    }

    #[test]
    fn a_status_without_a_known_state_is_rejected() {
        assert!(status::<PodDiagnosisStatus>(json!({"state": "Paused", "cause": "OOMKilled"})).is_none());
        assert!(status::<PodDiagnosisStatus>(json!({"cause": "OOMKilled"})).is_none());
        assert!(status::<PodDiagnosisStatus>(Value::Null).is_none());
        assert_eq!(spec::<PodDiagnosisSpec>(json!("what")), PodDiagnosisSpec::default());
        let kept: PodDiagnosisSpec = spec(json!({"podUID": "u", "workload": {"kind": 1, "name": "web"}}));
        assert_eq!(kept.workload.unwrap().name, "web");
    }

    /// Any client can create an object as large as the API server allows, and it is parsed at the start.
    #[test]
    fn a_long_list_that_does_not_fit_takes_linear_time() {
        let work = |items: usize| {
            let parsed = Cell::new(0);
            let fits = |candidate: &Value| {
                parsed.set(parsed.get() + candidate.to_string().len());
                PodDiagnosisStatus::deserialize(candidate).is_ok()
            };
            let odd = json!({"container": "a", "exitCode": "x", "reason": 3});
            let defaults = json!({"state": "Active", "severity": "Warning", "confidence": "Possible"});
            let mut value = defaults.clone();
            value["restarts"] = json!({"history": vec![odd.clone(); items]});
            value["evidence"] = Value::Array(vec![odd; items]);
            let kept = prune(value, defaults, &fits, DEPTH).unwrap();
            assert_eq!(kept["restarts"]["history"].as_array().unwrap().len(), items);
            parsed.get()
        };
        assert!(work(400) < 5 * work(100));
    }
}
