//! Rules of users change while the operator runs.
//!
//! The catalogue belongs to the process, so its causes name programs that no other test has.

use shindan_core::api::{DiagnosisState, Severity};
use shindan_core::facts::PodFacts;
use shindan_core::rules::catalog::Catalog;
use shindan_core::state::Change;
use shindan_core::user_rules;

use super::operator::{Operator, pod_of, rollout, workload_object};

/// A rule with one cause of a container that logs that its license has expired, with this summary and severity.
fn rule(cause: &str, summary: &str, severity: &str) -> Change {
    let spec = serde_json::json!({"causes": [{
        "cause": cause, "category": "Start", "signal": "programError", "before": ["*"], "severity": severity,
        "match": {"message": {"any": ["license of replayd has expired"]}},
        "summary": summary,
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [{"text": "Renew the license."}],
    }]});
    let checked = user_rules::check(&spec);
    assert!(checked.is_active(), "{checked:?}");
    Change::Catalog(Box::new(Catalog::with(checked.additions)))
}

fn no_rules() -> Change {
    Change::Catalog(Box::default())
}

/// A pod of the Deployment `web` whose program ends, with this message.
fn failing() -> PodFacts {
    let ended = "exitCode: 1, reason: Error, message: 'FATAL license of replayd has expired', \
        startedAt: '2026-11-21T08:59:00Z', finishedAt: '2026-11-21T08:59:01Z'";
    let status = format!(
        "ready: false, restartCount: 4, lastState: {{terminated: {{{ended}}}}}, \
         state: {{waiting: {{reason: CrashLoopBackOff, message: 'back-off 5m0s restarting failed container=app'}}}}"
    );
    pod_of("web-1", "uid-1", Some("web"), false, &status)
}

#[test]
fn changed_rules_reach_active_diagnoses_within_ten_seconds() {
    let expired = "replay.example/Expired";
    let before = rule(expired, "{container.display} has no license", "Critical");
    let mut operator = Operator::idle();
    operator.take(before);
    operator.workload(&rollout("web", 1, 0));
    operator.pod(&failing());
    operator.advance(60);
    assert_eq!(operator.status("web-1").head.cause, expired);
    let of_workload = |operator: &Operator| operator.workload_status("deployment-web").head;
    assert!(of_workload(&operator).summary.contains("app has no license"));

    let change = |operator: &mut Operator, change: Change| {
        operator.take(change);
        operator.advance(10);
        assert_eq!(operator.state("web-1"), DiagnosisState::Active);
        operator.status("web-1").head
    };
    let reworded = change(&mut operator, rule(expired, "{container.display} needs a new license", "Critical"));
    assert_eq!(reworded.summary, "app needs a new license");
    let of_pods = of_workload(&operator).summary;
    assert!(of_pods.contains("app needs a new license"), "{of_pods}");

    let noted = change(&mut operator, rule(expired, "{container.display} needs a new license", "Info"));
    assert_eq!((noted.cause.as_str(), noted.severity), (expired, Severity::Info), "a lower severity");
    assert!(!operator.server().other_diagnoses.contains_key(&workload_object("deployment-web")), "nothing to report");
    let other = rule("replay.example/Renew", "{container.display} waits for a license", "Critical");
    assert_eq!(change(&mut operator, other).cause, "replay.example/Renew");
    let another = rule("replay.example/Noted", "{container.display} waits for a license", "Info");
    let another = change(&mut operator, another);
    assert_eq!((another.cause.as_str(), another.severity), ("replay.example/Noted", Severity::Info));

    let removed = change(&mut operator, no_rules());
    assert_eq!(removed.cause, "AppError");
    assert!(removed.severity < Severity::Info, "{}", removed.severity);
    assert_eq!(of_workload(&operator).cause, "AppError");
}
