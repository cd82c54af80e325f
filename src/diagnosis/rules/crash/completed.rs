//! Ends that would be a success, where the container should have gone on.

use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, settled_crash, who};
use crate::diagnosis::signals::termination::exit_code::{self, log_remedy};
use crate::diagnosis::signals::termination::{blamed, command, doubt, end_evidence, hook};
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, restarts};
use crate::facts::Container;

pub(super) fn completed(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 0 && run.reason != end::OOM_KILLED => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    if hook::ended_by_hook(case, container, run).is_some() {
        return Verdict::No;
    }
    let why = command::why_it_ended(case.language(), container).map_or_else(String::new, |why| format!(": {why}"));
    let summary = say!(
        case,
        "{container} ends with 0 (Completed){when}, but restartPolicy Always starts it again{why}{tail}",
        container = who(container),
        when = exit_code::when(case, container),
        why,
        tail = restarts::tail(case, container)
    );
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("spec.restartPolicy", "Always"));
    if let Some(shown) = command::shown(container) {
        finding = finding.with(evidence::field(format!("{}.command", container.spec_path()), shown));
    }
    // A server that heeds SIGTERM ends so as well where its postStart hook fails at once, and only an Event tells.
    let is_short = run.ran_for().is_none_or(|ran| ran <= hook::AT_ONCE);
    if container.has_post_start && is_short && case.events.is_empty() {
        finding = doubt::with_doubts(case, container, run, finding.confidence(Confidence::Possible)).consequence(
            "PostStartHookError",
            Some(&container.name),
            phrase!(case, "may have ended it: where its hook fails at once, the kubelet ends the container"),
        );
    }
    Verdict::Yes(Box::new(finding))
}

pub(super) fn completed_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = Vec::new();
    if let Some(advice) = command::advice(case.language(), container) {
        remedies.push(remedy::fix(advice));
    }
    remedies.push(remedy::fix(say!(case, "Run the server in {container} in the foreground, as the container's main process: not in the background (`&`), not as a daemon, last in its script and started with `exec`.", container = container.name)));
    remedies.push(remedy::fix(phrase!(
        case,
        "If it is a task that should end, make it a Job (or a CronJob): they take exit code 0 for success."
    )));
    remedies.push(log_remedy(case, container));
    remedies
}
