//! Tests of workload diagnoses from dumps: the rules diagnose the pods, and the workloads are judged by the result.

#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{judge, unmatched_services};
use crate::api::{Confidence, Severity};
use crate::case::{
    Category, FailingPod, Health, Operation, Remedy, Thresholds, WorkloadCase, WorkloadFailure,
    immediate_workload as immediate, remedy,
};
use crate::facts::{EventFacts, Labels, Names, PodFacts, ServiceFacts, Timestamp, WorkloadFacts, after};
use crate::rules::diagnose;
use crate::testing::Scenario;
use crate::wire;
use crate::wire::Dump;

/// The workloads of a dump with their pods and surroundings, at its newest time or another.
struct World {
    workloads: Vec<WorkloadFacts>,
    pods: Vec<PodFacts>,
    failing: Vec<(Arc<str>, Arc<str>, FailingPod)>,
    failed: Vec<String>,
    events: Vec<EventFacts>,
    services: BTreeMap<Arc<str>, Vec<ServiceFacts>>,
    repeatedly_removed: bool,
    now: Timestamp,
    thresholds: Thresholds,
}

impl World {
    fn of(text: &str) -> Self {
        let mut dump = Dump::default();
        dump.read(text);
        assert_eq!(dump.problems, [], "the text cannot be read");
        let clock = |name| text.lines().find_map(|line| line.strip_prefix(name));
        let now = match clock("# judged-at: ").or_else(|| clock("# recorded-at: ")) {
            Some(at) => at.parse().unwrap(),
            None => dump.newest.unwrap_or(Timestamp::UNIX_EPOCH),
        };
        let mut workloads = std::mem::take(&mut dump.workloads);
        workloads.iter_mut().for_each(|facts| dump.complete(facts));
        dump.events.sort_by_key(|event| event.last);
        let namespaces: BTreeSet<Arc<str>> = workloads.iter().map(|w| w.key.namespace.clone()).collect();
        let services = namespaces.into_iter().map(|namespace| {
            let all = wire::services_of(&namespace, &dump.services, &dump.slices, &dump.endpoints);
            (namespace, all)
        });
        let services = services.collect();
        let failing = if dump.pods.is_empty() { Vec::new() } else { failing(text, now) };
        let thresholds = Thresholds::default();
        Self {
            workloads,
            pods: dump.pods,
            failing,
            failed: Vec::new(),
            events: dump.events,
            services,
            repeatedly_removed: false,
            now,
            thresholds,
        }
    }

    /// Failures of the top-level workloads, including those that are to be checked again soon.
    fn judged(&self) -> Vec<WorkloadFailure> {
        let tops = self.workloads.iter().filter(|w| w.owner.is_none());
        tops.filter_map(|top| {
            let judged = self.judge(top, self.now);
            let later = || self.judge(top, judged.wake?).failure;
            judged.failure.or_else(later).map(|failure| *failure)
        })
        .collect()
    }

    fn judge(&self, workload: &WorkloadFacts, now: Timestamp) -> crate::case::WorkloadJudged {
        let kind = &*workload.key.kind;
        let own =
            |w: &&WorkloadFacts| w.owner.as_ref().is_some_and(|o| o.name == workload.key.name && &*o.kind == kind);
        let below: Vec<&WorkloadFacts> = self.workloads.iter().filter(own).collect();
        let is_own = |kind: &str, name: &str| {
            (kind, name) == (&*workload.key.kind, &*workload.key.name)
                || below.iter().any(|w| (&*w.key.kind, &*w.key.name) == (kind, name))
        };
        let failing: Vec<FailingPod> =
            self.failing.iter().filter(|(kind, name, _)| is_own(kind, name)).map(|(_, _, pod)| pod.clone()).collect();
        let mut ready: Vec<(Arc<str>, u32)> = Vec::new();
        for pod in self.pods.iter().filter(|pod| !pod.is_over()) {
            let Some(maker) = immediate(pod).filter(|maker| is_own(&maker.kind, &maker.name)) else { continue };
            let at = ready.iter().position(|(name, _)| *name == maker.name).unwrap_or_else(|| {
                ready.push((maker.name.clone(), 0));
                ready.len() - 1
            });
            ready[at].1 += u32::from(pod.is_ready());
        }
        let events: Vec<EventFacts> =
            self.events.iter().filter(|e| is_own(&e.regarding.kind, &e.regarding.name)).cloned().collect();
        let jobs: Vec<WorkloadFacts> =
            below.into_iter().filter(|w| &*w.key.kind == "Job" && !w.is_settled()).cloned().collect();
        let labels = workload.template.as_ref().map(|template| template.labels.clone()).unwrap_or_default();
        let around = self.services.get(&workload.key.namespace).map(Vec::as_slice).unwrap_or_default();
        let pods = self.pods.iter().filter(|pod| pod.key.namespace == workload.key.namespace).map(|pod| &pod.labels);
        let labelled: Vec<_> = self.workloads.iter().filter_map(WorkloadFacts::labelled).collect();
        let mut orphans = unmatched_services(around, &pods, &labelled, now);
        orphans.retain(|unmatched| unmatched.workload == workload.key);
        let services: Vec<ServiceFacts> = around.iter().filter(|service| service.selects(&labels)).cloned().collect();
        judge(&WorkloadCase {
            workload,
            failing: &failing,
            failed: &self.failed,
            undecided: None,
            gates: &[],
            repeatedly_removed: self.repeatedly_removed,
            gone: &[],
            ready: (!ready.is_empty()).then_some(&ready),
            jobs: &jobs,
            owned: &[],
            orphans: &orphans,
            events: &events,
            services: Some(&services),
            names: &Names::default(),
            thresholds: &self.thresholds,
            since: workload.created.unwrap_or(now),
            fields_since: None,
            seen: workload.created.unwrap_or(now),
            current: None,
            now,
        })
    }

