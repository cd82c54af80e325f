//! Custom resources of any kind: metadata, conditions, and the fields that many kinds have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, GroupVersionKind};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::dynamic::HasMetadata;
use super::lenient::{Flag, Int, List, Name, Obj, Text, Time};
use super::meta::{self, WireCondition};
use super::{Interner, capture};
use crate::facts::{
    Condition, CustomKind, ObjectFacts, ObjectFields, OwnFacts, WorkloadFacts, WorkloadKey, WorkloadName,
    is_custom_group,
};
use crate::message::text;

/// Most conditions of an object that are read.
const CONDITIONS: usize = 64;
/// Longest text of a status, in bytes.
const LONGEST: usize = 4096;

/// A custom resource. Its kind and group are known only when the operator runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct CustomResource {
    api_version: Text,
    kind: Name,
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
    /// The plural name of the kind. The object itself does not contain it.
    #[serde(skip)]
    plural: String,
    /// The fields that rules read. `None`: none is read of its kind.
    #[serde(skip)]
    fields: Option<Box<ObjectFields>>,
}

impl<'de> Deserialize<'de> for CustomResource {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let Some(paths) = capture::paths() else { return Self::deserialize(d) };
        let (object, fields) = capture::read(&paths, d)?;
        let read = Self::deserialize(object).map_err(D::Error::custom)?;
        Ok(Self { fields: Some(fields), ..read })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    suspend: Flag,
    paused: Flag,
    /// KubeVirt, the former and the present field.
    running: Flag,
    run_strategy: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    conditions: List<WireCondition>,
    observed_generation: Int,
    phase: Text,
    state: Text,
    /// KubeVirt.
    #[serde(rename = "printableStatus")]
    printable: Text,
    reason: Text,
    message: Text,
    /// Cluster API.
    failure_reason: Text,
    failure_message: Text,
    /// Runs to an end: Tekton, Velero, Argo Workflows.
    completion_time: Time,
    completion_timestamp: Time,
    finished_at: Time,
    /// Argo CD.
    health: Obj<Health>,
    resources: List<ManagedResource>,
    sync: Obj<Sync>,
    operation_state: Obj<OperationState>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Health {
    status: Text,
    message: Text,
    last_transition_time: Time,
}

/// An object that an Application of Argo CD manages.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ManagedResource {
    kind: Text,
    name: Text,
    health: Obj<Health>,
}

