//! Diagnoses a pod: turns the facts about it into the cause of its failure.
//!
//! Diagnosis is pure: it has no clock and no I/O, and it cannot fail. A failure that no rule recognizes gets the cause
//! `Unknown`, with evidence.

use std::sync::Arc;

use super::{Rule, SIGNALS, catalog, claims_needed, impact, installation, log_needed, report};
use crate::api::OtherFinding;
use crate::case::{
    Attribution, Case, Category, DecisiveLines, Finding, Health, LeftOut, Outcome, Recovery, Specificity, Verdict,
};
use crate::facts::{Container, Lookup, Timestamp, after};
use crate::signals::restarts;

/// Diagnoses the pod of this case.
pub fn diagnose(case: &Case<'_>) -> Outcome {
    let lines = DecisiveLines::default();
    let case = &Case { lines: Some(&lines), ..*case };
    let mut evaluation = evaluate_rules(case);
    evaluation.findings.sort_by_key(|f| rank(case, f));
    let (reported, left_out) = without_ignored(case, evaluation.findings);
    let mut ranked = reported.into_iter();
    let Some(first) = ranked.next() else {
        return Outcome {
            health: Health::Healthy,
            left_out,
            wake: evaluation.wake,
            needed_lookups: claims_needed(case).into_iter().collect(),
        };
    };
    // One second later, so that the finding no longer holds when it is checked again.
    let until = first.finding.until.map(|until| after(until, 1));
    let attributions = attributions(case, &first, ranked.as_slice());
    let others = other_findings(&first, ranked.as_slice());
    let mut needed_lookups = impact::needed_lookups(case);
    let blamed = first.finding.container.as_deref().and_then(|name| case.pod.container(name));
    needed_lookups.extend(claims_needed(case));
    needed_lookups.extend(catalog::needed_names(case, first.rule.cause, &first.finding).into_iter().map(Lookup::Names));
    needed_lookups.extend(blamed.and_then(|container| log_needed(case, container)));
    let finding = restarts::with_other_terminations(case, first.rule.cause, first.finding, &attributions);
    let diagnosis = report::of_first(case, first.rule, finding, others, attributions);
    let installed = installation::end(case, first.rule.category);
    let wake = evaluation.wake.into_iter().chain(recovery_time(case)).chain(until).chain(installed).min();
    Outcome { health: Health::Failing(Box::new(diagnosis)), left_out, wake, needed_lookups }
}

/// Removes findings with ignored causes and findings that are only symptoms of them. Otherwise the same failure would
/// be reported under another cause. Also returns who ignores the first one.
fn without_ignored(case: &Case<'_>, findings: Vec<Match>) -> (Vec<Match>, Option<LeftOut>) {
    let overrides = &case.surroundings.overrides;
    let catalog = catalog::current();
    let (namespace, labels) = (&*case.pod.key.namespace, Some(&case.pod.labels));
    let ignored_by = |cause: &str| {
        if overrides.ignores(cause) {
            return Some(LeftOut::BySetting);
        }
        let exception = catalog.ignored_by(cause, namespace, labels)?;
        Some(LeftOut::ByRule(exception.rule.clone()))
    };
    let left_out = findings.iter().find_map(|found| ignored_by(found.rule.cause));
    if left_out.is_none() {
        return (findings, None);
    }
    let (ignored, mut reported): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|found| ignored_by(found.rule.cause).is_some());
    reported.retain(|found| {
        let is_symptom = found.rule.specificity >= Specificity::Symptom;
        let own = &found.finding.container;
        let explains = |cause: &Match| {
            let of = &cause.finding.container;
            own.is_none() || of.is_none() || own == of
        };
        !(is_symptom && ignored.iter().any(explains))
    });
    (reported, left_out)
}

/// Time at which a past termination stops counting because the pod has been healthy since. No change of the pod marks
/// this moment.
fn recovery_time(case: &Case<'_>) -> Option<Timestamp> {
    let due = after(case.pod.last_start()?, case.thresholds.recovered_restarting + 1);
    (case.pod.is_ready() && due > case.now).then_some(due)
}

