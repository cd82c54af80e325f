//! `--wait`: until what was rolled out is well, or is known to fail. For pipelines.
//!
//! It is diagnosed here and now, and of the newest template only: what the operator has written tells of the pods that are
//! replaced as well.

use std::collections::BTreeSet;

use anyhow::{Context, bail};

use super::LOOK_AGAIN;
use super::gather::{Question, unseen};
use super::subject::{Asked, Kind, Subject};
use crate::cli::found::Found;
use crate::cluster::snapshot::Lacking;
use crate::cluster::wire::Dump;
use crate::diagnosis::top_workload;
use crate::facts::{ObjectKey, OwnFacts, Phase, PodFacts, Timestamp, WorkloadFacts, WorkloadKind, seconds_between};

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
    loop {
        let now = clock();
        let mut snapshot = question.snapshot().await?;
        let notes = notes_of(std::mem::take(&mut snapshot.lacking), subjects)?;
        for note in notes.into_iter().filter(|note| noted.insert(note.clone())) {
            tell(&format!("warning: {note}"))?;
        }
        let namespace = question.namespace.as_deref();
        let missing = |subject| still_to_come(&snapshot.dump, subject, namespace);
        let Some(text) = subjects.iter().find_map(missing) else { return Ok(Waited::Well) };
        only_newest(&mut snapshot.dump, subjects);
        let found = question.judge(snapshot, now);
        if found.fails() {
            return Ok(Waited::Fails(found));
        }
        if seconds_between(began, now) >= timeout {
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

/// What is missing until this is well. Pods of other namespaces are in the dump as well, for what they take of the nodes.
fn still_to_come(dump: &Dump, subject: &Subject, namespace: Option<&str>) -> Option<String> {
    let missing = || Some(format!("there is no {subject}"));
    let is_here = |key: &ObjectKey| namespace.is_none_or(|namespace| *key.namespace == *namespace);
    match subject.kind {
        Kind::Pod => match dump.pods.iter().find(|pod| *pod.key.name == *subject.name && is_here(&pod.key)) {
            None => missing(),
            Some(pod) if pod.is_ready() || pod.phase == Phase::Succeeded => None,
            Some(_) => Some(format!("{subject} is not ready")),
        },
        Kind::Node => match dump.nodes.iter().find(|node| *node.name == *subject.name) {
            None => missing(),
            Some(node) if node.is_ready() => None,
            Some(_) => Some(format!("{subject} is not ready")),
        },
        Kind::Workload(_) => match workload(dump, subject) {
            None => missing(),
            Some(workload) if workload.is_stale() => Some(format!("{subject}: its controller has not seen it yet")),
            Some(workload) if workload.is_settled() || has_run_well(workload) => None,
            Some(workload) => Some(progress(subject, workload)),
        },
    }
}

/// Whether a CronJob's newest run has succeeded, and none is under way.
fn has_run_well(workload: &WorkloadFacts) -> bool {
    let OwnFacts::CronJob(own) = &workload.own else { return false };
    workload.current == 0 && workload.last_successful.is_some_and(|done| own.last_schedule.is_none_or(|at| at <= done))
}

fn progress(subject: &Subject, workload: &WorkloadFacts) -> String {
    match subject.kind {
        Kind::Workload(WorkloadKind::Job) => {
            format!("{subject}: {} of {} have succeeded", workload.succeeded, workload.desired)
        }
        Kind::Workload(WorkloadKind::CronJob) => format!("{subject} has not run to its end yet"),
        _ => format!(
            "{subject}: {} of {} ready, {} of the newest template",
            workload.ready, workload.desired, workload.updated
        ),
    }
}

fn workload<'d>(dump: &'d Dump, subject: &Subject) -> Option<&'d WorkloadFacts> {
    dump.workloads.iter().find(|facts| *facts.key.kind == *subject.kind.as_str() && *facts.key.name == *subject.name)
}

