//! Ingresses: class, TLS Secret, then each path.

use super::{INCOMPLETE, SETTLES, backend};
use crate::case::{BrokenHop, Hop, evidence};
use crate::facts::route::{IngressFacts, Network, NetworkKind};
use crate::facts::{EventFacts, ObjectKey, nearest};

/// The first broken hop of an Ingress.
pub fn walk(network: &Network, ingress: &IngressFacts) -> Option<BrokenHop> {
    class(network, ingress).or_else(|| tls(network, ingress)).or_else(|| paths(network, ingress))
}

fn class(network: &Network, ingress: &IngressFacts) -> Option<BrokenHop> {
    if !network.listed.has(NetworkKind::IngressClass, "") {
        return None;
    }
    let broken = BrokenHop {
        hop: Hop::Class,
        existing: network.ingress_classes.iter().map(|known| known.name.clone()).collect(),
        is_confirmed: !ingress.has_address,
        is_total: true,
        grace: SETTLES,
        ..BrokenHop::default()
    };
    match (&ingress.class, &ingress.annotated_class) {
        (Some(class), _) => {
            let names = || network.ingress_classes.iter().map(|known| known.name.as_str());
            let is_missing = names().all(|name| name != class);
            let near = nearest(class, names());
            is_missing.then(|| BrokenHop {
                class: class.clone(),
                near: near.unwrap_or_default().to_owned(),
                evidence: vec![evidence::field("spec.ingressClassName", class)],
                ..broken
            })
        }
        (None, Some(_)) => None,
        // Some controllers also serve Ingresses without a class. The lack of an address shows that none does, if
        // controllers publish addresses here.
        (None, None) => {
            let has_default = network.ingress_classes.iter().any(|class| class.is_default);
            let is_ignored = !has_default && !ingress.has_address && network.publishes_addresses;
            let only = match network.ingress_classes.as_slice() {
                [only] => only.name.clone(),
                _ => String::new(),
            };
            is_ignored.then(|| BrokenHop {
                near: only,
                grace: INCOMPLETE,
                evidence: vec![evidence::field("status.loadBalancer", "no address")],
                ..broken
            })
        }
    }
}

/// A missing TLS Secret, if a controller reports it: Secrets are not read, and a controller can have a certificate of
/// its own for hosts without a Secret.
fn tls(network: &Network, ingress: &IngressFacts) -> Option<BrokenHop> {
    let key = &ingress.identity.key;
    let is_about = |event: &&EventFacts| {
        let of = &event.regarding;
        &*of.kind == "Ingress"
            && (&of.name, &of.namespace) == (&key.name, &key.namespace)
            && (of.uid.is_empty() || of.uid == ingress.identity.uid)
    };
    let reports = network.events.iter().filter(is_about);
    reports.filter(|event| event.warning && states_absence(&event.message)).find_map(|event| {
        let secret = ingress.tls_secrets.iter().find(|secret| names(&event.message, secret))?;
        let exists = network.secrets.contains(&ObjectKey::new(key.namespace.clone(), secret.as_str()));
        (!exists).then(|| BrokenHop {
            hop: Hop::Tls,
            secret: secret.clone(),
            namespace: key.namespace.to_string(),
            reason: event.reason.to_string(),
            message: event.message.to_string(),
            is_confirmed: true,
            since: event.first.or(event.last),
            grace: if ingress.awaits_certificate { INCOMPLETE } else { SETTLES },
            evidence: vec![evidence::event(event)],
            ..BrokenHop::default()
        })
    })
}

fn states_absence(message: &str) -> bool {
    const WORDS: [&str; 5] = ["not found", "does not exist", "doesn't exist", "no such", "not exist"];
    let message = message.to_ascii_lowercase();
    WORDS.iter().any(|words| message.contains(words))
}

/// Whether a message contains a name that is not a part of a longer one.
fn names(message: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
    message.match_indices(name).any(|(at, _)| {
        let before = message.get(..at).and_then(|text| text.chars().next_back());
        let after = message.get(at + name.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })
}

fn paths(network: &Network, ingress: &IngressFacts) -> Option<BrokenHop> {
    let namespace = &*ingress.identity.key.namespace;
    let broken = ingress.paths.iter().filter_map(|path| {
        let hop = backend::follow(network, namespace, path.backend.as_ref()?)?;
        Some(BrokenHop { host: path.host.clone(), path: path.path.clone(), ..hop })
    });
    backend::first_of(broken, ingress.paths.len())
}