    /// The failure of the only failing workload.
    fn failure(&self) -> WorkloadFailure {
        let mut failing = self.judged();
        assert_eq!(failing.len(), 1, "{failing:#?}");
        failing.remove(0)
    }

    fn is_healthy(&self) -> bool {
        self.judged().is_empty()
    }
}

fn failing(text: &str, now: Timestamp) -> Vec<(Arc<str>, Arc<str>, FailingPod)> {
    let mut scenario = Scenario::from_yaml(text);
    scenario.now = now;
    let mut out = Vec::new();
    for pod in &scenario.pods {
        let Some(maker) = immediate(pod) else { continue };
        let Health::Failing(found) = diagnose(&scenario.case_of(&pod.key.name)).health else { continue };
        let revision = pod.labels.get("controller-revision-hash").map(Arc::from);
        let template = if &*maker.kind == "ReplicaSet" { Some(maker.name.clone()) } else { revision };
        let failing = FailingPod { template, since: pod.created, ..FailingPod::of(pod, *found) };
        out.push((maker.kind.clone(), maker.name.clone(), failing));
    }
    out
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/causes")
}

fn recorded(case: &str) -> World {
    World::of(&fs::read_to_string(folder().join(case)).unwrap())
}

/// A failing pod with this cause.
fn pod(name: &str, template: Option<&str>, cause: &str, category: Category) -> FailingPod {
    FailingPod {
        name: name.into(),
        uid: name.into(),
        template: template.map(Into::into),
        node: Some(format!("node-of-{name}").into()),
        cause: cause.to_owned(),
        category,
        container: Some("web".to_owned()),
        container_type: None,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        summary: format!("web fails because of {cause}"),
        remedies: Vec::new(),
        root: None,
        since: None,
        ready: false,
        over: false,
        restarts: 0,
    }
}

impl World {
    /// Adds failing pods of one workload. Each stands for a diagnosis.
    fn with(mut self, kind: &str, owner: &str, pods: Vec<FailingPod>) -> Self {
        self.failing.extend(pods.into_iter().map(|pod| (Arc::from(kind), Arc::from(owner), pod)));
        self
    }
}

/// For each cause that only workloads have: examples that must be recognized, and similar ones that must not.
fn is_rollback(remedy: &Remedy) -> bool {
    remedy.operation == Operation::Rollback
}

