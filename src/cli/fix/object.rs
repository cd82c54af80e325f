//! The object of a change in the cluster: reads it, tries the change with a dry run, makes it, and computes its reversal.

#![allow(clippy::disallowed_types, reason = "the command that changes workloads, with the rights of the user")]

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Error, ResourceExt};
use serde_json::{Map, Value, json};
use shindan_core::case::target::{self, POD, TEMPLATES, strategic};
use shindan_core::facts::Manager;
use tokio::time::{sleep, timeout};

use super::change::{ApiKind, Change, Operation, Replacement, Revision};
use super::json_patch;

/// Who changes the object, in managedFields and in the audit log.
const FIELD_MANAGER: &str = "kubectl-shindan";

/// How long a deletion may take beyond the time that the containers have to end.
const DELETION: Duration = Duration::from_secs(30);

/// How often to look whether an object is gone.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Annotation with the cause for which the object was changed last.
pub(super) const FIXED: &str = "shindan.dev/fixed";

/// Annotation of a ReplicaSet with the revision of its Deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// The kind of which only objects without a volume are created again.
const CLAIM: &str = "PersistentVolumeClaim";

/// Label by which a Deployment selects the pods of a ReplicaSet.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// The cluster, with the rights of the user.
pub(in crate::cli) struct Objects<'a> {
    pub(in crate::cli) client: &'a Client,
    pub(in crate::cli) limit: Duration,
}

/// Whether a request only tries the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    DryRun,
    Apply,
}

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The object has been changed since it was read.
    Changed,
    /// What the API server or an admission webhook answered.
    Answer(String),
}

