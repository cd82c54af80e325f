//! The engine on a dump: the same world, the same rules and the same objects as in a cluster, without one.

mod logs;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::cluster::REPORTER;
use crate::cluster::wire::{Dump, StorageClass, services_of, unbound_claims};
use crate::diagnosis::{Health, Thresholds, diagnose as diagnose_case, immediate_workload, top_workload};
use crate::facts::{
    ClaimFacts, ClaimsFacts, ClassFacts, Condition, Labels, Looked, ObjectKey, Phase, PodFacts, ReachedFacts,
    ServiceFacts, Timestamp, Want, WorkloadFacts, WorkloadKey,
};
use crate::outbox::Subject;
use crate::plan::{self, Intent, ObjectWrite, OuterWrite, Policy};
use crate::world::{Caps, Change, Source, World};

pub use logs::Logs;

/// What the operator would make of a dump.
#[derive(Debug, Default)]
pub struct Report {
    /// The objects that it would write, by namespace and name.
    pub objects: Vec<ObjectWrite>,
    /// Those about nodes and workloads, the nodes first.
    pub outers: Vec<OuterWrite>,
    /// When it would look again if nothing changed: what is not a failure yet may be one then.
    pub wake: Option<Timestamp>,
    /// Pods of which nothing is told, or not yet.
    pub untold: Vec<Untold>,
}

/// A pod that is not said to fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Untold {
    pub pod: ObjectKey,
    pub workload: Option<WorkloadKey>,
    /// From when on it is, if it stays as it is.
    pub from: Option<Timestamp>,
    /// It fails of what is to be ignored.
    pub is_ignored: bool,
}

/// A dump as the engine has it: all of it taken in, and each question answered that it answers.
struct Known {
    world: World,
    surroundings: Surrounding,
    asked: HashSet<Want>,
    /// The pods that are not well.
    unwell: Vec<Arc<str>>,
}

impl Known {
    fn of(dump: Dump, logs: Logs, now: Timestamp, view: View) -> Self {
        let caps = Caps { per_namespace: usize::MAX, ended_per_failure: usize::MAX };
        let mut world = World::new(view.thresholds, Policy::default(), caps);
        if !view.has_all_pods {
            world.know_some_pods_only();
        }
        let surroundings = fill(&mut world, dump, logs, now);
        let mut unwell: Vec<Arc<str>> = world.unwell().collect();
        unwell.sort();
        // A Job's answer leads to the question for its CronJob: a few rounds.
        let mut asked = HashSet::new();
        for _ in 0..3 {
            let wants: BTreeSet<Want> = unwell
                .iter()
                .filter_map(|uid| world.with_case(uid, now, |case| diagnose_case(case).wants))
                .flatten()
                .collect();
            let fresh: Vec<Want> = wants.into_iter().filter(|want| asked.insert(want.clone())).collect();
            if fresh.is_empty() {
                break;
            }
            for want in fresh {
                if let Some(looked) = surroundings.answer(&want) {
                    let _ = world.apply(Change::Looked { want, looked }, now);
                }
            }
        }
        Self { world, surroundings, asked, unwell }
    }
}

/// The world of a dump just before its pods are diagnosed, for whoever measures that.
pub fn world(dump: Dump, now: Timestamp, thresholds: Thresholds) -> World {
    Known::of(dump, Logs::default(), now, thresholds.into()).world
}

/// How a dump is looked at.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub thresholds: Thresholds,
    /// What its pods leave of each node is what is left.
    pub has_all_pods: bool,
    /// Also what pods ended of that are replaced (evicted, say); it is only noted.
    pub tells_replaced: bool,
}

impl From<Thresholds> for View {
    fn from(thresholds: Thresholds) -> Self {
        Self { thresholds, has_all_pods: true, tells_replaced: false }
    }
}