#[test]
fn recorded_workloads_have_the_causes_of_their_folders() {
    let mut wrong = String::new();
    for known in super::known().filter(|known| !super::known::is_of_object(known.cause)) {
        let mut entries: Vec<_> =
            fs::read_dir(folder().join(known.cause)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in &entries {
            let world = World::of(&fs::read_to_string(path).unwrap());
            // Custom resources have tests of their own.
            if world.workloads.is_empty() {
                continue;
            }
            let judged = world.judged();
            let hit = judged.iter().find(|failure| failure.cause == known.cause);
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if hit.is_some() == name.starts_with("not-") {
                let found: Vec<_> = judged.iter().map(|f| (&f.cause, &f.summary)).collect();
                writeln!(wrong, "{}/{name}: {found:?}", known.cause).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn healthy_workloads_do_not_fail() {
    let healthy = folder().join("../healthy");
    for entry in fs::read_dir(healthy).unwrap() {
        let path = entry.unwrap().path();
        let world = World::of(&fs::read_to_string(&path).unwrap());
        assert_eq!(world.judged(), [], "{}", path.display());
    }
}

#[test]
fn quota_that_blocks_all_pods_is_named_with_the_short_resource() {
    let failure = recorded("QuotaExceeded/no-pod.yaml").failure();
    assert_eq!((failure.problem, failure.severity), ("NoPods", Severity::Critical));
    assert_eq!(
        failure.summary,
        "no pod exists: ResourceQuota team is exceeded: requested requests.memory=2Gi, used requests.memory=0, limited to requests.memory=1Gi"
    );
    assert_eq!(failure.root.unwrap().to_string(), "ResourceQuota team");
    let first = failure.remedies[0].command.as_ref().unwrap();
    // One pod is larger than the quota, and two are desired.
    let raised = r#"patch resourcequota team --type=merge -p '{"spec":{"hard":{"requests.memory":"4Gi"}}}'"#;
    assert!(first.ends_with(raised), "{first}");
    let one = recorded("QuotaExceeded/one-of-two.yaml").failure();
    assert_eq!((one.problem, one.severity, one.pods.display.as_str()), ("PartlyFailing", Severity::Warning, "1/2"));
}

#[test]
fn transient_rejection_waits_for_the_threshold() {
    let world = recorded("ServiceAccountNotFound/statefulset.yaml");
    assert_eq!(world.failure().cause, "ServiceAccountNotFound");
    let set = &world.workloads[0];
    let early = after(set.created.unwrap(), 3);
    let judged = world.judge(set, early);
    assert!(judged.failure.is_none() && judged.wake.is_some_and(|wake| wake > early));
}

#[test]
fn rollout_that_waits_for_a_cordoned_node_does_not_blame_the_template() {
    let mut world = recorded("ImageTagNotFound/rollout-stuck.yaml");
    for (.., pod) in &mut world.failing {
        "NodesUnschedulable".clone_into(&mut pod.cause);
        pod.category = Category::Scheduling;
        pod.remedies = vec![crate::case::remedy::fix("Open the node.".to_owned())];
    }
    let remedies = world.failure().remedies;
    assert_eq!(remedies[0].text, "Open the node.");
    assert!(remedies.last().unwrap().command.as_ref().unwrap().contains(" rollout undo "), "{remedies:?}");
}

#[test]
fn stuck_rollout_names_serving_pods_and_the_rollback() {
    let failure = recorded("ImageTagNotFound/rollout-stuck.yaml").failure();
    assert_eq!((failure.cause.as_str(), failure.problem), ("ImageTagNotFound", "RolloutStuck"));
    assert_eq!(failure.severity, Severity::Warning);
    assert!(
        failure.summary.starts_with("the rollout is stuck, 2 old pods still serve: image 127.0.0.1:5000/nginx:nope")
    );
    let serving = failure.serving.unwrap();
    assert_eq!((serving.updated_ready, serving.old_ready, serving.services[0].ready_endpoints), (0, 2, 2));
    let [change] = failure.template_changes.as_slice() else { panic!("{:?}", failure.template_changes) };
    assert_eq!(change.field, "containers[nginx].image");
    assert_eq!(change.before.as_deref(), Some("127.0.0.1:5000/nginx:1.27"));
    let undo = failure.remedies[0].command.as_deref().unwrap();
    assert!(undo.ends_with(" rollout undo deployment/web --to-revision=1"), "{undo}");
    let same = failure.remedies.iter().filter(|r| r.command.as_deref() == Some(undo)).count();
    assert_eq!(same, 1);
    assert_eq!(failure.causes[0].sample_pods.len(), 1);
}

#[test]
fn recorded_failing_pods_make_their_workloads_fail() {
    for (case, cause, problem) in [
        ("AppError/daemonset.yaml", "AppError", "FailingOnNodes"),
        ("AppError/statefulset.yaml", "AppError", "BlockedOnOrdinal"),
        ("ConfigMapNotFound/daemonset.yaml", "ConfigMapNotFound", "FailingOnNodes"),
        ("PodFailedNoRestart/job-failed.yaml", "PodFailedNoRestart", "JobFailed"),
        ("PodFailedNoRestart/cronjob.yaml", "PodFailedNoRestart", "JobFailed"),
        ("ImageTagNotFound/cronjob.yaml", "ImageTagNotFound", "Blocked"),
    ] {
        let failure = recorded(case).failure();
        assert_eq!((failure.cause.as_str(), failure.problem), (cause, problem), "{case}: {}", failure.summary);
    }
    assert!(recorded("PodFailedNoRestart/job-retries-left.yaml").is_healthy());
}

const WEB: &str = r#"
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: shop, uid: d, generation: 2, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2"}]}}}
status: {observedGeneration: 2, replicas: 3, readyReplicas: READY, updatedReplicas: 3, unavailableReplicas: 1}
---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: web-2, namespace: shop, uid: r2, annotations: {deployment.kubernetes.io/revision: "2"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}
spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "web:2"}]}}}
status: {readyReplicas: READY}
---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: web-1, namespace: shop, uid: r1, annotations: {deployment.kubernetes.io/revision: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}
spec: {replicas: 0, template: {spec: {containers: [{name: web, image: "web:1"}]}}}
"#;

fn web(ready: u32, pods: Vec<FailingPod>) -> World {
    World::of(&WEB.replace("READY", &ready.to_string())).with("ReplicaSet", "web-2", pods)
}

#[test]
fn some_failing_pods_or_no_ready_pod_is_a_failure() {
    let oom = |name| pod(name, Some("web-2"), "OOMKilled", Category::Crash);
    let partly = web(2, vec![oom("web-2-a")]).failure();
    assert_eq!(
        (partly.problem, partly.severity, partly.pods.display.as_str()),
        ("PartlyFailing", Severity::Warning, "2/3")
    );
    assert_eq!(partly.summary, "1 of 3 pods fails: web fails because of OOMKilled");
    let none = web(0, vec![oom("web-2-a"), oom("web-2-b"), oom("web-2-c")]).failure();
    assert_eq!((none.problem, none.severity, none.causes[0].pods), ("Unavailable", Severity::Critical, 3));
    // The previous template has no pods any more, and nothing shows that they were ever ready.
    let history = "kubectl -n shop rollout history deployment/web";
    assert_eq!(none.remedies.last().unwrap().command.as_deref(), Some(history), "{:?}", none.remedies);
}

