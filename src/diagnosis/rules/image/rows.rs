//! What is said of an image that cannot be had, and by which words each cause is known.

use super::{REASONS, SECOND_TRY, SECRET_EVENT, remedies, roots, volume_reference};
use crate::api::Root;
use crate::diagnosis::rules::signature::{self, ROW, Row, Seen, Words, its_node};
use crate::diagnosis::{Case, Explain, Specificity};

pub(super) const ROWS: &[Row] = &[
    Row {
        cause: "ImageVolumePullFailed",
        also: Some(is_image_volume),
        says: "image volume {reference}: {words}",
        root: of_volume,
        remedies: remedies::image_volume,
        explain: Explain {
            meaning: "The image of a volume of type `image` cannot be pulled, so no container that mounts it can start.",
            told_apart: "The kubelet uses the same words as for a container's image; the reference is that of spec.volumes[].image, and the Events name no container.",
            action: "Correct volumes[].image.reference, or give the pod a pull secret for it; the error says which.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go getImageVolumes",
        },
        ..ROW
    },
    Row {
        cause: "InvalidImageName",
        reasons: &["InvalidImageName"],
        says: "image {image} is not a valid image reference: {words}",
        remedies: remedies::fix_image,
        explain: Explain {
            meaning: "The image string cannot be parsed, so nothing was ever asked of a registry.",
            told_apart: "The kubelet itself says so before any pull; an upper-case letter, a space, an empty tag or an unexpanded variable are usual.",
            action: "Correct the image string; look at the template or chart value that built it.",
            source: "kubernetes pkg/kubelet/images/image_manager.go applyDefaultImageTag",
        },
        ..ROW
    },
    Row {
        cause: "ErrImageNeverPull",
        reasons: &["ErrImageNeverPull"],
        says: "image {image} is not on the node, and imagePullPolicy is Never",
        root: roots::image,
        remedies: remedies::never_pull,
        explain: Explain {
            meaning: "The pull policy forbids a pull, and the node does not have the image.",
            told_apart: "No registry is involved. Since 1.35 the kubelet says the same of an image that is there but was pulled with a secret that this pod does not have.",
            action: "Load the image on every node that can run the pod, or set imagePullPolicy to IfNotPresent.",
            source: "kubernetes pkg/kubelet/images/image_manager.go imageNotPresentOnNeverPolicyError",
        },
        ..ROW
    },
    Row {
        cause: "ImageInspectError",
        reasons: &["ImageInspectError"],
        patience: SECOND_TRY,
        specificity: Specificity::Umbrella,
        says: "the runtime on {node} cannot inspect image {image}: {words}",
        root: its_node,
        remedies: remedies::node_images,
        explain: Explain {
            meaning: "The container runtime failed when the kubelet asked whether the image is there.",
            told_apart: "It fails before any pull and for every image on that node, and tells nothing of this one (what was learnt of it before stands): the runtime's image store is damaged or its disk is broken.",
            action: "Look at the runtime's log and its disk on the node; removing and pulling the image again often helps.",
            source: "kubernetes pkg/kubelet/images/image_manager.go imagePullPrecheck",
        },
        ..ROW
    },
    Row {
        cause: "SignatureValidationFailed",
        words: &[&["signature validation failed"], &["signaturevalidationfailed"]],
        says: "image {image}: its signature does not satisfy the policy of node {node}",
        root: roots::image,
        remedies: remedies::signature,
        explain: Explain {
            meaning: "The runtime's signature policy rejects the image.",
            told_apart: "Only CRI-O checks signatures by itself; the pull as such worked.",
            action: "Sign the image with a key that the policy trusts, or correct policy.json on the nodes.",
            source: "kubernetes pkg/kubelet/images/image_manager.go evalCRIPullErr; cri-o server/image_pull.go",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullSecretMalformed",
        words: &[
            &["invalid character"],
            &["json: cannot unmarshal"],
            &["unexpected end of json input"],
            &["illegal base64 data"],
        ],
        also: Some(is_raw_error),
        says: "a pull secret of the pod is not valid docker configuration: {words}",
        root: roots::only_secret,
        remedies: remedies::pull_secret,
        explain: Explain {
            meaning: "One of the imagePullSecrets cannot be read as docker configuration, so the kubelet does not even try to pull.",
            told_apart: "The JSON error itself stands where the waiting reason should be.",
            action: "Create the secret again with `kubectl create secret docker-registry`.",
            source: "kubernetes pkg/credentialprovider/secrets/secrets.go MakeDockerKeyring",
        },
        ..ROW
    },
    Row {
        cause: "PullQPSExceeded",
        words: &[&["pull qps exceeded"]],
        // It passes by itself: dozens of pods on one node take their turns within minutes.
        patience: 300,
        // No registry was asked: what is known of the image stands.
        specificity: Specificity::Umbrella,
        says: "image {image} waits: the kubelet on {node} limits how many pulls it starts a second",
        root: its_node,
        remedies: remedies::wait,
        explain: Explain {
            meaning: "The kubelet throttles its own pulls (registryPullQPS, registryBurst).",
            told_apart: "No registry was asked. It passes by itself unless very many pods start on one node.",
            action: "Wait; raise registryPullQPS and registryBurst in the kubelet's configuration if it is frequent.",
            source: "kubernetes pkg/kubelet/images/helpers.go",
        },
        ..ROW
    },
    Row {
        cause: "RegistryDnsFailure",
        words: &[
            &["lookup ", "no such host"],
            &["lookup ", "server misbehaving"],
            &["lookup ", "i/o timeout"],
            &["lookup ", "connection refused"],
            &["lookup ", "network is unreachable"],
            &["temporary failure in name resolution"],
            &["could not resolve host"],
        ],
        patience: SECOND_TRY,
        says: "image {image}: node {node} cannot resolve the registry's name {looked_up} ({short})",
        root: roots::registry,
        remedies: remedies::registry_dns,
        explain: Explain {
            meaning: "The node cannot resolve the host name of the registry.",
            told_apart: "The error stands after `lookup`: a refusal or a time-out there is the DNS server's, not the registry's. It is the node's resolver, not the cluster's DNS.",
            action: "Check the host in the image's name for a typo, then /etc/resolv.conf of the node.",
            source: "containerd core/remotes/docker/resolver.go; Go net.DNSError",
        },
        ..ROW
    },
    Row {
        cause: "RegistryUnavailable",
        also: Some(is_unavailable),
        patience: SECOND_TRY,
        says: "image {image}: registry {host} is not available ({short})",
        root: roots::registry,
        remedies: remedies::registry_down,
        explain: Explain {
            meaning: "The registry does not serve: it fails, or its host turns the connection away.",
            told_apart: "It answers with a 5xx status, or cuts the connection. CRI-O and cri-dockerd have a reason of this name; for containerd the status in the text tells.",
            action: "Check the registry's own health, and proxies before it; then wait, the kubelet tries again.",
            source: "cri-o server/image_pull.go; cri-dockerd core/image.go; the registry's answer",
        },
        ..ROW
    },
    Row {
        cause: "RegistryTlsUntrusted",
        words: &[&["x509: "], &["tls: failed to verify certificate"], &["remote error: tls: "]],
        says: "image {image}: node {node} does not trust the certificate of {host} ({short})",
        root: roots::registry,
        remedies: remedies::registry_tls,
        explain: Explain {
            meaning: "The TLS certificate of the registry is not accepted by the node.",
            told_apart: "The registry answers and TLS fails: unknown authority (the CA is missing on the node), expired or not yet valid (or the node's clock is wrong), or a certificate for another name.",
            action: "Install the registry's CA for the runtime on every node, or renew the certificate; check the clock.",
            source: "Go crypto/x509, passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "RegistryHttpNotHttps",
        words: &[&["server gave http response to https client"]],
        says: "image {image}: registry {host} speaks plain HTTP, and the runtime expects HTTPS",
        root: roots::registry,
        remedies: remedies::registry_http,
        explain: Explain {
            meaning: "The runtime speaks TLS to a registry that serves plain HTTP.",
            told_apart: "The server answered, but not in TLS.",
            action: "Declare the registry as plain HTTP in the runtime's configuration of every node, or give it TLS.",
            source: "Go net/http, passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullRateLimited",
        words: &[
            &["429 too many requests"],
            &["toomanyrequests: "],
            &["too many requests to registry"],
            &["pull rate limit"],
        ],
        patience: SECOND_TRY,
        says: "image {image}: registry {host} limits pulls from this address or account",
        root: roots::registry,
        remedies: remedies::rate_limit,
        explain: Explain {
            meaning: "The registry refuses further pulls for a while.",
            told_apart: "It answers 429. All pods behind the same address or account are affected, whatever their image.",
            action: "Pull with an account, through a mirror or cache, or wait until the window has passed.",
            source: "the registry's answer, passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullDiskFull",
        words: &[&["no space left on device"], &["disk quota exceeded"]],
        patience: SECOND_TRY,
        says: "image {image} does not fit on the disk of node {node}",
        root: its_node,
        remedies: remedies::disk_full,
        explain: Explain {
            meaning: "The file system that holds images on the node is full.",
            told_apart: "The pull worked up to writing a layer. The node often reports DiskPressure as well.",
            action: "Free the node's disk (unused images, logs), enlarge it, or run the pod elsewhere.",
            source: "the node's kernel (ENOSPC), passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "ImageArchMismatch",
        words: &[
            &["no match for platform in manifest"],
            &["no matching manifest for"],
            &["no image found in manifest list for architecture"],
            &["no image found in image index for architecture"],
            &["does not match the specified platform"],
            // Windows, of a version or of Linux.
            &["-based image is incompatible with a "],
            &["image operating system ", "cannot be used on this platform"],
        ],
        says: "image {image} has no variant for the platform of node {node}{arch}",
        root: roots::image,
        remedies: remedies::arch,
        explain: Explain {
            meaning: "The image exists, but not for the node's operating system and CPU.",
            told_apart: "Only images with a list of platforms say so. An image of one foreign platform is pulled and then fails with `exec format error`.",
            action: "Build the image for that platform, or keep the pod on nodes of the right one with a nodeSelector.",
            source: "containerd core/images; cri-o (containers/image)",
        },
        ..ROW
    },
    Row {
        cause: "ImageShortNameUnresolved",
        words: &[
            &["did not resolve to an alias and no unqualified-search registries"],
            &["short name mode is enforcing"],
            &["short-name resolution enforced"],
        ],
        says: "image {image} names no registry, and node {node} does not know which to use",
        root: roots::image,
        remedies: remedies::fix_image,
        explain: Explain {
            meaning: "The image has a short name, and the runtime is configured not to guess the registry.",
            told_apart: "Only CRI-O asks for full names; containerd and docker read a short name as docker.io.",
            action: "Write the registry into the image's name, such as docker.io/library/nginx:1.27.",
            source: "cri-o (containers/image pkg/shortnames)",
        },
        ..ROW
    },
    Row {
        cause: "RegistryConnectionRefused",
        words: &[&["connection refused"]],
        not: &["proxyconnect"],
        patience: SECOND_TRY,
        says: "image {image}: nothing listens at the registry's address {peer} (connection refused)",
        root: roots::registry,
        remedies: remedies::registry_refused,
        explain: Explain {
            meaning: "The registry's host rejects the connection: nothing listens on that port.",
            told_apart: "The host answers at once, unlike a firewall that lets the attempt time out. A refusal inside a `lookup` is the DNS server's.",
            action: "Check the port in the image's name, and whether the registry (or the node's mirror) is up.",
            source: "the node's kernel (ECONNREFUSED), passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "RegistryTimeout",
        words: &[
            &["i/o timeout"],
            &["tls handshake timeout"],
            &["no route to host"],
            &["network is unreachable"],
            &["host is unreachable"],
            &["context deadline exceeded"],
            &["client.timeout exceeded"],
            &["connection timed out"],
            &["request canceled while waiting for connection"],
            &["proxyconnect"],
        ],
        patience: SECOND_TRY,
        says: "image {image}: node {node} gets no connection to registry {peer} ({short})",
        root: roots::registry,
        remedies: remedies::registry_timeout,
        explain: Explain {
            meaning: "The node cannot reach the registry within the time allowed.",
            told_apart: "There is no answer at all: a firewall, a missing route or a proxy. If only one node shows it, it is that node's network.",
            action: "Check egress from the node to the registry and the proxy settings of the runtime.",
            source: "Go net/http and the node's kernel, passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "ImageLayerCorrupt",
        words: &[
            &["failed commit on ref"],
            &["unexpected commit digest"],
            &["unexpected commit size"],
            &["short read: expected"],
            &["unexpected eof"],
            &["filesystem layer verification failed"],
            &["invalid tar header"],
            &["gzip: invalid"],
            &["layers from manifest don't match image configuration"],
        ],
        patience: SECOND_TRY,
        says: "image {image}: a layer arrived damaged ({short})",
        root: roots::image,
        remedies: remedies::corrupt,
        explain: Explain {
            meaning: "What was downloaded is not what the manifest promises.",
            told_apart: "The registry answered and the download ended, but its size or digest is wrong: a proxy, a mirror or a broken connection on the way.",
            action: "It often passes with the next try; if not, look at the mirror or proxy, or push the image again.",
            source: "containerd core/content; cri-o (containers/image)",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullSecretMissing",
        also: Some(is_secret_missing),
        says: "image {image} needs credentials, and pull secret {secret} of the pod does not exist",
        root: roots::missing_secret_of,
        remedies: remedies::pull_secret,
        explain: Explain {
            meaning: "The registry wants credentials, and an imagePullSecret that the pod names is not in its namespace.",
            told_apart: "The kubelet warns of a missing pull secret even where the pull works without it; it is a cause only with an authorisation failure.",
            action: "Create the secret in the pod's namespace.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go getPullSecretsForPod",
        },
        ..ROW
    },
    Row {
        cause: "ImageRepoNotFoundOrNoAccess",
        words: REPO_OR_ACCESS,
        not: WITHOUT_VALID_CREDENTIALS,
        says: "image {image}: {host} has no such repository, or hides it from these credentials",
        root: roots::image,
        remedies: remedies::repo,
        explain: Explain {
            meaning: "The registry says that the repository does not exist or may not be seen; it does not say which.",
            told_apart: "A missing tag in a repository that can be read gives `not found` instead; wrong credentials give 401.",
            action: "Check the repository's name first; if it is right, give the pod an imagePullSecret with read access.",
            source: "containerd core/remotes/docker/resolver.go; docker daemon; the registry's answer",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullUnauthorized",
        also: Some(is_unauthorized),
        says: "image {image}: registry {host} wants valid credentials, and the pod has none that it accepts",
        root: roots::unauthorized,
        remedies: remedies::unauthorized,
        explain: Explain {
            meaning: "The registry does not accept the credentials, or there are none.",
            told_apart: "401, or no token for an anonymous user. 403 means that the account is known but may not read.",
            action: "Create or renew the imagePullSecret and name it in the pod or its service account.",
            source: "containerd core/remotes/docker/authorizer.go; the registry's answer",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullForbidden",
        words: FORBIDDEN,
        says: "image {image}: registry {host} knows the account but forbids it to pull (403)",
        root: roots::image,
        remedies: remedies::forbidden,
        explain: Explain {
            meaning: "The registry knows who asks, and does not allow it.",
            told_apart: "403 and not 401: a missing role, an IP rule or a policy of the registry.",
            action: "Grant the account (or the node's cloud role) read access to the repository.",
            source: "the registry's answer, passed on by the runtime",
        },
        ..ROW
    },
    Row {
        cause: "ImageTagNotFound",
        words: &[
            &["failed to resolve reference", ": not found"],
            &["manifest unknown"],
            &["manifest not found"],
            &["content at ", "not found"],
            &["manifest for ", " not found"],
            &["unexpected status", "404 not found"],
            // Harbor.
            &["unknown: artifact ", " not found"],
            // Docker before 1.13.
            &["error: image ", " not found"],
        ],
        says: "image {image}: the registry has no {tag}, or not this repository{lacking}",
        root: roots::image,
        remedies: remedies::tag,
        explain: Explain {
            meaning: "The registry answers that it has no image with this tag or digest.",
            told_apart: "The registry was reached and let us in. Registries that list nothing to strangers say `pull access denied` instead. A repository that does not exist can look the same.",
            action: "Correct the tag or push it; where a rollout brought it, roll back.",
            source: "containerd core/remotes/docker/resolver.go; the registry's answer (MANIFEST_UNKNOWN)",
        },
        ..ROW
    },
    Row {
        cause: "ImagePullStalled",
        words: &[&["context canceled"]],
        patience: SECOND_TRY,
        says: "image {image}: the download from {host} came to a standstill and was given up",
        root: roots::registry,
        remedies: remedies::registry_timeout,
        explain: Explain {
            meaning: "The runtime gave up a pull that made no progress.",
            told_apart: "The connection stood, unlike a time-out of the connection itself: containerd cancels after image_pull_progress_timeout.",
            action: "Look at the bandwidth between node and registry and at the node's disk; raise the time-out for very large layers.",
            source: "containerd internal/cri/server/images/image_pull.go",
        },
        ..ROW
    },
    Row {
        cause: "ErrImagePull",
        patience: SECOND_TRY,
        specificity: Specificity::Umbrella,
        says: "image {image} cannot be pulled: {words}",
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The image cannot be pulled, for a reason that is not one of those known by name.",
            told_apart: "Named only where the error fits no other cause, or where the kubelet has lost it (after its restart the back-off message has no cause).",
            action: "Read the error; try the pull on the node with `crictl pull`.",
            source: "kubernetes pkg/kubelet/images/image_manager.go",
        },
        ..ROW
    },
];

const REPO_OR_ACCESS: Words = &[
    &["pull access denied"],
    &["insufficient_scope: authorization failed"],
    &["requested access to the resource is denied"],
    &["repository does not exist or may require"],
    &["does not exist or no pull access"],
    &["name unknown: "],
    &[": name unknown"],
    &["repository name not known to registry"],
    // Harbor.
    &["unknown: repository ", " not found"],
    &["unknown: project ", " not found"],
    // GitLab and GitHub.
    &["denied: access forbidden"],
    &["denied: denied"],
];

/// What goes with the words of [`REPO_OR_ACCESS`] and says more: the credentials are to blame, not the name.
const WITHOUT_VALID_CREDENTIALS: &[&str] = &["no basic auth credentials", "authorization token has expired"];

const FORBIDDEN: Words = &[&["403 forbidden"], &["denied: permission "], &["status code 403"]];

fn is_image_volume(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    seen.container.is_some_and(|container| volume_reference(case, container, seen).is_some())
}

fn is_raw_error(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    !REASONS.contains(&seen.reason)
}

fn is_unavailable(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    const ANSWERS: [&str; 7] = [
        "500 internal server error",
        "502 bad gateway",
        "503 service unavailable",
        "504 gateway time",
        "connection reset by peer",
        "broken pipe",
        "server closed idle connection",
    ];
    seen.reason == "RegistryUnavailable"
        || seen.has("errimagepull") && seen.has("registry is unavailable")
        || seen.has("registryunavailable: ")
        || ANSWERS.iter().any(|answer| seen.has(answer))
        // The connection was closed without an answer; an EOF inside a layer is `unexpected EOF`.
        || seen.text.trim_end().ends_with(": EOF")
}

fn is_unauthorized(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    const WORDS: [&str; 10] = [
        "401 unauthorized",
        "authorization token has expired",
        "failed to fetch anonymous token",
        "no basic auth credentials",
        "authentication required",
        "invalid username/password",
        "incorrect username or password",
        "unauthorized: ",
        "status code 401",
        "authorization required",
    ];
    WORDS.iter().any(|w| seen.has(w)) || seen.has("failed to fetch oauth token") && !seen.has("403 forbidden")
}

fn is_secret_missing(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let any = |words: Words| words.iter().any(|all| all.iter().all(|part| seen.has(part)));
    (any(REPO_OR_ACCESS) || any(FORBIDDEN) || is_unauthorized(case, seen))
        && case.events_with(SECRET_EVENT).next().is_some()
}

/// What the image of a volume fails of: the row of that.
fn of_volume(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    let others = ROWS.get(1..).unwrap_or_default();
    signature::first(others, case, seen).and_then(|(_, row)| (row.root)(case, seen))
}
