//! Containers that end: by a signal, by an exit code, by memory, or well where they should have gone on.

mod completed;
mod native;
mod program;
mod rows;
mod slow;
#[cfg(test)]
mod tests;

pub(super) use self::rows::RULES;
use crate::api::{ContainerType, Remedy};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::signals::termination::end::{self, settled_crash};
use crate::diagnosis::signals::termination::exit_code::{ended, go_back, log_remedy};
use crate::diagnosis::signals::termination::{blamed, end_evidence, log_line};
use crate::diagnosis::{Case, Finding, Verdict, remedy, text};
use crate::facts::{Container, RestartPolicy, State, Terminated};

fn exit_code(case: &Case<'_>, container: &Container, code: i32) -> Verdict {
    match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == code && run.reason != end::OOM_KILLED => {
            let finding = Finding::of_container(container, ended(case, container, run));
            end::judged(
                case,
                end_evidence(container, run, finding).with_all(log_line::line_evidence(case, container, run)),
            )
        }
        Ok(_) => Verdict::No,
        Err(not_yet) => not_yet,
    }
}

fn script_remedies(case: &Case<'_>, finding: &Finding, check: fn(Language, &str) -> String) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let line = container.last_end().and_then(|run| log_line::line(case, container, run));
    let is_library = line.as_ref().is_some_and(|line| text::has(&line.text, &["shared librar"]));
    let is_libc = line.is_some_and(|line| line.text.contains("version `GLIBC"));
    let fix = if is_libc {
        say!(
            case,
            "{container}'s program was built with a newer C library than its image has: build it on that image, or take a newer base image.",
            container = container.name
        )
    } else if is_library {
        say!(
            case,
            "Install the library that {container}'s program was built with in the image, or build on the image that it runs in.",
            container = container.name
        )
    } else {
        check(case.language(), &container.name)
    };
    vec![remedy::fix(fix), log_remedy(case, container)]
}

fn exit_255(case: &Case<'_>, container: &Container) -> Verdict {
    own_error(case, container, |code| code == 255)
}

fn app_error(case: &Case<'_>, container: &Container) -> Verdict {
    // 137 and 143 have rules of their own, with an eye for who sent the signal.
    own_error(case, container, |code| !matches!(code, 0 | 137 | 143 | 255))
}

/// An end by the process's own code. Init containers and pods that are not restarted have their own rules.
fn own_error(case: &Case<'_>, container: &Container, is_mine: fn(i32) -> bool) -> Verdict {
    if container.kind == ContainerType::Init || end::has_ended_its_pod(case, container) {
        return Verdict::No;
    }
    match settled_crash(case, container) {
        Ok(Some(run)) if is_mine(run.exit_code) && !end::is_lost(run) => {
            let never = container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Never;
            let stays_ended = never && !container.has_restart_rules && matches!(container.state, State::Terminated(_));
            let tail = if stays_ended { phrase!(case, "; it is not started again, and the others run on") } else { "" };
            let finding = Finding::of_container(container, format!("{}{tail}", ended(case, container, run)));
            end::judged(
                case,
                end_evidence(container, run, finding).with_all(log_line::line_evidence(case, container, run)),
            )
        }
        Ok(_) => Verdict::No,
        Err(not_yet) => not_yet,
    }
}

fn app_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = vec![log_remedy(case, container)];
    let ran = container.last_end().and_then(Terminated::ran_for);
    if ran.is_some_and(|seconds| seconds < 10) {
        remedies.push(remedy::fix(phrase!(
            case,
            "It ends at once: check its arguments, environment and config files, and that what it needs can be reached."
        )));
    }
    remedies.extend(go_back(case));
    remedies
}
