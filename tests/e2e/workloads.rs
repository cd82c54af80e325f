//! Failing workloads: the diagnosis of the workload, workloads without pods, and Event aggregation.

use std::time::Duration;

use shindan_core::api::{DiagnosisState, Severity, WorkloadDiagnosisStatus};

use crate::support::{
    KUBELET, SOON, Space, columns_of_all, ensure, eventually, kubectl, metrics, our_events, sum, together, try_kubectl,
    types_and_reasons,
};

/// Timeout until a controller retries after a refused request.
const CONTROLLER: Duration = Duration::from_secs(300);

const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: nginx, image: '127.0.0.1:5000/nginx:1.27'}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";

const AGENT: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: agent, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, "echo no config; exit 3"]}]
"#;

const DB: &str = r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: db
        image: '127.0.0.1:5000/busybox:1.36'
        command: [sh, -c, "case $HOSTNAME in *-1) exit 4;; esac; touch /tmp/ready; sleep infinity"]
        # Without it db-1 is seen Ready before it exits where the machine is busy, and db-2 is made.
        readinessProbe: {exec: {command: [test, -e, /tmp/ready]}, periodSeconds: 1}
"#;

const JOBS: &str = r#"
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  backoffLimit: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, "exit 7"]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, "exit 9"]}]}
"#;

const QUOTA: &str = r"
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {requests.memory: 64Mi}}
";

const POD_BEYOND_QUOTA: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: main, image: 'nginx', resources: {requests: {memory: 65Mi}}}]}
";

const BEYOND_QUOTA: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: big}
spec:
  replicas: 2
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: '127.0.0.1:5000/nginx:1.27', resources: {requests: {memory: 65Mi}}}]
";

const PRIVILEGED: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: root}
spec:
  replicas: 1
  selector: {matchLabels: {app: root}}
  template:
    metadata: {labels: {app: root}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: '127.0.0.1:5000/nginx:1.27', securityContext: {privileged: true}}]
";

const MANY: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: many}
spec:
  replicas: 60
  selector: {matchLabels: {app: many}}
  template:
    metadata: {labels: {app: many}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: 'registry.example.invalid/app:1'}]
";

fn is_failing(status: &WorkloadDiagnosisStatus, cause: &str, problem: &str) -> bool {
    let head = &status.head;
    (head.state, head.cause.as_str(), status.problem.as_str()) == (DiagnosisState::Active, cause, problem)
}

fn has_condition(status: &WorkloadDiagnosisStatus, kind: &str, value: &str) -> bool {
    status.head.conditions.iter().any(|c| c.kind == kind && c.status == value)
}

fn commands(status: &WorkloadDiagnosisStatus) -> Vec<&str> {
    status.head.remedies.iter().filter_map(|remedy| remedy.command.as_deref()).collect()
}

/// Waits for this diagnosis and its Event.
async fn fails(space: &Space, [kind, name]: [&str; 2], cause: &str, problem: &str) -> WorkloadDiagnosisStatus {
    let object = format!("{}-{name}", kind.to_lowercase());
    let found = space.await_workload(&object, KUBELET, |status| is_failing(status, cause, problem)).await;
    assert!(has_condition(&found, "Healthy", "False") && has_condition(&found, "Stalled", "True"), "{found:?}");
    assert!(!found.head.remedies.is_empty() && !found.head.evidence.is_empty(), "{found:?}");
    events_are(space, [kind, name], &[("Warning", cause)]).await;
    found
}

async fn recovers(space: &Space, [kind, name]: [&str; 2], cause: &str, within: Duration) {
    let object = format!("{}-{name}", kind.to_lowercase());
    let found = space.await_workload(&object, within, |status| status.head.state == DiagnosisState::Recovered).await;
    assert_eq!(found.head.cause, cause, "what it recovered from stays to be read");
    assert!(has_condition(&found, "Healthy", "True") && has_condition(&found, "Stalled", "False"), "{found:?}");
    events_are(space, [kind, name], &[("Warning", cause), ("Normal", "Recovered")]).await;
}

