//! Context fields shared by all signals: the pod, the container, the workload and the node.

use std::borrow::Cow;

use super::termination::end;
use super::{Context, Definition, Field, FieldType, Value, mounted, restarts};
use crate::api::ContainerType;
use crate::case::fields::{Fields, Path, RESOURCE};
use crate::case::injected;
use crate::facts::{Container, PodFacts, format_bytes};
use crate::message::text;

const fn field(name: &'static str, kind: FieldType, doc: &'static str) -> Field {
    Field { name, doc, kind }
}

/// The context fields shared by all signals. Fields that do not apply are empty.
pub const CONTEXT: &[&Definition] = &[
    &Definition {
        name: "pod",
        doc: "The pod.",
        fields: &[
            field("name", FieldType::Text, "Its name. Source: metadata.name."),
            field("namespace", FieldType::Text, "Its namespace, or that of the workload. Source: metadata.namespace."),
            field("node", FieldType::Text, "Its node; empty if it has none. Source: spec.nodeName."),
            field("serviceAccount", FieldType::Text, "Its service account. Source: spec.serviceAccountName."),
            field("isBare", FieldType::Flag, "Whether it has no controller. Source: metadata.ownerReferences."),
            field("ofJob", FieldType::Flag, "Whether its controller is a Job. Source: metadata.ownerReferences."),
            field(
                "memoryLimit",
                FieldType::Text,
                "The memory limit that all its containers share, as a quantity; empty if it has none. Source: spec.resources.limits.memory.",
            ),
            field("hostNetwork", FieldType::Flag, "Whether it uses the network of its node. Source: spec.hostNetwork."),
        ],
    },
    &Definition {
        name: "container",
        doc: "The container that the signal is about; empty if it is about the pod as a whole.",
        fields: &[
            field("name", FieldType::Text, "Its name. Source: spec.containers[].name."),
            field(
                "display",
                FieldType::Text,
                "Its name, with its type if it is not a main container: `init container setup`, `sidecar proxy`.",
            ),
            field(
                "init",
                FieldType::Text,
                "The same if it is an init container or a sidecar; empty for a main container.",
            ),
            field(
                "restarts",
                FieldType::Text,
                "Its restarts and present back-off: `7 restarts, back-off 5m`; empty for a first run. Source: restartCount, state.waiting.message.",
            ),
            field(
                "rhythm",
                FieldType::Text,
                "When the runs that terminate like the last one end: `9 s after each start`; empty if no run time is known. Source: state, lastState, earlier runs.",
            ),
            field("image", FieldType::Text, "Its image reference. Source: spec.containers[].image."),
            field(
                "injector",
                FieldType::Text,
                "The product whose webhook added it, such as `Istio`; empty if the template of the workload has it. Source: spec.containers[].name.",
            ),
            field("injectorPods", FieldType::Text, "Label selector of the pods of that product that it connects to."),
            field(
                "injectorAgent",
                FieldType::Text,
                "DaemonSet of that product that redirects the traffic of pods; empty if it has none.",
            ),
            field("injectorAgentPods", FieldType::Text, "Label selector of the pods of that DaemonSet."),
            field("isInit", FieldType::Flag, "Whether it is an init container. Source: spec.initContainers."),
            field("command", FieldType::Text, "First word of its command. Source: spec.containers[].command."),
            field(
                "commandLine",
                FieldType::Text,
                "Its command and arguments on one line, at most 60 characters, secrets masked; empty if those of the image run. Source: spec.containers[].command, args.",
            ),
            field(
                "configuration",
                FieldType::Text,
                "ConfigMaps and Secrets that it takes variables or files from, at most three: `ConfigMap app, Secret db`; empty if it has none. Source: env, envFrom, volumeMounts.",
            ),
            field(
                "gpus",
                FieldType::Text,
                "GPUs that it requests: `nvidia.com/gpu: 1`; empty if it requests none. Source: resources.",
            ),
            field("memoryLimit", FieldType::Text, "Its memory limit, as a quantity. Source: resources.limits.memory."),
            field("hasMemoryLimit", FieldType::Flag, "Whether it has a memory limit. Source: resources.limits.memory."),
        ],
    },
    &Definition {
        name: "workload",
        doc: "The workload that the signal is about, else the object that holds the template of the pod: its top controller, or the pod itself.",
        fields: &[
            field("display", FieldType::Text, "Kind and name, such as `Deployment web`."),
            field("kind", FieldType::Text, "Its kind."),
            field("name", FieldType::Text, "Its name."),
            field("argument", FieldType::Text, "As an argument of kubectl: `deployment/web`."),
        ],
    },
    &Definition {
        name: "node",
        doc: "The node that the signal is about, else that of the pod. Empty if it is not known.",
        fields: &[
            field("name", FieldType::Text, "Its name. Source: metadata.name."),
            field(
                "runtime",
                FieldType::Text,
                "Its container runtime. Source: status.nodeInfo.containerRuntimeVersion.",
            ),
            field(
                "runtimeUnit",
                FieldType::Text,
                "The systemd unit of its container runtime: `containerd`, `crio` or `docker`. Source: status.nodeInfo.containerRuntimeVersion.",
            ),
            field("os", FieldType::Text, "Its operating system. Source: label kubernetes.io/os."),
            field("arch", FieldType::Text, "Its CPU architecture. Source: label kubernetes.io/arch."),
            field("isKnown", FieldType::Flag, "Whether its Node object is known."),
        ],
    },
];

