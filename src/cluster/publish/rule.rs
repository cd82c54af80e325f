//! Writes the status of a rule. It is a merge patch with the UID, so that a rule of the same name that replaced it keeps its own.

#![allow(clippy::disallowed_types, reason = "it writes")]

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde_json::json;
use shindan_core::api::{DiagnosisRule, DiagnosisRuleStatus};

use super::{FIELD_MANAGER, Publisher, Reply};
use crate::cluster::Failure;

impl Publisher {
    /// Writes the status of a rule. A rule that was deleted or replaced counts as done.
    pub async fn write_rule_status(&self, name: &str, uid: &str, status: &DiagnosisRuleStatus) -> Result<(), Failure> {
        let body = json!({"metadata": {"uid": uid}, "status": status});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = Request::new(DiagnosisRule::url_path(&(), None));
        let request = request.patch_subresource("status", name, &params, &Patch::Merge(&body));
        match self.noted("write_diagnosisrules", self.send::<Reply>("status", request).await) {
            Err(Failure::Api { status, .. }) if matches!(status.code, 404 | 409 | 422) => Ok(()),
            result => result.map(drop),
        }
    }
}
