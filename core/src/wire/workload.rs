//! Controllers. All kinds share one type for spec and status; each uses its own fields.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Deserialize;

use super::Interner;
use super::lenient::{Count, Dict, Flag, Int, List, Name, Obj, Text, Time};
use super::meta::{self, WireCondition};
use super::pod::Template;
use crate::facts::{
    CronJobFacts, DaemonSetFacts, JobFacts, OwnFacts, ReplicaSetFacts, RevisionFacts, StatefulSetFacts, WorkloadFacts,
    WorkloadName,
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    replicas: Int,
    paused: Flag,
    progress_deadline_seconds: Int,
    selector: Obj<Selector>,
    template: Obj<Template>,
    // StatefulSets and DaemonSets
    pod_management_policy: Text,
    update_strategy: Obj<UpdateStrategy>,
    ordinals: Obj<Ordinals>,
    // Jobs
    completions: Int,
    parallelism: Int,
    backoff_limit: Int,
    active_deadline_seconds: Int,
    suspend: Flag,
    // CronJobs
    schedule: Text,
    time_zone: Text,
    concurrency_policy: Text,
    starting_deadline_seconds: Int,
    job_template: Obj<JobTemplate>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Selector {
    match_labels: Dict,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UpdateStrategy {
    r#type: Text,
    rolling_update: Obj<RollingUpdate>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct RollingUpdate {
    partition: Int,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Ordinals {
    start: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    spec: Obj<JobSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct JobSpec {
    template: Obj<Template>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    observed_generation: Int,
    conditions: List<WireCondition>,
    replicas: Int,
    ready_replicas: Int,
    updated_replicas: Int,
    unavailable_replicas: Int,
    current_revision: Name,
    update_revision: Name,
    // DaemonSets
    number_ready: Int,
    number_unavailable: Int,
    number_misscheduled: Int,
    current_number_scheduled: Int,
    desired_number_scheduled: Int,
    updated_number_scheduled: Int,
    // Jobs and CronJobs
    active: Count,
    ready: Int,
    failed: Int,
    succeeded: Int,
    failed_indexes: Text,
    start_time: Time,
    last_schedule_time: Time,
    last_successful_time: Time,
}

/// A built-in controller.
pub trait Workload {
    const API_VERSION: &'static str;
    const KIND: &'static str;

    /// Converts to facts. The caller adds the ReplicaSets of a Deployment and the revisions of other kinds.
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
                facts(Self::API_VERSION, Self::KIND, &self.metadata, self.spec.or_default(), self.status.or_default(), strings)
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
    spec: Spec,
    status: Status,
    strings: &mut Interner,
) -> WorkloadFacts {
    let key = meta::key(metadata, strings);
    let (desired, current, ready, updated) = match kind {
        "DaemonSet" => (
            status.desired_number_scheduled.or(0),
            status.current_number_scheduled.or(0),
            status.number_ready.or(0),
            status.updated_number_scheduled.or(0),
        ),
        "Job" => (spec.completions.or(spec.parallelism.or(1)), status.active.0, status.ready.or(0), 0),
        "CronJob" => (0, status.active.0, 0, 0),
        _ => (spec.replicas.or(1), status.replicas.or(0), status.ready_replicas.or(0), status.updated_replicas.or(0)),
    };
    let own = own_facts(kind, &spec, &status);
    let template = match spec.job_template.0 {
        Some(jobs) => jobs.spec.or_default().template,
        None => spec.template,
    };
    WorkloadFacts {
        key: WorkloadName {
            api_version: strings.intern(api_version),
            kind: strings.intern(kind),
            namespace: key.namespace,
            name: key.name,
        }
        .into(),
        uid: meta::uid(metadata),
        created: meta::created(metadata),
        deleting: metadata.deletion_timestamp.is_some(),
        overrides: meta::overrides(metadata),
        carried: meta::carried(metadata),
        owner: meta::controller(metadata, strings),
        manager: meta::manager(metadata),
        generation: metadata.generation.unwrap_or(0),
        observed_generation: status.observed_generation.0,
        paused: spec.paused.is_true(),
        desired,
        current,
        ready,
        unavailable: status.unavailable_replicas.or(status.number_unavailable.or(0)),
        updated,
        backoff_limit: (kind == "Job").then(|| spec.backoff_limit.or(6)),
        failed: status.failed.or(0),
        succeeded: status.succeeded.or(0),
        suspended: spec.suspend.is_true(),
        conditions: status.conditions.map(Into::into),
        progress_deadline: (kind == "Deployment").then(|| spec.progress_deadline_seconds.or(600)),
        selector: spec.selector.or_default().match_labels.into_labels(),
        template: template.or_default().into_facts(strings),
        own,
        replica_sets: Vec::new(),
        revisions: Vec::new(),
        revision: if kind == "Deployment" { annotated(metadata, meta::REVISION) } else { None },
        last_successful: status.last_successful_time.real(),
    }
}

/// The last number in an annotation.
fn annotated(metadata: &ObjectMeta, annotation: &str) -> Option<i64> {
    let value = metadata.annotations.as_ref()?.get(annotation)?;
    value.rsplit(',').next()?.trim().parse().ok()
}

fn own_facts(kind: &str, spec: &Spec, status: &Status) -> OwnFacts {
    let strategy = spec.update_strategy.0.as_ref();
    let on_delete = strategy.is_some_and(|s| &*s.r#type == "OnDelete");
    match kind {
        "StatefulSet" => OwnFacts::StatefulSet(StatefulSetFacts {
            ordered: &*spec.pod_management_policy != "Parallel",
            on_delete,
            partition: strategy.and_then(|s| s.rolling_update.0).map_or(0, |rolling| rolling.partition.or(0)),
            first_ordinal: spec.ordinals.0.map_or(0, |ordinals| ordinals.start.or(0)),
            current_revision: status.current_revision.0.clone(),
            update_revision: status.update_revision.0.clone(),
        }),
        "DaemonSet" => {
            OwnFacts::DaemonSet(DaemonSetFacts { on_delete, misscheduled: status.number_misscheduled.or(0) })
        }
        "Job" => OwnFacts::Job(JobFacts {
            parallelism: spec.parallelism.or(1),
            active_deadline: spec.active_deadline_seconds.0,
            started: status.start_time.real(),
            failed_indexes: status.failed_indexes.clone().non_empty(),
        }),
        "CronJob" => OwnFacts::CronJob(Box::new(CronJobFacts {
            schedule: spec.schedule.0.clone(),
            time_zone: spec.time_zone.clone().non_empty(),
            concurrency: spec.concurrency_policy.clone().non_empty().unwrap_or_else(|| "Allow".to_owned()),
            starting_deadline: spec.starting_deadline_seconds.0,
            last_schedule: status.last_schedule_time.real(),
            active_job: status.active.1.clone(),
        })),
        _ => OwnFacts::None,
    }
}

/// A current or previous template of a StatefulSet or DaemonSet.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::apps::v1::ControllerRevision)]
#[serde(default)]
pub struct ControllerRevision {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    revision: Int,
    data: Obj<RevisionData>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RevisionData {
    spec: Obj<RevisionSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RevisionSpec {
    template: Obj<Template>,
}

fn is_of(metadata: &ObjectMeta, workload: &WorkloadFacts) -> bool {
    let is_it = |owner: &OwnerReference| {
        owner.controller == Some(true) && owner.kind == *workload.key.kind && owner.name == *workload.key.name
    };
    meta::namespace(metadata) == &*workload.key.namespace && metadata.owner_references.iter().flatten().any(is_it)
}

/// The revisions of a StatefulSet or DaemonSet among `all`: the newest ones, and the one that a StatefulSet updates
/// from.
pub fn own_revisions<'a>(
    workload: &WorkloadFacts,
    all: impl IntoIterator<Item = &'a ControllerRevision>,
) -> Vec<RevisionFacts> {
    /// Kubernetes keeps ten by default.
    const NEWEST: usize = 4;
    let current = match &workload.own {
        OwnFacts::StatefulSet(set) => set.current_revision.as_str(),
        _ => "",
    };
    let facts = |revision: &ControllerRevision| RevisionFacts {
        name: Arc::from(revision.metadata.name.as_deref().unwrap_or_default()),
        revision: revision.revision.or(0),
        created: meta::created(&revision.metadata),
        template: revision
            .data
            .clone()
            .or_default()
            .spec
            .or_default()
            .template
            .or_default()
            .into_facts(&mut Interner::default()),
    };
    let own = all.into_iter().filter(|revision| is_of(&revision.metadata, workload));
    let mut own: Vec<_> = own.map(facts).collect();
    own.sort_by_key(|revision| std::cmp::Reverse(revision.revision));
    let mut place = 0;
    own.retain(|revision| {
        place += 1;
        place <= NEWEST || *revision.name == *current
    });
    own
}

impl ReplicaSet {
    fn replica_set_facts(&self) -> ReplicaSetFacts {
        let spec = self.spec.0.clone().unwrap_or_default();
        let status = self.status.0.clone().unwrap_or_default();
        ReplicaSetFacts {
            name: Arc::from(self.metadata.name.as_deref().unwrap_or_default()),
            uid: meta::uid(&self.metadata),
            revision: annotated(&self.metadata, meta::REVISION).unwrap_or(0),
            former_revision: annotated(&self.metadata, meta::FORMER_REVISIONS),
            created: meta::created(&self.metadata),
            desired: spec.replicas.or(1),
            ready: status.ready_replicas.or(0),
            template: spec.template.or_default().into_facts(&mut Interner::default()),
        }
    }
}

/// The ReplicaSets of a Deployment among `sets`: those with desired pods, and the two newest, one of which is the
/// rollback target.
pub fn own_replica_sets<'a>(
    deployment: &WorkloadFacts,
    sets: impl IntoIterator<Item = &'a ReplicaSet>,
) -> Vec<ReplicaSetFacts> {
    let mut own: Vec<_> =
        sets.into_iter().filter(|set| is_of(&set.metadata, deployment)).map(ReplicaSet::replica_set_facts).collect();
    own.sort_by(|a, b| b.revision.cmp(&a.revision).then_with(|| a.name.cmp(&b.name)));
    let mut place = 0;
    own.retain(|set| {
        place += 1;
        place <= 2 || set.desired > 0
    });
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_counted_for_each_kind() {
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
    fn template_keeps_only_names() {
        let cron: CronJob = serde_json::from_str(
            r#"{"metadata": {"name": "c", "generation": 3}, "status": {"active": [{"name": "c-1"}, {"name": "c-2"}]},
                "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"metadata": {"labels": {"app": "c"}}, "spec": {
                "volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "in-volume"}}]}}],
                "initContainers": [{"name": "i", "image": "init"}],
                "containers": [{"name": "c", "image": "app:1",
                    "env": [{"name": "PASSWORD", "value": "hunter2"}, {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "in-env", "key": "k"}}}],
                    "readinessProbe": {"httpGet": {"path": "/ok", "port": "web"}, "periodSeconds": 5},
                    "resources": {"limits": {"memory": "1024Mi", "cpu": "0.5"}}}]}}}}}}"#,
        )
        .unwrap();
        let cron = cron.into_facts(&mut Interner::default());
        assert_eq!((cron.current, cron.generation), (2, 3));
        let template = cron.template.unwrap();
        assert!(!format!("{template:?}").contains("hunter2"));
        assert_eq!(template.labels.get("app").unwrap(), "c");
        assert!(template.secrets.contains("in-volume") && template.config_maps.contains("in-env"));
        let [init, app] = template.containers.as_slice() else { panic!("{template:?}") };
        assert!(init.init && !app.init);
        assert_eq!(app.env.iter().collect::<Vec<_>>(), ["PASSWORD", "X"]);
        assert_eq!(app.readiness.as_deref(), Some("http :web/ok, delay 0 s, timeout 1 s, period 5 s, 3 failures"));
        assert_eq!(app.limits, "cpu 500m, memory 1Gi");
    }

    #[test]
    fn stateful_set_keeps_its_newest_revisions_and_the_previous_one() {
        let revision = |n: i64| -> ControllerRevision {
            serde_json::from_str(&format!(
                r#"{{"metadata": {{"name": "db-{n}", "ownerReferences": [{{"kind": "StatefulSet", "name": "db", "controller": true}}]}},
                    "revision": {n}, "data": {{"spec": {{"template": {{"$patch": "replace", "spec": {{"containers": [{{"name": "c", "image": "app:{n}"}}]}}}}}}}}}}"#
            ))
            .unwrap()
        };
        let db: StatefulSet = serde_json::from_str(
            r#"{"metadata": {"name": "db"}, "status": {"currentRevision": "db-1", "updateRevision": "db-7"}}"#,
        )
        .unwrap();
        let all: Vec<_> = (1..=7).map(revision).collect();
        let own = own_revisions(&db.into_facts(&mut Interner::default()), &all);
        assert_eq!(own.iter().map(|r| r.revision).collect::<Vec<_>>(), [7, 6, 5, 4, 1]);
        assert_eq!(&*own[0].template.as_ref().unwrap().containers[0].image, "app:7");
        assert!(own[0].is_called("db-7") && own[0].is_called("7") && !own[0].is_called("b-7"));
    }

    #[test]
    fn deployment_keeps_its_live_and_two_newest_replica_sets() {
        let sets: Vec<ReplicaSet> = [("old", 1, 0), ("live", 2, 3), ("bad", 3, 0), ("new", 4, 0)]
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
        assert_eq!(own.iter().map(|s| &*s.name).collect::<Vec<_>>(), ["new", "bad", "live"]);
    }

    #[test]
    fn replica_set_that_was_rolled_back_to_has_its_former_revision() {
        let with = |annotations: &str| {
            format!(
                r#"{{"metadata": {{"name": "web", "annotations": {{{annotations}}},
                    "ownerReferences": [{{"kind": "Deployment", "name": "web", "controller": true}}]}}}}"#
            )
        };
        let set = |annotations: &str| -> ReplicaSetFacts {
            serde_json::from_str::<ReplicaSet>(&with(annotations)).unwrap().replica_set_facts()
        };
        let revision = r#""deployment.kubernetes.io/revision": "7""#;
        let rolled_back = set(&format!(r#"{revision}, "deployment.kubernetes.io/revision-history": "2,4""#));
        assert_eq!((rolled_back.revision, rolled_back.former_revision), (7, Some(4)));
        assert_eq!((set(revision).revision, set(revision).former_revision), (7, None));
        assert_eq!((set("").revision, set("").former_revision), (0, None));
        let web: Deployment = serde_json::from_str(&with(revision)).unwrap();
        assert_eq!(web.into_facts(&mut Interner::default()).revision, Some(7));
    }
}
