//! Nodes without enough of a resource, and what would make the pod fit.

use super::nodes::{NodeView, Shortfall, View};
use super::resource::{Resource, lowered, lowered_of_pod};
use super::words::{Check, names};
use crate::facts::{Container, Siblings};

/// A request is never lowered below this fraction (1/4), as the program would not work with less.
const LITTLE: i64 = 4;

/// A lowered request leaves this fraction (1/10) of the room, or the pod is unschedulable again after the next change.
const MARGIN: i64 = 10;

/// The most that each of `waiting` pods may request, so that the nodes have room for all of them with a margin. `None` if no
/// node has room, or the room is not known.
fn room_for_each(view: &View<'_>, check: Check, waiting: u32) -> Option<i64> {
    let is_open = |node: &&NodeView<'_>| node.obstacles() == 1 && node.state.all_pods_known;
    let mut free: Vec<i64> = view
        .nodes
        .iter()
        .filter(is_open)
        .filter_map(|node| node.short_of(check).map(|short| short.free))
        .filter(|free| *free > 0)
        .collect();
    let resource = view.nearest(check).first().map(|(_, short)| short.resource.clone())?;
    // Devices are whole, and a request for fewer is another program.
    if !matches!(resource, Resource::Cpu | Resource::Memory | Resource::EphemeralStorage) {
        return view.largest_that_fits(check);
    }
    free.sort_unstable_by_key(|free| std::cmp::Reverse(*free));
    free.truncate(CONSIDERED);
    let pods = i64::from(waiting);
    let places = |each: i64| free.iter().map(|free| free / each.max(1)).fold(0_i64, i64::saturating_add);
    let shares = free.iter().flat_map(|free| (1..=pods.min(PODS_OF_NODE)).map(move |count| free / count));
    let each = shares.filter(|each| *each > 0 && places(*each) >= pods).max()?;
    Some(each - each / MARGIN)
}

/// The request in the unit that was most likely meant, if it is far above what a node has and fits in the next smaller
/// unit: `900` for `900m`, `512Gi` for `512Mi`.
fn of_meant_unit(resource: &Resource, asked: i64, fits: i64, allocatable: i64) -> Option<i64> {
    const FAR: i64 = 64;
    let (unit, smaller) = match resource {
        Resource::Cpu => (1000, 1000),
        Resource::Memory | Resource::EphemeralStorage => (1 << 30, 1 << 10),
        _ => return None,
    };
    let is_far = asked / FAR >= allocatable && allocatable > 0;
    let meant = asked / smaller;
    (is_far && asked % unit == 0 && meant <= fits).then_some(meant)
}

/// Nodes that are considered, those with the most room, and pods of each.
const CONSIDERED: usize = 16;
const PODS_OF_NODE: i64 = 32;

/// A container's request, and the largest one that fits.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lower {
    pub(super) resource: String,
    pub(super) container: String,
    pub(super) amount: String,
}

/// A shortage, from the view of the closest node.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(super) resource: String,
    pub(super) requested: String,
    pub(super) need: String,
    pub(super) node: String,
    pub(super) allocatable: String,
    /// Empty if not all pods of the node are known.
    pub(super) free: String,
    /// Set if `free` is empty.
    pub(super) free_at_most: String,
    pub(super) missing: String,
    pub(super) used: String,
    pub(super) also_short_of: String,
    pub(super) is_reserved: bool,
    /// `ofSeveral`, `full`, `request` or `notOffered`.
    pub(super) kind: &'static str,
    pub(super) cordoned: String,
    pub(super) tainted: String,
    pub(super) taint: String,
    pub(super) largest: String,
    pub(super) fits_when_empty: bool,
    pub(super) largest_request: String,
    pub(super) empty_node: String,
    pub(super) lower: Lower,
    /// Request of the pod as a whole.
    pub(super) lower_pod: String,
    pub(super) also_lower: Lower,
}

impl Room {
    /// `None` if no node is known to be short of the resource.
    pub(super) fn new(view: &View<'_>, check: Check, siblings: &Siblings) -> Option<Self> {
        let nearest = view.nearest(check);
        let (node, short) = *nearest.first()?;
        let resource = &short.resource;
        let amount = |n: i64| resource.amount(n.max(0));
        let fits_empty = |node: &&NodeView<'_>| node.shortfalls.iter().all(Shortfall::fits_empty);
        let others = node.shortfalls.iter().filter(|s| s.resource != *resource).map(|s| s.resource.name());
        let free = amount(short.free);
        let (free, free_at_most) =
            if node.state.all_pods_known { (free, String::new()) } else { (String::new(), free) };
        let mut room = Self {
            resource: resource.name().to_owned(),
            requested: resource.amount(short.asked),
            need: resource.amount_of(short.asked),
            node: node.name().to_owned(),
            allocatable: amount(short.allocatable),
            free,
            free_at_most,
            missing: amount(short.missing()),
            used: amount(short.allocatable.saturating_sub(short.free)),
            also_short_of: names(others),
            is_reserved: short.free < short.allocatable,
            empty_node: view.fits_empty().or(Some(node).filter(fits_empty)).map_or("", |n| n.name()).to_owned(),
            ..Self::default()
        };
        room.way_out(view, check, &nearest);
        let waiting = siblings.total.saturating_sub(siblings.ready).max(1);
        room.requests(view, (node, short), room_for_each(view, check, waiting));
        // Capacity for one more pod is not enough for all pending ones, and a new template replaces the running pods.
        if matches!(resource, Resource::Extended(_)) && nearest.iter().all(|(_, s)| s.allocatable <= 0) {
            room.kind = "notOffered";
        } else if siblings.ready > 0 && siblings.total - siblings.ready.min(siblings.total) > 1 {
            room.kind = "ofSeveral";
        }
        Some(room)
    }

