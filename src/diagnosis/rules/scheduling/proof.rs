//! What shows it: what the pod asks for, and what the nearest nodes have.

use super::analysis::Analysis;
use super::explain::Resource;
use super::words::Kind;
use crate::api::Evidence;
use crate::diagnosis::{Case, evidence};
use crate::facts::VolumeSource;

/// The most nodes that evidence lists.
const NODES_SHOWN: usize = 3;

/// What the pod asks for, by the path in its spec.
pub(super) fn asked(case: &Case<'_>, analysis: &Analysis<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    match analysis.kind {
        kind if kind.is_capacity() => {
            let short = analysis.view.as_ref().and_then(|v| v.nearest(kind).first().map(|(_, s)| s.resource.clone()));
            let resource = short.or(match kind {
                Kind::Cpu => Some(Resource::Cpu),
                Kind::Memory => Some(Resource::Memory),
                Kind::EphemeralStorage => Some(Resource::EphemeralStorage),
                _ => analysis.extended().map(|name| Resource::Extended(name.into())),
            });
            resource.map(|r| requests(case, &r)).unwrap_or_default()
        }
        Kind::Selector => {
            let labels = pod.node_selector.iter();
            let mut found: Vec<_> =
                labels.map(|(k, v)| evidence::field(format!("spec.nodeSelector[{k}]"), v)).collect();
            if found.is_empty()
                && let Some(unmet) =
                    analysis.view.as_ref().and_then(|v| v.nearest_by_labels().first()?.unmet.first().cloned())
            {
                found.push(evidence::field(unmet.path.clone(), unmet.wanted()));
            }
            found
        }
        Kind::HostPort => {
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
        kind if kind.is_about_a_claim() => {
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
        found.push(evidence::field("spec (as the scheduler counts it)", resource.amount_of(case.language(), total)));
    }
    found
}

/// What the nearest nodes have, or lack.
pub(super) fn nodes(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let Some(view) = &analysis.view else { return Vec::new() };
    let kind = analysis.kind;
    match kind {
        kind if kind.is_capacity() => view
            .nearest(kind)
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
        Kind::Taint => view
            .nodes
            .iter()
            .filter(|n| !n.taints.is_empty())
            .take(NODES_SHOWN)
            .map(|n| {
                let taints: Vec<_> = n.taints.iter().map(ToString::to_string).collect();
                evidence::field(format!("node/{}.spec.taints", n.name()), taints.join(", "))
            })
            .collect(),
        Kind::Cordoned => view
            .nodes
            .iter()
            .filter(|n| n.cordoned)
            .take(NODES_SHOWN)
            .map(|n| evidence::field(format!("node/{}.spec.unschedulable", n.name()), "true"))
            .collect(),
        Kind::Selector => view
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
