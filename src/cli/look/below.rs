//! The objects that requested custom resources control, directly or not, and those behind objects on the path of a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use shindan_core::facts::{ObjectKey, Owner, WorkloadFacts, WorkloadKey};
use shindan_core::wire::Dump;

use super::behind;
use super::kind::Kind;
use super::subject::{Asked, Subject};
use crate::cli::found::{NodeOrWorkload, OfNodeOrWorkload, OfPod};

/// Pods, workloads and other objects whose failures belong to the requested objects.
#[derive(Debug, Default)]
pub(in crate::cli) struct Below {
    pods: BTreeSet<ObjectKey>,
    workloads: BTreeSet<WorkloadKey>,
}

impl Below {
    pub(super) fn of(dump: &Dump, asked: &Asked, namespace: Option<&str>) -> Self {
        let mut below = Self::of_custom(dump, asked, namespace);
        let (pods, workloads) = behind::of(dump, asked.subjects(), namespace);
        below.pods.extend(pods);
        below.workloads.extend(workloads);
        below
    }

    /// What the requested custom resources control, without what is behind other objects. A Service with a ready pod is
    /// healthy, even if another of its pods fails.
    pub(super) fn of_custom(dump: &Dump, asked: &Asked, namespace: Option<&str>) -> Self {
        let is_asked = |facts: &&WorkloadFacts| {
            let is_it = |subject: &Subject| subject.is_workload(&facts.key);
            match asked {
                Asked::These(subjects) => subjects.iter().any(is_it),
                Asked::Kind(kind @ Kind::Custom(_)) => kind.is_of(&facts.key.api_version, &facts.key.kind),
                _ => false,
            }
        };
        let is_in_place = |facts: &&WorkloadFacts| namespace.is_none_or(|of| *facts.key.namespace == *of);
        let roots = dump.resources.iter().filter(is_asked);
        // The snapshot has cluster-scoped objects too.
        let roots: Vec<_> = match asked {
            Asked::These(subjects) if subjects.iter().any(|of| of.kind.is_cluster_scoped()) => roots.collect(),
            _ => roots.filter(is_in_place).collect(),
        };
        let mut below = Self::default();
        if roots.is_empty() {
            return below;
        }
        let mut uids: BTreeSet<&Arc<str>> = roots.iter().map(|facts| &facts.uid).collect();
        let is_below =
            |uids: &BTreeSet<&Arc<str>>, owner: Option<&Owner>| owner.is_some_and(|of| uids.contains(&of.uid));
        let mut rest: Vec<&WorkloadFacts> = dump.resources.iter().chain(&dump.workloads).collect();
        loop {
            let (found, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|facts| is_below(&uids, facts.owner.as_ref()));
            if found.is_empty() {
                break;
            }
            uids.extend(found.iter().map(|facts| &facts.uid));
            below.workloads.extend(found.into_iter().map(|facts| facts.key.clone()));
            rest = others;
        }
        let pods = dump.pods.iter().filter(|pod| is_below(&uids, pod.owner.as_ref()));
        below.pods = pods.map(|pod| pod.key.clone()).collect();
        below
    }

    pub(super) fn has_pod(&self, pod: &OfPod) -> bool {
        self.pods.contains(&pod.key)
    }

    pub(super) fn has_workload(&self, of: &OfNodeOrWorkload) -> bool {
        let NodeOrWorkload::Workload(spec, _) = &of.object else { return false };
        self.workloads.contains(&WorkloadKey::of(&spec.workload, &of.key.object.namespace))
    }
}
