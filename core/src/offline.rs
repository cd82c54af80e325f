//! Offline engine: applies the state, rules and objects of the operator to a dump.

mod logs;
mod network;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use crate::api::REPORTER;
use crate::case::{Case, Health, LeftOut, Thresholds, immediate_workload, top_workload};
use crate::facts::{
    ClaimFacts, ClaimsFacts, ClassFacts, Condition, Labels, Lookup, LookupResult, NamedKind, NamesOf, ObjectKey, Phase,
    PodFacts, ReachedFacts, ServiceFacts, Timestamp, WorkloadFacts, WorkloadKey,
};
use crate::outbox::Subject;
use crate::reconcile;
use crate::reconcile::{Intent, Plan, Policy, Write};
use crate::rules;
use crate::rules::diagnose as diagnose_case;
pub use crate::signals::scheduling::Placement;
use crate::state::{Caps, Change, Source, World};
use crate::wire::{Dump, StorageClass, services_of, unbound_claims};

pub use logs::Logs;

/// The diagnoses of a dump.
#[derive(Debug, Default)]
pub struct Report {
    /// Diagnoses of pods, by namespace and name.
    pub pods: Vec<Write>,
    /// Diagnoses of nodes and workloads, nodes first.
    pub nodes_and_workloads: Vec<Write>,
    /// When the operator would check again if nothing changed. A threshold may expire then.
    pub wake: Option<Timestamp>,
    /// Pods without a diagnosis, or whose diagnosis is not due yet.
    pub undiagnosed: Vec<UndiagnosedPod>,
    /// Objects on the path of a request, autoscalers and disruption budgets whose failure is not reported yet; only with
    /// [`View::includes_unreported`].
    pub pending: Vec<PendingObject>,
    /// Names that would improve the remedies and that the dump does not have.
    pub unknown_names: BTreeSet<NamesOf>,
}

/// An object that shows a failure that has not lasted long enough to be reported.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingObject {
    pub object: WorkloadKey,
    /// When its diagnosis is due if it does not change.
    pub from: Timestamp,
    pub seen_so_far: SeenSoFar,
}

/// A pod without a diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct UndiagnosedPod {
    pub pod: ObjectKey,
    pub workload: Option<WorkloadKey>,
    /// When its diagnosis is due if it does not change.
    pub from: Option<Timestamp>,
    /// Who leaves out its failure, if that is ignored.
    pub left_out: Option<LeftOut>,
    /// What the rules find if no threshold is awaited; only with [`View::includes_unreported`].
    pub seen_so_far: Option<SeenSoFar>,
}

/// A failure that has not lasted long enough to be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSoFar {
    pub cause: &'static str,
    pub summary: String,
}

/// Causes that only mean that nothing has happened. Until the threshold has passed, they mean nothing.
const BY_SILENCE: &[&str] = &["NoSchedulerForPod"];

impl SeenSoFar {
    fn of(case: &Case<'_>) -> Option<Self> {
        static AT_ONCE: LazyLock<Vec<(&str, i64)>> =
            LazyLock::new(|| rules::known().map(|known| (known.cause, 0)).collect());
        let thresholds = Thresholds { chosen: &AT_ONCE, of_rules: &[], ..case.thresholds.awaiting_nothing() };
        match diagnose_case(&Case { thresholds: &thresholds, ..*case }).health {
            Health::Failing(diagnosis) if !BY_SILENCE.contains(&diagnosis.cause) => {
                Some(Self { cause: diagnosis.cause, summary: diagnosis.summary.text().to_owned() })
            }
            _ => None,
        }
    }
}

/// A loaded dump, with all lookups performed that it can answer.
struct Known {
    world: World,
    surroundings: Surrounding,
    requested: HashSet<Lookup>,
    unknown_names: BTreeSet<NamesOf>,
    /// The unhealthy pods.
    unhealthy: Vec<Arc<str>>,
}