impl Objects<'_> {
    fn api(&self, kind: &ApiKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = kind.resource();
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    async fn within<T>(&self, request: impl Future<Output = Result<T, Error>>) -> anyhow::Result<Result<T, Error>> {
        timeout(self.limit, request)
            .await
            .map_err(|_| anyhow!("the API server did not answer within {} s", self.limit.as_secs()))
    }

    /// The object as it is now. `None` if it does not exist.
    pub(super) async fn get(&self, change: &Change) -> anyhow::Result<Option<DynamicObject>> {
        let api = self.api(change.kind, change.namespace.as_deref());
        match self.within(api.get_opt(&change.name)).await? {
            Ok(found) => Ok(found),
            Err(error) => bail!("cannot read {change}: {}", words(&error)),
        }
    }

    /// Makes the change, or tries it. Returns the object as it is then; `None` if it is deleted.
    ///
    /// The change is refused if the object is no longer the one that was read.
    pub(super) async fn change(
        &self,
        change: &Change,
        before: Option<&DynamicObject>,
        reason: &str,
        mode: Mode,
    ) -> anyhow::Result<Result<Option<DynamicObject>, Refusal>> {
        let api = self.api(change.kind, change.namespace.as_deref());
        let dry_run = mode == Mode::DryRun;
        let field_manager = Some(FIELD_MANAGER.to_owned());
        let done = match &change.operation {
            Operation::Create(object) => {
                let mut object = object.clone();
                object["metadata"]["annotations"] = json!({FIXED: reason});
                let object = serde_json::from_value(object).context("the object of the remedy is not valid")?;
                let params = PostParams { dry_run, field_manager };
                self.within(api.create(&params, &object)).await?.map(Some)
            }
            Operation::Delete { grace_seconds } => {
                let uid = before.and_then(|object| object.metadata.uid.clone());
                // As kubectl: by default, the API server lets the pods of a Job stay.
                let params = DeleteParams {
                    dry_run,
                    grace_period_seconds: *grace_seconds,
                    preconditions: Some(Preconditions { uid, resource_version: None }),
                    ..DeleteParams::background()
                };
                self.within(api.delete(&change.name, &params)).await?.map(|_| None)
            }
            Operation::Recreate(form) => {
                let Some(before) = before else { bail!("{change} does not exist") };
                if change.kind.kind == CLAIM && before.data["status"]["phase"] != "Pending" {
                    return Ok(Err(Refusal::Answer("the claim has a volume, and may hold data".to_owned())));
                }
                let mut object = new_form(before, form)?;
                object.annotations_mut().insert(FIXED.to_owned(), reason.to_owned());
                let params = PostParams { dry_run, field_manager };
                if dry_run {
                    // The name is taken until the old object is deleted.
                    object.metadata.generate_name = object.metadata.name.take().map(|name| format!("{name}-"));
                    self.within(api.create(&params, &object)).await?.map(|tried| Some(named_as(tried, before)))
                } else {
                    match self.delete_and_wait(&api, before).await? {
                        Ok(()) => self.within(api.create(&params, &object)).await?.map(Some),
                        Err(error) => Err(error),
                    }
                }
            }
            Operation::Json(operations) => {
                let Some(before) = before else { bail!("{change} does not exist") };
                if let Some(failed) = json_patch::failed_test(operations, before)? {
                    // In a dry run, the diagnosis is older than the object. Later, the object has changed meanwhile.
                    return Ok(Err(if dry_run { Refusal::Answer(failed) } else { Refusal::Changed }));
                }
                let params = PatchParams { dry_run, field_manager, ..PatchParams::default() };
                let patch: Patch<()> = Patch::Json(json_patch::marked(operations, before, FIXED, reason)?);
                self.within(api.patch(&change.name, &params, &patch)).await?.map(Some)
            }
            _ => {
                let Some(before) = before else { bail!("{change} does not exist") };
                let mut patch = self.patch_of(change, before).await?;
                let metadata = json!({
                    "annotations": {FIXED: reason},
                    "resourceVersion": before.metadata.resource_version,
                });
                merge(&mut patch, json!({"metadata": metadata}));
                let params = PatchParams { dry_run, field_manager, ..PatchParams::default() };
                let patch = match &change.operation {
                    Operation::Merge(_) => Patch::Merge(&patch),
                    _ => Patch::Strategic(&patch),
                };
                self.within(api.patch(&change.name, &params, &patch)).await?.map(Some)
            }
        };
        Ok(done.map_err(|error| match &error {
            Error::Api(status) if status.code == 409 && !matches!(change.operation, Operation::Create(_)) => {
                Refusal::Changed
            }
            error => Refusal::Answer(words(error)),
        }))
    }

    /// Deletes the object, and waits until it is gone.
    async fn delete_and_wait(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
    ) -> anyhow::Result<Result<(), Error>> {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let uid = object.metadata.uid.clone();
        let preconditions = Some(Preconditions { uid: uid.clone(), resource_version: None });
        let params = DeleteParams { preconditions, ..DeleteParams::background() };
        if let Err(error) = self.within(api.delete(name, &params)).await? {
            return Ok(Err(error));
        }
        let grace = Duration::from_secs(grace_seconds(object)) + DELETION;
        let is_gone = async {
            loop {
                match api.get_metadata_opt(name).await {
                    Ok(now) if now.as_ref().is_some_and(|now| now.metadata.uid == uid) => {}
                    Ok(_) => return Ok(()),
                    Err(error) => return Err(error),
                }
                sleep(LOOK_AGAIN).await;
            }
        };
        timeout(grace, is_gone).await.map_err(|_| anyhow!("{name} is not gone after {} s", grace.as_secs()))
    }

    async fn patch_of(&self, change: &Change, before: &DynamicObject) -> anyhow::Result<Value> {
        Ok(match &change.operation {
            Operation::Strategic(patch) | Operation::Merge(patch) => patch.clone(),
            Operation::InContainer { container, fields } => container_patch(before, container, fields)?,
            Operation::Undo { revision } => self.template_of(change, before, revision).await?,
            Operation::Json(_) | Operation::Delete { .. } | Operation::Create(_) | Operation::Recreate(_) => {
                bail!("no patch with fields")
            }
        })
    }

    /// The patch that restores the template of a revision.
    async fn template_of(&self, change: &Change, of: &DynamicObject, revision: &Revision) -> anyhow::Result<Value> {
        let uid = of.metadata.uid.as_deref().unwrap_or_default();
        let is_owned =
            |object: &DynamicObject| object.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        let namespace = change.namespace.as_deref();
        let list = async |kind: &ApiKind| -> anyhow::Result<Vec<DynamicObject>> {
            let listed = self.within(self.api(kind, namespace).list(&ListParams::default())).await?;
            let listed = listed.map_err(|error| anyhow!("cannot list {}: {}", kind.plural, words(&error)))?;
            Ok(listed.items.into_iter().filter(is_owned).collect())
        };
        let none = || anyhow!("{change} no longer has the revision");
        if let ("Deployment", Revision::Number(revision)) = (change.kind.kind, revision) {
            let sets = ApiKind::of("ReplicaSet").context("ReplicaSet is a known kind")?;
            let number = revision.to_string();
            let is_it = |set: &DynamicObject| {
                set.metadata.annotations.iter().flatten().any(|(k, v)| k == REVISION && *v == number)
            };
            let set = list(sets).await?.into_iter().find(is_it).ok_or_else(none)?;
            let mut template = set.data["spec"]["template"].clone();
            if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
                labels.remove(TEMPLATE_HASH);
            }
            template["$patch"] = "replace".into();
            return Ok(json!({"spec": {"template": template}}));
        }
        let revisions = ApiKind::of("ControllerRevision").context("ControllerRevision is a known kind")?;
        let is_it = |of: &DynamicObject| match revision {
            Revision::Number(number) => of.data["revision"] == *number,
            Revision::Named(name) => of.metadata.name.as_ref() == Some(name),
        };
        let found = list(revisions).await?.into_iter().find(is_it).ok_or_else(none)?;
        Ok(found.data["data"].clone())
    }
}

