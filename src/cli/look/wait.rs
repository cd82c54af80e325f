//! `--wait`: waits until a rollout is healthy or has failed. For pipelines.
//!
//! The objects are always diagnosed locally and only for the newest template: the diagnoses of the operator include the
//! pods that are being replaced.

use std::collections::BTreeSet;

use crate::cli::found::NodeOrWorkload;
use anyhow::{Context, bail};
use shindan_core::api::Severity;
use shindan_core::case::{Recovery, top_workload};
use shindan_core::facts::{ObjectKey, OwnFacts, PodFacts, Timestamp, WorkloadFacts, seconds_between};
use shindan_core::language::phrase;
use shindan_core::rules;
use shindan_core::wire::Dump;

use super::LOOK_AGAIN;
use super::gather::{Judged, Question, unseen};
use super::kind::Kind;
use super::standing::{self, still_to_come, workload};
use super::subject::{Asked, Subject};
use crate::cli::found::{Found, OfNodeOrWorkload, OfPod};
use crate::cluster::snapshot::Lacking;

/// How a wait ended.
#[derive(Debug)]
pub(in crate::cli) enum Waited {
    Healthy,
    Fails(Found),
}

pub(in crate::cli) async fn wait(
    question: &Question<'_>,
    timeout: i64,
    clock: impl Fn() -> Timestamp,
    mut report: impl FnMut(&str) -> std::io::Result<()>,
) -> anyhow::Result<Waited> {
    let Asked::These(subjects) = &question.asked else { bail!("--wait needs an object: KIND/NAME") };
    let began = clock();
    let (mut last, mut noted) = (String::new(), BTreeSet::new());
    let (mut grace, mut steady) = (RestartGrace::default(), Steady::default());
    loop {
        let now = clock();
        let mut snapshot = question.snapshot().await?;
        let notes = notes_of(std::mem::take(&mut snapshot.lacking), subjects)?;
        for note in notes.into_iter().filter(|note| noted.insert(note.clone())) {
            report(&format!("warning: {note}"))?;
        }
        let namespace = question.namespace.as_deref();
        let missing = |subject: &Subject| {
            let text = still_to_come(&snapshot.dump, subject, namespace, question.thresholds.language)?;
            Some(format!("{subject}: {text}"))
        };
        let missing = subjects.iter().find_map(missing);
        let is_steady = missing.is_none() && steady.holds(&snapshot.dump, subjects, namespace, now);
        // An object on the path of a request is healthy if it is not diagnosed.
        if is_steady && !question.asked.is_of_routes() {
            return Ok(Waited::Healthy);
        }
        if missing.is_some() {
            steady = Steady::default();
        }
        let text = missing.unwrap_or_else(|| format!("ready; waiting until it has been ready for {STEADY} s"));
        only_newest(&mut snapshot.dump, subjects, question.thresholds.recovered_restarting, now);
        let over = snapshot.dump.pods.iter().filter(|pod| pod.is_over()).map(|pod| pod.key.clone()).collect();
        // If Kubernetes has given up on the workload, the wait ends.
        let given_up = |subject: &Subject| workload(&snapshot.dump, subject).is_some_and(WorkloadFacts::has_given_up);
        let given_up = subjects.iter().any(given_up);
        let Judged { found, undiagnosed, pending } = question.judge(snapshot, now);
        if is_steady && !found.fails() && pending.is_empty() {
            return Ok(Waited::Healthy);
        }
        if given_up && found.fails() || grace.is_over(&found, &over, now) {
            return Ok(Waited::Fails(found));
        }
        // Without a time, which would change at each check.
        let text = pending.first().map_or(text, |of| {
            let state = phrase!(question.thresholds.language, "not healthy", "健全でない");
            format!("{} {}: {state}", of.object.kind, of.object.name)
        });
        let seen = pending.first().map(|of| &of.seen_so_far);
        let text = match found.pods.iter().find(|pod| pod.fails()) {
            Some(pod) => {
                let of = pod.status.container.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
                format!("{text}; {}{of}: a restart may help", pod.status.head.cause)
            }
            None => match standing::seen_so_far(&undiagnosed, subjects, namespace).or(seen) {
                Some(seen) => format!("{text}. {}", standing::so_far(seen, question.thresholds.language)),
                None => text,
            },
        };
        if seconds_between(began, now) >= timeout {
            if found.fails() {
                return Ok(Waited::Fails(found));
            }
            bail!("not healthy after {timeout} s: {text}");
        }
        if last != text {
            report(&text)?;
            last = text;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Warnings for the kinds that cannot be listed. An error if one is a kind of `subjects`, which could then never become
/// healthy.
fn notes_of(lacking: Vec<Lacking>, subjects: &[Subject]) -> anyhow::Result<Vec<String>> {
    let notes = lacking.iter().map(ToString::to_string).collect();
    match unseen(lacking, subjects) {
        Some((subject, Lacking { what, refusal, .. })) => {
            Err(refusal).context(format!("cannot wait for {subject}: not allowed to list {what}"))
        }
        None => Ok(notes),
    }
}

/// Seconds that pods must stay ready. A pod without a readiness probe is ready as soon as it runs.
const STEADY: i64 = 10;

/// Tracks since when everything is ready.
#[derive(Debug, Default)]
struct Steady {
    since: Option<Timestamp>,
}

impl Steady {
    /// Whether everything is ready for [`STEADY`] seconds. Pods that already ran longer count at the first check.
    fn holds(&mut self, dump: &Dump, subjects: &[Subject], namespace: Option<&str>, now: Timestamp) -> bool {
        let since = *self.since.get_or_insert(now);
        let is_new = |pod: &PodFacts| {
            namespace.is_none_or(|namespace| *pod.key.namespace == *namespace)
                && subjects.iter().any(|subject| subject.kind != Kind::Node && subject.has(pod))
                && pod.last_start().is_some_and(|at| seconds_between(at, now) < STEADY)
        };
        seconds_between(since, now) >= STEADY || !dump.pods.iter().any(is_new)
    }
}

/// Seconds for a restarted container to recover. A program that does not wait for its dependencies often runs at its
/// second or third start.
const MAY_RECOVER: i64 = 60;

/// Tracks since when pods have failures that a restart may fix.
#[derive(Debug, Default)]
struct RestartGrace {
    since: Option<Timestamp>,
}

impl RestartGrace {
    /// Whether a failure will not recover by itself. `over` are pods whose containers are not restarted.
    fn is_over(&mut self, found: &Found, over: &BTreeSet<ObjectKey>, now: Timestamp) -> bool {
        if !found.fails() {
            self.since = None;
            return false;
        }
        let stays = |pod: &OfPod| pod.fails() && (over.contains(&pod.key) || !is_restarted(&pod.status.head.cause));
        // A failure of the workload that comes from its pods is evaluated by these pods.
        let of_itself = |of: &OfNodeOrWorkload| match &of.object {
            NodeOrWorkload::Workload(_, status) => status.causes.is_empty() && status.head.severity != Severity::Info,
            NodeOrWorkload::Node(..) => true,
        };
        let since = *self.since.get_or_insert(now);
        let has_lasted = seconds_between(since, now) >= MAY_RECOVER;
        has_lasted || found.pods.iter().any(stays) || found.nodes_and_workloads.iter().any(of_itself)
    }
}

fn is_restarted(cause: &str) -> bool {
    rules::find(cause).is_some_and(|rule| rule.recovery == Recovery::Restarting)
}

/// Removes pods that the rollout replaces, because their failures are irrelevant for it. Old pods that are still ready
/// stay, because they count for the severity.
fn only_newest(dump: &mut Dump, subjects: &[Subject], calm: i64, now: Timestamp) {
    for subject in subjects {
        let Some(mut facts) = workload(dump, subject).cloned() else { continue };
        dump.complete(&mut facts);
        let serves = |pod: &PodFacts| {
            let is_calm = pod.last_start().is_some_and(|at| seconds_between(at, now) > calm);
            pod.is_ready() && pod.deletion.is_none() && (!pod.has_restarted() || is_calm)
        };
        dump.pods.retain(|pod| {
            let is_of_it = top_workload(pod, None).is_some_and(|top| top == facts.key);
            !is_of_it || is_newest(pod, &facts) || serves(pod)
        });
    }
}

/// Whether a pod has the newest template of its workload. Also true if that is unknown.
fn is_newest(pod: &PodFacts, workload: &WorkloadFacts) -> bool {
    let revision = pod.labels.get("controller-revision-hash");
    match (&*workload.key.kind, &workload.own) {
        ("Deployment", _) => workload
            .replica_sets
            .first()
            .is_none_or(|newest| pod.owner.as_ref().is_none_or(|owner| owner.uid == newest.uid)),
        (_, OwnFacts::StatefulSet(set)) => revision.is_none_or(|hash| set.is_update(hash)),
        ("DaemonSet", _) => {
            revision.zip(workload.revisions.first()).is_none_or(|(hash, newest)| newest.is_called(hash))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use serde_json::{Value, json};
    use shindan_core::case::Thresholds;
    use shindan_core::facts::after;
    use tokio::time::Instant;

    use super::super::testing;
    use super::*;
    use crate::cluster::client::Clients;

    fn clients(pods: Value, refused: &'static [&'static str]) -> Clients {
        testing::clients(&[("pods", pods)], refused)
    }

    /// Runs a wait of 10 seconds. Returns its result, its duration in seconds and its output.
    async fn waited(clients: &Clients, subject: &str) -> (String, u64, Vec<String>) {
        waited_for(clients, subject, 10).await
    }

    async fn waited_for(clients: &Clients, subject: &str, timeout: i64) -> (String, u64, Vec<String>) {
        let question = Question {
            clients,
            namespace: Some("shop".to_owned()),
            asked: Asked::without_discovery(&[subject.to_owned()]).unwrap().unwrap(),
            gone: Vec::new(),
            thresholds: Thresholds::default(),
            limit: Duration::from_secs(5),
            here: false,
            ended: false,
            with_routes: false,
            custom: Vec::new(),
            with_live_counts: false,
            shows_progress: false,
        };
        let began = Instant::now();
        let morning: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let clock = || after(morning, i64::try_from(began.elapsed().as_secs()).unwrap());
        let reported = RefCell::new(Vec::new());
        let end = wait(&question, timeout, clock, |text| {
            reported.borrow_mut().push(text.to_owned());
            Ok(())
        });
        let end = end.await.map_or_else(|error| format!("{error:#}"), |waited| format!("{waited:?}"));
        (end, began.elapsed().as_secs(), reported.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_cannot_be_listed_ends_the_wait() {
        let clients = clients(json!([]), &["events", "deployments"]);
        let (end, seconds, reported) = waited(&clients, "deploy/web").await;
        let right = "403 Forbidden: deployments is forbidden: User \"jane\" cannot list resource \"deployments\"";
        assert_eq!(end, format!("cannot wait for Deployment web: not allowed to list deployments: {right}"));
        assert_eq!((seconds, reported.len()), (0, 0), "{reported:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn other_kinds_that_cannot_be_listed_are_reported_once() {
        let pod = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"containers": [{"name": "app", "image": "app:1"}]}, "status": {"phase": "Pending"}});
        let clients = clients(json!([pod]), &["deployments", "cronjobs"]);
        let (end, seconds, reported) = waited(&clients, "pod/web").await;
        assert_eq!((end.as_str(), seconds), ("not healthy after 10 s: Pod web: not ready (Pending)", 10));
        assert_eq!(
            reported,
            [
                "warning: not allowed to list deployments: causes of stuck rollouts are missing",
                "warning: not allowed to list cronjobs: diagnoses of CronJobs are missing",
                "Pod web: not ready (Pending)",
            ]
        );
    }

    /// A Deployment at the start of a rollout, with two old pods and the new one in the given state.
    fn rollout(old: &str, new: &str) -> Dump {
        let pod = |name: &str, set: &str, ready: bool, container: &str| {
            let owner = format!("{{apiVersion: apps/v1, kind: ReplicaSet, name: {set}, uid: {set}, controller: true}}");
            let hash = set.trim_start_matches("web-");
            format!(
                "---
kind: Pod
metadata: {{namespace: shop, name: {name}, uid: {name}, creationTimestamp: '2026-11-21T08:00:00Z', labels: {{pod-template-hash: '{hash}'}}, ownerReferences: [{owner}]}}
spec: {{nodeName: n1, containers: [{{name: app, image: 'app:1'}}]}}
status: {{phase: Running, conditions: [{{type: Ready, status: '{}'}}], containerStatuses: [{{name: app, {container}}}]}}
",
                if ready { "True" } else { "False" }
            )
        };
        let set = |name: &str, revision: u32, ready: u32| {
            let owner = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}";
            format!(
                "---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {{namespace: shop, name: {name}, uid: {name}, annotations: {{deployment.kubernetes.io/revision: '{revision}'}}, ownerReferences: [{owner}]}}
spec: {{replicas: {ready}}}
status: {{replicas: {ready}, readyReplicas: {ready}}}
"
            )
        };
        let running = "ready: true, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:00:00Z'}}";
        let mut dump = Dump::default();
        dump.read(&format!(
            "kind: Deployment
apiVersion: apps/v1
metadata: {{namespace: shop, name: web, uid: d, generation: 2}}
spec: {{replicas: 2}}
status: {{observedGeneration: 2, replicas: 3, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 1}}
{}{}{}{}{}",
            set("web-1", 1, 2),
            set("web-2", 2, 1),
            pod("web-1-a", "web-1", true, running),
            pod("web-1-b", "web-1", true, old),
            pod("web-2-a", "web-2", false, new),
        ));
        assert_eq!(dump.problems, []);
        dump
    }

    #[test]
    fn replaced_pods_count_while_they_are_ready() {
        let failing = "restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}";
        let left = |old: &str| {
            let mut dump = rollout(old, failing);
            let web = Asked::without_discovery(&["deploy/web".to_owned()]).unwrap().unwrap();
            only_newest(&mut dump, web.subjects(), 600, "2026-11-21T09:00:00Z".parse().unwrap());
            dump.pods.iter().map(|pod| pod.key.name.to_string()).collect::<Vec<_>>()
        };
        let ran = |since: &str| {
            format!("ready: true, restartCount: 1, state: {{running: {{startedAt: '2026-11-21T{since}Z'}}}}")
        };
        assert_eq!(left(&ran("08:30:00")), ["web-1-a", "web-1-b", "web-2-a"]);
        assert_eq!(left(&ran("08:59:00")), ["web-1-a", "web-2-a"], "its later recovery does not matter here");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_path_is_not_healthy() {
        let ingress = json!([{"metadata": {"namespace": "shop", "name": "shop", "uid": "i",
                "creationTimestamp": "2026-11-21T08:59:55Z"},
            "spec": {"ingressClassName": "nginx", "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}]);
        let class = json!([{"metadata": {"name": "nginx", "creationTimestamp": "2026-11-01T08:00:00Z"}}]);
        let clients = testing::clients(&[("ingresses", ingress), ("ingressclasses", class)], &[]);
        let (end, seconds, reported) = waited_for(&clients, "ing/shop", 60).await;
        assert!(end.starts_with("Fails") && end.contains("IngressBackendMissing"), "{end}");
        assert!((14..20).contains(&seconds), "its threshold is 20 s: {seconds}");
        let [seen] = <[String; 1]>::try_from(reported).unwrap();
        assert!(seen.starts_with("Ingress shop: not healthy. Seen so far: "), "{seen}");

        let (end, ..) = waited_for(&testing::clients(&[], &[]), "ing/shop", 60).await;
        assert_eq!(end, "Healthy", "no path is broken");
    }

    /// A pod that terminated at `end`, after some restarts.
    fn crashed(restarts: u32, end: &str) -> Value {
        json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "app", "restartCount": restarts, "state": {"terminated":
                    {"exitCode": 1, "reason": "Error", "startedAt": "2026-11-21T08:59:00Z", "finishedAt": end}}}]}}])
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_pod_is_healthy_after_ten_seconds() {
        let runs = |since: &str| {
            let pod = json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
                "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0,
                        "state": {"running": {"startedAt": since}}}]}}]);
            clients(pod, &[])
        };
        let (end, seconds, reported) = waited(&runs("2026-11-21T08:59:59Z"), "pod/web").await;
        assert_eq!(
            (end.as_str(), seconds, reported.as_slice()),
            ("Healthy", 10, &["ready; waiting until it has been ready for 10 s".to_owned()][..])
        );
        let (end, seconds, _) = waited(&runs("2026-11-21T08:59:00Z"), "pod/web").await;
        assert_eq!((end.as_str(), seconds), ("Healthy", 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_a_restart_may_fix_has_one_minute() {
        let clients = clients(crashed(0, "2026-11-21T08:59:59Z"), &[]);
        let (end, seconds, reported) = waited_for(&clients, "pod/web", 600).await;
        assert!(end.starts_with("Fails") && end.contains("AppError"), "{end}");
        assert_eq!(seconds, 60);
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert_eq!(reported[0], "Pod web: not ready (Error); AppError of app: a restart may help");
        let (end, seconds, _) = waited_for(&clients, "pod/web", 10).await;
        assert!(end.starts_with("Fails"), "its cause is known: {end}");
        assert_eq!(seconds, 10);
    }
}