impl Known {
    fn of(dump: Dump, logs: Logs, now: Timestamp, view: View) -> Self {
        let caps = Caps { per_namespace: usize::MAX, ended_per_failure: usize::MAX };
        let mut world = World::new(view.thresholds, Policy::default(), caps);
        if !view.has_all_pods {
            world.cluster.know_some_pods_only();
        }
        let surroundings = fill(&mut world, dump, logs, now);
        let mut unhealthy: Vec<Arc<str>> = world.cluster.unhealthy().collect();
        unhealthy.sort();
        // A Job leads to the lookup of its CronJob, so a few rounds are needed.
        let mut requested = HashSet::new();
        let mut unknown_names = BTreeSet::new();
        for _ in 0..3 {
            let needed_lookups: BTreeSet<Lookup> = unhealthy
                .iter()
                .filter_map(|uid| world.with_case(uid, now, |case| diagnose_case(case).needed_lookups))
                .flatten()
                .collect();
            let fresh: Vec<Lookup> =
                needed_lookups.into_iter().filter(|lookup| requested.insert(lookup.clone())).collect();
            if fresh.is_empty() {
                break;
            }
            surroundings.answer(fresh, &mut world, &mut unknown_names, now);
        }
        Self { world, surroundings, requested, unknown_names, unhealthy }
    }
}

/// The state of a dump just before its pods are diagnosed, for benchmarks.
pub fn world(dump: Dump, now: Timestamp, thresholds: Thresholds) -> World {
    Known::of(dump, Logs::default(), now, thresholds.into()).world
}

/// Which nodes of a dump would take the first pod of another text, such as the pod of a changed template.
pub fn placement(dump: Dump, pod: &str, now: Timestamp, thresholds: Thresholds) -> Option<Placement> {
    let mut of_pod = Dump::default();
    of_pod.read(pod);
    let world = world(dump, now, thresholds);
    Some(Placement::of(of_pod.pods.first()?, world.cluster.nodes()))
}

/// Options for reading a dump.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub thresholds: Thresholds,
    /// Whether the dump contains all pods, so that free node capacity can be computed.
    pub has_all_pods: bool,
    /// Whether to include pods that are superseded (evicted, for example), with severity Info.
    pub includes_replaced: bool,
    /// Whether to state what is seen of pods whose failure is not reported yet. They are then diagnosed twice.
    pub includes_unreported: bool,
}

impl From<Thresholds> for View {
    fn from(thresholds: Thresholds) -> Self {
        Self { thresholds, has_all_pods: true, includes_replaced: false, includes_unreported: false }
    }
}

/// Diagnoses the pods of a dump as of `now`, with the logs stored beside it.
pub fn diagnose(dump: Dump, logs: Logs, now: Timestamp, view: impl Into<View>) -> Report {
    let policy = Policy::default();
    let view = view.into();
    let Known { mut world, surroundings, mut requested, unknown_names, unhealthy: uids } =
        Known::of(dump, logs, now, view);

    // The number of failing pods of a workload is known once all are diagnosed: the first pass counts them, the second
    // builds the diagnoses.
    for uid in &uids {
        let decision = world.decide(&Subject::Pod(uid.clone()), now);
        if let Some(Intent::Apply(write)) = decision.plan.intent {
            let _ = world.acknowledged(&write, String::new(), String::new(), now);
        }
    }
    let mut report = Report { unknown_names, ..Report::default() };
    for uid in &uids {
        let diagnosed = world.with_case(uid, now, |case| {
            let outcome = diagnose_case(case);
            let plan = match &outcome.health {
                Health::Failing(diagnosis) if view.includes_replaced && reconcile::superseded(case) => {
                    reconcile::replaced(case, diagnosis)
                }
                _ => reconcile::failing_or_healthy(None, case, &outcome, false, &policy),
            };
            let is_healthy = matches!(outcome.health, Health::Healthy);
            let undiagnosed =
                (is_healthy && (outcome.wake.is_some() || outcome.left_out.is_some())).then(|| UndiagnosedPod {
                    pod: case.pod.key.clone(),
                    workload: top_workload(case.pod, case.surroundings.known_job()),
                    from: outcome.wake,
                    seen_so_far: (view.includes_unreported && outcome.left_out.is_none())
                        .then(|| SeenSoFar::of(case))
                        .flatten(),
                    left_out: outcome.left_out,
                });
            (plan, outcome.wake, undiagnosed)
        });
        let Some((plan, wake, undiagnosed)) = diagnosed else { continue };
        report.wake = report.wake.into_iter().chain(wake).min();
        report.undiagnosed.extend(undiagnosed);
        if let Some(Intent::Apply(mut write)) = plan.intent {
            // Offline, no Event is emitted.
            write.object.without_event();
            write.announcement = None;
            report.pods.push(*write);
        }
    }
    // Workloads are diagnosed from the diagnoses of their pods.
    for write in &report.pods {
        let _ = world.acknowledged(write, String::new(), String::new(), now);
    }
    report.pods.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.object.subject_uid().cmp(b.object.subject_uid())));
    let unknown_names = &mut report.unknown_names;
    let (others, wake) = nodes_and_workloads(&mut world, &surroundings, (&mut requested, unknown_names), now);
    report.nodes_and_workloads = others;
    if view.includes_unreported {
        report.pending = network::pending(&mut world, now);
    }
    report.wake = report.wake.into_iter().chain(wake).min();
    report
}