/// The form in which an object is created again: what people set of it, with the changes.
fn new_form(before: &DynamicObject, form: &Replacement) -> anyhow::Result<DynamicObject> {
    let object = match form {
        Replacement::Of(object) => object.clone(),
        Replacement::Patched { container, patch } => {
            let mut object = manifest(before)?;
            if let Some((container, fields)) = container {
                strategic::apply(&mut object, &container_patch(before, container, fields)?);
            }
            strategic::apply(&mut object, patch);
            object
        }
    };
    serde_json::from_value(object).context("the new object is not valid")
}

/// The object without what the API server, the scheduler and controllers set, so that it can be created again.
pub(super) fn manifest(object: &DynamicObject) -> anyhow::Result<Value> {
    let of = &object.metadata;
    let metadata = kube::core::ObjectMeta {
        name: of.name.clone(),
        namespace: of.namespace.clone(),
        labels: of.labels.clone(),
        annotations: of.annotations.clone(),
        finalizers: of.finalizers.clone(),
        ..kube::core::ObjectMeta::default()
    };
    let clean = DynamicObject { types: object.types.clone(), metadata, data: object.data.clone() };
    let mut clean = serde_json::to_value(clean).context("the object is no JSON")?;
    let is_job = object.types.as_ref().is_some_and(|types| types.kind == "Job");
    let set_by_others = if is_job {
        // The API server sets them again; those with the name would not fit that of a dry run.
        let labels = json!({
            "controller-uid": null, "batch.kubernetes.io/controller-uid": null,
            "job-name": null, "batch.kubernetes.io/job-name": null,
        });
        json!({"status": null, "spec": {"selector": null, "template": {"metadata": {"labels": labels}}}})
    } else {
        json!({"status": null, "spec": {"nodeName": null}})
    };
    strategic::apply(&mut clean, &set_by_others);
    Ok(clean)
}

/// The object of a dry run under the name that it would have.
fn named_as(mut tried: DynamicObject, before: &DynamicObject) -> DynamicObject {
    tried.metadata.name.clone_from(&before.metadata.name);
    tried.metadata.generate_name = None;
    tried
}

/// Seconds that the containers have to end.
fn grace_seconds(object: &DynamicObject) -> u64 {
    const DEFAULT: u64 = 30;
    let spec = template_spec(object).unwrap_or(&object.data["spec"]);
    spec["terminationGracePeriodSeconds"].as_u64().unwrap_or(DEFAULT)
}

/// The spec of the pods that an object creates.
pub(super) fn template_spec(object: &DynamicObject) -> Option<&Value> {
    TEMPLATES.iter().find_map(|path| target::at(&object.data, path))
}

/// The patch that sets fields of a container, wherever the object has it.
fn container_patch(object: &DynamicObject, container: &str, fields: &Value) -> anyhow::Result<Value> {
    for path in TEMPLATES.iter().chain([&POD]) {
        let Some(spec) = target::at(&object.data, path) else { continue };
        for list in ["containers", "initContainers"] {
            let has = spec[list].as_array().is_some_and(|all| all.iter().any(|of| of["name"] == container));
            if has {
                let mut entry = json!({"name": container});
                merge(&mut entry, fields.clone());
                return Ok(target::below(path, json!({list: [entry]})));
            }
        }
    }
    bail!("it has no container {container}")
}

/// Adds the fields of `other`.
fn merge(into: &mut Value, other: Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) => {
            for (key, value) in other {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, other) => *into = other,
    }
}

/// What the API server answered, in one line.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::Api(status) => status.message.clone(),
        error => error.to_string(),
    }
}

/// The fields of an object that people set, for a comparison.
pub(super) fn shown(object: &DynamicObject) -> Value {
    let mut metadata = Map::new();
    let of = &object.metadata;
    metadata.insert("name".to_owned(), json!(of.name));
    if let Some(labels) = &of.labels {
        metadata.insert("labels".to_owned(), json!(labels));
    }
    let annotations: Map<String, Value> = of
        .annotations
        .iter()
        .flatten()
        .filter(|(key, _)| !is_internal(key))
        .map(|(k, v)| (k.clone(), json!(v)))
        .collect();
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
    if let Some(finalizers) = &of.finalizers {
        metadata.insert("finalizers".to_owned(), json!(finalizers));
    }
    let mut shown = object.data.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("status");
        // Values of Secrets are never shown.
        for key in ["data", "stringData"] {
            if let Some(Value::Object(data)) = fields.get_mut(key).filter(|_| is_secret(object)) {
                data.values_mut().for_each(|value| *value = "***".into());
            }
        }
    }
    shown["metadata"] = metadata.into();
    shown
}

