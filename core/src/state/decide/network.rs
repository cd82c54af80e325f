//! Decisions for objects on the path of a request, autoscalers and disruption budgets.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::object::{before_judging, plan_of};
use crate::case::{AutoscalerProblem, BrokenHop, BudgetProblem, ClaimProblem, WorkloadCase, WorkloadJudged};
use crate::facts::route::{AutoscalerFacts, BackendPod, BudgetFacts, NetworkKind, NetworkObject, PodCause};
use crate::facts::{Names, ObjectKey, Timestamp, WorkloadKey};
use crate::reconcile::DiagnosisKey;
use crate::rules::route::{self, Evicted, Scaled};
use crate::state::cluster::network::Affected;
use crate::state::{ClusterState, Decision, NetworkChange, Touched, World};

/// Applies a change of the network.
pub(in crate::state) fn apply(world: &mut World, change: NetworkChange, now: Timestamp) -> Touched {
    match change {
        NetworkChange::Seen(object) => {
            let affected = world.cluster.network.put(*object);
            for (kind, key) in &affected {
                world.cluster.gone_workloads.remove(&kind.workload(key));
            }
            world.cluster.network.subjects(affected)
        }
        NetworkChange::Deleted(kind, key) => removed(world, kind, &key, now),
        NetworkChange::Listed { kind, namespace, present } => {
            let diagnosed = world.reported.workload_records.workloads().filter(|of| NetworkKind::of(of) == Some(kind));
            let diagnosed = diagnosed.map(|of| ObjectKey::new(of.namespace.clone(), of.name.clone()));
            let is_within = |key: &ObjectKey| namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace);
            let mut gone: BTreeSet<ObjectKey> =
                diagnosed.filter(|key| is_within(key) && !present.contains(key)).collect();
            gone.extend(world.cluster.network.absent(kind, namespace.as_ref(), &present));
            let mut all: Touched = gone.iter().flat_map(|key| removed(world, kind, key, now)).collect();
            let affected = world.cluster.network.listed(kind, namespace.as_ref());
            all.extend(settled(world, kind, namespace.as_ref(), affected));
            all
        }
        NetworkChange::Unavailable { kind, namespace } => {
            let affected = world.cluster.network.unlisted(kind);
            settled(world, kind, namespace.as_ref(), affected)
        }
    }
}

/// A list has arrived, or cannot. With the last one, everything can be decided.
fn settled(world: &mut World, kind: NetworkKind, namespace: Option<&Arc<str>>, affected: Affected) -> Touched {
    let affected =
        if world.cluster.network.settle(kind, namespace) { world.cluster.network.keys().collect() } else { affected };
    world.cluster.network.subjects(affected)
}

fn removed(world: &mut World, kind: NetworkKind, key: &ObjectKey, now: Timestamp) -> Touched {
    let affected = world.cluster.network.remove(kind, key);
    let mut all = world.cluster.network.subjects(affected);
    if kind.is_diagnosed() {
        let workload = kind.workload(key);
        world.cluster.network.forget(&workload);
        all.extend(super::workload::workload_deleted(world, &workload, now));
    }
    all
}

/// The diagnosis of a pod that is not ready.
pub(in crate::state) fn cause_of(world: &World, key: &ObjectKey) -> Option<PodCause> {
    world.reported.pod_records.summary_entry(key).filter(|record| record.is_active())?;
    let record = world.reported.pod_records.get(key)?;
    let head = record.object.head();
    Some(PodCause { cause: head.cause.clone(), summary: head.summary.clone() })
}

/// The diagnosis of a pod was written.
pub(in crate::state) fn pod_diagnosed(world: &mut World, key: &ObjectKey) -> Touched {
    if !world.cluster.network.is_on() {
        return Touched::new();
    }
    let cause = cause_of(world, key);
    let affected = world.cluster.network.pod_diagnosed(key, cause);
    world.cluster.network.subjects(affected)
}

/// The diagnoses were replaced by those of another leader.
pub(in crate::state) fn pods_restored(world: &mut World) {
    let unready: Vec<ObjectKey> = world.cluster.network.unready_pods().cloned().collect();
    for key in unready {
        let _ = pod_diagnosed(world, &key);
    }
}

/// What is wrong with an object.
enum Finding {
    Path(Option<Box<BrokenHop>>),
    Scaling(Option<AutoscalerProblem>),
    Eviction(Option<BudgetProblem>),
    Unused(Option<ClaimProblem>),
}

impl Finding {
    /// A text that differs between problems of one object, and stays while one lasts; `None`: nothing is wrong.
    fn fingerprint(&self) -> Option<String> {
        match self {
            Self::Path(broken) => broken.as_ref().map(|of| {
                format!(
                    "{:?} {} {} {} {} {} {}",
                    of.hop, of.class, of.gateway, of.listener, of.secret, of.service, of.port
                )
            }),
            Self::Scaling(problem) => problem.as_ref().map(|of| format!("{} {}", of.condition, of.reason)),
            Self::Eviction(problem) => problem.as_ref().map(|of| of.node.clone()),
            Self::Unused(problem) => problem.as_ref().map(|_| String::new()),
        }
    }