/// Diagnoses the pods of a dump as of `now`, with the logs that were saved beside it.
pub fn diagnose(dump: Dump, logs: Logs, now: Timestamp, view: impl Into<View>) -> Report {
    let policy = Policy::default();
    let view = view.into();
    let Known { mut world, surroundings, mut asked, unwell: uids } = Known::of(dump, logs, now, view);

    // How many pods of a workload fail is known once all are diagnosed: a first pass counts them, a second tells it.
    for uid in &uids {
        let decision = world.decide(&Subject::Pod(uid.clone()), now);
        if let Some(Intent::Apply(write)) = decision.plan.intent {
            let _ = world.acknowledged(&write, String::new(), String::new(), now);
        }
    }
    let mut report = Report::default();
    for uid in &uids {
        let looked_at = world.with_case(uid, now, |case| {
            let outcome = diagnose_case(case);
            let plan = match &outcome.health {
                Health::Failing(diagnosis) if view.tells_replaced && plan::superseded(case) => {
                    plan::replaced(case, diagnosis)
                }
                _ => plan::failing_or_well(None, case, &outcome, false, &policy),
            };
            let is_well = matches!(outcome.health, Health::Well);
            let untold = (is_well && (outcome.wake.is_some() || outcome.leaves_out)).then(|| Untold {
                pod: case.pod.key.clone(),
                workload: top_workload(case.pod, case.surroundings.known_job()),
                from: outcome.wake,
                is_ignored: outcome.leaves_out,
            });
            (plan, outcome.wake, untold)
        });
        let Some((plan, wake, untold)) = looked_at else { continue };
        report.wake = report.wake.into_iter().chain(wake).min();
        report.untold.extend(untold);
        if let Some(Intent::Apply(mut write)) = plan.intent {
            // Nobody will post an Event for it.
            write.status.event_owed = false;
            write.status.announced = false;
            write.announcement = None;
            report.objects.push(*write);
        }
    }
    // Workloads are judged by what is told of their pods.
    for write in &report.objects {
        let _ = world.acknowledged(write, String::new(), String::new(), now);
    }
    report.objects.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.spec.pod_uid.cmp(&b.spec.pod_uid)));
    let (outers, wake) = outers(&mut world, &surroundings, &mut asked, now);
    report.outers = outers;
    report.wake = report.wake.into_iter().chain(wake).min();
    report
}

/// What is wrong with nodes and workloads, once their pods are diagnosed, and when to look again.
fn outers(
    world: &mut World,
    around: &Surrounding,
    asked: &mut HashSet<Want>,
    now: Timestamp,
) -> (Vec<OuterWrite>, Option<Timestamp>) {
    let mut subjects = world.outer_subjects();
    // A first answer may lead to a question, and to workloads that are well by themselves but reached by nobody.
    for _ in 0..4 {
        let mut fresh = Vec::new();
        for subject in &subjects {
            let decision = world.decide(subject, now);
            fresh.extend(decision.wants.into_iter().filter(|want| asked.insert(want.clone())));
            if let Some(Intent::ApplyOuter(write)) = decision.plan.intent {
                let _ = world.not_written(&write.key);
            }
        }
        let known = std::mem::replace(&mut subjects, world.outer_subjects());
        if fresh.is_empty() && known == subjects {
            break;
        }
        for want in fresh {
            if let Some(looked) = around.answer(&want) {
                let _ = world.apply(Change::Looked { want, looked }, now);
            }
        }
    }
    let plans: Vec<_> = subjects.iter().map(|subject| world.decide(subject, now).plan).collect();
    let wake = plans.iter().filter_map(|plan| plan.wake).filter(|wake| *wake > now).min();
    let mut outers: Vec<OuterWrite> = plans
        .into_iter()
        .filter_map(|plan| match plan.intent {
            Some(Intent::ApplyOuter(mut write)) => {
                write.object.without_event();
                write.announcement = None;
                Some(*write)
            }
            _ => None,
        })
        .collect();
    outers.sort_by(|a, b| a.key.cmp(&b.key));
    (outers, wake)
}

