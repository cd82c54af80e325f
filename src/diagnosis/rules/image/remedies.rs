//! What to do about an image that cannot be had.

use super::{is_init, looked_up, missing_secret, peer, platform, registry_of, see, volume_reference};
use crate::api::Remedy;
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::target::{self, shell_word};
use crate::diagnosis::{Case, Finding, remedy, undo};
use crate::facts::Container;

fn container<'a>(case: &Case<'a>, finding: &Finding) -> Option<&'a Container> {
    finding.container.as_deref().and_then(|name| case.pod.container(name))
}

fn image<'a>(case: &Case<'a>, finding: &Finding) -> &'a str {
    container(case, finding).map_or("", |c| &*c.image)
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.pod.node_name.as_deref().unwrap_or(phrase!(case, "the node"))
}

/// Another image for the container, which works for bare pods too.
fn set_image(case: &Case<'_>, finding: &Finding, text: String) -> Remedy {
    let fix = remedy::fix(text);
    let target = target::of(case);
    let command = container(case, finding).and_then(|c| target.set_image_command(c, "IMAGE"));
    match command {
        Some(command) => remedy::command(fix, command),
        None => target.with_replacement(fix),
    }
}

fn create_secret(case: &Case<'_>, name: &str, host: &str, text: String) -> Remedy {
    remedy::command(
        remedy::fix(text),
        format!(
            "kubectl -n {} create secret docker-registry {} --docker-server={} --docker-username=USER --docker-password=PASSWORD",
            case.pod.key.namespace,
            shell_word(name),
            shell_word(host)
        ),
    )
}

/// A new secret, and its name in the pod template, for a pod that has none.
fn give_secret(case: &Case<'_>, host: &str) -> Vec<Remedy> {
    if let Some(name) = case.pod.image_pull_secrets.first() {
        let text = say!(
            case,
            "Check that pull secret {secret} holds valid credentials for {host}; else create it anew.",
            secret = name,
            host
        );
        return vec![create_secret(case, name, host, text)];
    }
    let target = target::of(case);
    vec![
        create_secret(
            case,
            "regcred",
            host,
            say!(case, "The pod has no imagePullSecrets. Create one for {host}.", host),
        ),
        target.with_pod_patch(
            remedy::fix(phrase!(case, "Name the secret in the pod template (or in its service account).")),
            "imagePullSecrets:\n- name: regcred\n",
        ),
    ]
}

pub(super) fn fix_image(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let text = say!(
        case,
        "Correct the image {image} ({place}).",
        image = image(case, finding),
        place = where_it_stands(case, finding)
    );
    undo::of_stuck_rollout(case).into_iter().chain([set_image(case, finding, text)]).collect()
}

fn where_it_stands(case: &Case<'_>, finding: &Finding) -> String {
    let target = target::of(case);
    match container(case, finding) {
        Some(c) if is_init(c) => {
            say!(case, "init container {container} of {target}", container = c.name, target = target.display())
        }
        Some(c) => say!(case, "container {container} of {target}", container = c.name, target = target.display()),
        None => target.display(),
    }
}

pub(super) fn image_volume(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let reference = container(case, finding)
        .and_then(|c| see(case, c).and_then(|seen| volume_reference(case, c, &seen)))
        .unwrap_or_default();
    let host = registry_of(reference);
    undo::of_stuck_rollout(case)
        .into_iter()
        .chain([remedy::fix(say!(
            case,
            "Correct the reference {reference} under spec.volumes of {target}, or push that image.",
            reference,
            target = target::of(case).display()
        ))])
        .chain(give_secret(case, host).into_iter().take(1))
        .collect()
}

pub(super) fn never_pull(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    let image = image(case, finding);
    vec![
        target.with_container_patch(
            remedy::fix(phrase!(case, "Let the kubelet pull the image when the node lacks it.")),
            container(case, finding),
            "imagePullPolicy: IfNotPresent\n",
        ),
        remedy::fix(say!(
            case,
            "Or load {image} onto node {node} and every other that can run the pod. If `crictl images` there lists it, the pod lacks the pull secret it was pulled with (1.35 checks that).",
            image,
            node = node(case)
        )),
    ]
}