/// Revisions 1 to 3. The first serves, or did until its node went down.
fn third_revision(more: &str, ready_of_first: u32) -> World {
    let set = |n: u32, replicas: u32, ready: u32| {
        format!(
            "\n---\nkind: ReplicaSet\napiVersion: apps/v1\nmetadata: {{name: web-{n}, namespace: shop, uid: r{n}, annotations: {{deployment.kubernetes.io/revision: \"{n}\"}}, ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}}]}}\nspec: {{replicas: {replicas}, template: {{spec: {{containers: [{{name: web, image: \"web:{n}\"}}]}}}}}}\nstatus: {{readyReplicas: {ready}}}"
        )
    };
    let deployment = format!(
        "kind: Deployment\napiVersion: apps/v1\nmetadata: {{name: web, namespace: shop, uid: d, generation: 3, creationTimestamp: \"2026-11-21T09:00:00Z\"}}\nspec: {{replicas: 2{more}, template: {{spec: {{containers: [{{name: web, image: \"web:3\"}}]}}}}}}\nstatus: {{observedGeneration: 3, replicas: 3, readyReplicas: {ready_of_first}, updatedReplicas: 1, unavailableReplicas: 1}}"
    );
    let sets = [set(3, 1, 0), set(2, 0, 0), set(1, 2, ready_of_first)].concat();
    let failing = vec![pod("web-3-a", Some("web-3"), "ImageTagNotFound", Category::Image)];
    World::of(&(deployment + &sets)).with("ReplicaSet", "web-3", failing)
}

#[test]
fn rollback_targets_a_good_template() {
    let undo = |world: World| world.failure().remedies.first().and_then(|first| first.command.clone());
    let to_first = Some("kubectl -n shop rollout undo deployment/web --to-revision=1".to_owned());
    assert_eq!(undo(third_revision("", 2)), to_first, "2 was as bad");
    let node = |name| pod(name, Some("web-1"), "NodeStatusUnknown", Category::Node);
    let down = third_revision("", 0).with("ReplicaSet", "web-1", vec![node("web-1-a"), node("web-1-b")]);
    assert_eq!(undo(down), to_first, "its pods fail because of their node");
    let paused = undo(third_revision(", paused: true", 2)).unwrap();
    assert!(
        paused.starts_with("kubectl -n shop rollout resume deployment/web && kubectl -n shop rollout undo "),
        "{paused}"
    );
    let of_paused = third_revision(", paused: true", 2).failure();
    assert!(of_paused.summary.starts_with("2 of 2 pods are ready, and 1 more fails: "), "{}", of_paused.summary);

    let mut all_fail = web(0, vec![pod("web-2-a", Some("web-2"), "OOMKilled", Category::Crash)]);
    all_fail.failed = vec!["web-1".to_owned()];
    assert_eq!(undo(all_fail), None, "no template is known that may be good");
    let complete = r#"status: {conditions: [{type: Progressing, status: "True", reason: NewReplicaSetAvailable}], "#;
    let read_log = remedy::fix("Read the log.");
    let mut late = pod("web-2-a", Some("web-2"), "OOMKilled", Category::Crash);
    late.remedies = vec![read_log.clone()];
    let late = World::of(&WEB.replace("READY", "0").replacen("status: {", complete, 1)).with(
        "ReplicaSet",
        "web-2",
        vec![late],
    );
    assert_eq!(late.failure().remedies[0], read_log, "the template was good until something else changed");

    let single = db(1, 0, "OrderedReady", ("db-a", "db-a"), 0);
    let pods = vec![pod("db-0", Some("db-a"), "AppError", Category::Crash)];
    let remedies = single.with("StatefulSet", "db", pods).failure().remedies;
    assert!(!remedies.iter().any(is_rollback), "{remedies:?}");
}

/// Revision 2 was never complete. Revision 1 has no pods any more; the conditions show whether it was ever available.
#[test]
fn rollback_names_only_a_revision_that_was_ready() {
    let undo = |since: &str, newest: &str, reason: &str| {
        let conditions = format!(
            r#"status: {{conditions: [{{type: Progressing, status: "True", reason: {reason}}}, {{type: Available, status: "False", lastTransitionTime: "{since}"}}], "#
        );
        let mut world = World::of(&WEB.replace("READY", "0").replacen("status: {", &conditions, 1)).with(
            "ReplicaSet",
            "web-2",
            vec![pod("web-2-a", Some("web-2"), "OOMKilled", Category::Crash)],
        );
        let at = |time: &str| Some(time.parse().unwrap());
        let web = world.workloads.iter_mut().find(|workload| &*workload.key.kind == "Deployment").unwrap();
        (web.created, web.replica_sets[0].created) = (at("2026-11-21T08:00:00Z"), at(newest));
        web.replica_sets[1].created = at("2026-11-21T08:00:00Z");
        let commands = world.failure().remedies.into_iter().filter(is_rollback).filter_map(|remedy| remedy.command);
        commands.collect::<Vec<_>>()
    };
    let (new, growing) = ("2026-11-21T09:00:00Z", "ReplicaSetUpdated");
    let (back, see) = (
        ["kubectl -n shop rollout undo deployment/web --to-revision=1"],
        ["kubectl -n shop rollout history deployment/web"],
    );
    assert_eq!(undo("2026-11-21T09:00:05Z", new, growing), back, "it was available until the rollout");
    assert_eq!(undo("2026-11-21T08:59:25Z", new, growing), back, "Recreate: the old pods terminated first");
    let none: [&str; 0] = [];
    assert_eq!(undo("2026-11-21T08:00:00Z", new, growing), none, "it was never available");
    assert_eq!(
        undo("2026-11-21T08:00:00Z", "2026-11-21T08:00:30Z", growing),
        none,
        "the same, with a quick second try"
    );
    assert_eq!(
        undo("2026-11-21T09:00:05Z", new, "NewReplicaSetAvailable"),
        see,
        "the newest was complete, so nothing is known of the older"
    );
}

