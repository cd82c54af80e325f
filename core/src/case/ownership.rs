//! Ownership: the workload of a pod, and the state of its Job.

use std::sync::Arc;

use super::{Case, evidence};
use crate::api::Evidence;
use crate::facts::{Container, PodFacts, RestartPolicy, WorkloadFacts, WorkloadKey, WorkloadName};

const ROLLOUT: &str = "argoproj.io/v1alpha1";

/// The direct controller of the pod, such as its ReplicaSet or Job. Mirror pods have none (their owner is the Node).
pub fn immediate(pod: &PodFacts) -> Option<WorkloadKey> {
    let owner = pod.owner.as_ref().filter(|owner| !pod.is_mirror() && &*owner.kind != "Node")?;
    let name = WorkloadName {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        namespace: pod.key.namespace.clone(),
        name: owner.name.clone(),
    };
    Some(name.into())
}

/// The top-level controller. The name of a Deployment is that of the ReplicaSet without the `pod-template-hash`, so no
/// lookup is needed. The CronJob is known after the lookup of the Job.
pub fn top(pod: &PodFacts, job: Option<&WorkloadFacts>) -> Option<WorkloadKey> {
    let own = immediate(pod)?;
    if &*own.kind == "ReplicaSet" {
        let above = |label| {
            let hash = pod.labels.get(label)?;
            own.name.strip_suffix(hash)?.strip_suffix('-').map(Arc::<str>::from)
        };
        if let Some(name) = above("pod-template-hash") {
            return Some(WorkloadName { kind: "Deployment".into(), name, ..(*own).clone() }.into());
        }
        // Argo Rollouts manages its own ReplicaSets and reverts external changes of them.
        if let Some(name) = above("rollouts-pod-template-hash") {
            let kind = "Rollout".into();
            return Some(WorkloadName { api_version: ROLLOUT.into(), kind, name, ..(*own).clone() }.into());
        }
    }
    if let Some(owner) = job.and_then(|j| j.owner.as_ref()).filter(|_| &*own.kind == "Job") {
        let above = WorkloadName {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            ..(*own).clone()
        };
        return Some(above.into());
    }
    Some(own)
}

/// State of the Job of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobState {
    /// The pod does not belong to a Job.
    None,
    Complete,
    /// The Job has retries left.
    Retries,
    /// The Job has failed.
    Failed,
    /// The Job was not looked up.
    Unknown,
}

pub(crate) fn job_state(case: &Case<'_>) -> JobState {
    if !case.pod.is_of_job() {
        return JobState::None;
    }
    match job_of(case).map(|job| (job, state_of(job))) {
        Some((job, JobState::Retries)) if has_no_retry_left(case, job) => JobState::Failed,
        Some((_, state)) => state,
        None => JobState::Unknown,
    }
}

/// Whether only one attempt of the pod's Job is known to have failed. Retries are meant for that.
pub(crate) fn is_first_failed_try(case: &Case<'_>) -> bool {
    let pod = case.pod;
    let restarts = pod.containers.iter().fold(0_u32, |all, c| all.saturating_add(c.restart_count));
    let has_ended = |c: &Container| !c.is_running() && c.last_end().is_some_and(|end| end.exit_code != 0);
    let here = restarts.saturating_add(u32::from(pod.containers.iter().any(has_ended)));
    here <= 1 && job_of(case).is_some_and(|job| job.failed <= 1)
}

/// The Job of the pod, if it was looked up.
fn job_of<'a>(case: &Case<'a>) -> Option<&'a WorkloadFacts> {
    let around = case.surroundings;
    let found = around.known_job().or_else(|| around.known_workload().filter(|top| &*top.key.kind == "Job"));
    found.filter(|_| case.pod.is_of_job())
}

/// The condition that the Job has failed and will not retry. `FailureTarget` is set first, `Failed` when its pods are
/// terminated or deleted.
pub(crate) fn job_given_up(case: &Case<'_>) -> Option<Evidence> {
    let job = job_of(case)?;
    let holds = |kind| job.conditions.iter().find(|c| c.kind == kind && c.status == "True");
    let text = holds("Failed").or_else(|| holds("FailureTarget"))?;
    Some(evidence::job_condition(&job.key.name, text))
}

/// Whether the Job has no retry left. With restartPolicy OnFailure, restarts count as retries, and the Job deletes the
/// pod after the last one, so the diagnosis must be reported before (kubernetes pkg/controller/job
/// pastBackoffLimitOnFailure).
fn has_no_retry_left(case: &Case<'_>, job: &WorkloadFacts) -> bool {
    let pod = case.pod;
    let restarts = pod.containers.iter().fold(0_u32, |all, c| all.saturating_add(c.restart_count));
    pod.restart_policy == RestartPolicy::OnFailure && i64::from(restarts) >= job.backoff_limit.unwrap_or(6).max(1)
}

