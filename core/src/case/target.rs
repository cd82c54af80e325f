//! Targets of remedies: the object that holds the template of the pod, with commands and patches for it.
//!
//! A pod with a controller is never patched itself, because its replacement would have the old template again.

pub mod strategic;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Case, Operation, Remedy, WorkloadCase, injected, ownership, remedy};
use crate::api::ContainerType;
use crate::facts::{Container, EventFacts, Manager, WorkloadFacts};
use crate::language::{HasLanguage, Language, phrase, translate};
use crate::message::text;

/// The object to change for a case: the pod's top-level controller, or else the pod itself.
pub fn of(case: &Case<'_>) -> Target {
    let pod = case.pod;
    let job = case.surroundings.known_job();
    let is_injected = |container: &&Container| injected::injector(case, container).is_some();
    let injected = pod.containers.iter().filter(is_injected).map(|container| container.name.clone()).collect();
    let Some(top) = ownership::top(pod, job) else {
        return Target {
            kind: "Pod".into(),
            name: pod.key.name.clone(),
            namespace: pod.key.namespace.clone(),
            holder: if pod.is_mirror() {
                Holder::Manifest
            } else {
                Holder::Pod { is_debugged: pod.containers.iter().any(|of| of.kind == ContainerType::Ephemeral) }
            },
            manager: None,
            injected,
            language: case.language(),
        };
    };
    let holder = match &*top.kind {
        _ if !top.is_known() => Holder::None,
        "Job" => Holder::Immutable,
        "CronJob" => Holder::CronJob,
        _ => Holder::Template,
    };
    let manager = case.surroundings.known_workload().filter(|workload| workload.key == top).and_then(manager_of);
    let (kind, name, namespace) = (top.kind.clone(), top.name.clone(), top.namespace.clone());
    Target { kind, name, namespace, holder, manager, injected, language: case.language() }
}

/// The object to change for a workload: the workload itself.
pub(crate) fn of_workload(case: &WorkloadCase<'_>) -> Target {
    let key = &case.workload.key;
    let holder = match &*key.kind {
        _ if case.workload.object().is_some() => Holder::None,
        "Job" => Holder::Immutable,
        "CronJob" => Holder::CronJob,
        _ => Holder::Template,
    };
    let (kind, name, namespace) = (key.kind.clone(), key.name.clone(), key.namespace.clone());
    let manager = manager_of(case.workload);
    Target { kind, name, namespace, holder, manager, injected: Vec::new(), language: case.language() }
}

/// The manager that reverts direct changes of a workload: the tool that manages it, or else a controller of a custom
/// kind.
fn manager_of(workload: &WorkloadFacts) -> Option<Manager> {
    let owner = || {
        let owner = workload.owner_key().filter(|owner| !owner.is_known())?;
        Some(Manager::Owner { kind: owner.kind.to_string(), name: owner.name.to_string() })
    };
    workload.manager.as_deref().cloned().or_else(owner)
}

/// Paths of the pod spec in an object with a template.
pub const TEMPLATES: [&[&str]; 2] = [CRON_JOB, TEMPLATE];
const TEMPLATE: &[&str] = &["spec", "template", "spec"];
const CRON_JOB: &[&str] = &["spec", "jobTemplate", "spec", "template", "spec"];
/// Path of the spec in a pod.
pub const POD: &[&str] = &["spec"];

/// The value at a path.
pub fn at<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// An object with the value at a path. It takes the value as it is, where `json!` would copy it once for each key.
pub fn below(path: &[&str], value: Value) -> Value {
    path.iter().rev().fold(value, |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])))
}

/// An entry of a list whose key is the name, such as containers and volumes, with these fields.
pub(crate) fn list_entry(name: &str, fields: Value) -> Value {
    let mut entry = json!({ "name": name });
    if let (Value::Object(entry), Value::Object(fields)) = (&mut entry, fields) {
        entry.extend(fields);
    }
    entry
}

