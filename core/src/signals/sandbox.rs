//! The signal `sandbox`.

use std::cell::OnceCell;

use super::{Matched, PodSignal, Source, lasting, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, evidence};
use crate::facts::{EventFacts, NetworkAgent, State, Timestamp, seconds_between};
use crate::message::{self, Message, between, quoted_after};

signal! {
    /// A sandbox (network, cgroup, directories, devices) that the node cannot create for the pod, so that no container is
    /// created; or a sync of the pod that fails while it is not ready. The status of the containers shows only
    /// ContainerCreating.
    /// Source: the newest Event of FailedCreatePodSandBox, NetworkNotReady, FailedCreatePodContainer,
    /// FailedPrepareDynamicResources, FailedPodSandBoxStatus, Failed, ErrorAddingLogicalPort, ErrorAddingResource; and the newest Event FailedSync.
    pub(crate) struct Sandbox<'a> as "sandbox" {
        case: &'a Case<'a>,
        event: &'a EventFacts,
        parsed: OnceCell<Message<'a>>,
    }
    reason: |of| if is_old_failure(of.event) { "FailedCreatePodSandBox" } else { &of.event.reason }, message: &of.event.message;

    /// The error of the message with its operation and object, at most 140 characters.
    "error": fn error(&self) -> String {
        self.parsed().summary(140, &[self.plugin(), self.claim()])
    }

    /// ResourceClaim whose devices cannot be prepared; empty if the message names none.
    /// Source: `for ResourceClaim` in the message, pkg/kubelet/cm/dra/manager.go.
    "claim": fn claim(&self) -> &str {
        let message = &*self.event.message;
        let marks = ["failed for ResourceClaim ", "fetch ResourceClaim ", "use ResourceClaim ", "with same name "];
        let named = marks.iter().find_map(|mark| message.split_once(mark)).map_or("", |(_, rest)| rest);
        named.split([' ', ':']).next().unwrap_or_default().trim_matches('"')
    }

    /// The class of the error: `notFound`, `permission`, `unauthenticated`, `timeout`, `connectionRefused`, `dns`, `tls`,
    /// `exhausted`, `conflict`, `unsupported`, `invalid`, `corrupted` or `unavailable`; empty if it is none of these.
    /// Source: words, gRPC code, HTTP status and errno of the message.
    "class": fn class(&self) -> &'static str { self.parsed().class_name() }

    /// The CNI plugin that failed, such as `flannel`; empty if the message names none.
    /// Source: `plugin type=` in the message, containernetworking/cni.
    "plugin": fn plugin(&self) -> &str {
        let message = &*self.event.message;
        quoted_after(message, "plugin type=").or_else(|| between(message, "plugin type=\\\"", "\\\"")).unwrap_or_default()
    }

    /// The NetworkAttachmentDefinition that does not exist, as `namespace/name`; empty if none is missing.
    /// Source: multus-cni pkg/k8sclient/k8sclient.go getKubernetesDelegate.
    "missingNetwork": fn missing_network(&self) -> String {
        let message = &*self.event.message;
        let named = between(message, "network-attachment-definition (", ")").zip(between(message, "in namespace (", ")"));
        named.map_or_else(String::new, |(name, namespace)| format!("{namespace}/{name}"))
    }

    /// The network that a meta-plugin fails to add to the pod; empty if the message names none.
    /// Source: multus-cni pkg/multus/multus.go, `error adding container to network`.
    "network": fn network(&self) -> &str {
        let network = self.quoted_after("error adding container to network ");
        if self.error().contains(network) { "" } else { network }
    }

    /// Pod of the network plugin on the same node that has a diagnosis, as `namespace/name`; empty if none has.
    /// Source: the diagnoses of the pods of known DaemonSets, such as aws-node, calico-node, cilium or kube-flannel-ds.
    "agentPod": fn agent_pod(&self) -> String {
        self.agent().map_or_else(String::new, |agent| format!("{}/{}", agent.pod.namespace, agent.pod.name))
    }

    /// Name of that pod alone.
    "agentPodName": fn agent_pod_name(&self) -> &str { self.agent().map_or("", |agent| &agent.pod.name) }

    /// Namespace of that pod.
    "agentNamespace": fn agent_namespace(&self) -> &str { self.agent().map_or("", |agent| &agent.pod.namespace) }

    /// Cause of its diagnosis, such as `OOMKilled`.
    "agentCause": fn agent_cause(&self) -> &str { self.agent().map_or("", |agent| &agent.cause) }

    /// Whether an interface, address, route or allocation of an earlier pod is left on the node and in the way.
    /// Source: message of the Event, containernetworking/plugins, calico, ovn-kubernetes.
    "isStateStale": fn is_state_stale(&self) -> bool {
        const WORDS: [&str; 5] = [
            "already has an ip address different from",
            "already exists",
            "duplicate allocation",
            "file exists",
            "lock acquire error",
        ];
        message::text::has_any(&self.event.message, &WORDS)
    }

    /// The CNI plugin whose program is not on the node; empty if none is missing.
    /// Source: `failed to find plugin` in the message, containernetworking/cni.
    "missingPlugin": fn missing_plugin(&self) -> &str { self.quoted_after("failed to find plugin ") }

    /// Folder in which the runtime looks for the missing plugin, such as `/opt/cni/bin`; empty if the message names none.
    /// Source: `in path` in the message, containernetworking/cni.
    "pluginFolder": fn plugin_folder(&self) -> &str { between(&self.event.message, " in path [", "]").unwrap_or_default() }

    /// Whether the missing plugin is one of the CNI project, which no network plugin installs: loopback, bridge, host-local,
    /// portmap or bandwidth.
    "isStandardPlugin": fn is_standard_plugin(&self) -> bool {
        ["loopback", "bridge", "host-local", "portmap", "bandwidth"].contains(&self.missing_plugin())
    }

    /// File that the CNI plugin does not find, such as `/run/flannel/subnet.env`; empty if none is missing.
    /// Source: `no such file or directory` in the message.
    "missingFile": fn missing_file(&self) -> &str {
        let path = self.event.message.split_once(": no such file or directory").map_or("", |(before, _)| before);
        let path = path.rsplit(' ').next().unwrap_or_default();
        if path.starts_with('/') { path } else { "" }
    }

    /// RuntimeClass that does not exist; empty if the message names none. Source: message of the Event.
    "missingRuntimeClass": fn missing_runtime_class(&self) -> &str { self.quoted_after("runtimeclass.node.k8s.io ") }

    /// Handler of a RuntimeClass that the node's runtime does not know; empty if the message names none.
    /// Source: message of the Event, containerd internal/cri/config.
    "runtimeHandler": fn runtime_handler(&self) -> &str {
        let named = between(&self.event.message, "runtime handler ", " from ");
        let shim = || Some(self.quoted_after("binary not installed ")).filter(|shim| !shim.is_empty());
        named.or_else(shim).unwrap_or_else(|| self.quoted_after("no runtime for "))
    }

    /// The step that does not end in time; empty if the message names none. Source: message of the Event, without its codes.
    "stage": fn stage(&self) -> String {
        let error = self.parsed().summary(110, &[]);
        let is_bare = error.is_empty() || error.eq_ignore_ascii_case("context deadline exceeded");
        if is_bare { String::new() } else { error }
    }

    /// Image of the sandbox that the runtime cannot pull; empty if the message names none.
    /// Source: message of the Event, containerd internal/cri/server.
    "image": fn image(&self) -> &str { self.quoted_after("failed to get sandbox image ") }

    /// ID of the sandbox of an earlier attempt that still has the name of the pod's sandbox; empty if the message names none.
    /// Source: `is reserved for` in the message, containerd internal/registrar and cri-o.
    "nameHolder": fn name_holder(&self) -> String { message::name(self.quoted_after(" is reserved for "), 15) }

    /// Value of that sysctl in the pod; empty if the pod does not set it. Source: spec.securityContext.sysctls.
    "sysctlValue": fn sysctl_value(&self) -> &str {
        let rejected = self.sysctl();
        let is_rejected = |(name, _): &&(String, String)| name.replace('/', ".") == rejected;
        self.case.pod.sysctls.iter().find(is_rejected).map_or("", |(_, value)| value)
    }

    /// Sysctl that the runtime rejects, such as `net.core.somaxconn`; empty if the message names none.
    /// Source: message of the Event, runc.
    "sysctl": fn sysctl(&self) -> String {
        let path = between(&self.event.message, "/proc/sys/", ": ").map(|path| path.replace('/', "."));
        let named = || between(&self.event.message, "sysctl `", "`").unwrap_or_else(|| self.quoted_after("sysctl "));
        path.unwrap_or_else(|| named().to_owned())
    }
}

