//! What is said of a pod's sandbox that cannot be made, and by which words each cause is known.

use super::{NODE_JOINS, SANDBOX, SECOND_TRY, remedies};
use crate::api::Root;
use crate::diagnosis::rules::signature::{self, ROW, Row, Seen, its_node};
use crate::diagnosis::{Case, Explain, RootKind, Specificity};

pub(super) const ROWS: &[Row] = &[
    Row {
        cause: "NetworkNotReady",
        reasons: &["NetworkNotReady"],
        patience: NODE_JOINS,
        says: "the network of node {node} is not ready: {words}",
        root: its_node,
        remedies: remedies::cni,
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
        root: runtime_class,
        remedies: remedies::runtime_class,
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
        root: its_node,
        remedies: remedies::runtime_class,
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
        root: its_node,
        remedies: remedies::cni_program,
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
            &["cni config unintialized"],
            &["no cni configuration file"],
        ],
        patience: NODE_JOINS,
        says: "node {node} has no network configuration (CNI) yet",
        root: its_node,
        remedies: remedies::cni,
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
            // Azure's
            &["not enough ips available"],
            &["no available ip"],
            &["range is full"],
            &["no available addresses"],
            &["ip pool exhausted"],
            &["failed to request ipv4 addresses"],
        ],
        patience: SECOND_TRY,
        says: "no pod IP address is left on node {node}: {short}",
        root: its_node,
        remedies: remedies::ip_exhausted,
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
        root: its_node,
        remedies: remedies::cni,
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
        root: its_node,
        remedies: remedies::runtime_hangs,
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
        root: its_node,
        remedies: remedies::pause_image,
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
        remedies: remedies::sysctl,
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
        root: its_node,
        remedies: remedies::cni,
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
        root: its_node,
        remedies: remedies::runtime_hangs,
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
        root: its_node,
        remedies: remedies::cgroup,
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
        root: its_node,
        remedies: remedies::kubelet_disk,
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
        remedies: remedies::dra,
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
        root: its_node,
        remedies: remedies::runtime_hangs,
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
        remedies: remedies::unclear,
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
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The kubelet cannot determine the pod's state from the runtime, so it does nothing for it.",
            told_apart: "The runtime does not answer for this pod; what it said before that is often more telling.",
            action: "Look at the runtime on the node: is it up, does `crictl ps` answer?",
            source: "kubernetes pkg/kubelet/pod_workers.go",
        },
        ..ROW
    },
];

fn runtime_class(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    signature::quoted_after(seen.text, "runtimeclass.node.k8s.io ").map(|name| RootKind::RuntimeClass.named(name))
}
