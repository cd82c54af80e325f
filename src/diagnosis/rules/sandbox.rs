//! Pods whose sandbox, network or node-side set-up fails, so that no container is even created.
//!
//! None of it is in a container's status, which stays at `ContainerCreating`: only Events tell, and only while the pod still
//! waits; one that failed once and succeeded at the next try is well.

use std::cell::OnceCell;

use super::signature::{self, ROW, Row, Seen};
use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, target, text,
};
use crate::facts::{EventFacts, State};

/// Tries are some 10 s apart: what fails once only is over by then.
const SECOND_TRY: i64 = 15;
/// A node that has just joined has no network for a while.
const NODE_JOINS: i64 = 60;

const EVENTS: [&str; 7] = [
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "FailedCreatePodContainer",
    "FailedPrepareDynamicResources",
    "FailedPodSandBoxStatus",
    "FailedSync",
    "Failed",
];

const SANDBOX: &[&str] = &["FailedCreatePodSandBox"];

const ROWS: &[Row] = &[
    Row {
        cause: "NetworkNotReady",
        reasons: &["NetworkNotReady"],
        patience: NODE_JOINS,
        says: "the network of node {node} is not ready: {words}",
        remedies: cni,
        explain: Explain {
            meaning: "The runtime on the node says that its pod network is not ready, so the kubelet starts no pod there.",
            told_apart: "All pods of the node without hostNetwork are hit. A node that has just joined shows it for a short while.",
            action: "Look at the network plugin's DaemonSet pod on that node.",
            source: "kubernetes pkg/kubelet/kubelet.go SyncPod",
        },
        ..ROW
    },
    Row {
        cause: "RuntimeClassMissing",
        reasons: SANDBOX,
        words: &[&["failed to lookup runtimeclass"], &["runtimeclass", "not found"]],
        says: "the pod's RuntimeClass does not exist: {words}",
        remedies: runtime_class,
        explain: Explain {
            meaning: "The RuntimeClass that the pod names does not exist (any more).",
            told_apart: "The object is missing; if it exists and its handler is not on the node, it is RuntimeHandlerMissing.",
            action: "Create the RuntimeClass, or correct runtimeClassName.",
            source: "kubernetes pkg/kubelet/runtimeclass/runtimeclass_manager.go",
        },
        ..ROW
    },
    Row {
        cause: "RuntimeHandlerMissing",
        reasons: SANDBOX,
        words: &[
            &["no runtime for ", "is configured"],
            &["failed to find runtime handler"],
            &["runtime handler", "not supported"],
        ],
        says: "node {node} has no runtime handler {handler}, which the pod's RuntimeClass asks for",
        remedies: runtime_class,
        explain: Explain {
            meaning: "The RuntimeClass names a handler that the node's runtime does not know.",
            told_apart: "The RuntimeClass exists. It depends on the node: others may have the handler.",
            action: "Configure the handler in the node's runtime, or give the RuntimeClass a nodeSelector for nodes that have it.",
            source: "containerd internal/cri/config; cri-o internal/oci",
        },
        ..ROW
    },
    Row {
        cause: "CniBinaryMissing",
        reasons: SANDBOX,
        words: &[&["failed to find plugin \""]],
        patience: SECOND_TRY,
        says: "node {node} lacks the network plugin {missing_plugin}",
        remedies: cni,
        explain: Explain {
            meaning: "The node's network configuration names a CNI program that is not on the node.",
            told_apart: "The configuration is there, its program is not (an installer that failed, another bin_dir).",
            action: "Install the CNI plugins on the node, or restart the network plugin's DaemonSet pod, which installs them.",
            source: "containernetworking/cni pkg/invoke/find.go",
        },
        ..ROW
    },
    Row {
        cause: "CniNotInitialized",
        reasons: SANDBOX,
        words: &[
            &["cni plugin not initialized"],
            &["cni config not initialized"],
            &["cni config uninitialized"],
            &["no cni configuration file"],
        ],
        patience: NODE_JOINS,
        says: "node {node} has no network configuration (CNI) yet",
        remedies: cni,
        explain: Explain {
            meaning: "The runtime finds no CNI configuration on the node.",
            told_apart: "Nothing was called yet: the network plugin has not (or no longer) written its configuration.",
            action: "Look at the network plugin's DaemonSet pod on that node.",
            source: "containerd internal/cri/server/sandbox_run.go (go-cni)",
        },
        ..ROW
    },
    Row {
        cause: "CniIpExhausted",
        reasons: SANDBOX,
        words: &[
            &["no ip addresses available in range set"],
            &["failed to assign an ip address to container"],
            &["no more free addresses"],
            &["no more ips available"],
            &["no available ip"],
            &["range is full"],
            &["no available addresses"],
            &["ip pool exhausted"],
            &["failed to request ipv4 addresses"],
        ],
        patience: SECOND_TRY,
        says: "no pod IP address is left on node {node}: {short}",
        remedies: ip_exhausted,
        explain: Explain {
            meaning: "The network plugin has no free address for the pod.",
            told_apart: "The plugin works and says so; either really many pods, too small a range, or addresses that were never released.",
            action: "Enlarge the range or subnet, remove pods, or free leaked addresses on the node.",
            source: "containernetworking/plugins ipam/host-local; the network plugin",
        },
        ..ROW
    },
    Row {
        cause: "CniBackendDown",
        reasons: SANDBOX,
        words: &[
            &["error getting clusterinformation"],
            &["/run/flannel/subnet.env"],
            &["failed to connect to backend server"],
            &["cilium.sock"],
            &["unable to connect to cilium"],
            &["/var/lib/calico/nodename"],
            &["failed to setup network for sandbox", "connection refused"],
            &["failed to setup network for sandbox", "unauthorized"],
            &["networkplugin cni failed to set up pod", "connection refused"],
            &["networkplugin cni failed to set up pod", "unauthorized"],
            &["cni network", "connection refused"],
            &["cni network", "unauthorized"],
        ],
        patience: SECOND_TRY,
        says: "the network plugin's agent{plugin} does not work on node {node}: {short}",
        remedies: cni,
        explain: Explain {
            meaning: "The CNI program runs, but the agent or API behind it does not answer or refuses it.",
            told_apart: "The program is there and is called; what it needs (agent's socket, subnet file, its token) is not.",
            action: "Restart the network plugin's DaemonSet pod on that node and read its log.",
            source: "the network plugin (flannel, calico, cilium, aws-vpc-cni)",
        },
        ..ROW
    },
    Row {
        cause: "SandboxNameReserved",
        reasons: SANDBOX,
        words: &[&["failed to reserve sandbox name"], &["name ", " is reserved for "]],
        patience: SECOND_TRY,
        says: "an earlier attempt to create the pod's sandbox hangs in the runtime on node {node}",
        remedies: runtime_hangs,
        explain: Explain {
            meaning: "The runtime still works on an earlier request for the same sandbox.",
            told_apart: "A consequence: the first attempt took longer than the kubelet waits, because of slow disks, network set-up or a hung runtime.",
            action: "Look at the node's load and the runtime's log; restart the runtime if it does not recover.",
            source: "containerd internal/cri/server/sandbox_run.go; cri-o server/sandbox_run_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "SandboxImageMissing",
        reasons: SANDBOX,
        words: &[
            &["failed to get sandbox image"],
            &["failed pulling image", "pause"],
            &["unable to pull pause"],
            &["creating sandbox image"],
        ],
        patience: SECOND_TRY,
        says: "node {node} has no sandbox (pause) image and cannot pull it: {short}",
        remedies: pause_image,
        explain: Explain {
            meaning: "The runtime needs its pause image for every pod, and cannot get it.",
            told_apart: "It is the runtime's own image, not one of the pod's; every new pod of the node is hit.",
            action: "Let the node reach the registry, load the image there, or name a reachable one in the runtime's configuration.",
            source: "containerd internal/cri/server/sandbox_run.go ensureImageExists",
        },
        ..ROW
    },
    Row {
        cause: "SysctlRejectedByRuntime",
        reasons: SANDBOX,
        words: &[&["sysctl ", "is not in a separate kernel namespace"], &["write /proc/sys/"], &["open /proc/sys/"]],
        says: "the runtime on node {node} rejects a sysctl of the pod: {short}",
        remedies: sysctl,
        explain: Explain {
            meaning: "A sysctl in the pod's security context is not accepted when the sandbox starts.",
            told_apart: "The kubelet let it pass (else SysctlForbidden); the kernel or runtime does not: host namespaces, an unknown name or a bad value.",
            action: "Remove the sysctl, or correct its value; do not combine net.* with hostNetwork.",
            source: "runc libcontainer/configs/validate; the node's kernel",
        },
        ..ROW
    },
    Row {
        cause: "CniPluginFailed",
        reasons: SANDBOX,
        words: &[
            &["failed to setup network for sandbox"],
            &["failed to create pod network sandbox"],
            &["networkplugin cni failed to set up pod"],
            &["error adding pod "],
            &["plugin type=", "failed (add)"],
        ],
        patience: SECOND_TRY,
        says: "the network plugin{plugin} fails on node {node}: {short}",
        remedies: cni,
        explain: Explain {
            meaning: "The node's CNI plugin fails when it is to connect the pod.",
            told_apart: "The error carries the plugin's own words; exhausted addresses and a dead agent have causes of their own.",
            action: "Read the plugin's words, then the log of its DaemonSet pod on that node.",
            source: "containerd internal/cri/server/sandbox_run.go; cri-o server/sandbox_network.go",
        },
        ..ROW
    },
    Row {
        cause: "SandboxTimeout",
        reasons: SANDBOX,
        words: &[&["context deadline exceeded"], &["deadlineexceeded"]],
        patience: SECOND_TRY,
        says: "the runtime on node {node} does not create the pod's sandbox in time",
        remedies: runtime_hangs,
        explain: Explain {
            meaning: "The runtime takes longer than the kubelet waits (4 min for a sandbox, 2 min for the rest).",
            told_apart: "No word of why: a slow network plugin, a slow disk or a hung runtime. Other pods of the node show it as well.",
            action: "Look at the node's load, the runtime's log and the network plugin's pod.",
            source: "kubernetes internal CRI client (gRPC deadline)",
        },
        ..ROW
    },
    Row {
        cause: "FailedCreatePodContainer",
        reasons: &["FailedCreatePodContainer"],
        patience: SECOND_TRY,
        says: "the kubelet on node {node} cannot make the pod's cgroup: {words}",
        remedies: cgroup,
        explain: Explain {
            meaning: "The kubelet cannot create the cgroup that holds all of the pod's containers.",
            told_apart: "It comes before the sandbox. Different cgroup drivers of kubelet and runtime, or leaked cgroups, are usual.",
            action: "Look at the kubelet's log on the node; compare cgroup drivers; a reboot clears leaked cgroups.",
            source: "kubernetes pkg/kubelet/kubelet.go SyncPod",
        },
        ..ROW
    },
    Row {
        cause: "FailedMakePodDataDirs",
        reasons: &["Failed"],
        words: &[&["error making pod data directories"]],
        patience: SECOND_TRY,
        says: "the kubelet on node {node} cannot write the pod's directories: {words}",
        remedies: kubelet_disk,
        explain: Explain {
            meaning: "The kubelet cannot create the pod's directories under its root.",
            told_apart: "It is the kubelet's own disk: full, read-only or broken.",
            action: "Check the file system that holds /var/lib/kubelet on the node.",
            source: "kubernetes pkg/kubelet/kubelet.go SyncPod",
        },
        ..ROW
    },
    Row {
        cause: "FailedPrepareDynamicResources",
        reasons: &["FailedPrepareDynamicResources"],
        patience: SECOND_TRY,
        says: "the devices of the pod's ResourceClaims cannot be prepared on node {node}: {words}",
        remedies: dra,
        explain: Explain {
            meaning: "A DRA driver failed to prepare the devices that were allocated to the pod.",
            told_apart: "Scheduling worked; the driver's kubelet plugin on the node fails or is not registered.",
            action: "Look at the DRA driver's pod on that node.",
            source: "kubernetes pkg/kubelet/cm/dra/manager.go",
        },
        ..ROW
    },
    Row {
        cause: "FailedPodSandBoxStatus",
        reasons: &["FailedPodSandBoxStatus"],
        patience: SECOND_TRY,
        says: "the kubelet cannot get the sandbox's state from the runtime on node {node}: {words}",
        remedies: runtime_hangs,
        explain: Explain {
            meaning: "The runtime created the sandbox and then fails to tell its state.",
            told_apart: "The creation as such worked; the runtime itself is in trouble.",
            action: "Look at the runtime's log on the node.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod",
        },
        ..ROW
    },
    Row {
        cause: "FailedCreatePodSandBox",
        reasons: SANDBOX,
        not: &["container init was oom-killed"],
        patience: SECOND_TRY,
        specificity: Specificity::Umbrella,
        says: "the pod's sandbox cannot be created on node {node}: {words}",
        remedies: unclear,
        explain: Explain {
            meaning: "The runtime cannot create the pod's sandbox, for a reason not known by name.",
            told_apart: "It is said in Events only; the containers just show ContainerCreating.",
            action: "Read the Event; the runtime's log on the node says more.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod",
        },
        ..ROW
    },
    Row {
        cause: "FailedSync",
        reasons: &["FailedSync"],
        patience: SECOND_TRY,
        specificity: Specificity::Umbrella,
        says: "the kubelet on node {node} cannot work on the pod: {words}",
        remedies: unclear,
        explain: Explain {
            meaning: "The kubelet cannot determine the pod's state from the runtime, so it does nothing for it.",
            told_apart: "The runtime does not answer for this pod; what it said before that is often more telling.",
            action: "Look at the runtime on the node: is it up, does `crictl ps` answer?",
            source: "kubernetes pkg/kubelet/pod_workers.go",
        },
        ..ROW
    },
];

const fn row<const I: usize>() -> Rule {
    signature::rule(&ROWS[I], Category::Sandbox, Recovery::NeverStarted, Scope::Pod(check::<I>))
}

pub(super) const RULES: &[Rule] = &[
    row::<0>(),
    row::<1>(),
    row::<2>(),
    row::<3>(),
    row::<4>(),
    row::<5>(),
    row::<6>(),
    row::<7>(),
    row::<8>(),
    row::<9>(),
    row::<10>(),
    row::<11>(),
    row::<12>(),
    row::<13>(),
    row::<14>(),
    row::<15>(),
    row::<16>(),
    row::<17>(),
];

const _: () = assert!(RULES.len() == ROWS.len(), "each row is a rule");

fn check<const I: usize>(case: &Case<'_>) -> Verdict {
    let row = &ROWS[I];
    if case.events.is_empty() {
        return Verdict::No;
    }
    let event = if row.cause == "FailedSync" { failed_sync(case) } else { failure(case) };
    let Some(event) = event.filter(|e| row.reasons.contains(&&*e.reason)) else { return Verdict::No };
    let seen = see(event);
    if !signature::is_first(ROWS, I, case, &seen) {
        return Verdict::No;
    }
    // Repeats prove nothing of a node that is still joining.
    let times = if row.patience > SECOND_TRY { 1 } else { event.count };
    if let Err(at) = signature::has_lasted(case, signature::first_told(case, event), row.patience, times) {
        return Verdict::NotBefore(at);
    }
    let mut finding = Finding::of_pod(say(case, &seen, row.says)).with(evidence::event(event));
    if let Some(condition) = case.pod.condition("PodReadyToStartContainers") {
        finding = finding.with(evidence::condition(condition));
    }
    if row.specificity == Specificity::Umbrella {
        finding = finding.confidence(Confidence::Likely);
    }
    Verdict::Yes(Box::new(finding))
}

fn see(event: &EventFacts) -> Seen<'_> {
    Seen {
        reason: &event.reason,
        text: &event.message,
        lower: OnceCell::new(),
        event: Some(event),
        container: None,
        path: None,
    }
}

