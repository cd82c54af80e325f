//! Builds the reported failure from a verdict.

use super::pods::{Group, Pods, count, is_of_update};
use crate::api::{Confidence, Evidence, PodCounts, Root, Severity, TemplateChange};
use crate::case::{Category, Operation, Remedy, WorkloadCase, WorkloadFailure, evidence};
use crate::facts::{NamesOf, Timestamp};
use crate::message::{self, text};
use crate::rules::catalog::{self, Cause};
use crate::signals::{Context, Signal, Subject};

/// Reason why a workload fails.
#[derive(Debug)]
pub(super) enum Why<'a> {
    Pods(Group<'a>),
    Own(Box<Own>),
}

impl Why<'_> {
    /// Whether the newest template is the cause: its pods fail, and not because of their node.
    pub(super) fn blames_newest(&self, case: &WorkloadCase<'_>) -> bool {
        match self {
            Self::Pods(group) => !group.is_of_node() && group.pods.iter().any(|pod| is_of_update(case, pod)),
            Self::Own(_) => true,
        }
    }
}

/// A cause that only workloads have, never pods.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) cause: &'static str,
    pub(super) category: Category,
    /// As the cause file sets it.
    pub(super) severity: Option<Severity>,
    pub(super) confidence: Confidence,
    pub(super) summary: String,
    pub(super) remedies: Vec<Remedy>,
    /// Names that its remedies need.
    pub(super) needed_names: Vec<NamesOf>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) root: Option<Root>,
    /// How long the failure must last before it counts, in seconds.
    pub(super) threshold: i64,
    /// Resources of the quota that the pods exceed.
    pub(super) exceeded: String,
}

impl Own {
    /// The first cause that applies to an occurrence of a signal, if any.
    pub(super) fn of(case: &WorkloadCase<'_>, signal: &dyn Signal, evidence: Vec<Evidence>) -> Option<Box<Self>> {
        let context = Context::new(Subject::Workload(case), None, signal);
        let (_, cause) = catalog::first(&context)?;
        Some(Self::by(&cause, case, &context, evidence))
    }

    /// The cause of an occurrence of a signal.
    pub(super) fn by(
        cause: &Cause,
        case: &WorkloadCase<'_>,
        context: &Context<'_>,
        evidence: Vec<Evidence>,
    ) -> Box<Self> {
        Box::new(Self {
            cause: cause.name(),
            category: cause.rule.category,
            severity: cause.severity(context),
            confidence: cause.confidence(context),
            summary: cause.summary(context, case.language()).into_text(),
            remedies: cause.remedies(context.subject, None, context),
            needed_names: cause.needed_names(context.subject, context),
            evidence,
            root: cause.root(context),
            threshold: cause.threshold(case.thresholds, context),
            exceeded: String::new(),
        })
    }
}

/// The problem in terms of the kind of the workload.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    pub(super) problem: &'static str,
    pub(super) severity: Severity,
    /// State of the workload, shown before the cause. May be empty.
    pub(super) stands: String,
    pub(super) why: Why<'a>,
    /// Remedies for the workload, shown before those for the cause.
    pub(super) remedies: Vec<Remedy>,
    /// Steps after the cause is fixed.
    pub(super) after: Vec<Remedy>,
    pub(super) changes: Vec<TemplateChange>,
}

impl<'a> Verdict<'a> {
    pub(super) fn new(problem: &'static str, severity: Severity, stands: String, why: Why<'a>) -> Self {
        Self { problem, severity, stands, why, remedies: Vec::new(), after: Vec::new(), changes: Vec::new() }
    }
}

/// The only cause in the category Node that belongs to no node.
const MISSING_NODE: &str = "NodeNameMissingNode";
/// Maximum number of remedies of a workload.
const REMEDIES_MAX: usize = 6;

