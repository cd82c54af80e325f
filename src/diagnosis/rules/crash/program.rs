//! Programs that the kernel refuses to execute once their container is there.

use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::{blamed, end_evidence, log_line};
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, restarts};
use crate::facts::Container;

/// A program that the kernel refused to execute once the container was there: its only words are `exec /X: ...`.
pub(super) fn not_executed(case: &Case<'_>, container: &Container, refusal: &str) -> Verdict {
    let Some(run) = end::crash(case, container).filter(|run| matches!(run.exit_code, 1 | 255)) else {
        return Verdict::No;
    };
    let mut lines = log_line::all(case, container, run);
    let Some((said, in_log)) = lines.find(|(line, _)| is_refusal(line, refusal)) else {
        return Verdict::No;
    };
    let own_program = container.command.first().map_or(phrase!(case, "its program"), String::as_str);
    let program =
        said.strip_prefix("exec ").and_then(|rest| rest.rsplit_once(": ")).map_or(own_program, |(path, _)| path);
    let what = if refusal.starts_with("exec") {
        phrase!(case, "is not built for this machine, or is a script without #! line")
    } else {
        phrase!(case, "is there, but its interpreter or loader is not")
    };
    let arch = case.node.and_then(|node| node.facts.labels.get("kubernetes.io/arch"));
    let on = arch.map_or_else(String::new, |arch| say!(case, " (node: {arch})", arch));
    let summary = say!(
        case,
        "{container} cannot run: {program} {what}{on}{tail}",
        container = who(container),
        program,
        what,
        on,
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(log_line::source(container, said, in_log))
        .with_all(arch.map(|arch| evidence::field("node/metadata.labels[kubernetes.io/arch]", arch)));
    end::judged(case, finding)
}

/// Whether a line is runc's own word that the program could not be executed: `exec /X: exec format error`, and before
/// runc 1.1 `standard_init_linux.go:228: exec user process caused: exec format error`, with or without quotes.
pub(super) fn is_refusal(line: &str, refusal: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let Some(cause) = lower.trim_end_matches('"').strip_suffix(refusal) else { return false };
    let cause = cause.trim_end_matches('"').trim_end();
    (lower.starts_with("exec ") && cause.ends_with(':'))
        || (lower.starts_with("standard_init_linux.go:")
            && cause.trim_end_matches(':').ends_with("exec user process caused"))
}

pub(super) fn exec_format_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let arch = case.node.and_then(|node| node.facts.labels.get("kubernetes.io/arch"));
    let arch = arch.unwrap_or(phrase!(case, "the node's architecture"));
    let mut remedies = vec![
        remedy::fix(say!(case, "Use an image of {image} that is built for {arch}.", image = container.image, arch)),
        remedy::fix(phrase!(case, "If the program is a script, let its first line name the interpreter (#!/bin/sh).")),
    ];
    if container.command.first().is_some_and(|program| program.to_ascii_lowercase().ends_with(".sh")) {
        remedies.reverse();
    }
    remedies
}

pub(super) fn interpreter_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        remedy::fix(say!(
            case,
            "Check the first line of the script in {container}: the interpreter must be in the image, and the line must not end with a carriage return.",
            container = container.name
        )),
        remedy::fix(phrase!(case, "For a binary, build it for the image's libc (static, or musl for Alpine).")),
    ]
}