#[test]
fn rollout_without_failing_pods_does_not_fail() {
    assert!(web(2, Vec::new()).is_healthy());
    let noted =
        FailingPod { severity: Severity::Info, ..pod("web-2-a", Some("web-2"), "ErrImagePull", Category::Image) };
    assert!(web(2, vec![noted]).is_healthy());
    let mut gone = web(2, vec![pod("web-2-a", Some("web-2"), "OOMKilled", Category::Crash)]);
    gone.workloads[0].deleting = true;
    assert!(gone.is_healthy());
}

#[test]
fn rollout_waits_for_a_new_pod_that_only_its_node_blocks() {
    let slow = recorded("ProgressDeadlineExceeded/slow-start.yaml");
    let given_up = slow.workloads.iter().find(|w| &*w.key.kind == "Deployment").unwrap().conditions.clone();
    let mut world = third_revision("", 2);
    world.failing.clear();
    world.workloads[0].conditions = given_up;
    assert_eq!(world.failure().cause, "ProgressDeadlineExceeded");
    let on_node = vec![pod("web-3-a", Some("web-3"), "NodeStatusUnknown", Category::Node)];
    assert!(world.with("ReplicaSet", "web-3", on_node).is_healthy());
}

#[test]
fn failing_pods_beyond_the_desired_replicas_are_ignored() {
    let evicted = |ready| {
        let whole = WEB.replace("unavailableReplicas: 1", "unavailableReplicas: 0").replace("READY", ready);
        let pods = vec![pod("web-2-x", Some("web-2"), "EvictedNodePressure", Category::Lifecycle)];
        World::of(&whole).with("ReplicaSet", "web-2", pods)
    };
    assert!(evicted("3").is_healthy());
    assert!(!evicted("2").is_healthy());
}

#[test]
fn node_outage_is_reported_for_a_workload_only_without_ready_pods() {
    let on_node = |name| pod(name, Some("web-2"), "NodeStatusUnknown", Category::Node);
    assert!(web(2, vec![on_node("web-2-a")]).is_healthy());
    let down = web(0, vec![on_node("web-2-a"), on_node("web-2-b"), on_node("web-2-c")]).failure();
    assert_eq!((down.problem, down.severity, down.quiet), ("Unavailable", Severity::Critical, true));
}

#[test]
fn cause_of_the_newest_template_ranks_before_a_more_frequent_one() {
    let mut pods = vec![pod("web-2-a", Some("web-2"), "ImageTagNotFound", Category::Image)];
    pods.extend(["web-1-a", "web-1-b"].map(|name| pod(name, Some("web-1"), "OOMKilled", Category::Crash)));
    let failure = web(0, pods).failure();
    assert_eq!(failure.cause, "ImageTagNotFound");
    assert_eq!(
        failure.causes.iter().map(|c| (c.cause.as_str(), c.pods)).collect::<Vec<_>>(),
        [("OOMKilled", 2), ("ImageTagNotFound", 1)]
    );
}

