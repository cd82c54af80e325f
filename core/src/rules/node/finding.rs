//! Findings about nodes.

use super::Flapping;
use crate::api::{Confidence, Evidence, Severity};
use crate::case::Remedy;
use crate::facts::Timestamp;
use crate::rules::catalog::Cause;
use crate::signals::Context;

/// One failure of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFinding {
    pub cause: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    /// Start of the failure, if known.
    pub since: Option<Timestamp>,
    /// Includes the name of the node.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    /// For an incident of the Ready condition: whether it is flapping, and whether the node is Ready now.
    pub ready: Option<ReadyTrouble>,
    /// Recorded in an object without a Warning Event.
    pub quiet: bool,
}

/// State of the Ready condition in an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyTrouble {
    pub flapping: Option<Flapping>,
    pub ready_now: bool,
}

impl NodeFinding {
    /// Creates the finding of a cause of the catalogue. The severity is critical if the cause file sets none.
    pub(super) fn of(cause: &Cause, context: &Context<'_>, since: Option<Timestamp>, evidence: Vec<Evidence>) -> Self {
        Self {
            cause: cause.name(),
            severity: cause.severity(context).unwrap_or(Severity::Critical),
            confidence: cause.confidence(context),
            since,
            summary: cause.summary(context, context.subject.language()).into_text(),
            remedies: cause.remedies(context.subject, None, context),
            evidence,
            ready: None,
            quiet: false,
        }
    }
}
