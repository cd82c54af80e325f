//! The signal `imagePull`.

mod answer;

use super::{Matched, PodSignal, Seen, Source, lasting, of_containers, signal};
use crate::api::{Confidence, Evidence};
use crate::case::{Case, Finding, Specificity, Verdict, evidence};
use crate::facts::{Container, EventFacts, NodeState, Timestamp, VolumeSource};
use crate::message::{self, Class};

/// Waiting reasons of the kubelet's image manager.
const REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

const SECRET_EVENT: &str = "FailedToRetrieveImagePullSecret";

const DOCKER_HUB: [&str; 4] = ["registry-1.docker.io", "docker.io", "index.docker.io", "auth.docker.io"];

signal! {
    /// An image of a container that cannot be pulled, while the container waits for it.
    /// Source: containerStatuses[].state.waiting; Events `Failed` where the state has lost the error.
    pub(crate) struct ImagePull<'a> as "imagePull" { case: &'a Case<'a>, container: &'a Container, seen: Seen<'a> }
    reason: |of| of.seen.reason, message: of.seen.text;

    /// Image reference of the container, the middle left out where it is longer than 100 characters.
    /// Source: spec.containers[].image.
    "image": fn image(&self) -> String { message::name(&self.container.image, 100) }

    /// Host and port of the registry that the image's name means; docker.io where it names none.
    /// Source: spec.containers[].image.
    "registry": fn registry(&self) -> &str { registry_of(self.reference()) }

    /// What selects the image in its repository: `tag`, `digest`, or `latest` where neither is given.
    /// Source: spec.containers[].image.
    "tag": fn tag(&self) -> &'static str { tag_of(&self.container.image) }

    /// Host that a failed DNS lookup asked for; empty if no lookup failed.
    /// Source: Go's net.DNSError in the message.
    "lookedUpHost": fn looked_up_host(&self) -> &str { looked_up(self.seen.text).unwrap_or_default() }

    /// Name that could not be resolved: that of the failed lookup, else the registry.
    /// Source: Go's net.DNSError in the message.
    "dnsName": fn dns_name(&self) -> &str { looked_up(self.seen.text).unwrap_or_else(|| registry_of(self.reference())) }

    /// Address that could not be reached: that of the failed connection, else the registry.
    /// Source: Go's net.OpError in the message.
    "address": fn address(&self) -> &str { peer(self.seen.text).unwrap_or_else(|| registry_of(self.reference())) }

    /// Host other than the registry that the failed request went to, such as the storage of the layers; empty if it went to
    /// the registry or a mirror. Source: the URL in the message.
    "otherHost": fn other_host(&self) -> &str {
        let url = self.seen.text.rsplit_once("https://").map(|(_, url): (_, &str)| url);
        let host = url.and_then(|url| url.split(['/', '"', '?', ' ']).next()).unwrap_or_default();
        let is_other = !host.is_empty() && host != registry_of(self.reference()) && self.mirror().is_empty();
        if is_other && host.contains('.') && !host.starts_with("registry-1.docker.io") { host } else { "" }
    }

    /// The proxy whose connection failed; empty if none is involved. Source: Go net/http, `proxyconnect` in the message.
    "proxy": fn proxy(&self) -> &str {
        let proxy = looked_up(self.seen.text).or_else(|| peer(self.seen.text));
        proxy.filter(|_| self.seen.has("proxyconnect")).unwrap_or_default()
    }

    /// Host of the mirror or pull-through cache that the runtime asked instead of the registry; empty if it asked the registry.
    /// Source: the URL in the message; containerd adds `?ns=REGISTRY` to the requests to a mirror.
    "mirror": fn mirror(&self) -> &str { answer::mirror(self.seen.text, registry_of(self.reference())).unwrap_or_default() }

    /// The reason that the registry gives, at most 90 characters; empty where it states no more than its status.
    /// Source: the registry's answer.
    "answer": fn answer(&self) -> String { answer::reason(self.seen.text) }

    /// Registry that the image's name means but does not contain: docker.io; empty if the name begins with its registry.
    /// Source: spec.containers[].image.
    "impliedRegistry": fn implied_registry(&self) -> &str {
        let registry = registry_of(self.reference());
        if self.reference().starts_with(registry) { "" } else { registry }
    }

    /// Whether the registry refuses the token that a pull needs, before the image is asked for.
    /// Source: containerd core/remotes/docker/auth; containers/image docker_client.go.
    "isTokenRefused": fn is_token_refused(&self) -> bool {
        ["failed to fetch oauth token", "failed to fetch anonymous token", "requesting bearer token"]
            .iter()
            .any(|words| self.seen.has(words))
    }

    /// Whether credentials are missing or refused. Source: words and HTTP status of the message.
    "isRefused": fn is_refused(&self) -> bool {
        matches!(self.seen.parsed().class(), Some(Class::Unauthenticated | Class::Permission))
    }

    /// Folder of the runtime's data that is full, such as `/var/lib/containerd`: the first three parts of the path that
    /// cannot be written. Empty if the message names none. Source: ENOSPC and EDQUOT in the message.
    "fullFolder": fn full_folder(&self) -> &str { answer::full_folder(self.seen.text).unwrap_or_default() }

    /// Version of Windows that the image is built for, such as `10.0.17763`; empty if the message names none.
    /// Source: docker daemon, `a Windows version ...-based image is incompatible with a ... host`.
    "imageWindows": fn image_windows(&self) -> &str {
        message::between(self.seen.text, "a Windows version ", "-based image").unwrap_or_default()
    }

    /// Version of Windows of the node in the same message.
    "nodeWindows": fn node_windows(&self) -> &str {
        message::between(self.seen.text, "is incompatible with a ", " host").unwrap_or_default()
    }

    /// Whether a certificate has expired or is not valid yet. Source: Go crypto/x509 in the message.
    "certificateExpired": fn certificate_expired(&self) -> bool {
        self.seen.has("certificate has expired") || self.seen.has("not yet valid")
    }

    /// When the certificate expired; empty if it did not, or if the message has no time.
    /// Source: Go crypto/x509, `current time ... is after ...`.
    "certificateExpiredAt": fn certificate_expired_at(&self) -> &str {
        if self.certificate_expired() { message::word_after(self.seen.text, " is after ") } else { "" }
    }

    /// When the certificate becomes valid; empty if it is, or if the message has no time.
    /// Source: Go crypto/x509, `current time ... is before ...`.
    "certificateValidFrom": fn certificate_valid_from(&self) -> &str {
        if self.certificate_expired() { message::word_after(self.seen.text, " is before ") } else { "" }
    }

    /// Time of the node's clock in the same message.
    "nodeClock": fn node_clock(&self) -> &str { message::word_after(self.seen.text, "current time ") }

    /// Host whose certificate is refused: the mirror, else the registry.
    "tlsHost": fn tls_host(&self) -> &str {
        let mirror = self.mirror();
        if mirror.is_empty() { self.registry() } else { mirror }
    }

    /// Severity from which the registry blocks vulnerable images, such as `Critical`; empty if no such policy blocks the
    /// image. Source: Harbor src/server/middleware/vulnerable.
    "blockedSeverity": fn blocked_severity(&self) -> &str {
        let text = self.seen.text;
        let quoted = message::quoted_after(text, "with vulnerability severity of ");
        quoted.unwrap_or_default()
    }

    /// State of the image for which the policy blocks it, such as `with 14 vulnerabilities` or `without vulnerability
    /// scanning`; empty if the message has none. Source: Harbor src/server/middleware/vulnerable.
    "scanState": fn scan_state(&self) -> &str {
        message::between(self.seen.text, "current image ", " cannot be pulled").unwrap_or_default()
    }

    /// Whether the image has vulnerabilities, so that another scan does not help. Source: the same message.
    "isVulnerable": fn is_vulnerable(&self) -> bool {
        self.scan_state().strip_prefix("with ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// HTTP status of the registry's answer, such as 401; empty if the message has none. Source: the message.
    "httpStatus": fn http_status(&self) -> Option<u32> { self.seen.parsed().codes().http.map(u32::from) }

    /// Whether the credentials have expired, for all images of the registry. Source: the registry's answer.
    "tokenExpired": fn token_expired(&self) -> bool { self.seen.has("token has expired") }

    /// Address of a failed connection, `host:port`; empty if the message names none.
    /// Source: Go's net.OpError in the message.
    "peer": fn peer(&self) -> &str { peer(self.seen.text).unwrap_or_default() }

    /// Whether the connection to a proxy failed. Source: Go net/http, `proxyconnect` in the message.
    "throughProxy": fn through_proxy(&self) -> bool { self.seen.has("proxyconnect") }

    /// Whether the name that could not be resolved is one of Docker Hub's hosts. Source: spec.containers[].image.
    "isDockerHub": fn is_docker_hub(&self) -> bool { DOCKER_HUB.contains(&self.dns_name()) }

    /// The error of the message, at most 80 characters, without the image.
    "error": fn error(&self) -> String { self.summary(80) }

    /// The error of the message with its operation and object, at most 120 characters; empty where the kubelet no longer
    /// has it.
    "message": fn message(&self) -> String {
        let lost = self.seen.text.is_empty() || self.seen.reason == "ImagePullBackOff" && !self.seen.text.contains(": ");
        if lost { String::new() } else { self.summary(120) }
    }

    /// Whether the message ends in the middle of an answer: the connection was closed without one.
    /// Source: Go io.EOF at the end of the message.
    "connectionClosed": fn connection_closed(&self) -> bool { self.seen.text.trim_end().ends_with(": EOF") }

    /// Whether the kubelet wrote an error where the reason of the state belongs.
    /// Source: pkg/credentialprovider/secrets MakeDockerKeyring.
    "isRawError": fn is_raw_error(&self) -> bool { !REASONS.contains(&self.seen.reason) }

    /// The pull secrets that the kubelet could not read. Source: Event FailedToRetrieveImagePullSecret.
    "missingSecret": fn missing_secret(&self) -> &str { missing_secret(self.case).unwrap_or_default() }

    /// The first of them; empty if none is missing. Source: Event FailedToRetrieveImagePullSecret.
    "firstMissingSecret": fn first_missing_secret(&self) -> &str {
        missing_secret(self.case).and_then(|names| names.split([',', ' ']).next()).unwrap_or_default()
    }

    /// The only missing pull secret; empty if several are missing. Source: Event FailedToRetrieveImagePullSecret.
    "onlyMissingSecret": fn only_missing_secret(&self) -> &str {
        missing_secret(self.case).filter(|names| !names.contains(',')).unwrap_or_default()
    }

    /// The first pull secret that the pod names. Source: spec.imagePullSecrets.
    "pullSecret": fn pull_secret(&self) -> Option<&str> {
        self.case.pod.image_pull_secrets.first().map(String::as_str)
    }

    /// A name for a new pull secret, which the pod does not name.
    "newPullSecret": fn new_pull_secret(&self) -> &'static str {
        let is_named = |name: &str| self.case.pod.image_pull_secrets.iter().any(|named| named == name);
        ["regcred", "regcred-2", "regcred-3"].into_iter().find(|name| !is_named(name)).unwrap_or("regcred-4")
    }

    /// The pull secret of the pod, where it has exactly one. Source: spec.imagePullSecrets.
    "onlyPullSecret": fn only_pull_secret(&self) -> Option<&str> {
        match self.case.pod.image_pull_secrets.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Operating system and CPU of the node, such as `linux/arm64`. Source: labels kubernetes.io/os and kubernetes.io/arch.
    "platform": fn platform(&self) -> Option<String> { platform(self.case) }

    /// Reference of the image volume that the message is about; empty if it is about the container's own image.
    /// Source: spec.volumes[].image.reference.
    "volumeReference": fn volume_reference(&self) -> &str {
        volume_reference(self.case, self.container, &self.seen).unwrap_or_default()
    }

    /// The image that cannot be pulled: that of the volume, else that of the container.
    "reference": fn reference(&self) -> &str {
        volume_reference(self.case, self.container, &self.seen).unwrap_or(&self.container.image)
    }

    /// The role that lets nodes of a cloud read the registry; empty for a registry of no cloud.
    /// Source: host name of the registry.
    "cloudRole": fn cloud_role(&self) -> &'static str { cloud_role(registry_of(&self.container.image)) }
}

pub(crate) const SOURCE: Source =
    Source { definition: &ImagePull::DEFINITION, read: |case| of_containers(case, |container| read(case, container)) };

/// Seconds after which a pull error counts without a second failure. The next try often succeeds, so a first error is
/// only noted; but the Event of the second try (10 to 20 s after the first) may be lost.
const SECOND_TRY: i64 = 30;

/// Whether pulls with this cause block for long and delay other pulls on the node.
pub fn holds_up_pulls(cause: &str) -> bool {
    matches!(cause, "RegistryTimeout" | "ImagePullStalled")
}

impl<'a> PodSignal<'a> for ImagePull<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    fn evidence(&self, cause: &Matched) -> Vec<Evidence> {
        let waiting =
            evidence::field(format!("{}.state.waiting.reason", self.container.status_path()), self.seen.reason);
        let image = evidence::field(format!("{}.image", self.container.spec_path()), &*self.container.image);
        let is_about_access = matches!(cause.name, "ImagePullSecretMissing" | "ImageTagNotFound");
        let secret = secret_event(self.case).filter(|_| is_about_access).map(evidence::event);
        std::iter::once(waiting).chain(self.seen.evidence()).chain([image]).chain(secret).collect()
    }

    fn complete(&self, cause: &Matched, finding: Finding) -> Verdict {
        let is_known = cause.precedence == Specificity::Specific || self.seen.text.contains(": ");
        let finding = finding.confidence(if is_known { Confidence::Certain } else { Confidence::Likely });
        Verdict::Yes(Box::new(match self.has_failed_twice(cause) {
            Ok(()) => finding,
            Err(at) => finding.noted().until(at),
        }))
    }
}

impl ImagePull<'_> {
    fn summary(&self, most: usize) -> String {
        self.seen.parsed().summary(most, &[self.reference(), &self.container.image])
    }

    fn has_failed_twice(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        let threshold = cause.threshold;
        if threshold == 0 {
            return Ok(());
        }
        // While pods take turns, a second try is no proof.
        let takes_turns = threshold > SECOND_TRY;
        // In back-off at the operator's start: the pull failed at least 10 s ago, an unknown number of times.
        let is_chosen = case.thresholds.chosen(cause.name).is_some();
        if self.seen.reason == "ImagePullBackOff" && case.observed.at_start && !takes_turns && !is_chosen {
            return Ok(());
        }
        // Errors of the kubelet or its runtime count only since the node's last outage: its after-effects pass.
        let is_of_node = cause.precedence == Specificity::Umbrella;
        let back = case.node.filter(|_| is_of_node).and_then(NodeState::ready_since);
        let failed = |e: &&EventFacts| e.message.contains("Failed to pull image");
        let events = case.container_events(self.container, "Failed").filter(failed);
        let events = events.filter(|event| back.is_none_or(|back| event.last.is_none_or(|last| last >= back)));
        let (mut tries, mut since) = (0, case.held_since(case.pod.start_time));
        since = back.map_or(since, |back| since.max(back));
        for event in events {
            tries += event.count.max(1);
            since = since.min(lasting::first_seen(case, event));
        }
        lasting::counts(case, cause, since, if takes_turns { 0 } else { tries })
    }
}

