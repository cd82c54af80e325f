//! Amounts of resources, and the effective requests of a pod as the scheduler computes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Container, PodFacts};
use crate::api::ContainerType;

/// CPU in milli-CPUs, other resources in whole units. A missing amount was not specified, which is not zero for a
/// limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Resources {
    pub cpu: Option<i64>,
    pub memory: Option<i64>,
    pub ephemeral_storage: Option<i64>,
    pub pods: Option<i64>,
    /// Such as `nvidia.com/gpu` or `hugepages-2Mi`.
    pub extended: BTreeMap<Arc<str>, i64>,
}

impl Resources {
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Subtracts amounts. A missing amount counts as zero.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    /// Raises each amount to the larger of both.
    pub fn raise_to(&mut self, other: &Self) {
        self.combine(other, i64::max);
    }

    fn combine(&mut self, other: &Self, with: impl Fn(i64, i64) -> i64) {
        let merge = |a: &mut Option<i64>, b: Option<i64>| {
            if let Some(b) = b {
                *a = Some(with(a.unwrap_or(0), b));
            }
        };
        merge(&mut self.cpu, other.cpu);
        merge(&mut self.memory, other.memory);
        merge(&mut self.ephemeral_storage, other.ephemeral_storage);
        merge(&mut self.pods, other.pods);
        for (name, amount) in &other.extended {
            let slot = self.extended.entry(name.clone()).or_insert(0);
            *slot = with(*slot, *amount);
        }
    }
}

impl PodFacts {
    /// Requests that the scheduler counts for a container. During a resize it is the maximum of requested and allocated
    /// resources; if the resize is infeasible, the allocated ones.
    fn counted(&self, container: &Container) -> Resources {
        let Some(allocated) = &container.allocated else { return container.requests.clone() };
        let mut counted = container.requests.clone();
        if self.condition("PodResizePending").is_some_and(|c| c.reason == "Infeasible") {
            counted.cpu = allocated.cpu.or(counted.cpu);
            counted.memory = allocated.memory.or(counted.memory);
        } else {
            counted.raise_to(allocated);
        }
        counted
    }

    /// Resources that the scheduler reserves for this pod: the sum of app containers and sidecars, or the maximum that
    /// an init container needs together with the sidecars started before it, whichever is larger; plus the overhead and
    /// one pod slot. (`PodRequests` in k8s.io/component-helpers/resource.)
    pub fn effective_requests(&self) -> Resources {
        let of = |kind| self.containers.iter().filter(move |c: &&Container| c.kind == kind);
        let mut total = Resources::default();
        of(ContainerType::App).for_each(|c| total.add(&self.counted(c)));
        let mut sidecars = Resources::default();
        let mut init_peak = Resources::default();
        for c in &self.containers {
            match c.kind {
                ContainerType::Sidecar => {
                    sidecars.add(&self.counted(c));
                    init_peak.raise_to(&sidecars);
                }
                ContainerType::Init => {
                    let mut here = sidecars.clone();
                    here.add(&c.requests);
                    init_peak.raise_to(&here);
                }
                ContainerType::App | ContainerType::Ephemeral => {}
            }
        }
        total.add(&sidecars);
        total.raise_to(&init_peak);
        // Pod-level requests override the sum for each resource.
        total.cpu = self.pod_requests.cpu.or(total.cpu);
        total.memory = self.pod_requests.memory.or(total.memory);
        total.add(&self.overhead);
        total.pods = Some(1);
        total
    }
}
