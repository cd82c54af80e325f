//! Services without ready endpoints because no pod matches the selector or none of the target ports exists in the pods.
//!
//! Many Services select nothing on purpose (for a canary or a future workload). A mismatch counts only if a workload
//! without another Service has all labels except one.

use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::Pods;
use crate::api::{Evidence, Severity};
use crate::case::{Apart, UnmatchedService, WorkloadCase, WorkloadJudged, evidence};
use crate::facts::{Labelled, Labels, ServiceFacts, Timestamp, after};
use crate::signals::service::MismatchedService;

/// Seconds for which a new Service may exist before its workload.
const YOUNG: i64 = 300;

/// Time at which the youngest of these Services is old enough to count.
pub fn unmatched_due(services: &[ServiceFacts], now: Timestamp) -> Option<Timestamp> {
    let due = services.iter().filter_map(|service| Some(after(service.created?, YOUNG)));
    due.filter(|due| *due > now).min()
}

/// The Services of a namespace without ready endpoints, with the workloads that they are meant for. The arguments must
/// include all Services, pods and workloads of the namespace, also healthy ones.
pub fn unmatched_services<'p>(
    services: &[ServiceFacts],
    pods: &(impl Iterator<Item = &'p Labels> + Clone),
    workloads: &[Labelled],
    now: Timestamp,
) -> Vec<UnmatchedService> {
    let is_due = |service: &&ServiceFacts| {
        let is_old = service.created.is_some_and(|created| after(created, YOUNG) <= now);
        is_old && !service.external && !service.selector.is_empty()
    };
    let selects_none = |service: &ServiceFacts| {
        !pods.clone().any(|labels| service.selects(labels))
            && !workloads.iter().any(|workload| service.selects(&workload.labels))
    };
    let due = services.iter().filter(is_due);
    due.filter_map(|service| {
        if service.ready_endpoints > 0 || !selects_none(service) {
            return without_port(service, workloads);
        }
        let mut meant = workloads.iter().filter_map(|workload| nearly(service, services, workload));
        let first = meant.next()?;
        // If two workloads match equally, the intended one is unknown.
        meant.next().is_none().then_some(first)
    })
    .collect()
}

/// A Service that selects pods but whose target port names do not exist in them. Kubernetes still creates endpoints for
/// it, without ports.
fn without_port(service: &ServiceFacts, workloads: &[Labelled]) -> Option<UnmatchedService> {
    let expected = &service.target_ports;
    if expected.is_empty() || service.endpoints_have_ports == Some(true) {
        return None;
    }
    let mut selected = workloads.iter().filter(|workload| workload.desired > 0 && service.selects(&workload.labels));
    let first = selected.next()?;
    let lacks = |workload: &Labelled| workload.ports.is_disjoint(expected);
    (lacks(first) && selected.all(lacks)).then(|| UnmatchedService {
        service: service.name.clone(),
        workload: first.key.clone(),
        apart: Apart::Ports {
            expected: expected.clone(),
            has: first.ports.clone(),
            proven: service.endpoints_have_ports == Some(false),
        },
    })
}

/// Whether a workload has all labels of the selector except one, and no other Service selects it.
fn nearly(service: &ServiceFacts, services: &[ServiceFacts], workload: &Labelled) -> Option<UnmatchedService> {
    let labels = &workload.labels;
    if workload.desired <= 0 || services.iter().any(|other| other.selects(labels)) {
        return None;
    }
    let mut apart = service.selector.iter().filter(|(key, value)| labels.get(key) != Some(*value));
    let (key, expected) = apart.next()?;
    let is_near = apart.next().is_none() && (service.selector.iter().count() > 1 || service.name == workload.key.name);
    is_near.then(|| UnmatchedService {
        service: service.name.clone(),
        workload: workload.key.clone(),
        apart: Apart::Label {
            key: key.to_owned(),
            expected: expected.to_owned(),
            has: labels.get(key).map(str::to_owned),
        },
    })
}

/// Judges a healthy workload whose Service does not match it.
pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let Some(unmatched) = case.orphans.first() else { return WorkloadJudged::default() };
    let signal = MismatchedService { case, unmatched };
    let Some(own) = Own::of(case, &signal, evidence(&signal)) else { return WorkloadJudged::default() };
    let verdict = Verdict::new("NotServed", Severity::Critical, String::new(), Why::Own(own));
    WorkloadJudged::failing(build_failure(case, &Pods::of(case), verdict))
}

fn evidence(signal: &MismatchedService<'_>) -> Vec<Evidence> {
    let service = &signal.unmatched.service;
    match &signal.unmatched.apart {
        Apart::Label { key, expected, .. } => {
            vec![evidence::field(format!("service/{service}.spec.selector[{key}]"), expected.as_str())]
        }
        Apart::Ports { proven, .. } => {
            let ports = evidence::field(format!("service/{service}.spec.ports.targetPort"), signal.target_ports());
            let empty = proven.then(|| evidence::field(format!("endpointslice of service/{service}: ports"), "none"));
            std::iter::once(ports).chain(empty).collect()
        }
    }
}