/// The failing image pull of a container that waits for its image.
pub(crate) fn read<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ImagePull<'a>> {
    let (reason, message) = container.waiting()?;
    let known = REASONS.contains(&reason);
    // The kubelet writes the error of an unreadable pull secret into the reason.
    if !known && (reason.is_empty() || reason != message || !reason.contains(' ')) {
        return None;
    }
    let lost = reason == "ImagePullBackOff" && !message.contains(": ") || known && message.is_empty();
    let event = if lost { last_failed_pull(case, container) } else { None };
    let text = event.map_or(message, |e| &*e.message);
    let path = event.is_none().then_some("state.waiting.message");
    let seen = Seen::new(reason, text, event, Some(container), path);
    Some(ImagePull { case, container, seen })
}

/// The last `Failed` Event about a pull of this container's image.
fn last_failed_pull<'a>(case: &Case<'a>, container: &'a Container) -> Option<&'a EventFacts> {
    case.container_events(container, "Failed")
        .rev()
        .find(|e| e.message.contains("Failed to pull image") && e.message.contains(&*container.image))
}

/// The newest Event about a pull secret that the kubelet could not read.
fn secret_event<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    case.events_with(SECRET_EVENT).next_back()
}

fn missing_secret<'a>(case: &Case<'a>) -> Option<&'a str> {
    message::between(&secret_event(case)?.message, "pull secrets (", ")")
}