/// Puts a dump into the world and keeps what answers its questions.
fn fill(world: &mut World, mut dump: Dump, logs: Logs, now: Timestamp) -> Surrounding {
    name_by_uid(&mut dump);
    let watched: Vec<_> =
        dump.workloads.iter().filter(|workload| workload.key.watched_kind().is_some()).cloned().collect();
    let surroundings = Surrounding::of(&mut dump, logs);
    for source in Source::ALL {
        let _ = world.apply(Change::ListStarted(source), now);
    }
    for workload in watched {
        let _ = world.apply(Change::Workload(Box::new(workload)), now);
    }
    for (namespace, services) in &surroundings.services {
        for service in services.iter().cloned() {
            let _ = world.apply(Change::Service { namespace: namespace.clone(), service }, now);
        }
    }
    for node in dump.nodes {
        let _ = world.apply(Change::Node(Box::new(node)), now);
    }
    // Before the pods: a pod with an Event that matters keeps all its facts. An operator's own Events (it uses some of the
    // kubelet's reasons) are conclusions and no evidence; in a cluster the watch leaves them out.
    for event in dump.events.into_iter().filter(|event| &*event.reporter != REPORTER) {
        let _ = world.apply(Change::Event(Box::new(event)), now);
    }
    for pod in dump.pods {
        let _ = world.apply(Change::Pod(Box::new(pod)), now);
    }
    for source in Source::ALL {
        let _ = world.apply(Change::ListDone(source), now);
    }
    surroundings
}

/// Events find their pod by UID. Where the Event or the pod has none (a manifest, a trimmed dump), or it is of a static pod,
/// the name tells.
fn name_by_uid(dump: &mut Dump) {
    let by_key: HashMap<&ObjectKey, &PodFacts> = dump.pods.iter().map(|pod| (&pod.key, pod)).collect();
    let uids: HashSet<&Arc<str>> = dump.pods.iter().map(|pod| &pod.uid).collect();
    for event in dump.events.iter_mut().filter(|e| &*e.regarding.kind == "Pod") {
        let regarding = &event.regarding;
        let key = ObjectKey { namespace: regarding.namespace.clone(), name: regarding.name.clone() };
        let Some(pod) = by_key.get(&key) else { continue };
        let is_made_up = *pod.uid == *key.to_string();
        let is_static = pod.static_uid.as_ref().is_some_and(|of| event.is_of_static_pod(of));
        if regarding.uid.is_empty() || ((is_made_up || is_static) && !uids.contains(&regarding.uid)) {
            event.regarding.uid = pod.uid.clone();
        }
    }
}

/// Workloads, Services and claims of the dump.
struct Surrounding {
    workloads: HashMap<WorkloadKey, WorkloadFacts>,
    services: HashMap<Arc<str>, Vec<ServiceFacts>>,
    /// Of all pods, by namespace.
    labels: HashMap<Arc<str>, Vec<Labels>>,
    logs: Logs,
    claims: HashMap<Arc<str>, Vec<ClaimFacts>>,
    classes: Option<Arc<[ClassFacts]>>,
}

