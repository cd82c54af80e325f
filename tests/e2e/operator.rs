//! The operator itself: its restart, its writes at rest, and its metrics.

use std::time::Duration;

use kube::ResourceExt;
use shindan_core::api::Severity;
use tokio::time::Instant;

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, ensure, eventually, kubectl, metrics, one_line, status, sum,
    types_and_reasons,
};

const FAILING: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: config}
spec: {containers: [{name: app, image: '127.0.0.1:5000/busybox:1.36', envFrom: [{configMapRef: {name: settings}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: image}
spec: {containers: [{name: app, image: '127.0.0.1:5000/Upper:1'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec: {containers: [{name: app, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, 'exit 3']}]}
";
const CAUSES: [(&str, &str); 3] =
    [("config", "ConfigMapNotFound"), ("image", "InvalidImageName"), ("crash", "AppError")];

/// The Events of a pod, with the number of the transition that the last one announced.
type Announced = (u32, Vec<(String, String)>);

/// Waits until the failure of each pod is announced with its final severity, and returns all Events. While the container
/// runs for a moment, the severity is lower; the Event of its rise is another one.
async fn all_events(space: &Space) -> Vec<Announced> {
    let mut events = Vec::new();
    for (pod, _) in CAUSES {
        let of_pod = eventually(KUBELET, format!("the Events of {pod}"), async || {
            let found = space.diagnosis(pod).await.ok_or("no diagnosis")?;
            let (severity, transition) = (status(&found).head.severity, status(&found).head.transition);
            let emitted = types_and_reasons(&space.our_events(pod).await);
            let is_complete = severity == Severity::Critical && emitted.len() == transition as usize;
            ensure(is_complete, || format!("{severity}: {emitted:?}")).map(|()| (transition, emitted))
        });
        events.push(of_pod.await);
    }
    events
}

async fn no_further_events(space: &Space, events: &[Announced]) {
    for ((pod, cause), (transition, before)) in CAUSES.into_iter().zip(events) {
        let found = space.diagnosed(pod, cause, SOON).await;
        assert_eq!(status(&found).head.transition, *transition, "{pod}: {}", one_line(&found));
        assert_eq!(&types_and_reasons(&space.our_events(pod).await), before, "{pod}: the same Events as before");
    }
}

/// The operator's pod is replaced, as in an upgrade: the new process emits no Event again.
#[test]
fn a_restart_repeats_nothing_and_forgets_nothing() {
    alone(async {
        let space = Space::new("restart").await;
        space.apply(FAILING);
        for (pod, cause) in CAUSES {
            space.diagnosed(pod, cause, KUBELET).await;
        }
        let before = eventually(KUBELET, "three runs of crash are known", async || {
            let found = space.diagnosis("crash").await.ok_or("no diagnosis")?;
            let runs = status(&found).restarts.clone().unwrap_or_default().history;
            ensure(runs.len() >= 3, || format!("{runs:?}")).map(|()| runs)
        })
        .await;
        let events = all_events(&space).await;

        let began = Instant::now();
        kubectl(&["-n", OPERATOR, "delete", "pod", "-l", "app.kubernetes.io/name=shindan"]);
        kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
        println!("measured: the operator is ready again after {:.1} s", began.elapsed().as_secs_f64());
        // After the report of a later failure, a repeated Event would have been emitted already.
        space.caught_up("after-restart").await;

        no_further_events(&space, &events).await;
        let after = status(&space.diagnosis("crash").await.unwrap()).restarts.clone().unwrap_or_default().history;
        let is_kept = |run: &shindan_core::api::Run| after.iter().any(|r| r.started_at == run.started_at);
        assert!(before.iter().all(is_kept), "{before:?} became {after:?}");
    });
}

/// Each run lasts some seconds, so that the log of the last one is still there when it is read.
const LISTENS: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: listens}
spec:
  containers:
  - name: app
    image: '127.0.0.1:5000/busybox:1.36'
    command: [sh, -c, 'echo a line of no interest; sleep 5; echo listen tcp :8080: bind: address already in use >&2; exit 1']
";

pub(crate) fn roll_out(overlay: &str) {
    let overlay = format!("{}/deploy/overlays/{overlay}", env!("CARGO_MANIFEST_DIR"));
    kubectl(&["apply", "-k", &overlay]);
    kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
}

/// The installation with the component, until this is dropped.
struct PreviousLogs;

impl PreviousLogs {
    fn install() -> Self {
        roll_out("test-cluster-previous-logs");
        Self
    }
}

impl Drop for PreviousLogs {
    fn drop(&mut self) {
        // Removes the flag before the permission, so that no request of the operator is refused.
        roll_out("test-cluster");
        let role = "clusterrole,clusterrolebinding";
        kubectl(&["delete", role, "shindan-previous-logs", "--ignore-not-found"]);
    }
}

/// The installation with two replicas, until this is dropped.
struct TwoReplicas;

impl TwoReplicas {
    fn install() -> Self {
        roll_out("test-cluster-high-availability");
        Self
    }

    /// The holder of the Lease: the name of its pod and a suffix for its process.
    fn leader() -> String {
        kubectl(&["-n", OPERATOR, "get", "lease", "shindan", "-o", "jsonpath={.spec.holderIdentity}"])
    }
}

impl Drop for TwoReplicas {
    fn drop(&mut self) {
        kubectl(&["-n", OPERATOR, "delete", "poddisruptionbudget", "shindan", "--ignore-not-found"]);
        roll_out("test-cluster");
    }
}

/// The process ID of a pod of the operator; the whole cluster runs on this machine.
fn process_of(pod: &str) -> String {
    let uid = kubectl(&["-n", OPERATOR, "get", "pod", pod, "-o", "jsonpath={.metadata.uid}"]);
    let is_its = |pid: &str| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        read("comm").trim() == "shindan" && read("cgroup").contains(&uid)
    };
    let mut pids =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    pids.find(|pid| pid.bytes().all(|b| b.is_ascii_digit()) && is_its(pid)).expect("the pod has a process")
}

/// How an operator ends without a chance to finish anything.
#[derive(Debug, Clone, Copy)]
enum Kill {
    /// The process. The kubelet restarts its container.
    Process,
    /// The pod, deleted by force: its controller replaces it at once, perhaps before the process has ended.
    Pod,
}

impl Kill {
    fn hit(self, pod: &str) {
        match self {
            Self::Process => {
                let killed = std::process::Command::new("kill").args(["-KILL", &process_of(pod)]).status().unwrap();
                assert!(killed.success());
            }
            Self::Pod => {
                kubectl(&["-n", OPERATOR, "delete", "pod", pod, "--grace-period=0", "--force"]);
            }
        }
    }
}

fn all_replicas_are_ready() {
    kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=180s"]);
}

/// The leader is killed again and again: no other leader emits an Event again, and each reports the next failure.
#[test]
fn a_standby_becomes_leader_after_each_kill() {
    alone(async {
        let _installed = TwoReplicas::install();
        let space = Space::new("failover").await;
        space.apply(FAILING);
        for (pod, cause) in CAUSES {
            space.diagnosed(pod, cause, KUBELET).await;
        }
        let events = all_events(&space).await;
        for (round, kill) in [Kill::Process, Kill::Pod, Kill::Pod, Kill::Process].into_iter().enumerate() {
            all_replicas_are_ready();
            let leader = TwoReplicas::leader();
            kill.hit(leader.split('_').next().unwrap());
            let began = Instant::now();
            // The other replica, or the replacement of the killed one, which is a standby too.
            eventually(SOON, "another leader", async || {
                let now = TwoReplicas::leader();
                ensure(!now.is_empty() && now != leader, || now)
            })
            .await;
            println!("measured: {kill:?} killed: another replica leads after {:.1} s", began.elapsed().as_secs_f64());
            space.caught_up(&format!("after-failover-{round}")).await;
            no_further_events(&space, &events).await;
        }
    });
}

/// The only pod of the operator is killed while pods begin to fail: each of them is reported once.
#[test]
fn a_killed_operator_reports_what_failed_meanwhile() {
    alone(async {
        let space = Space::new("killed").await;
        space.apply(FAILING);
        for (pod, cause) in CAUSES {
            space.diagnosed(pod, cause, KUBELET).await;
        }
        let events = all_events(&space).await;
        for (round, kill) in [Kill::Pod, Kill::Process, Kill::Pod].into_iter().enumerate() {
            all_replicas_are_ready();
            let pod = kubectl(&[
                "-n",
                OPERATOR,
                "get",
                "pods",
                "-l",
                "app.kubernetes.io/name=shindan",
                "-o",
                "jsonpath={.items[?(@.status.phase==\"Running\")].metadata.name}",
            ]);
            let names = ["a", "b"].map(|name| format!("meanwhile-{round}-{name}"));
            for name in &names {
                space.apply(&format!(
                    "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: app, image: '127.0.0.1:5000/busybox:1.36', envFrom: [{{configMapRef: {{name: settings}}}}]}}]}}}}"
                ));
            }
            kill.hit(pod.split(' ').next().unwrap());
            space.caught_up(&format!("after-kill-{round}")).await;
            for name in &names {
                let found = space.diagnosed(name, "ConfigMapNotFound", KUBELET).await;
                assert_eq!(status(&found).head.transition, 1, "{name}: {}", one_line(&found));
                let emitted = space.our_events(name).await.len();
                assert!(emitted <= 1, "{name}: {emitted} Events");
            }
            no_further_events(&space, &events).await;
        }
    });
}

/// With permission to read logs, the first Event already has the decisive log line.
#[test]
fn the_log_tail_is_reported_where_logs_may_be_read() {
    alone(async {
        let _installed = PreviousLogs::install();
        let space = Space::new("logs").await;
        space.apply(LISTENS);
        let found = space.diagnosed("listens", "AddressInUse", KUBELET).await;
        assert!(status(&found).head.summary.contains("cannot listen on port 8080"), "{}", status(&found).head.summary);
        let of_log: Vec<_> = status(&found).head.evidence.iter().filter(|e| e.source == "log/app").collect();
        assert_eq!(of_log.len(), 1, "{of_log:?}");
        assert_eq!(of_log[0].value, "listen tcp :8080: bind: address already in use");
        assert!(!one_line(&found).contains("no interest"));
        let events = eventually(SOON, "its Event", async || {
            let emitted = types_and_reasons(&space.our_events("listens").await);
            ensure(!emitted.is_empty(), || "none".to_owned()).map(|()| emitted)
        })
        .await;
        let is_of_line = |(_, reason): &(String, String)| reason == "AddressInUse";
        assert!(events.iter().all(is_of_line), "the first Event has the line: {events:?}");
    });
}

/// Nothing is written while nothing changes.
#[test]
fn at_rest_nothing_is_written() {
    const REST: Duration = Duration::from_secs(20);
    alone(async {
        let space = Space::new("rest").await;
        let settled: String = FAILING.split("---").take(2).collect::<Vec<_>>().join("---");
        space.apply(&settled);
        for (pod, cause) in &CAUSES[..2] {
            space.diagnosed(pod, cause, KUBELET).await;
        }
        // The pods of other tests are still being deleted.
        let written = || metrics().map(|m| sum(&m, "shindan_writes_total") + sum(&m, "shindan_events_posted_total"));
        let mut last = (Instant::now(), -1.0);
        eventually(KUBELET, format!("nothing is written for {} s", REST.as_secs()), async || {
            let now = written()?;
            if (now - last.1).abs() > 0.0 {
                last = (Instant::now(), now);
            }
            ensure(last.0.elapsed() >= REST, || format!("{now} writes"))
        })
        .await;

        let samples = metrics().unwrap();
        let active = |cause: &str| {
            let begin =
                format!("shindan_diagnoses_active{{kind=\"Pod\",namespace=\"{}\",cause=\"{cause}\"", space.name);
            sum(&samples, &begin)
        };
        assert!((active("ConfigMapNotFound") - 1.0).abs() < f64::EPSILON, "{samples:?}");
        assert!((active("InvalidImageName") - 1.0).abs() < f64::EPSILON, "{samples:?}");
        assert!(sum(&samples, "shindan_pods_watched") >= 3.0, "{samples:?}");
        assert!(sum(&samples, "shindan_events_lost_total") < 1.0, "{samples:?}");
        // The operator was not restarted meanwhile.
        let pods = kubectl(&[
            "-n",
            OPERATOR,
            "get",
            "pods",
            "-o",
            "jsonpath={.items[*].status.containerStatuses[*].restartCount}",
        ]);
        assert_eq!(pods, "0", "restarts of the operator");
        let own = space.diagnoses().await;
        assert_eq!(own.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["config", "image"]);
    });
}
