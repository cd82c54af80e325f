//! The objects on the path of a request, autoscalers and disruption budgets of a dump. A dump without them costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{PendingObject, SeenSoFar};
use crate::api::Severity;
use crate::facts::route::{Listed, NetworkKind, NetworkObject, SliceFacts};
use crate::facts::{NamedKind, ObjectKey, Timestamp, WorkloadKey};
use crate::message::text;
use crate::outbox::Subject;
use crate::reconcile::Intent;
use crate::rules;
use crate::state::{Change, NetworkChange, World};
use crate::wire::{Dump, EndpointSlice, Endpoints, Service};

/// Loads them, and the Services with their endpoints. Must come before the pods.
pub(super) fn fill(world: &mut World, dump: &mut Dump, now: Timestamp) {
    let mut objects = std::mem::take(&mut dump.network);
    let slices = slices(dump);
    objects.extend(dump.services.iter().filter_map(Service::backend).map(NetworkObject::Service));
    objects.extend(dump.claims.iter().map(|claim| NetworkObject::Claim(claim.stored())));
    if objects.is_empty() {
        return;
    }
    let of_secrets = dump.names.iter().filter(|(of, _)| of.kind == NamedKind::Secret && of.object.is_none());
    let secrets =
        of_secrets.flat_map(|(of, names)| names.iter().map(|name| ObjectKey::new(of.namespace.clone(), name.clone())));
    let secrets = secrets.collect();
    let listed = listed(dump, &objects, &slices, &secrets);
    world.cluster.know_network(listed, secrets);
    let seen = |object| Change::Network(NetworkChange::Seen(Box::new(object)));
    for object in objects.into_iter().chain(slices.into_iter().map(NetworkObject::Slice)) {
        let _ = world.apply(seen(object), now);
    }
}

/// The objects whose failure is due later if nothing changes. They are judged as of that time, so this comes last.
pub(super) fn pending(world: &mut World, now: Timestamp) -> Vec<PendingObject> {
    let subjects = world.regular_subjects().into_iter().filter_map(|subject| match subject {
        Subject::Workload(key) if NetworkKind::of(&key).is_some() => Some(key),
        _ => None,
    });
    subjects.collect::<Vec<_>>().into_iter().filter_map(|object| due(world, object, now)).collect()
}

/// The failure of an object that is due after `now`. `None`: it is due already, or there is none.
fn due(world: &mut World, object: WorkloadKey, now: Timestamp) -> Option<PendingObject> {
    /// The time at which something is due may only be that of another check.
    const CHECKS: usize = 3;
    let subject = Subject::Workload(object.clone());
    let mut at = now;
    for _ in 0..CHECKS {
        let plan = world.decide(&subject, at).plan;
        if let Some(Intent::Apply(write)) = plan.intent {
            let head = write.object.head();
            if head.severity == Severity::Info {
                return None;
            }
            let cause = rules::named(&head.cause)?.cause;
            let seen_so_far = SeenSoFar { cause, summary: text::line(&head.summary, text::EVIDENCE_MAX) };
            return (at > now).then_some(PendingObject { object, from: at, seen_so_far });
        }
        at = plan.wake.filter(|wake| *wake > at)?;
    }
    None
}

/// The endpoints. The deprecated Endpoints objects count for Services without a slice.
fn slices(dump: &Dump) -> Vec<SliceFacts> {
    let mut slices: Vec<SliceFacts> = dump.slices.iter().filter_map(EndpointSlice::slice).collect();
    let of_slice = |slice: &SliceFacts| ObjectKey::new(slice.key.namespace.clone(), slice.service.clone());
    let known: BTreeSet<ObjectKey> = slices.iter().map(of_slice).collect();
    slices.extend(dump.endpoints.iter().map(Endpoints::slice).filter(|old| !known.contains(&old.key)));
    slices
}

/// What a dump lists, beside what its reader knows: kinds of the cluster of which it has an object, and kinds of namespaces
/// in each namespace in which it has one. A dump of all namespaces, which has the Service of the API server and others, lists a kind everywhere.
fn listed(dump: &Dump, objects: &[NetworkObject], slices: &[SliceFacts], secrets: &BTreeSet<ObjectKey>) -> Listed {
    let mut known: BTreeMap<NetworkKind, BTreeSet<Arc<str>>> = BTreeMap::new();
    let mut add = |kind, namespace: &Arc<str>| known.entry(kind).or_default().insert(namespace.clone());
    for object in objects {
        let kind = match object {
            NetworkObject::IngressClass(_) => NetworkKind::IngressClass,
            NetworkObject::GatewayClass(_) => NetworkKind::GatewayClass,
            NetworkObject::Gateway(_) => NetworkKind::Gateway,
            NetworkObject::Grant(_) => NetworkKind::ReferenceGrant,
            NetworkObject::Service(_) => NetworkKind::Service,
            _ => continue,
        };
        add(kind, &object.key().namespace);
    }
    for pod in &dump.pods {
        add(NetworkKind::Pod, &pod.key.namespace);
    }
    for slice in slices {
        add(NetworkKind::EndpointSlice, &slice.key.namespace);
    }
    for secret in secrets {
        add(NetworkKind::Secret, &secret.namespace);
    }
    let is_service = |object: &NetworkObject, key: &ObjectKey| matches!(object, NetworkObject::Service(service) if service.key == *key);
    let api_server = ObjectKey::new("default", "kubernetes");
    let has_api_server = objects.iter().any(|object| is_service(object, &api_server));
    let is_of_cluster = has_api_server && known.get(&NetworkKind::Service).is_some_and(|all| all.len() > 1);
    let mut listed = dump.listed.clone();
    for (kind, namespaces) in known {
        // Where a namespace has a slice, its other Services have none.
        if kind.is_cluster_scoped() || is_of_cluster && kind != NetworkKind::EndpointSlice {
            listed.add(kind);
        }
        namespaces.iter().for_each(|namespace| listed.add_within(kind, namespace));
    }
    listed
}