/// A finding together with its rule.
#[derive(Debug)]
struct Match {
    rule: Rule,
    /// Position of the rule in the table.
    order: usize,
    finding: Finding,
}

#[derive(Debug, Default)]
struct Evaluation {
    findings: Vec<Match>,
    wake: Option<Timestamp>,
    /// A cause applies, but a user-defined threshold delays its report. No general cause is reported in its place.
    is_delayed: bool,
}

impl Evaluation {
    /// Whether to evaluate a rule of this rank. General rules are skipped if a specific cause is known or pending;
    /// rules of last resort run only if nothing else applies.
    fn is_evaluated(&self, rank: Specificity, container: Option<&Arc<str>>) -> bool {
        match rank {
            Specificity::Specific | Specificity::Symptom => true,
            Specificity::Umbrella => !self.is_delayed && !self.has_specific_cause(container),
            Specificity::LastResort => self.findings.is_empty() && self.wake.is_none(),
        }
    }

    fn take(&mut self, case: &Case<'_>, rule: Rule, order: usize, verdict: Verdict) {
        match verdict {
            Verdict::No => {}
            Verdict::NotBefore(at) => {
                self.wake = Some(self.wake.map_or(at, |w| w.min(at)));
                self.is_delayed |= case.thresholds.chosen(rule.cause).is_some();
            }
            Verdict::Yes(finding)
                if rule.specificity == Specificity::Umbrella && self.has_specific_cause(finding.container.as_ref()) => {
            }
            Verdict::Yes(finding) => self.findings.push(Match { rule, order, finding: *finding }),
        }
    }

    /// Whether general rules are skipped because a specific cause is known for this container (or pod).
    fn has_specific_cause(&self, container: Option<&Arc<str>>) -> bool {
        self.findings.iter().any(|m| {
            m.rule.specificity <= Specificity::Umbrella
                && (container.is_none() || m.finding.container.as_ref() == container)
        })
    }
}

fn evaluate_rules(case: &Case<'_>) -> Evaluation {
    let catalog = catalog::current();
    let mut evaluation = Evaluation::default();
    let mut order = 0;
    for source in SIGNALS {
        let mut verdicts = catalog.verdicts(source, case, |rank, of| evaluation.is_evaluated(rank, of));
        verdicts.sort_by_key(|(place, ..)| *place);
        for (place, rule, verdict) in verdicts {
            evaluation.take(case, rule, order + place, verdict);
        }
        order += catalog.count(source.definition.name);
    }
    evaluation
}

/// Sort key of a finding: alarms before notices, causes before consequences, present failures before past ones,
/// specific causes before general ones; then the order of the table and the order of the containers in the pod.
fn rank(case: &Case<'_>, found: &Match) -> (bool, bool, bool, Specificity, usize, usize) {
    let position =
        found.finding.container.as_ref().and_then(|name| case.pod.containers.iter().position(|c| c.name == *name));
    let healthy_now = position.and_then(|i| case.pod.containers.get(i)).is_some_and(is_healthy);
    (
        found.finding.is_noted(),
        found.rule.specificity >= Specificity::Symptom,
        healthy_now,
        found.rule.specificity,
        found.order,
        position.unwrap_or(usize::MAX),
    )
}

fn is_healthy(container: &Container) -> bool {
    container.is_running() && container.ready
}

/// Whether a finding explains why the last run of a container terminated. It does not if it explains why another run
/// cannot start, or a problem of the current run.
fn explains_termination(case: &Case<'_>, found: &Match) -> bool {
    let name = found.finding.container.as_ref();
    let Some(container) = name.and_then(|name| case.pod.container(name)) else { return false };
    let of_termination = match found.rule.category {
        Category::Crash | Category::Probe | Category::Lifecycle => true,
        // An error that prevents the start is the termination of that run. Otherwise it explains why there is no next
        // run.
        Category::Start => {
            found.rule.recovery == Recovery::Restarting
                || found.finding.proven
                || container.last_end().is_some_and(|end| end.started_at.is_none())
        }
        _ => false,
    };
    of_termination && !found.finding.goes_on && found.rule.specificity < Specificity::Symptom
}

