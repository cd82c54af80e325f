//! Impact and severity of a failure.

use crate::api::{ContainerType, Impact, ServiceImpact, Severity, WorkloadImpact};
use crate::case::ownership::JobState;
use crate::case::{Case, ownership};
use crate::facts::{Lookup, ServiceFacts, WorkloadFacts, WorkloadKey};

/// Maximum number of Services and containers in a diagnosis. A namespace can have thousands, and objects must stay
/// small.
const NAMED: usize = 10;

/// The known impact of a failing pod.
pub(crate) fn of(case: &Case<'_>, culprit: Option<&str>) -> Impact {
    let healthy = |c: &&crate::facts::Container| {
        matches!(c.kind, ContainerType::App | ContainerType::Sidecar)
            && c.is_running()
            && c.ready
            && culprit != Some(&*c.name)
    };
    Impact {
        pod_ready: case.pod.is_ready(),
        healthy_containers: case
            .pod
            .containers
            .iter()
            .filter(healthy)
            .take(NAMED)
            .map(|c| c.name.to_string())
            .collect(),
        services: services(case.surroundings.services.iter().flatten()),
        workload: case.surroundings.known_workload().map(|facts| of_workload(case, facts)),
    }
}

/// Remaining endpoints of the Services. If there are many, the ones with the fewest endpoints.
pub(crate) fn services<'a>(all: impl Iterator<Item = &'a ServiceFacts>) -> Vec<ServiceImpact> {
    let mut named: Vec<_> =
        all.map(|s| ServiceImpact { name: s.name.to_string(), ready_endpoints: s.ready_endpoints }).collect();
    if named.len() > NAMED {
        named.sort_by_key(|service| service.ready_endpoints);
        named.truncate(NAMED);
    }
    named
}

fn of_workload(case: &Case<'_>, facts: &WorkloadFacts) -> WorkloadImpact {
    let siblings = case.surroundings.siblings;
    let desired = count(facts.desired);
    let newest = facts.replica_sets.iter().max_by_key(|rs| rs.revision);
    let (updated_ready, old_ready) = match newest {
        Some(newest) => (
            count(newest.ready),
            count(facts.replica_sets.iter().filter(|rs| rs.uid != newest.uid).map(|rs| rs.ready).sum()),
        ),
        None => (siblings.ready, 0),
    };
    // Stuck: the pod has the newest template, that template lacks replicas, and pods of the old template still exist.
    let of_newest = newest.zip(case.pod.owner.as_ref()).is_some_and(|(rs, owner)| rs.uid == owner.uid);
    let rollout_stuck = of_newest
        && updated_ready < desired
        && newest.is_some_and(|n| facts.replica_sets.iter().any(|rs| rs.uid != n.uid && rs.desired > 0));
    WorkloadImpact { desired, updated_ready, old_ready, failing: siblings.failing.max(1), rollout_stuck }
}

fn count(n: i64) -> u32 {
    u32::try_from(n.max(0)).unwrap_or(u32::MAX)
}

/// Critical if a bare pod is down, the workload has no ready pod, or a Service has no ready endpoints. Otherwise other
/// pods still serve.
pub(crate) fn severity(case: &Case<'_>, impact: &Impact) -> Severity {
    let job = ownership::job_state(case);
    if impact.pod_ready && job != JobState::Failed {
        return Severity::Warning;
    }
    if impact.services.iter().any(|s| s.ready_endpoints == 0) {
        return Severity::Critical;
    }
    let Some(own) = ownership::immediate(case.pod) else { return Severity::Critical };
    if &*own.kind == "Job" {
        return if job == JobState::Failed { Severity::Critical } else { Severity::Warning };
    }
    // The lookup may date from a moment when this pod itself was ready, so it only counts for pods that are not
    // watched.
    let siblings = case.surroundings.siblings;
    let unseen_ready = |w: &WorkloadImpact| w.desired > siblings.total.max(1) && w.updated_ready + w.old_ready > 0;
    let others_ready = siblings.ready > 0 || impact.workload.as_ref().is_some_and(unseen_ready);
    if others_ready { Severity::Warning } else { Severity::Critical }
}

/// Objects to look up for a failing pod: the Services of its namespace, its Job and its top-level workload.
pub(crate) fn needed_lookups(case: &Case<'_>) -> Vec<Lookup> {
    let mut out = vec![Lookup::Services(case.pod.key.namespace.clone())];
    let known = |key: Option<WorkloadKey>| key.filter(WorkloadKey::is_known).map(Lookup::Workload);
    let own = known(ownership::immediate(case.pod).filter(|own| &*own.kind == "Job"));
    let top = known(ownership::top(case.pod, case.surroundings.known_job()));
    for lookup in own.into_iter().chain(top) {
        if !out.contains(&lookup) {
            out.push(lookup);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_with_the_fewest_endpoints_are_listed_first() {
        let all: Vec<ServiceFacts> = (0..1000)
            .map(|n| ServiceFacts {
                name: format!("s{n}").into(),
                ready_endpoints: 1000 - n,
                ..ServiceFacts::default()
            })
            .collect();
        let named = services(all.iter());
        assert_eq!(named.len(), NAMED);
        assert_eq!(named.first().map(|service| service.ready_endpoints), Some(1));
        let few = services(all[..2].iter());
        assert_eq!(few.iter().map(|service| &*service.name).collect::<Vec<_>>(), ["s0", "s1"], "in their own order");
    }
}
