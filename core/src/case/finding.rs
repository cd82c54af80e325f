//! Findings of the rules, before they are ranked.

use std::sync::Arc;

use super::Summary;
use super::fields::Snapshot;
use crate::api::{Confidence, ContainerType, Evidence, OtherFinding, RemedyKind, Root, Severity, Weight};
use crate::facts::{Condition, Container, EventFacts, Timestamp};
use crate::message::{self, text};

/// A failure that a rule recognized.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The container that causes the failure, if any.
    pub container: Option<Arc<str>>,
    pub container_type: Option<ContainerType>,
    /// Summary in one line, without the name of the cause.
    pub summary: Summary,
    pub confidence: Confidence,
    /// Severity, if the cause limits it. Otherwise the impact determines it.
    pub severity: Option<Severity>,
    pub evidence: Vec<Evidence>,
    /// Root outside the pod, if it is known for certain; see `roots`.
    pub root: Option<Root>,
    /// An Event confirms this cause. Later runs of the container with the same exit code and a similar duration inherit
    /// it (see `Ledger::proven_cause`).
    pub proven: bool,
    /// The finding is about a current run. No terminated run is attributed to it.
    pub goes_on: bool,
    /// No Warning Event is emitted for it (a pod of a Job with retries left; a pod of a node that is down).
    pub quiet: bool,
    /// Time at which the finding stops to hold without any change in the cluster.
    pub until: Option<Timestamp>,
    /// Findings that are only consequences of this one.
    pub consequences: Vec<OtherFinding>,
    /// The values that its remedies need.
    pub snapshot: Snapshot,
}

impl Finding {
    /// Creates a finding about the pod as a whole.
    pub fn of_pod(summary: impl Into<Summary>) -> Self {
        Self {
            container: None,
            container_type: None,
            summary: summary.into(),
            confidence: Confidence::Certain,
            severity: None,
            evidence: Vec::new(),
            root: None,
            proven: false,
            goes_on: false,
            quiet: false,
            until: None,
            consequences: Vec::new(),
            snapshot: Snapshot::default(),
        }
    }

    /// Creates a finding about one container.
    pub fn of_container(container: &Container, summary: impl Into<Summary>) -> Self {
        Self { container: Some(container.name.clone()), container_type: Some(container.kind), ..Self::of_pod(summary) }
    }

    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    #[must_use]
    pub fn rooted(mut self, root: Option<Root>) -> Self {
        self.root = root;
        self
    }

    #[must_use]
    pub(crate) fn with_snapshot(mut self, snapshot: Snapshot) -> Self {
        self.snapshot = snapshot;
        self
    }

    #[must_use]
    pub fn proven(mut self) -> Self {
        self.proven = true;
        self
    }

    #[must_use]
    pub fn goes_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    #[must_use]
    pub fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Marks the finding as a notice: it is recorded without an alarm, because it may pass by itself or does no harm.
    /// All other findings rank before it.
    #[must_use]
    pub fn noted(self) -> Self {
        self.severity(Severity::Info).quiet()
    }

    pub fn is_noted(&self) -> bool {
        self.quiet && self.severity == Some(Severity::Info)
    }

