//! Enumerations of the API.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Defines an enum of the API. It is an open string in the schema and ordered as listed.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }
    };
}

words! {
    /// The state of a diagnosis.
    DiagnosisState {
        /// The object fails, or has failed permanently and still exists.
        Active,
        /// The pod is healthy again, or its Job succeeded on a retry.
        Recovered,
        /// The pod was deleted while failing.
        Gone,
    }
}

words! {
    /// Severity for users; ordered from the highest.
    Severity {
        /// A bare pod is down, its workload has no ready pod, or a Service has no endpoint left.
        Critical,
        /// Other pods still serve, or the Job has retries left.
        Warning,
        /// For information: no service is affected.
        Info,
    }
}

words! {
    /// Confidence of the diagnosis; ordered from the highest.
    Confidence { Certain, Likely, Possible }
}

words! {
    /// The role of a container in its pod.
    ContainerType { App, Init, Sidecar, Ephemeral }
}

words! {
    RemedyKind {
        /// Restores the service without removing the cause.
        Mitigate,
        /// Removes the cause.
        Fix,
        /// Reads more, to find what removes it. Changes nothing.
        Investigate,
    }
}

words! {
    /// What ended the failure of a workload.
    #[derive(Default)]
    EndedBy {
        /// An earlier template was rolled out again.
        Rollback,
        /// Another template was rolled out.
        Rollout,
        /// The desired number of pods became zero.
        ScaledToZero,
        /// The workload was suspended.
        Suspended,
        /// A run of the CronJob succeeded.
        RunSucceeded,
        /// The node that caused the failure is healthy again.
        NodeRecovered,
        /// The missing or incomplete object was created or changed; the pods are the same.
        ObjectChanged,
        /// The failing pods were deleted or replaced; the template is the same, as far as known.
        PodsReplaced,
        /// The failing pods became healthy without being replaced.
        PodsRecovered,
        /// The workload was deleted while it failed.
        WorkloadDeleted,
        /// No change was seen that explains the end.
        #[default]
        Unknown,
    }
}

words! {
    /// Whether evidence supports the diagnosed cause.
    Weight { Supports, Contradicts }
}

/// Kind of the object that a diagnosis describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosisKind {
    Node,
    Workload,
    Pod,
}

impl DiagnosisKind {
    /// In output order, widest scope first.
    pub const ALL: [Self; 3] = [Self::Node, Self::Workload, Self::Pod];

    /// The kind of its objects.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "NodeDiagnosis",
            Self::Workload => "WorkloadDiagnosis",
            Self::Pod => "PodDiagnosis",
        }
    }

    /// Plural name in API URLs.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Node => "nodediagnoses",
            Self::Workload => "workloaddiagnoses",
            Self::Pod => "poddiagnoses",
        }
    }
}
