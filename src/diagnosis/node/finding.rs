//! A finding on a node.

use super::Flapping;
use crate::api::{Confidence, Evidence, Remedy, Severity};
use crate::diagnosis::catalog::Cause;
use crate::diagnosis::signals::Context;
use crate::facts::Timestamp;

/// One failure of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFinding {
    pub cause: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    /// When it began, where that is known.
    pub since: Option<Timestamp>,
    /// With the node's name.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    /// Of an incident of the Ready condition: whether it is flapping, and whether it is Ready now.
    pub ready: Option<ReadyTrouble>,
    /// Worth an object, but no Warning Event.
    pub quiet: bool,
}

/// The state of the Ready condition in an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyTrouble {
    pub flapping: Option<Flapping>,
    pub ready_now: bool,
}

impl NodeFinding {
    /// The finding of a cause of the catalogue. Where its file gives no severity it is critical.
    pub(super) fn of(cause: &Cause, context: &Context<'_>, since: Option<Timestamp>, evidence: Vec<Evidence>) -> Self {
        Self {
            cause: cause.name(),
            severity: cause.severity(context).unwrap_or(Severity::Critical),
            confidence: cause.confidence(context),
            since,
            summary: cause.summary(context, context.subject.language()),
            remedies: cause.remedies(context.subject, None, context),
            evidence,
            ready: None,
            quiet: false,
        }
    }
}
