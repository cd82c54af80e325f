//! Verdicts of rules, and the ranks and categories of causes.

use super::Finding;
use crate::api::Root;
use crate::facts::Timestamp;

/// Result of a rule.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    No,
    /// Not yet: evaluate again at this time. Thresholds work like this without polling.
    NotBefore(Timestamp),
    Yes(Box<Finding>),
}

impl Verdict {
    /// Sets the root of a finding.
    #[must_use]
    pub fn rooted(self, root: Option<Root>) -> Self {
        match self {
            Self::Yes(finding) => Self::Yes(Box::new(finding.rooted(root))),
            other => other,
        }
    }
}

impl From<Option<Finding>> for Verdict {
    fn from(finding: Option<Finding>) -> Self {
        finding.map_or(Self::No, |f| Self::Yes(Box::new(f)))
    }
}

/// The ten categories. They are API and stable for alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    Image,
    Start,
    Crash,
    Probe,
    Scheduling,
    Volume,
    Sandbox,
    Node,
    Lifecycle,
    Network,
}

impl Category {
    pub const ALL: [Self; 10] = [
        Self::Image,
        Self::Start,
        Self::Crash,
        Self::Probe,
        Self::Scheduling,
        Self::Volume,
        Self::Sandbox,
        Self::Node,
        Self::Lifecycle,
        Self::Network,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "Image",
            Self::Start => "Start",
            Self::Crash => "Crash",
            Self::Probe => "Probe",
            Self::Scheduling => "Scheduling",
            Self::Volume => "Volume",
            Self::Sandbox => "Sandbox",
            Self::Node => "Node",
            Self::Lifecycle => "Lifecycle",
            Self::Network => "Network",
        }
    }
}

/// When a pod with this cause counts as recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The pod never started: recovered after 30 s of Ready.
    NeverStarted,
    /// The pod starts and terminates: recovered after 10 min of Ready since the last start, when the kubelet resets its
    /// back-off.
    Restarting,
}

/// Rank of a finding among those of the same pod, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    Specific,
    /// General: evaluated only if no specific rule applies to the same container (or pod).
    Umbrella,
    /// A real failure, but probably a consequence of any other finding (such as a failing readiness probe). It is the
    /// cause only if it is the only finding.
    Symptom,
    /// Evaluated only if no other rule applies or is pending.
    LastResort,
}