/// Diagnoses nodes and workloads after their pods. Returns the writes and when to check again.
fn nodes_and_workloads(
    world: &mut World,
    around: &Surrounding,
    (requested, unknown_names): (&mut HashSet<Lookup>, &mut BTreeSet<NamesOf>),
    now: Timestamp,
) -> (Vec<Write>, Option<Timestamp>) {
    let mut subjects = world.regular_subjects();
    // A lookup result may lead to another lookup, and to healthy workloads that a Service fails to select.
    for _ in 0..4 {
        let mut fresh = Vec::new();
        for subject in &subjects {
            let decision = world.decide(subject, now);
            fresh.extend(decision.needed_lookups.into_iter().filter(|lookup| requested.insert(lookup.clone())));
            if let Some(Intent::Apply(write)) = decision.plan.intent {
                let _ = world.reported.not_written(&write.key);
            }
        }
        let known = std::mem::replace(&mut subjects, world.regular_subjects());
        if fresh.is_empty() && known == subjects {
            break;
        }
        around.answer(fresh, world, unknown_names, now);
    }
    let plans: Vec<_> = subjects.iter().map(|subject| world.decide(subject, now).plan).collect();
    writes(plans, now)
}

/// The writes of plans, sorted, and when to check again. Offline, no Event is emitted.
fn writes(plans: Vec<Plan>, now: Timestamp) -> (Vec<Write>, Option<Timestamp>) {
    let wake = plans.iter().filter_map(|plan| plan.wake).filter(|wake| *wake > now).min();
    let mut writes: Vec<Write> = plans
        .into_iter()
        .filter_map(|plan| match plan.intent {
            Some(Intent::Apply(mut write)) => {
                write.object.without_event();
                write.announcement = None;
                Some(*write)
            }
            _ => None,
        })
        .collect();
    writes.sort_by(|a, b| a.key.cmp(&b.key));
    (writes, wake)
}

