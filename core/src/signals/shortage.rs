//! Parses the kubelet's message about a resource that is scarce on a node.

use crate::facts::{format_bytes, format_cpu};

/// The amounts of `Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000`, as quantities of
/// a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shortage<'a> {
    pub(super) resource: &'a str,
    pub(super) requested: String,
    /// What other pods leave free; `None` if the whole node has less than is requested.
    pub(super) free: Option<String>,
    pub(super) capacity: String,
}

/// Parses the message. Source: pkg/kubelet/lifecycle/predicate.go `InsufficientResourceError`; pkg/kubelet/allocation.
pub(super) fn read(message: &str) -> Option<Shortage<'_>> {
    let rest = message.split_once("Node didn't have enough ")?.1;
    let mut parts = rest.split(", ").filter_map(|part| part.rsplit_once(": "));
    let (_, resource) = parts.next()?;
    let amounts: Vec<i64> = parts.filter_map(|(_, n)| n.trim_end_matches('.').parse().ok()).collect();
    let quantity = |amount: i64| match resource {
        "cpu" => format_cpu(amount),
        "memory" | "ephemeral-storage" => format_bytes(amount),
        _ => amount.to_string(),
    };
    let (requested, used, capacity) = match *amounts.as_slice() {
        [requested, used, capacity] => (requested, Some(used), capacity),
        [requested, capacity] => (requested, None, capacity),
        _ => return None,
    };
    Some(Shortage {
        resource,
        requested: quantity(requested),
        free: used.map(|used| quantity(capacity.saturating_sub(used))),
        capacity: quantity(capacity),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_formatted_as_in_manifests() {
        let read = |text| read(text).map(|s| (s.resource, s.requested, s.free, s.capacity));
        let of_all =
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000";
        assert_eq!(read(of_all), Some(("cpu", "4".to_owned(), Some("1900m".to_owned()), "2".to_owned())));
        let of_node = "Node didn't have enough capacity: memory, requested: 2147483648, capacity: 1073741824.";
        assert_eq!(read(of_node), Some(("memory", "2Gi".to_owned(), None, "1Gi".to_owned())));
        assert_eq!(read("Predicate NodePorts failed"), None);
    }
}
