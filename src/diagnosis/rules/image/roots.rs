//! What a failed pull lies in: the registry, the image or a pull secret.

use super::{Seen, missing_secret, peer, registry_of, volume_reference};
use crate::api::Root;
use crate::diagnosis::{Case, RootKind};

/// The reference that the words are about.
fn reference<'a>(case: &Case<'a>, seen: &Seen<'a>) -> Option<&'a str> {
    let container = seen.container?;
    volume_reference(case, container, seen).or(Some(&*container.image))
}

pub(super) fn image(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    reference(case, seen).map(|image| RootKind::Image.named(image))
}

/// The registry; where a proxy is in between and does not answer, that.
pub(super) fn registry(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    if seen.has("proxyconnect") {
        return super::looked_up(seen.text).or_else(|| peer(seen.text)).map(|proxy| RootKind::Host.named(proxy));
    }
    reference(case, seen).map(|image| RootKind::Registry.named(registry_of(image)))
}

/// The credentials have run out for all images of the registry; else it is this image that wants some.
pub(super) fn unauthorized(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    if seen.has("token has expired") { registry(case, seen) } else { image(case, seen) }
}

/// The kubelet may name several of them at once: then they have nothing in common.
pub(super) fn missing_secret_of(case: &Case<'_>, _: &Seen<'_>) -> Option<Root> {
    missing_secret(case).filter(|name| !name.contains(',')).map(|name| RootKind::Secret.named(name))
}

/// The pull secret that cannot be read, which is not told by name.
pub(super) fn only_secret(case: &Case<'_>, _: &Seen<'_>) -> Option<Root> {
    match case.pod.image_pull_secrets.as_slice() {
        [only] => Some(RootKind::Secret.named(only)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    /// The root of a pod whose pull failed with this error.
    fn root(error: &str) -> Option<String> {
        let message = serde_json::Value::from(format!("failed to pull and unpack image: {error}"));
        let scenario = Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: web, namespace: shop, uid: u, creationTimestamp: '2026-11-21T09:00:00Z'}}\n\
             spec: {{nodeName: n1, containers: [{{name: web, image: 'registry.example.com:5000/web:1'}}], \
             volumes: [{{name: assets, image: {{reference: 'assets.example.com/shop:7'}}}}]}}\n\
             status: {{phase: Pending, startTime: '2026-11-21T09:00:00Z', containerStatuses: [{{name: web, \
             state: {{waiting: {{reason: ImagePullBackOff, message: {message}}}}}}}]}}\n"
        ))
        .at("2026-11-21T09:10:00Z");
        match diagnose(&scenario.case()).health {
            Health::Failing(diagnosis) => diagnosis.root.map(|root| format!("{root} ({})", diagnosis.cause)),
            Health::Well => None,
        }
    }

    #[test]
    fn a_registry_is_blamed_with_its_port_and_a_proxy_before_it_by_its_own_name() {
        let get = "failed to do request: Head \"https://registry.example.com:5000/v2/web/manifests/1\": ";
        assert_eq!(
            root(&format!("{get}dial tcp: lookup registry.example.com: no such host")).as_deref(),
            Some("Registry registry.example.com:5000 (RegistryDnsFailure)")
        );
        assert_eq!(
            root(&format!("{get}proxyconnect tcp: dial tcp: lookup proxy.corp: no such host")).as_deref(),
            Some("Host proxy.corp (RegistryDnsFailure)")
        );
    }

    #[test]
    fn the_image_of_a_volume_fails_of_what_any_image_fails_of() {
        let resolve = "failed to resolve reference \"assets.example.com/shop:7\": ";
        assert_eq!(
            root(&format!("{resolve}assets.example.com/shop:7: not found")).as_deref(),
            Some("Image assets.example.com/shop:7 (ImageVolumePullFailed)")
        );
        assert_eq!(
            root(&format!("{resolve}dial tcp 10.0.9.9:443: connect: connection refused")).as_deref(),
            Some("Registry assets.example.com (ImageVolumePullFailed)")
        );
    }
}
