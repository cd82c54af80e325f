//! What each look at a node may find.

use super::Flapping;
use crate::api::{Confidence, Evidence, Remedy, Severity};
use crate::facts::Timestamp;

/// One thing that is wrong with a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFinding {
    pub cause: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    /// As far as it is told.
    pub since: Option<Timestamp>,
    /// With the node's name.
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    /// Of an incident of the Ready condition: how restless it is, and whether the node is out of order now.
    pub ready: Option<ReadyTrouble>,
    /// Worth an object, but no Warning Event.
    pub quiet: bool,
}

/// What the Ready condition makes of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyTrouble {
    pub flapping: Option<Flapping>,
    pub ready_now: bool,
}