fn tag_of(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    match (image.contains('@'), name.contains(':')) {
        (true, _) => "digest",
        (false, true) => "tag",
        (false, false) => "latest",
    }
}

/// The registry of an image name: its first part if that looks like a host, else docker.io.
fn registry_of(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => "docker.io",
    }
}

/// The host of a failed DNS lookup.
fn looked_up(text: &str) -> Option<&str> {
    let rest = text.rsplit("lookup ").next().filter(|rest| rest.len() < text.len())?;
    rest.split([' ', ':']).next().filter(|host| !host.is_empty())
}

/// The address of a failed connection.
fn peer(text: &str) -> Option<&str> {
    let rest = text.rsplit("dial tcp ").next().filter(|rest| rest.len() < text.len())?;
    rest.split(": ").next().and_then(|p| p.rsplit("->").next()).filter(|p| !p.is_empty() && !p.contains(' '))
}

fn platform(case: &Case<'_>) -> Option<String> {
    let labels = &case.node?.facts.labels;
    Some(format!("{}/{}", labels.get("kubernetes.io/os")?, labels.get("kubernetes.io/arch")?))
}

/// The node role for the registries of cloud providers. A token in a Secret would expire within hours.
fn cloud_role(host: &str) -> &'static str {
    if host.contains(".dkr.ecr.") {
        "AmazonEC2ContainerRegistryReadOnly"
    } else if host.ends_with(".azurecr.io") {
        "AcrPull"
    } else if host.ends_with(".pkg.dev") || host == "gcr.io" || host.ends_with(".gcr.io") {
        "roles/artifactregistry.reader"
    } else {
        ""
    }
}

/// The reference of an image volume in the text, if it differs from the container's own image.
fn volume_reference<'a>(case: &Case<'a>, container: &Container, seen: &Seen<'_>) -> Option<&'a str> {
    case.pod.volumes.iter().find_map(|volume| match &volume.source {
        VolumeSource::Image { reference }
            if !reference.is_empty()
                && **reference != *container.image
                && names(seen.text, reference)
                && !names(seen.text, &container.image) =>
        {
            Some(reference.as_str())
        }
        _ => None,
    })
}

/// Whether an error is about this image: in quotes, in its own sentence, or with the default tag added.
fn names(text: &str, image: &str) -> bool {
    text.match_indices(image).any(|(at, _)| {
        let after = text.get(at + image.len()..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        after.starts_with(['"', '\\', ' ', ':']) && (before.is_empty() || before.ends_with(['"', ' ', '/']))
    })
}
