//! The operator itself: its restart, what it writes at rest, and what its metrics say.

use std::time::Duration;

use kube::ResourceExt;
use tokio::time::Instant;

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, ensure, eventually, kubectl, metrics, status, story, sum, told,
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

/// What is told of each pod, once all of them are.
async fn all_told(space: &Space) -> Vec<Vec<(String, String)>> {
    let mut events = Vec::new();
    for (pod, _) in CAUSES {
        let of_pod = eventually(SOON, format!("the Event of {pod}"), async || {
            let told = told(&space.our_events(pod).await);
            ensure(!told.is_empty(), || "none".to_owned()).map(|()| told)
        });
        events.push(of_pod.await);
    }
    events
}

async fn nothing_is_told_again(space: &Space, events: &[Vec<(String, String)>]) {
    for ((pod, cause), before) in CAUSES.into_iter().zip(events) {
        let found = space.diagnosed(pod, cause, SOON).await;
        assert_eq!(status(&found).transition, 1, "{pod}: {}", story(&found));
        assert_eq!(&told(&space.our_events(pod).await), before, "{pod}: the same Events as before");
    }
}

/// The operator's pod is deleted, as at an upgrade: its successor knows what was told.
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
        let events = all_told(&space).await;

        let began = Instant::now();
        kubectl(&["-n", OPERATOR, "delete", "pod", "-l", "app.kubernetes.io/name=shindan"]);
        kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
        println!("measured: the operator is ready again after {:.1} s", began.elapsed().as_secs_f64());
        // A failure that came later is told: what was to be told again would have been by now.
        space.caught_up("after-restart").await;

        nothing_is_told_again(&space, &events).await;
        let after = status(&space.diagnosis("crash").await.unwrap()).restarts.clone().unwrap_or_default().history;
        let is_kept = |run: &shindan::api::Run| after.iter().any(|r| r.started_at == run.started_at);
        assert!(before.iter().all(is_kept), "{before:?} became {after:?}");
    });
}

const LISTENS: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: listens}
spec:
  containers:
  - name: app
    image: '127.0.0.1:5000/busybox:1.36'
    command: [sh, -c, 'echo a line of no interest; echo listen tcp :8080: bind: address already in use >&2; exit 1']
";

pub(crate) fn roll_out(overlay: &str) {
    let overlay = format!("{}/deploy/overlays/{overlay}", env!("CARGO_MANIFEST_DIR"));
    kubectl(&["apply", "-k", &overlay]);
    kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
}

/// The installation with the component, for as long as this lives.
struct PreviousLogs;

impl PreviousLogs {
    fn install() -> Self {
        roll_out("test-cluster-previous-logs");
        Self
    }
}

impl Drop for PreviousLogs {
    fn drop(&mut self) {
        // First the flag, then the right: in between the operator would be refused.
        roll_out("test-cluster");
        let role = "clusterrole,clusterrolebinding";
        kubectl(&["delete", role, "shindan-previous-logs", "--ignore-not-found"]);
    }
}

/// The installation with two replicas, for as long as this lives.
struct TwoReplicas;

impl TwoReplicas {
    fn install() -> Self {
        roll_out("test-cluster-high-availability");
        Self
    }

    /// Who holds the Lease: the name of its pod, and what tells its process apart.
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

/// The process of a pod of ours; all of the cluster runs on this machine.
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

/// The leader is killed without a word: the other one knows what was told, and what fails next.
#[test]
fn a_replica_takes_over_from_one_that_is_killed() {
    alone(async {
        let _installed = TwoReplicas::install();
        let space = Space::new("takeover").await;
        space.apply(FAILING);
        for (pod, cause) in CAUSES {
            space.diagnosed(pod, cause, KUBELET).await;
        }
        let events = all_told(&space).await;
        let leader = TwoReplicas::leader();
        let pod = leader.split('_').next().unwrap();
        let killed = std::process::Command::new("kill").args(["-KILL", &process_of(pod)]).status().unwrap();
        assert!(killed.success());
        let began = Instant::now();
        // The other replica, or the container that is started again in the pod of the dead one: that is a follower as well.
        eventually(SOON, "another leader", async || {
            let now = TwoReplicas::leader();
            ensure(!now.is_empty() && now != leader, || now)
        })
        .await;
        println!("measured: another replica leads after {:.1} s", began.elapsed().as_secs_f64());
        space.caught_up("after-takeover").await;
        nothing_is_told_again(&space, &events).await;
    });
}

/// What only a log tells is told where that is allowed: one line of it, and in the first Event already.
#[test]
fn the_last_words_of_a_run_are_told_where_they_may_be_read() {
    alone(async {
        let _installed = PreviousLogs::install();
        let space = Space::new("logs").await;
        space.apply(LISTENS);
        let found = space.diagnosed("listens", "AddressInUse", KUBELET).await;
        assert!(status(&found).summary.contains("cannot listen on port 8080"), "{}", status(&found).summary);
        let of_log: Vec<_> = status(&found).evidence.iter().filter(|e| e.source == "log/app").collect();
        assert_eq!(of_log.len(), 1, "{of_log:?}");
        assert_eq!(of_log[0].value, "listen tcp :8080: bind: address already in use");
        assert!(!story(&found).contains("no interest"));
        let events = eventually(SOON, "its Event", async || {
            let told = told(&space.our_events("listens").await);
            ensure(!told.is_empty(), || "none".to_owned()).map(|()| told)
        })
        .await;
        assert_eq!(events.len(), 1, "the first Event knows it: {events:?}");
    });
}

/// Where nothing changes, nothing is written.
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
        // Other tests' pods are still being deleted.
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
        // It was never killed meanwhile.
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
