//! Ends by a signal of the process itself.

use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::diagnosis::signals::termination::end::{self, settled_crash, who};
use crate::diagnosis::signals::termination::exit_code::{self, go_back, log_remedy};
use crate::diagnosis::signals::termination::{blamed, end_evidence, log_line};
use crate::diagnosis::{Case, Finding, Verdict, remedy, restarts};
use crate::facts::{Container, Terminated};

pub(super) fn native_crash(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let Some(signal) = run.ending_signal().and_then(|number| exit_code::native_signal(case.language(), number)) else {
        return Verdict::No;
    };
    if end::is_seccomps(run) || log_line::is_of_managed_code(case, container, run) {
        return Verdict::No;
    }
    let name = who(container);
    let when = exit_code::when(case, container);
    let line = log_line::quoted(case, container, run, 80);
    let summary = say!(
        case,
        "{container} crashes with {signal} ({meaning}){when}{line}{tail}",
        container = name,
        signal = signal.name,
        meaning = signal.meaning,
        when,
        line,
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary));
    end::judged(case, finding)
}

pub(super) fn native_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let signal = container.last_end().and_then(Terminated::ending_signal);
    let signal = signal.and_then(|number| exit_code::native_signal(case.language(), number));
    let mut remedies = vec![log_remedy(case, container)];
    remedies.extend(signal.map(|s| remedy::fix(s.advice)));
    remedies.extend(go_back(case));
    remedies
}