    #[must_use]
    pub fn with(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    #[must_use]
    pub fn with_all(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    #[must_use]
    pub fn consequence(mut self, cause: &str, container: Option<&str>, summary: impl Into<String>) -> Self {
        self.consequences.push(OtherFinding {
            cause: cause.to_owned(),
            container: container.map(str::to_owned),
            summary: message::fit(&summary.into(), text::SUMMARY_MAX),
        });
        self
    }
}

/// Constructors of evidence. All text from the cluster is cleaned, masked and shortened here. A value keeps its end, which
/// states why.
pub mod evidence {
    use super::{Condition, EventFacts, Evidence, Timestamp, Weight};
    use crate::message::{self, text};

    pub fn field(path: impl Into<String>, value: impl AsRef<str>) -> Evidence {
        Evidence {
            source: text::line(&path.into(), text::EVIDENCE_MAX),
            value: message::value(value.as_ref(), text::EVIDENCE_MAX),
            time: None,
            weight: Weight::Supports,
        }
    }

    pub fn field_at(path: impl Into<String>, value: impl AsRef<str>, time: Option<Timestamp>) -> Evidence {
        Evidence { time, ..field(path, value) }
    }

    pub fn event(event: &EventFacts) -> Evidence {
        field_at(format!("event/{}", event.reason), &event.message, event.last)
    }

    /// `status.conditions[Ready]` of the pod, with status, reason and message.
    pub fn condition(condition: &Condition) -> Evidence {
        condition_of("status.conditions", condition)
    }

    /// A condition of the Node: `node/<name>.conditions[Ready]`.
    pub fn node_condition(node: &str, condition: &Condition) -> Evidence {
        condition_of(&format!("node/{node}.status.conditions"), condition)
    }

    /// A condition of a Job: `job/<name>.status.conditions[Failed]`.
    pub fn job_condition(job: &str, condition: &Condition) -> Evidence {
        condition_of(&format!("job/{job}.status.conditions"), condition)
    }

    /// A condition of another object: `certificate.cert-manager.io/web.status.conditions[Ready]`.
    pub fn object_condition(argument: &str, condition: &Condition) -> Evidence {
        condition_of(&format!("{argument}.status.conditions"), condition)
    }

    fn condition_of(path: &str, c: &Condition) -> Evidence {
        let mut value = c.status.clone();
        for part in [&c.reason, &c.message] {
            if !part.is_empty() {
                value.push_str(if value == c.status { " " } else { ": " });
                value.push_str(part);
            }
        }
        field_at(format!("{path}[{}]", c.kind), value, c.last_transition)
    }

    #[must_use]
    pub fn contradicting(evidence: Evidence) -> Evidence {
        Evidence { weight: Weight::Contradicts, ..evidence }
    }
}

/// Remedies. A written one is an [`api::Remedy`](crate::api::Remedy), which has only the texts.
pub mod remedy {
    use serde::{Deserialize, Serialize};

    use super::RemedyKind;
    use crate::api;

    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Remedy {
        pub kind: RemedyKind,
        pub text: String,
        pub command: Option<String>,
        pub patch: Option<String>,
        pub operation: Operation,
    }

    /// What the command of a remedy does, as far as decisions depend on it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Operation {
        /// Goes back to an earlier template, or lists the templates to choose from.
        Rollback,
        /// Changes the pod template.
        ChangeTemplate,
        /// Changes the pod template, and deletes the pod, which does not get a new template by itself.
        ReplacePod,
        /// Changes or deletes the pod.
        ChangePod,
        /// Reads the pod, or runs something in it.
        UsePod,
        /// Deletes the workload so that it is created again, or does both.
        Recreate,
        Other,
    }

    impl Remedy {
        /// A recorded remedy.
        pub fn recorded(remedy: api::Remedy, operation: Operation) -> Self {
            let api::Remedy { kind, text, command, patch } = remedy;
            Self { kind, text, command, patch, operation }
        }
    }

    impl From<Remedy> for api::Remedy {
        fn from(remedy: Remedy) -> Self {
            let Remedy { kind, text, command, patch, operation: _ } = remedy;
            Self { kind, text, command, patch }
        }
    }

    pub fn fix(text: impl Into<String>) -> Remedy {
        Remedy { kind: RemedyKind::Fix, text: text.into(), command: None, patch: None, operation: Operation::Other }
    }

    pub fn mitigate(text: impl Into<String>) -> Remedy {
        Remedy { kind: RemedyKind::Mitigate, ..fix(text) }
    }

    pub fn investigate(text: impl Into<String>) -> Remedy {
        Remedy { kind: RemedyKind::Investigate, ..fix(text) }
    }

    #[must_use]
    pub fn command(remedy: Remedy, command: impl Into<String>) -> Remedy {
        Remedy { command: Some(command.into()), ..remedy }
    }

    /// Same as [`command`] for a command that decisions depend on.
    #[must_use]
    pub fn command_for(remedy: Remedy, operation: Operation, command: impl Into<String>) -> Remedy {
        Remedy { command: Some(command.into()), operation, ..remedy }
    }

    #[must_use]
    pub fn patch(remedy: Remedy, patch: impl Into<String>) -> Remedy {
        Remedy { patch: Some(patch.into()), ..remedy }
    }
}