impl Surrounding {
    fn of(dump: &mut Dump, logs: Logs) -> Self {
        let mut workloads: HashMap<_, _> =
            std::mem::take(&mut dump.workloads).into_iter().map(|facts| (facts.key.clone(), facts)).collect();
        workloads.values_mut().for_each(|facts| dump.complete(facts));
        for job in jobs_told_by_pods(&dump.pods) {
            workloads.entry(job.key.clone()).or_insert(job);
        }
        let namespaces: BTreeSet<Arc<str>> = dump.pods.iter().map(|pod| pod.key.namespace.clone()).collect();
        let claims = namespaces.iter().filter_map(|namespace| {
            let claims = unbound_claims(namespace, &dump.claims, &dump.events);
            (!claims.is_empty()).then(|| (namespace.clone(), claims))
        });
        let claims = claims.collect();
        // A dump without any class says nothing of them.
        let classes = (!dump.classes.is_empty()).then(|| dump.classes.iter().map(StorageClass::facts).collect());
        let services = namespaces.into_iter().filter_map(|namespace| {
            let mut services = services_of(&namespace, &dump.services, &dump.slices, &dump.endpoints);
            if dump.slices.is_empty() && dump.endpoints.is_empty() {
                count_by_pods(&mut services, &dump.pods.iter().filter(|pod| pod.key.namespace == namespace));
            }
            // A dump without any Service says nothing of them.
            (!services.is_empty()).then_some((namespace, services))
        });
        let services = services.collect();
        let mut labels: HashMap<Arc<str>, Vec<Labels>> = HashMap::new();
        for pod in &dump.pods {
            labels.entry(pod.key.namespace.clone()).or_default().push(pod.labels.clone());
        }
        Self { workloads, services, labels, logs, claims, classes }
    }

    /// `None` where the dump does not hold it: that is no proof that it does not exist.
    fn answer(&self, want: &Want) -> Option<Looked> {
        match want {
            Want::Workload(key) => self.workloads.get(key).map(|facts| Looked::Workload(Some(Box::new(facts.clone())))),
            // A dump's pods are all there, with all their facts.
            Want::PodsOn(_) => None,
            Want::Log(key) => self.logs.of(&key.pod, &key.container).map(Looked::Log),
            Want::Reached(namespace) => Some(Looked::Reached(ReachedFacts {
                services: self.services.get(namespace)?.clone(),
                pods: self.labels.get(namespace).cloned().unwrap_or_default(),
            })),
            Want::Services(namespace) => self.services.get(namespace).map(|all| Looked::Services(all.clone())),
            Want::Claims(namespace) => self
                .claims
                .get(namespace)
                .map(|unbound| Looked::Claims(ClaimsFacts { unbound: unbound.clone(), classes: self.classes.clone() })),
        }
    }
}

/// Jobs that a dump of pods alone does not hold: one whose last pod has succeeded has succeeded at a retry. Of an Indexed one
/// that goes for each index.
fn jobs_told_by_pods(pods: &[PodFacts]) -> Vec<WorkloadFacts> {
    const INDEX: &str = "batch.kubernetes.io/job-completion-index";
    let mut last: HashMap<WorkloadKey, BTreeMap<&str, &PodFacts>> = HashMap::new();
    for pod in pods.iter().filter(|pod| pod.is_of_job()) {
        let Some(key) = immediate_workload(pod) else { continue };
        let index = pod.labels.get(INDEX).unwrap_or_default();
        let newest = last.entry(key).or_default().entry(index).or_insert(pod);
        if pod.created > newest.created {
            *newest = pod;
        }
    }
    let done = last.into_iter().filter_map(|(key, indexes)| {
        let succeeded = indexes.values().all(|pod| pod.phase == Phase::Succeeded);
        Some((key, *indexes.values().max_by_key(|pod| pod.created).filter(|_| succeeded)?))
    });
    done.map(|(key, pod)| WorkloadFacts {
        key,
        desired: 1,
        succeeded: 1,
        conditions: vec![Condition {
            kind: "Complete".to_owned(),
            status: "True".to_owned(),
            reason: "LastPodSucceeded".to_owned(),
            message: format!("pod {} has succeeded", pod.key.name),
            last_transition: None,
        }],
        ..WorkloadFacts::default()
    })
    .collect()
}

/// A dump without EndpointSlices: the ready pods that a Service selects are its endpoints.
fn count_by_pods<'a>(services: &mut [ServiceFacts], pods: &(impl Iterator<Item = &'a PodFacts> + Clone)) {
    for service in services {
        let ready = pods.clone().filter(|p| p.is_ready() && p.deletion.is_none() && service.selects(&p.labels));
        service.ready_endpoints = u32::try_from(ready.count()).unwrap_or(u32::MAX);
    }
}
