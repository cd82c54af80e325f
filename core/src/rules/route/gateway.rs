//! Gateways: class, acceptance, then each listener.

use super::{INCOMPLETE, SETTLES, is_false};
use crate::case::{BrokenHop, Hop, evidence};
use crate::facts::route::{GatewayFacts, Listener, Network, NetworkKind};
use crate::facts::{Condition, ObjectKey, nearest};

/// Reason of `Accepted` if only a listener is invalid, which has its own conditions (`GatewayReasonListenersNotValid`).
const OF_LISTENERS: &str = "ListenersNotValid";
/// Reason of a controller that has not decided yet (`GatewayReasonPending`, `ListenerReasonPending`).
const PENDING: &str = "Pending";

/// The first broken hop of a Gateway.
pub fn walk(network: &Network, gateway: &GatewayFacts) -> Option<BrokenHop> {
    let is_decided = |condition: &&Condition| condition.reason != PENDING;
    let rejected = is_false(&gateway.conditions, "Accepted").filter(is_decided);
    let of_gateway = |condition: &Condition| reported(Hop::Gateway, condition);
    class(network, gateway)
        .or_else(|| rejected.filter(|condition| condition.reason != OF_LISTENERS).map(of_gateway))
        .or_else(|| listeners(gateway))
        .or_else(|| rejected.map(of_gateway))
        .or_else(|| is_false(&gateway.conditions, "Programmed").filter(is_decided).map(of_gateway))
        .map(|broken| BrokenHop { class: gateway.class.clone(), ..broken })
}

/// A hop that a controller reports as broken.
pub(super) fn reported(hop: Hop, condition: &Condition) -> BrokenHop {
    BrokenHop {
        hop,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        is_confirmed: true,
        is_total: true,
        since: condition.last_transition,
        // A load balancer takes minutes to get its address (`GatewayReasonAddressNotAssigned`).
        grace: if condition.reason == "AddressNotAssigned" { INCOMPLETE } else { SETTLES },
        evidence: vec![evidence::condition(condition)],
        ..BrokenHop::default()
    }
}

fn class(network: &Network, gateway: &GatewayFacts) -> Option<BrokenHop> {
    if gateway.class.is_empty() || !network.listed.has(NetworkKind::GatewayClass, "") {
        return None;
    }
    let known = network.gateway_classes.iter().find(|class| class.name == gateway.class);
    let Some(known) = known else {
        let names = || network.gateway_classes.iter().map(|class| class.name.as_str());
        let near = nearest(&gateway.class, names());
        return Some(BrokenHop {
            hop: Hop::Class,
            existing: names().map(str::to_owned).collect(),
            near: near.unwrap_or_default().to_owned(),
            is_total: true,
            grace: SETTLES,
            evidence: vec![evidence::field("spec.gatewayClassName", &gateway.class)],
            ..BrokenHop::default()
        });
    };
    let rejected = is_false(&known.conditions, "Accepted")?;
    Some(BrokenHop { parameters: known.parameters.clone(), ..reported(Hop::Class, rejected) })
}

fn listeners(gateway: &GatewayFacts) -> Option<BrokenHop> {
    let mut broken = gateway.listeners.iter().filter_map(|listener| {
        let hop = of_listener(listener)?;
        Some(BrokenHop { listener: listener.name.clone(), host: listener.hostname.clone(), ..hop })
    });
    let first = broken.next()?;
    let others = broken.count();
    Some(BrokenHop { others, is_total: others + 1 >= gateway.listeners.len(), ..first })
}

fn of_listener(listener: &Listener) -> Option<BrokenHop> {
    let conditions = &listener.conditions;
    let conflict = conditions.iter().find(|condition| condition.kind == "Conflicted" && condition.status == "True");
    let is_decided = |condition: &&Condition| condition.reason != PENDING;
    let port = listener.port.to_string();
    let of_listener = |condition: &Condition| BrokenHop { port: port.clone(), ..reported(Hop::Listener, condition) };
    conflict
        .map(of_listener)
        .or_else(|| is_false(conditions, "Accepted").filter(is_decided).map(of_listener))
        .or_else(|| references(listener, is_false(conditions, "ResolvedRefs")?))
        .or_else(|| is_false(conditions, "Programmed").filter(is_decided).map(of_listener))
}

/// A reference of a listener that its controller cannot resolve (`ListenerReasonInvalidCertificateRef`,
/// `ListenerReasonRefNotPermitted`, `ListenerReasonInvalidRouteKinds`).
fn references(listener: &Listener, condition: &Condition) -> Option<BrokenHop> {
    let hop = match condition.reason.as_str() {
        "InvalidCertificateRef" => Hop::Tls,
        "RefNotPermitted" => Hop::Grant,
        PENDING => return None,
        _ => Hop::Listener,
    };
    // Of several Secrets, the message names the one that is meant.
    let is_named = |secret: &&ObjectKey| condition.message.contains(&*secret.name);
    let only = match listener.secrets.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let secret = listener.secrets.iter().find(is_named).or(only);
    Some(BrokenHop {
        secret: secret.map(|secret| secret.name.to_string()).unwrap_or_default(),
        namespace: secret.map(|secret| secret.namespace.to_string()).unwrap_or_default(),
        is_elsewhere: hop == Hop::Grant,
        ..reported(hop, condition)
    })
}
