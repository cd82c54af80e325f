//! Warning Events of autoscalers that failed to add nodes: the newest of each object and reason, for one hour.
//!
//! The cluster autoscaler reports them of its ConfigMap, and Karpenter of the NodeClaim that it creates for pods. The
//! pods that wait for the nodes do not show them.

use std::sync::Arc;

use super::events::KEPT;
use crate::facts::{EventFacts, PodFacts, Timestamp, seconds_between};

/// Most Events that are kept.
const MOST: usize = 100;
/// Most bytes of a message.
const MESSAGE_MAX: usize = 1024;

/// The ConfigMap that the cluster autoscaler writes its status to.
const STATUS: &str = "cluster-autoscaler-status";

#[derive(Debug, Default)]
pub(in crate::state) struct ScaleUps {
    failures: Vec<EventFacts>,
}

/// Whether the Event reports that an autoscaler failed to add a node.
pub(in crate::state) fn is_failure(event: &EventFacts) -> bool {
    // Any user may create Events in a namespace of his own.
    let is_of_status = &*event.regarding.name == STATUS && &*event.regarding.namespace == "kube-system";
    let is_of_scaler = match &*event.regarding.kind {
        "NodeClaim" => true,
        "ConfigMap" => is_of_status,
        _ => false,
    };
    // The removal of nodes keeps no pod waiting.
    let is_removal = ["Delete", "ScaleDown", "Disruption", "Terminat"].iter().any(|word| event.reason.contains(word));
    is_of_scaler && event.warning && !is_removal
}

impl ScaleUps {
    pub(in crate::state) fn kept(&self) -> usize {
        self.failures.len()
    }

    /// Adds an Event. Returns whether it is new.
    pub(in crate::state) fn put(&mut self, mut event: EventFacts, now: Timestamp) -> bool {
        let is_old = |event: &EventFacts| event.last.is_some_and(|last| seconds_between(last, now) > KEPT);
        if is_old(&event) {
            return false;
        }
        if event.message.len() > MESSAGE_MAX {
            event.message = crate::message::text::beginning(&event.message, MESSAGE_MAX).into();
        }
        self.failures.retain(|known| !is_old(known));
        let key = |event: &EventFacts| -> (Arc<str>, Arc<str>) { (event.regarding.name.clone(), event.reason.clone()) };
        let of_groups =
            |known: &EventFacts| key(known) == key(&event) && group(&known.message) == group(&event.message);
        if let Some(known) = self.failures.iter_mut().find(|known| of_groups(known)) {
            let is_newer = age(&event) > age(known);
            let is_news = is_newer && known.message != event.message;
            if is_newer {
                *known = event;
            }
            return is_news;
        }
        self.failures.push(event);
        self.failures.sort_by(|a, b| age(a).cmp(&age(b)));
        if self.failures.len() > MOST {
            self.failures.remove(0);
        }
        true
    }

    /// The failures that keep this pod waiting, oldest first: those of the NodeClaim or the node group that an Event of the
    /// pod names, and those that concern all groups.
    pub(in crate::state) fn failures(&self, pod: &PodFacts, events: &[EventFacts], now: Timestamp) -> Vec<EventFacts> {
        let concerns = |failure: &&EventFacts| {
            let is_past = failure.last.is_some_and(|last| {
                pod.created.is_some_and(|created| last < created) || seconds_between(last, now) > KEPT
            });
            let name = match &*failure.regarding.kind {
                "NodeClaim" => Some(&*failure.regarding.name),
                _ => group(&failure.message),
            };
            !is_past && name.is_none_or(|name| events.iter().any(|event| names(&event.message, name)))
        };
        self.failures.iter().filter(concerns).cloned().collect()
    }
}

/// The node group in a message of the cluster autoscaler: `Nodes added to group workers failed to register within 15m`.
fn group(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(" group ")?;
    rest.split([' ', ',']).next().map(|name| name.trim_end_matches([':', '.'])).filter(|name| !name.is_empty())
}

/// Whether a message contains this name as a whole.
fn names(message: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
    message.match_indices(name).any(|(at, _)| {
        !is_part(message[..at].chars().next_back()) && !is_part(message[at + name.len()..].chars().next())
    })
}

/// Sort key that orders Events by age, whatever the order of arrival.
fn age(event: &EventFacts) -> impl Ord + '_ {
    (event.last, event.count, &event.reason, &event.regarding.name, &event.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_of_a_failure_is_read() {
        assert_eq!(group("Scale-up failed for group eks-1a: VcpuLimitExceeded"), Some("eks-1a"));
        assert_eq!(group("Failed adding 1 nodes to group eks-1a due to quota"), Some("eks-1a"));
        assert_eq!(group("Max total nodes in cluster reached: 100"), None);
        assert!(names("pod triggered scale-up: [{eks-1a 3->4 (max: 10)}]", "eks-1a"));
        assert!(!names("pod triggered scale-up: [{eks-1a-spot 3->4 (max: 10)}]", "eks-1a"));
    }
}
