//! `--wait`: until what was rolled out is well, or is known to fail. For pipelines.
//!
//! It is diagnosed here and now, and of the newest template only: what the operator has written tells of the pods that are
//! replaced as well.

use std::collections::BTreeSet;

use anyhow::{Context, bail};

use super::LOOK_AGAIN;
use super::gather::{Question, unseen};
use super::standing::{still_to_come, workload};
use super::subject::{Asked, Kind, Subject};
use crate::api::Severity;
use crate::cli::found::{Found, OfOuter, OfPod};
use crate::cluster::snapshot::Lacking;
use crate::cluster::wire::Dump;
use crate::diagnosis::{Recovery, rules, top_workload};
use crate::facts::{ObjectKey, OwnFacts, PodFacts, Timestamp, WorkloadFacts, seconds_between};
use crate::plan::Outer;

/// How a wait ended.
#[derive(Debug)]
pub(super) enum Waited {
    Well,
    Fails(Found),
}

pub(super) async fn wait(
    question: &Question<'_>,
    timeout: i64,
    clock: impl Fn() -> Timestamp,
    mut tell: impl FnMut(&str) -> std::io::Result<()>,
) -> anyhow::Result<Waited> {
    let Asked::These(subjects) = &question.asked else { bail!("--wait needs to be told for what: KIND/NAME") };
    let began = clock();
    let (mut said, mut noted) = (String::new(), BTreeSet::new());
    let (mut patience, mut steady) = (Patience::default(), Steady::default());
    loop {
        let now = clock();
        let mut snapshot = question.snapshot().await?;
        let notes = notes_of(std::mem::take(&mut snapshot.lacking), subjects)?;
        for note in notes.into_iter().filter(|note| noted.insert(note.clone())) {
            tell(&format!("warning: {note}"))?;
        }
        let namespace = question.namespace.as_deref();
        let missing = |subject: &Subject| {
            let text = still_to_come(&snapshot.dump, subject, namespace, question.thresholds.language)?;
            Some(format!("{subject}: {text}"))
        };
        let missing = subjects.iter().find_map(missing);
        if missing.is_none() && steady.holds(&snapshot.dump, subjects, namespace, now) {
            return Ok(Waited::Well);
        }
        if missing.is_some() {
            steady = Steady::default();
        }
        let text = missing.unwrap_or_else(|| format!("ready, if it stays so for {STEADY} s"));
        only_newest(&mut snapshot.dump, subjects, question.thresholds.recovered_restarting, now);
        let over = snapshot.dump.pods.iter().filter(|pod| pod.is_over()).map(|pod| pod.key.clone()).collect();
        // Where Kubernetes itself waits no more, nothing is waited for.
        let given_up = |subject: &Subject| workload(&snapshot.dump, subject).is_some_and(WorkloadFacts::has_given_up);
        let given_up = subjects.iter().any(given_up);
        let found = question.judge(snapshot, now).found;
        if given_up && found.fails() || patience.is_over(&found, &over, now) {
            return Ok(Waited::Fails(found));
        }
        let text = match found.pods.iter().find(|pod| pod.fails()) {
            Some(pod) => {
                let of = pod.status.container.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
                format!("{text}; {}{of}: perhaps a restart helps", pod.status.cause)
            }
            None => text,
        };
        if seconds_between(began, now) >= timeout {
            if found.fails() {
                return Ok(Waited::Fails(found));
            }
            bail!("not well after {timeout} s: {text}");
        }
        if said != text {
            tell(&text)?;
            said = text;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What could not be listed, and what that means. It is an error where that is what is waited for: it would never be seen
/// to be well.
fn notes_of(lacking: Vec<Lacking>, subjects: &[Subject]) -> anyhow::Result<Vec<String>> {
    let notes = lacking.iter().map(ToString::to_string).collect();
    match unseen(lacking, subjects) {
        Some((subject, Lacking { what, refusal, .. })) => {
            Err(refusal).context(format!("cannot wait for {subject}: not allowed to list {what}"))
        }
        None => Ok(notes),
    }
}

/// What has no readiness probe is ready as soon as it runs: a pod that was started just now has to run for so many seconds.
const STEADY: i64 = 10;

/// Since when everything is ready.
#[derive(Debug, Default)]
struct Steady {
    since: Option<Timestamp>,
}

impl Steady {
    /// Whether it may be called well. What runs for long already is, at the first look.
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

/// How long a container that ended may be started again before that counts, in seconds: a program that does not wait for
/// what it needs runs at its second or third start.
const MAY_RECOVER: i64 = 60;

/// Since when pods fail of what their next restart may get over.
#[derive(Debug, Default)]
struct Patience {
    since: Option<Timestamp>,
}

impl Patience {
    /// Whether what is found is not to pass by itself any more. `over`: pods in which nothing is started again.
    fn is_over(&mut self, found: &Found, over: &BTreeSet<ObjectKey>, now: Timestamp) -> bool {
        if !found.fails() {
            self.since = None;
            return false;
        }
        let stays = |pod: &OfPod| pod.fails() && (over.contains(&pod.key) || !is_restarted(&pod.status.cause));
        // What a workload fails of is judged by its pods where it is theirs.
        let of_itself = |of: &OfOuter| match &of.object {
            Outer::Workload(_, status) => status.causes.is_empty() && status.head.severity != Severity::Info,
            Outer::Node(..) => true,
        };
        let since = *self.since.get_or_insert(now);
        let has_lasted = seconds_between(since, now) >= MAY_RECOVER;
        has_lasted || found.pods.iter().any(stays) || found.outers.iter().any(of_itself)
    }
}

fn is_restarted(cause: &str) -> bool {
    rules::find(cause).is_some_and(|rule| rule.recovery == Recovery::Restarting)
}

/// Leaves out the pods that a rollout replaces: whether they were well is no question of this one. Those that serve meanwhile
/// stay: they tell how bad it is.
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

/// Whether a pod is of its workload's newest template, or that cannot be told.
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
    use tokio::time::Instant;

    use super::super::testing;
    use super::*;
    use crate::cluster::client::Clients;
    use crate::diagnosis::Thresholds;
    use crate::facts::after;

    fn clients(pods: Value, refused: &'static [&'static str]) -> Clients {
        testing::clients(&[("pods", pods)], refused)
    }

    /// How a wait of ten seconds ends, after how many, and what is told meanwhile.
    async fn waited(clients: &Clients, subject: &str) -> (String, u64, Vec<String>) {
        waited_for(clients, subject, 10).await
    }

    async fn waited_for(clients: &Clients, subject: &str, timeout: i64) -> (String, u64, Vec<String>) {
        let question = Question {
            clients,
            namespace: Some("shop".to_owned()),
            asked: Asked::These(Subject::parse_all(&[subject.to_owned()]).unwrap()),
            gone: Vec::new(),
            thresholds: Thresholds::default(),
            limit: Duration::from_secs(5),
            here: false,
            ended: false,
            shows_progress: false,
        };
        let began = Instant::now();
        let morning: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let clock = || after(morning, i64::try_from(began.elapsed().as_secs()).unwrap());
        let told = RefCell::new(Vec::new());
        let end = wait(&question, timeout, clock, |text| {
            told.borrow_mut().push(text.to_owned());
            Ok(())
        });
        let end = end.await.map_or_else(|error| format!("{error:#}"), |waited| format!("{waited:?}"));
        (end, began.elapsed().as_secs(), told.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_not_be_listed_is_not_waited_for() {
        let clients = clients(json!([]), &["events", "deployments"]);
        let (end, seconds, told) = waited(&clients, "deploy/web").await;
        let right = "403 Forbidden: deployments is forbidden: User \"jane\" cannot list resource \"deployments\"";
        assert_eq!(end, format!("cannot wait for Deployment web: not allowed to list deployments: {right}"));
        assert_eq!((seconds, told.len()), (0, 0), "{told:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_else_may_not_be_listed_is_told_once() {
        let pod = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"containers": [{"name": "app", "image": "app:1"}]}, "status": {"phase": "Pending"}});
        let clients = clients(json!([pod]), &["deployments", "cronjobs"]);
        let (end, seconds, told) = waited(&clients, "pod/web").await;
        assert_eq!((end.as_str(), seconds), ("not well after 10 s: Pod web: not ready (Pending)", 10));
        assert_eq!(
            told,
            [
                "warning: not allowed to list deployments: what stops a rollout is not told",
                "warning: not allowed to list cronjobs: CronJobs are not told",
                "Pod web: not ready (Pending)",
            ]
        );
    }

    /// A Deployment whose rollout has replaced nothing yet, its two old pods, and the new one in this state.
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
        let well = "ready: true, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:00:00Z'}}";
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
            pod("web-1-a", "web-1", true, well),
            pod("web-1-b", "web-1", true, old),
            pod("web-2-a", "web-2", false, new),
        ));
        assert_eq!(dump.problems, []);
        dump
    }

    #[test]
    fn pods_that_a_rollout_replaces_count_as_long_as_they_serve() {
        let failing = "restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}";
        let left = |old: &str| {
            let mut dump = rollout(old, failing);
            let subjects = Subject::parse_all(&["deploy/web".to_owned()]).unwrap();
            only_newest(&mut dump, &subjects, 600, "2026-11-21T09:00:00Z".parse().unwrap());
            dump.pods.iter().map(|pod| pod.key.name.to_string()).collect::<Vec<_>>()
        };
        let ran = |since: &str| {
            format!("ready: true, restartCount: 1, state: {{running: {{startedAt: '2026-11-21T{since}Z'}}}}")
        };
        assert_eq!(left(&ran("08:30:00")), ["web-1-a", "web-1-b", "web-2-a"]);
        assert_eq!(left(&ran("08:59:00")), ["web-1-a", "web-2-a"], "whether it is well again is no question here");
    }

    /// A pod that has ended then, after so many restarts.
    fn crashed(restarts: u32, end: &str) -> Value {
        json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "app", "restartCount": restarts, "state": {"terminated":
                    {"exitCode": 1, "reason": "Error", "startedAt": "2026-11-21T08:59:00Z", "finishedAt": end}}}]}}])
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_started_just_now_is_well_when_it_has_run_for_a_moment() {
        let runs = |since: &str| {
            let pod = json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
                "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0,
                        "state": {"running": {"startedAt": since}}}]}}]);
            clients(pod, &[])
        };
        let (end, seconds, told) = waited(&runs("2026-11-21T08:59:59Z"), "pod/web").await;
        assert_eq!(
            (end.as_str(), seconds, told.as_slice()),
            ("Well", 10, &["ready, if it stays so for 10 s".to_owned()][..])
        );
        let (end, seconds, _) = waited(&runs("2026-11-21T08:59:00Z"), "pod/web").await;
        assert_eq!((end.as_str(), seconds), ("Well", 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_restart_may_get_over_has_a_minute_and_no_longer() {
        let clients = clients(crashed(0, "2026-11-21T08:59:59Z"), &[]);
        let (end, seconds, told) = waited_for(&clients, "pod/web", 600).await;
        assert!(end.starts_with("Fails") && end.contains("AppError"), "{end}");
        assert_eq!(seconds, 60);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0], "Pod web: not ready (Error); AppError of app: perhaps a restart helps");
        let (end, seconds, _) = waited_for(&clients, "pod/web", 10).await;
        assert!(end.starts_with("Fails"), "its cause is known: {end}");
        assert_eq!(seconds, 10);
    }
}