fn db(current: u32, ready: u32, policy: &str, revisions: (&str, &str), partition: u32) -> World {
    World::of(&format!(
        r#"
kind: StatefulSet
apiVersion: apps/v1
metadata: {{name: db, namespace: n, uid: s, generation: 1, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{replicas: 4, podManagementPolicy: {policy}, updateStrategy: {{type: RollingUpdate, rollingUpdate: {{partition: {partition}}}}}}}
status: {{observedGeneration: 1, replicas: {current}, readyReplicas: {ready}, updatedReplicas: 1, currentRevision: {}, updateRevision: {}}}
"#,
        revisions.0, revisions.1
    ))
}

#[test]
fn stateful_set_waits_for_the_failing_pod() {
    let crash = |name| vec![pod(name, Some("db-b"), "AppError", Category::Crash)];
    let new = db(2, 1, "OrderedReady", ("db-b", "db-b"), 0).with("StatefulSet", "db", crash("db-1")).failure();
    assert_eq!(new.problem, "BlockedOnOrdinal");
    assert!(new.summary.starts_with("db-1 fails, and db-2 to db-3 wait to be created: "), "{}", new.summary);
    assert!(new.remedies[0].command.as_deref().unwrap().ends_with(" delete pod db-1"));

    let missing = |ready| FailingPod { ready, ..pod("db-0", Some("db-b"), "ConfigMapNotFound", Category::Start) };
    let mended = vec![missing(true), crash("db-1").remove(0)];
    let second = db(2, 1, "OrderedReady", ("db-b", "db-b"), 0).with("StatefulSet", "db", mended).failure();
    assert_eq!(second.cause, "AppError", "db-0 is over it");
    assert!(second.summary.starts_with("db-1 fails, and db-2 to db-3 wait to be created: "), "{}", second.summary);

    let create = remedy::fix("Create it.");
    let first = vec![FailingPod { remedies: vec![create.clone()], ..missing(false) }];
    let first = db(1, 0, "OrderedReady", ("db-b", "db-b"), 0).with("StatefulSet", "db", first).failure();
    assert_eq!(first.remedies[0], create, "the template need not be wrong");
    assert!(first.remedies[1].text.starts_with("If you correct the template, then delete db-0"));

    let update = db(4, 3, "OrderedReady", ("db-a", "db-b"), 0).with("StatefulSet", "db", crash("db-3")).failure();
    assert_eq!((update.problem, update.severity), ("BlockedOnOrdinal", Severity::Warning));
    assert!(update.summary.starts_with("db-3 fails, and db-0 to db-2 wait for the update: "), "{}", update.summary);
    let undo = update.remedies[0].command.as_deref().unwrap();
    assert!(
        undo.contains(" rollout undo statefulset/db --to-revision=$(") && undo.contains(" db-a -o jsonpath"),
        "{undo}"
    );
    assert_eq!(update.serving.unwrap().old_ready, 3);

    // No pod waits for the last one of an update, and none for another with parallel pod management.
    let last = db(4, 3, "OrderedReady", ("db-a", "db-b"), 3).with("StatefulSet", "db", crash("db-3")).failure();
    assert_eq!(last.problem, "PartlyFailing");
    let parallel = db(3, 2, "Parallel", ("db-b", "db-b"), 0).with("StatefulSet", "db", crash("db-1")).failure();
    assert_eq!(parallel.problem, "PartlyFailing");
    assert!(!parallel.remedies.iter().any(is_rollback), "there is nothing to go back to");
    let update = db(4, 3, "Parallel", ("db-a", "db-b"), 0).with("StatefulSet", "db", crash("db-3")).failure();
    assert_eq!(update.problem, "RolloutStuck");
    let undo = update.remedies[0].command.as_deref().unwrap();
    assert!(undo.contains(" rollout undo statefulset/db ") && !undo.contains(" delete pod "), "{undo}");
}

#[test]
fn daemon_set_names_some_of_the_nodes() {
    let set = r#"
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: agent, namespace: n, uid: s, generation: 1, creationTimestamp: "2026-11-21T09:00:00Z"}
status: {observedGeneration: 1, desiredNumberScheduled: 9, currentNumberScheduled: 8, numberReady: 5, numberUnavailable: 4, updatedNumberScheduled: 8}
"#;
    // A node that has just joined has no pod yet.
    assert!(World::of(set).is_healthy());
    let pods = ["a", "b", "c", "d"].map(|name| pod(name, None, "AppError", Category::Crash)).to_vec();
    let failure = World::of(set).with("DaemonSet", "agent", pods).failure();
    assert_eq!((failure.problem, failure.severity), ("FailingOnNodes", Severity::Warning));
    assert_eq!(
        failure.summary,
        "fails on 4 of 9 nodes (node-of-a, node-of-b, node-of-c, ...): web fails because of AppError"
    );
}

/// Revisions of a workload, each with its own image.
fn revisions(kind: &str, name: &str, of: &[(&str, u32)]) -> String {
    let one = |(hash, number): &(&str, u32)| {
        format!(
            r#"
---
kind: ControllerRevision
apiVersion: apps/v1
metadata: {{name: {name}-{hash}, namespace: shop, ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {name}, uid: s, controller: true}}]}}
revision: {number}
data: {{spec: {{template: {{spec: {{containers: [{{name: web, image: "web:{number}"}}]}}}}}}}}
"#
        )
    };
    of.iter().map(one).collect()
}

fn image_changes(failure: &WorkloadFailure) -> Vec<(String, String, String)> {
    let each = failure.template_changes.iter().cloned();
    each.map(|change| (change.field, change.before.unwrap_or_default(), change.after.unwrap_or_default())).collect()
}