/// Where the pod spec is stored, which determines what can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// `spec.template`.
    Template,
    /// `spec.jobTemplate.spec.template`.
    CronJob,
    /// The template of a Job, which is immutable.
    Immutable,
    /// The bare pod itself. Only the images of its containers can be changed in place.
    Pod {
        /// Whether it has ephemeral containers, which a new pod must not have.
        is_debugged: bool,
    },
    /// A manifest on a node, which the Pod only mirrors.
    Manifest,
    /// A custom kind.
    None,
}

/// The object that a remedy changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `Deployment`, `Pod`, ...
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    holder: Holder,
    /// The manager that reverts direct changes of it.
    manager: Option<Manager>,
    /// Containers of the pod that are not in the template, because a webhook adds them.
    injected: Vec<Arc<str>>,
    /// Language of the remedies.
    pub language: Language,
}

impl HasLanguage for Target {
    fn language(&self) -> Language {
        self.language
    }
}

impl Target {
    /// `deployment/web`, the argument for kubectl.
    pub fn argument(&self) -> String {
        format!("{}/{}", self.kind.to_ascii_lowercase(), self.name)
    }

    /// `Deployment web`, for sentences.
    pub fn display(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// `kubectl -n NAMESPACE`.
    pub fn command_prefix(&self) -> String {
        format!("kubectl -n {}", self.namespace)
    }

    /// Whether a webhook added this container, so that the template lacks it.
    pub(crate) fn is_injected(&self, container: &Container) -> bool {
        self.injected.contains(&container.name)
    }

    /// Whether the template can be changed in place. Otherwise the object must be deleted and recreated.
    pub fn is_patchable(&self) -> bool {
        self.template().is_some()
    }

    /// Adds the command `kubectl set image` or `kubectl set env` with its arguments, of which some may be placeholders. A bare
    /// pod's image can be set in place; any other immutable spec needs a new object.
    #[must_use]
    pub fn with_set(&self, remedy: Remedy, container: &Container, what: &str, arguments: &str) -> Remedy {
        if self.is_injected(container) {
            return remedy;
        }
        let is_in_place = self.is_patchable() || matches!(self.holder, Holder::Pod { .. }) && what == "image";
        if is_in_place {
            let command = format!("{} set {what} {} {arguments}", self.command_prefix(), self.argument());
            let operation = if self.is_patchable() { Operation::ChangeTemplate } else { Operation::ChangePod };
            return remedy::command_for(self.with_source(remedy), operation, command);
        }
        match self.recreation_patch(json!({})) {
            Some(patch) => {
                self.with_recreation(remedy, &format!("kubectl set {what} --local -o json -f - {arguments} | "), &patch)
            }
            None => remedy,
        }
    }

    /// `kubectl rollout restart`, which recreates the pods from the same template.
    pub fn restart_command(&self) -> Option<String> {
        self.rollout("restart")
    }

    /// `kubectl rollout history`, if the kind keeps revisions.
    pub fn history_command(&self) -> Option<String> {
        self.rollout("history")
    }

    /// `kubectl scale`, if the kind has replicas.
    pub fn scale_command(&self, replicas: u32) -> Option<String> {
        let scales = matches!(&*self.kind, "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController");
        scales.then(|| format!("{} scale {} --replicas={replicas}", self.command_prefix(), self.argument()))
    }

    fn rollout(&self, verb: &str) -> Option<String> {
        let rolls = matches!(&*self.kind, "Deployment" | "StatefulSet" | "DaemonSet") && self.is_patchable();
        rolls.then(|| format!("{} rollout {verb} {}", self.command_prefix(), self.argument()))
    }

    /// The path of the pod spec in a template that can be changed in place.
    pub(super) fn template(&self) -> Option<&'static [&'static str]> {
        match self.holder {
            Holder::Template => Some(TEMPLATE),
            Holder::CronJob => Some(CRON_JOB),
            Holder::Immutable | Holder::Pod { .. } | Holder::Manifest | Holder::None => None,
        }
    }