    fn judge(&self, case: &WorkloadCase<'_>) -> WorkloadJudged {
        match self {
            Self::Path(broken) => route::judge_route(case, broken.as_deref()),
            Self::Scaling(problem) => route::judge_autoscaler(case, problem.as_ref()),
            Self::Eviction(problem) => route::judge_budget(case, problem.as_ref()),
            Self::Unused(problem) => route::judge_claim(case, problem.as_ref()),
        }
    }
}

fn find(cluster: &ClusterState, kind: NetworkKind, key: &ObjectKey) -> Option<Finding> {
    let state = &cluster.network;
    let network = &state.network;
    let path = |broken: Option<BrokenHop>| Finding::Path(broken.map(Box::new));
    match kind {
        NetworkKind::Gateway => Some(path(route::walk_gateway(network, network.gateways.get(key)?))),
        NetworkKind::Service if state.is_followed(key) => Some(path(None)),
        NetworkKind::Service => Some(path(route::walk_service(network, network.services.get(key)?))),
        _ => Some(match state.object(kind, key)? {
            NetworkObject::Ingress(ingress) => path(route::walk_ingress(network, ingress)),
            NetworkObject::Route(of) => path(route::walk_route(network, of)),
            NetworkObject::Autoscaler(of) => Finding::Scaling(route::autoscaler_problem(of, &scaled(cluster, of))),
            NetworkObject::Budget(of) => Finding::Eviction(route::budget_problem(of, &evicted(cluster, of))),
            NetworkObject::Claim(of) => Finding::Unused(route::claim_problem(network, of)),
            _ => return None,
        }),
    }
}

/// The Pending pods of an autoscaler's target.
fn scaled(cluster: &ClusterState, autoscaler: &AutoscalerFacts) -> Scaled {
    let pods = || cluster.network.network.pods_in(&autoscaler.identity.key.namespace);
    let pending = || pods().filter(|pod| pod.pending_of.as_ref().is_some_and(|of| autoscaler.targets(of)));
    let cause = pending().find_map(|pod| pod.cause.as_ref()).map(|of| of.cause.clone()).unwrap_or_default();
    Scaled { pending: pending().count(), cause }
}

/// The pods of a budget that a drain would evict.
fn evicted(cluster: &ClusterState, budget: &BudgetFacts) -> Evicted {
    let own = || {
        let pods = cluster.network.network.pods_in(&budget.identity.key.namespace);
        pods.filter(|pod| budget.selects(&pod.labels))
    };
    let is_cordoned = |node: &Arc<str>| cluster.nodes.get(node).is_some_and(|node| node.facts.unschedulable);
    let placed = own().find(|pod| pod.node.as_ref().is_some_and(is_cordoned));
    let unhealthy = own().find(|pod| pod.cause.is_some());
    let name = |pod: &BackendPod| pod.key.name.to_string();
    Evicted {
        node: placed.and_then(|pod| pod.node.as_deref()).unwrap_or_default().to_owned(),
        pod: placed.map(name).unwrap_or_default(),
        since: None,
        unhealthy: unhealthy.map(name).unwrap_or_default(),
        cause: unhealthy.and_then(|pod| pod.cause.as_ref()).map(|of| of.cause.clone()).unwrap_or_default(),
    }
}

pub(in crate::state) fn decide(world: &mut World, kind: NetworkKind, key: &WorkloadKey, now: Timestamp) -> Decision {
    if !world.cluster.network.is_on() {
        // An earlier run followed the network. Nothing else ends this diagnosis.
        world.cluster.gone_workloads.insert(key.clone());
    } else if !world.cluster.network.is_complete() {
        return Decision::default();
    }
    let object = DiagnosisKey::of_workload(key);
    if let Some(decision) = before_judging(world, key, &object, now) {
        return decision;
    }
    let of_kind = ObjectKey::new(key.namespace.clone(), key.name.clone());
    let Some(facts) = world.cluster.network.facts(kind, &of_kind) else { return Decision::default() };
    if facts.deleting {
        return super::workload::mark_gone(world, key, &object, now).into();
    }
    let _ = world.cluster.apply_overrides(&facts);
    let Some(finding) = find(&world.cluster, kind, &of_kind) else { return Decision::default() };
    let since = world.cluster.network.since(key, finding.fingerprint(), now);
    let active_status = world.reported.active_status(&object, &facts.uid);
    let since = since.filter(|_| active_status.is_none());
    let since = since.or(facts.created).unwrap_or(Timestamp::UNIX_EPOCH);
    let names = Names::default();
    let judged = finding.judge(&WorkloadCase {
        current: active_status.as_ref(),
        ..WorkloadCase::of_status(&facts, since, &names, &world.settings.thresholds, now)
    });
    plan_of(world, &facts, judged, (&[], &[]), now).into()
}

#[cfg(test)]
mod tests;