fn state_of(job: &WorkloadFacts) -> JobState {
    let has = |kinds: [&str; 2]| kinds.into_iter().any(|kind| job.condition_is_true(kind));
    if job.is_complete() {
        JobState::Complete
    } else if has(["Failed", "FailureTarget"]) || job.failed > job.backoff_limit.unwrap_or(6) {
        JobState::Failed
    } else {
        JobState::Retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Health, target};
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// The display name of the pod's top-level controller, and the patch that sets a field of its template.
    fn controller(owner: &str, labels: &str) -> (Option<String>, Option<String>) {
        let scenario = Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: p, namespace: n, labels: {{{labels}}}, ownerReferences: [{{{owner}, uid: u, controller: true}}]}}\nspec: {{containers: [{{name: c}}]}}\nstatus: {{phase: Pending}}\n"
        ));
        let patch = target::of(&scenario.case())
            .template()
            .map(|path| target::below(path, serde_json::json!({"priority": 1})).to_string());
        (top(&scenario.pods[0], None).map(|key| key.to_string()), patch)
    }

    /// Evidence about the Job of a failed pod, for these conditions of the Job.
    fn of_its_job(conditions: &str) -> Vec<(String, String)> {
        let scenario = Scenario::from_yaml(&format!(
            r#"
kind: Pod
metadata: {{name: p, namespace: n, uid: u, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: load, uid: j, controller: true}}]}}
spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}
status:
  phase: Failed
  containerStatuses:
  - {{name: c, state: {{terminated: {{exitCode: 3, reason: Error, startedAt: "2026-11-21T09:00:00Z", finishedAt: "2026-11-21T09:00:09Z"}}}}}}
---
kind: Job
apiVersion: batch/v1
metadata: {{name: load, namespace: n, uid: j}}
spec: {{backoffLimit: 2}}
status: {{failed: 1, conditions: [{conditions}]}}
"#
        ));
        let Health::Failing(diagnosis) = diagnose(&scenario.case()).health else { panic!("it has failed") };
        assert_eq!(diagnosis.cause, "PodFailedNoRestart", "the pod's own cause stays");
        let of_job = diagnosis.evidence.into_iter().filter(|e| e.source.starts_with("job/"));
        of_job.map(|e| (e.source, e.value)).collect()
    }

    #[test]
    fn failed_job_is_evidence_of_its_pods() {
        let target = "{type: FailureTarget, status: \"True\", reason: PodFailurePolicy, message: Container c failed}";
        let failed = "{type: Failed, status: \"True\", reason: PodFailurePolicy, message: Container c failed}";
        let expected = |kind: &str| {
            let source = format!("job/load.status.conditions[{kind}]");
            vec![(source, "True PodFailurePolicy: Container c failed".to_owned())]
        };
        assert_eq!(of_its_job(target), expected("FailureTarget"));
        assert_eq!(of_its_job(&format!("{target}, {failed}")), expected("Failed"), "once");
        assert_eq!(of_its_job(""), [], "it tries again");
        assert_eq!(of_its_job("{type: Suspended, status: \"True\", reason: JobSuspended, message: Job suspended}"), []);
    }

    #[test]
    fn only_templates_of_builtin_kinds_are_patched() {
        let of_rollout =
            controller("apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9", "rollouts-pod-template-hash: 7d9");
        assert_eq!(of_rollout, (Some("Rollout/web".to_owned()), None));
        for (api, kind, shown) in [
            ("apps.kruise.io/v1alpha1", "CloneSet", "CloneSet/x"),
            // Kubernetes has another kind of this name.
            ("apps.kruise.io/v1beta1", "StatefulSet", "statefulset.apps.kruise.io/x"),
            ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "SparkApplication/x"),
            ("v1", "Pod", "Pod/x"),
        ] {
            let found = controller(&format!("apiVersion: {api}, kind: {kind}, name: x"), "");
            assert_eq!(found, (Some(shown.to_owned()), None), "{api}");
        }
        assert_eq!(controller("apiVersion: v1, kind: Node, name: n1", ""), (None, None));
        let (own, patch) = controller("apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9", "pod-template-hash: 7d9");
        assert_eq!((own.as_deref(), patch.is_some()), (Some("Deployment/web"), true));
    }
}
