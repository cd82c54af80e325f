//! Resource amounts, and requests lowered to fit.

use std::sync::Arc;

use super::words::Check;
use crate::api::ContainerType;
use crate::facts::{Container, PodFacts, Resources, format_bytes, format_cpu};

/// A kind of resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    Extended(Arc<str>),
}

impl Resource {
    pub(super) fn of(&self, amounts: &Resources) -> Option<i64> {
        match self {
            Self::Cpu => amounts.cpu,
            Self::Memory => amounts.memory,
            Self::EphemeralStorage => amounts.ephemeral_storage,
            Self::Pods => amounts.pods,
            Self::Extended(name) => amounts.extended.get(name).copied(),
        }
    }

    fn set(&self, amounts: &mut Resources, amount: i64) {
        match self {
            Self::Cpu => amounts.cpu = Some(amount),
            Self::Memory => amounts.memory = Some(amount),
            Self::EphemeralStorage => amounts.ephemeral_storage = Some(amount),
            Self::Pods => amounts.pods = Some(amount),
            Self::Extended(name) => {
                amounts.extended.insert(name.clone(), amount);
            }
        }
    }

    pub(super) fn check(&self) -> Check {
        match self {
            Self::Cpu => Check::Cpu,
            Self::Memory => Check::Memory,
            Self::EphemeralStorage => Check::EphemeralStorage,
            Self::Pods => Check::Pods,
            Self::Extended(_) => Check::Extended,
        }
    }

    /// The name in `resources.requests`.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Extended(name) => name,
        }
    }

    /// Formats an amount for display: `1.9`, `15Mi`.
    pub(super) fn amount(&self, amount: i64) -> String {
        match self {
            Self::Cpu => decimal_cpu(amount),
            Self::Memory | Self::EphemeralStorage => format_bytes(amount),
            Self::Extended(name) if name.starts_with("hugepages-") => format_bytes(amount),
            Self::Pods | Self::Extended(_) => amount.to_string(),
        }
    }

    /// Formats an amount with its unit: `64 CPU`, `15Mi memory`.
    pub(super) fn amount_of(&self, amount: i64) -> String {
        let unit = if matches!(self, Self::Cpu) { "CPU" } else { self.name() };
        format!("{} {unit}", self.amount(amount))
    }

    /// Formats an amount for a manifest, rounded down to a common value.
    pub(super) fn quantity(&self, amount: i64) -> String {
        match self {
            Self::Cpu => format_cpu(self.round_down(amount)),
            Self::Memory | Self::EphemeralStorage => binary_quantity(self.round_down(amount)),
            Self::Pods | Self::Extended(_) => amount.to_string(),
        }
    }

    /// Rounds down to 10m of CPU or 1Mi of bytes, unless that leaves nothing.
    fn round_down(&self, amount: i64) -> i64 {
        let step = match self {
            Self::Cpu => 10,
            Self::Memory | Self::EphemeralStorage => 1 << 20,
            Self::Pods | Self::Extended(_) => 1,
        };
        if amount >= step { amount - amount % step } else { amount }
    }
}

fn decimal_cpu(milli: i64) -> String {
    let sign = if milli < 0 { "-" } else { "" };
    let milli = milli.unsigned_abs();
    let text = format!("{sign}{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats bytes without loss, in the largest binary unit that divides them.
fn binary_quantity(bytes: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size && bytes % size == 0);
    unit.map_or_else(|| bytes.to_string(), |(name, size)| format!("{}{name}", bytes / size))
}

/// The only container whose lowered request reduces the pod's total to at most `most`, with its new request. `None` if
/// no single change is enough, or there is a pod-level request.
pub(super) fn lowered<'a>(pod: &'a PodFacts, resource: &Resource, most: i64) -> Option<(&'a Container, i64)> {
    let asked = resource.of(&pod.effective_requests())?;
    if resource.of(&pod.pod_requests).is_some() {
        return None;
    }
    let mut containers: Vec<_> = pod
        .containers
        .iter()
        .filter(|c| c.kind != ContainerType::Ephemeral)
        .filter_map(|c| resource.of(&c.requests).map(|amount| (c, amount)))
        .collect();
    containers.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
    containers.into_iter().find_map(|(container, amount)| {
        let target = resource.round_down(amount.saturating_sub(asked.saturating_sub(most)));
        if target <= 0 {
            return None;
        }
        let mut tried = pod.clone();
        let changed = tried.containers.iter_mut().find(|c| c.name == container.name)?;
        resource.set(&mut changed.requests, target);
        (resource.of(&tried.effective_requests())? <= most).then_some((container, target))
    })
}

/// The pod-level request with which the pod's total is at most `most`. `None` if there is none, or if its containers alone
/// request more.
pub(super) fn lowered_of_pod(pod: &PodFacts, resource: &Resource, most: i64) -> Option<i64> {
    let asked = resource.of(&pod.effective_requests())?;
    let own = resource.of(&pod.pod_requests)?;
    let target = resource.round_down(own.saturating_sub(asked.saturating_sub(most)));
    let mut without = pod.clone();
    without.pod_requests = Resources::default();
    without.overhead = Resources::default();
    let of_containers = resource.of(&without.effective_requests()).unwrap_or_default();
    (target > 0 && target >= of_containers && target < own).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_formatted_as_in_manifests() {
        assert_eq!(Resource::Cpu.amount(1900), "1.9");
        assert_eq!(Resource::Cpu.amount(62_100), "62.1");
        assert_eq!(Resource::Cpu.amount(2000), "2");
        assert_eq!(Resource::Cpu.amount_of(500), "0.5 CPU");
        assert_eq!(Resource::Cpu.quantity(1905), "1900m");
        assert_eq!(Resource::Memory.quantity((3 << 30) + 12_345), "3Gi");
        assert_eq!(Resource::Memory.quantity(500), "500");
        assert_eq!(Resource::Memory.amount_of(15 << 20), "15Mi memory");
        assert_eq!(Resource::Extended("nvidia.com/gpu".into()).amount_of(2), "2 nvidia.com/gpu");
    }
}