/// The newest Event that says why the pod cannot be set up, while it is not.
pub(super) fn failure<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let of_pod = |e: &&EventFacts| {
        EVENTS.contains(&&*e.reason)
            && match &*e.reason {
                "Failed" => e.message.contains("error making pod data directories"),
                "FailedSync" => false,
                _ => true,
            }
    };
    let newest = case.events.iter().filter(of_pod).max_by_key(|e| e.last)?;
    is_being_set_up(case).then_some(newest)
}

/// A sync that failed lately, for a pod that is not well; it concerns pods that run as well.
fn failed_sync<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let recent = |e: &&EventFacts| e.last.is_none_or(|at| case.age(at) < 900);
    let event = case.events_with("FailedSync").rev().find(recent)?;
    (!case.pod.is_over() && !case.pod.is_ready()).then_some(event)
}

/// Whether the pod is bound to a node and none of its containers was created yet (or again, after its sandbox went): what
/// volumes and sandbox are for is not there.
pub(super) fn is_being_set_up(case: &Case<'_>) -> bool {
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

fn say(case: &Case<'_>, seen: &Seen<'_>, says: &str) -> String {
    let mut out = says.to_owned();
    let mut fill = |place: &str, with: &dyn Fn() -> String| {
        if out.contains(place) {
            out = out.replace(place, &with());
        }
    };
    let said = seen.text;
    fill("{node}", &|| node(case).to_owned());
    fill("{plugin}", &|| plugin(said).map(|p| format!(" ({p})")).unwrap_or_default());
    fill("{missing_plugin}", &|| {
        signature::quoted_after(said, "failed to find plugin ").unwrap_or("(unnamed)").to_owned()
    });
    fill("{handler}", &|| signature::quoted_after(said, "no runtime for ").unwrap_or("(unnamed)").to_owned());
    fill("{short}", &|| signature::innermost(said, 80));
    fill("{words}", &|| signature::innermost(said, 110));
    text::line(&out, text::SUMMARY_MAX)
}

fn plugin(said: &str) -> Option<&str> {
    signature::quoted_after(said, "plugin type=").or_else(|| signature::between(said, "plugin type=\\\"", "\\\""))
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.pod.node_name.as_deref().unwrap_or("unknown")
}

fn elsewhere(case: &Case<'_>) -> Remedy {
    remedy::command(
        remedy::mitigate(
            "If other nodes are well: keep new pods off this one, then delete the pod so that it starts elsewhere.",
        ),
        format!("kubectl cordon {}", node(case)),
    )
}

fn cni(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(format!(
                "Find the network plugin's pod on node {}, read its log and restart it by deleting it.",
                node(case)
            )),
            format!("kubectl -n kube-system get pods -o wide --field-selector spec.nodeName={}", node(case)),
        ),
        elsewhere(case),
    ]
}

