//! What to do about a node.

use super::{
    CSI_NOT_INITIALIZED, MISSING_CAPACITY, NETWORK_NOT_READY, NEVER_UPDATED, PLEG_UNHEALTHY, RUNTIME_DOWN,
    RUNTIME_NOT_READY, SHUTTING_DOWN, STATUS_UNKNOWN,
};
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, remedy, target};
use crate::facts::NodeState;

pub(super) fn of(language: Language, cause: &str, node: &NodeState, flaps: bool) -> Vec<Remedy> {
    Repairs { language, name: &node.facts.name, service: service(node) }.of(cause, flaps)
}

/// The unit of the node's container runtime.
fn service(node: &NodeState) -> &'static str {
    match node.facts.runtime.split_once("://").map(|(runtime, _)| runtime) {
        Some("cri-o") => "crio",
        Some("docker") => "docker",
        _ => "containerd",
    }
}

struct Repairs<'a> {
    language: Language,
    /// Of the node.
    name: &'a str,
    service: &'static str,
}

impl Repairs<'_> {
    fn of(&self, cause: &str, flaps: bool) -> Vec<Remedy> {
        let Self { language, name, .. } = *self;
        match cause {
            PLEG_UNHEALTHY | RUNTIME_DOWN => self.hung(),
            NETWORK_NOT_READY => vec![
                remedy::command(
                    remedy::fix(say!(
                        language,
                        "Look at the pod of the network plugin (its DaemonSet) on {name}: it writes /etc/cni/net.d.",
                        name
                    )),
                    self.pods_there(),
                ),
                self.restart_runtime(),
                remedy::fix(phrase!(language, "If no network plugin is installed, install one.")),
            ],
            RUNTIME_NOT_READY => vec![self.restart_runtime(), self.kubelet_log()],
            CSI_NOT_INITIALIZED => vec![
                read_log(say!(
                    language,
                    "Read the kubelet's log on {name} for why it cannot write its CSINode: it may not (RBAC, an admission webhook), or nobody answers.",
                    name
                )),
                remedy::command(
                    remedy::fix(phrase!(language, "See whether the object is there.")),
                    format!("kubectl get csinode {name}"),
                ),
                self.restart_kubelet(),
            ],
            MISSING_CAPACITY => vec![
                read_log(say!(
                    language,
                    "Read the kubelet's log on {name} for why it cannot read the machine (cgroups, /proc, the runtime's disk).",
                    name
                )),
                self.restart_kubelet(),
                self.restart_runtime(),
            ],
            NEVER_UPDATED => vec![
                self.kubelet_log(),
                remedy::command(
                    remedy::fix(phrase!(language, "See whether its certificate request waits for approval.")),
                    "kubectl get certificatesigningrequests",
                ),
            ],
            SHUTTING_DOWN => vec![remedy::command(
                remedy::mitigate(say!(
                    language,
                    "Nothing, if it is planned: its pods are made anew elsewhere. If {name} stays away for good, delete the node.",
                    name
                )),
                format!("kubectl delete node {name}"),
            )],
            STATUS_UNKNOWN => self.silent(flaps),
            _ => vec![
                remedy::command(
                    remedy::fix(phrase!(language, "See the node's conditions and Events.")),
                    format!("kubectl describe node {name}"),
                ),
                self.kubelet_log(),
                self.restart_kubelet(),
            ],
        }
    }

    /// The runtime does not answer.
    fn hung(&self) -> Vec<Remedy> {
        let Self { language, name, .. } = *self;
        vec![
            self.restart_runtime(),
            self.restart_kubelet(),
            remedy::command(
                remedy::mitigate(say!(
                    language,
                    "See which DaemonSet pods hang on {name} and delete those, the network agent first; they are made anew.",
                    name
                )),
                self.pods_there(),
            ),
            self.move_away(),
            remedy::fix(say!(
                language,
                "If it comes back: update the CNI plugin and the runtime, and check the disk of {name} for slow I/O.",
                name
            )),
        ]
    }

    /// Nothing is heard of the kubelet.
    fn silent(&self, flaps: bool) -> Vec<Remedy> {
        let Self { language, name, .. } = *self;
        let mut remedies = vec![
            remedy::fix(say!(language, "Check that the machine {name} runs and reaches the API server.", name)),
            self.restart_kubelet(),
            self.kubelet_log(),
        ];
        // One that comes back again and again is not off, and the taint would take its pods each time.
        if !flaps {
            let off = phrase!(
                language,
                "If the machine is off for good, say so, so that its volumes are freed and its pods made anew."
            );
            let taint = format!("kubectl taint node {name} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute");
            remedies.push(remedy::command(remedy::mitigate(off), taint));
        }
        remedies
    }

    fn restart_runtime(&self) -> Remedy {
        let Self { language, name, service } = *self;
        remedy::command(
            remedy::fix(say!(language, "Restart the container runtime on {name}.", name)),
            format!("systemctl restart {service}"),
        )
    }

    fn restart_kubelet(&self) -> Remedy {
        let Self { language, name, .. } = *self;
        remedy::command(
            remedy::fix(say!(language, "Restart the kubelet on {name}.", name)),
            "systemctl restart kubelet",
        )
    }

    fn move_away(&self) -> Remedy {
        let Self { language, name, .. } = *self;
        remedy::command(
            remedy::mitigate(say!(language, "Keep new pods away from {name} and move its pods.", name)),
            format!("kubectl drain {name} --ignore-daemonsets --delete-emptydir-data"),
        )
    }

    fn kubelet_log(&self) -> Remedy {
        let Self { language, name, .. } = *self;
        read_log(say!(language, "Read the kubelet's log on {name}.", name))
    }

    fn pods_there(&self) -> String {
        target::pods_on_node(self.name)
    }
}

fn read_log(text: String) -> Remedy {
    remedy::command(remedy::fix(text), "journalctl -u kubelet --since -15min")
}
