//! Containers that an admission webhook adds to pods: proxies of service meshes, agents for secrets.
//!
//! They are not in the template of the workload, so that a change of the template cannot correct them. Their failures
//! belong to the product that adds them.

use super::Case;
use crate::facts::Container;

/// A product whose webhook adds containers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Injector {
    pub(crate) name: &'static str,
    /// Label selector of the pods that the added containers connect to.
    pub(crate) control_plane: &'static str,
    /// `DaemonSet` of the agent that redirects the traffic of pods on its node, with its label selector; empty if there is
    /// none.
    pub(crate) agent: &'static str,
    pub(crate) agent_selector: &'static str,
    containers: &'static [&'static str],
    /// Beginning of the names of all containers that it adds.
    mark: &'static str,
    /// Annotations of the pod that set requests and limits of the containers; empty if they are not known.
    pub(crate) resources: &'static str,
}

/// Sources: charts, injectors and documentation of the products (istio pkg/kube/inject, linkerd2 pkg/inject, consul-k8s
/// connect-inject, dapr, vault-k8s agent-inject).
const INJECTORS: [Injector; 6] = [
    Injector {
        name: "Istio",
        control_plane: "app=istiod",
        agent: "istio-cni-node",
        agent_selector: "k8s-app=istio-cni-node",
        containers: &["istio-proxy", "istio-init", "istio-validation"],
        mark: "istio-",
        resources: "sidecar.istio.io/proxyCPU, proxyCPULimit, proxyMemory and proxyMemoryLimit",
    },
    Injector {
        name: "Linkerd",
        control_plane: "linkerd.io/control-plane-component",
        agent: "linkerd-cni",
        agent_selector: "k8s-app=linkerd-cni",
        containers: &["linkerd-proxy", "linkerd-init", "linkerd-network-validator"],
        mark: "linkerd-",
        resources: "config.linkerd.io/proxy-cpu-request, proxy-cpu-limit, proxy-memory-request and proxy-memory-limit",
    },
    Injector {
        name: "Consul",
        control_plane: "app=consul,component=server",
        agent: "consul-cni",
        agent_selector: "app=consul,component=cni",
        containers: &["consul-dataplane", "consul-connect-inject-init"],
        mark: "consul-",
        resources: "consul.hashicorp.com/sidecar-proxy-cpu-request, -cpu-limit, -memory-request and -memory-limit",
    },
    Injector {
        name: "Kuma",
        control_plane: "app=kuma-control-plane",
        agent: "kuma-cni-node",
        agent_selector: "app=kuma-cni-node",
        containers: &["kuma-sidecar", "kuma-init", "kuma-validation"],
        mark: "kuma-",
        resources: "",
    },
    Injector {
        name: "Vault Agent Injector",
        control_plane: "app.kubernetes.io/name=vault-agent-injector",
        agent: "",
        agent_selector: "",
        containers: &["vault-agent", "vault-agent-init"],
        mark: "vault-agent",
        resources: "vault.hashicorp.com/agent-requests-cpu, agent-limits-cpu, agent-requests-mem and agent-limits-mem",
    },
    Injector {
        name: "Dapr",
        control_plane: "app.kubernetes.io/part-of=dapr",
        agent: "",
        agent_selector: "",
        containers: &["daprd"],
        mark: "daprd",
        resources: "dapr.io/sidecar-cpu-request, -cpu-limit, -memory-request and -memory-limit",
    },
];

/// The product that adds containers of this name.
pub(crate) fn by_name(container: &str) -> Option<&'static Injector> {
    INJECTORS.iter().find(|injector| injector.containers.contains(&container))
}

/// The product whose containers begin like this name. For containers that are known to be added.
pub(crate) fn by_mark(container: &str) -> Option<&'static Injector> {
    INJECTORS.iter().find(|injector| container.starts_with(injector.mark))
}

/// The product that added this container to the pod; `None` if the template of the workload has the container.
pub(crate) fn injector(case: &Case<'_>, container: &Container) -> Option<&'static Injector> {
    let has = |name| case.surroundings.known_workload().is_some_and(|workload| workload.template_has(name));
    by_name(&container.name).filter(|_| !has(&container.name))
}
