//! A finding: what one rule recognised, before it is ranked.

use std::sync::Arc;

use super::catalog::Snapshot;
use super::text;
use crate::api::{Confidence, ContainerType, Evidence, OtherFinding, Remedy, RemedyKind, Root, Severity, Weight};
use crate::facts::{Condition, Container, EventFacts, Timestamp};

/// What a rule recognised.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The container to blame, where one is.
    pub container: Option<Arc<str>>,
    pub container_type: Option<ContainerType>,
    /// One line to act on, without the cause's name; cleaned and cut to 200 characters when it is reported.
    pub summary: String,
    pub confidence: Confidence,
    /// Set where the cause itself limits how bad it can be; else impact decides.
    pub severity: Option<Severity>,
    pub evidence: Vec<Evidence>,
    /// What it lies in, where that is outside the pod and known for certain: see `roots`.
    pub root: Option<Root>,
    /// An Event proves this cause, so that later runs of the container with the same exit code and a similar length
    /// inherit it (see `Ledger::proven_cause`).
    pub proven: bool,
    /// It is about a run that goes on: no run that has ended is put down to it.
    pub goes_on: bool,
    /// No Warning Event is owed for it (a Job's pod with retries left; a pod of a node that is down).
    pub quiet: bool,
    /// When it stops to hold by itself: nothing in the cluster will tell us.
    pub until: Option<Timestamp>,
    /// What is only a consequence of this.
    pub consequences: Vec<OtherFinding>,
    /// The cause of the catalogue, and the values that its remedies need.
    pub snapshot: Snapshot,
}

impl Finding {
    /// A finding about the pod as a whole.
    pub fn of_pod(summary: impl Into<String>) -> Self {
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

    /// A finding that blames one container.
    pub fn of_container(container: &Container, summary: impl Into<String>) -> Self {
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
    pub(super) fn with_snapshot(mut self, snapshot: Snapshot) -> Self {
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

    /// Worth a record but no alarm: it may pass by itself, or does no harm. Whatever else is found goes before it.
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
            summary: text::line(&summary.into(), text::SUMMARY_MAX),
        });
        self
    }
}

/// Makers of evidence. All text from the cluster passes through `text::line` here: control characters, secrets, length.
pub mod evidence {
    use super::{Condition, EventFacts, Evidence, Timestamp, Weight, text};

    pub fn field(path: impl Into<String>, value: impl AsRef<str>) -> Evidence {
        Evidence {
            source: text::line(&path.into(), text::EVIDENCE_MAX),
            value: text::line(value.as_ref(), text::EVIDENCE_MAX),
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

/// Makers of remedies.
pub mod remedy {
    use super::{Remedy, RemedyKind};

    pub fn fix(text: impl Into<String>) -> Remedy {
        Remedy { kind: RemedyKind::Fix, text: text.into(), command: None, patch: None }
    }

    pub fn mitigate(text: impl Into<String>) -> Remedy {
        Remedy { kind: RemedyKind::Mitigate, ..fix(text) }
    }

    #[must_use]
    pub fn command(remedy: Remedy, command: impl Into<String>) -> Remedy {
        Remedy { command: Some(command.into()), ..remedy }
    }

    #[must_use]
    pub fn patch(remedy: Remedy, patch: impl Into<String>) -> Remedy {
        Remedy { patch: Some(patch.into()), ..remedy }
    }
}
