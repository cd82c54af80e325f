//! What a rule is: one cause, how it is recognised and what is told of it.

use super::{Case, Finding, Language};
use crate::api::{Remedy, Root};
use crate::facts::Timestamp;

/// One cause. The table in `rules.rs` holds them all; parser, matcher, `explain` and docs/causes read only it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// CR cause, Event reason and metric label: `[A-Z][A-Za-z0-9]{0,62}`. It is API: never rename.
    pub cause: &'static str,
    pub category: Category,
    pub recovery: Recovery,
    pub specificity: Specificity,
    /// What to do, most likely first. Asked only for the finding that is reported.
    pub remedies: fn(&Case<'_>, &Finding) -> Vec<Remedy>,
    pub explain: Explain,
}

/// A rule's answer.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    No,
    /// Not yet: ask again then. This is how thresholds work without polling.
    NotBefore(Timestamp),
    Yes(Box<Finding>),
}

impl Verdict {
    /// Says of a finding what it lies in.
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

/// The nine families; API, stable for alerts.
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
}

impl Category {
    pub const ALL: [Self; 9] = [
        Self::Image,
        Self::Start,
        Self::Crash,
        Self::Probe,
        Self::Scheduling,
        Self::Volume,
        Self::Sandbox,
        Self::Node,
        Self::Lifecycle,
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
        }
    }
}

/// When a pod that had this cause counts as well again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It never started: Ready for 30 s proves the cause gone.
    NeverStarted,
    /// It starts and ends: Ready for 10 min since the last start, the kubelet's own back-off reset.
    Restarting,
}

/// How a finding ranks against the others of the same pod; in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    Specific,
    /// General: asked only where nothing specific matched for the same container (or pod).
    Umbrella,
    /// Real, but the likely consequence of whatever else is found (a readiness probe that fails): reported as the cause
    /// only where it stands alone.
    Symptom,
    /// Asked only where no other rule says Yes or waits.
    LastResort,
}

/// A cause as people read of it, whatever it is a cause of: a pod's rules have one each, and what only a node or a workload
/// has stands in their own tables.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub cause: &'static str,
    pub category: Category,
    pub explain: Explain,
}

/// What `shindan explain` and the pages in docs/causes say.
#[derive(Debug, Clone, Copy)]
pub struct Explain {
    /// One sentence.
    pub meaning: &'static str,
    /// How it is told from its look-alikes.
    pub told_apart: &'static str,
    /// What to do.
    pub action: &'static str,
    /// The Kubernetes (or runtime) source that emits the signal.
    pub source: &'static str,
}

impl Explain {
    /// The same for one who speaks this language; the source is a place in code, and has none.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self {
            meaning: language.of(self.meaning),
            told_apart: language.of(self.told_apart),
            action: language.of(self.action),
            source: self.source,
        }
    }
}