    /// Adds the patch that sets `fields` in the container, and the command that applies it. If the spec is immutable,
    /// adds what to do instead.
    #[must_use]
    pub fn with_container_patch(&self, remedy: Remedy, container: Option<&Container>, fields: Value) -> Remedy {
        match container {
            Some(container) if container.kind != ContainerType::Ephemeral && !self.is_injected(container) => {
                let entries = Value::Array(vec![list_entry(&container.name, fields)]);
                self.with_pod_patch(remedy, below(&[container.spec_list()], entries))
            }
            _ => remedy,
        }
    }

    /// Same as [`Self::with_container_patch`] for fields of the pod spec.
    #[must_use]
    pub fn with_pod_patch(&self, remedy: Remedy, fields: Value) -> Remedy {
        let Some(template) = self.template() else {
            return match self.recreation_patch(fields) {
                Some(patch) => remedy::patch(self.with_recreation(remedy, "", &patch), to_yaml(&patch)),
                None => self.with_replacement(remedy),
            };
        };
        let patch = below(template, fields);
        Remedy { operation: Operation::ChangeTemplate, ..self.with_patch(remedy, &patch) }
    }

    /// A strategic merge patch that sets `fields` in the pod spec of an object with an immutable spec, and removes what the
    /// API server refuses in a new object.
    fn recreation_patch(&self, fields: Value) -> Option<Value> {
        let mut patch = below(&["spec"], fields);
        match self.holder {
            Holder::Pod { is_debugged } => {
                patch["spec"]["nodeName"] = Value::Null;
                if is_debugged {
                    patch["spec"]["ephemeralContainers"] = Value::Null;
                }
                Some(patch)
            }
            Holder::Immutable => {
                let labels = json!({"controller-uid": null, "batch.kubernetes.io/controller-uid": null});
                let template = json!({"metadata": {"labels": labels}, "spec": patch["spec"].take()});
                Some(json!({"spec": {"selector": null, "template": template}}))
            }
            Holder::Template | Holder::CronJob | Holder::Manifest | Holder::None => None,
        }
    }

    /// Adds the command that deletes the object and creates it again with the patch, after another `step` of the pipe. The
    /// new manifest is kept in a file, so that nothing is lost if it is not accepted.
    fn with_recreation(&self, remedy: Remedy, step: &str, patch: &Value) -> Remedy {
        let object = [&self.kind.to_ascii_lowercase(), &*self.name];
        let command = recreation(&self.command_prefix(), object, step, &shell_word(&to_json(patch)), "");
        let (operation, text) = match self.holder {
            Holder::Pod { .. } => (
                Operation::ChangePod,
                phrase!(
                    self,
                    "A pod's spec is fixed: the command deletes the pod and creates it again.",
                    "Pod の spec は固定されている: コマンドは Pod を削除して作り直す。"
                ),
            ),
            _ => (
                Operation::Recreate,
                phrase!(
                    self,
                    "A Job's template is fixed: the command deletes the Job with its pods and creates it again, so that it \
                 starts from the beginning.",
                    "Job のテンプレートは固定されている: コマンドは Job を Pod ごと削除して作り直し、Job は最初から始まる。"
                ),
            ),
        };
        let remedy = Remedy { text: format!("{} {text}", remedy.text), ..remedy };
        remedy::command_for(self.with_source(remedy), operation, command)
    }

    /// Adds the patch (as YAML, to read) and the command that applies it (as one line of JSON, to paste).
    #[must_use]
    pub fn with_patch(&self, remedy: Remedy, patch: &Value) -> Remedy {
        let (kind, name) = (self.kind.to_ascii_lowercase(), &self.name);
        let command = format!("{} patch {kind} {name} -p {}", self.command_prefix(), shell_word(&to_json(patch)));
        remedy::patch(remedy::command(self.with_source(remedy), command), to_yaml(patch))
    }