/// Leaves out the pods that a rollout replaces: whether they were well is no question of this one.
fn only_newest(dump: &mut Dump, subjects: &[Subject]) {
    for subject in subjects {
        let Some(mut facts) = workload(dump, subject).cloned() else { continue };
        dump.complete(&mut facts);
        dump.pods.retain(|pod| {
            let is_of_it = top_workload(pod, None).is_some_and(|top| top == facts.key);
            !is_of_it || is_newest(pod, &facts)
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
    use std::convert::Infallible;
    use std::time::Duration;

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::cluster::client::Clients;
    use crate::diagnosis::Thresholds;
    use crate::facts::after;

    /// An API server that has these pods in each list of pods and nothing else, and does not let these resources be listed.
    fn clients(pods: Value, refused: &'static [&'static str]) -> Clients {
        let service = tower::service_fn(move |request: Request<Body>| {
            let plural = request.uri().path().rsplit('/').next().unwrap().to_owned();
            let items = if plural == "pods" { pods.clone() } else { json!([]) };
            let (code, answer) = if refused.contains(&plural.as_str()) {
                let message = format!("{plural} is forbidden: User \"jane\" cannot list resource \"{plural}\"");
                (403, json!({"status": "Failure", "reason": "Forbidden", "code": 403, "message": message}))
            } else {
                (200, json!({"items": items}))
            };
            let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
            std::future::ready(Ok::<_, Infallible>(response.unwrap()))
        });
        let client = Client::new(service, "shop");
        Clients { watch: client.clone(), write: client, server: "here".to_owned(), namespace: "shop".to_owned() }
    }

    /// How a wait of ten seconds ends, after how many, and what is told meanwhile.
    async fn waited(clients: &Clients, subject: &str) -> (String, u64, Vec<String>) {
        let question = Question {
            clients,
            namespace: Some("shop".to_owned()),
            asked: Asked::These(Subject::parse_all(&[subject.to_owned()]).unwrap()),
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
        let end = wait(&question, 10, clock, |text| {
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
        assert_eq!((end.as_str(), seconds), ("not well after 10 s: Pod web is not ready", 10));
        assert_eq!(
            told,
            [
                "warning: not allowed to list deployments: what stops a rollout is not told",
                "warning: not allowed to list cronjobs: CronJobs are not told",
                "Pod web is not ready",
            ]
        );
    }

    #[test]
    fn a_cron_job_is_well_once_its_newest_run_has_succeeded() {
        let nightly = Subject { kind: Kind::Workload(WorkloadKind::CronJob), name: "nightly".to_owned() };
        let is_well = |status: &str| {
            let mut dump = Dump::default();
            dump.read(&format!(
                "{{kind: CronJob, apiVersion: batch/v1, metadata: {{namespace: shop, name: nightly, uid: c}}, \
                 spec: {{schedule: '0 1 * * *'}}, status: {{{status}}}}}"
            ));
            still_to_come(&dump, &nightly, Some("shop")).is_none()
        };
        let at = |field: &str, hour: u8| format!("{field}: '2026-11-21T{hour:02}:00:00Z', ");
        assert!(!is_well(""), "it has never run");
        assert!(is_well(&(at("lastScheduleTime", 1) + &at("lastSuccessfulTime", 2))));
        assert!(!is_well(&(at("lastScheduleTime", 3) + &at("lastSuccessfulTime", 2))), "of an earlier run");
        let active = "active: [{kind: Job, name: nightly-1}]";
        assert!(!is_well(&(at("lastScheduleTime", 1) + &at("lastSuccessfulTime", 2) + active)));
    }

    #[test]
    fn a_pod_of_another_namespace_is_not_the_one_that_is_waited_for() {
        let pod = |namespace: &str, ready: &str| {
            format!(
                "kind: Pod
metadata: {{namespace: {namespace}, name: web, uid: {namespace}}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
status: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}]}}
"
            )
        };
        let web = Subject { kind: Kind::Pod, name: "web".to_owned() };
        let missing = |pods: &[String]| {
            let mut dump = Dump::default();
            dump.read(&pods.join("---\n"));
            still_to_come(&dump, &web, Some("shop"))
        };
        assert_eq!(missing(&[pod("shop", "True")]), None);
        assert_eq!(missing(&[pod("other", "False"), pod("shop", "True")]), None);
        let both = [pod("other", "True"), pod("shop", "False")];
        assert_eq!(missing(&both).as_deref(), Some("Pod web is not ready"));
        assert_eq!(missing(&both[..1]).as_deref(), Some("there is no Pod web"), "it was deleted meanwhile");
    }
}
