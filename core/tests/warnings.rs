//! Every Warning Event of the present episode is read, whatever its reason and its message.
//!
//! A summary may only state that nothing explains a failure if there is no Warning Event.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use shindan_core::fixture;

const NOW: &str = "2026-11-21T09:00:00Z";

/// The statements that nothing explains a failure.
const ABSENT: [&str; 11] = [
    "no error is reported",
    "without an error",
    "does not show how",
    "no reason is given",
    "gives no reason",
    "no reason was given",
    "has reported no status",
    "no scheduler has processed",
    "no scheduler named",
    "no pod shows why",
    "has not responded",
];

/// References to the objects that have the Events.
const POD: &str = "{kind: Pod, namespace: shop, name: web, uid: u1}";
const REPLICA_SET: &str = "{kind: ReplicaSet, namespace: shop, name: web-1, uid: r1}";

/// The pod of [`POD`] with this spec and status.
fn pod(spec: &str, status: &str) -> String {
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: web, namespace: shop, uid: u1, creationTimestamp: \"2026-11-21T08:00:00Z\"}}\n\
         spec: {{{spec}}}\nstatus: {{{status}}}\n"
    )
}

const ON_NODE: &str = r#"nodeName: n1, containers: [{name: app, image: "app:1"}]"#;
const WITHOUT_NODE: &str = r#"schedulerName: my-scheduler, containers: [{name: app, image: "app:1"}]"#;
const WITH_HOOK: &str = r#"nodeName: n1, containers: [{name: app, image: "app:1", lifecycle: {postStart: {exec: {command: [sleep, "900"]}}}}]"#;

const CREATING: &str = r#"phase: Pending, startTime: "2026-11-21T08:00:00Z",
  conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-11-21T08:00:00Z"}],
  containerStatuses: [{name: app, image: "app:1", imageID: "", ready: false, started: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]"#;
const UNSCHEDULED: &str = r#"phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-11-21T08:00:00Z"}]"#;
const READY: &str = r#"phase: Running, startTime: "2026-11-21T08:00:00Z",
  conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-11-21T08:00:00Z"}, {type: Ready, status: "True", lastTransitionTime: "2026-11-21T08:00:10Z"}],
  containerStatuses: [{name: app, image: "app:1", imageID: "", ready: true, started: true, restartCount: 0, state: {running: {startedAt: "2026-11-21T08:00:05Z"}}}]"#;

const ROLLOUT: &str = r#"
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: shop, uid: d1, generation: 1, creationTimestamp: "2026-11-21T08:00:00Z"}
spec: {replicas: 1, progressDeadlineSeconds: 600, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "app:1"}]}}}
status: {observedGeneration: 1, unavailableReplicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: no progress, lastUpdateTime: "2026-11-21T08:20:00Z", lastTransitionTime: "2026-11-21T08:20:00Z"}]}
---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: web-1, namespace: shop, uid: r1, creationTimestamp: "2026-11-21T08:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "app:1"}]}}}
status: {replicas: 0}
"#;

/// Failures that nothing but an Event explains: a name, the object that has the Event, and all objects.
fn failures() -> [(&'static str, &'static str, String); 7] {
    [
        ("creating", POD, pod(ON_NODE, CREATING)),
        ("creating with a postStart hook", POD, pod(WITH_HOOK, r#"phase: Pending, startTime: "2026-11-21T08:00:00Z""#)),
        ("unscheduled without a condition", POD, pod(WITHOUT_NODE, "phase: Pending")),
        ("unscheduled without a message", POD, pod(WITHOUT_NODE, UNSCHEDULED)),
        ("failed without a reason", POD, pod(ON_NODE, "phase: Failed")),
        (
            "evicted without a message",
            POD,
            pod(ON_NODE, r#"phase: Failed, reason: Evicted, startTime: "2026-11-21T08:00:00Z""#),
        ),
        ("rollout without progress", REPLICA_SET, ROLLOUT.to_owned()),
    ]
}

fn event(object: &str, reason: &str, message: &str) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    format!(
        "---\nkind: Event\napiVersion: v1\nmetadata: {{name: e, namespace: shop}}\ntype: Warning\nreason: {}\nmessage: {}\n\
         involvedObject: {object}\nsource: {{component: some-agent}}\nfirstTimestamp: \"2026-11-21T08:40:00Z\"\n\
         lastTimestamp: \"2026-11-21T08:59:00Z\"\ncount: 3\n",
        quoted(reason),
        quoted(message)
    )
}

/// The summaries of all failures.
fn summaries(manifest: &str) -> Vec<String> {
    let report = fixture::diagnose(&format!("# judged-at: {NOW}\n{manifest}"), None);
    let report = report.unwrap_or_else(|error| panic!("{error} in\n{manifest}"));
    let heads = fixture::failing(&report).map(|write| write.object.head());
    heads.map(|head| format!("{}: {}", head.cause, head.summary)).collect()
}

fn absent(summary: &str) -> Option<&'static str> {
    ABSENT.into_iter().find(|words| summary.contains(words))
}

#[test]
fn without_an_event_the_summary_states_that_nothing_explains_the_failure() {
    for (name, _, manifest) in failures() {
        let found = summaries(&manifest);
        assert!(found.iter().any(|summary| absent(summary).is_some()), "{name}: {found:?}");
    }
}

#[test]
fn unknown_reason_and_message_are_shown() {
    for (name, object, manifest) in failures() {
        let found = summaries(&format!("{manifest}{}", event(object, "AgentUnhappy", "the flux capacitor is empty")));
        let is_shown = |summary: &String| summary.contains("AgentUnhappy: the flux capacitor is empty");
        assert!(found.iter().any(is_shown), "{name}: {found:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_summary_denies_a_warning(
        at in 0..failures().len(),
        reason in "[A-Z][A-Za-z]{0,24}",
        message in prop_oneof!["\\PC{0,120}", "[a-z]{1,8}( [a-z0-9:/.\"'-]{1,12}){0,12}"],
    ) {
        let (name, object, manifest) = &failures()[at];
        let found = summaries(&format!("{manifest}{}", event(object, &reason, &message)));
        prop_assert!(!found.is_empty(), "{}", name);
        for summary in found {
            let denied = absent(&summary).filter(|words| !message.contains(words));
            prop_assert!(denied.is_none(), "{}: {}", name, summary);
        }
    }

    #[test]
    fn pod_that_is_ready_stays_healthy(
        reason in "[A-Z][A-Za-z]{0,24}",
        message in "[a-z]{1,8}( [a-z0-9:/.\"'-]{1,12}){0,12}",
    ) {
        let found = summaries(&format!("{}{}", pod(ON_NODE, READY), event(POD, &reason, &message)));
        prop_assert!(found.is_empty(), "{:?}", found);
    }
}