pub(super) fn node_images(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}: read the container runtime's log and check the disk under its image store.",
            node = node(case)
        )),
        remedy::fix(say!(
            case,
            "If only this image is damaged there, remove it: crictl rmi {image}",
            image = image(case, finding)
        )),
    ]
}

pub(super) fn signature(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "Sign {image} with a key that the nodes trust, or use a signed one.",
            image = image(case, finding)
        )),
        remedy::fix(say!(
            case,
            "Or correct the signature policy (/etc/containers/policy.json) on node {node}.",
            node = node(case)
        )),
    ]
}

pub(super) fn pull_secret(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    let missing = missing_secret(case).or(case.pod.image_pull_secrets.first().map(String::as_str));
    let name = missing.and_then(|names| names.split([',', ' ']).next()).unwrap_or("regcred");
    let text = say!(
        case,
        "Create pull secret {secret} with credentials for {host} in namespace {namespace}.",
        secret = name,
        host,
        namespace = case.pod.key.namespace
    );
    vec![create_secret(case, name, host, text)]
}

pub(super) fn wait(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(phrase!(
        case,
        "Wait: the kubelet tries again. If it is frequent, raise registryPullQPS in its configuration."
    ))]
}

const DOCKER_HUB: [&str; 4] = ["registry-1.docker.io", "docker.io", "index.docker.io", "auth.docker.io"];

pub(super) fn registry_dns(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let host = container(case, finding)
        .and_then(|c| see(case, c))
        .and_then(|seen| looked_up(seen.text).map(str::to_owned))
        .unwrap_or_else(|| registry_of(image).to_owned());
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    let node = node(case);
    // Docker Hub is what an image means that names no registry.
    if DOCKER_HUB.contains(&host.as_str()) {
        out.push(remedy::fix(say!(
            case,
            "Check the resolver of node {node} (not the cluster's DNS): `getent hosts {host}` there, /etc/resolv.conf.",
            node,
            host
        )));
        out.push(remedy::fix(say!(
            case,
            "If node {node} is not to reach {host}, configure a mirror for its runtime.",
            node,
            host
        )));
        out.push(set_image(
            case,
            finding,
            phrase!(case, "Or use the image from a registry that the node reaches.").to_owned(),
        ));
    } else {
        out.push(set_image(case, finding, say!(case, "If {host} is a typo, correct the image.", host)));
        out.push(remedy::fix(say!(
            case,
            "Else check the resolver of node {node} (not the cluster's DNS): `getent hosts {host}` there, /etc/resolv.conf.",
            node,
            host
        )));
    }
    out
}

pub(super) fn registry_tls(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    vec![
        remedy::fix(say!(
            case,
            "Install the CA that signed {host}'s certificate for the container runtime on every node (containerd: /etc/containerd/certs.d/{host}/hosts.toml).",
            host
        )),
        remedy::fix(say!(
            case,
            "If it has expired, renew the certificate of {host}; also check the clock of {node}.",
            host,
            node = node(case)
        )),
    ]
}

pub(super) fn registry_http(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    vec![
        remedy::fix(say!(case, "Serve TLS at {host}.", host)),
        remedy::fix(say!(
            case,
            "Or declare {host} as plain HTTP for the runtime of every node (containerd: server = \"http://{host}\" in /etc/containerd/certs.d/{host}/hosts.toml).",
            host
        )),
    ]
}

pub(super) fn rate_limit(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    let mut out = vec![remedy::mitigate(phrase!(case, "Wait: the kubelet tries again, every 5 min at the latest."))];
    out.extend(give_secret(case, host));
    out.push(remedy::fix(say!(
        case,
        "Or pull through a mirror or cache of {host} that the nodes are configured to use.",
        host
    )));
    out
}

pub(super) fn disk_full(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Free the disk of node {node}: unused images (crictl rmi --prune), logs, old data.",
                node = node(case)
            )),
            format!("kubectl describe node {}", node(case)),
        ),
        remedy::mitigate(say!(
            case,
            "Keep new pods away meanwhile: kubectl cordon {node}, then delete this pod.",
            node = node(case)
        )),
    ]
}