pub(crate) const SOURCE: Source = Source { definition: &Sandbox::DEFINITION, read };

const EVENTS: [&str; 9] = [
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "FailedCreatePodContainer",
    "FailedPrepareDynamicResources",
    "FailedPodSandBoxStatus",
    "FailedSync",
    "Failed",
    // ovn-kubernetes go-controller: the control plane, before the plugin on the node.
    "ErrorAddingLogicalPort",
    "ErrorAddingResource",
];

/// The kubelet's retry interval in seconds, rounded up. A failure that occurs only once has passed by then.
const SECOND_TRY: i64 = 15;

/// Seconds for which an Event FailedSync remains valid.
const SYNC_FAILS_FOR: i64 = 900;

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let events = failure(case).into_iter().chain(failed_sync(case));
    events
        .map(|event| Box::new(Sandbox { case, event, parsed: OnceCell::new() }) as Box<dyn PodSignal<'a> + 'a>)
        .collect()
}

impl<'a> PodSignal<'a> for Sandbox<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        // Repetition proves nothing on a node that is still joining.
        let is_of_joining = cause.threshold > SECOND_TRY;
        if let Some(joined) = lasting::joining_until(self.case).filter(|_| is_of_joining) {
            return Err(joined);
        }
        let times = if is_of_joining { 1 } else { self.event.count };
        lasting::counts(self.case, cause, lasting::first_seen(self.case, self.event), times)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let condition = self.case.pod.condition("PodReadyToStartContainers").map(evidence::condition);
        std::iter::once(evidence::event(self.event)).chain(condition).collect()
    }
}

