//! Decides which Services of a namespace match no pod.

use std::sync::Arc;

use crate::facts::{Lookup, Timestamp};
use crate::outbox::Subject;
use crate::rules::{unmatched_due, unmatched_services};
use crate::state::cluster::lookups;
use crate::state::{Decision, World, earliest};

/// Decides which Services of a namespace match no pod. Watched workloads yield the candidates; pods are looked up
/// only for those.
pub(in crate::state) fn decide(world: &mut World, namespace: &Arc<str>, now: Timestamp) -> Decision {
    if world.settings.is_excluded(namespace) {
        return Decision::default();
    }
    let subject = Subject::Services(namespace.clone());
    let services = world.cluster.services.by_namespace.get(namespace).cloned().unwrap_or_default();
    let workloads = world.cluster.services.labelled(namespace);
    let mut decision = Decision::default();
    decision.plan.wake = unmatched_due(&services, now);
    let suspected = unmatched_services(&services, &std::iter::empty(), &workloads, now);
    if suspected.is_empty() {
        world.cluster.lookups.forget(&subject);
        decision.touched = world.cluster.set_unmatched_services(namespace, Vec::new());
        if services.is_empty() {
            // Namespaces come and go; those without Services are not kept.
            world.cluster.services.judged.remove(namespace);
        }
        return decision;
    }
    let lookup = Lookup::Reached(namespace.clone());
    world.cluster.lookups.set_requests(&subject, std::slice::from_ref(&lookup));
    if let Some(reached) = world.cluster.lookups.reached(&lookup) {
        let mut unmatched = unmatched_services(&reached.services, &reached.pods.iter(), &workloads, now);
        // The lookup is older than the watch: a Service that was corrected since is no candidate any more.
        unmatched.retain(|found| suspected.iter().any(|suspect| suspect.service == found.service));
        decision.touched = world.cluster.set_unmatched_services(namespace, unmatched);
    }
    match world.cluster.lookups.next(&lookup, Timestamp::UNIX_EPOCH, now) {
        lookups::Next::Now => decision.needed_lookups.push(lookup),
        lookups::Next::At(at) => decision.plan.wake = earliest(decision.plan.wake, Some(at)),
    }
    decision
}
