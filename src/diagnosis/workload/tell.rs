//! From what was judged to what is told.

use super::case::{WorkloadCase, WorkloadFailure};
use super::pods::{Group, Pods, count, is_of_update};
use crate::api::{Confidence, Evidence, PodCounts, Remedy, Root, Severity, TemplateChange};
use crate::diagnosis::catalog::{self, Cause};
use crate::diagnosis::signals::{Context, Signal, Subject};
use crate::diagnosis::{Category, evidence, restarts, text, undo};
use crate::facts::Timestamp;

/// What makes a workload fail.
#[derive(Debug)]
pub(super) enum Why<'a> {
    Pods(Group<'a>),
    Own(Box<Own>),
}

impl Why<'_> {
    /// Whether the newest template is to blame: pods of it fail, and not of their node.
    pub(super) fn blames_newest(&self, case: &WorkloadCase<'_>) -> bool {
        match self {
            Self::Pods(group) => !group.is_of_node() && group.pods.iter().any(|pod| is_of_update(case, pod)),
            Self::Own(_) => true,
        }
    }
}

/// A cause that no pod has, only its workload.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) cause: &'static str,
    pub(super) confidence: Confidence,
    pub(super) summary: String,
    pub(super) remedies: Vec<Remedy>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) root: Option<Root>,
}

impl Own {
    /// The cause of an occurrence of a signal; `None` where none applies.
    pub(super) fn of(
        case: &WorkloadCase<'_>,
        signal: &dyn Signal,
        evidence: Vec<Evidence>,
    ) -> Option<(&'static Cause, Box<Self>)> {
        let context = Context { subject: Subject::Workload(case), container: None, signal };
        let (_, cause) = catalog::first(&context)?;
        let own = Self {
            cause: cause.name(),
            confidence: cause.confidence(&context),
            summary: cause.summary(&context, case.language()),
            remedies: cause.remedies(context.subject, None, &context),
            evidence,
            root: cause.root(&context),
        };
        Some((cause, Box::new(own)))
    }
}

/// What is wrong, in the words of the workload's kind.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    pub(super) problem: &'static str,
    pub(super) severity: Severity,
    /// Where the workload stands, before the cause; may be empty.
    pub(super) stands: String,
    pub(super) why: Why<'a>,
    /// What to do about the workload, before what to do about the cause.
    pub(super) remedies: Vec<Remedy>,
    /// What to do once the cause is gone.
    pub(super) after: Vec<Remedy>,
    pub(super) changes: Vec<TemplateChange>,
}

impl<'a> Verdict<'a> {
    pub(super) fn new(problem: &'static str, severity: Severity, stands: String, why: Why<'a>) -> Self {
        Self { problem, severity, stands, why, remedies: Vec::new(), after: Vec::new(), changes: Vec::new() }
    }
}

/// The one cause of nodes that no node has.
const MISSING_NODE: &str = "NodeNameMissingNode";
/// The most remedies of a workload.
const REMEDIES_MAX: usize = 6;

pub(super) fn tell(case: &WorkloadCase<'_>, pods: &Pods<'_>, verdict: Verdict<'_>) -> Box<WorkloadFailure> {
    let workload = case.workload;
    let kind = &*workload.key.kind;
    let runs_to_an_end = matches!(kind, "Job" | "CronJob");
    let (desired, ready) = (count(workload.desired), pods.ready);
    let mut remedies = verdict.remedies;
    let since = match &verdict.why {
        Why::Pods(group) => group.pods.iter().filter_map(|pod| pod.since).min(),
        Why::Own(own) => began(case, own),
    };
    let (cause, category, confidence, container, summary, mut evidence, root, own_remedies) = match verdict.why {
        Why::Pods(group) => {
            let lead = group.lead;
            let said =
                evidence::field_at(format!("pod/{}", lead.name), restarts::without_tail(&lead.summary), lead.since);
            (
                lead.cause.clone(),
                lead.category,
                lead.confidence,
                lead.container.clone(),
                restarts::without_tail(&lead.summary).to_owned(),
                vec![said],
                lead.root.clone(),
                lead.remedies.clone(),
            )
        }
        Why::Own(own) => {
            let own = *own;
            let category = Category::Lifecycle;
            (own.cause.to_owned(), category, own.confidence, None, own.summary, own.evidence, own.root, own.remedies)
        }
    };
    // A pod knows less of which template was good.
    let knows_way_back = remedies.iter().chain(&verdict.after).any(undo::is_one);
    let of_cause = own_remedies.into_iter().filter(|remedy| !(knows_way_back && undo::is_one(remedy)));
    for remedy in of_cause.chain(verdict.after) {
        let is_known = remedy.command.is_some() && remedies.iter().any(|known| known.command == remedy.command);
        if !is_known {
            remedies.push(remedy);
        }
    }
    remedies.truncate(REMEDIES_MAX);
    for remedy in &mut remedies {
        remedy.text = text::line(&remedy.text, text::EVIDENCE_MAX);
        // Nobody pastes what cannot be typed.
        remedy.command = remedy.command.take().filter(|command| !command.chars().any(char::is_control));
    }
    for complaint in complaints(case) {
        if !evidence.contains(&complaint) {
            evidence.push(complaint);
        }
    }
    if workload.paused {
        evidence.push(evidence::field("spec.paused", "true"));
    }
    let is_of_no_node = cause == MISSING_NODE;
    let summary = if verdict.stands.is_empty() { summary } else { format!("{}: {summary}", verdict.stands) };
    Box::new(WorkloadFailure {
        cause,
        category,
        problem: verdict.problem,
        severity: verdict.severity,
        confidence,
        container,
        summary: text::line(&summary, text::SUMMARY_MAX),
        remedies,
        evidence,
        pods: PodCounts {
            desired,
            ready,
            failing: pods.count(),
            display: match kind {
                "CronJob" => String::new(),
                // Its pods need never be ready: what counts is how many have succeeded.
                "Job" => format!("{}/{desired}", count(workload.succeeded)),
                _ => format!("{ready}/{desired}"),
            },
        },
        causes: pods.causes(),
        serving: (!runs_to_an_end).then(|| pods.serving(case)),
        template_changes: verdict.changes,
        root,
        // The node's own diagnosis tells of it, where there is a node.
        quiet: category == Category::Node && !is_of_no_node,
        worse_by_node: ready == 0 && pods.down > 0,
        since,
    })
}

/// Since when a workload fails of what no pod tells. A dump that does not say tells at least since when it is as it is.
fn began(case: &WorkloadCase<'_>, own: &Own) -> Option<Timestamp> {
    let of_event = |said: &Evidence| case.events.iter().find(|event| evidence::event(event) == *said)?.first;
    let told = own.evidence.iter().filter_map(|said| of_event(said).or(said.time)).min();
    told.or((!case.thresholds.patient).then_some(case.since)).filter(|since| *since > Timestamp::UNIX_EPOCH)
}

/// What the workload says of itself, where that is amiss.
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
