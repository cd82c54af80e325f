//! Rules of users: they are tested, act without a restart, follow the kinds that they name, and report why they do not.

use std::process::Command;
use std::time::Duration;

use shindan_core::api::Severity;

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
        Self::of(name, &rule)
    }

    fn of(name: &'static str, rule: &str) -> Self {
        try_kubectl(&["apply", "-f", "-"], Some(rule)).unwrap();
        Self(name)
    }

    /// Waits until a JSON path of the rule has this value.
    async fn shows(&self, path: &str, value: &str) {
        self.shows_within(ACTS, path, value).await;
    }

    async fn shows_within(&self, time: Duration, path: &str, value: &str) {
        let output = format!("jsonpath={path}");
        eventually(time, format!("{path} of {} is {value}", self.0), async || {
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

        kubectl(&[
            "patch",
            "diagnosisrule",
            rule.0,
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/spec/causes/0/summary","value":"{container.display} needs a new license"},
                {"op":"add","path":"/spec/causes/0/severity","value":"Info"}]"#,
        ]);
        eventually(ACTS, "the diagnosis has the changed summary and severity", async || {
            let found = space.diagnosed("acme", "e2e.example/LicenseExpired", ACTS).await;
            let head = &status(&found).head;
            ensure(head.summary == "server needs a new license" && head.severity == Severity::Info, || {
                format!("{head:?}")
            })
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

/// A kind whose status has no conditions. `tests/rights.rs` knows its group.
const KIND: &str = "gadgets.kinds.e2e.example";
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kinds.e2e.example}
spec:
  group: kinds.e2e.example
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const OF_KIND: &str = r#"
apiVersion: shindan.dev/v1alpha1
kind: DiagnosisRule
metadata: {name: e2e-kind}
spec:
  causes:
  - cause: kinds.e2e.example/NotScaled
    category: Lifecycle
    signal: object
    match:
      kinds: [gadgets.kinds.e2e.example]
      when: resource.spec.replicas > resource.status.ready
    summary: "{object.display} has {resource.status.ready} of {resource.spec.replicas} replicas"
    explain: {meaning: m, distinguish: d, action: a, source: s}
    remedies: [{text: Read the log of the controller.}]
  tests:
  - name: one of two replicas
    at: "2026-11-21T09:10:00Z"
    expect: kinds.e2e.example/NotScaled
    objects:
    - apiVersion: kinds.e2e.example/v1
      kind: Gadget
      metadata: {name: w, namespace: shop}
      spec: {replicas: 2}
      status: {ready: 1}
"#;
/// A new kind and a new permission are noticed within this time.
const NOTICED: Duration = Duration::from_secs(30);

/// The definition and the role of the kind, until this is dropped.
struct Kind;

impl Drop for Kind {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "crd", KIND, "--ignore-not-found"], None);
        let _ = try_kubectl(&["delete", "clusterrole,clusterrolebinding", "shindan-kinds", "--ignore-not-found"], None);
    }
}

#[test]
fn rule_for_a_kind_follows_it_while_the_rule_exists() {
    together(async {
        let _kind = Kind;
        let space = Space::new("kinds").await;
        let rule = Rule::of("e2e-kind", OF_KIND);
        rule.shows(READY, &format!("{KIND} is not installed; waiting for it")).await;
        try_kubectl(&["apply", "-f", "-"], Some(DEFINITION)).unwrap();
        kubectl(&["wait", "--for=condition=Established", &format!("crd/{KIND}"), "--timeout=30s"]);
        rule.shows_within(NOTICED, READY, &format!("`shindan rules rbac {KIND}` prints the role")).await;
        rule.shows(READY, "\"reason\":\"Forbidden\"").await;

        let role = Command::new(env!("CARGO_BIN_EXE_shindan")).args(["rules", "rbac", KIND]).output().unwrap();
        try_kubectl(&["apply", "-f", "-"], Some(&String::from_utf8(role.stdout).unwrap())).unwrap();
        space.apply(
            "apiVersion: kinds.e2e.example/v1\nkind: Gadget\nmetadata: {name: w}\nspec: {replicas: 3}\nstatus: {ready: 1}\n",
        );
        let ready = |ready: u8| {
            let patch = format!("{{\"status\":{{\"ready\":{ready}}}}}");
            kubectl(&["-n", &space.name, "patch", KIND, "w", "--subresource=status", "--type=merge", "-p", &patch]);
        };
        ready(1);
        rule.shows_within(NOTICED, READY, "\"status\":\"True\"").await;
        let shows = async |time: Duration, value: &str| {
            let columns = "jsonpath={.items[*].status.state} {.items[*].status.cause} {.items[*].status.summary}";
            eventually(time, format!("the gadget is {value}"), async || {
                let found = try_kubectl(&["-n", &space.name, "get", "workloaddiagnoses", "-o", columns], None)?;
                ensure(found.contains(value), || found)
            })
            .await;
        };
        shows(ACTS, "Active kinds.e2e.example/NotScaled Gadget w has 1 of 3 replicas").await;
        ready(3);
        shows(ACTS, "Recovered").await;
        ready(2);
        shows(ACTS, "Active kinds.e2e.example/NotScaled").await;
        drop(rule);
        shows(ACTS, "Gone").await;
    });
}