fn is_secret(object: &DynamicObject) -> bool {
    object.types.as_ref().is_some_and(|types| types.kind == "Secret")
}

fn is_internal(annotation: &str) -> bool {
    annotation == FIXED || annotation == "kubectl.kubernetes.io/last-applied-configuration"
}

/// The merge patch that turns `after` into `before`, below spec, data and finalizers. `None` if nothing differs.
pub(super) fn reversal(before: &DynamicObject, after: &DynamicObject) -> Option<Value> {
    let (before, after) = (shown(before), shown(after));
    let mut patch = difference(&after, &before)?;
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
    }
    Some(patch)
}

/// The JSON merge patch from one value to another (RFC 7386). `None` if they are equal.
fn difference(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(from), Value::Object(into)) = (from, to) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !into.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in into {
        match from.get(key) {
            Some(old) => patch.extend(difference(old, value).map(|inner| (key.clone(), inner))),
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Some(patch.into())
}

/// Who reverts a direct change of the object: a tool that its labels name, or the controller that owns it.
pub(super) fn manager(object: &DynamicObject) -> Option<String> {
    let of = &object.metadata;
    let label = |key: &str| of.labels.as_ref()?.get(key).map(String::as_str);
    let annotation = |key: &str| of.annotations.as_ref()?.get(key).map(String::as_str);
    let owner = || {
        let owner = of.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        Some(Manager::Owner { kind: owner.kind.clone(), name: owner.name.clone() })
    };
    Some(match Manager::of(label, annotation).or_else(owner)? {
        Manager::Helm { release: Some(release) } => format!("the values of Helm release {release}"),
        Manager::Helm { release: None } => "the values of its Helm release".to_owned(),
        Manager::ArgoCd { application } => format!("the source of Argo CD application {application}"),
        Manager::FluxKustomization { name } => format!("the source of Flux Kustomization {name}"),
        Manager::FluxHelmRelease { name } => format!("the values of Flux HelmRelease {name}"),
        Manager::Owner { kind, name } => format!("{kind} {name}, which owns it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_reversal_restores_what_was_changed_and_added() {
        let of = |spec: Value| {
            object(
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec, "status": {"replicas": 1}}),
            )
        };
        let before = of(json!({"replicas": 2, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}));
        let after = of(
            json!({"replicas": 2, "paused": true, "template": {"spec": {"containers": [{"name": "a", "image": "a:2"}]}}}),
        );
        assert_eq!(
            reversal(&before, &after),
            Some(
                json!({"spec": {"paused": null, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}})
            )
        );
        assert_eq!(reversal(&before, &before), None);
    }

    #[test]
    fn an_image_is_set_where_the_object_has_the_container() {
        let job = object(json!({"metadata": {}, "spec": {"jobTemplate": {"spec": {"template": {"spec": {
            "containers": [{"name": "a"}], "initContainers": [{"name": "b"}],
        }}}}}}));
        assert_eq!(
            container_patch(&job, "b", &json!({"image": "x"})).unwrap(),
            json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [{"name": "b", "image": "x"}]}}}}}})
        );
        assert_eq!(container_patch(&job, "c", &json!({})).unwrap_err().to_string(), "it has no container c");
    }

    #[test]
    fn managers_and_owners_are_named() {
        let of = |metadata: Value| manager(&object(json!({"metadata": metadata})));
        assert_eq!(of(json!({"name": "web"})), None);
        assert_eq!(
            of(
                json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "shop"}})
            ),
            Some("the values of Helm release shop".to_owned())
        );
        assert_eq!(
            of(
                json!({"ownerReferences": [{"apiVersion": "x/v1", "kind": "Database", "name": "main", "uid": "1", "controller": true}]})
            ),
            Some("Database main, which owns it".to_owned())
        );
    }

    #[test]
    fn a_manifest_has_nothing_that_others_set() {
        let job = object(json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "import", "namespace": "shop", "uid": "j", "resourceVersion": "7", "labels": {"app": "import"}},
            "spec": {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "j"}}, "template": {"metadata": {"labels": {
                "app": "import", "batch.kubernetes.io/controller-uid": "j", "batch.kubernetes.io/job-name": "import", "controller-uid": "j", "job-name": "import",
            }}, "spec": {"containers": [{"name": "a"}]}}},
            "status": {"failed": 1}}));
        let expected = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "import", "namespace": "shop", "labels": {"app": "import"}},
            "spec": {"template": {"metadata": {"labels": {"app": "import"}}, "spec": {"containers": [{"name": "a"}]}}}});
        assert_eq!(manifest(&job).unwrap(), expected);
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let secret =
            object(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "c2VjcmV0"}}));
        assert_eq!(shown(&secret)["data"], json!({"k": "***"}));
    }
}
