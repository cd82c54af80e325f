//! Crashes so far apart that the kubelet never backs off: between them all looks well.

use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::signals::termination::blamed;
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::exit_code::log_remedy;
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, restarts, text,
};
use crate::facts::{Container, RestartPolicy, State, Terminated, after};

/// The kubelet forgets its back-off after a run of this many seconds.
const BACK_OFF_RESETS: i64 = 600;
/// Fewer restarts are no rhythm yet.
const LEAST_RESTARTS: u32 = 5;
/// Restarts further apart than this are single accidents.
const LONGEST_PACE: i64 = 12 * 3600;

pub(super) const RULE: Rule = Rule {
    cause: "SlowCrashLoop",
    category: Category::Crash,
    recovery: Recovery::Restarting,
    specificity: Specificity::Umbrella,
    scope: Scope::Container(check),
    remedies,
    explain: Explain {
        meaning: "The container fails again and again, but only after long runs, so the kubelet never backs off and the pod \
                  looks well in between.",
        told_apart: "It has run for more than 10 min since its last start, so CrashLoopBackOff does not show; five restarts at \
                     least, one in 12 h or more often, and the last no longer ago than that pace explains. While a crash is \
                     fresh, its own cause is told.",
        action: "Look for what grows or runs out with time: memory, connections, file handles, tokens that expire. Compare the \
                 ends of several runs, and keep the log of the last one.",
        source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff; client-go util/flowcontrol/backoff.go",
    },
};

fn check(case: &Case<'_>, container: &Container) -> Verdict {
    let is_lasting = matches!(container.kind, ContainerType::App | ContainerType::Sidecar);
    let State::Running { started_at: Some(started) } = container.state else { return Verdict::No };
    // In a snapshot nothing may be newer than the start: see `end::is_past`.
    let is_fresh = case.thresholds.patient && case.age(started) <= case.thresholds.recovered_restarting;
    if !is_lasting || case.pod.deletion.is_some() || is_fresh {
        return Verdict::No;
    }
    let Some(run) = container.last.as_ref().filter(|run| is_failure(case, container, run)) else { return Verdict::No };
    let (Some(finished), Some(created)) = (run.finished_at, case.pod.created) else { return Verdict::No };
    let lasted = run.ran_for().is_some_and(|seconds| seconds > BACK_OFF_RESETS);
    if !lasted || container.restart_count < LEAST_RESTARTS {
        return Verdict::No;
    }
    let pace = case.age(created) / i64::from(container.restart_count);
    let until = after(finished, pace + pace / 2);
    if pace > LONGEST_PACE || case.now > until {
        return Verdict::No;
    }
    let summary = say!(
        case,
        "{container} keeps failing, about once in {pace}: {restarts} restarts in {age}; last with {end} after it ran for {ran}",
        container = who(container),
        pace = text::duration(pace),
        restarts = container.restart_count,
        age = text::duration(case.age(created)),
        end = end_of(case.language(), run),
        ran = text::duration(run.ran_for().unwrap_or_default())
    );
    let finding = Finding::of_container(container, summary)
        .confidence(Confidence::Likely)
        .with(evidence::field(format!("{}.restartCount", container.status_path()), container.restart_count.to_string()))
        .with(evidence::field_at(
            format!("{}.lastState.terminated", container.status_path()),
            format!("{} exit {}", run.reason, run.exit_code),
            run.finished_at,
        ))
        .with_all(restarts::rhythm(case, container).map(|rhythm| evidence::field("runs", rhythm)))
        .goes_on()
        .until(until);
    Verdict::Yes(Box::new(finding))
}

/// An end that the container itself is to blame for: not one that a runtime lost or a reboot brought.
fn is_failure(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    let own = !matches!(run.reason.as_str(), "Unknown" | "ContainerStatusUnknown" | "RestartingAllContainers")
        && run.exit_code != 255;
    let unwanted = run.exit_code != 0
        || run.reason == end::OOM_KILLED
        || container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Always;
    own && unwanted
}

fn end_of(language: Language, run: &Terminated) -> String {
    match run.reason.as_str() {
        "" | "Error" => say!(language, "exit code {code}", code = run.exit_code),
        reason => say!(language, "exit code {code} ({reason})", code = run.exit_code, reason),
    }
}

fn remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut out = vec![log_remedy(case, container)];
    if container.last.as_ref().is_some_and(|run| run.reason == end::OOM_KILLED) {
        out.push(remedy::fix(phrase!(
            case,
            "Its memory grows until the limit: look for the leak, and raise the limit only if the need is real."
        )));
    } else {
        out.push(remedy::fix(phrase!(
            case,
            "Look for what runs out with time: connections, file handles, disk, a token or lease that is not renewed."
        )));
    }
    out
}
