//! Sample diagnoses for tests of the outputs.

use serde_json::json;
use shindan_core::api::DiagnosisKind;
use shindan_core::case::Thresholds;
use shindan_core::facts::ObjectKey;
use shindan_core::language::Language;
use shindan_core::offline;
use shindan_core::reconcile::DiagnosisKey;
use shindan_core::wire::Dump;

use super::{Found, NodeOrWorkload, OfNodeOrWorkload};

/// A reference that is longer than a line of 60 columns.
pub(in crate::cli) const IMAGE: &str =
    "registry.example.com/platform/checkout/services/payment-gateway/backend-with-a-long-name/web:2026.11.21-1";

/// A pod whose image does not exist.
pub(in crate::cli) fn failing(name: &str, language: Language) -> Found {
    let error = format!("failed to resolve reference \"{IMAGE}\": {IMAGE}: not found");
    let mut dump = Dump::default();
    dump.read(&format!(
        r#"
kind: Pod
apiVersion: v1
metadata: {{name: {name}, namespace: shop, uid: {name}, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: node-of-the-second-pool-1, containers: [{{name: web, image: "{IMAGE}"}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - name: web
    image: "{IMAGE}"
    restartCount: 0
    state: {{waiting: {{reason: ImagePullBackOff, message: 'Back-off pulling image "{IMAGE}": ErrImagePull: {error}'}}}}
"#
    ));
    let now = dump.newest.unwrap();
    let thresholds = Thresholds::default().in_language(language).for_snapshot();
    let report = offline::diagnose(dump, offline::Logs::default(), now, thresholds);
    Found::of_writes(report.pods, report.nodes_and_workloads)
}

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