pub(super) fn arch(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let platform = platform(case).unwrap_or_else(|| phrase!(case, "the node's platform").to_owned());
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(remedy::fix(say!(
        case,
        "Build and push {image} for {platform} as well.",
        image = image(case, finding),
        platform
    )));
    out.push(target::of(case).with_pod_patch(
        remedy::fix(phrase!(case, "Or run the pod only on nodes for which the image is built (replace ARCH).")),
        "nodeSelector:\n  kubernetes.io/arch: ARCH\n",
    ));
    out
}

pub(super) fn registry_refused(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let peer = container(case, finding)
        .and_then(|c| see(case, c))
        .and_then(|seen| peer(seen.text).map(str::to_owned))
        .unwrap_or_else(|| registry_of(image).to_owned());
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(remedy::fix(say!(
        case,
        "Start the registry (or the mirror configured on node {node}) at {peer}.",
        node = node(case),
        peer
    )));
    out.push(set_image(case, finding, say!(case, "Or correct host and port in the image {image}.", image)));
    out
}

pub(super) fn registry_timeout(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    vec![
        remedy::fix(say!(
            case,
            "From node {node}, try `curl -v https://{host}/v2/`; check firewall, routes and the runtime's proxy settings.",
            node = node(case),
            host
        )),
        remedy::mitigate(say!(
            case,
            "If other nodes reach {host}: kubectl cordon {node}, then delete the pod.",
            host,
            node = node(case)
        )),
    ]
}

pub(super) fn registry_down(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    vec![
        remedy::fix(say!(
            case,
            "Check the health of registry {host} and of proxies before it; the kubelet tries again by itself.",
            host
        )),
        remedy::mitigate(phrase!(case, "Meanwhile use a mirror that has the image.")),
    ]
}

pub(super) fn corrupt(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    vec![
        remedy::mitigate(phrase!(case, "Wait for the next try: a broken download often passes.")),
        remedy::fix(say!(
            case,
            "If it repeats, push {image} again, and bypass the mirror or proxy between {node} and the registry.",
            image,
            node = node(case)
        )),
    ]
}

pub(super) fn repo(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(set_image(case, finding, say!(case, "Check the repository's name in {image}.", image)));
    out.extend(give_secret(case, registry_of(image)));
    out
}

pub(super) fn unauthorized(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let host = registry_of(image(case, finding));
    undo::of_stuck_rollout(case)
        .into_iter()
        .chain(cloud_role(case.language(), host))
        .chain(give_secret(case, host))
        .collect()
}

/// The registries of clouds, to which nodes log in by their own role: tokens in a secret would expire within hours.
fn cloud_role(language: Language, host: &str) -> Option<Remedy> {
    let role = if host.contains(".dkr.ecr.") {
        "AmazonEC2ContainerRegistryReadOnly"
    } else if host.ends_with(".azurecr.io") {
        "AcrPull"
    } else if host.ends_with(".pkg.dev") || host == "gcr.io" || host.ends_with(".gcr.io") {
        "roles/artifactregistry.reader"
    } else {
        return None;
    };
    Some(remedy::fix(say!(
        language,
        "Give the nodes' cloud identity the right to read {host} ({role}); no pull secret is needed then.",
        host,
        role
    )))
}

pub(super) fn forbidden(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let mut out = vec![remedy::fix(say!(
        case,
        "Grant the account that pulls (pull secret, service account or the node's cloud role) read access to {image}.",
        image
    ))];
    out.extend(give_secret(case, registry_of(image)));
    out
}

pub(super) fn tag(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(set_image(case, finding, phrase!(case, "Set an image that exists.").to_owned()));
    if let Some(secret) = missing_secret(case).and_then(|names| names.split([',', ' ']).next()) {
        let text = say!(
            case,
            "If the repository is private, create its pull secret {secret} first, which is not there: some registries say `not found` of what they do not show to strangers.",
            secret
        );
        out.push(create_secret(case, secret, registry_of(image), text));
    }
    out.push(remedy::fix(say!(case, "Or push {image}; the kubelet finds it at its next try.", image)));
    out
}

pub(super) fn unclear(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let image = image(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(remedy::fix(say!(
        case,
        "On node {node}, see what the runtime says: crictl pull {image}",
        node = node(case),
        image
    )));
    out
}
