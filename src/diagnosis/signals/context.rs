//! What stands beside each signal of a pod: the pod, the container that the signal is about, and the workload.

use super::{Definition, Field, FieldType, Signal, Value};
use crate::api::ContainerType;
use crate::diagnosis::catalog::Fields;
use crate::diagnosis::{Case, target};
use crate::facts::{Container, format_bytes};

const fn field(name: &'static str, kind: FieldType, doc: &'static str) -> Field {
    Field { name, doc, kind }
}

/// The fields beside those of each signal of a pod.
pub(crate) const POD_CONTEXT: &[&Definition] = &[
    &Definition {
        name: "pod",
        doc: "The pod.",
        fields: &[
            field("name", FieldType::Text, "Its name. Source: metadata.name."),
            field("namespace", FieldType::Text, "Its namespace. Source: metadata.namespace."),
            field("node", FieldType::Text, "Its node; empty where it has none. Source: spec.nodeName."),
            field("serviceAccount", FieldType::Text, "Its service account. Source: spec.serviceAccountName."),
            field("isBare", FieldType::Flag, "No controller made it. Source: metadata.ownerReferences."),
            field("ofJob", FieldType::Flag, "A Job made it. Source: metadata.ownerReferences."),
        ],
    },
    &Definition {
        name: "container",
        doc: "The container that the signal is about; empty where it is about the pod as a whole.",
        fields: &[
            field("name", FieldType::Text, "Its name. Source: spec.containers[].name."),
            field("image", FieldType::Text, "Its image reference. Source: spec.containers[].image."),
            field("isInit", FieldType::Flag, "It runs before the others. Source: spec.initContainers."),
            field("command", FieldType::Text, "First word of its command. Source: spec.containers[].command."),
            field("memoryLimit", FieldType::Text, "Its memory limit, as a quantity. Source: resources.limits.memory."),
        ],
    },
    &Definition {
        name: "workload",
        doc: "The object that holds the template of the pod: its top controller, else the pod itself.",
        fields: &[
            field("display", FieldType::Text, "Kind and name, such as `Deployment web`."),
            field("kind", FieldType::Text, "Its kind."),
            field("name", FieldType::Text, "Its name."),
            field("argument", FieldType::Text, "As kubectl takes it: `deployment/web`."),
        ],
    },
];

/// The fields of a signal of a pod, and those beside it.
pub(crate) struct OfPod<'s, 'a> {
    pub(crate) case: &'s Case<'a>,
    pub(crate) container: Option<&'s Container>,
    pub(crate) signal: &'s dyn Signal,
}

impl Fields for OfPod<'_, '_> {
    fn get(&self, path: &str) -> Option<Value> {
        let (of, name) = path.split_once('.').unwrap_or((path, ""));
        match of {
            "pod" => self.of_pod(name),
            "container" => self.of_container(name),
            "workload" => self.of_workload(name),
            _ if of == self.signal.definition().name => self.signal.field(name),
            _ => None,
        }
    }
}

impl OfPod<'_, '_> {
    fn of_pod(&self, name: &str) -> Option<Value> {
        let pod = self.case.pod;
        Some(match name {
            "name" => (&*pod.key.name).into(),
            "namespace" => (&*pod.key.namespace).into(),
            "node" => pod.node_name.as_deref().into(),
            "serviceAccount" => (&*pod.service_account).into(),
            "isBare" => pod.owner.is_none().into(),
            "ofJob" => pod.is_of_job().into(),
            _ => return None,
        })
    }

    fn of_container(&self, name: &str) -> Option<Value> {
        let of = self.container;
        Some(match name {
            "name" => of.map(|c| &*c.name).into(),
            "image" => of.map(|c| &*c.image).into(),
            "isInit" => of.is_some_and(|c| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar)).into(),
            "command" => of.and_then(|c| c.command.first().map(String::as_str)).into(),
            "memoryLimit" => of.and_then(|c| c.limits.memory.map(format_bytes)).into(),
            _ => return None,
        })
    }

    fn of_workload(&self, name: &str) -> Option<Value> {
        let target = target::of(self.case);
        Some(match name {
            "" | "display" => target.display().into(),
            "kind" => (&*target.kind).into(),
            "name" => (&*target.name).into(),
            "argument" => target.argument().into(),
            _ => return None,
        })
    }
}
