//! `diagnose`: from what is known of a pod to what is wrong with it.
//!
//! Pure: no clock, no I/O, and it cannot fail. What it does not know is `Unknown`, with the evidence.

pub mod actions;
mod by_hand;
mod case;
pub mod catalog;
mod checks;
mod finding;
mod impact;
pub(crate) mod language;
mod message;
mod misread;
pub mod node;
mod outcome;
mod ownership;
mod pod_status;
pub mod restarts;
mod roots;
mod rule;
pub mod rules;
pub mod signals;
pub mod target;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
mod undo;
mod workload;

use std::sync::Arc;

pub use case::{Case, Ledger, Observed, PastRun, Thresholds};
pub use finding::{Finding, evidence, remedy};
pub use language::Language;
pub use outcome::{Attribution, Diagnosis, Health, Outcome};
pub use ownership::{immediate as immediate_workload, top as top_workload};
pub use pod_status::pod_status;
pub use restarts::restarts;
pub use roots::RootKind;
pub use rule::{Category, Explain, Known, Recovery, Rule, Specificity, Verdict};
pub use rules::holds_up_pulls;
pub use workload::{
    Apart, FailingPod, GonePod, Ports, StrayService, WorkloadCase, WorkloadFailure, WorkloadJudged, follows_from_pods,
    is_of_service, judge as judge_workload, lies_in_template, stray_services, strays_due, told_as,
};

use crate::api::OtherFinding;
use crate::facts::{Container, Timestamp, after};

/// Works out what is wrong with the pod of this case, if anything is.
pub fn diagnose(case: &Case<'_>) -> Outcome {
    let mut asked = ask_all(case);
    asked.findings.sort_by_key(|f| rank(case, f));
    let all = asked.findings.len();
    let mut ranked = without_ignored(case, asked.findings).into_iter();
    let leaves_out = ranked.len() < all;
    let Some(first) = ranked.next() else {
        return Outcome {
            health: Health::Well,
            leaves_out,
            wake: asked.wake,
            wants: rules::claims_wanted(case).into_iter().collect(),
        };
    };
    // A second later, so that it does not hold any more when we look.
    let until = first.finding.until.map(|until| after(until, 1));
    let attributions = attributions(case, &first, ranked.as_slice());
    let others = other_findings(&first, ranked.as_slice());
    let mut wants = impact::wants(case);
    let blamed = first.finding.container.as_deref().and_then(|name| case.pod.container(name));
    wants.extend(rules::claims_wanted(case));
    wants.extend(blamed.and_then(|container| rules::log_wanted(case, container)));
    let finding = restarts::with_other_ends(case, first.rule.cause, first.finding, &attributions);
    let diagnosis = outcome::report(case, first.rule, finding, others, attributions);
    let wake = asked.wake.into_iter().chain(healed_at(case)).chain(until).min();
    Outcome { health: Health::Failing(Box::new(diagnosis)), leaves_out, wake, wants }
}

/// Without what nobody wants to be told, and what is only a symptom of that: else another name would be told for the same.
fn without_ignored(case: &Case<'_>, findings: Vec<Match>) -> Vec<Match> {
    let wishes = &case.surroundings.wishes;
    let (ignored, mut told): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|found| wishes.ignores(found.rule.cause));
    told.retain(|found| {
        let is_symptom = found.rule.specificity >= Specificity::Symptom;
        let own = &found.finding.container;
        let explains = |cause: &Match| {
            let of = &cause.finding.container;
            own.is_none() || of.is_none() || own == of
        };
        !(is_symptom && ignored.iter().any(explains))
    });
    told
}

/// When an end of a run stops to count because the pod has been well since: no change of the pod will tell us.
fn healed_at(case: &Case<'_>) -> Option<Timestamp> {
    let due = after(case.pod.last_start()?, case.thresholds.recovered_restarting + 1);
    (case.pod.is_ready() && due > case.now).then_some(due)
}

/// What a rule said Yes to.
#[derive(Debug)]
struct Match {
    rule: &'static Rule,
    /// The rule's place in the table.
    order: usize,
    finding: Finding,
}

#[derive(Debug, Default)]
struct Asked {
    findings: Vec<Match>,
    wake: Option<Timestamp>,
    /// A cause is there that somebody wants to be told of only later: no general word is to be told instead.
    held: bool,
}

impl Asked {
    /// Whether a cause of this rank is asked at all: a general one not where a better one is known or awaited, the last resort
    /// only where nothing is.
    fn is_asked(&self, rank: Specificity, container: Option<&Arc<str>>) -> bool {
        match rank {
            Specificity::Specific | Specificity::Symptom => true,
            Specificity::Umbrella => !self.held && !self.settled_for(container),
            Specificity::LastResort => self.findings.is_empty() && self.wake.is_none(),
        }
    }

