//! Evidence of the pod's requests and of the closest nodes.

use super::analysis::Analysis;
use super::resource::Resource;
use super::words::Check;
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::VolumeSource;

/// Maximum number of nodes in the evidence.
const NODES_SHOWN: usize = 3;

/// What the pod requests, with the path in its spec.
pub(super) fn asked(case: &Case<'_>, analysis: &Analysis<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    match analysis.check {
        check if check.is_capacity() => {
            let short = analysis.view.as_ref().and_then(|v| v.nearest(check).first().map(|(_, s)| s.resource.clone()));
            let resource = short.or_else(|| analysis.resource());
            resource.map(|r| requests(case, &r)).unwrap_or_default()
        }
        Check::Selector => {
            let labels = pod.node_selector.iter();
            let mut found: Vec<_> =
                labels.map(|(k, v)| evidence::field(format!("spec.nodeSelector[{k}]"), v)).collect();
            if found.is_empty()
                && let Some(unmet) =
                    analysis.view.as_ref().and_then(|v| v.nearest_by_labels().first()?.unmet.first().cloned())
            {
                found.push(evidence::field(unmet.path.clone(), unmet.requirement()));
            }
            found
        }
        Check::HostPort => {
            let containers = pod.containers.iter();
            let ports = containers.flat_map(|c| c.ports.iter().filter_map(move |p| Some((c, p, p.host_port?))));
            ports
                .map(|(c, p, host)| {
                    evidence::field(
                        format!("{}.ports[{}].hostPort", c.spec_path(), p.number),
                        format!("{host}/{}", p.protocol),
                    )
                })
                .collect()
        }
        check if check.is_about_a_claim() => {
            let claims = pod.volumes.iter().filter_map(|v| match &v.source {
                VolumeSource::Claim { name, ephemeral } => Some((v, name, ephemeral)),
                _ => None,
            });
            let named = analysis.claim();
            claims
                .filter(|(_, name, _)| named.is_none_or(|n| n == name.as_str()))
                .map(|(volume, name, ephemeral)| {
                    let field = if *ephemeral { "ephemeral" } else { "persistentVolumeClaim.claimName" };
                    evidence::field(format!("spec.volumes[{}].{field}", volume.name), name)
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

fn requests(case: &Case<'_>, resource: &Resource) -> Vec<Evidence> {
    let pod = case.pod;
    let asking: Vec<_> =
        pod.containers.iter().filter_map(|c| resource.of(&c.requests).filter(|n| *n > 0).map(|n| (c, n))).collect();
    let mut found: Vec<_> = asking
        .iter()
        .take(NODES_SHOWN)
        .map(|(c, n)| {
            evidence::field(format!("{}.resources.requests.{}", c.spec_path(), resource.name()), resource.quantity(*n))
        })
        .collect();
    if asking.len() != 1
        && !matches!(resource, Resource::Pods)
        && let Some(total) = resource.of(&pod.effective_requests())
    {
        found.push(evidence::field("spec (as the scheduler counts it)", resource.amount_of(total)));
    }
    found
}

/// What the closest nodes have or lack.
pub(super) fn nodes(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let Some(view) = &analysis.view else { return Vec::new() };
    let check = analysis.check;
    match check {
        check if check.is_capacity() => view
            .nearest(check)
            .into_iter()
            .take(NODES_SHOWN)
            .map(|(node, s)| {
                let amount = |n| s.resource.amount(n);
                let (free, of, missing) = (amount(s.free.max(0)), amount(s.allocatable), amount(s.missing()));
                let value = if node.state.all_pods_known {
                    format!("{free} free of {of}, {missing} short")
                } else {
                    format!("at most {free} free of {of}: not all pods that may run there are known")
                };
                evidence::field(format!("node/{}.status.allocatable.{}", node.name(), s.resource.name()), value)
            })
            .collect(),
        Check::Taint => view
            .nodes
            .iter()
            .filter(|n| !n.taints.is_empty())
            .take(NODES_SHOWN)
            .map(|n| {
                let taints: Vec<_> = n.taints.iter().map(ToString::to_string).collect();
                evidence::field(format!("node/{}.spec.taints", n.name()), taints.join(", "))
            })
            .collect(),
        Check::Cordoned => view
            .nodes
            .iter()
            .filter(|n| n.cordoned)
            .take(NODES_SHOWN)
            .map(|n| evidence::field(format!("node/{}.spec.unschedulable", n.name()), "true"))
            .collect(),
        Check::Selector => view
            .nearest_by_labels()
            .into_iter()
            .take(NODES_SHOWN)
            .filter_map(|n| {
                let unmet = n.unmet.iter().find(|u| u.resembles.is_some()).or(n.unmet.first())?;
                if unmet.is_node_name() {
                    return None;
                }
                let (key, value) = match (&unmet.resembles, &unmet.has) {
                    (Some((key, value)), _) => (key, value.clone()),
                    (None, Some(value)) => (&unmet.key, value.clone()),
                    (None, None) => (&unmet.key, "(absent)".to_owned()),
                };
                Some(evidence::field(format!("node/{}.metadata.labels[{key}]", n.name()), value))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The node that is being cleared for the pod.
pub(super) fn preemption(case: &Case<'_>) -> Option<Evidence> {
    case.pod.nominated_node.as_deref().map(|node| evidence::field("status.nominatedNodeName", node))
}

/// Evidence for a pod on which no scheduler has reported.
pub(super) fn silence(case: &Case<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    let names = match pod.resource_claims.as_slice() {
        [] => evidence::field("spec.schedulerName", &pod.scheduler_name),
        claims => evidence::field("spec.resourceClaims", claims.join(", ")),
    };
    vec![names, evidence::field("status.conditions", "(none: no scheduler has written PodScheduled)")]
}