    /// Finds an unavailable node with enough capacity, or else by how much the request is too large.
    fn way_out(&mut self, view: &View<'_>, check: Check, nearest: &[(&NodeView<'_>, &Shortfall)]) {
        if let Some(roomy) = view.with_room().filter(|n| n.unmet.is_empty()) {
            match roomy.taints.first() {
                None => roomy.name().clone_into(&mut self.cordoned),
                Some(taint) => {
                    roomy.name().clone_into(&mut self.tainted);
                    self.taint = taint.to_string();
                }
            }
            return;
        }
        let resource = nearest.first().map(|(_, short)| &short.resource);
        self.fits_when_empty = nearest.iter().any(|(_, s)| s.fits_empty());
        if !self.fits_when_empty {
            let most = nearest.iter().map(|(_, s)| s.allocatable).max();
            self.largest = resource.zip(most).map(|(r, most)| r.amount(most.max(0))).unwrap_or_default();
        }
        let most = view.largest_that_fits(check);
        self.largest_request = resource.zip(most).map(|(r, most)| r.quantity(most)).unwrap_or_default();
    }

    /// Finds the requests that would have to be lower.
    fn requests(&mut self, view: &View<'_>, (node, short): (&NodeView<'_>, &Shortfall), most: Option<i64>) {
        let resource = &short.resource;
        let lower = most.and_then(|most| lowered(view.pod, resource, most));
        // If full nodes are the only obstacle, the remaining capacity is too small for the program.
        let is_little = |(container, amount): (&Container, i64)| {
            resource.of(&container.requests).is_some_and(|asked| amount.saturating_mul(LITTLE) < asked)
        };
        // Less than one device is none.
        let is_one_device = matches!(resource, Resource::Extended(_)) && short.asked <= 1;
        let is_full = view.fits_empty().is_some() && (most.is_none() || lower.is_some_and(is_little))
            || is_one_device && short.fits_empty();
        self.kind = if is_full { "full" } else { "request" };
        if is_full {
            return;
        }
        let of_pod = most.and_then(|most| lowered_of_pod(view.pod, resource, most));
        self.lower_pod = of_pod.map(|amount| resource.quantity(amount)).unwrap_or_default();
        let of = |resource: &Resource, (container, amount): (&Container, i64)| Lower {
            resource: resource.name().to_owned(),
            container: container.name.to_string(),
            amount: resource.quantity(amount),
        };
        let lower = lower.map(|(container, fits)| {
            let asked = resource.of(&container.requests);
            let meant = asked.and_then(|asked| of_meant_unit(resource, asked, fits, short.allocatable));
            of(resource, (container, meant.unwrap_or(fits)))
        });
        self.lower = lower.unwrap_or_default();
        let others = node.shortfalls.iter().filter(|s| s.resource != *resource && s.free > 0);
        let mut others = others.filter(|_| node.state.all_pods_known);
        let also = others.find_map(|s| Some(of(&s.resource, lowered(view.pod, &s.resource, s.free)?)));
        self.also_lower = also.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_that_was_meant_is_found_only_far_above_a_node() {
        let of = |asked: i64, allocatable: i64| of_meant_unit(&Resource::Cpu, asked, 1710, allocatable);
        assert_eq!(of(900_000, 1900), Some(900));
        assert_eq!(of(900_500, 1900), None, "900.5 is not a slip for 900m");
        assert_eq!(of(60_000, 1900), None, "a large machine was meant");
        assert_eq!(of(2_000_000, 1900), None, "2 CPUs do not fit either");
        let of = |asked: i64| of_meant_unit(&Resource::Memory, asked, 3 << 30, 4 << 30);
        assert_eq!(of(512 << 30), Some(512 << 20));
        assert_eq!(of(16 << 30), None);
        assert_eq!(of_meant_unit(&Resource::Extended("nvidia.com/gpu".into()), 4000, 1, 1), None);
    }
}