    fn take(&mut self, case: &Case<'_>, rule: &'static Rule, order: usize, verdict: Verdict) {
        match verdict {
            Verdict::No => {}
            Verdict::NotBefore(at) => {
                self.wake = Some(self.wake.map_or(at, |w| w.min(at)));
                self.held |= case.thresholds.chosen(rule.cause).is_some();
            }
            Verdict::Yes(finding)
                if rule.specificity == Specificity::Umbrella && self.settled_for(finding.container.as_ref()) => {}
            Verdict::Yes(finding) => self.findings.push(Match { rule, order, finding: *finding }),
        }
    }

    /// Whether a general rule is not to be asked any more: something better is known of this container (or pod).
    fn settled_for(&self, container: Option<&Arc<str>>) -> bool {
        self.findings.iter().any(|m| {
            m.rule.specificity <= Specificity::Umbrella
                && (container.is_none() || m.finding.container.as_ref() == container)
        })
    }
}

fn ask_all(case: &Case<'_>) -> Asked {
    let mut asked = Asked::default();
    let mut order = 0;
    for source in rules::SIGNALS {
        let rules = catalog::rules(source.definition.name);
        let mut answers = catalog::verdicts(source, case, |rank, of| asked.is_asked(rank, of));
        answers.sort_by_key(|(place, _)| *place);
        for (place, verdict) in answers {
            asked.take(case, &rules[place], order + place, verdict);
        }
        order += rules.len();
    }
    asked
}

/// An alarm before what is only noted; cause before consequence; what fails now before what failed a while ago; the
/// specific before the general; then the table's order, and the containers' order in the pod.
fn rank(case: &Case<'_>, found: &Match) -> (bool, bool, bool, Specificity, usize, usize) {
    let position =
        found.finding.container.as_ref().and_then(|name| case.pod.containers.iter().position(|c| c.name == *name));
    let fine_now = position.and_then(|i| case.pod.containers.get(i)).is_some_and(is_fine_now);
    (
        found.finding.is_noted(),
        found.rule.specificity >= Specificity::Symptom,
        fine_now,
        found.rule.specificity,
        found.order,
        position.unwrap_or(usize::MAX),
    )
}

fn is_fine_now(container: &Container) -> bool {
    container.is_running() && container.ready
}

/// Whether a finding says why a container's last run ended: not why another cannot be started, or what ails the present one.
fn judges_an_end(case: &Case<'_>, found: &Match) -> bool {
    let name = found.finding.container.as_ref();
    let Some(container) = name.and_then(|name| case.pod.container(name)) else { return false };
    let of_an_end = match found.rule.category {
        Category::Crash | Category::Probe | Category::Lifecycle => true,
        // What kept it from running is how that run ended; else it is why there is no next one.
        Category::Start => {
            found.rule.recovery == Recovery::Restarting
                || found.finding.proven
                || container.last_end().is_some_and(|end| end.started_at.is_none())
        }
        _ => false,
    };
    of_an_end && !found.finding.goes_on && found.rule.specificity < Specificity::Symptom
}

/// Which container's last run is put down to which cause.
fn attributions(case: &Case<'_>, first: &Match, others: &[Match]) -> Vec<Attribution> {
    let mut out: Vec<Attribution> = Vec::new();
    for found in std::iter::once(first).chain(others).filter(|m| judges_an_end(case, m)) {
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

/// Everything else that is wrong, once each, then what is only a consequence.
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
            summary: text::line(restarts::without_tail(&found.finding.summary), text::SUMMARY_MAX),
        });
        found.finding.consequences.iter().cloned().for_each(&mut push);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::testing::Scenario;
    use super::*;
    use crate::facts::Wishes;

    /// One container was killed for memory, another is not ready, and their node is not either.
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
    fn with_an_ignored_cause_goes_what_is_only_a_symptom_of_it() {
        let told = |ignored: &[&str]| {
            let mut scenario = Scenario::from_yaml(WEB).at("2026-11-21T09:20:00Z");
            scenario.surroundings[0].wishes = Wishes::ignoring(ignored.iter().copied());
            let Health::Failing(diagnosis) = diagnose(&scenario.case()).health else { return Vec::new() };
            let of = |cause: &str, container: Option<&str>| format!("{cause} {}", container.unwrap_or_default());
            let first = of(diagnosis.cause, diagnosis.container.as_deref());
            let others = diagnosis.other_findings.iter().map(|other| of(&other.cause, other.container.as_deref()));
            std::iter::once(first).chain(others).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), ["NodeStatusUnknown ", "OOMKilled app", "ReadinessProbeFailed side"]);
        assert_eq!(told(&["AppError"]), told(&[]));
        assert_eq!(told(&["OOMKilled"]), ["NodeStatusUnknown ", "ReadinessProbeFailed side"], "of another container");
        assert_eq!(told(&["NodeStatusUnknown"]), ["OOMKilled app"], "what a pod suffers from, each container does");
        assert_eq!(told(&["*"]), Vec::<String>::new());
    }
}