impl<'a> Sandbox<'a> {
    fn parsed(&self) -> &Message<'a> {
        self.parsed.get_or_init(|| Message::parse(&self.event.message))
    }

    fn agent(&self) -> Option<&'a NetworkAgent> {
        self.case.surroundings.network_agent.as_ref()
    }

    fn quoted_after(&self, mark: &str) -> &str {
        quoted_after(&self.event.message, mark).unwrap_or_default()
    }
}

/// The newest Event that explains why the pod's sandbox cannot be created, while the pod has none.
pub(crate) fn failure<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let of_pod = |e: &&EventFacts| {
        EVENTS.contains(&&*e.reason)
            && match &*e.reason {
                "Failed" => e.message.contains("error making pod data directories"),
                "FailedSync" => false,
                _ => true,
            }
    };
    let newest = case.events.iter().filter(of_pod).max_by_key(|e| e.last)?;
    (is_being_set_up(case) && !is_outdated(case, newest)).then_some(newest)
}

/// Reasons of Events of steps before and after the sandbox. While they are emitted, its creation is not what fails.
const OTHER_STEPS: [&str; 9] = [
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedPrepareDynamicResources",
    "NetworkNotReady",
    "Pulling",
    "Pulled",
    "Created",
    "Started",
];

/// Seconds after which the kubelet has tried again, if the sandbox still fails.
const TRIED_AGAIN: i64 = 180;

/// Whether a newer Event of another step shows that the sandbox is no longer what fails.
fn is_outdated(case: &Case<'_>, failure: &EventFacts) -> bool {
    let is_newer = |e: &EventFacts| {
        e.last.zip(failure.last).is_some_and(|(other, last)| seconds_between(last, other) > TRIED_AGAIN)
    };
    case.events.iter().any(|e| OTHER_STEPS.contains(&&*e.reason) && e.reason != failure.reason && is_newer(e))
}

/// Whether the pod is bound to a node and none of its containers exists yet, or exists again after its sandbox was
/// lost.
pub(crate) fn is_being_set_up(case: &Case<'_>) -> bool {
    let pod = case.pod;
    if pod.is_over() || pod.deletion.is_some() || pod.node_name.is_none() {
        return false;
    }
    let mut own = pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral);
    match pod.condition("PodReadyToStartContainers").map(|c| c.status.as_str()) {
        Some("True") => false,
        Some("False") => !own.any(|c| c.is_running() || c.ready),
        _ => own.all(|c| match &c.state {
            State::Waiting { reason, .. } => matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing"),
            _ => false,
        }),
    }
}

/// Whether an Event FailedSync is about the sandbox. Before Kubernetes 1.8 a failed sandbox had no Event of its own.
fn is_old_failure(event: &EventFacts) -> bool {
    &*event.reason == "FailedSync"
        && ["with CreatePodSandboxError", "with SetupNetworkError"].iter().any(|error| event.message.contains(error))
}

/// A recent failed sync of a pod that is not ready. Running pods have such Events too.
fn failed_sync<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    // Before Kubernetes 1.10 the kubelet added one for each failure, even of a container or an image pull.
    let is_alone = |e: &&EventFacts| !e.message.starts_with("Error syncing pod") || is_being_set_up(case);
    let is_recent = |e: &&EventFacts| is_alone(e) && e.last.is_none_or(|at| case.age(at) < SYNC_FAILS_FOR);
    let event = case.events_with("FailedSync").rev().find(is_recent)?;
    (!case.pod.is_over() && !case.pod.is_ready()).then_some(event)
}
