//! Which workload a pod belongs to, and where its Job stands.

use std::sync::Arc;

use super::{Case, evidence};
use crate::api::Evidence;
use crate::facts::{Container, PodFacts, RestartPolicy, WorkloadFacts, WorkloadKey, WorkloadName};

const ROLLOUT: &str = "argoproj.io/v1alpha1";

/// The controller of the pod itself: its ReplicaSet, its Job. Mirror pods have none (their owner is the Node).
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

/// The controller that a person knows by name. A Deployment's name is its ReplicaSet's less the `pod-template-hash`, so
/// nothing needs to be read for it; a CronJob is known once the pod's Job has been looked up.
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
        // Argo Rollouts keeps ReplicaSets of its own, and undoes what somebody else changes of them.
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

/// Where the Job of a pod stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobState {
    /// The pod is of no Job.
    None,
    Complete,
    /// The Job will try again.
    Retries,
    /// It has failed for good.
    Failed,
    /// It was not looked up.
    Unknown,
}

pub(super) fn job_state(case: &Case<'_>) -> JobState {
    if !case.pod.is_of_job() {
        return JobState::None;
    }
    match job_of(case).map(|job| (job, state_of(job))) {
        Some((job, JobState::Retries)) if has_no_retry_left(case, job) => JobState::Failed,
        Some((_, state)) => state,
        None => JobState::Unknown,
    }
}

/// Whether only one try of the pod's Job is known to have failed: to try again is what its retries are for.
pub(super) fn is_first_failed_try(case: &Case<'_>) -> bool {
    let pod = case.pod;
    let restarts = pod.containers.iter().fold(0_u32, |all, c| all.saturating_add(c.restart_count));
    let has_ended = |c: &Container| !c.is_running() && c.last_end().is_some_and(|end| end.exit_code != 0);
    let here = restarts.saturating_add(u32::from(pod.containers.iter().any(has_ended)));
    here <= 1 && job_of(case).is_some_and(|job| job.failed <= 1)
}

/// The pod's Job, where it was looked up.
fn job_of<'a>(case: &Case<'a>) -> Option<&'a WorkloadFacts> {
    let around = case.surroundings;
    let found = around.known_job().or_else(|| around.known_workload().filter(|top| &*top.key.kind == "Job"));
    found.filter(|_| case.pod.is_of_job())
}

/// The Job's own word that it has failed and makes no further try. `FailureTarget` comes first, `Failed` once its pods are
/// gone or over.
pub(super) fn job_given_up(case: &Case<'_>) -> Option<Evidence> {
    let job = job_of(case)?;
    let holds = |kind| job.conditions.iter().find(|c| c.kind == kind && c.status == "True");
    let said = holds("Failed").or_else(|| holds("FailureTarget"))?;
    Some(evidence::job_condition(&job.key.name, said))
}

/// Under OnFailure a Job's tries are restarts, and at the last one it deletes the pod: whatever is to be said of it is to be
/// said before (kubernetes pkg/controller/job pastBackoffLimitOnFailure).
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
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose, target};

    /// The pod's top controller as it is displayed, and the patch that sets a field of its template.
    fn controller(owner: &str, labels: &str) -> (Option<String>, Option<String>) {
        let scenario = Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: p, namespace: n, labels: {{{labels}}}, ownerReferences: [{{{owner}, uid: u, controller: true}}]}}\nspec: {{containers: [{{name: c}}]}}\nstatus: {{phase: Pending}}\n"
        ));
        let patch = target::of(&scenario.case()).pod_spec_patch("priority: 1\n");
        (top(&scenario.pods[0], None).map(|key| key.to_string()), patch)
    }

    /// What is told of the Job of a failed pod, with these conditions of the Job.
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
    fn a_job_that_has_given_up_is_told_at_its_pods() {
        let target = "{type: FailureTarget, status: \"True\", reason: PodFailurePolicy, message: Container c failed}";
        let failed = "{type: Failed, status: \"True\", reason: PodFailurePolicy, message: Container c failed}";
        let told = |kind: &str| {
            let source = format!("job/load.status.conditions[{kind}]");
            vec![(source, "True PodFailurePolicy: Container c failed".to_owned())]
        };
        assert_eq!(of_its_job(target), told("FailureTarget"));
        assert_eq!(of_its_job(&format!("{target}, {failed}")), told("Failed"), "once");
        assert_eq!(of_its_job(""), [], "it tries again");
        assert_eq!(of_its_job("{type: Suspended, status: \"True\", reason: JobSuspended, message: Job suspended}"), []);
    }

    #[test]
    fn only_templates_of_kubernetes_own_kinds_are_patched() {
        let of_rollout =
            controller("apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9", "rollouts-pod-template-hash: 7d9");
        assert_eq!(of_rollout, (Some("Rollout/web".to_owned()), None));
        for (api, kind) in [
            ("apps.kruise.io/v1alpha1", "CloneSet"),
            ("apps.kruise.io/v1beta1", "StatefulSet"),
            ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
            ("v1", "Pod"),
        ] {
            let found = controller(&format!("apiVersion: {api}, kind: {kind}, name: x"), "");
            assert_eq!(found, (Some(format!("{kind}/x")), None), "{api}");
        }
        assert_eq!(controller("apiVersion: v1, kind: Node, name: n1", ""), (None, None));
        let (own, patch) = controller("apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9", "pod-template-hash: 7d9");
        assert_eq!((own.as_deref(), patch.is_some()), (Some("Deployment/web"), true));
    }
}
