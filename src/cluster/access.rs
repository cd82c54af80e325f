//! What the operator may do: the one list that deploy/ must equal.

/// Verbs on one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// Its objects are in namespaces: a Role can grant it.
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

/// Of what belongs to no namespace.
const fn of_cluster(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Access {
    Access { group, resource, verbs, namespaced: false, why }
}

const WATCH: &[&str] = &["list", "watch"];
/// Watched, and read once more with what surrounds them where they fail.
const WORKLOADS: &[&str] = &["get", "list", "watch"];
/// A server-side apply of an object that does not exist is judged as a create.
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// Everything, cluster-wide. No Secret and no ConfigMap is ever read. With `--namespaces` and `--nodes=false` what is
/// namespaced is enough, in those namespaces.
pub const ACCESS: &[Access] = &[
    access("", "pods", WATCH, "what fails"),
    of_cluster("", "nodes", WATCH, "why it fails: conditions, taints, room"),
    access("", "events", WATCH, "why it fails: the kubelet's and the scheduler's own words"),
    access("", "services", WATCH, "who suffers, and which reach nobody"),
    access("discovery.k8s.io", "endpointslices", &["list"], "who suffers: what a Service has left"),
    access("", "persistentvolumeclaims", &["list"], "why a pod waits for a volume: read for its namespace only"),
    of_cluster("storage.k8s.io", "storageclasses", &["list"], "why a claim gets no volume: the classes that there are"),
    access("", "replicationcontrollers", &["get"], "the workload of a failing pod"),
    access("apps", "deployments", WORKLOADS, "what fails as a whole"),
    access("apps", "statefulsets", WORKLOADS, "what fails as a whole"),
    access("apps", "daemonsets", WORKLOADS, "what fails as a whole"),
    access("apps", "replicasets", &["get", "list"], "the templates of a Deployment: is its rollout stuck"),
    access("apps", "controllerrevisions", &["list"], "the templates of a StatefulSet or DaemonSet: what has changed"),
    access("batch", "jobs", WORKLOADS, "what fails as a whole; has a Job retries left"),
    access("batch", "cronjobs", WORKLOADS, "what fails as a whole; did a later run succeed"),
    access("shindan.dev", "poddiagnoses", OWN, "our own answer; get rereads a version after a conflict"),
    of_cluster("shindan.dev", "nodediagnoses", OWN, "our own answer about nodes"),
    access("shindan.dev", "workloaddiagnoses", OWN, "our own answer about workloads"),
    access("events.k8s.io", "events", &["create"], "our own answer, where kubectl describe shows it"),
];

/// In `default`, where Events about Nodes are, for whoever may read Nodes and is not granted all namespaces.
pub const NODE_EVENTS: [Access; 2] = [
    access("", "events", WATCH, "what the kubelet says of its node"),
    access("events.k8s.io", "events", &["create"], "our own answer about nodes"),
];

/// With `--leader-elect`, in the operator's own namespace and by a Role there.
pub const LEASE: Access =
    access("coordination.k8s.io", "leases", &["create", "get", "update"], "which of several replicas writes");

/// Only with `--previous-logs`, and in a role of its own.
pub const PREVIOUS_LOGS: Access = access("", "pods/log", &["get"], "what a container wrote last before it ended");

/// Only with `--annotate`, and in a role of its own: no right is narrower, and only one annotation is written.
pub const ANNOTATE: [Access; 6] = [
    access("", "pods", &["patch"], "what fails carries its diagnosis"),
    access("apps", "deployments", &["patch"], "what fails carries its diagnosis"),
    access("apps", "statefulsets", &["patch"], "what fails carries its diagnosis"),
    access("apps", "daemonsets", &["patch"], "what fails carries its diagnosis"),
    access("batch", "jobs", &["patch"], "what fails carries its diagnosis"),
    access("batch", "cronjobs", &["patch"], "what fails carries its diagnosis"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_is_named_once_and_none_is_secret() {
        let mut names: Vec<_> = ACCESS.iter().map(|a| (a.group, a.resource)).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
        assert!(ACCESS.iter().all(|a| !matches!(a.resource, "secrets" | "configmaps" | "*")));
        assert!(ACCESS.iter().all(|a| !a.verbs.contains(&"*")));
    }
}
