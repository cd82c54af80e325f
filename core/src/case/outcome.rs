//! Result of the diagnosis of a pod.

use std::sync::Arc;

use super::{Category, Recovery, Remedy, Summary};
use crate::api::{Confidence, ContainerType, Evidence, Impact, OtherFinding, Root, Severity};
use crate::facts::{Lookup, Timestamp, WorkloadKey};

/// Result for one pod at one point in time.
#[derive(Debug)]
pub struct Outcome {
    pub health: Health,
    /// Why findings with ignored causes were removed; `None` if none was.
    pub left_out: Option<LeftOut>,
    /// Time to check again, if nothing changes before.
    pub wake: Option<Timestamp>,
    /// Lookups that would improve the diagnosis.
    pub needed_lookups: Vec<Lookup>,
}

/// Who leaves out a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// An annotation, or a setting.
    BySetting,
    /// An exception of a rule, with its name where that is known.
    ByRule(Option<Arc<str>>),
}

#[derive(Debug)]
pub enum Health {
    /// No rule applies, or none yet.
    Healthy,
    Failing(Box<Diagnosis>),
}

/// The diagnosis of a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    pub cause: &'static str,
    pub category: Category,
    pub recovery: Recovery,
    pub severity: Severity,
    pub confidence: Confidence,
    pub container: Option<Arc<str>>,
    pub container_type: Option<ContainerType>,
    pub summary: Summary,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    pub other_findings: Vec<OtherFinding>,
    /// Root of the cause, if it is outside the pod.
    pub root: Option<Root>,
    pub impact: Impact,
    /// The top-level controller.
    pub workload: Option<WorkloadKey>,
    /// The object is written, but no Warning Event is emitted.
    pub quiet: bool,
    pub attributions: Vec<Attribution>,
}

/// The last run of a container, attributed to a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    pub container: Arc<str>,
    pub cause: &'static str,
    /// An Event confirms the cause.
    pub proven: bool,
}
