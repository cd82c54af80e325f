//! A Service that reaches nobody, because its selector is that of no pod.
//!
//! Many such Services are meant to be so (a canary's, one that waits for its workload): it counts only where a workload
//! that no other Service reaches has all labels but one.

use super::case::{StrayService, WorkloadCase, WorkloadJudged};
use super::pods::Pods;
use super::tell::{Own, Verdict, Why, tell};
use super::{known, remedies};
use crate::api::{Confidence, Root, Severity};
use crate::diagnosis::language::say;
use crate::diagnosis::{evidence, text};
use crate::facts::{Labelled, Labels, ServiceFacts, Timestamp, after};

/// For so long, in seconds, a new Service may be ahead of its workload.
const YOUNG: i64 = 300;

/// When the youngest of these Services is old enough to count.
pub fn strays_due(services: &[ServiceFacts], now: Timestamp) -> Option<Timestamp> {
    let due = services.iter().filter_map(|service| Some(after(service.created?, YOUNG)));
    due.filter(|due| *due > now).min()
}

/// The Services of a namespace that match nothing, with the workloads that they are meant for. All Services, pods and
/// workloads of the namespace must be given, those that are well too.
pub fn stray_services<'p>(
    services: &[ServiceFacts],
    pods: &(impl Iterator<Item = &'p Labels> + Clone),
    workloads: &[Labelled],
    now: Timestamp,
) -> Vec<StrayService> {
    let is_due = |service: &&ServiceFacts| {
        let is_old = service.created.is_some_and(|created| after(created, YOUNG) <= now);
        is_old && !service.external && !service.selector.is_empty() && service.ready_endpoints == 0
    };
    let selects_none = |service: &&ServiceFacts| {
        !pods.clone().any(|labels| service.selects(labels))
            && !workloads.iter().any(|workload| service.selects(&workload.labels))
    };
    let due = services.iter().filter(is_due).filter(selects_none);
    due.filter_map(|service| {
        let mut meant = workloads.iter().filter_map(|workload| nearly(service, services, workload));
        let first = meant.next()?;
        // Where two come as near, nobody knows which.
        meant.next().is_none().then_some(first)
    })
    .collect()
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
        key: key.to_owned(),
        wants: wants.to_owned(),
        has: labels.get(key).map(str::to_owned),
    })
}

/// A workload that is well, and that its Service does not reach.
pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let Some(stray) = case.strays.first() else { return WorkloadJudged::default() };
    let StrayService { service, key, wants, has, .. } = stray;
    let label = |value: &str| text::line(&format!("{key}={value}"), 140);
    let has = match has {
        Some(has) => say!(case, "its pods have {has}", has = label(has)),
        None => "its pods have no such label".to_owned(),
    };
    let own = Own {
        cause: known::SERVICE_SELECTS_NOTHING,
        confidence: Confidence::Likely,
        summary: say!(
            case,
            "Service {service} reaches no pod: it selects {wants}, and {has}",
            service,
            wants = label(wants),
            has
        ),
        remedies: remedies::stray(case, stray),
        evidence: vec![evidence::field(format!("service/{service}.spec.selector[{key}]"), wants)],
        root: Some(Root { kind: "Service".to_owned(), name: service.to_string() }),
    };
    let verdict = Verdict::new("NotServed", Severity::Critical, String::new(), Why::Own(Box::new(own)));
    WorkloadJudged::failing(tell(case, &Pods::of(case), verdict))
}
