//! The subject of a signal, and the interface through which signals use the catalogue, a module above them.

use std::cell::OnceCell;
use std::fmt;

use super::fields::{Path, Signal, Value};
use super::target::{self, Target};
use super::{Case, Specificity, Thresholds, WorkloadCase};
use crate::facts::{Container, Labels, NodeFacts, NodeState};
use crate::language::Language;

/// The subject of a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    Pod(&'a Case<'a>),
    Node { node: &'a NodeState, thresholds: &'a Thresholds },
    Workload(&'a WorkloadCase<'a>),
}

impl<'a> Subject<'a> {
    pub(crate) fn thresholds(&self) -> &'a Thresholds {
        match self {
            Self::Pod(case) => case.thresholds,
            Self::Node { thresholds, .. } => thresholds,
            Self::Workload(case) => case.thresholds,
        }
    }

    pub(crate) fn language(&self) -> Language {
        match self {
            Self::Pod(case) => case.language(),
            Self::Node { thresholds, .. } => thresholds.language,
            Self::Workload(case) => case.language(),
        }
    }

    pub(crate) fn pod(&self) -> Option<&'a Case<'a>> {
        match self {
            Self::Pod(case) => Some(case),
            Self::Node { .. } | Self::Workload(_) => None,
        }
    }

    pub(crate) fn workload(&self) -> Option<&'a WorkloadCase<'a>> {
        match self {
            Self::Workload(case) => Some(case),
            Self::Pod(_) | Self::Node { .. } => None,
        }
    }

    /// The subject's node, or the node that the pod is bound to, if known.
    pub(crate) fn node(&self) -> Option<&'a NodeFacts> {
        match self {
            Self::Pod(case) => case.node.map(|node| &node.facts),
            Self::Node { node, .. } => Some(&node.facts),
            Self::Workload(_) => None,
        }
    }

    /// Name of the subject's node, or of the node that the pod is bound to.
    pub(crate) fn node_name(&self) -> Option<&'a str> {
        match self {
            Self::Pod(case) => case.pod.node_name.as_deref(),
            Self::Node { node, .. } => Some(&node.facts.name),
            Self::Workload(_) => None,
        }
    }

    /// Kind, namespace and name, for messages: `Pod shop/web-0`, `Node n1`.
    pub(crate) fn display(&self) -> String {
        match self {
            Self::Pod(case) => format!("Pod {}", case.pod.key),
            Self::Workload(case) => {
                let key = &case.workload.key;
                format!("{} {}/{}", key.kind, key.namespace, key.name)
            }
            Self::Node { node, .. } => format!("Node {}", node.facts.name),
        }
    }

    /// Its namespace; empty for a node.
    pub(crate) fn namespace(&self) -> &'a str {
        match self {
            Self::Pod(case) => &case.pod.key.namespace,
            Self::Workload(case) => &case.workload.key.namespace,
            Self::Node { .. } => "",
        }
    }

    /// Its labels, or those of the pod template of a workload.
    pub(crate) fn labels(&self) -> Option<&'a Labels> {
        match self {
            Self::Pod(case) => Some(&case.pod.labels),
            Self::Workload(case) => case.workload.template.as_ref().map(|template| &template.labels),
            Self::Node { node, .. } => Some(&node.facts.labels),
        }
    }

    /// The object that remedies change. Nodes have none.
    pub(crate) fn target(&self) -> Option<Target> {
        match self {
            Self::Pod(case) => Some(target::of(case)),
            Self::Workload(case) => Some(target::of_workload(case)),
            Self::Node { .. } => None,
        }
    }
}

/// The fields of one occurrence of a signal, and the context fields.
pub(crate) struct Context<'s> {
    pub(crate) subject: Subject<'s>,
    /// The container of the signal.
    pub(crate) container: Option<&'s Container>,
    pub(crate) signal: &'s dyn Signal,
    /// The fields of the signal, as far as they were read: many causes ask for the same ones, and some parse a message.
    read: Box<[OnceCell<Value>]>,
}

impl<'s> Context<'s> {
    pub(crate) fn new(subject: Subject<'s>, container: Option<&'s Container>, signal: &'s dyn Signal) -> Self {
        Self { subject, container, signal, read: vec![OnceCell::new(); signal.definition().fields.len()].into() }
    }

    /// The value of a field of the signal; `None` if it has no such field.
    pub(crate) fn of_signal(&self, path: &Path) -> Option<&Value> {
        let definition = self.signal.definition();
        let place = path.place_in(definition.name)?;
        let name = definition.fields.get(place)?.name;
        Some(self.read.get(place)?.get_or_init(|| self.signal.field(name).unwrap_or(Value::None)))
    }
}

/// A cause that matches an occurrence of a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matched {
    pub(crate) name: &'static str,
    /// Position among the causes of the signal, in evaluation order.
    pub(crate) place: usize,
    pub(crate) precedence: Specificity,
    /// How long the failure must last before it counts, in seconds.
    pub(crate) threshold: i64,
    /// Whether the cause has a threshold at all; that of this occurrence may be 0.
    pub(crate) has_threshold: bool,
}

/// What signals ask of the catalogue, which matches their fields: which of several messages explains most, and what
/// else is wrong.
pub(crate) trait Catalogue: fmt::Debug + Sync {
    /// The first cause that matches an occurrence.
    fn first(&self, context: &Context<'_>) -> Option<Matched>;

    /// The first cause of a signal that lists this reason.
    fn of_reason(&self, signal: &str, reason: &str) -> Option<&'static str>;

    /// The first cause that lists this reason, and its summary for an occurrence.
    fn with_summary(&self, reason: &str, context: &Context<'_>) -> Option<(&'static str, String)>;
}
