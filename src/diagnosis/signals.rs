//! What the cluster's data says, computed once and typed: the catalogue decides on the fields of signals and fills them into
//! its texts.

pub(crate) mod admission;
pub(crate) mod claim;
pub(crate) mod container_creation;
pub(crate) mod container_start;
mod context;
pub(crate) mod cron_job;
pub(crate) mod deletion;
pub(crate) mod disruption;
pub(crate) mod eviction;
pub(crate) mod image_pull;
pub(crate) mod init_container;
pub(crate) mod job;
pub(crate) mod lasting;
pub(crate) mod missing_node;
pub(crate) mod node_condition;
pub(crate) mod node_event;
pub(crate) mod node_ready;
pub(crate) mod pod_creation;
pub(crate) mod pod_end;
pub(crate) mod pod_failure;
mod post_start;
pub(crate) mod probe;
pub(crate) mod program_error;
pub(crate) mod readiness_gate;
mod replacement;
pub(crate) mod resize;
pub(crate) mod rollout;
pub(crate) mod sandbox;
pub(crate) mod scheduling;
mod seen;
pub(crate) mod service;
mod shortage;
pub(crate) mod sidecar;
pub(crate) mod slow_restarts;
pub(crate) mod termination;
pub(crate) mod unknown;
pub(crate) mod volume;
mod waits_for;

use std::fmt;

pub use self::context::CONTEXT;
pub(crate) use self::context::{Context, Subject};
pub(crate) use self::seen::Seen;
use super::catalog::Cause;
use super::{Case, Finding, Verdict};
use crate::api::{ContainerType, Evidence};
use crate::facts::{Container, Timestamp};

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// It is not known.
    None,
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Vec<String>> for Value {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// The type of a field, as the pages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    Text,
    Number,
    Flag,
    List,
}

impl FieldType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "int",
            Self::Flag => "bool",
            Self::List => "list of strings",
        }
    }
}

/// A Rust type that a field may have.
pub(crate) trait Typed {
    const TYPE: FieldType;
}

macro_rules! typed {
    ($($rust:ty => $field:ident),* $(,)?) => {
        $(impl Typed for $rust { const TYPE: FieldType = FieldType::$field; })*
    };
}

typed!(String => Text, &str => Text, i64 => Number, i32 => Number, u32 => Number, bool => Flag, Vec<String> => List);

impl<T: Typed> Typed for Option<T> {
    const TYPE: FieldType = T::TYPE;
}

/// A field of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    /// Meaning, unit and source.
    pub doc: &'static str,
    pub kind: FieldType,
}

/// What a signal has to offer.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
}

impl Definition {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One occurrence of a signal.
pub(crate) trait Signal {
    fn definition(&self) -> &'static Definition;

    /// The value of a field of the definition; `None` where it has no such field.
    fn field(&self, name: &str) -> Option<Value>;

    /// Reason of the state or Event that carries the message; empty where the signal has none.
    fn reason(&self) -> &str;

    /// The message that the words of a cause are compared with; empty where the signal has none.
    fn message(&self) -> &str;
}

/// An occurrence of a signal in a pod, and how it becomes a finding.
pub(crate) trait PodSignal<'a>: Signal {
    /// The container that the signal is about; `None` where it is about the pod as a whole.
    fn container(&self) -> Option<&'a Container> {
        None
    }

    /// Whether a cause counts already; else the moment to look again. Only signals whose causes have a threshold answer this.
    fn due(&self, _cause: &Cause) -> Result<(), Timestamp> {
        Ok(())
    }

    /// Whether all is known that may still explain the occurrence otherwise; else the moment to look again, whichever cause
    /// matches, and where none does.
    fn settled(&self) -> Result<(), Timestamp> {
        Ok(())
    }

    /// What supports or contradicts a finding of this cause.
    fn evidence(&self, _cause: &Cause) -> Vec<Evidence> {
        Vec::new()
    }

    /// Completes a finding with what no cause file says, such as a past run that it is attributed to.
    fn complete(&self, _cause: &Cause, finding: Finding) -> Verdict {
        Verdict::Yes(Box::new(finding))
    }

    /// The verdict on a cause that matches: a finding, or the moment to look again.
    fn verdict(&self, context: &Context<'_>, cause: &'static Cause) -> Verdict {
        match self.due(cause) {
            Ok(()) => self.complete(cause, cause.finding(context).with_all(self.evidence(cause))),
            Err(at) => Verdict::NotBefore(at),
        }
    }
}