#[test]
fn daemon_set_rolls_back_to_a_template_without_known_failure() {
    let agent = |updated: u32, ready: u32| {
        let set = format!(
            r#"
kind: DaemonSet
apiVersion: apps/v1
metadata: {{name: agent, namespace: shop, uid: s, generation: 3, creationTimestamp: "2026-11-21T09:00:00Z"}}
status: {{observedGeneration: 3, desiredNumberScheduled: 3, currentNumberScheduled: 3, numberReady: {ready}, updatedNumberScheduled: {updated}}}
"#
        );
        World::of(&format!("{set}{}", revisions("DaemonSet", "agent", &[("a", 1), ("b", 2), ("c", 3)])))
    };
    let crash = |hash| vec![pod("agent-x", Some(hash), "AppError", Category::Crash)];
    let changed = |from: &str| vec![("containers[web].image".to_owned(), from.to_owned(), "web:3".to_owned())];

    let rolls = agent(1, 2).with("DaemonSet", "agent", crash("c")).failure();
    assert_eq!(rolls.serving.as_ref().map(|serving| serving.old_ready), Some(2));
    let undo = &rolls.remedies[0];
    assert_eq!(undo.command.as_deref(), Some("kubectl -n shop rollout undo daemonset/agent --to-revision=2"));
    assert!(undo.text.contains("which still serves"), "{}", undo.text);
    assert_eq!(image_changes(&rolls), changed("web:2"));

    let mut failed_before = agent(3, 0).with("DaemonSet", "agent", crash("c"));
    failed_before.failed = vec!["b".to_owned()];
    let failed_before = failed_before.failure();
    let undo = failed_before.remedies.last().unwrap();
    assert_eq!(
        undo.command.as_deref(),
        Some("kubectl -n shop rollout history daemonset/agent"),
        "none is known as good"
    );
    assert_eq!(image_changes(&failed_before), changed("web:1"));

    // Without a ready pod of it, it is not known whether an older revision ever worked.
    let all_down = agent(3, 0).with("DaemonSet", "agent", crash("c")).failure().remedies;
    assert!(!all_down.iter().any(|remedy| remedy.command.as_ref().is_some_and(|command| command.contains(" undo "))));

    for blameless in [
        agent(3, 2).with("DaemonSet", "agent", crash("b")).failure(),
        agent(3, 0)
            .with("DaemonSet", "agent", vec![pod("x", Some("c"), "NodeStatusUnknown", Category::Node)])
            .failure(),
    ] {
        assert!(blameless.template_changes.is_empty() && !blameless.remedies.iter().any(is_rollback));
    }
}

#[test]
fn stateful_set_lists_the_changes_of_its_update() {
    let db = |current: &str| {
        let set = format!(
            r#"
kind: StatefulSet
apiVersion: apps/v1
metadata: {{name: db, namespace: shop, uid: s, generation: 2, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{replicas: 3}}
status: {{observedGeneration: 2, replicas: 3, readyReplicas: 2, updatedReplicas: 1, currentRevision: {current}, updateRevision: db-b}}
"#
        );
        World::of(&format!("{set}{}", revisions("StatefulSet", "db", &[("a", 1), ("b", 2)])))
    };
    let crash = || vec![pod("db-2", Some("db-b"), "AppError", Category::Crash)];
    let update = db("db-a").with("StatefulSet", "db", crash()).failure();
    assert_eq!(image_changes(&update), [("containers[web].image".into(), "web:1".into(), "web:2".into())]);
    assert!(image_changes(&db("db-b").with("StatefulSet", "db", crash()).failure()).is_empty(), "it is everywhere");
}

const RUNS: &str = r#"
kind: CronJob
apiVersion: batch/v1
metadata: {name: report, namespace: n, uid: c, creationTimestamp: "2026-11-20T09:00:00Z"}
spec: {schedule: "0 * * * *"}
status: {lastScheduleTime: "2026-11-21T09:00:00Z", lastSuccessfulTime: "SUCCEEDED"}
---
kind: Job
apiVersion: batch/v1
metadata: {name: report-1, namespace: n, uid: j, creationTimestamp: "2026-11-21T09:00:00Z", ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: report, uid: c, controller: true}]}
spec: {backoffLimit: 1}
status: {failed: 2, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit, lastTransitionTime: "2026-11-21T09:05:00Z"}]}
"#;

#[test]
fn failed_run_is_reported_for_its_cron_job_until_a_later_run_succeeds() {
    let failed = World::of(&RUNS.replace("SUCCEEDED", "2026-11-21T08:00:30Z"));
    let failure = failed.failure();
    assert_eq!((failure.cause.as_str(), failure.problem), ("JobBackoffLimitExceeded", "JobFailed"));
    assert!(failure.summary.starts_with("its run report-1 failed: no retry is left"), "{}", failure.summary);
    assert!(failed.judge(&failed.workloads[1], failed.now).failure.is_none(), "the Job is not reported in addition");
    assert!(World::of(&RUNS.replace("SUCCEEDED", "2026-11-21T10:00:30Z")).is_healthy());
    let mut suspended = failed;
    suspended.workloads[0].suspended = true;
    assert!(suspended.is_healthy());
}

#[test]
fn run_that_its_pod_failure_policy_failed_is_not_to_be_run_again() {
    let commands = |reason: &str| {
        let runs = RUNS.replace("SUCCEEDED", "2026-11-21T08:00:30Z").replace("BackoffLimitExceeded", reason);
        let remedies = World::of(&runs).failure().remedies;
        remedies.into_iter().filter_map(|remedy| remedy.command).collect::<Vec<_>>()
    };
    let runs_again = |commands: &[String]| commands.iter().any(|command| command.contains("create job --from"));
    assert!(runs_again(&commands("BackoffLimitExceeded")));
    assert!(!runs_again(&commands("PodFailurePolicy")));
}

