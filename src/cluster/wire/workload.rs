//! Controllers as they are sent. All kinds share one shape of spec and status; each reads its own words.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::Interner;
use super::lenient::{Flag, Int, List, Obj, Text, Time};
use super::meta::{self, WireCondition};
use crate::facts::{ReplicaSetFacts, WorkloadFacts, WorkloadKey};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    replicas: Int,
    completions: Int,
    parallelism: Int,
    backoff_limit: Int,
    suspend: Flag,
    progress_deadline_seconds: Int,
    template: Obj<Template>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Template {
    spec: Obj<TemplateSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TemplateSpec {
    containers: List<Image>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Image {
    image: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    ready_replicas: Int,
    updated_replicas: Int,
    number_ready: Int,
    desired_number_scheduled: Int,
    updated_number_scheduled: Int,
    ready: Int,
    failed: Int,
    succeeded: Int,
    last_successful_time: Time,
    conditions: List<WireCondition>,
}

/// Any of Kubernetes' own controllers.
pub trait Workload {
    const API_VERSION: &'static str;
    const KIND: &'static str;

    /// The facts; the ReplicaSets of a Deployment are to be added by whoever read them.
    fn into_facts(self, strings: &mut Interner) -> WorkloadFacts;
}

macro_rules! workloads {
    ($($name:ident = $api_version:literal, $inherit:ty;)*) => {$(
        #[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
        #[resource(inherit = $inherit)]
        #[serde(default)]
        pub struct $name {
            #[serde(deserialize_with = "meta::slim")]
            pub metadata: ObjectMeta,
            spec: Obj<Spec>,
            status: Obj<Status>,
        }

        impl Workload for $name {
            const API_VERSION: &'static str = $api_version;
            const KIND: &'static str = stringify!($name);

            fn into_facts(self, strings: &mut Interner) -> WorkloadFacts {
                facts(Self::API_VERSION, Self::KIND, &self.metadata, &self.spec.or_default(), self.status.or_default(), strings)
            }
        }
    )*};
}

workloads! {
    Deployment = "apps/v1", k8s_openapi::api::apps::v1::Deployment;
    ReplicaSet = "apps/v1", k8s_openapi::api::apps::v1::ReplicaSet;
    StatefulSet = "apps/v1", k8s_openapi::api::apps::v1::StatefulSet;
    DaemonSet = "apps/v1", k8s_openapi::api::apps::v1::DaemonSet;
    Job = "batch/v1", k8s_openapi::api::batch::v1::Job;
    CronJob = "batch/v1", k8s_openapi::api::batch::v1::CronJob;
    ReplicationController = "v1", k8s_openapi::api::core::v1::ReplicationController;
}

fn facts(
    api_version: &str,
    kind: &str,
    metadata: &ObjectMeta,
    spec: &Spec,
    status: Status,
    strings: &mut Interner,
) -> WorkloadFacts {
    let key = meta::key(metadata, strings);
    let (desired, ready, updated) = match kind {
        "DaemonSet" => {
            (status.desired_number_scheduled.or(0), status.number_ready.or(0), status.updated_number_scheduled.or(0))
        }
        "Job" => (spec.completions.or(spec.parallelism.or(1)), status.ready.or(0), 0),
        "CronJob" => (0, 0, 0),
        _ => (spec.replicas.or(1), status.ready_replicas.or(0), status.updated_replicas.or(0)),
    };
    WorkloadFacts {
        key: WorkloadKey {
            api_version: strings.intern(api_version),
            kind: strings.intern(kind),
            namespace: key.namespace,
            name: key.name,
        },
        owner: meta::controller(metadata, strings),
        desired,
        ready,
        updated,
        backoff_limit: (kind == "Job").then(|| spec.backoff_limit.or(6)),
        failed: status.failed.or(0),
        succeeded: status.succeeded.or(0),
        suspended: spec.suspend.is_true(),
        conditions: status.conditions.into_iter().map(Into::into).collect(),
        progress_deadline: (kind == "Deployment").then(|| spec.progress_deadline_seconds.or(600)),
        replica_sets: Vec::new(),
        last_successful: status.last_successful_time.real(),
    }
}

impl ReplicaSet {
    fn is_of(&self, deployment: &WorkloadFacts) -> bool {
        meta::namespace(&self.metadata) == &*deployment.key.namespace
            && self.metadata.owner_references.iter().flatten().any(|owner| {
                owner.controller == Some(true) && owner.kind == "Deployment" && owner.name == *deployment.key.name
            })
    }

    fn replica_set_facts(&self) -> ReplicaSetFacts {
        let revision = self.metadata.annotations.as_ref().and_then(|all| all.get(meta::REVISION));
        let spec = self.spec.0.clone().unwrap_or_default();
        let status = self.status.0.clone().unwrap_or_default();
        ReplicaSetFacts {
            name: Arc::from(self.metadata.name.as_deref().unwrap_or_default()),
            uid: meta::uid(&self.metadata),
            revision: revision.and_then(|r| r.parse().ok()).unwrap_or(0),
            desired: spec.replicas.or(1),
            ready: status.ready_replicas.or(0),
            images: spec.template.or_default().spec.or_default().containers.into_iter().map(|c| c.image.0).collect(),
        }
    }
}

/// A Deployment's own among `sets`: those with pods asked for, and the newest.
pub fn own_replica_sets<'a>(
    deployment: &WorkloadFacts,
    sets: impl IntoIterator<Item = &'a ReplicaSet>,
) -> Vec<ReplicaSetFacts> {
    let mut own: Vec<_> =
        sets.into_iter().filter(|set| set.is_of(deployment)).map(ReplicaSet::replica_set_facts).collect();
    own.sort_by(|a, b| b.revision.cmp(&a.revision).then_with(|| a.name.cmp(&b.name)));
    let mut first = true;
    own.retain(|set| std::mem::take(&mut first) || set.desired > 0);
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_counts_in_its_own_words() {
        let mut strings = Interner::default();
        let daemon: DaemonSet = serde_json::from_str(
            r#"{"metadata": {"name": "d", "namespace": "n"}, "status": {"desiredNumberScheduled": 3, "numberReady": 2, "updatedNumberScheduled": 1}}"#,
        )
        .unwrap();
        let daemon = daemon.into_facts(&mut strings);
        assert_eq!((daemon.desired, daemon.ready, daemon.updated), (3, 2, 1));
        assert!(daemon.key.is_known());
        let job: Job = serde_json::from_str(
            r#"{"metadata": {"name": "j"}, "spec": {"completions": 2, "suspend": true}, "status": {"failed": 4}}"#,
        )
        .unwrap();
        let job = job.into_facts(&mut strings);
        assert_eq!((job.desired, job.failed, job.backoff_limit, job.suspended), (2, 4, Some(6), true));
    }

    #[test]
    fn a_deployment_keeps_its_live_and_its_newest_replica_sets() {
        let sets: Vec<ReplicaSet> = [("old", 1, 0), ("live", 2, 3), ("new", 3, 0)]
            .iter()
            .map(|(name, revision, replicas)| {
                serde_json::from_str(&format!(
                    r#"{{"metadata": {{"name": "{name}", "annotations": {{"deployment.kubernetes.io/revision": "{revision}"}},
                        "ownerReferences": [{{"kind": "Deployment", "name": "web", "controller": true}}]}},
                        "spec": {{"replicas": {replicas}}}}}"#
                ))
                .unwrap()
            })
            .collect();
        let web: Deployment = serde_json::from_str(r#"{"metadata": {"name": "web"}}"#).unwrap();
        let own = own_replica_sets(&web.into_facts(&mut Interner::default()), &sets);
        assert_eq!(own.iter().map(|s| &*s.name).collect::<Vec<_>>(), ["new", "live"]);
    }
}