/// The first managed object that is Degraded, with its message, the next one, and how many others there are.
fn degraded(resources: &List<ManagedResource>) -> String {
    let found = resources.0.iter().filter_map(|of| Some((of, of.health.0.as_ref()?)));
    let mut all = found.filter(|(of, health)| &*health.status == "Degraded" && !of.name.is_empty());
    let Some((first, health)) = all.next() else { return String::new() };
    let named = |of: &ManagedResource| format!("{} {}", &*of.kind, &*of.name);
    let why = if health.message.is_empty() { String::new() } else { format!(" ({})", &*health.message) };
    let next = all.next().map(|(next, _)| format!(", {}", named(next))).unwrap_or_default();
    let others = match all.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    text::beginning(&format!("{}{why}{next}{others}", named(first)), LONGEST).to_owned()
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Sync {
    status: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OperationState {
    phase: Text,
    message: Text,
    finished_at: Time,
    sync_result: Obj<SyncResult>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SyncResult {
    resources: List<SyncedResource>,
}

/// An object of a sync of Argo CD, or a hook, which is an object with a phase.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SyncedResource {
    kind: Text,
    name: Text,
    status: Text,
    hook_phase: Text,
    message: Text,
}

impl OperationState {
    /// The first object that could not be applied, or the first hook that failed, with its error. The message of a failed sync
    /// only counts them.
    fn failed_resource(&self) -> Option<Text> {
        let mut resources = self.sync_result.0.as_ref()?.resources.0.iter();
        let is_failed = |of: &&SyncedResource| {
            (&*of.status == "SyncFailed" || matches!(&*of.hook_phase, "Failed" | "Error")) && !of.message.is_empty()
        };
        let failed = resources.find(is_failed)?;
        Some(Text(format!("{} {}: {}", &*failed.kind, &*failed.name, &*failed.message)))
    }
}

impl HasMetadata for CustomResource {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Whether objects of this API version are custom resources. A kind does not suffice: Knative has a kind Service too.
pub(super) fn is_custom(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| is_custom_group(group))
}

impl CustomResource {
    /// The same object with the version and kind of its resource, which the entries of a list lack.
    #[must_use]
    pub fn of(mut self, resource: &ApiResource) -> Self {
        self.api_version = Text(resource.api_version.clone());
        self.kind = Name(resource.kind.clone());
        self.plural.clone_from(&resource.plural);
        self
    }

    /// The same object as one of this kind, if it can be: a manifest does not contain the plural of its kind.
    #[must_use]
    pub(super) fn named_by(self, kind: Option<&CustomKind>) -> Self {
        Self { plural: kind.map_or_else(String::new, |kind| kind.plural().to_owned()), ..self }
    }

    /// The key of its diagnosis.
    pub fn key(&self, strings: &mut Interner) -> WorkloadKey {
        // A cluster-scoped object has no namespace. Its diagnosis, which is namespaced, is in the namespace `default`, as
        // the Events of cluster-scoped objects are.
        let key = meta::key(&self.metadata, strings);
        let name = WorkloadName {
            api_version: strings.intern(&self.api_version),
            kind: strings.intern(&self.kind),
            namespace: key.namespace,
            name: key.name,
        };
        name.into()
    }

    /// `None` if it has no status, and no rule reads a field of it.
    pub fn into_facts(self, strings: &mut Interner) -> Option<WorkloadFacts> {
        let key = self.key(strings);
        let status = match self.status.0 {
            Some(status) => status,
            None if self.fields.is_some() => Status::default(),
            None => return None,
        };
        let plural = if self.plural.is_empty() { usual_plural(key.group(), &self.kind) } else { self.plural };
        let resource = strings.intern(&format!("{plural}.{}", key.group()));
        let metadata = &self.metadata;
        let generation = metadata.generation.unwrap_or(0);
        let of_conditions = status.conditions.0.iter().filter_map(WireCondition::observed_generation).max();
        let observed_generation = status.observed_generation.0.max(of_conditions);
        let is_current = |condition: &WireCondition| {
            let observed = condition.observed_generation().or(status.observed_generation.0);
            observed.is_none_or(|observed| observed >= generation)
        };
        let mut conditions: Vec<Condition> = Vec::new();
        // If no condition is current, the old ones still have the last result of the controller.
        let is_stale = observed_generation.is_some_and(|observed| observed < generation);
        for condition in status.conditions.0.iter().filter(|of| is_stale || is_current(of)).take(CONDITIONS) {
            let condition = shortened(condition.clone().into());
            if !condition.kind.is_empty() && conditions.iter().all(|known| known.kind != condition.kind) {
                conditions.push(condition);
            }
        }
        let spec = self.spec.or_default();
        let created = meta::created(metadata);
        let is_stopped = spec.running.0 == Some(false) || &*spec.run_strategy == "Halted";
        let health = status.health.or_default();
        let operation = status.operation_state.or_default();
        let phases = [status.phase, status.state, status.printable, health.status];
        let is_of_health = phases.iter().take(3).all(|phase| phase.is_empty());
        // The message of a failed sync is more exact than that of the health.
        let has_failed = matches!(&*operation.phase, "Failed" | "Error");
        let (of_operation, message) = if has_failed {
            let message = operation.failed_resource().unwrap_or(operation.message);
            (operation.finished_at.real(), message)
        } else {
            (None, health.message)
        };
        let own = ObjectFacts {
            phase: first(phases),
            phase_since: of_operation.or(health.last_transition_time.real().filter(|_| is_of_health)),
            reason: first([status.failure_reason, status.reason]),
            message: text::both_ends(&found([status.failure_message, status.message, message]), LONGEST).into_owned(),
            degraded: degraded(&status.resources).into(),
            sync: first([status.sync.or_default().status]),
            operation: first([operation.phase]),
            ended: [status.completion_time, status.completion_timestamp, status.finished_at]
                .into_iter()
                .find_map(Time::real),
            changed: conditions.iter().filter_map(|of| of.last_transition).max().max(created),
            resource,
            fields: self.fields,
        };
        Some(WorkloadFacts {
            key,
            uid: meta::uid(metadata),
            created,
            deleting: metadata.deletion_timestamp.is_some(),
            overrides: meta::overrides(metadata),
            carried: meta::carried(metadata),
            owner: meta::controller(metadata, strings),
            manager: meta::manager(metadata),
            generation,
            observed_generation,
            suspended: spec.suspend.is_true() || spec.paused.is_true() || is_stopped,
            conditions,
            own: OwnFacts::Object(Box::new(own)),
            ..WorkloadFacts::default()
        })
    }
}

/// The plural of most kinds with this name.
fn usual_plural(group: &str, kind: &str) -> String {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "", kind)).plural
}