#[test]
fn impossible_schedule_has_no_next_run() {
    let remedies = recorded("CronJobScheduleBad/never.yaml").failure().remedies;
    assert_eq!(remedies[1].text, "Run it now, if a run is due.");
}

#[test]
fn job_with_retries_left_fails_only_without_progress() {
    let job = r#"
kind: Job
apiVersion: batch/v1
metadata: {name: import, namespace: n, uid: j, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {backoffLimit: 6}
status: {active: 1, failed: 1}
"#;
    let with = |cause, category| World::of(job).with("Job", "import", vec![pod("import-a", None, cause, category)]);
    assert!(with("PodFailedNoRestart", Category::Crash).is_healthy());
    assert!(with("ExecutableNotFound", Category::Start).is_healthy());
    let blocked = with("ImageTagNotFound", Category::Image).failure();
    assert_eq!((blocked.problem, blocked.severity), ("Blocked", Severity::Warning));
    assert_eq!(with("SidecarBlocksJob", Category::Lifecycle).failure().problem, "Blocked");
}

#[test]
fn service_selector_mismatch_is_reported_for_the_intended_workload() {
    let world = recorded("ServiceSelectsNothing/misspelt.yaml");
    let failure = world.failure();
    assert_eq!((failure.problem, failure.severity), ("NotServed", Severity::Critical));
    assert_eq!(failure.remedies.len(), 2);
    let mut selected = recorded("ServiceSelectsNothing/misspelt.yaml");
    selected.workloads.iter_mut().for_each(|w| w.selector = [("tier", "frontend")].into_iter().collect());
    assert_eq!(selected.failure().remedies.len(), 1, "what selects by a label cannot have another");
    assert_eq!(
        failure.summary,
        "Service web has no endpoints: it selects tier=front-end, but the pods have tier=frontend"
    );
    let patch = failure.remedies[0].command.as_deref().unwrap();
    assert!(patch.ends_with(r#"patch service web -p '{"spec":{"selector":{"tier":"frontend"}}}'"#), "{patch}");

    let orphans = |change: &dyn Fn(&mut ServiceFacts, &mut WorkloadFacts), age: i64| {
        let mut services = world.services[&world.workloads[0].key.namespace].clone();
        let mut workloads: Vec<_> = world.workloads.iter().filter(|w| &*w.key.kind == "Deployment").cloned().collect();
        change(&mut services[0], &mut workloads[0]);
        let now = after(services[0].created.unwrap(), age);
        let labelled: Vec<_> = workloads.iter().filter_map(WorkloadFacts::labelled).collect();
        unmatched_services(&services, &world.pods.iter().map(|pod| &pod.labels), &labelled, now).len()
    };
    assert_eq!(orphans(&|_, _| {}, 600), 1);
    assert_eq!(orphans(&|_, _| {}, 100), 0, "it may be ahead of its workload");
    assert_eq!(orphans(&|_, w| w.desired = 0, 600), 0, "scaled to 0");
    assert_eq!(orphans(&|s, _| s.external = true, 600), 0, "a name for something elsewhere");
    assert_eq!(orphans(&|s, _| s.selector = Labels::default(), 600), 0, "its endpoints are created manually");
    let two_off = |s: &mut ServiceFacts, _: &mut WorkloadFacts| {
        s.selector = s.selector.iter().chain([("app", "other")]).collect();
    };
    assert_eq!(orphans(&two_off, 600), 0, "meant for something that is not there");
}

#[test]
fn missing_target_port_of_a_service_is_reported_for_its_workload() {
    let world = recorded("ServicePortNotFound/renamed.yaml");
    let failure = world.failure();
    assert_eq!((failure.problem, failure.severity), ("NotServed", Severity::Critical));
    assert_eq!(failure.evidence.len(), 2, "{:?}", failure.evidence);
    let change = |change: &dyn Fn(&mut ServiceFacts, &mut WorkloadFacts)| {
        let mut world = recorded("ServicePortNotFound/renamed.yaml");
        let services = world.services.values_mut().flatten();
        let workloads = world.workloads.iter_mut().filter(|w| &*w.key.kind == "Deployment");
        services.zip(workloads).for_each(|(service, workload)| change(service, workload));
        world
    };
    assert!(
        change(&|s, _| s.endpoints_have_ports = Some(true)).is_healthy(),
        "a port that was put into the pods later"
    );
    assert!(change(&|s, _| s.target_ports.clear()).is_healthy(), "another of its ports leads to a number");
    assert!(change(&|_, w| w.desired = 0).is_healthy(), "scaled to 0");
    let named = |_: &mut ServiceFacts, w: &mut WorkloadFacts| {
        w.template.as_mut().unwrap().named_ports.insert("http/TCP".into());
    };
    assert!(change(&named).is_healthy(), "a rollout brings the name");
    let unknown = change(&|s, _| (s.endpoints_have_ports, s.ready_endpoints) = (None, 0)).failure();
    assert_eq!(unknown.confidence, Confidence::Likely, "no slice is in the dump");
}