async fn events_are(space: &Space, [kind, name]: [&str; 2], expected: &[(&str, &str)]) {
    eventually(SOON, format!("the Events of {kind}/{name}"), async || {
        let emitted = types_and_reasons(&space.our_events_of(kind, name).await);
        // The list is ordered by names, which have a hash.
        let mut seen: Vec<_> = emitted.iter().map(|(kind, reason)| (kind.as_str(), reason.as_str())).collect();
        let mut expected = expected.to_vec();
        seen.sort_unstable();
        expected.sort_unstable();
        ensure(seen == expected, || format!("{emitted:?}"))
    })
    .await;
}

/// The tag is unique to this test: for an image that several workloads lack, only one emits an Event.
#[test]
fn a_rolling_update_with_a_wrong_tag_is_undone() {
    together(async {
        const WHAT: [&str; 2] = ["Deployment", "web"];
        let space = Space::new("wrong-tag").await;
        space.apply(WEB);
        space.kubectl(&["rollout", "status", "deployment/web", "--timeout=120s"]);
        space.kubectl(&["set", "image", "deployment/web", "nginx=127.0.0.1:5000/nginx:typo"]);
        let found = fails(&space, WHAT, "ImageTagNotFound", "RolloutStuck").await;
        assert_eq!(found.head.severity, Severity::Warning, "users are served: {found:?}");
        assert_eq!(found.pods.display, "3/3");
        assert_eq!(
            found.causes.iter().map(|c| (c.cause.as_str(), c.pods)).collect::<Vec<_>>(),
            [("ImageTagNotFound", 1)]
        );
        let serving = found.serving.as_ref().expect("who serves");
        assert_eq!((serving.old_ready, serving.updated_ready), (3, 0));
        let services: Vec<_> = serving.services.iter().map(|s| (s.name.as_str(), s.ready_endpoints)).collect();
        assert_eq!(services, [("web", 3)]);
        let [change] = &found.template_changes[..] else { panic!("{:?}", found.template_changes) };
        assert_eq!(change.field, "containers[nginx].image");
        assert_eq!(change.before.as_deref(), Some("127.0.0.1:5000/nginx:1.27"));
        assert_eq!(change.after.as_deref(), Some("127.0.0.1:5000/nginx:typo"));
        let undo = format!("kubectl -n {} rollout undo deployment/web --to-revision=1", space.name);
        assert_eq!(commands(&found)[0], undo, "the first thing to do");

        space.kubectl(&["rollout", "undo", "deployment/web", "--to-revision=1"]);
        recovers(&space, WHAT, "ImageTagNotFound", KUBELET).await;
        kubectl(&["-n", &space.name, "wait", "wdx/deployment-web", "--for=condition=Healthy", "--timeout=5s"]);
    });
}

