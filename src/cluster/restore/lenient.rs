//! Reads spec and status of an object that another version, or a hand, may have written.
//!
//! What fits is kept and what does not is dropped, field by field and item by item. That is dear, so it is done only
//! where the whole cannot be read at once.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// How deep into an object fields are tried one by one.
const DEPTH: usize = 4;

pub(super) fn spec<T: DeserializeOwned + Default>(value: Value) -> T {
    read(value, Map::new()).unwrap_or_default()
}

/// `None` without a state that this version knows: everything else has a sensible default, but not that.
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
    serde_json::from_value(kept).ok()
}

/// The largest part of `value` that fits, built up from `base`; `None` if not even `base` does.
///
/// Fields and items fit or do not whatever stands beside them, so each is tried with nothing but `base`: with all that was kept
/// before it, a long list would take its length times its length.
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

    use super::*;
    use crate::api::{Confidence, DiagnosisState, PodDiagnosisSpec, PodDiagnosisStatus, Severity};

    #[test]
    fn what_fits_is_kept_and_what_does_not_is_dropped() {
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
        assert_eq!(read.state, DiagnosisState::Active);
        assert_eq!((read.cause.as_str(), read.transition), ("OOMKilled", 3));
        assert_eq!((read.severity, read.confidence), (Severity::Warning, Confidence::Certain));
        assert_eq!((read.summary.as_str(), read.container_type), ("", None));
        assert_eq!(read.remedies.len(), 1);
        let restarts = read.restarts.unwrap();
        assert_eq!((restarts.count, restarts.back_off), (4, None));
        assert_eq!(restarts.history[0].container, "a");
    }

    #[test]
    fn without_a_known_state_nothing_is_understood() {
        assert!(status::<PodDiagnosisStatus>(json!({"state": "Paused", "cause": "OOMKilled"})).is_none());
        assert!(status::<PodDiagnosisStatus>(json!({"cause": "OOMKilled"})).is_none());
        assert!(status::<PodDiagnosisStatus>(Value::Null).is_none());
        assert_eq!(spec::<PodDiagnosisSpec>(json!("what")), PodDiagnosisSpec::default());
        let kept: PodDiagnosisSpec = spec(json!({"podUID": "u", "workload": {"kind": 1, "name": "web"}}));
        assert_eq!(kept.workload.unwrap().name, "web");
    }

    /// An object of ours may be as large as the API server lets anybody make it, and is read before anything else is done.
    #[test]
    fn a_long_list_that_does_not_fit_takes_no_more_than_its_length() {
        let work = |items: usize| {
            let looked_at = Cell::new(0);
            let fits = |candidate: &Value| {
                looked_at.set(looked_at.get() + candidate.to_string().len());
                PodDiagnosisStatus::deserialize(candidate).is_ok()
            };
            let odd = json!({"container": "a", "exitCode": "x", "reason": 3});
            let defaults = json!({"state": "Active", "severity": "Warning", "confidence": "Possible"});
            let mut value = defaults.clone();
            value["restarts"] = json!({"history": vec![odd.clone(); items]});
            value["evidence"] = Value::Array(vec![odd; items]);
            let kept = prune(value, defaults, &fits, DEPTH).unwrap();
            assert_eq!(kept["restarts"]["history"].as_array().unwrap().len(), items);
            looked_at.get()
        };
        assert!(work(400) < 5 * work(100));
    }
}