impl Fields for Context<'_> {
    fn value(&self, path: &Path) -> Cow<'_, Value> {
        if let Some(value) = self.of_signal(path) {
            return Cow::Borrowed(value);
        }
        let (of, name) = path.as_str().split_once('.').unwrap_or((path.as_str(), ""));
        let value = match of {
            "pod" => self.of_pod(name),
            "container" => self.of_container(name),
            "workload" => self.of_workload(name),
            "node" => self.of_node(name),
            RESOURCE => self.of_resource(name),
            _ => None,
        };
        Cow::Owned(value.unwrap_or(Value::None))
    }

    fn object(&self) -> String {
        self.subject.display()
    }
}

fn command_line(container: &Container) -> String {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    text::line(&words.join(" "), 60)
}

fn gpus(container: &Container) -> String {
    let is_gpu = |name: &str| name.ends_with("/gpu") || name.starts_with("nvidia.com/mig-") || name.starts_with("gpu.");
    let requested =
        container.limits.extended.iter().chain(&container.requests.extended).filter(|(name, _)| is_gpu(name));
    requested.map(|(name, count)| format!("{name}: {count}")).next().unwrap_or_default()
}

impl Context<'_> {
    fn of_pod(&self, name: &str) -> Option<Value> {
        let pod = self.subject.pod().map(|case| case.pod);
        Some(match name {
            "name" => pod.map(|pod| &*pod.key.name).into(),
            "namespace" => match self.subject.workload() {
                Some(case) => (&*case.workload.key.namespace).into(),
                None => pod.map(|pod| &*pod.key.namespace).into(),
            },
            "node" => pod.and_then(|pod| pod.node_name.as_deref()).unwrap_or_default().into(),
            "serviceAccount" => pod.map(|pod| &*pod.service_account).into(),
            "isBare" => pod.is_some_and(|pod| pod.owner.is_none()).into(),
            "ofJob" => pod.is_some_and(PodFacts::is_of_job).into(),
            "memoryLimit" => pod.and_then(|pod| pod.pod_memory_limit.map(format_bytes)).into(),
            "hostNetwork" => pod.is_some_and(|pod| pod.host_network).into(),
            _ => return None,
        })
    }

    fn of_container(&self, name: &str) -> Option<Value> {
        let of = self.container;
        let injector = || of.zip(self.subject.pod()).and_then(|(container, case)| injected::injector(case, container));
        Some(match name {
            "name" => of.map_or("", |c| &c.name).into(),
            "display" => of.map(end::display_name).into(),
            "init" => {
                let is_init = |c: &&Container| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar);
                of.filter(is_init).map(end::display_name).into()
            }
            "restarts" => of.zip(self.subject.pod()).map(|(c, case)| restarts::so_far(case, c)).into(),
            "rhythm" => of.zip(self.subject.pod()).and_then(|(c, case)| restarts::rhythm(case, c)).into(),
            "image" => of.map(|c| &*c.image).into(),
            "injector" => injector().map_or("", |injector| injector.name).into(),
            "injectorPods" => injector().map_or("", |injector| injector.control_plane).into(),
            "injectorAgent" => injector().map_or("", |injector| injector.agent).into(),
            "injectorAgentPods" => injector().map_or("", |injector| injector.agent_selector).into(),
            "isInit" => of.is_some_and(|c| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar)).into(),
            "command" => of.and_then(|c| c.command.first().map(String::as_str)).into(),
            "commandLine" => of.map(command_line).into(),
            "configuration" => of.zip(self.subject.pod()).map(|(c, case)| mounted::configuration(case, c)).into(),
            "gpus" => of.map(gpus).into(),
            "memoryLimit" => of.and_then(|c| c.limits.memory.map(format_bytes)).into(),
            "hasMemoryLimit" => of.is_some_and(|c| c.limits.memory.is_some()).into(),
            _ => return None,
        })
    }

    fn of_workload(&self, name: &str) -> Option<Value> {
        let target = self.subject.target();
        Some(match name {
            "" | "display" => target.map(|target| target.display()).into(),
            "kind" => target.map(|target| target.kind.to_string()).into(),
            "name" => target.map(|target| target.name.to_string()).into(),
            "argument" => target.map(|target| target.argument()).into(),
            _ => return None,
        })
    }

    /// A field of the custom resource that the signal is about.
    fn of_resource(&self, path: &str) -> Option<Value> {
        let object = self.signal.object()?;
        object.fields.as_ref()?.get(path).map(Value::from)
    }

    fn of_node(&self, name: &str) -> Option<Value> {
        let node = self.subject.node();
        let label = |key: &str| node.and_then(|node| node.labels.get(key)).map(ToString::to_string);
        Some(match name {
            "name" => self.subject.node_name().into(),
            "runtime" => node.map(|node| node.runtime.clone()).into(),
            "runtimeUnit" => node.map(|node| runtime_unit(&node.runtime)).into(),
            "os" => label("kubernetes.io/os").into(),
            "arch" => label("kubernetes.io/arch").into(),
            "isKnown" => node.is_some().into(),
            _ => return None,
        })
    }
}

/// The systemd unit of a container runtime such as `containerd://1.7`.
fn runtime_unit(runtime: &str) -> &'static str {
    match runtime.split_once("://").map(|(name, _)| name) {
        Some("cri-o") => "crio",
        Some("docker") => "docker",
        _ => "containerd",
    }
}
