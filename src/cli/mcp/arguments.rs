//! Arguments of the tools.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shindan_core::api::Severity;
use shindan_core::case::Category;
use shindan_core::rules;

use super::error::Wrong;
use super::overview::Filter;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFailures {
    /// Only this namespace. Default: all, and the nodes.
    namespace: Option<String>,
    /// Only this severity: Critical, Warning or Info.
    severity: Option<String>,
    /// Only this category: Image, Start, Crash, Probe, Scheduling, Volume, Sandbox, Node, Lifecycle or Network.
    category: Option<String>,
    /// Only this cause, such as OOMKilled.
    cause: Option<String>,
    /// Only objects of this kind, and their pods: pod, node, deployment, job, service, certificates.cert-manager.io.
    kind: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainFailure {
    /// KIND/NAME, such as deployment/web, pod/web-1 or node/n1.
    pub(super) object: String,
    /// The namespace of the object. Default: that of the kubeconfig's context.
    pub(super) namespace: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainCause {
    /// The cause, such as OOMKilled.
    pub(super) cause: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiagnoseDump {
    /// Path of a file with Kubernetes objects in YAML or JSON, as kubectl get all,nodes,events -A -o yaml writes it. Either path
    /// or text.
    pub(super) path: Option<String>,
    /// The objects themselves, at most 16 MiB.
    pub(super) text: Option<String>,
    /// Only this namespace.
    pub(super) namespace: Option<String>,
    /// Explain this object instead of a list: KIND/NAME.
    pub(super) object: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckFix {
    /// KIND/NAME of the object that fails, such as deployment/web.
    pub(super) object: String,
    /// The namespace of the object. Default: that of the kubeconfig's context.
    pub(super) namespace: Option<String>,
    /// Values for placeholders of commands, such as {"NEW-TAG": "1.27.1"} for <NEW-TAG>.
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
}

/// Reads arguments. Arguments that are null or empty count as not given, because agents fill in all of them.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, Wrong> {
    let mut arguments = arguments.unwrap_or_default();
    arguments.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    serde_json::from_value(Value::Object(arguments)).map_err(|error| Wrong(error.to_string()))
}

impl ListFailures {
    pub(super) fn filter(&self) -> Result<Filter, Wrong> {
        let severities = [Severity::Critical, Severity::Warning, Severity::Info];
        let severity = self.severity.as_ref().map(|name| one_of("severity", name, &severities, |of| of.as_str()));
        let category = self.category.as_ref().map(|name| one_of("category", name, &Category::ALL, |of| of.as_str()));
        Ok(Filter {
            severity: severity.transpose()?,
            category: category.transpose()?,
            cause: self.cause.as_deref().map(cause).transpose()?,
        })
    }

    pub(super) fn namespace(&self) -> Result<Option<String>, Wrong> {
        namespace(self.namespace.as_deref())
    }

    pub(super) fn kind(&self) -> Result<Option<&str>, Wrong> {
        let Some(kind) = self.kind.as_deref() else { return Ok(None) };
        if kind.contains('/') {
            return Err(Wrong(format!("kind: {kind:?} names an object; explain_failure explains one")));
        }
        is_name(kind).then_some(Some(kind)).ok_or_else(|| Wrong(format!("kind: {kind:?} is not the name of a kind")))
    }
}

fn one_of<T: Copy>(what: &str, name: &str, all: &[T], words: impl Fn(&T) -> &'static str) -> Result<T, Wrong> {
    let found = all.iter().find(|of| words(of).eq_ignore_ascii_case(name));
    let known = || all.iter().map(&words).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| Wrong(format!("{what}: there is no {name:?}; the values are {}", known())))
}

/// The cause with its right name. One with a prefix may be that of a rule in the cluster.
fn cause(name: &str) -> Result<String, Wrong> {
    match rules::named(name) {
        Some(known) => Ok(known.cause.to_owned()),
        None if name.contains('/') => Ok(name.to_owned()),
        None => Err(Wrong(rules::unknown(name))),
    }
}

pub(super) fn namespace(name: Option<&str>) -> Result<Option<String>, Wrong> {
    match name {
        Some(name) if !is_name(name) => Err(Wrong(format!("namespace: no namespace can have the name {name:?}"))),
        name => Ok(name.map(ToOwned::to_owned)),
    }
}

/// An object as `KIND/NAME`, with one space instead of the slash too.
pub(super) fn object(words: &str) -> Result<String, Wrong> {
    let parts = words.trim().split_once(['/', ' ']);
    match parts {
        Some((kind, name)) if is_name(kind) && is_name(name) => Ok(format!("{kind}/{name}")),
        _ => Err(Wrong(format!("object: {words:?} is not KIND/NAME, such as deployment/web"))),
    }
}

/// Whether an object of Kubernetes can have this name. It becomes part of the path of a request.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b))
        && !name.starts_with('.')
}