    /// Adds where to change the object instead, so that its manager does not revert the change.
    #[must_use]
    pub fn with_source(&self, remedy: Remedy) -> Remedy {
        let instead = match &self.manager {
            None => return remedy,
            Some(Manager::Helm { release: Some(release) }) => {
                translate!(
                    self,
                    "Change the values of Helm release {release} too: its next upgrade reverts this.",
                    "Helm release {release} の values も変更する。次の upgrade で元に戻される。",
                    release
                )
            }
            Some(Manager::Helm { release: None }) => phrase!(
                self,
                "Change the values of its Helm release too: the next upgrade reverts this.",
                "その Helm release の values も変更する。次の upgrade で元に戻される。"
            )
            .to_owned(),
            Some(Manager::ArgoCd { application }) => translate!(
                self,
                "Change it in the source of Argo CD application {application}: Argo CD reverts a direct change.",
                "Argo CD の application {application} のソースで変更する。直接の変更は Argo CD が元に戻す。",
                application
            ),
            Some(Manager::FluxKustomization { name }) => {
                translate!(
                    self,
                    "Change it in the source of Flux Kustomization {name}: Flux reverts a direct change.",
                    "Flux の Kustomization {name} のソースで変更する。直接の変更は Flux が元に戻す。",
                    name
                )
            }
            Some(Manager::FluxHelmRelease { name }) => {
                translate!(
                    self,
                    "Change it in the values of Flux HelmRelease {name}: Flux reverts a direct change.",
                    "Flux の HelmRelease {name} の values で変更する。直接の変更は Flux が元に戻す。",
                    name
                )
            }
            Some(Manager::Owner { kind, name }) => translate!(
                self,
                "Change it in {kind} {name}, which owns this object: its controller may revert a direct change.",
                "このオブジェクトを所有する {kind} {name} で変更する。直接の変更はそのコントローラが元に戻すことがある。",
                kind,
                name
            ),
        };
        Remedy { text: format!("{} {instead}", remedy.text), ..remedy }
    }

    /// Adds what to do if the spec is immutable.
    #[must_use]
    pub fn with_replacement(&self, remedy: Remedy) -> Remedy {
        match self.replacement() {
            Some(instead) => Remedy { text: format!("{} {instead}", remedy.text), ..remedy },
            None => remedy,
        }
    }

    /// What to do about a spec that the API server does not allow to change.
    fn replacement(&self) -> Option<&'static str> {
        match self.holder {
            Holder::Pod { .. } => Some(phrase!(
                self,
                "A pod's spec is fixed: delete the pod and create it again.",
                "Pod の spec は固定されている: Pod を削除して作り直す。"
            )),
            Holder::Immutable => Some(phrase!(
                self,
                "A Job's template is fixed: delete the Job and create it again.",
                "Job のテンプレートは固定されている: Job を削除して作り直す。"
            )),
            // Static pods have one remedy for all: see `of_static_pod`.
            Holder::Template | Holder::CronJob | Holder::Manifest | Holder::None => None,
        }
    }
}

/// The command that deletes an object (kind and name) and creates it again with a patch, which is a word of the shell. `step`
/// is another step of the pipe, and `guard` a command that must succeed first; both may be empty. The new manifest is kept in
/// a file, so that nothing is lost if it is not accepted.
pub(crate) fn recreation(prefix: &str, object: [&str; 2], step: &str, patch: &str, guard: &str) -> String {
    let [kind, name] = object;
    format!(
        "{prefix} get {kind} {name} -o json | {step}kubectl patch --local -f - -p {patch} -o json > {name}.json && \
         {guard}{prefix} replace --force -f {name}.json"
    )
}

fn to_yaml(patch: &Value) -> String {
    // JSON is YAML too.
    serde_saphyr::to_string(patch).unwrap_or_else(|_| to_json(patch))
}

/// Unlike `Display`, it does not check each part of the text again.
fn to_json(patch: &Value) -> String {
    serde_json::to_string(patch).unwrap_or_default()
}

