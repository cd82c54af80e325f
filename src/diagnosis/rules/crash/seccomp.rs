//! Kills by a seccomp profile, where the runtime says so.

use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::exit_code::{self, log_remedy};
use crate::diagnosis::signals::termination::{blamed, end_evidence, log_line};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, remedy, restarts, target,
};
use crate::facts::Container;

pub(super) const RULE: Rule = Rule {
    cause: "SeccompKilled",
    category: Category::Crash,
    recovery: Recovery::Restarting,
    specificity: Specificity::Specific,
    scope: Scope::Container(check),
    remedies,
    explain: Explain {
        meaning: "The container was ended because it made a system call that its seccomp profile forbids.",
        told_apart: "CRI-O reports the reason `seccomp killed`; the exit code (137 or 159) does not matter then. Other runtimes \
                     report the signal only, which is NativeCrash with exit code 159.",
        action: "Allow the calls that its message names in the profile, use RuntimeDefault, or let the program do without them.",
        source: "CRI-O server/container_status.go (seccompKilledReason); its seccomp notifier, action stop",
    },
};

fn check(case: &Case<'_>, container: &Container) -> Verdict {
    let Some(run) = end::crash(case, container).filter(|run| end::is_seccomps(run)) else { return Verdict::No };
    let summary = say!(
        case,
        "{container} is killed for a system call that its seccomp profile forbids{when}{line}{tail}",
        container = who(container),
        when = exit_code::when(case, container),
        line = log_line::quoted(case, container, run, 80),
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary));
    end::judged(case, finding.with_all(log_line::line_evidence(case, container, run)))
}

fn remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        remedy::fix(say!(
            case,
            "Allow the calls that {container} needs in the profile of securityContext.seccompProfile in {target}, or use type RuntimeDefault.",
            container = container.name,
            target = target::of(case).display()
        )),
        remedy::fix(phrase!(case, "If it should not need them, update the program or the library that makes them.")),
        log_remedy(case, container),
    ]
}