#[test]
fn a_daemon_set_that_fails_everywhere() {
    together(async {
        const WHAT: [&str; 2] = ["DaemonSet", "agent"];
        let space = Space::new("daemonset").await;
        space.apply(AGENT);
        fails(&space, WHAT, "AppError", "FailingOnNodes").await;
        // Without a probe it is Ready for the short time that each run lasts.
        let is_down = |status: &WorkloadDiagnosisStatus| {
            status.head.severity == Severity::Critical && status.pods.display == "0/1"
        };
        let found = space.await_workload("daemonset-agent", KUBELET, is_down).await;
        assert!(found.head.summary.starts_with("fails on its only node: agent exits with code 3"), "{found:?}");
        let good = r#"{"spec": {"template": {"spec": {"containers": [{"name": "agent", "command": ["sleep", "infinity"]}]}}}}"#;
        space.kubectl(&["patch", "daemonset", "agent", "--patch", good]);
        let has_recovered = |status: &WorkloadDiagnosisStatus| status.head.state == DiagnosisState::Recovered;
        let found = space.await_workload("daemonset-agent", KUBELET, has_recovered).await;
        assert!(has_condition(&found, "Healthy", "True") && has_condition(&found, "Stalled", "False"), "{found:?}");
        // A failure reported at such a moment is reported again when its severity rises.
        eventually(SOON, "the Events of the DaemonSet", async || {
            let emitted = types_and_reasons(&space.our_events_of("DaemonSet", "agent").await);
            let of =
                |kind: &str, reason: &str| emitted.iter().filter(|event| event.0 == kind && event.1 == reason).count();
            let (failed, recovered) = (of("Warning", "AppError"), of("Normal", "Recovered"));
            let is = matches!(failed, 1 | 2) && recovered == 1 && emitted.len() == failed + recovered;
            ensure(is, || format!("{emitted:?}"))
        })
        .await;

        let bad = good.replace(r#"["sleep", "infinity"]"#, r#"["sh", "-c", "exit 4"]"#);
        space.kubectl(&["patch", "daemonset", "agent", "--patch", &bad]);
        let names_the_change = |status: &WorkloadDiagnosisStatus| {
            status.head.state == DiagnosisState::Active && !status.template_changes.is_empty()
        };
        let found = space.await_workload("daemonset-agent", KUBELET, names_the_change).await;
        let [change] = &found.template_changes[..] else { panic!("{found:?}") };
        assert_eq!(
            (change.field.as_str(), change.before.as_deref()),
            ("containers[agent].command", Some("sleep infinity"))
        );
        // With one node, no pod of the old template is left that would show that it worked.
        let history = format!("kubectl -n {} rollout history daemonset/agent", space.name);
        assert!(commands(&found).contains(&history.as_str()), "{found:?}");
        space.kubectl(&["rollout", "undo", "daemonset/agent", "--to-revision=2"]);
        let is_over = |status: &WorkloadDiagnosisStatus| status.head.state == DiagnosisState::Recovered;
        space.await_workload("daemonset-agent", KUBELET, is_over).await;
    });
}

#[test]
fn a_stateful_set_is_blocked_by_one_of_its_pods() {
    together(async {
        let space = Space::new("ordinal").await;
        space.apply(DB);
        let found = fails(&space, ["StatefulSet", "db"], "AppError", "BlockedOnOrdinal").await;
        assert_eq!((found.head.severity, found.pods.display.as_str()), (Severity::Warning, "1/3"));
        assert!(found.head.summary.starts_with("db-1 fails, and db-2 waits to be created: db exits"), "{found:?}");
        let last = format!("kubectl -n {} delete pod db-1", space.name);
        assert_eq!(commands(&found).last(), Some(&last.as_str()), "its cause is corrected first");
    });
}

/// Runs of each minute with the same cause are one failure.
#[test]
fn a_job_and_a_cron_job_that_fail() {
    together(async {
        let space = Space::new("jobs").await;
        space.apply(JOBS);
        let found = fails(&space, ["Job", "import"], "PodFailedNoRestart", "JobFailed").await;
        assert_eq!(found.head.severity, Severity::Critical);
        assert_eq!(found.causes.iter().map(|c| c.pods).sum::<u32>(), 2, "both tries: {found:?}");
        let nightly = fails(&space, ["CronJob", "nightly"], "PodFailedNoRestart", "JobFailed").await;
        let of_first = nightly.head.summary;
        eventually(KUBELET, "the next run", async || {
            let status = space.workload("cronjob-nightly").await.ok_or("no diagnosis")?;
            ensure(status.head.summary != of_first && status.templates.len() > 1, || status.head.summary)
        })
        .await;
        events_are(&space, ["CronJob", "nightly"], &[("Warning", "PodFailedNoRestart")]).await;
        space.kubectl(&["patch", "cronjob", "nightly", "--patch", r#"{"spec": {"suspend": true}}"#]);
        let of_cron_job = |status: &WorkloadDiagnosisStatus| status.head.state == DiagnosisState::Recovered;
        space.await_workload("cronjob-nightly", SOON, of_cron_job).await;
    });
}

#[test]
fn a_quota_without_room_keeps_all_pods_away() {
    together(async {
        const WHAT: [&str; 2] = ["Deployment", "big"];
        let space = Space::new("quota").await;
        space.apply(QUOTA);
        // The API server admits pods until its own watch has the quota.
        eventually(SOON, "the quota is enforced", async || {
            match try_kubectl(&["-n", &space.name, "create", "--dry-run=server", "-f", "-"], Some(POD_BEYOND_QUOTA)) {
                Err(refused) if refused.contains("exceeded quota") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        space.apply(BEYOND_QUOTA);
        let found = fails(&space, WHAT, "QuotaExceeded", "NoPods").await;
        assert!(space.pods().await.is_empty());
        assert_eq!((found.head.severity, found.pods.display.as_str()), (Severity::Critical, "0/2"));
        assert!(found.head.summary.contains("ResourceQuota team is exceeded"), "{found:?}");
        let raise = format!("kubectl -n {} patch resourcequota team --type=merge -p ", space.name);
        assert!(commands(&found).iter().any(|command| command.starts_with(&raise)), "{found:?}");
        let root = found.root.as_ref().expect("the quota");
        assert_eq!((root.root.kind.as_str(), root.root.name.as_str()), ("ResourceQuota", "team"));
        let more = r#"{"spec": {"hard": {"requests.memory": "1Gi"}}}"#;
        space.kubectl(&["patch", "resourcequota", "team", "--patch", more]);
        // The existing ReplicaSet is retried with back-off; a new one is tried at once.
        space.kubectl(&["rollout", "restart", "deployment/big"]);
        recovers(&space, WHAT, "QuotaExceeded", CONTROLLER).await;
    });
}

#[test]
fn pod_security_refuses_a_privileged_pod() {
    together(async {
        const WHAT: [&str; 2] = ["Deployment", "root"];
        let space = Space::new("psa").await;
        space.kubectl(&["label", "namespace", &space.name, "pod-security.kubernetes.io/enforce=baseline"]);
        space.apply(PRIVILEGED);
        let found = fails(&space, WHAT, "PodSecurityForbidden", "NoPods").await;
        assert!(space.pods().await.is_empty());
        assert_eq!((found.head.severity, found.pods.display.as_str()), (Severity::Critical, "0/1"));
        let good = r#"{"spec": {"template": {"spec": {"containers": [{"name": "main", "securityContext": {"privileged": false}}]}}}}"#;
        space.kubectl(&["patch", "deployment", "root", "--patch", good]);
        recovers(&space, WHAT, "PodSecurityForbidden", CONTROLLER).await;
    });
}

/// No parallel test has as many failing pods in a workload, or bare ones with a cause in a namespace, so all aggregated Events are
/// of this test.
#[test]
fn sixty_pods_with_the_same_registry_failure_are_reported_once() {
    together(async {
        const CAUSE: &str = "RegistryDnsFailure";
        let space = Space::new("many").await;
        let before = sum(&metrics().unwrap(), "shindan_events_folded_total");
        space.apply(MANY);
        let found = space
            .await_workload("deployment-many", CONTROLLER, |status| {
                is_failing(status, CAUSE, "Unavailable") && status.pods.failing == 60
            })
            .await;
        assert_eq!((found.head.severity, found.pods.display.as_str()), (Severity::Critical, "0/60"));
        let all = space.diagnoses().await;
        assert_eq!(all.len(), 60, "each pod has its object");
        let settled = space
            .await_workload("deployment-many", CONTROLLER, |status| {
                status.root.as_ref().is_some_and(|root| root.pods == 60)
                    && status.causes.iter().map(|c| (c.cause.as_str(), c.pods)).eq([(CAUSE, 60)])
            })
            .await;
        let root = settled.root.as_ref().expect("the registry");
        assert_eq!((root.root.kind.as_str(), root.root.name.as_str()), ("Registry", "registry.example.invalid"));
        assert_eq!((root.pods, root.workloads, root.namespaces), (60, 1, 1));

        let events = our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
        let warnings = types_and_reasons(&events).into_iter().filter(|(kind, _)| kind == "Warning").count();
        assert!(warnings <= 6, "{warnings} Warning Events: {:?}", types_and_reasons(&events));
        events_are(&space, ["Deployment", "many"], &[("Warning", CAUSE)]).await;
        let aggregated = space.await_workload("deployment-many", CONTROLLER, |status| status.folded_events == 55).await;
        let counted = sum(&metrics().unwrap(), "shindan_events_folded_total") - before;
        assert!((counted - f64::from(aggregated.folded_events)).abs() < 0.5, "the metric counts {counted}");

        let columns = columns_of_all();
        let of_pods = "NAMESPACE NAME CAUSE CONTAINER SEVERITY STATE RESTARTS SINCE";
        let of_workloads = "NAMESPACE NAME CAUSE PROBLEM SEVERITY STATE READY SINCE";
        assert!(columns.iter().any(|c| c == of_pods) && columns.iter().any(|c| c == of_workloads), "{columns:?}");
    });
}