fn ip_exhausted(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        elsewhere(case),
        remedy::fix("Enlarge the pod address range (or the cloud subnet), or run fewer pods on a node."),
        remedy::fix(format!(
            "If fewer pods run on {} than addresses exist, they leaked: compare /var/lib/cni/networks with the pods there.",
            node(case)
        )),
    ]
}

fn runtime_class(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    vec![
        remedy::command(
            remedy::fix(format!(
                "Compare runtimeClassName of {} with the classes there are and their handlers.",
                target.display()
            )),
            "kubectl get runtimeclasses",
        ),
        remedy::fix(format!("Configure the handler in the container runtime of node {}.", node(case))),
        target.with_pod_patch(remedy::fix("Or run the pod with the default runtime."), "runtimeClassName: null\n"),
    ]
}

fn runtime_hangs(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!(
            "On node {}, look at disk and CPU load and the container runtime's log; restart the runtime if it hangs.",
            node(case)
        )),
        elsewhere(case),
    ]
}

fn pause_image(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!("Load the sandbox image onto node {}, or let the node reach its registry.", node(case))),
        remedy::fix(
            "Or name a reachable image in the runtime's configuration (containerd: sandbox; CRI-O: pause_image).",
        ),
    ]
}

fn sysctl(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(format!(
        "Remove or correct the sysctl under securityContext.sysctls of {}; net.* cannot go with hostNetwork.",
        target::of(case).display()
    ))]
}

fn cgroup(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!(
            "On node {}, compare the cgroup drivers of kubelet and runtime, and read the kubelet's log.",
            node(case)
        )),
        elsewhere(case),
    ]
}

fn kubelet_disk(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!(
            "On node {}, check the file system that holds /var/lib/kubelet: full, read-only or broken.",
            node(case)
        )),
        elsewhere(case),
    ]
}

fn dra(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(format!("Look at the DRA driver's pod on node {}.", node(case))),
            format!("kubectl get pods -A -o wide --field-selector spec.nodeName={}", node(case)),
        ),
        elsewhere(case),
    ]
}

fn unclear(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!("Read the container runtime's log on node {} at the time of the Event.", node(case))),
        elsewhere(case),
    ]
}
