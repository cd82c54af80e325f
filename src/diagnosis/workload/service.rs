//! A Service that reaches nobody, because its selector is that of no pod, or none of its ports that of the pods.
//!
//! Many Services that select nothing are meant to be so (a canary's, one that waits for its workload): it counts only where a
//! workload that no other Service reaches has all labels but one.

use super::case::{Apart, StrayService, WorkloadCase, WorkloadJudged};
use super::pods::Pods;
use super::tell::{Own, Verdict, Why, tell};
use crate::api::{Evidence, Severity};
use crate::diagnosis::evidence;
use crate::diagnosis::signals::service::MismatchedService;
use crate::facts::{Labelled, Labels, ServiceFacts, Timestamp, after};

/// For so long, in seconds, a new Service may be ahead of its workload.
const YOUNG: i64 = 300;

/// When the youngest of these Services is old enough to count.
pub fn strays_due(services: &[ServiceFacts], now: Timestamp) -> Option<Timestamp> {
    let due = services.iter().filter_map(|service| Some(after(service.created?, YOUNG)));
    due.filter(|due| *due > now).min()
}

/// The Services of a namespace that reach nobody, with the workloads that they are meant for. All Services, pods and
/// workloads of the namespace must be given, those that are well too.
pub fn stray_services<'p>(
    services: &[ServiceFacts],
    pods: &(impl Iterator<Item = &'p Labels> + Clone),
    workloads: &[Labelled],
    now: Timestamp,
) -> Vec<StrayService> {
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
        // Where two come as near, nobody knows which.
        meant.next().is_none().then_some(first)
    })
    .collect()
}

/// A Service that selects pods, and whose ports lead to names that none of them has. Endpoints are made for it all the same,
/// without a port.
fn without_port(service: &ServiceFacts, workloads: &[Labelled]) -> Option<StrayService> {
    let wants = &service.target_ports;
    if wants.is_empty() || service.endpoints_have_ports == Some(true) {
        return None;
    }
    let mut selected = workloads.iter().filter(|workload| workload.desired > 0 && service.selects(&workload.labels));
    let first = selected.next()?;
    let lacks = |workload: &Labelled| workload.ports.is_disjoint(wants);
    (lacks(first) && selected.all(lacks)).then(|| StrayService {
        service: service.name.clone(),
        workload: first.key.clone(),
        apart: Apart::Ports {
            wants: wants.clone(),
            has: first.ports.clone(),
            proven: service.endpoints_have_ports == Some(false),
        },
    })
}

/// Whether a workload has all labels that the Service asks for but one, and no Service that reaches it.
fn nearly(service: &ServiceFacts, services: &[ServiceFacts], workload: &Labelled) -> Option<StrayService> {
    let labels = &workload.labels;
    if workload.desired <= 0 || services.iter().any(|other| other.selects(labels)) {
        return None;
    }
    let mut apart = service.selector.iter().filter(|(key, value)| labels.get(key) != Some(*value));
    let (key, wants) = apart.next()?;
    let is_near = apart.next().is_none() && (service.selector.iter().count() > 1 || service.name == workload.key.name);
    is_near.then(|| StrayService {
        service: service.name.clone(),
        workload: workload.key.clone(),
        apart: Apart::Label { key: key.to_owned(), wants: wants.to_owned(), has: labels.get(key).map(str::to_owned) },
    })
}

/// A workload that is healthy, and whose Service does not match it.
pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let Some(stray) = case.strays.first() else { return WorkloadJudged::default() };
    let signal = MismatchedService { case, stray };
    let Some((_, own)) = Own::of(case, &signal, evidence(&signal)) else { return WorkloadJudged::default() };
    let verdict = Verdict::new("NotServed", Severity::Critical, String::new(), Why::Own(own));
    WorkloadJudged::failing(tell(case, &Pods::of(case), verdict))
}

fn evidence(signal: &MismatchedService<'_>) -> Vec<Evidence> {
    let service = &signal.stray.service;
    match &signal.stray.apart {
        Apart::Label { key, wants, .. } => {
            vec![evidence::field(format!("service/{service}.spec.selector[{key}]"), wants.as_str())]
        }
        Apart::Ports { proven, .. } => {
            let wanted = evidence::field(format!("service/{service}.spec.ports.targetPort"), signal.target_ports());
            let empty = proven.then(|| evidence::field(format!("endpointslice of service/{service}: ports"), "none"));
            std::iter::once(wanted).chain(empty).collect()
        }
    }
}