/// Loads a dump into the state and returns the data for its lookups.
fn fill(world: &mut World, mut dump: Dump, logs: Logs, now: Timestamp) -> Surrounding {
    set_event_uids(&mut dump);
    let watched: Vec<_> =
        dump.workloads.iter().filter(|workload| workload.key.watched_kind().is_some()).cloned().collect();
    let surroundings = Surrounding::of(&mut dump, logs);
    world.settings.read_names();
    for source in Source::ALL {
        let _ = world.apply(Change::ListStarted(source), now);
    }
    // Before the workloads that they own.
    for object in std::mem::take(&mut dump.resources) {
        let _ = world.apply(Change::Workload(Box::new(object)), now);
    }
    network::fill(world, &mut dump, now);
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
    // Before the pods: a pod with a relevant Event keeps all its facts. Events of the operator itself are conclusions
    // and not evidence; in a cluster the watch filters them.
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

/// Sets the pod UID of Events by name, if the Event or the pod has none (a manifest, a trimmed dump) or the pod is
/// static.
fn set_event_uids(dump: &mut Dump) {
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

/// Workloads, Services and claims of the dump, for lookups.
struct Surrounding {
    workloads: HashMap<WorkloadKey, WorkloadFacts>,
    services: HashMap<Arc<str>, Vec<ServiceFacts>>,
    /// Labels of all pods, by namespace.
    labels: HashMap<Arc<str>, Vec<Labels>>,
    logs: Logs,
    claims: HashMap<Arc<str>, Vec<ClaimFacts>>,
    classes: Option<Arc<[ClassFacts]>>,
    names: BTreeMap<NamesOf, BTreeSet<Arc<str>>>,
}

impl Surrounding {
    fn of(dump: &mut Dump, logs: Logs) -> Self {
        let mut workloads: HashMap<_, _> =
            std::mem::take(&mut dump.workloads).into_iter().map(|facts| (facts.key.clone(), facts)).collect();
        workloads.values_mut().for_each(|facts| dump.complete(facts));
        for job in jobs_inferred_from_pods(&dump.pods) {
            workloads.entry(job.key.clone()).or_insert(job);
        }
        let namespaces: BTreeSet<Arc<str>> = dump.pods.iter().map(|pod| pod.key.namespace.clone()).collect();
        let claims = namespaces.iter().filter_map(|namespace| {
            let claims = unbound_claims(namespace, &dump.claims, &dump.events);
            (!claims.is_empty()).then(|| (namespace.clone(), claims))
        });
        let claims = claims.collect();
        // A dump without any StorageClass probably omits them.
        let classes = (!dump.classes.is_empty()).then(|| dump.classes.iter().map(StorageClass::facts).collect());
        let services = namespaces.into_iter().filter_map(|namespace| {
            let mut services = services_of(&namespace, &dump.services, &dump.slices, &dump.endpoints);
            if dump.slices.is_empty() && dump.endpoints.is_empty() {
                count_by_pods(&mut services, &dump.pods.iter().filter(|pod| pod.key.namespace == namespace));
            }
            // A dump without any Service probably omits them.
            (!services.is_empty()).then_some((namespace, services))
        });
        let services = services.collect();
        let mut labels: HashMap<Arc<str>, Vec<Labels>> = HashMap::new();
        for pod in &dump.pods {
            labels.entry(pod.key.namespace.clone()).or_default().push(pod.labels.clone());
        }
        let mut names = std::mem::take(&mut dump.names);
        for claim in &dump.claims {
            let of = NamesOf::objects(NamedKind::PersistentVolumeClaim, claim.namespace());
            names.entry(of).or_default().extend(claim.metadata.name.as_deref().map(Arc::from));
        }
        Self { workloads, services, labels, logs, claims, classes, names }
    }

    /// Performs lookups. Adds the names that the dump does not have to `unknown_names`.
    fn answer(&self, lookups: Vec<Lookup>, world: &mut World, unknown_names: &mut BTreeSet<NamesOf>, now: Timestamp) {
        for lookup in lookups {
            match (self.look_up(&lookup), lookup) {
                (Some(result), lookup) => {
                    let _ = world.apply(Change::LookupResult { lookup, result }, now);
                }
                (None, Lookup::Names(of)) => {
                    unknown_names.insert(of);
                }
                (None, _) => {}
            }
        }
    }

    /// `None` if the dump does not contain the object, which does not prove that it does not exist.
    fn look_up(&self, lookup: &Lookup) -> Option<LookupResult> {
        match lookup {
            Lookup::Workload(key) => {
                self.workloads.get(key).map(|facts| LookupResult::Workload(Some(Box::new(facts.clone()))))
            }
            // All pods of a dump are loaded with all their facts.
            Lookup::PodsOn(_) => None,
            Lookup::Log(key) => self.logs.of(&key.pod, &key.container).map(LookupResult::Log),
            Lookup::Reached(namespace) => Some(LookupResult::Reached(ReachedFacts {
                services: self.services.get(namespace)?.clone(),
                pods: self.labels.get(namespace).cloned().unwrap_or_default(),
            })),
            Lookup::Services(namespace) => self.services.get(namespace).map(|all| LookupResult::Services(all.clone())),
            // A dump without any object of a kind probably omits them.
            Lookup::Names(of) => self.names.get(of).map(|names| LookupResult::Names(names.iter().cloned().collect())),
            Lookup::Claims(namespace) => self.claims.get(namespace).map(|unbound| {
                LookupResult::Claims(ClaimsFacts { unbound: unbound.clone(), classes: self.classes.clone() })
            }),
        }
    }
}

/// Completed Jobs inferred from their pods, for a dump without Jobs: the Job succeeded if its last pod did, or the last
/// pod of each index of an Indexed Job.
fn jobs_inferred_from_pods(pods: &[PodFacts]) -> Vec<WorkloadFacts> {
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

/// Counts the ready selected pods as endpoints, for a dump without EndpointSlices.
fn count_by_pods<'a>(services: &mut [ServiceFacts], pods: &(impl Iterator<Item = &'a PodFacts> + Clone)) {
    for service in services {
        let ready = pods.clone().filter(|p| p.is_ready() && p.deletion.is_none() && service.selects(&p.labels));
        service.ready_endpoints = u32::try_from(ready.count()).unwrap_or(u32::MAX);
    }
}
