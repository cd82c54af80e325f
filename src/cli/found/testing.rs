//! Sample diagnoses for tests of the outputs.

use serde_json::json;
use shindan_core::api::DiagnosisKind;
use shindan_core::facts::ObjectKey;
use shindan_core::reconcile::DiagnosisKey;

use super::{Found, NodeOrWorkload, OfNodeOrWorkload};

/// A Deployment that fails for the third time within a week.
pub(in crate::cli) fn failing_for_the_third_time() -> Found {
    let past = |cause: &str, day: u32, revision: u32| {
        json!({
            "cause": cause, "endedBy": "Rollback", "revision": revision,
            "startedAt": format!("2026-11-{day}T09:00:00Z"), "endedAt": format!("2026-11-{day}T09:12:00Z"),
        })
    };
    let status = json!({
        "state": "Active", "cause": "OOMKilled", "category": "Crash", "severity": "Critical", "confidence": "Certain",
        "summary": "app exceeds its memory limit of 64Mi", "firstSeen": "2026-11-21T09:00:00Z",
        "lastTransition": "2026-11-21T09:00:00Z", "problem": "Unavailable",
        "pods": {"desired": 1, "ready": 0, "failing": 1, "display": "0/1"},
        "pastFailures": [past("OOMKilled", 20, 4), past("AppError", 19, 3), past("OOMKilled", 18, 2)],
    });
    let spec = json!({
        "workload": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "display": "Deployment/web"},
        "workloadUID": "u",
    });
    let (spec, status) = (serde_json::from_value(spec).unwrap(), serde_json::from_value(status).unwrap());
    let key = DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new("shop", "deployment-web") };
    let of = OfNodeOrWorkload { key, object: NodeOrWorkload::Workload(spec, status) };
    Found { nodes_and_workloads: vec![of], ..Found::default() }
}
