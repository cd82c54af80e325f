//! The permissions of the operator. The roles in deploy/ must match this list.

/// Verbs on one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// Whether the resource is namespaced, so that a Role can grant it.
    pub namespaced: bool,
    pub why: &'static str,
}

const fn access(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Access {
    Access { group, resource, verbs, namespaced: true, why }
}

/// Access to a cluster-scoped resource.
const fn of_cluster(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Access {
    Access { group, resource, verbs, namespaced: false, why }
}

const WATCH: &[&str] = &["list", "watch"];
/// Workloads are watched. If one fails, it is also read by name.
const WORKLOADS: &[&str] = &["get", "list", "watch"];
/// A server-side apply of an object that does not exist needs the verb create.
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// The permissions of the operator in the whole cluster. They include no Secrets and no ConfigMaps. With `--namespaces`
/// and `--nodes=false`, the namespaced ones are enough, in those namespaces.
pub const ACCESS: &[Access] = &[
    access("", "pods", WATCH, "failures of pods"),
    of_cluster("", "nodes", WATCH, "causes in nodes: conditions, taints, capacity"),
    access("", "events", WATCH, "causes: Events of the kubelet and the scheduler"),
    access("", "services", WATCH, "the impact, and Services without ready endpoints"),
    access("discovery.k8s.io", "endpointslices", &["list"], "the impact: the remaining endpoints of a Service"),
    access("", "persistentvolumeclaims", &["list"], "why a pod waits for a volume: read for its namespace only"),
    of_cluster("storage.k8s.io", "storageclasses", &["list"], "why a claim gets no volume: the existing classes"),
    access("", "replicationcontrollers", &["get"], "the workload of a failing pod"),
    access("apps", "deployments", WORKLOADS, "failures of workloads"),
    access("apps", "statefulsets", WORKLOADS, "failures of workloads"),
    access("apps", "daemonsets", WORKLOADS, "failures of workloads"),
    access("apps", "replicasets", &["get", "list"], "the templates of a Deployment: whether its rollout is stuck"),
    access("apps", "controllerrevisions", &["list"], "the templates of a StatefulSet or DaemonSet: their changes"),
    access("batch", "jobs", WORKLOADS, "failures of workloads; whether a Job has retries left"),
    access("batch", "cronjobs", WORKLOADS, "failures of workloads; whether a later run succeeded"),
    access("shindan.dev", "poddiagnoses", OWN, "our own diagnoses; get rereads a version after a conflict"),
    of_cluster("shindan.dev", "nodediagnoses", OWN, "our own diagnoses of nodes"),
    access("shindan.dev", "workloaddiagnoses", OWN, "our own diagnoses of workloads"),
    of_cluster("shindan.dev", "diagnosisrules", WATCH, "causes of users"),
    of_cluster("shindan.dev", "diagnosisrules/status", &["patch"], "whether a rule of a user is active"),
    access("events.k8s.io", "events", &["create"], "Events of our diagnoses, shown by kubectl describe"),
];

/// Permissions in `default`, where the Events about Nodes are, for an operator that reads Nodes but not all namespaces.
pub const NODE_EVENTS: [Access; 2] = [
    access("", "events", WATCH, "Events of the kubelet about its node"),
    access("events.k8s.io", "events", &["create"], "our own diagnoses of nodes"),
];

/// Permission of `--leader-elect`, granted by a Role in the operator's own namespace.
pub const LEASE: Access =
    access("coordination.k8s.io", "leases", &["create", "get", "update"], "leader election among replicas");

/// Permission of `--previous-logs`, in a separate role.
pub const PREVIOUS_LOGS: Access = access("", "pods/log", &["get"], "the last log lines of a terminated container");

/// Permissions of `--network`, in a separate role, in addition to pods and Services.
pub const NETWORK: [Access; 11] = [
    access("networking.k8s.io", "ingresses", WATCH, "paths of requests"),
    of_cluster("networking.k8s.io", "ingressclasses", WATCH, "whether the class of an Ingress exists"),
    access("gateway.networking.k8s.io", "gateways", WATCH, "paths of requests"),
    of_cluster("gateway.networking.k8s.io", "gatewayclasses", WATCH, "whether the class of a Gateway exists"),
    access("gateway.networking.k8s.io", "httproutes", WATCH, "paths of requests"),
    access("gateway.networking.k8s.io", "grpcroutes", WATCH, "paths of requests"),
    access("gateway.networking.k8s.io", "referencegrants", WATCH, "whether a route may use a Service elsewhere"),
    access("discovery.k8s.io", "endpointslices", WATCH, "whether a Service has ready endpoints"),
    access("autoscaling", "horizontalpodautoscalers", WATCH, "why an autoscaler does not scale"),
    access("policy", "poddisruptionbudgets", WATCH, "which budget blocks a drain"),
    access("", "persistentvolumeclaims", WATCH, "claims that no pod uses"),
];

/// Permissions of `--annotate`, in a separate role. RBAC cannot restrict them to the one annotation that is written.
pub const ANNOTATE: [Access; 6] = [
    access("", "pods", &["patch"], "annotates failing objects with their diagnosis"),
    access("apps", "deployments", &["patch"], "annotates failing objects with their diagnosis"),
    access("apps", "statefulsets", &["patch"], "annotates failing objects with their diagnosis"),
    access("apps", "daemonsets", &["patch"], "annotates failing objects with their diagnosis"),
    access("batch", "jobs", &["patch"], "annotates failing objects with their diagnosis"),
    access("batch", "cronjobs", &["patch"], "annotates failing objects with their diagnosis"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_is_listed_once_and_none_is_a_secret() {
        let mut names: Vec<_> = ACCESS.iter().map(|a| (a.group, a.resource)).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
        assert!(ACCESS.iter().all(|a| !matches!(a.resource, "secrets" | "configmaps" | "*")));
        assert!(ACCESS.iter().all(|a| !a.verbs.contains(&"*")));
    }
}