/// Whether an object of a manifest is of this kind, by the usual plurals.
pub(super) fn is_named_by(kind: &CustomKind, api_version: &str, of: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let plural = kind.plural();
    group == kind.group() && (plural == usual_plural(group, of) || plural == of.to_ascii_lowercase())
}

fn first<const N: usize>(texts: [Text; N]) -> String {
    text::beginning(&found(texts), LONGEST).to_owned()
}

/// The first text that is not empty.
fn found<const N: usize>(texts: [Text; N]) -> Text {
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn shortened(condition: Condition) -> Condition {
    let short = |of: String| text::beginning(&of, LONGEST).to_owned();
    Condition {
        kind: short(condition.kind),
        status: short(condition.status),
        reason: short(condition.reason),
        message: text::both_ends(&condition.message, LONGEST).into_owned(),
        last_transition: condition.last_transition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Dump;

    fn read(text: &str) -> Vec<WorkloadFacts> {
        let mut dump = Dump::default();
        dump.read(text);
        assert_eq!(dump.problems, [], "{text}");
        dump.resources
    }

    #[test]
    fn kind_of_another_group_is_a_custom_resource() {
        let text = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nstatus: {phase: Ready}\n";
        let found = read(text);
        assert_eq!(found.len(), 1);
        assert_eq!(&*found[0].key.api_version, "serving.knative.dev/v1");
        assert_eq!(found[0].key.to_string(), "service.serving.knative.dev/web");
        for api_version in ["v1", "apps/v1", "snapshot.storage.k8s.io/v1", "shindan.dev/v1alpha1"] {
            assert!(read(&text.replace("serving.knative.dev/v1", api_version)).is_empty(), "{api_version}");
        }
    }

    #[test]
    fn object_without_status_is_not_read() {
        for status in ["", "status: null", "status: Ready", "status: []", "status: 3"] {
            let text = format!("apiVersion: a.io/v1\nkind: A\nmetadata: {{name: a}}\n{status}\n");
            assert!(read(&text).is_empty(), "{status}");
        }
    }

    #[test]
    fn unusual_values_are_no_errors() {
        for status in [
            "{conditions: {type: Ready}}",
            "{conditions: [Ready, 3, null, [], {type: Ready, status: false, lastTransitionTime: yesterday}]}",
            "{conditions: [{type: [Ready], status: {a: b}}], phase: [Failed], health: Healthy, sync: 3}",
            "{observedGeneration: abc, operationState: [], phase: {a: b}, message: [x]}",
            "{health: {status: {}, lastTransitionTime: 5}}",
        ] {
            let text = format!("apiVersion: a.io/v1\nkind: A\nmetadata: {{name: a}}\nspec: []\nstatus: {status}\n");
            assert_eq!(read(&text).len(), 1, "{status}");
        }
    }

    #[test]
    fn condition_of_an_older_generation_does_not_count() {
        let text = "apiVersion: a.io/v1\nkind: A\nmetadata: {name: a, generation: 3}\nstatus:\n  observedGeneration: 2\n  conditions:\n  - {type: Ready, status: \"False\", observedGeneration: 3}\n  - {type: Stalled, status: \"True\", observedGeneration: 2}\n";
        let found = read(text);
        assert!(found[0].condition("Ready").is_some() && found[0].condition("Stalled").is_none());
        assert!(!found[0].is_stale(), "the controller has seen generation 3");
    }
}
