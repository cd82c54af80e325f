//! What to do about a pod's sandbox that cannot be made.

use super::{missing_plugin, node};
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Case, Finding, remedy, target};

fn elsewhere(case: &Case<'_>) -> Remedy {
    remedy::command(
        remedy::mitigate(phrase!(
            case,
            "If other nodes are well: keep new pods off this one, then delete the pod so that it starts elsewhere."
        )),
        format!("kubectl cordon {}", node(case)),
    )
}

pub(super) fn cni(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Find the network plugin's pod on node {node}, read its log and restart it by deleting it.",
                node = node(case)
            )),
            format!("kubectl -n kube-system get pods -o wide --field-selector spec.nodeName={}", node(case)),
        ),
        elsewhere(case),
    ]
}

/// Programs that every network needs and no network plugin brings: the distribution's package of the CNI project does.
const STANDARD: [&str; 5] = ["loopback", "bridge", "host-local", "portmap", "bandwidth"];

pub(super) fn cni_program(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let named = super::failure(case).and_then(|event| missing_plugin(&event.message));
    let missing = STANDARD.iter().find(|name| named == Some(**name));
    let install = missing.map(|name| {
        remedy::fix(say!(case, "Install the standard CNI plugins on node {node} (package kubernetes-cni or containernetworking-plugins): {name} must lie in /opt/cni/bin, or where the runtime's bin_dir is.", node = node(case), name))
    });
    install.into_iter().chain(cni(case, finding)).collect()
}

pub(super) fn ip_exhausted(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        elsewhere(case),
        remedy::fix(phrase!(case, "Enlarge the pod address range (or the cloud subnet), or run fewer pods on a node.")),
        remedy::fix(say!(
            case,
            "If fewer pods run on {node} than addresses exist, they leaked: compare /var/lib/cni/networks with the pods there.",
            node = node(case)
        )),
    ]
}

pub(super) fn runtime_class(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Compare runtimeClassName of {target} with the classes there are and their handlers.",
                target = target.display()
            )),
            "kubectl get runtimeclasses",
        ),
        remedy::fix(say!(case, "Configure the handler in the container runtime of node {node}.", node = node(case))),
        target.with_pod_patch(
            remedy::fix(phrase!(case, "Or run the pod with the default runtime.")),
            "runtimeClassName: null\n",
        ),
    ]
}

pub(super) fn runtime_hangs(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, look at disk and CPU load and the container runtime's log; restart the runtime if it hangs.",
            node = node(case)
        )),
        elsewhere(case),
    ]
}

pub(super) fn pause_image(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "Load the sandbox image onto node {node}, or let the node reach its registry.",
            node = node(case)
        )),
        remedy::fix(phrase!(
            case,
            "Or name a reachable image in the runtime's configuration (containerd: sandbox; CRI-O: pause_image)."
        )),
    ]
}

pub(super) fn sysctl(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(say!(
        case,
        "Remove or correct the sysctl under securityContext.sysctls of {target}; net.* cannot go with hostNetwork.",
        target = target::of(case).display()
    ))]
}

pub(super) fn cgroup(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, compare the cgroup drivers of kubelet and runtime, and read the kubelet's log.",
            node = node(case)
        )),
        elsewhere(case),
    ]
}

pub(super) fn kubelet_disk(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, check the file system that holds /var/lib/kubelet: full, read-only or broken.",
            node = node(case)
        )),
        elsewhere(case),
    ]
}

pub(super) fn dra(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(say!(case, "Look at the DRA driver's pod on node {node}.", node = node(case))),
            target::pods_on_node(node(case)),
        ),
        elsewhere(case),
    ]
}

pub(super) fn unclear(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "Read the container runtime's log on node {node} at the time of the Event.",
            node = node(case)
        )),
        elsewhere(case),
    ]
}
