//! HTTPRoutes and GRPCRoutes: Gateway, acceptance, then each backend.

use super::gateway::{self, reported};
use super::{SETTLES, backend, is_false};
use crate::case::{BrokenHop, Hop, evidence};
use crate::facts::route::{BackendRef, GatewayFacts, Network, NetworkKind, ParentRef, ParentStatus, RouteFacts};
use crate::facts::{Condition, nearest};

/// Reason of a controller that has not decided yet (`RouteReasonPending`).
const PENDING: &str = "Pending";
/// Reason of `ResolvedRefs` without a ReferenceGrant (`RouteReasonRefNotPermitted`).
const NOT_PERMITTED: &str = "RefNotPermitted";

/// The first broken hop of a route. A Gateway that is broken itself has its own failure, from which that of its routes
/// only follows.
pub fn walk(network: &Network, route: &RouteFacts) -> Option<BrokenHop> {
    let parents = route.parents.iter().filter(|parent| parent.kind == "Gateway");
    let mut is_attached = route.parents.iter().any(|parent| parent.kind != "Gateway");
    let mut rejected = None;
    for parent in parents {
        match attachment(network, route, parent) {
            Attachment::Works => is_attached = true,
            Attachment::BrokenGateway => {}
            Attachment::Broken(broken) => {
                rejected.get_or_insert(*broken);
            }
        }
    }
    let host = route.hostnames.first().cloned().unwrap_or_default();
    if let Some(broken) = rejected {
        return Some(BrokenHop { host, is_total: !is_attached, ..broken });
    }
    if !is_attached {
        return None;
    }
    backends(network, route).map(|broken| BrokenHop { host, ..broken })
}

enum Attachment {
    Works,
    BrokenGateway,
    Broken(Box<BrokenHop>),
}

fn attachment(network: &Network, route: &RouteFacts, parent: &ParentRef) -> Attachment {
    let namespace = &*route.identity.key.namespace;
    let known = network.gateways.get(&parent.gateway);
    let display = if &*parent.gateway.namespace == namespace {
        parent.gateway.name.to_string()
    } else {
        parent.gateway.to_string()
    };
    let Some(known) = known else {
        if !network.listed.has(NetworkKind::Gateway, &parent.gateway.namespace) {
            return reported_rejection(route, parent, None, display);
        }
        let others = network.gateways.keys().filter(|key| key.namespace == parent.gateway.namespace);
        let near = nearest(&parent.gateway.name, others.map(|key| &*key.name)).unwrap_or_default().to_owned();
        return Attachment::Broken(Box::new(BrokenHop {
            hop: Hop::Gateway,
            evidence: vec![evidence::field("spec.parentRefs", &display)],
            gateway: display,
            near,
            grace: SETTLES,
            ..BrokenHop::default()
        }));
    };
    if gateway::walk(network, known).is_some_and(|broken| concerns(&broken, parent)) {
        return Attachment::BrokenGateway;
    }
    reported_rejection(route, parent, Some(known), display)
}

/// Whether a broken Gateway breaks a route: as a whole, or in the listener that the route names.
fn concerns(broken: &BrokenHop, parent: &ParentRef) -> bool {
    broken.is_total || broken.listener == parent.section
}

/// A route that the controller of the Gateway does not accept.
fn reported_rejection(
    route: &RouteFacts,
    parent: &ParentRef,
    gateway: Option<&GatewayFacts>,
    display: String,
) -> Attachment {
    let conditions = of_parent(route, parent).map(|status| status.conditions.as_slice()).unwrap_or_default();
    let Some(condition) = is_false(conditions, "Accepted").filter(|condition| condition.reason != PENDING) else {
        return Attachment::Works;
    };
    let listeners =
        || gateway.into_iter().flat_map(|gateway| &gateway.listeners).map(|listener| listener.name.as_str());
    let near = if parent.section.is_empty() { None } else { nearest(&parent.section, listeners()) };
    Attachment::Broken(Box::new(BrokenHop {
        gateway: display,
        listener: parent.section.clone(),
        near: near.unwrap_or_default().to_owned(),
        ..reported(Hop::Listener, condition)
    }))
}

fn of_parent<'r>(route: &'r RouteFacts, parent: &ParentRef) -> Option<&'r ParentStatus> {
    route.status.iter().find(|status| status.parent == *parent)
}

fn backends(network: &Network, route: &RouteFacts) -> Option<BrokenHop> {
    let key = &route.identity.key;
    let unresolved = route.status.iter().find_map(|status| {
        is_false(&status.conditions, "ResolvedRefs").filter(|condition| condition.reason != PENDING)
    });
    let is_forbidden = unresolved.is_some_and(|condition| condition.reason == NOT_PERMITTED);
    let all = route.rules.iter().flat_map(|rule| rule.backends.iter().map(move |backend| (rule, backend)));
    let all: Vec<_> = all.filter(|(_, backend)| backend.weight > 0).collect();
    let broken = all.iter().filter_map(|(rule, backend)| {
        let hop = grant(network, (&key.kind, &key.namespace), backend, unresolved.filter(|_| is_forbidden))
            .or_else(|| backend::follow(network, &key.namespace, backend))?;
        Some(BrokenHop { path: rule.path.clone(), ..hop })
    });
    let first = backend::first_of(broken, all.len());
    // What only the controller knows: its own rules for backends, or Services that were not listed.
    first.map(|broken| with_report(broken, unresolved)).or_else(|| {
        let only = match all.as_slice() {
            [(rule, backend)] => Some((rule.path.clone(), backend)),
            _ => None,
        };
        let (path, service) = only.map_or_else(Default::default, |(path, of)| (path, of.service.name.to_string()));
        unresolved.map(|condition| BrokenHop {
            path,
            service,
            namespace: key.namespace.to_string(),
            is_total: all.len() < 2,
            ..reported(if is_forbidden { Hop::Grant } else { Hop::Service }, condition)
        })
    })
}

/// The same hop with the evidence of a controller that reports it.
fn with_report(mut broken: BrokenHop, unresolved: Option<&Condition>) -> BrokenHop {
    if let Some(condition) = unresolved.filter(|_| broken.hop == Hop::Service) {
        broken.is_confirmed = true;
        broken.evidence.push(evidence::condition(condition));
    }
    broken
}

/// A Service of another namespace that no ReferenceGrant of that namespace allows the route to use.
fn grant(
    network: &Network,
    from: (&str, &str),
    backend: &BackendRef,
    reported_by: Option<&Condition>,
) -> Option<BrokenHop> {
    let namespace = &*backend.service.namespace;
    if namespace == from.1 || backend.kind != "Service" {
        return None;
    }
    let of_namespace = || network.grants.iter().filter(|grant| grant.namespace == namespace);
    let is_granted = of_namespace().any(|grant| grant.allows(from, "Service", &backend.service.name));
    let is_known = network.listed.has(NetworkKind::ReferenceGrant, namespace);
    if is_granted || !(is_known || reported_by.is_some()) {
        return None;
    }
    let broken = reported_by.map(|condition| reported(Hop::Grant, condition));
    let field = evidence::field(backend::dotted(&backend.at), backend.service.to_string());
    let mut broken = broken.unwrap_or_else(|| BrokenHop { hop: Hop::Grant, grace: SETTLES, ..BrokenHop::default() });
    broken.evidence.push(field);
    Some(BrokenHop {
        service: backend.service.name.to_string(),
        namespace: namespace.to_owned(),
        is_elsewhere: true,
        at: backend.at.clone(),
        ..broken
    })
}