pub(super) fn build_failure(case: &WorkloadCase<'_>, pods: &Pods<'_>, verdict: Verdict<'_>) -> Box<WorkloadFailure> {
    let workload = case.workload;
    let kind = &*workload.key.kind;
    let is_object = workload.object().is_some();
    let runs_to_an_end = is_object || matches!(kind, "Job" | "CronJob");
    let (desired, ready) = (count(workload.desired), pods.ready);
    let mut remedies = verdict.remedies;
    let since = match &verdict.why {
        Why::Pods(group) => group.pods.iter().filter_map(|pod| pod.since).min(),
        Why::Own(own) => began(case, own),
    };
    let (exceeded, needed_names) = match &verdict.why {
        Why::Pods(_) => Default::default(),
        Why::Own(own) => (own.exceeded.clone(), own.needed_names.clone()),
    };
    let (cause, category, confidence, container, summary, mut evidence, root, own_remedies) = match verdict.why {
        Why::Pods(group) => {
            let lead = group.lead;
            let evidence = evidence::field_at(format!("pod/{}", lead.name), &lead.summary, lead.since);
            (
                lead.cause.clone(),
                lead.category,
                lead.confidence,
                lead.container.clone(),
                lead.summary.clone(),
                vec![evidence],
                lead.root.clone(),
                lead.remedies.clone(),
            )
        }
        Why::Own(own) => {
            let own = *own;
            let category = own.category;
            (own.cause.to_owned(), category, own.confidence, None, own.summary, own.evidence, own.root, own.remedies)
        }
    };
    // The remedies of the workload know better which template was good than those of a pod.
    let is_rollback = |remedy: &Remedy| remedy.operation == Operation::Rollback;
    let has_rollback = remedies.iter().chain(&verdict.after).any(is_rollback);
    let of_cause = own_remedies.into_iter().filter(|remedy| !(has_rollback && is_rollback(remedy)));
    for remedy in of_cause.chain(verdict.after) {
        let is_same = |known: &Remedy| {
            known.command == remedy.command || [known, &remedy].iter().all(|of| of.operation == Operation::Recreate)
        };
        let is_known = remedy.command.is_some() && remedies.iter().any(is_same);
        if !is_known {
            remedies.push(remedy);
        }
    }
    remedies.truncate(REMEDIES_MAX);
    for remedy in &mut remedies {
        remedy.text = text::line(&remedy.text, text::EVIDENCE_MAX);
        // Commands with control characters cannot be pasted safely.
        remedy.command = remedy.command.take().filter(|command| !command.chars().any(char::is_control));
    }
    for complaint in complaints(case) {
        if evidence.iter().all(|known| *known != complaint) {
            evidence.push(complaint);
        }
    }
    if workload.paused {
        evidence.push(evidence::field("spec.paused", "true"));
    }
    let is_of_no_node = cause == MISSING_NODE;
    let summary = summary_with(&verdict.stands, verdict.problem, &summary);
    Box::new(WorkloadFailure {
        cause,
        category,
        problem: verdict.problem,
        severity: verdict.severity,
        confidence,
        container,
        summary,
        remedies,
        needed_names,
        evidence,
        pods: PodCounts {
            desired,
            ready,
            failing: pods.count(),
            display: match kind {
                // The number of pods that it should have is not known.
                _ if is_object => String::new(),
                "CronJob" => String::new(),
                // Pods of a Job need not be ready: the number of succeeded ones counts.
                "Job" => format!("{}/{desired}", count(workload.succeeded)),
                _ => format!("{ready}/{desired}"),
            },
        },
        causes: pods.causes(),
        serving: (!runs_to_an_end).then(|| pods.serving(case)),
        template_changes: verdict.changes,
        root,
        exceeded,
        // If the node exists, its own diagnosis reports the failure.
        quiet: category == Category::Node && !is_of_no_node,
        worse_by_node: ready == 0 && pods.down > 0,
        since,
    })
}

/// The summary of the cause after the state of the workload. It is shortened on its own, or its beginning, which names
/// the object, would give way. If its end does not fit, a state that the columns PROBLEM and READY show is left out.
fn summary_with(stands: &str, problem: &str, summary: &str) -> String {
    const IN_COLUMNS: [&str; 3] = ["NoPods", "PartlyFailing", "Unavailable"];
    let whole = message::fit(summary, text::SUMMARY_MAX);
    if stands.is_empty() {
        return whole;
    }
    let room = text::SUMMARY_MAX.saturating_sub(stands.chars().count() + 2);
    let joined = message::fit(&format!("{stands}: {}", message::fit(summary, room)), text::SUMMARY_MAX);
    let loses_the_end = joined.ends_with('…') && !whole.ends_with('…');
    if loses_the_end && IN_COLUMNS.contains(&problem) { whole } else { joined }
}

/// Start of a failure that no pod shows. In a dump without this time, at least the start of the current state.
fn began(case: &WorkloadCase<'_>, own: &Own) -> Option<Timestamp> {
    let of_event = |evidence: &Evidence| case.events.iter().find(|event| evidence::event(event) == *evidence)?.first;
    let event_time = own.evidence.iter().filter_map(|evidence| of_event(evidence).or(evidence.time)).min();
    event_time.or((!case.thresholds.patient).then_some(case.since)).filter(|since| *since > Timestamp::UNIX_EPOCH)
}

/// Conditions of the workload that report a problem.
fn complaints(case: &WorkloadCase<'_>) -> impl Iterator<Item = Evidence> {
    const AMISS: [(&str, &str); 5] = [
        ("Available", "False"),
        ("Progressing", "False"),
        ("ReplicaFailure", "True"),
        ("FailureTarget", "True"),
        ("Failed", "True"),
    ];
    let is_amiss = |kind: &str, status: &str| AMISS.contains(&(kind, status));
    case.workload.conditions.iter().filter(move |c| is_amiss(&c.kind, &c.status)).map(evidence::condition)
}
