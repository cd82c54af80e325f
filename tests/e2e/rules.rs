//! Rules of users: they are tested, act without a restart, and report why they do not.

use std::time::Duration;

use crate::support::{
    KUBELET, SOON, Space, ensure, eventually, kubectl, status, together, try_kubectl, types_and_reasons,
};

/// A rule changes the diagnoses within this time.
const ACTS: Duration = Duration::from_secs(10);

/// A rule of the cluster, until this is dropped.
struct Rule(&'static str);

impl Rule {
    /// A cause for a message, with a test for which `tested` is the message.
    fn apply(name: &'static str, message: &str, tested: &str) -> Self {
        let rule = format!(
            r#"
apiVersion: shindan.dev/v1alpha1
kind: DiagnosisRule
metadata: {{name: {name}}}
spec:
  causes:
  - cause: e2e.example/LicenseExpired
    category: Start
    signal: programError
    before: ["*"]
    match: {{message: {{any: ["{message}"]}}}}
    summary: "{{container.display}} has no valid license: {{programError.message}}"
    explain: {{meaning: m, distinguish: d, action: a, source: s}}
    remedies: [{{text: Renew the license.}}]
  tests:
  - name: an expired license
    at: "2026-11-21T09:10:00Z"
    expect: e2e.example/LicenseExpired
    objects:
    - kind: Pod
      metadata: {{name: web, namespace: shop, uid: u1}}
      spec: {{containers: [{{name: web, image: web}}]}}
      status:
        phase: Running
        containerStatuses:
        - name: web
          restartCount: 4
          state: {{waiting: {{reason: CrashLoopBackOff}}}}
          lastState: {{terminated: {{exitCode: 1, reason: Error, message: "{tested}", startedAt: "2026-11-21T09:08:58Z", finishedAt: "2026-11-21T09:09:00Z"}}}}
"#
        );
        try_kubectl(&["apply", "-f", "-"], Some(&rule)).unwrap();
        Self(name)
    }

    /// Waits until a JSON path of the rule has this value.
    async fn shows(&self, path: &str, value: &str) {
        let output = format!("jsonpath={path}");
        eventually(ACTS, format!("{path} of {} is {value}", self.0), async || {
            let found = try_kubectl(&["get", "diagnosisrule", self.0, "-o", &output], None)?;
            ensure(found.contains(value), || found)
        })
        .await;
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "diagnosisrule", self.0, "--ignore-not-found"], None);
    }
}

const READY: &str = "{.status.conditions[?(@.type==\"Ready\")]}";

#[test]
fn rule_of_a_user_acts_without_a_restart_and_until_it_is_removed() {
    together(async {
        let space = Space::new("rules").await;
        space.apply(
            r"
apiVersion: v1
kind: Pod
metadata: {name: acme}
spec:
  containers:
  - name: server
    image: '127.0.0.1:5000/busybox:1.36'
    terminationMessagePolicy: FallbackToLogsOnError
    command: [sh, -c, 'echo FATAL the e2e license has expired on 2026-10-01; exit 1']
",
        );
        space.diagnosed("acme", "AppError", KUBELET).await;

        let rule =
            Rule::apply("e2e-license", "the e2e license has expired", "the e2e license has expired on 2026-09-01");
        let found = space.diagnosed("acme", "e2e.example/LicenseExpired", ACTS).await;
        assert!(status(&found).head.summary.ends_with("the e2e license has expired on 2026-10-01"));
        rule.shows(READY, "\"status\":\"True\"").await;
        rule.shows("{.status.tests}", "1/1").await;
        rule.shows("{.status.matches}", "1").await;
        eventually(SOON, "its Event has a valid reason", async || {
            let events = types_and_reasons(&space.our_events("acme").await);
            ensure(events.contains(&("Warning".to_owned(), "LicenseExpired".to_owned())), || format!("{events:?}"))
        })
        .await;

        // Another rule with an error, and one whose test fails, are reported and change nothing.
        let wrong = Rule::apply("e2e-wrong", "{", "x");
        kubectl(&[
            "patch",
            "diagnosisrule",
            wrong.0,
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/spec/causes/0/signal","value":"programEror"}]"#,
        ]);
        wrong.shows(READY, "did you mean `programError`?").await;
        let untrue = Rule::apply("e2e-untrue", "the other license has expired", "another error");
        untrue.shows(READY, "an expired license: e2e.example/LicenseExpired is expected; found AppError").await;
        untrue.shows("{.status.tests}", "0/1").await;
        let twin = Rule::apply("e2e-twin", "the twin license has expired", "the twin license has expired");
        twin.shows(READY, "the rule e2e-license has the cause e2e.example/LicenseExpired too").await;
        space.diagnosed("acme", "e2e.example/LicenseExpired", ACTS).await;

        drop((wrong, untrue, twin, rule));
        space.diagnosed("acme", "AppError", ACTS).await;
    });
}
