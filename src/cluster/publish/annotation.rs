//! One annotation of a pod or a workload: merged into what is there, so that nothing is ever created by it, and with the UID,
//! so that another object of the name is refused.

use kube::api::{Patch, PatchParams};
use kube::core::{Request, Status};
use serde_json::json;

use super::{FIELD_MANAGER, PublishError, Published, Publisher, Reply};
use crate::cluster::Failure;
use crate::facts::{DIAGNOSIS, WorkloadKind};
use crate::plan::{Annotation, Reference};

impl Publisher {
    /// An object that is gone, or that another one of its name has replaced, has nothing to carry.
    pub(super) async fn annotate(&self, annotation: &Annotation) -> Result<Published, PublishError> {
        let Annotation { object, text, .. } = annotation;
        let (part, path) = place(object)?;
        let body = json!({"metadata": {"uid": object.uid, "annotations": {DIAGNOSIS: text}}});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = Request::new(path).patch_metadata(&object.key.name, &params, &Patch::Merge(&body));
        match self.noted(part, self.send::<Reply>("annotate", request).await) {
            Err(Failure::Api { status, retry_after }) if !is_gone(&status) => Err(match status.code {
                403 if is_of_roles(&status) => PublishError::NotGranted(status.message),
                // It changes all the time: no version was asked for, so there is none to reread.
                409 => PublishError::Unavailable(status.message),
                _ => Failure::Api { status, retry_after }.into(),
            }),
            Ok(_) | Err(Failure::Api { .. }) => Ok(Published { announced: true, ..Published::default() }),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// As /readyz names the part that writes there, and the URL.
fn place(object: &Reference) -> Result<(&'static str, String), PublishError> {
    let kind = WorkloadKind::ALL.into_iter().find(|kind| *kind.as_str() == *object.kind);
    let (part, plural) = match kind {
        None if object.kind == "Pod" => ("annotate_pods", "pods"),
        None => return Err(PublishError::Invalid(format!("a {} is not annotated", object.kind))),
        Some(WorkloadKind::Deployment) => ("annotate_deployments", WorkloadKind::Deployment.plural()),
        Some(WorkloadKind::StatefulSet) => ("annotate_statefulsets", WorkloadKind::StatefulSet.plural()),
        Some(WorkloadKind::DaemonSet) => ("annotate_daemonsets", WorkloadKind::DaemonSet.plural()),
        Some(WorkloadKind::Job) => ("annotate_jobs", WorkloadKind::Job.plural()),
        Some(WorkloadKind::CronJob) => ("annotate_cronjobs", WorkloadKind::CronJob.plural()),
    };
    let root = if object.api_version.contains('/') { "apis" } else { "api" };
    Ok((part, format!("/{root}/{}/namespaces/{}/{plural}", object.api_version, object.key.namespace)))
}

/// It is not there any more, or the one that is has another UID, which nobody can change.
fn is_gone(status: &Status) -> bool {
    let is_of_uid = || status.details.iter().flat_map(|details| &details.causes).any(|c| c.field == "metadata.uid");
    status.code == 404 || (status.code == 422 && is_of_uid())
}

/// Whether roles do not grant it, and not a policy that judges this one object: the authorizer's own words.
fn is_of_roles(status: &Status) -> bool {
    status.message.contains("cannot patch resource")
}