/// Reads a signal of pods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) definition: &'static Definition,
    /// All occurrences of the signal in a pod. Each gets at most one cause.
    pub(crate) read: for<'a> fn(&'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>>,
}

/// Reads a signal of each container but the ephemeral ones: the failure of a debug container is not the pod's.
pub(crate) fn of_containers<'a, S: PodSignal<'a> + 'a>(
    case: &'a Case<'a>,
    read: impl Fn(&'a Container) -> Option<S>,
) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let containers = case.pod.containers.iter().filter(|container| container.kind != ContainerType::Ephemeral);
    containers.filter_map(|container| Some(Box::new(read(container)?) as Box<dyn PodSignal<'a> + 'a>)).collect()
}

/// Declares a signal: its data, and its fields, which are computed when they are asked for.
///
/// Each field has a doc comment with its meaning, unit and source; docs/signals.md is made of them.
macro_rules! signal {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident<$life:lifetime> as $as:literal { $($member:ident: $type:ty),* $(,)? }
        reason: |$of:ident| $reason:expr, message: $message:expr;
        $(
            $(#[doc = $field_doc:literal])*
            $field:literal: fn $method:ident(&$self:ident) -> $returns:ty $body:block
        )*
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        $vis struct $name<$life> { $($vis $member: $type),* }

        impl<$life> $name<$life> {
            pub(crate) const DEFINITION: $crate::diagnosis::signals::Definition = $crate::diagnosis::signals::Definition {
                name: $as,
                doc: concat!($($doc, "\n"),*),
                fields: &[$(
                    $crate::diagnosis::signals::Field {
                        name: $field,
                        doc: concat!($($field_doc, "\n"),*),
                        kind: <$returns as $crate::diagnosis::signals::Typed>::TYPE,
                    },
                )*],
            };

            $(
                $(#[doc = $field_doc])*
                #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "a field has the type that the catalogue sees")]
                pub(crate) fn $method(&$self) -> $returns $body
            )*
        }

        impl $crate::diagnosis::signals::Signal for $name<'_> {
            fn definition(&self) -> &'static $crate::diagnosis::signals::Definition {
                const DEFINITION: &$crate::diagnosis::signals::Definition = &$name::DEFINITION;
                DEFINITION
            }

            fn field(&self, name: &str) -> Option<$crate::diagnosis::signals::Value> {
                match name {
                    $($field => Some(self.$method().into()),)*
                    _ => None,
                }
            }

            fn reason(&self) -> &str {
                let $of = self;
                $reason
            }

            fn message(&self) -> &str {
                let $of = self;
                let _ = $of;
                $message
            }
        }
    };
}

pub(crate) use signal;

/// All signals.
pub const ALL: &[&Definition] = &[
    &admission::Admission::DEFINITION,
    &claim::Claim::DEFINITION,
    &container_creation::ContainerCreation::DEFINITION,
    &container_start::ContainerStart::DEFINITION,
    &cron_job::CronJob::DEFINITION,
    &deletion::Deletion::DEFINITION,
    &disruption::Disruption::DEFINITION,
    &eviction::Eviction::DEFINITION,
    &image_pull::ImagePull::DEFINITION,
    &init_container::InitContainer::DEFINITION,
    &job::FailedJob::DEFINITION,
    &missing_node::MissingNode::DEFINITION,
    &node_condition::NodeCondition::DEFINITION,
    &node_event::NodeEvent::DEFINITION,
    &node_ready::NodeReady::DEFINITION,
    &pod_creation::PodCreation::DEFINITION,
    &pod_end::PodEnd::DEFINITION,
    &pod_failure::PodFailure::DEFINITION,
    &probe::ProbeFailure::DEFINITION,
    &program_error::ProgramError::DEFINITION,
    &readiness_gate::ReadinessGate::DEFINITION,
    &resize::Resize::DEFINITION,
    &rollout::Rollout::DEFINITION,
    &sandbox::Sandbox::DEFINITION,
    &scheduling::Scheduling::DEFINITION,
    &service::MismatchedService::DEFINITION,
    &sidecar::Sidecar::DEFINITION,
    &slow_restarts::SlowRestarts::DEFINITION,
    &termination::Termination::DEFINITION,
    &unknown::Unknown::DEFINITION,
    &volume::Volume::DEFINITION,
];
