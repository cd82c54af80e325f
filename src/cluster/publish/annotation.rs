//! Writes the annotation of a pod or a workload. It is a merge patch, which never creates an object, and it contains
//! the UID, so that the API server rejects it for another object of the same name.

#![allow(clippy::disallowed_types, reason = "it writes")]

use kube::api::{Patch, PatchParams};
use kube::core::{Request, Status};
use serde_json::json;
use shindan_core::facts::{DIAGNOSIS, WorkloadKind};
use shindan_core::reconcile::{Annotation, Reference};

use super::{FIELD_MANAGER, PublishError, Published, Publisher, Reply};
use crate::cluster::Failure;

impl Publisher {
    /// Patches the annotation. An object that was deleted or replaced counts as done.
    pub(super) async fn annotate(&self, annotation: &Annotation) -> Result<Published, PublishError> {
        let Annotation { object, text, .. } = annotation;
        let (part, path) = place(object)?;
        let body = json!({"metadata": {"uid": object.uid, "annotations": {DIAGNOSIS: text}}});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = Request::new(path).patch_metadata(&object.key.name, &params, &Patch::Merge(&body));
        match self.noted(part, self.send::<Reply>("annotate", request).await) {
            Err(Failure::Api { status, retry_after }) if !is_gone(&status) => Err(match status.code {
                403 if is_of_roles(&status) => PublishError::NotGranted(status.message),
                // The object changes often, but the patch contains no resource version, so there is nothing to reread.
                409 => PublishError::Unavailable(status.message),
                _ => Failure::Api { status, retry_after }.into(),
            }),
            Ok(_) | Err(Failure::Api { .. }) => Ok(Published { announced: true, ..Published::default() }),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// The part of the operator for /readyz, and the URL path.
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

/// Whether the object is deleted, or replaced by one with another UID. The UID is immutable, so the patch is rejected.
fn is_gone(status: &Status) -> bool {
    let is_of_uid = || status.details.iter().flat_map(|details| &details.causes).any(|c| c.field == "metadata.uid");
    status.code == 404 || (status.code == 422 && is_of_uid())
}

/// Whether RBAC denies the request, not a policy about this object. Only the text of the message differs.
fn is_of_roles(status: &Status) -> bool {
    status.message.contains("cannot patch resource")
}
