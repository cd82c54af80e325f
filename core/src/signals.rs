//! Signals: typed values derived once from the data of the cluster. The catalogue matches their fields and inserts them
//! into its texts.

pub(crate) mod admission;
pub(crate) mod autoscaler;
pub(crate) mod claim;
pub(crate) mod container_creation;
pub(crate) mod container_start;
mod context;
pub(crate) mod cron_job;
mod csi;
mod deferred;
pub(crate) mod deletion;
pub(crate) mod device;
pub(crate) mod disruption;
pub(crate) mod disruption_budget;
pub(crate) mod eviction;
mod gpu;
pub(crate) mod image_pull;
pub(crate) mod init_container;
pub(crate) mod job;
pub(crate) mod lasting;
pub(crate) mod missing_node;
mod mounted;
pub(crate) mod node_condition;
pub(crate) mod node_event;
pub(crate) mod node_lifecycle;
pub(crate) mod node_ready;
pub(crate) mod object;
pub(crate) mod pod_creation;
pub(crate) mod pod_end;
pub(crate) mod pod_failure;
mod post_start;
pub(crate) mod probe;
pub(crate) mod program_error;
pub(crate) mod readiness_gate;
mod replacement;
pub(crate) mod resize;
pub mod restarts;
pub(crate) mod rollout;
pub(crate) mod route;
pub(crate) mod sandbox;
pub(crate) mod scheduling;
mod seen;
pub(crate) mod service;
mod shortage;
pub(crate) mod sidecar;
pub(crate) mod slow_restarts;
pub(crate) mod termination;
pub(crate) mod unknown;
pub(crate) mod unused_claim;
pub(crate) mod volume;
mod waits_for;
pub(crate) mod warning;

pub use self::context::CONTEXT;
pub(crate) use self::seen::Seen;
use crate::api::{ContainerType, Evidence};
pub(crate) use crate::case::fields::Signal;
pub use crate::case::fields::{Definition, Field, FieldType, Value};
use crate::case::{Case, Finding, Verdict};
pub(crate) use crate::case::{Catalogue, Context, Matched, Subject};
use crate::facts::{Container, Timestamp};

/// A Rust type that a field can return.
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

/// An occurrence of a signal in a pod, and its conversion into a finding.
pub(crate) trait PodSignal<'a>: Signal {
    /// The container of the signal; `None` if it is about the pod as a whole.
    fn container(&self) -> Option<&'a Container> {
        None
    }

    /// Checks whether the threshold of a cause is reached; `Err` holds the time of the next check.
    fn due(&self, _cause: &Matched) -> Result<(), Timestamp> {
        Ok(())
    }

    /// Checks whether all data that may explain the occurrence has arrived, whether or not a cause matches; `Err` holds
    /// the time of the next check.
    fn settled(&self) -> Result<(), Timestamp> {
        Ok(())
    }

    /// Evidence that supports or contradicts a finding with this cause.
    fn evidence(&self, _cause: &Matched) -> Vec<Evidence> {
        Vec::new()
    }

    /// Completes a finding with details that cause files cannot express, such as the previous run that caused it.
    fn complete(&self, _cause: &Matched, finding: Finding) -> Verdict {
        Verdict::Yes(Box::new(finding))
    }
}

/// Reader of a signal of pods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) definition: &'static Definition,
    /// Reads all occurrences of the signal in a pod. Each has at most one cause.
    pub(crate) read: for<'a> fn(&'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>>,
}

/// Reads a signal of each container except ephemeral ones: a failed debug container is no failure of the pod.
pub(crate) fn of_containers<'a, S: PodSignal<'a> + 'a>(
    case: &'a Case<'a>,
    read: impl Fn(&'a Container) -> Option<S>,
) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let containers = case.pod.containers.iter().filter(|container| container.kind != ContainerType::Ephemeral);
    containers.filter_map(|container| Some(Box::new(read(container)?) as Box<dyn PodSignal<'a> + 'a>)).collect()
}

/// Declares a signal: its data, and its fields, which are computed on access.
///
/// Each field has a doc comment with its meaning, unit and source. docs/signals.md is generated from them.
macro_rules! signal {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident<$life:lifetime> as $as:literal { $($member:ident: $type:ty),* $(,)? }
        reason: |$of:ident| $reason:expr, message: $message:expr $(, object: $object:expr)?;
        $(
            $(#[doc = $field_doc:literal])*
            $field:literal: fn $method:ident(&$self:ident) -> $returns:ty $body:block
        )*
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        $vis struct $name<$life> { $($vis $member: $type),* }

        impl<$life> $name<$life> {
            pub(crate) const DEFINITION: $crate::signals::Definition = $crate::signals::Definition {
                name: $as,
                doc: concat!($($doc, "\n"),*),
                fields: &[$(
                    $crate::signals::Field {
                        name: $field,
                        doc: concat!($($field_doc, "\n"),*),
                        kind: <$returns as $crate::signals::Typed>::TYPE,
                    },
                )*],
            };

            $(
                $(#[doc = $field_doc])*
                #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "a field has the type that the catalogue sees")]
                pub(crate) fn $method(&$self) -> $returns $body
            )*
        }

        impl $crate::signals::Signal for $name<'_> {
            fn definition(&self) -> &'static $crate::signals::Definition {
                const DEFINITION: &$crate::signals::Definition = &$name::DEFINITION;
                DEFINITION
            }

            fn field(&self, name: &str) -> Option<$crate::signals::Value> {
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

            $(fn object(&self) -> Option<&$crate::facts::ObjectFacts> {
                let $of = self;
                $object
            })?
        }
    };
}

pub(crate) use signal;

/// All signals.
pub const ALL: &[&Definition] = &[
    &admission::Admission::DEFINITION,
    &autoscaler::Autoscaler::DEFINITION,
    &claim::Claim::DEFINITION,
    &container_creation::ContainerCreation::DEFINITION,
    &container_start::ContainerStart::DEFINITION,
    &cron_job::CronJob::DEFINITION,
    &deletion::Deletion::DEFINITION,
    &device::Device::DEFINITION,
    &disruption::Disruption::DEFINITION,
    &disruption_budget::DisruptionBudget::DEFINITION,
    &eviction::Eviction::DEFINITION,
    &image_pull::ImagePull::DEFINITION,
    &init_container::InitContainer::DEFINITION,
    &job::FailedJob::DEFINITION,
    &missing_node::MissingNode::DEFINITION,
    &node_condition::NodeCondition::DEFINITION,
    &node_event::NodeEvent::DEFINITION,
    &node_lifecycle::NodeLifecycle::DEFINITION,
    &node_ready::NodeReady::DEFINITION,
    &object::ObjectStatus::DEFINITION,
    &pod_creation::PodCreation::DEFINITION,
    &pod_end::PodEnd::DEFINITION,
    &pod_failure::PodFailure::DEFINITION,
    &probe::ProbeFailure::DEFINITION,
    &program_error::ProgramError::DEFINITION,
    &readiness_gate::ReadinessGate::DEFINITION,
    &resize::Resize::DEFINITION,
    &rollout::Rollout::DEFINITION,
    &route::Route::DEFINITION,
    &sandbox::Sandbox::DEFINITION,
    &scheduling::Scheduling::DEFINITION,
    &service::MismatchedService::DEFINITION,
    &sidecar::Sidecar::DEFINITION,
    &slow_restarts::SlowRestarts::DEFINITION,
    &termination::Termination::DEFINITION,
    &unknown::Unknown::DEFINITION,
    &unused_claim::UnusedClaim::DEFINITION,
    &volume::Volume::DEFINITION,
];