/// Attributes the last run of each container to a cause.
fn attributions(case: &Case<'_>, first: &Match, others: &[Match]) -> Vec<Attribution> {
    let mut out: Vec<Attribution> = Vec::new();
    for found in std::iter::once(first).chain(others).filter(|m| explains_termination(case, m)) {
        if let Some(container) = &found.finding.container
            && !out.iter().any(|a| a.container == *container)
        {
            out.push(Attribution {
                container: container.clone(),
                cause: found.rule.cause,
                proven: found.finding.proven,
            });
        }
    }
    out
}

/// All other findings without duplicates, followed by the consequences.
fn other_findings(first: &Match, others: &[Match]) -> Vec<OtherFinding> {
    const MOST: usize = 10;
    let mut out: Vec<OtherFinding> = Vec::new();
    let mut push = |other: OtherFinding| {
        let is_first =
            other.cause == first.rule.cause && other.container.as_deref() == first.finding.container.as_deref();
        let is_known = out.iter().any(|o| o.cause == other.cause && o.container == other.container);
        if !is_first && !is_known && out.len() < MOST {
            out.push(other);
        }
    };
    first.finding.consequences.iter().cloned().for_each(&mut push);
    for found in others {
        push(OtherFinding {
            cause: found.rule.cause.to_owned(),
            container: found.finding.container.as_deref().map(str::to_owned),
            summary: found.finding.summary.head().to_owned(),
        });
        found.finding.consequences.iter().cloned().for_each(&mut push);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Overrides;
    use crate::testing::Scenario;

    /// One container was OOM-killed, another is not ready, and neither is their node.
    const WEB: &str = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec:
  nodeName: n1
  containers:
  - {name: app, image: app:1}
  - {name: side, image: side:1, readinessProbe: {tcpSocket: {port: 81}}}
status:
  phase: Running
  conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-11-21T09:00:00Z"}]
  containerStatuses:
  - name: app
    restartCount: 1
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, startedAt: "2026-11-21T08:59:00Z", finishedAt: "2026-11-21T09:00:00Z"}}
  - {name: side, restartCount: 0, started: true, state: {running: {startedAt: "2026-11-21T08:59:00Z"}}}
---
kind: Node
metadata: {name: n1}
status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown, lastTransitionTime: "2026-11-21T09:00:00Z"}]}
"#;

    #[test]
    fn ignoring_a_cause_also_removes_its_symptoms() {
        let reported = |ignored: &[&str]| {
            let mut scenario = Scenario::from_yaml(WEB).at("2026-11-21T09:20:00Z");
            scenario.surroundings[0].overrides = Overrides::ignoring(ignored.iter().copied());
            let Health::Failing(diagnosis) = diagnose(&scenario.case()).health else { return Vec::new() };
            let of = |cause: &str, container: Option<&str>| format!("{cause} {}", container.unwrap_or_default());
            let first = of(diagnosis.cause, diagnosis.container.as_deref());
            let others = diagnosis.other_findings.iter().map(|other| of(&other.cause, other.container.as_deref()));
            std::iter::once(first).chain(others).collect::<Vec<_>>()
        };
        assert_eq!(reported(&[]), ["NodeStatusUnknown ", "OOMKilled app", "ReadinessProbeFailed side"]);
        assert_eq!(reported(&["AppError"]), reported(&[]));
        assert_eq!(
            reported(&["OOMKilled"]),
            ["NodeStatusUnknown ", "ReadinessProbeFailed side"],
            "of another container"
        );
        assert_eq!(
            reported(&["NodeStatusUnknown"]),
            ["OOMKilled app"],
            "a failure of the pod is one of each container"
        );
        assert_eq!(reported(&["*"]), Vec::<String>::new());
    }
}