/// Remedies of a static pod. The API server only has a mirror of it: it refuses patches, and a deleted mirror is
/// recreated without a restart.
pub(crate) fn of_static_pod(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    remedies.retain(|remedy| remedy.operation != Operation::ChangePod);
    let node = case.its_node();
    let manifest = remedy::fix(translate!(
        case,
        "It is a static pod: change its manifest on {node} (staticPodPath of the kubelet, most often /etc/kubernetes/manifests), and the kubelet starts it again. The Pod is only a mirror of that file.",
        "static Pod である: {node} の manifest (kubelet の staticPodPath、多くは /etc/kubernetes/manifests) を変更すれば kubelet が起動し直す。Pod はそのファイルの鏡像にすぎない。",
        node
    ));
    let second_manifest = ignored_manifest(case).map(|_| {
        remedy::fix(translate!(case, "Two manifests on {node} have this pod's name. The kubelet ignores one, and changes of that one have no effect. Keep one (a backup copy in the same folder counts too).", "{node} の二つの manifest がこの Pod の名前を持ち、kubelet は一方を無視する: 無視された方の変更は効果がない。一方だけ残す (同じフォルダの控えも数に入る)。", node))
    });
    let place = remedies.len().min(1);
    remedies.splice(place..place, std::iter::once(manifest).chain(second_manifest));
    remedies
}

/// The kubelet's Event that it ignores another static pod with this name. (The Event is about the other one, which the
/// API server never sees.)
pub(crate) fn ignored_manifest<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let is_duplicate = |event: &&EventFacts| text::has(&event.message, &["due to duplicate pod name"]);
    case.events_with("FailedValidation").rev().find(is_duplicate).filter(|_| case.pod.is_mirror())
}

/// The command that lists the pods of a node.
pub fn pods_on_node(node: &str) -> String {
    format!("kubectl get pods -A -o wide --field-selector spec.nodeName={node}")
}

/// Quotes `text` as one word of a POSIX shell.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
    }
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::{POD_OF_WEB, Scenario};

    /// The first remedy for a missing image, of a Deployment with this metadata.
    fn first_remedy(metadata: &str) -> String {
        let scenario = Scenario::from_yaml(&format!(
            r#"
kind: Deployment
apiVersion: apps/v1
metadata: {{name: web, namespace: shop, uid: d1, generation: 1, {metadata}}}
spec: {{replicas: 1}}
{POD_OF_WEB}status:
  phase: Pending
  containerStatuses: [{{name: app, state: {{waiting: {{reason: ErrImagePull, message: "manifest unknown"}}}}}}]
"#
        ));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        found.remedies.first().map(|remedy| remedy.text.clone()).unwrap_or_default()
    }

    #[test]
    fn patch_to_read_and_command_to_paste_are_the_same() {
        let scenario = Scenario::from_yaml(&format!("{POD_OF_WEB}status: {{phase: Pending}}\n"));
        let target = super::of(&scenario.case());
        for text in ["true", "null", "~", "0x1f", "1e3", "a: b", "- a", "it's", "#x", "", " ", "two\nlines", "{}"] {
            let fields = serde_json::json!({"nodeSelector": {text: text}});
            let remedy = target.with_pod_patch(crate::case::remedy::fix(""), fields.clone());
            let read: serde_json::Value = serde_saphyr::from_str(&remedy.patch.unwrap()).unwrap();
            assert_eq!(read, serde_json::json!({"spec": {"template": {"spec": fields}}}));
            let pasted = super::shell_word(&read.to_string()).into_owned();
            assert_eq!(remedy.command, Some(format!("kubectl -n shop patch deployment web -p {pasted}")));
        }
    }

    #[test]
    fn remedy_names_the_source_of_a_managed_object() {
        assert_eq!(first_remedy(""), "Set an image that exists.");
        let helm = r"labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: shop}";
        assert_eq!(
            first_remedy(helm),
            "Set an image that exists. Change the values of Helm release shop too: its next upgrade reverts this."
        );
        let argo_cd = r#"annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web"}"#;
        assert_eq!(
            first_remedy(argo_cd),
            "Set an image that exists. Change it in the source of Argo CD application shop: Argo CD reverts a direct change."
        );
        let owned =
            "ownerReferences: [{apiVersion: db.example/v1, kind: Database, name: main, uid: x, controller: true}]";
        assert_eq!(
            first_remedy(owned),
            "Set an image that exists. Change it in Database main, which owns this object: its controller may revert a direct change."
        );
    }
}
